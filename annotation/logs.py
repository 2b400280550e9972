"""Keep invitations, personal links and those for a new password out of the logs: who has one can act as that person."""

import logging
import re

_SECRET_PATH = re.compile(
    r"/(join|resume|enter/[^/\s]+|hooks/[^/\s]+|password/set/[^/\s]+)/[^/\s]+(?:/\?\S*)?"
)
LOGGERS = ("django.request", "django.security.csrf", "django.server")


class HideTokens(logging.Filter):
    """Write `/resume/…` for the address of a link that was refused, was forged or failed."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                _SECRET_PATH.sub(r"/\1/…", part) if isinstance(part, str) else part for part in record.args
            )
        return True


def hide_tokens() -> None:
    """For the loggers of Django that name addresses. Twice is once."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(known, HideTokens) for known in logger.filters):
            logger.addFilter(HideTokens())

"""What `manage.py check --deploy` says beside Django's own checks."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register


@register(Tags.security, deploy=True)
def limits_are_shared(**_: Any) -> list[CheckMessage]:
    """Warn of several web processes without a cache that they share."""
    return [] if settings.CACHE_URL or settings.WEB_WORKERS < 2 else [not_shared(settings.WEB_WORKERS)]


def not_shared(workers: int) -> Warning:
    """Return what is to be said of so many processes that count alone."""
    return Warning(
        f"{workers} web processes count rate limits each by itself: {workers} times as many attempts to log in.",
        hint="Set CACHE_URL to a Redis server that they share, or run one process.",
        id="touchstone.W001",
    )


@register(Tags.security, deploy=True)
def clients_are_known(**_: Any) -> list[CheckMessage]:
    """Warn of a proxy that hides who asks."""
    if settings.BEHIND_TLS_PROXY and not settings.CLIENT_IP_HEADER:
        return [
            Warning(
                "All visitors have the proxy's address, so one of them can use up the limits of all.",
                hint="Set CLIENT_IP_HEADER to the header in which the proxy puts the client's address.",
                id="touchstone.W002",
            )
        ]
    return []

"""Errors to Sentry, if SENTRY_DSN is set: the trace and the route, and nothing of who asked or what was sent."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.observing.context import log_fields
from config.observing.logs import scrubbed
from web.version import software_version

MISSING = (
    "SENTRY_DSN is set, but Sentry's package isn't installed: "
    'pip install "touchstone-judge[sentry]", or unset the variable.'
)


def crashes_start() -> bool:
    """Send errors from now on, if the environment asks for it; whether it does.

    Raises
    ------
    ImproperlyConfigured
        The package of the extra `sentry` is missing.
    """
    if not settings.SENTRY_DSN:
        return False
    try:
        import sentry_sdk
    except ImportError as error:
        raise ImproperlyConfigured(MISSING) from error
    sentry_sdk.init(
        dsn=settings.SENTRY_DSN,
        environment=settings.SENTRY_ENVIRONMENT,
        release=f"touchstone@{software_version()}",
        include_local_variables=False,  # texts and answers
        max_request_body_size="never",
        max_breadcrumbs=0,  # queries and log lines
        before_send=event_scrubbed,
        auto_session_tracking=False,
    )
    return True


def event_scrubbed(event: Any, _hint: Any = None) -> Any:
    """Take everything personal out of an event, and put in the ids by which log lines can be found."""
    request = event.pop("request", None) or {}
    if "method" in request:
        event["request"] = {"method": request["method"]}
    fields = log_fields()
    user = fields.pop("user", None)
    event.pop("user", None)
    if user is not None:
        event["user"] = {"id": str(user)}
    event.pop("server_name", None)
    event["tags"] = {**(event.get("tags") or {}), **{name: str(value) for name, value in fields.items()}}
    for error in (event.get("exception") or {}).get("values") or []:
        error["value"] = scrubbed(str(error.get("value") or ""))
    entry = event.get("logentry")
    if entry:
        event["logentry"] = {"message": scrubbed(str(entry.get("message") or ""))}
    return event

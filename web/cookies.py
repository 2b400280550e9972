"""Names of cookies: with TLS they begin with `__Host-`, so that no other host of the domain can set or read them."""

from django.conf import settings
from django.http import HttpRequest

PREFIX = "__Host-"


def cookie_name(name: str) -> str:
    """The name under which the browser keeps it. It has to be set with `secure` and for the path `/`."""
    return f"{PREFIX}{name}" if settings.SESSION_COOKIE_SECURE else name


def cookie_read(request: HttpRequest, name: str) -> str:
    """Its value, or that of the name without the prefix, which browsers have from versions before 1.0.

    Another host of the domain can set the latter, so the value has to be signed, or harmless.
    """
    return request.COOKIES.get(cookie_name(name)) or request.COOKIES.get(name, "")

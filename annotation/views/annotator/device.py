"""The mark of a browser: a random number in a long-lived cookie, so that one person joins a study once.

A study stores an HMAC of it under its own key, so that the people of two studies cannot be matched by it.
"""

import secrets

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from annotation.models import Study
from web.cookies import cookie_name

COOKIE = "ts_device"
SALT = "annotation.device"
# Browsers keep no cookie for longer.
MAX_AGE_SECONDS = 400 * 24 * 60 * 60


def device_read(request: HttpRequest) -> str:
    """The mark of this browser; a new one when it has none, or one that is not ours."""
    mark = request.get_signed_cookie(cookie_name(COOKIE), default=None, salt=SALT)
    # The name that it had before 1.0.
    mark = mark or request.get_signed_cookie(COOKIE, default=None, salt=SALT)
    return mark or secrets.token_urlsafe(16)


def device_keep(request: HttpRequest, response: HttpResponse, mark: str) -> HttpResponse:
    """Let the browser keep the mark, from now on for the longest time."""
    response.set_signed_cookie(
        cookie_name(COOKIE),
        mark,
        salt=SALT,
        max_age=MAX_AGE_SECONDS,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE or request.is_secure(),
    )
    return response


def device_of(study: Study, mark: str) -> str:
    """The mark as this study knows it."""
    return salted_hmac(f"{SALT}.{study.pk}", mark, algorithm="sha256").hexdigest()

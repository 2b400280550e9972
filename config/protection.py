"""Rules for all requests that no view has to know: how long staff stay signed in, what a page may load, and no API
without TLS.
"""

import logging
import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from csp.constants import HEADER
from csp.middleware import CSPMiddleware
from csp.utils import build_policy
from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user, logout
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core.exceptions import ValidationError
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext

from annotation.models import User
from annotation.selectors.sessions import LAST_SEEN
from annotation.services.audit import network_of
from annotation.services.sessions import session_moved
from config.errors import API
from web.api.problems import CONTENT_TYPE, error_of, problem_data
from web.throttling import client_address

logger = logging.getLogger("annotation.security")

SIGNED_IN = "signed_in_at"
"""Key of a session, as `LAST_SEEN`: seconds since 1970."""
NOTE_AFTER = 5 * 60
"""Seconds after which a session is written again: not with each request."""

_IS_STAFF = "_is_signed_in_as_staff"

Answer = Callable[[HttpRequest], HttpResponse]


@dataclass(frozen=True)
class SessionLimits:
    """After how many seconds a session of staff ends: without a request, and in any case."""

    idle: float
    longest: float

    @classmethod
    def of_settings(cls) -> "SessionLimits":
        return cls(idle=settings.STAFF_IDLE_HOURS * 3600, longest=settings.STAFF_SESSION_HOURS * 3600)

    def is_over(self, signed_in: object, last_seen: object, now: float) -> bool:
        """Whether it has ended; a time that is none ends it too."""
        for since, limit in ((signed_in, self.longest), (last_seen, self.idle)):
            if not isinstance(since, int | float) or not math.isfinite(since) or now - since > limit:
                return True
        return False


class StaffSessionMiddleware:
    """Ends sessions of the login whose time is over, and lets no cache keep what a person sees who is signed in.

    Nothing is looked up for a page that doesn't ask who is signed in, as those of annotators.
    """

    def __init__(self, get_response: Answer) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.user = SimpleLazyObject(lambda: self._user(request))  # type: ignore[assignment]
        response = self._get_response(request)
        self._follow(request)
        if getattr(request, _IS_STAFF, False) and "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = "private, no-store"
        return response

    def _follow(self, request: HttpRequest) -> None:
        """Keep the list of sessions true where this request gave the session of staff another key."""
        session, before = request.session, request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if (
            session.modified
            and before
            and session.session_key not in (None, before)
            and SESSION_KEY in session
        ):
            session_moved(before, session.session_key)

    def _user(self, request: HttpRequest) -> User | AnonymousUser:
        user = get_user(request)
        if not isinstance(user, User):
            return AnonymousUser()
        now = time.time()
        signed_in = request.session.get(SIGNED_IN, now)
        last_seen = request.session.get(LAST_SEEN, now)
        if SessionLimits.of_settings().is_over(signed_in, last_seen, now):
            request.user = user  # logout asks for it
            logout(request)
            return AnonymousUser()
        if SIGNED_IN not in request.session or now - last_seen > NOTE_AFTER:
            request.session[SIGNED_IN], request.session[LAST_SEEN] = signed_in, now
        setattr(request, _IS_STAFF, True)
        request._cached_user = user  # type: ignore[attr-defined]  # where logs look, as Django's own middleware has it
        return user


class PolicyMiddleware(CSPMiddleware):
    """The policy of the settings, put together once; where a response has one of its own, or a nonce, by django-csp."""

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self._policy = build_policy()

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        has_own = hasattr(request, "_csp_nonce") or any(name.startswith("_csp_") for name in vars(response))
        if has_own or settings.DEBUG:  # pages of errors for developers have none
            return super().process_response(request, response)
        response.headers.setdefault(HEADER, self._policy)
        return response


class InsecureApiMiddleware:
    """Refuses requests to the API without TLS. A redirect would hide that the token was sent for all to read."""

    def __init__(self, get_response: Answer) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.SECURE_SSL_REDIRECT or request.is_secure() or not request.path_info.startswith(API):
            return self._get_response(request)
        said = "Use https. A token that was sent without it can have been read on its way: revoke it and make another."
        return JsonResponse(problem_data(403, [error_of(said)]), status=403, content_type=CONTENT_TYPE)


@receiver(user_logged_in, dispatch_uid="config.protection.signed_in")
def _signed_in(request: HttpRequest | None, user: User, **_: Any) -> None:
    if request is None:
        return
    request.session[SIGNED_IN] = request.session[LAST_SEEN] = time.time()
    # A request of the login page has an address; a session that a command begins has none.
    if "REMOTE_ADDR" in request.META:
        logger.info("Signed in as %r from %s", user.get_username(), network_of(client_address(request)))


@receiver(user_logged_out, dispatch_uid="config.protection.signed_out")
def _signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None and "REMOTE_ADDR" in request.META:
        logger.info("Signed out as %r from %s", user.get_username(), network_of(client_address(request)))


WORDS = (
    "touchstone",
    "administrator",
    "admin",
    "annotator",
    "annotation",
    "researcher",
    "judge",
    "label",
    "study",
)
"""Words that a person who attacks this site tries first, beside the name of the host."""
REST = 5
"""Letters that a password has to have beside them."""


class SiteWordsValidator:
    """Refuses passwords that are words of this site, with digits and signs around them."""

    def validate(self, password: str, user: User | None = None) -> None:  # noqa: ARG002  (Django's signature)
        rest = password.casefold()
        for word in sorted((*WORDS, *_host_words()), key=len, reverse=True):
            rest = rest.replace(word, "")
        n_letters = sum(letter.isalpha() for letter in rest)
        is_touched = len(rest) < len(password)
        if is_touched and n_letters < REST:
            raise ValidationError(
                gettext("This password is easy to guess: it consists of words of this site."),
                code="password_site_words",
            )

    def get_help_text(self) -> str:
        return gettext("Your password can't consist of words of this site, such as its name.")


def _host_words() -> Sequence[str]:
    host = urlsplit(settings.SITE_URL).hostname or ""
    return [word for word in re.split(r"[.-]", host.casefold()) if len(word) > 3 and word.isalpha()]

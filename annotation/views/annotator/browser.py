"""Which enrollments this browser holds: one signed cookie, so that no page of an annotator asks for a session.

The cookie names each study with the person's own token, the one of their personal link: a browser may do what the
link may, no more. A new token in the row ends every browser that holds the old one. It is signed, so that nobody
makes up a person to be counted as, and HttpOnly. The login of staff is apart from it, in the session.
"""

from collections.abc import Callable, Iterable

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from annotation.models import Enrollment
from web.cookies import cookie_name, cookie_read

COOKIE = "studies"
SALT = "annotation.browser"
MAX_AGE = 60 * 60 * 24 * 30
# An older cookie is given anew, so that who goes on working is known for as long as they do.
RENEW_AFTER = 60 * 60 * 24
# What a cookie has room for; whoever takes part in more studies comes back by a link.
MAX_HELD = 20
_HELD = "_enrollments_held"
_CHANGED = "_enrollments_changed"


def session_enrollments(request: HttpRequest) -> dict[str, str]:
    """Slug of a study to the token of the enrollment that this browser holds in it. Apart from any login."""
    held: dict[str, str] | None = getattr(request, _HELD, None)
    if held is None:
        held, is_old = _read(cookie_read(request, COOKIE))
        setattr(request, _HELD, held)
        if is_old or (held and cookie_name(COOKIE) not in request.COOKIES):
            setattr(request, _CHANGED, True)
    return held


def _read(cookie: str) -> tuple[dict[str, str], bool]:
    """What the cookie says, and whether it is time to give it anew."""
    if not cookie:
        return {}, False
    is_old = False
    try:
        try:
            held = signing.loads(cookie, salt=SALT, max_age=RENEW_AFTER)
        except signing.SignatureExpired:
            held, is_old = signing.loads(cookie, salt=SALT, max_age=MAX_AGE), True
    except signing.BadSignature:
        return {}, False
    return (held, is_old) if isinstance(held, dict) else ({}, False)


def session_hold(request: HttpRequest, enrollment: Enrollment, *, cycle: bool = True) -> None:
    """Let this browser act for the enrollment; the answer to this request carries the cookie.

    `cycle=False` where the session is known to be the person's own: the other half of a double click still needs it.
    """
    # Whoever planted a session before the person came in shares nothing with them afterwards.
    if cycle and not request.session.is_empty():
        request.session.cycle_key()
    slug = enrollment.study.slug
    others = {name: token for name, token in session_enrollments(request).items() if name != slug}
    latest = dict(list(others.items())[-(MAX_HELD - 1) :])
    setattr(request, _HELD, latest | {slug: enrollment.resume_token})
    setattr(request, _CHANGED, True)


def session_drop(request: HttpRequest, slugs: Iterable[str]) -> None:
    """Let this browser forget these studies."""
    gone = set(slugs)
    setattr(request, _HELD, {k: v for k, v in session_enrollments(request).items() if k not in gone})
    setattr(request, _CHANGED, True)


class HeldEnrollmentsMiddleware:
    """Put what `session_hold` and `session_drop` changed into the cookie."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if getattr(request, _CHANGED, False):
            response.set_cookie(
                cookie_name(COOKIE),
                signing.dumps(session_enrollments(request), salt=SALT, compress=True),
                max_age=MAX_AGE,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response

"""What is said when a request ends before a view answers, or breaks one: a page; below ``/api/``, a problem in JSON.

Nothing in it depends on what was asked for, so that nobody learns from it what there is.
"""

import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_noop
from django.views import defaults

from web.api.problems import CONTENT_TYPE, error_of, problem_data

API = "/api/"
REFUSAL = "touchstone.refusal"
"""Where `config.front` writes, in the WSGI environment, that a request is refused without being read."""
RETRY_AFTER_SECONDS = 15
_SQLITE_BUSY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}
"""What SQLite says when it cannot answer now. It calls a missing table an operational error too."""
_WORDS = {  # translated where they are shown
    403: (
        gettext_noop("This upload needs an account"),
        gettext_noop("Sign in as a researcher first. Nothing of it was stored."),
    ),
    408: (
        gettext_noop("The request took too long"),
        gettext_noop("It arrived too slowly, so we stopped reading it. Try again."),
    ),
    411: (
        gettext_noop("The request has no length"),
        gettext_noop("Send it with a Content-Length. Nothing of it was stored."),
    ),
    413: (
        gettext_noop("The request is too large"),
        gettext_noop("It's larger than this page accepts. Nothing of it was stored."),
    ),
    503: (
        gettext_noop("The site is busy"),
        gettext_noop(
            "It can't answer right now. What you submitted before is safe. Try again in a few seconds."
        ),
    ),
}


def _answers(page: Callable[..., HttpResponse], status: int, message: str) -> Callable[..., HttpResponse]:
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.path_info.startswith(API):
            data = problem_data(status, [error_of(message)])
            return JsonResponse(data, status=status, content_type=CONTENT_TYPE)
        return page(request, *args, **kwargs)

    return answer


bad_request = _answers(defaults.bad_request, 400, "The request can't be read.")
permission_denied = _answers(defaults.permission_denied, 403, "This isn't allowed.")
page_not_found = _answers(defaults.page_not_found, 404, "There is no page at this address.")
_broken = _answers(
    defaults.server_error, 500, "Something went wrong on our side. The error was recorded; try again later."
)


@dataclass(frozen=True)
class Refusal:
    """A request that is answered without being read: 403, 408, 411, 413 or 503."""

    status: int

    def answer(self, request: HttpRequest) -> HttpResponse:
        title, text = _WORDS[self.status]
        context = {"status": self.status, "title": gettext(title), "text": gettext(text)}

        def page(_request: HttpRequest) -> HttpResponse:
            # Without the request: who asks stands in the database, which may be what does not answer.
            return HttpResponse(render_to_string("refused.html", context), status=self.status)

        response = _answers(page, self.status, text)(request)
        if self.status == 503:
            response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        response.headers["Cache-Control"] = "no-store"
        return response


class RefusalMiddleware:
    """Answers what `config.front` refused, before anything looks at who asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refusal: Refusal | None = request.META.get(REFUSAL)
        return self._get_response(request) if refusal is None else refusal.answer(request)


def server_error(request: HttpRequest) -> HttpResponse:
    """Tell a database that cannot answer now, which passes, from a fault of ours."""
    if _is_passing(sys.exception()):
        return Refusal(503).answer(request)
    return _broken(request)


def _is_passing(error: BaseException | None) -> bool:
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is None or code & 0xFF in _SQLITE_BUSY  # the low byte is the primary code

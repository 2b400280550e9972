"""The request that is being answered, for what records who did something."""

from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase

_current: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def current_request() -> HttpRequest | None:
    """Return the request that this thread answers; None in a command and in a worker."""
    return _current.get()


class CurrentRequestMiddleware:
    """Keep the request while it is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _current.set(request)
        try:
            return self.get_response(request)
        finally:
            _current.reset(token)

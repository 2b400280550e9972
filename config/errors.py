"""What is said when a request ends before a view answers, or breaks one: a page; below ``/api/``, JSON.

Nothing in it depends on what was asked for, so that nobody learns from it what there is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

API = "/api/"


def _answers(page: Callable[..., HttpResponse], status: int, message: str) -> Callable[..., HttpResponse]:
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.path_info.startswith(API):
            # The shape of `judges.api.errors.refused`.
            return JsonResponse({"errors": [{"message": message}]}, status=status)
        return page(request, *args, **kwargs)

    return answer


bad_request = _answers(defaults.bad_request, 400, "The request cannot be read.")
permission_denied = _answers(defaults.permission_denied, 403, "This is not allowed.")
page_not_found = _answers(defaults.page_not_found, 404, "There is nothing at this address.")
server_error = _answers(
    defaults.server_error, 500, "Something broke on our side. It has been written down; try again later."
)

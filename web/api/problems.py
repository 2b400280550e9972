"""What a program is told when something is refused: problem details (RFC 9457), `application/problem+json`.

An app teaches the API its own exceptions with `answered_by`, in its `api/errors.py`. The member `errors` lists what is
wrong, each with its `message` and, where it is about a field, the `field` (dots lead into lists and objects).
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError
from rest_framework.exceptions import APIException
from rest_framework.response import Response
from rest_framework.views import exception_handler

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
TYPES = "/api/v1/docs/#problem-"
"""Where each type of problem is described; with the name after it, its `type`."""


@dataclass(frozen=True, slots=True)
class ProblemType:
    """A kind of problem: its name in `type`, its title, and what to do about it."""

    name: str
    title: str
    advice: str


PROBLEMS: dict[int, ProblemType] = {
    400: ProblemType("invalid", "The request is invalid", "Correct the fields that `errors` names."),
    401: ProblemType("unauthenticated", "A valid token is needed", "Send `Authorization: Bearer TOKEN`."),
    403: ProblemType(
        "forbidden", "Not allowed", "Use a token with the scope, of a user with the role, that this needs."
    ),
    404: ProblemType("not-found", "Not found", "It doesn't exist, or you can't see it."),
    405: ProblemType("method-not-allowed", "The method is not allowed", "See the header `Allow`."),
    406: ProblemType("not-acceptable", "No such representation", "Accept `application/json`."),
    408: ProblemType("timeout", "The request took too long", "Send it again."),
    409: ProblemType("conflict", "The state doesn't allow this", "Read the resource again, then decide."),
    411: ProblemType("length-required", "The request has no length", "Send a `Content-Length`."),
    413: ProblemType("too-large", "The request is too large", "Send it in several parts."),
    415: ProblemType("unsupported-media-type", "The body is not JSON", "Send `application/json`."),
    422: ProblemType(
        "idempotency-key-reused", "The key belongs to another request", "Send a new `Idempotency-Key`."
    ),
    429: ProblemType("too-many-requests", "Too many requests", "Wait as long as `Retry-After` says."),
    500: ProblemType("server-error", "An error on our side", "Try again later."),
    503: ProblemType("busy", "The site is busy", "Wait as long as `Retry-After` says, then try again."),
}
"""By HTTP status."""


class RefusalProblem(Exception):  # noqa: N818  (reads as what is answered)
    """A request that a view refuses: a status of `PROBLEMS`, and what is wrong."""

    def __init__(self, status: int, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.status, self.errors = status, [error_of(message, field)]


E_ = TypeVar("E_", bound=Exception)
Answer = Callable[[Any], tuple[int, list[dict[str, str]]]]
_MOVED = "Something that this needs was changed or deleted at this moment. Read it again, then decide."
_ANSWERS: dict[type[Exception], Answer] = {
    RefusalProblem: lambda error: (error.status, error.errors),
    # Rows are fetched before a service locks them: somebody else may have deleted one in between.
    ObjectDoesNotExist: lambda _: (404, [error_of("It was deleted at this moment.")]),
    IntegrityError: lambda _: (409, [error_of(_MOVED)]),
}


def error_of(message: object, field: str = "") -> dict[str, str]:
    """One entry of `errors`."""
    return ({"field": field} if field else {}) | {"message": str(message)}


def answered_by(kind: type[E_]) -> Callable[[Answer], Answer]:
    """Register how an exception is answered: the status, and what is wrong."""

    def register(answer: Answer) -> Answer:
        _ANSWERS[kind] = answer
        return answer

    return register


def problem_data(status: int, errors: Iterable[dict[str, str]]) -> dict[str, Any]:
    """The members of a problem."""
    kind = PROBLEMS.get(status, PROBLEMS[400 if status < 500 else 500])
    listed = list(errors)
    words = (f"{one['field']}: {one['message']}" if "field" in one else one["message"] for one in listed)
    return {
        "type": TYPES + kind.name,
        "title": kind.title,
        "status": status,
        "detail": " ".join(words),
        "errors": listed,
    }


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer an exception of a view (DRF's EXCEPTION_HANDLER); None for a fault, which is the site's to answer."""
    for kind in type(error).__mro__:
        if (answer := _ANSWERS.get(kind)) is not None:
            status, errors = answer(error)
            if isinstance(error, IntegrityError):
                logger.exception("The database refused a write of the API")
            return Response(problem_data(status, errors), status=status, content_type=CONTENT_TYPE)
    response = exception_handler(error, context)
    if response is not None:
        errors = _listed(error.detail if isinstance(error, APIException) else response.data)
        response.data = problem_data(response.status_code, errors)
        response.content_type = CONTENT_TYPE
    return response


def _listed(data: Any, field: str = "") -> list[dict[str, str]]:
    """Return what DRF says as a list of reasons: a text, a list of texts, or either by field or place."""
    if isinstance(data, list):
        if not any(isinstance(entry, dict | list) for entry in data):
            return [error_of(entry, field) for entry in data]
        data = dict(enumerate(data))  # of a list of objects: what is wrong with each
    if not isinstance(data, dict):
        return [error_of(data, field)]
    found = []
    for name, messages in data.items():
        is_own = name in ("detail", "non_field_errors")
        found += _listed(messages, field if is_own else f"{field}.{name}" if field else str(name))
    return found

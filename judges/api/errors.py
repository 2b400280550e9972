"""What a program is told when something is refused."""

from typing import Any

from rest_framework.response import Response
from rest_framework.views import exception_handler

from judges.services.plans import PlanError
from judges.services.sweeps import SweepError


def refused(error: Exception, context: dict[str, Any]) -> Response | None:
    """Answer a plan that is wrong, or a sweep that cannot do this now, with the reasons."""
    if isinstance(error, PlanError):
        return Response({"errors": [{"field": error.field, "message": error.problem}]}, status=400)
    if isinstance(error, SweepError):
        return Response({"errors": [{"message": message} for message in error.messages]}, status=409)
    response = exception_handler(error, context)
    if response is not None:
        response.data = {"errors": _listed(response.data)}
    return response


def _listed(data: Any) -> list[dict[str, str]]:
    """Return what DRF says as a list of reasons: a text, a list of texts, or either by field."""
    if isinstance(data, list):
        return [{"message": str(message)} for message in data]
    if not isinstance(data, dict):
        return [{"message": str(data)}]
    return [
        ({} if field in ("detail", "non_field_errors") else {"field": field}) | reason
        for field, messages in data.items()
        for reason in _listed(messages)
    ]

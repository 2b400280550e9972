"""The API's own addresses: an index, the schema, and a page to read it."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.base import ApiView
from annotation.models import RESOURCES
from config.api.pages import operations_listed, with_code
from config.api.schema import schema_make
from web.api.problems import PROBLEMS

LINKS = (
    "token",
    *("datasets", "labels", "studies", "strategies", "endpoints", "judges", "sweeps", "judgments"),
    *("reports", "preregistrations", "decisions", "exports", "webhooks", "schema", "docs"),
)


class IndexSerializer(serializers.Serializer[Any]):
    """Addresses by name."""

    def get_fields(self) -> dict[str, Any]:
        return {name: serializers.URLField() for name in LINKS}


class IndexView(ApiView):
    """Where things are."""

    @extend_schema(responses=IndexSerializer)
    def get(self, request: Request) -> Response:
        """Read where things are."""
        return Response({name: reverse(f"api:{name}", request=request) for name in LINKS})


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The schema, OpenAPI 3.1, for everybody."""
    return JsonResponse(schema_make(), content_type="application/vnd.oai.openapi+json")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The schema as a page, for everybody."""
    context = {
        "tags": operations_listed(schema_make()),
        "resources": RESOURCES.items(),
        "problems": [(status, one, with_code(one.advice)) for status, one in PROBLEMS.items()],
        "section": "api",
    }
    return render(request, "api_docs.html", context)

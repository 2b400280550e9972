"""What the schema says beside what each resource says: scopes, problems, and keys of writes."""

from functools import lru_cache
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from annotation.api.access import scope_needed
from annotation.api.base import KEY_HEADER, MOST_KEY, Listing
from web.api.problems import CONTENT_TYPE, PROBLEMS

KEY = OpenApiParameter(
    KEY_HEADER,
    {"type": "string", "minLength": 1, "maxLength": MOST_KEY, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="The same key with the same body has one effect and one answer, for 24 hours.",
)
MORE_PROBLEMS = {"post": (409, 413, 415, 422), "patch": (409, 413, 415, 422), "delete": (409,), "get": (409,)}
PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "What was refused, and why (RFC 9457).",
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "field": {"type": "string", "description": "Dots lead into objects and lists."},
                    "message": {"type": "string"},
                },
                "required": ["message"],
            },
        },
    },
    "required": ["type", "title", "status", "detail", "errors"],
}


class ResourceSchema(AutoSchema):
    """An operation with its scope, its key, and a name made of resource and address."""

    def _is_list_view(self, serializer: Any = None) -> bool:
        if isinstance(self.view, Listing):
            return self.method == "GET"
        return bool(super()._is_list_view(serializer))

    def get_tags(self) -> list[str]:
        """By resource; what has none is about the API itself."""
        return [getattr(self.view, "resource", "") or "api"]

    def get_override_parameters(self) -> list[Any]:
        """Writes take a key."""
        return [KEY] if self.method == "POST" else []

    def get_description(self) -> str:  # type: ignore[override]  # as the library itself does
        """What the method's words say, or those of its view, and the scope."""
        words = super().get_description()
        scope = scope_needed(self.view, self.method)
        return f"{words}\n\nScope: `{scope}`." if scope else words

    def get_summary(self) -> str:
        """The first sentence."""
        return super().get_description().partition("\n")[0].partition(". ")[0].partition(": ")[0].rstrip(".")

    def get_operation_id(self) -> str:
        """Such as `studies_open`: unique, as addresses are."""
        words = [part for part in self.path.removeprefix("/api/v1/").split("/") if part]
        named = "_".join(part.strip("{}") if not part.startswith("{") else "one" for part in words)
        action = {
            "GET": "list" if self._is_list_view() else "read",
            "PATCH": "change",
            "DELETE": "delete",
        }.get(self.method, "post")
        return f"{named or 'index'}_{action}"


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library's metaclass
    """How a token is sent."""

    target_class = "annotation.api.access.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """A bearer token."""
        return {"type": "http", "scheme": "bearer", "description": "Created under *Account > API tokens*."}


def problems_add(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Say of every operation which problems it answers."""
    result["components"]["schemas"]["Problem"] = PROBLEM
    content = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    usual = (400, 401, 403, 404, 406, 429)
    for operations in result["paths"].values():
        for method, operation in operations.items():
            statuses = (*usual, *MORE_PROBLEMS.get(method, ()))
            for status in sorted(statuses):
                operation["responses"][str(status)] = {
                    "description": PROBLEMS[status].title,
                    "content": content,
                }
    _anything(result["components"]["schemas"])
    return result


def _anything(part: Any) -> None:
    """Say of a field that may be anything or null that it may be anything: null is a thing."""
    if isinstance(part, list):
        for one in part:
            _anything(one)
    elif isinstance(part, dict):
        if {} in part.get("oneOf", ()):
            del part["oneOf"]
        for one in part.values():
            _anything(one)


@lru_cache(maxsize=1)
def schema_make() -> dict[str, Any]:
    """The schema; it is the same for everybody, and does not change while the process lives."""
    made: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return made

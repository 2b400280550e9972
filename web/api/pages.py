"""Pages of long lists, and the filters that narrow them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.filters import BaseFilterBackend
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

PAGE_SIZE = 200
"""Rows of a page of a long list."""
MOST_ROWS = 1_000
MOST_DIGITS = 18


class Pages(CursorPagination):
    """Pages of a long list in the order of the primary key; `?limit=` says how many rows one has."""

    ordering = "pk"
    page_size = PAGE_SIZE
    page_size_query_param = "limit"
    page_size_query_description = f"Rows of a page, at most {MOST_ROWS:,}."
    max_page_size = MOST_ROWS

    def decode_cursor(self, request: Request) -> Any:
        """Return the place that the address names; one that was made up is not found."""
        cursor = super().decode_cursor(request)
        place = "" if cursor is None else str(cursor.position or "")
        if place and not (place.isascii() and place.isdecimal() and len(place) <= MOST_DIGITS):
            raise NotFound(self.invalid_cursor_message)
        return cursor


@dataclass(frozen=True, slots=True)
class Narrow:
    """A query parameter that narrows a list: the lookup that it is, what it means, and what it may be."""

    lookup: str
    help: str
    choices: tuple[str, ...] = ()
    kind: type = str

    def read(self, name: str, text: str) -> Any:
        """The value of what stands in the address; raises ValidationError."""
        text = text.replace("\x00", "")  # PostgreSQL refuses a query with a NUL in it
        if self.choices and text not in self.choices:
            raise ValidationError({name: f"Expected {', '.join(self.choices)}."})
        if self.kind is int:
            if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
                raise ValidationError({name: "Expected a whole number."})
            return int(text)
        if self.kind is bool:
            if text not in ("true", "false"):
                raise ValidationError({name: "Expected true or false."})
            return text == "true"
        if self.kind is datetime:
            return _moment(name, text)
        return text

    @property
    def schema(self) -> dict[str, Any]:
        """In the words of OpenAPI."""
        names = {int: {"type": "integer"}, bool: {"type": "boolean"}}
        names |= {datetime: {"type": "string", "format": "date-time"}}
        return names.get(self.kind, {"type": "string"}) | (
            {"enum": list(self.choices)} if self.choices else {}
        )


def _moment(name: str, text: str) -> datetime:
    try:
        found = parse_datetime(text)
    except ValueError:
        found = None
    if found is None:
        raise ValidationError({name: "Expected a date and a time in ISO 8601."})
    try:
        return found if timezone.is_aware(found) else timezone.make_aware(found)
    except (ValueError, OverflowError):
        raise ValidationError({name: "Expected a date and a time in ISO 8601."}) from None


class Narrowing(BaseFilterBackend):
    """Applies the view's `narrows`, a mapping from query parameters to `Narrow`."""

    def filter_queryset(self, request: Request, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        narrows: Mapping[str, Narrow] = view.narrows
        # A misspelt one would give the whole list, and nobody would see it.
        known = {*narrows, Pages.cursor_query_param, Pages.page_size_query_param}
        if unknown := sorted(set(request.query_params) - known):
            raise ValidationError({unknown[0]: f"Unknown parameter. Expected {', '.join(sorted(known))}."})
        for name, narrow in narrows.items():
            if text := request.query_params.get(name):
                queryset = queryset.filter(**{narrow.lookup: narrow.read(name, text)})
        return queryset

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """For the schema."""
        return [
            {"name": name, "in": "query", "required": False, "description": one.help, "schema": one.schema}
            for name, one in view.narrows.items()
        ]

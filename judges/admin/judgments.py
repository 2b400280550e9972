"""Judgments in the admin: listed by what they say, opened with all that led to them, never changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.models import Dataset, Kind
from annotation.selectors.judged_items import dataset_categories
from judges.admin.judgment_parts import part_rows
from judges.models import Judgment, Order, ParseStatus
from judges.selectors.judgment_list import (
    JudgmentFilter,
    Place,
    judges_with_judgments,
    judgment_neighbours,
    judgments_page,
)
from judges.selectors.judgment_page import judgment_detail

AGAINST = (
    ("people", "contradicts people", "Another verdict than most people's."),
    ("gold", "contradicts the gold", "Another verdict than the known right one."),
    ("itself", "contradicts itself", "Another verdict than in the other presentation order."),
)
MOST_DIGITS = 18


@admin.register(Judgment)
class JudgmentAdmin(admin.ModelAdmin[Judgment]):
    """Two pages of our own: neither counts the table, and the second rebuilds what was asked."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self._require_reading(request)
        filters = filter_from(request.GET)
        page = judgments_page(
            filters, before=_place(request.GET, "before"), after=_place(request.GET, "after")
        )
        chosen = query_of(filters)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Judgments",
            "page": page,
            "newer_url": _address(chosen, after=page.newer) if page.newer else "",
            "older_url": _address(chosen, before=page.older) if page.older else "",
            "query": urlencode(chosen, doseq=True),
            "is_filtered": bool(chosen),
            "is_first": not request.GET.get("before") and not request.GET.get("after"),
            "filters": filters,
            "judges": judges_with_judgments().only("name"),
            "datasets": Dataset.objects.order_by("name").only("name"),
            "categories": dataset_categories(filters.dataset_id) if filters.dataset_id is not None else [],
            "kinds": Kind.choices,
            "statuses": ParseStatus.choices,
            "orders": Order.choices,
            "against": [(*entry, getattr(filters, f"against_{entry[0]}")) for entry in AGAINST],
        }
        return TemplateResponse(request, "admin/judges/judgment/change_list.html", context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        self._require_reading(request)
        if object_id is None or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        number = _number(object_id)
        try:
            detail = judgment_detail(-1 if number is None else number)
        except Judgment.DoesNotExist:
            raise Http404 from None
        filters = filter_from(request.GET)
        above, below = judgment_neighbours(filters, detail.judgment)
        query = urlencode(query_of(filters), doseq=True)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{detail.item.external_id}, judged by {detail.judgment.judge}",
            "detail": detail,
            "judgment": detail.judgment,
            "item": detail.item,
            "trace": detail.trace,
            "parts": part_rows(detail),
            "query": query,
            "list_url": _with_query(reverse("admin:judges_judgment_changelist"), query),
            "above_url": _with_query(reverse("admin:judges_judgment_change", args=[above]), query)
            if above
            else "",
            "below_url": _with_query(reverse("admin:judges_judgment_change", args=[below]), query)
            if below
            else "",
        }
        return TemplateResponse(request, "admin/judges/judgment/change_form.html", context)

    def _require_reading(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied


def filter_from(query: QueryDict) -> JudgmentFilter:
    """Read the filter from an address; what cannot be read does not filter."""
    against = query.getlist("against")
    dataset = _number(query.get("dataset", ""))
    order = query.get("order", "")
    return JudgmentFilter(
        judge_id=_number(query.get("judge", "")),
        dataset_id=dataset,
        category=query.get("category", "") if dataset is not None else "",
        kind=_known(query.get("kind", ""), Kind.values),
        status=_known(query.get("status", ""), ParseStatus.values),
        order=int(order) if order in ("0", "1") else None,
        external_id=query.get("q", "").replace("\x00", "").strip(),
        against_people="people" in against,
        against_gold="gold" in against,
        against_itself="itself" in against,
    )


def query_of(filters: JudgmentFilter) -> dict[str, Any]:
    """Undo `filter_from`: only what filters."""
    given: dict[str, Any] = {
        "judge": filters.judge_id,
        "dataset": filters.dataset_id,
        "category": filters.category,
        "kind": filters.kind,
        "status": filters.status,
        "order": filters.order,
        "q": filters.external_id,
        "against": [name for name, *_ in AGAINST if getattr(filters, f"against_{name}")],
    }
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def _known(value: str, values: list[str]) -> str:
    return value if value in values else ""


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS + 1 else None


def _place(query: QueryDict, name: str) -> Place | None:
    left, _, right = query.get(name, "").partition(".")
    item, pk = _number(left), _number(right)
    return None if item is None or pk is None else Place(item, pk)


def _address(query: Mapping[str, Any], **places: Place) -> str:
    shown = {name: f"{place.item_id}.{place.pk}" for name, place in places.items()}
    return f"?{urlencode({**query, **shown}, doseq=True)}"


def _with_query(url: str, query: str) -> str:
    return f"{url}?{query}" if query else url

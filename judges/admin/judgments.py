"""Judgments in the admin: listed by what they say, opened with all that led to them, never changed."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from annotation.kinds import kind_choices
from annotation.selectors.datasets import datasets_by_name
from annotation.selectors.judged_items import dataset_categories
from judges.forms.judgment_filters import (
    AGAINST,
    address,
    filter_from,
    number_from,
    place_from,
    query_of,
    with_query,
)
from judges.models import Judgment, Order, ParseStatus
from judges.selectors.judgment_list import judges_with_judgments, judgment_neighbours, judgments_page
from judges.selectors.judgment_page import judgment_detail
from judges.selectors.judgment_parts import part_rows


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
            filters, before=place_from(request.GET, "before"), after=place_from(request.GET, "after")
        )
        chosen = query_of(filters)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Judgments",
            "page": page,
            "newer_url": address(chosen, after=page.newer) if page.newer else "",
            "older_url": address(chosen, before=page.older) if page.older else "",
            "query": urlencode(chosen, doseq=True),
            "is_filtered": bool(chosen),
            "is_first": not request.GET.get("before") and not request.GET.get("after"),
            "filters": filters,
            "judgment_page": "admin:judges_judgment_change",
            "judges": judges_with_judgments().only("name"),
            "datasets": datasets_by_name().only("name"),
            "categories": dataset_categories(filters.dataset_id) if filters.dataset_id is not None else [],
            "kinds": kind_choices(),
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
        number = number_from(object_id)
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
            "judge_url": reverse("admin:judges_judge_change", args=[detail.judgment.judge_id]),
            "item": detail.item,
            "trace": detail.trace,
            "parts": part_rows(detail),
            "judgment_page": "admin:judges_judgment_change",
            "query": query,
            "list_url": with_query(reverse("admin:judges_judgment_changelist"), query),
            "above_url": with_query(reverse("admin:judges_judgment_change", args=[above]), query)
            if above
            else "",
            "below_url": with_query(reverse("admin:judges_judgment_change", args=[below]), query)
            if below
            else "",
        }
        return TemplateResponse(request, "admin/judges/judgment/change_form.html", context)

    def _require_reading(self, request: HttpRequest) -> None:
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied

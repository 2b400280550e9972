"""Judgments in the admin: listed by what they say, opened with all that led to them, never changed."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from annotation.kinds import kind_choices
from annotation.selectors.datasets import datasets_by_name
from annotation.selectors.judged_items import dataset_categories
from judges.admin.pages import ReadOnlyAdmin
from judges.forms.judgment_filters import (
    detail_context,
    filter_from,
    list_context,
    number_from,
    query_of,
    with_query,
)
from judges.models import Judgment
from judges.selectors.judgment_list import judges_with_judgments
from judges.selectors.judgment_page import judgment_detail


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin[Judgment]):
    """Two pages of our own: neither counts the table, and the second rebuilds what was asked."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        self.require_reading(request)
        filters = filter_from(request.GET)
        dataset = datasets_by_name().filter(pk=filters.dataset_id).first() if filters.dataset_id else None
        context = {
            **list_context(request.GET, filters, query_of(filters)),
            "judgment_page": "admin:judges_judgment_change",
            "judges": judges_with_judgments().only("name"),
            "datasets": datasets_by_name().only("name"),
            "categories": dataset_categories(dataset) if dataset is not None else [],
            "kinds": kind_choices(),
        }
        return self.own_page(request, "change_list.html", "Judgments", **context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        self.require_reading(request)
        if object_id is None or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        number = number_from(object_id)
        try:
            detail = judgment_detail(-1 if number is None else number)
        except Judgment.DoesNotExist:
            raise Http404 from None
        filters = filter_from(request.GET)
        query = urlencode(query_of(filters), doseq=True)
        context = {
            **detail_context(
                detail,
                filters,
                query,
                page="admin:judges_judgment_change",
                judge_page="admin:judges_judge_change",
            ),
            "list_url": with_query(reverse("admin:judges_judgment_changelist"), query),
        }
        title = f"{detail.item.external_id}, judged by {detail.judgment.judge}"
        return self.own_page(request, "change_form.html", title, **context)

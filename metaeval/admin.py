"""Reports and decisions in the admin: to be looked at. They are made by the pages and never changed."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from judges.admin.pages import ReadOnlyAdmin
from metaeval.models import Decision, Preregistration, Report
from metaeval.reports.promotion import summary_lines


def _page_of(decision: Decision, name: str) -> str:
    if decision.sweep_id is None:
        return reverse(f"metaeval:dataset-{name}", args=[decision.dataset.name])
    return reverse(f"metaeval:{name}", args=[decision.sweep_id])


@admin.register(Preregistration)
class PreregistrationAdmin(ReadOnlyAdmin[Any]):
    list_display = ("title", "dataset", "created_by", "created_at", "sha256")
    list_filter = ("dataset",)
    list_select_related = ("dataset", "created_by")
    search_fields = ("title", "sha256")
    fields = ("title", "page", "dataset", "created_by", "created_at", "sha256", "content")
    readonly_fields = ("page",)

    @admin.display(description="preregistration")
    def page(self, one: Preregistration) -> SafeString:
        return format_html('<a href="{}">Read it</a>', reverse("metaeval:preregistration", args=[one.pk]))


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin[Any]):
    list_display = ("name", "dataset", "study", "sweep", "short_hash", "created_by", "created_at")
    list_filter = ("dataset",)
    list_select_related = ("dataset", "study", "sweep", "created_by")
    search_fields = ("name", "inputs_hash")
    # The content is hundreds of kilobytes of JSON; its page is where it is read.
    fields = (
        "name",
        "page",
        "dataset",
        "study",
        "sweep",
        "inputs_hash",
        "options",
        "created_by",
        "created_at",
    )
    readonly_fields = ("page",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("content")

    @admin.display(description="inputs")
    def short_hash(self, report: Report) -> str:
        return report.inputs_hash[:8]

    @admin.display(description="report")
    def page(self, report: Report) -> SafeString:
        return format_html('<a href="{}">Read it</a>', reverse("metaeval:report-detail", args=[report.pk]))


@admin.register(Decision)
class DecisionAdmin(ReadOnlyAdmin[Any]):
    list_display = ("dataset", "kind", "judge", "in_force", "sweep", "decided_by", "created_at")
    list_filter = ("kind", "dataset")
    list_select_related = ("dataset", "judge", "sweep", "decided_by")
    search_fields = ("reason", "judge__name", "dataset__name")
    fields = (
        *(
            "dataset",
            "kind",
            "judge",
            "sweep",
            "reason",
            "decided_by",
            "created_at",
            "replaced_by",
            "inputs_hash",
        ),
        *("choice", "configuration", "comparison"),
    )
    readonly_fields = ("choice", "configuration", "comparison")

    def get_queryset(self, request: HttpRequest) -> Any:
        # Whole selections are read for the page of one decision, not for a list of them.
        return super().get_queryset(request).defer("selection")

    @admin.display(boolean=True, description="current")
    def in_force(self, decision: Decision) -> bool:
        return decision.replaced_by_id is None

    @admin.display(description="choice over several datasets")
    def choice(self, decision: Decision) -> SafeString | str:
        if decision.selection is None:
            return "None: decided by the comparison on this dataset."
        lines = format_html_join("", "<dt>{}</dt><dd>{}</dd>", summary_lines(decision.selection))
        url = _page_of(decision, "decision")
        return format_html('<dl>{}</dl><p><a href="{}">As it is now</a></p>', lines, url)

    @admin.display(description="configuration")
    def configuration(self, decision: Decision) -> SafeString:
        url = reverse("metaeval:decision-judge", args=[decision.pk])
        return format_html('<a href="{}" download>JSON</a>', url)

    @admin.display(description="comparison")
    def comparison(self, decision: Decision) -> SafeString:
        return format_html('<a href="{}">Open</a>', _page_of(decision, "comparison"))

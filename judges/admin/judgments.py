"""Judgments in the admin: to be read, never to be changed."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from judges.models import Judgment

CHOICES = ("tie", "first response", "second response")


@admin.register(Judgment)
class JudgmentAdmin(admin.ModelAdmin[Judgment]):
    list_display = (
        "item",
        "judge",
        "order",
        "status",
        "choice_shown",
        "dollars",
        "milliseconds",
        "created_at",
    )
    list_filter = ("status", "order", "judge", "item__dataset")
    list_select_related = ("judge", "item")
    search_fields = ("item__external_id", "raw_text")
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judgment]:
        return super().get_queryset(request).order_by("-pk")

    @admin.display(description="Verdict", ordering="choice")
    def choice_shown(self, judgment: Judgment) -> str:
        return "–" if judgment.choice is None else CHOICES[judgment.choice]

    @admin.display(description="Cost")
    def dollars(self, judgment: Judgment) -> str:
        return f"${judgment.cost:.6f}" if judgment.cost else "–"

    @admin.display(description="Model time")
    def milliseconds(self, judgment: Judgment) -> str:
        return f"{judgment.latency_ms:,.0f} ms" if judgment.latency_ms else "–"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

"""Judgments in the admin: to be read, never to be changed."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from judges.models import Judgment


@admin.register(Judgment)
class JudgmentAdmin(admin.ModelAdmin[Judgment]):
    list_display = ("item", "judge", "order", "status", "choice", "cost", "latency_ms", "created_at")
    list_filter = ("status", "order", "judge", "item__dataset")
    list_select_related = ("judge", "item")
    search_fields = ("item__external_id", "raw_text")
    show_full_result_count = False
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[Judgment]:
        return super().get_queryset(request).order_by("-pk")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Judgment | None = None) -> bool:
        return False

"""Sweeps in the admin: made, launched, watched, cancelled, resumed."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, URLPattern, path, reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from judges.forms import SweepForm
from judges.models import Sweep, SweepState
from judges.selectors.sweeps import sweep_progress
from judges.services.checks import sweep_check
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweeps import Launch, SweepError, sweep_cancel, sweep_delete, sweep_resume, sweep_start

CHIPS = {
    SweepState.DRAFT: "",
    SweepState.QUEUED: "chip-accent chip-live",
    SweepState.RUNNING: "chip-accent chip-live",
    SweepState.CANCELLED: "chip-warn",
    SweepState.FAILED: "chip-bad",
    SweepState.FINISHED: "chip-good",
}


@admin.register(Sweep)
class SweepAdmin(admin.ModelAdmin[Sweep]):
    form = SweepForm
    list_display = ("name", "state_shown", "orders", "budget", "created_by", "created_at", "links")
    list_filter = ("state",)
    search_fields = ("name",)
    list_select_related = ("created_by",)
    change_form_template = "admin/judges/sweep/change_form.html"

    @admin.display(description="State", ordering="state")
    def state_shown(self, sweep: Sweep) -> str:
        chip = CHIPS[SweepState(sweep.state)]
        return format_html('<span class="chip {}">{}</span>', chip, SweepState(sweep.state).label)

    @admin.display(description="")
    def links(self, sweep: Sweep) -> str:
        progress = reverse("admin:judges_sweep_progress", args=[sweep.pk])
        return format_html('<a href="{}">Progress</a>', progress)

    def has_change_permission(self, request: HttpRequest, obj: Sweep | None = None) -> bool:
        if obj is not None and obj.state != SweepState.DRAFT:
            return False
        return super().has_change_permission(request, obj)

    def delete_model(self, request: HttpRequest, obj: Sweep) -> None:
        sweep_delete(sweep=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Sweep]) -> None:
        for sweep in queryset:
            sweep_delete(sweep=sweep)

    def has_delete_permission(self, request: HttpRequest, obj: Sweep | None = None) -> bool:
        if obj is not None and obj.state in (SweepState.QUEUED, SweepState.RUNNING):
            return False
        return super().has_delete_permission(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """No deletion in bulk: a sweep at work would have to be refused from the middle of it."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        heuristic_judges_ensure()
        return super().add_view(request, form_url, extra_context)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Only a draft has a form; anything else is watched."""
        sweep = self.get_object(request, object_id)
        if sweep is not None and sweep.state != SweepState.DRAFT:
            return HttpResponseRedirect(reverse("admin:judges_sweep_progress", args=[sweep.pk]))
        return super().change_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Sweep, form: ModelForm[Sweep], change: bool) -> None:
        if not change:
            obj.created_by = request.user  # type: ignore[assignment]
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Sweep, post_url_continue: str | None = None) -> HttpResponse:
        return self._after_save(request, obj)

    def response_change(self, request: HttpRequest, obj: Sweep) -> HttpResponse:
        return self._after_save(request, obj)

    def _after_save(self, request: HttpRequest, sweep: Sweep) -> HttpResponse:
        if "_launch" in request.POST:
            self._launch(request, lambda: sweep_start(sweep=sweep))
        return HttpResponseRedirect(reverse("admin:judges_sweep_progress", args=[sweep.pk]))

    def _launch(self, request: HttpRequest, start: Callable[[], Launch]) -> None:
        try:
            launch = start()
        except SweepError as error:
            for message in error.messages:
                messages.error(request, message)
            return
        for warning in launch.warnings:
            messages.warning(request, warning)

    def get_urls(self) -> list[URLPattern]:
        site = self.admin_site
        return [
            path("<int:pk>/progress/", site.admin_view(self.progress_view), name="judges_sweep_progress"),
            *(
                path(f"<int:pk>/{name}/", site.admin_view(require_POST(view)), name=f"judges_sweep_{name}")
                for name, view in (
                    ("start", self.start_view),
                    ("cancel", self.cancel_view),
                    ("resume", self.resume_view),
                )
            ),
            *super().get_urls(),
        ]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """How far a sweep is; the same template as a whole page and, polled, as its moving part."""
        sweep = self._sweep(pk)
        progress = sweep_progress(pk)
        check = sweep_check(sweep=sweep) if sweep.state == SweepState.DRAFT else None
        context = {
            **self.admin_site.each_context(request),
            "title": sweep.name,
            "opts": self.opts,
            "sweep": sweep,
            "progress": progress,
            "check": check,
            "chip": CHIPS[SweepState(sweep.state)],
            "comparison_url": _comparison_url(pk),
            "poll_url": reverse("admin:judges_sweep_progress", args=[pk]),
        }
        partial = getattr(request, "htmx", False)
        name = "_progress" if partial else "progress"
        response = TemplateResponse(request, f"admin/judges/sweep/{name}.html", context)
        response["Cache-Control"] = "no-store"
        return response

    def start_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        sweep = self._sweep(pk)
        self._launch(request, lambda: sweep_start(sweep=sweep))
        return HttpResponseRedirect(reverse("admin:judges_sweep_progress", args=[pk]))

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if sweep_cancel(sweep=self._sweep(pk)):
            messages.success(request, "Cancelled. What is still on its way is kept; Resume goes on from there.")
        return HttpResponseRedirect(reverse("admin:judges_sweep_progress", args=[pk]))

    def resume_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        sweep = self._sweep(pk)
        retry = "retry_failed" in request.POST
        self._launch(request, lambda: sweep_resume(sweep=sweep, retry_failed=retry))
        return HttpResponseRedirect(reverse("admin:judges_sweep_progress", args=[pk]))

    def _sweep(self, pk: int) -> Sweep:
        sweep = Sweep.objects.filter(pk=pk).first()
        if sweep is None:
            raise Http404
        return sweep


def _comparison_url(pk: int) -> str:
    """The comparison is a page of the application above, reached by name."""
    try:
        return reverse("metaeval:comparison", args=[pk])
    except NoReverseMatch:
        return ""

"""Sweeps in the admin: made, launched, watched, paused, cancelled, resumed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.forms import BoundField
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST, require_safe

from annotation.models import User
from judges.admin.pages import ServiceAdmin
from judges.forms.redrawn import REDRAW
from judges.forms.sweeps import STATE_CHIPS, BudgetForm, SweepForm, pages_above
from judges.models import Sweep, SweepState
from judges.selectors.estimate import budget_warnings, sweep_estimate
from judges.selectors.judges import judges_runnable
from judges.selectors.overview import judge_strategy, sweep_plan, sweeps_overview
from judges.selectors.reading import runs_stopped
from judges.selectors.recent import answers_recent, errors_grouped
from judges.selectors.sweeps import sweep_progress
from judges.services.checks import sweep_check
from judges.services.judges import heuristic_judges_ensure
from judges.services.sweep_states import ACTIVE, RESUMABLE
from judges.services.sweeps import (
    Launch,
    SweepError,
    draft_create,
    draft_update,
    sweep_cancel,
    sweep_delete,
    sweep_pause,
    sweep_resume,
    sweep_start,
)

TRIED = 400
"""Items times orders on which a draft is tried out while its page waits."""
SAME_ITEMS = ("orders", "seed", "categories", "subsets", "sample_size")
"""Settings of a sweep that say which items it judges, and in which orders."""
BUDGETS = ("budget", "budget_tokens", "budget_minutes")


@admin.register(Sweep)
class SweepAdmin(ServiceAdmin[Sweep]):
    list_filter = ("state",)
    search_fields = ("name",)
    change_list_template = "admin/judges/sweep/change_list.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sweep]:
        return sweeps_overview()

    def has_change_permission(self, request: HttpRequest, obj: Sweep | None = None) -> bool:
        if obj is not None and obj.state != SweepState.DRAFT:
            return False
        return super().has_change_permission(request, obj)

    # --- the list ---------------------------------------------------------------------------------------------

    def rows(self, result_list: Any) -> list[Any]:
        return [
            (
                sweep,
                SweepState(sweep.state).label,
                STATE_CHIPS[SweepState(sweep.state)],
                pages_above(sweep.pk)["comparison"],
            )
            for sweep in result_list
        ]

    # --- the form of a draft ----------------------------------------------------------------------------------

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Only a draft has a form; anything else is watched."""
        sweep = self.get_object(request, object_id) if object_id is not None else None
        if sweep is not None and sweep.state != SweepState.DRAFT:
            return HttpResponseRedirect(self.url("progress", sweep.pk))
        return super().changeform_view(request, object_id, form_url, extra_context)

    def build_form(self, request: HttpRequest, obj: Sweep | None) -> SweepForm:
        if "_heuristics" in request.POST:
            # Nothing is saved: the form comes back as it was typed, with those judges there. Chosen are those
            # that can judge any dataset; the others read a reference, which few have.
            judges = heuristic_judges_ensure()
            added = [j.pk for j in judges if (info := judge_strategy(j)) and not info.needs_reference]
            typed = request.POST.copy()
            typed.setlist("judges", [*typed.getlist("judges"), *map(str, added)])
            typed[REDRAW] = "1"
            return SweepForm(typed, instance=obj)
        if request.method == "POST":
            return SweepForm(request.POST, instance=obj)
        return SweepForm(instance=obj, initial=_begun(request) if obj is None else None)

    def save(self, form: SweepForm, *, obj: Sweep | None, user: User) -> Sweep:
        if obj is None:
            return draft_create(created_by=user, **form.content())
        try:
            return draft_update(sweep=obj, **form.content())
        except SweepError as error:
            raise ValidationError(list(error.messages)) from None

    def after_save(self, request: HttpRequest, obj: Sweep) -> HttpResponse:
        if "_launch" in request.POST:
            self._start(request, obj)
        return HttpResponseRedirect(self.url("progress", obj.pk))

    # --- the progress page and its buttons --------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        views: dict[str, Callable[..., HttpResponse]] = {
            "progress": require_safe(self.progress_view),
            "start": require_POST(self.start_view),
            "pause": require_POST(self.pause_view),
            "cancel": require_POST(self.cancel_view),
            "resume": require_POST(self.resume_view),
        }
        own = [
            path(f"<int:pk>/{name}/", self.admin_site.admin_view(view), name=f"judges_sweep_{name}")
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """How far a sweep is: a whole page and, polled, its moving part.

        The poll tells what the page's head was drawn for (`seen`); when that is something else by now, the answer
        brings the chip and the buttons too. Otherwise they stay, so that no click lands on a button just replaced.
        """
        sweep = self._sweep(pk)
        progress = sweep_progress(pk)
        draft = progress.state == SweepState.DRAFT
        partial = bool(getattr(request, "htmx", False))
        stopped = runs_stopped(progress.runs)
        seen = f"{progress.state}-{'some' if progress.n_done else 'none'}"
        estimate = sweep_estimate(sweep, most_works=TRIED) if draft else None
        check = sweep_check(sweep=sweep) if draft else None
        if check is not None and estimate is not None:
            check = replace(check, warnings=(*check.warnings, *budget_warnings(sweep, estimate)))
        context = {
            "sweep": sweep,
            "progress": progress,
            "check": check,
            "plan": sweep_plan(sweep) if draft else None,
            "estimate": estimate,
            "chip": STATE_CHIPS[SweepState(progress.state)],
            "can_resume": progress.state in RESUMABLE,
            "budget_fields": _budget_fields(sweep),
            "above": pages_above(pk) if progress.n_done else {},
            "stopped": list(stopped.values()),
            "is_said": progress.message in stopped,
            "errors": errors_grouped(progress.runs, is_active=progress.is_active),
            "answers": answers_recent(progress.runs, is_active=progress.is_active) if progress.n_done else [],
            "queues": sorted({run.queue for run in progress.runs} - {""}),
            "seen": seen,
            "head_changed": partial and request.GET.get("seen") != seen,
        }
        part = "#poll" if partial else ""
        return self.own_page(request, f"progress.html{part}", sweep.name, **context)

    def start_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        self._start(request, self._sweep(pk))
        return HttpResponseRedirect(self.url("progress", pk))

    def pause_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if sweep_pause(sweep=self._sweep(pk)):
            messages.success(request, "Paused. Answers in flight are kept; Resume continues from there.")
        return HttpResponseRedirect(self.url("progress", pk))

    def cancel_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        if sweep_cancel(sweep=self._sweep(pk)):
            messages.success(request, "Cancelled. Answers in flight are kept; Resume continues from there.")
        return HttpResponseRedirect(self.url("progress", pk))

    def resume_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        sweep = self._sweep(pk)
        form = BudgetForm(request.POST)
        if not form.is_valid():
            for name, errors in form.errors.items():
                messages.error(request, f"{form.fields[name].label}: {' '.join(map(str, errors))}")
        else:
            limits = {name: form.cleaned_data[name] for name in BUDGETS}
            try:
                launch = sweep_resume(sweep=sweep, retry_failed="retry_failed" in request.POST, **limits)
            except SweepError as error:
                for message in error.messages:
                    messages.error(request, message)
            else:
                self._warn(request, launch)
        return HttpResponseRedirect(self.url("progress", pk))

    def _start(self, request: HttpRequest, sweep: Sweep) -> None:
        try:
            launch = sweep_start(sweep=sweep)
        except SweepError:
            # The page of a draft lists what is in the way.
            messages.error(request, "The sweep wasn't launched. See the errors below.")
        else:
            self._warn(request, launch)

    def _warn(self, request: HttpRequest, launch: Launch) -> None:
        for warning in launch.warnings if launch.changed else ():
            messages.warning(request, warning)

    def _sweep(self, pk: int) -> Sweep:
        sweep = Sweep.objects.filter(pk=pk).first()
        if sweep is None:
            raise Http404
        return sweep

    # --- deleting ---------------------------------------------------------------------------------------------

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        sweep = self.get_object(request, object_id)
        try:
            if sweep is not None and sweep.state in ACTIVE:
                raise SweepError([f"'{sweep}' is running: cancel it first."])
            return super().delete_view(request, object_id, extra_context)
        except SweepError as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(self.url("progress", object_id))

    def delete_model(self, request: HttpRequest, obj: Sweep) -> None:
        sweep_delete(sweep=obj)


def _begun(request: HttpRequest) -> dict[str, Any]:
    """`?judge=PK&like=PK` begins a sweep of a judge over the very items of another sweep."""
    judge, like = (request.GET.get(name, "") for name in ("judge", "like"))
    initial: dict[str, Any] = {}
    for chosen in judges_runnable().filter(pk=int(judge)) if judge.isdecimal() else ():
        initial |= {"name": chosen.name, "judges": [chosen.pk]}
    for sweep in Sweep.objects.filter(pk=int(like)) if like.isdecimal() else ():
        initial |= {name: getattr(sweep, name) for name in SAME_ITEMS}
        initial["datasets"] = list(sweep.datasets.values_list("pk", flat=True))
    return initial


def _budget_fields(sweep: Sweep) -> list[BoundField]:
    """Return the fields of the limits that the sweep has, to be raised when it goes on."""
    limits = {name: value for name in BUDGETS if (value := getattr(sweep, name)) is not None}
    form = BudgetForm(initial=limits)
    return [form[name] for name in limits]

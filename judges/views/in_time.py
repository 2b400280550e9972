"""A judge in time: its anchors, the checks of them, and whether it has moved. For administrators."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from judges.forms.anchor_pages import (
    FreezeForm,
    ScheduleForm,
    check_rows,
    evidence_text,
    new_labels_words,
    verdict_words,
)
from judges.models import AnchorSet, Judge, SweepState
from judges.selectors.anchors import anchor_get, anchor_sets, in_time
from judges.selectors.judges import judge_places
from judges.selectors.new_labels import new_labels
from judges.selectors.reading import judge_get_for
from judges.services.anchors import (
    AnchorError,
    anchors_check,
    anchors_freeze,
    anchors_retire,
    anchors_update,
)
from judges.services.sweeps import SweepError, sweep_resume
from web.access import ResearcherRequest, researcher_action, researcher_page


@never_cache
@researcher_page
def in_time_page(request: ResearcherRequest, pk: int) -> HttpResponse:
    return _page(request, _judge(request, pk))


@researcher_action
def in_time_freeze(request: ResearcherRequest, pk: int) -> HttpResponseBase:
    judge = _judge(request, pk)
    form = FreezeForm(request.POST, datasets=_datasets(request, judge))
    if form.is_valid():
        given = form.cleaned_data
        try:
            anchors_freeze(
                judge=judge,
                dataset=given["dataset"],
                n=given["n"],
                repeats=given["repeats"],
                tolerance=float(given["tolerance"]) / 100,
                budget=given["budget"],
                every_days=given["every_days"],
                created_by=request.user,
            )
        except AnchorError as error:
            form.add_error(None, str(error))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(
                request, "The anchors are frozen. The judge is asked again to measure its noise."
            )
            return _back(judge)
    return _page(request, judge, refused=form)


@researcher_action
def in_time_act(request: ResearcherRequest, pk: int, anchors: int) -> HttpResponseBase:
    """Check now, resume a check, change the schedule, or stop using anchors."""
    judge = _judge(request, pk)
    row = anchor_get(judge, anchors)
    if row is None:
        raise Http404
    try:
        said = _act(request, row)
    except (AnchorError, SweepError) as error:
        messages.error(request, f"Nothing was changed. {error}")
    else:
        (messages.success if said else messages.error)(
            request, said or "Nothing was changed. The form doesn't match this page."
        )
    return _back(judge)


def _act(request: ResearcherRequest, anchors: AnchorSet) -> str:
    action = request.POST.get("action", "")
    if action == "check":
        sweep = anchors_check(anchors=anchors, user=request.user)
        if sweep.state in (SweepState.PAUSED, SweepState.FAILED):
            return "An earlier check has stopped. Resume it first."
        return (
            "The check is running: the judge is asked about the anchors again."
            if sweep.state != SweepState.FINISHED
            else ("The anchors were checked a moment ago.")
        )
    if action == "resume":
        stopped = anchors.checks.filter(state__in=(SweepState.PAUSED, SweepState.FAILED)).order_by("pk")
        for sweep in stopped:
            sweep_resume(sweep=sweep, budget=anchors.budget, retry_failed=True)
        return "The check continues."
    if action == "schedule":
        form = ScheduleForm(request.POST)
        if not form.is_valid():
            return ""
        anchors_update(
            anchors=anchors, every_days=form.cleaned_data["every_days"], budget=form.cleaned_data["budget"]
        )
        return "The schedule is saved."
    if action == "retire":
        anchors_retire(anchors=anchors)
        return "These anchors are no longer in use. The results stay here."
    return ""


def _page(request: ResearcherRequest, judge: Judge, *, refused: FreezeForm | None = None) -> HttpResponse:
    datasets = _datasets(request, judge)
    sets = [in_time(row) for row in anchor_sets(judge, [one.pk for one in datasets])]
    streams = {
        one.anchors.pk: new_labels(one, reader=request.user) for one in sets if one.anchors.retired_at is None
    }
    used = {one.anchors.dataset_id for one in sets if one.anchors.retired_at is None}
    free = datasets.exclude(pk__in=used)
    context = {
        "section": "judges",
        "crumbs": [
            ("Judges", reverse("judges:judge-list")),
            (judge.name, reverse("judges:judge-detail", args=[judge.pk])),
            ("Drift over time", None),
        ],
        "judge": judge,
        "sets": [
            {
                "found": one,
                "words": verdict_words(one),
                "new": streams.get(one.anchors.pk),
                "new_words": new_labels_words(one, streams.get(one.anchors.pk)),
                "rows": check_rows(one),
                "evidence": "–" if one.state is None else evidence_text(one.state.e_value),
                "alarm": "" if one.noise is None else evidence_text(one.alarm),
                "schedule": ScheduleForm(
                    {"every_days": one.anchors.every_days, "budget": one.anchors.budget},
                    auto_id=f"id_{one.anchors.pk}_%s",
                ),
                "can_resume": any(check.can_resume for check in one.checks),
            }
            for one in sets
        ],
        "form": refused or FreezeForm(datasets=free),
        "free": free,
    }
    return render(request, "judges/in_time.html", context, status=422 if refused else 200)


def _judge(request: ResearcherRequest, pk: int) -> Judge:
    if not request.user.is_administrator:
        raise PermissionDenied("Only administrators can check judges.")
    return judge_get_for(request.user, pk)


def _datasets(request: ResearcherRequest, judge: Judge) -> QuerySet[Dataset]:
    judged = [place.dataset_id for place in judge_places(judge)]
    return datasets_visible_to(request.user).filter(pk__in=judged).order_by("name")


def _back(judge: Judge) -> HttpResponseBase:
    return redirect("judges:judge-in-time", pk=judge.pk)

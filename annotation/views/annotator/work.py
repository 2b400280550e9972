"""The work: one item at a time, shown, drafted, answered, left out, answered again."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.domain.errors import LabelValueError, StageError, StudyNotOpenError
from annotation.forms.annotator import PairwiseForm, SkipForm
from annotation.models import Assignment, AssignmentState, Enrollment, Stage, StudyState, TiePolicy
from annotation.selectors.shown import item_shown
from annotation.selectors.work import (
    assignment_get_for,
    items_left_ever,
    last_submitted,
    own_label,
    progress_get,
    shown_value,
)
from annotation.services.assignments import (
    Outcome,
    assignment_claim,
    assignment_release,
    assignment_submit,
    draft_save,
)
from annotation.services.enrollment import enrollment_finish
from annotation.services.labels import label_change
from annotation.views.annotator.common import DRAFT_RATE, POST_RATE, for_enrollment, limited, study_context
from annotation.views.annotator.steps import not_open

TOLD: dict[Outcome, str] = {
    "late": "Your answer is kept, but it came after the time for that pair was over and others had "
    "answered it, so it does not count towards its result.",
    "capped": "Your answer is kept, but you had left that pair, and have answered as many as one person may in "
    "this study, so it does not count towards the results.",
    "closed": "The study closed before your answer arrived. It is kept, but does not count towards "
    "the results.",
    "different": "You had answered that pair already. That answer stands; you can change it on its page.",
}


@require_safe
@for_enrollment
def work(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Go to the item in hand, or to the next one."""
    return _next(request, enrollment)


def _next(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    slug = enrollment.study.slug
    try:
        assignment = assignment_claim(enrollment=enrollment)
    except StageError:
        return redirect("annotation:place", slug)
    except StudyNotOpenError as error:
        if error.state == StudyState.CLOSED:
            enrollment_finish(enrollment=enrollment)
            return redirect("annotation:done", slug)
        return not_open(request, enrollment)
    if assignment is not None:
        return redirect("annotation:assignment", slug, assignment.pk)
    if items_left_ever(enrollment):
        context = study_context(request, enrollment) | {"progress": progress_get(enrollment)}
        return render(request, "annotation/annotator/nothing_now.html", context)
    enrollment_finish(enrollment=enrollment)
    return redirect("annotation:done", slug)


def _fetch(enrollment: Enrollment, pk: int) -> Assignment:
    try:
        return assignment_get_for(enrollment, pk)
    except Assignment.DoesNotExist:
        raise Http404 from None


@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="submit", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def assignment(request: HttpRequest, enrollment: Enrollment, pk: int) -> HttpResponse:
    found = _fetch(enrollment, pk)
    if request.method == "POST":
        return _change(request, found) if request.POST.get("change") else _submit(request, found)
    if found.state == AssignmentState.SUBMITTED:
        return _page(request, found)
    if enrollment.stage != Stage.WORK or found.state == AssignmentState.RELEASED:
        return redirect("annotation:place", enrollment.study.slug)
    if enrollment.study.state != StudyState.OPEN:
        return _next(request, enrollment)
    if found.state == AssignmentState.EXPIRED:
        response = _next(request, enrollment)
        if (
            response.headers.get("Location") != request.path
        ):  # it may be theirs again, and then nothing happened
            messages.info(request, "That pair was given back after a while without an answer.")
        return response
    return _page(request, found)


def _page(request: HttpRequest, found: Assignment, *, error: str = "", status: int = 200) -> HttpResponse:
    """The item with what was chosen: the answer of an answered one, the draft of an open one."""
    enrollment, study = found.enrollment, found.enrollment.study
    label = own_label(found) if found.state == AssignmentState.SUBMITTED else None
    draft = found.draft or {}
    stored = label.value if label else draft.get("value")
    last = last_submitted(enrollment)
    context = study_context(request, enrollment) | {
        "assignment": found,
        "item": item_shown(study, found.study_item.item, found.shown_order),
        "answered": label,
        "can_change": study.state == StudyState.OPEN,
        "chosen": shown_value(study.kind, stored, found.shown_order)["choice"] if stored else None,
        "active_ms": draft.get("active_ms") or 0,
        "ties": study.tie_policy == TiePolicy.TIE,
        "progress": progress_get(enrollment),
        "undo_url": reverse("annotation:assignment", args=[study.slug, last.pk])
        if last and not label
        else "",
        "skip_form": SkipForm(),
        "error": error,
    }
    return render(request, "annotation/annotator/pairwise.html", context, status=status)


def _submit(request: HttpRequest, found: Assignment) -> HttpResponse:
    form = PairwiseForm(request.POST)
    if not form.is_valid():
        return _page(request, found, error=form.error, status=422)
    try:
        submission = assignment_submit(
            assignment=found, shown_value=form.shown_value, active_ms=form.active_time, wall_ms=form.wall_time
        )
    except LabelValueError as error:
        return _page(request, found, error=error.message, status=422)
    if told := TOLD.get(submission.outcome):
        messages.warning(request, told)
    # What the submit changed (the count, for the cap) is read again by the claim that follows.
    found.enrollment.refresh_from_db(fields=["n_accepted", "stage"])
    return _next(request, found.enrollment)


def _change(request: HttpRequest, found: Assignment) -> HttpResponse:
    form = PairwiseForm(request.POST)
    if not form.is_valid():
        return _page(request, found, error=form.error, status=422)
    try:
        label_change(
            assignment=found, shown_value=form.shown_value, active_ms=form.active_time, wall_ms=form.wall_time
        )
    except LabelValueError as error:
        return _page(request, found, error=error.message, status=422)
    except StudyNotOpenError:
        messages.warning(request, "The study is not open now, so your answer stays as it was.")
    except StageError:
        messages.warning(request, "There is no answer to change.")
    else:
        messages.success(request, "Your answer was changed.")
    return redirect("annotation:place", found.enrollment.study.slug)


@require_POST
@limited(group="draft", rate=DRAFT_RATE, by="session")
@for_enrollment
def draft(request: HttpRequest, enrollment: Enrollment, pk: int) -> HttpResponse:
    """Keep what is chosen, on the server, so that it is there on every device. Nothing to say: 204."""
    found = _fetch(enrollment, pk)
    form = PairwiseForm(request.POST)
    if not form.is_valid():
        return HttpResponse(status=422)
    try:
        kept = draft_save(assignment=found, shown_value=form.shown_value, active_ms=form.active_time)
    except LabelValueError:
        return HttpResponse(status=422)
    # Too late is no fault of anybody's: the answer was submitted while its draft was on the way.
    return HttpResponse(status=204, headers={"X-Draft": "kept" if kept else "not needed"})


@require_http_methods(["GET", "HEAD", "POST"])
@limited(group="submit", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def skip(request: HttpRequest, enrollment: Enrollment, pk: int) -> HttpResponse:
    """Leave an item out, with a reason. GET is the page for browsers without scripts."""
    found = _fetch(enrollment, pk)
    form = SkipForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        assignment_release(assignment=found, reason=form.words)
        return _next(request, enrollment)
    if found.state in (AssignmentState.SUBMITTED, AssignmentState.RELEASED):
        return redirect("annotation:place", enrollment.study.slug)
    context: dict[str, Any] = study_context(request, enrollment) | {"assignment": found, "skip_form": form}
    return render(request, "annotation/annotator/skip.html", context, status=422 if form.is_bound else 200)

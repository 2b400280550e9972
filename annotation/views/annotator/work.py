"""The work: one item at a time, shown, drafted, answered, left out, answered again.

A page and the answer to a submit are the same template (`_work.html`, id `work`): htmx gets it with the next item in
it and swaps it in, a browser without scripts is redirected to its page. A GET changes nothing: what is next is asked
for by a POST, which the page sends by itself where there are scripts.
"""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, replace_url

from annotation.domain.errors import LabelValueError, StageError, StudyNotOpenError, SuspendedError
from annotation.forms.annotator import ItemReportForm, SkipForm
from annotation.forms.work import WorkForm, draft_fields
from annotation.kinds import answer_words
from annotation.kinds.shown import ShownItem
from annotation.kinds.shown_trace import ShownStep, steps_shown
from annotation.models import Assignment, AssignmentState, Enrollment, EvidenceRule, Stage, StudyState
from annotation.selectors.guidelines import guidelines_changes
from annotation.selectors.pay import earned_by
from annotation.selectors.shown import item_shown, value_rules
from annotation.selectors.work import (
    WorkStanding,
    assignment_in_hand,
    items_left_ever,
    last_submitted,
    own_label,
    standing_get,
    submitted_before,
    suspension_text,
    texts_unread,
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
from annotation.services.leases import leases_release
from annotation.services.quality import item_report, message_read
from annotation.views.annotator.ahead import ahead_answer
from annotation.views.annotator.common import (
    DRAFT_RATE,
    for_assignment,
    for_enrollment,
    for_item,
    for_step,
    for_work,
    limited,
    money,
    study_context,
)
from annotation.views.annotator.parts import item_context, part_context

PAGE = "annotation/annotator/work.html"
PART = "annotation/annotator/_work.html"
STEP_PART = "components/step.html"
TOLD: dict[Outcome, str] = {
    "late": gettext_noop(
        "Your answer is kept, but your time on that item ran out and others have answered it, so it doesn’t count "
        "toward the results."
    ),
    "capped": gettext_noop(
        "Your answer is kept, but you had left that item and have reached the maximum for one person in this study, so "
        "it doesn’t count toward the results."
    ),
    "closed": gettext_noop(
        "The study closed before your answer arrived. It’s kept, but doesn’t count toward the results."
    ),
    "suspended": gettext_noop(
        "Your work in this study was stopped before your answer arrived. It’s kept, but doesn’t count toward the "
        "results."
    ),
    "left": gettext_noop(
        "You had left the study before your answer arrived. It’s kept, but doesn’t count toward the results."
    ),
    "different": gettext_noop("Your first answer was kept. You can change it in “Your answers”."),
}


def _is_part(request: HttpRequest) -> bool:
    return bool(request.htmx)  # type: ignore[attr-defined]


def _go(request: HttpRequest, name: str, enrollment: Enrollment, *args: int) -> HttpResponse:
    """To another page; never into the part of this one."""
    url = reverse(f"annotation:{name}", args=[enrollment.study.slug, *args])
    return HttpResponseClientRedirect(url) if _is_part(request) else redirect(url)


def _work(request: HttpRequest, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """The page or, for htmx, the part of it that changes."""
    part = _is_part(request)
    response = render(request, PART if part else PAGE, {**context, "is_part": part}, status=status)
    return replace_url(response, context["here"]) if part and status < 400 else response


def _held_up(request: HttpRequest, enrollment: Enrollment) -> HttpResponse | None:
    """Where the person is, if that is not at work: another step, suspended, or a study that rests."""
    if enrollment.suspended_at is not None:
        return _suspended(request, enrollment)
    if enrollment.stage != Stage.WORK:
        return redirect("annotation:place", enrollment.study.slug)
    if enrollment.study.state not in (StudyState.OPEN, StudyState.CLOSED):
        return render(request, "annotation/annotator/not_open.html", study_context(request, enrollment))
    return None


def _suspended(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Say plainly and politely what happened, what was earned, and whom to ask."""
    earned, owner = earned_by(enrollment), enrollment.study.owner
    context = study_context(request, enrollment) | {
        "said": suspension_text(enrollment),
        "texts": texts_unread(enrollment),
        "answers": earned.answers,
        "earned": money(earned.total, enrollment.study) if earned.total else "",
        "contact": owner.email if owner else "",
    }
    return render(request, "annotation/annotator/suspended.html", context)


@for_work
def work(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """GET: to the item in hand, or the page that asks for the next. POST: the next item."""
    if request.method == "POST":
        return _next(request, enrollment, was=request.POST.get("was", ""))
    if held_up := _held_up(request, enrollment):
        return held_up
    if enrollment.study.state == StudyState.OPEN and (in_hand := assignment_in_hand(enrollment)):
        return redirect("annotation:assignment", enrollment.study.slug, in_hand)
    return _work(request, part_context(request, enrollment, "claim") | {"was": request.GET.get("was", "")})


def _next(
    request: HttpRequest,
    enrollment: Enrollment,
    *,
    was: str = "",
    last: Assignment | None = None,
    standing: WorkStanding | None = None,
    saved: str = "",
    given: Assignment | None = None,
) -> HttpResponse:
    """Give the person their next item, or show what they were `given` already: `last` is the one just answered, `saved`
    what was said of it, and `was` the one whose page they came from.
    """
    try:
        claimed = given or assignment_claim(enrollment=enrollment)
    except (StageError, SuspendedError):
        return _go(request, "place", enrollment)
    except StudyNotOpenError as error:
        return (
            _finish(request, enrollment)
            if error.state == StudyState.CLOSED
            else _go(request, "work", enrollment)
        )
    if claimed is None:
        if items_left_ever(enrollment):
            return _work(request, part_context(request, enrollment, "nothing_now", standing=standing))
        return _finish(request, enrollment)
    if was and was != str(claimed.pk):
        messages.info(request, gettext("Your time on that item ran out, so it was released."))
    if not _is_part(request):
        return redirect("annotation:assignment", enrollment.study.slug, claimed.pk)
    return _show(request, claimed, last=last, standing=standing, saved=saved)


def _finish(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    enrollment_finish(enrollment=enrollment)
    return _go(request, "done", enrollment)


@for_item
def assignment(request: HttpRequest, found: Assignment) -> HttpResponse:
    """One item: to be answered, or with its answer."""
    enrollment = found.enrollment
    if request.method == "POST":
        return _change(request, found) if request.POST.get("change") else _submit(request, found)
    if found.state == AssignmentState.SUBMITTED:
        return _show(request, found)
    if enrollment.stage != Stage.WORK or found.state == AssignmentState.RELEASED:
        return redirect("annotation:place", enrollment.study.slug)
    if held_up := _held_up(request, enrollment):
        return held_up
    if found.state == AssignmentState.EXPIRED or enrollment.study.state != StudyState.OPEN:
        return redirect(f"{reverse('annotation:work', args=[enrollment.study.slug])}?was={found.pk}")
    return _show(request, found)


def _show(
    request: HttpRequest,
    found: Assignment,
    *,
    form: WorkForm | None = None,
    error: str = "",
    last: Assignment | None = None,
    standing: WorkStanding | None = None,
    saved: str = "",
) -> HttpResponse:
    """The item with what was typed: in the form just sent, else in the answer given, else in the draft."""
    label = own_label(found) if found.state == AssignmentState.SUBMITTED else None
    if last is None and found.enrollment.study.allow_changes:
        last = submitted_before(found) if label else last_submitted(found.enrollment)
    context = item_context(request, found, label=label, form=form, error=error, last=last, standing=standing)
    context["saved"] = saved
    return _work(request, context, status=422 if error else 200)


def _form(request: HttpRequest, found: Assignment) -> WorkForm:
    study = found.enrollment.study
    item = found.study_item.item
    shown = item_shown(study, item, found.shown_order) if study.evidence != EvidenceRule.OFF else None
    return WorkForm(study, value_rules(study, item), request.POST, shown)


def _submit(request: HttpRequest, found: Assignment) -> HttpResponse:
    enrollment, form = found.enrollment, _form(request, found)
    if not form.is_valid():
        return _show(request, found, form=form, error=form.error)
    is_ahead, is_alone = bool(request.POST.get("ahead")), bool(request.POST.get("alone"))
    try:
        submission = assignment_submit(
            assignment=found,
            wall_ms=form.wall_time if found.ahead else None,
            signals=form.signals,
            goes_on=not (is_ahead or is_alone),
            **form.answer,
        )
    except LabelValueError as error:
        return _show(request, found, form=form, error=error.message)
    told = TOLD.get(submission.outcome)
    if told:
        messages.warning(request, gettext(told))
    for words in form.told:
        messages.info(request, words)
    if is_alone:
        # An answer that waited in the browser until it was online again; another item is on its screen.
        return HttpResponse(status=204)
    # What the submit changed (the counts, the rules' verdict on checks) is read again by the claim that follows.
    saved = _in_words(found, form) if enrollment.study.submit_on_choice and not told else ""
    standing = submission.standing or standing_get(enrollment)
    if is_ahead:  # the next item is on the screen already
        return ahead_answer(request, enrollment, last=found, standing=standing, saved=saved)
    return _next(request, enrollment, last=found, standing=standing, saved=saved, given=submission.following)


def _in_words(found: Assignment, form: WorkForm) -> str:
    """What was just said of an item, on one line."""
    item = item_shown(found.enrollment.study, found.study_item.item, found.shown_order)
    parts = answer_words(item, form.fields)
    return ", ".join(f"{part.name}: {part.said}" if part.name else part.said for part in parts)


def _change(request: HttpRequest, found: Assignment) -> HttpResponse:
    enrollment, form = found.enrollment, _form(request, found)
    if not form.is_valid():
        return _show(request, found, form=form, error=form.error)
    before = own_label(found)
    try:
        standing = label_change(assignment=found, **form.answer)
    except LabelValueError as error:
        return _show(request, found, form=form, error=error.message)
    except StudyNotOpenError:
        messages.warning(request, gettext("The study isn’t open now, so your answer wasn’t changed."))
    except (StageError, SuspendedError):
        messages.warning(request, gettext("That answer can’t be changed."))
    else:
        is_changed = before is None or standing.pk != before.pk
        for words in form.told:
            messages.info(request, words)
        same = gettext("Your answer is the same as before.")
        messages.success(request, gettext("Your answer was changed.") if is_changed else same)
    return _go(request, "place", enrollment)


@require_POST
@limited(group="draft", rate=DRAFT_RATE, by="session")
@for_assignment
def draft(request: HttpRequest, found: Assignment) -> HttpResponse:
    """Keep what is typed, on the server, so that it is there on every device; it renews the lease. Answers 204."""
    form = _form(request, found)
    kept = draft_save(assignment=found, fields=draft_fields(request.POST), active_ms=form.active_time)
    # Too late is no fault of anybody's: the answer was submitted while its draft was on the way.
    return HttpResponse(status=204, headers={"X-Draft": "kept" if kept else "not needed"})


@require_safe
@for_assignment
def step(request: HttpRequest, found: Assignment, response: int, number: int) -> HttpResponse:
    """All of one step of a trace, as the part of a page or as a page; the item's page shows the start of long ones.

    `response` is the place of the response in the order shown, from 0.
    """
    if found.state not in (AssignmentState.OPEN, AssignmentState.SUBMITTED):
        raise Http404
    enrollment = found.enrollment
    item = item_shown(enrollment.study, found.study_item.item, found.shown_order)
    shown = _step_of(item, response, number)
    context = study_context(request, enrollment) | {
        "assignment": found,
        "step": shown,
        "choosing": item.asks_for_step and _is_part(request),
        "chosen": request.GET.get("category", ""),
    }
    return render(request, STEP_PART if _is_part(request) else "annotation/annotator/step.html", context)


def _step_of(item: ShownItem, response: int, number: int) -> ShownStep:
    if not number or response >= len(item.responses):
        raise Http404
    for shown in steps_shown(item.responses[response].turns):
        if shown.number == number:
            return shown
    raise Http404


@for_item
def skip(request: HttpRequest, found: Assignment) -> HttpResponse:
    """Leave an item out, with a reason. GET is the page for browsers without scripts."""
    return _leave_out(request, found, SkipForm, "annotation/annotator/skip.html")


@for_item
def report(request: HttpRequest, found: Assignment) -> HttpResponse:
    """Say that an item is broken, and leave it out. GET is the page for browsers without scripts."""
    return _leave_out(request, found, ItemReportForm, "annotation/annotator/report.html")


def _leave_out(
    request: HttpRequest, found: Assignment, form_class: type[SkipForm], template: str
) -> HttpResponse:
    enrollment = found.enrollment
    form = form_class(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if isinstance(form, ItemReportForm):
            item_report(assignment=found, reason=form.chosen, note=form.said)
            messages.success(request, gettext("Thank you. The researchers will look at that item."))
        assignment_release(assignment=found, reason=form.words)
        return _next(request, enrollment, standing=standing_get(enrollment))
    if found.state in (AssignmentState.SUBMITTED, AssignmentState.RELEASED):
        return _go(request, "place", enrollment)
    context = study_context(request, enrollment) | {"assignment": found, "form": form}
    if _is_part(request):
        # The dialog asks for a reason before it sends; whatever came without one gets the page.
        return _go(request, "report" if form_class is ItemReportForm else "skip", enrollment, found.pk)
    return render(request, template, context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@for_step
def rest(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Take a break: the item in hand is free for others at once, and its draft stays. GET asks first, or says that they
    have one.
    """
    if enrollment.stage != Stage.WORK:
        return redirect("annotation:place", enrollment.study.slug)
    if request.method == "POST":
        leases_release(enrollment=enrollment)
        return redirect("annotation:rest", enrollment.study.slug)
    context = study_context(request, enrollment) | {"resting": assignment_in_hand(enrollment) is None}
    return render(request, "annotation/annotator/rest.html", context)


@require_POST
@for_step
def message(_request: HttpRequest, enrollment: Enrollment, pk: int) -> HttpResponse:
    """Got it: a text to the person is read, and is not shown again."""
    message_read(enrollment=enrollment, message_id=pk)
    return redirect("annotation:place", enrollment.study.slug)


@require_safe
@for_enrollment
def changes(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """What changed in the guidelines since the person has read them."""
    context = study_context(request, enrollment) | {"changes": guidelines_changes(enrollment)}
    return render(request, "annotation/annotator/changes.html", context)

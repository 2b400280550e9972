"""The people of a study: the table, a page for each, and what is done about them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.forms.quality import MessageForm, RestoreForm, SetAsideForm, SuspendForm, TakeBackForm
from annotation.models import Enrollment, Study, StudyState
from annotation.selectors.agreement import LabelStamp, label_stamp
from annotation.selectors.annotators import (
    annotators_of,
    answers_latest,
    are_annotators_counted,
    interventions_of,
    people_filtered,
    people_stamp,
)
from annotation.selectors.overview import may_identify
from annotation.selectors.signals import signals_of
from annotation.services.quality import (
    enrollment_restore,
    enrollment_suspend,
    labels_set_aside,
    labels_take_back,
    message_send,
)
from annotation.views.common import enrollment_in, items_behind, study_of, study_page, study_to_edit
from web.access import ResearcherRequest, researcher_action, researcher_page

SHOWN = {
    "": "Everybody",
    "flagged": "Flagged",
    "working": "Working",
    "suspended": "Suspended",
    "done": "Finished",
}


def _table(request: ResearcherRequest, study: Study, labels: LabelStamp, stamp: str) -> dict[str, Any]:
    show = request.GET.get("show", "")
    show = show if show in SHOWN else ""
    # Who asks for the table waits for its figures: the page itself doesn't, and asks once it's there.
    if not (request.htmx or "now" in request.GET or are_annotators_counted(study, labels)):
        filters = [(key, words, None) for key, words in SHOWN.items()]
        return {
            "study": study,
            "show": show,
            "filters": filters,
            "waits": True,
            "n_people": study.enrollments.count(),
        }
    people = annotators_of(study, labels)
    return {
        "study": study,
        "all_items": items_behind(study),
        "people": people,
        "rows": people_filtered(people.rows, show),
        "show": show,
        "filters": [(key, words, len(people_filtered(people.rows, key))) for key, words in SHOWN.items()],
        "stamp": stamp,
        "asks_more": not request.GET.get("seen"),
        "polling": study.state == StudyState.OPEN,
        # Figures of many labels take a while; they do not change much in a minute either.
        "every": 60 if labels.is_of_many else 15,
        "identified": may_identify(request.user, study),
    }


@researcher_page
def people(request: ResearcherRequest, slug: str) -> HttpResponse:
    """A row an annotator. The part that changes is asked for again by htmx: 204 while nothing has (`?seen=`)."""
    study = study_of(request, slug)
    labels = label_stamp(study)
    stamp = people_stamp(study, labels)
    if request.htmx:
        if request.GET.get("seen") == stamp:
            return HttpResponse(status=204)
        context = _table(request, study, labels, stamp)
        return render(request, "annotation/researcher/people.html#table", context)
    context = study_page(study, ("People", None), tab="people") | _table(request, study, labels, stamp)
    return render(request, "annotation/researcher/people.html", context)


@researcher_page
def reasons_to_look(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Who stands out by how their answers were given: a part of the page of people for htmx, else a page."""
    study = study_of(request, slug)
    signals = signals_of(study)
    rows = annotators_of(study).rows
    looked_at = [(row, signals.reasons.get(row.enrollment.annotator_id, ())) for row in rows]
    context = {"study": study, "signals": signals, "looked_at": [each for each in looked_at if each[1]]}
    if request.htmx:
        return render(request, "annotation/researcher/_reasons_to_look.html", context)
    people_url = reverse("annotation:study-people", args=[study.slug])
    place = study_page(study, ("People", people_url), ("Reasons to look", None), tab="people")
    return render(request, "annotation/researcher/reasons_to_look.html", place | context)


@researcher_page
def person(request: ResearcherRequest, slug: str, public_id: str) -> HttpResponse:
    study = study_of(request, slug)
    return _person_page(request, enrollment_in(study, public_id))


def _person_page(
    request: ResearcherRequest, enrollment: Enrollment, bound: tuple[str, forms.Form] | None = None
) -> HttpResponse:
    """The page with a fresh form for each action; one that was refused is `bound`, and open."""
    study = enrollment.study
    everybody = annotators_of(study)
    row = next(row for row in everybody.rows if row.enrollment.pk == enrollment.pk)
    held = enrollment.suspended_at is not None
    offered = {
        "message": True,
        "suspend": not held,
        "restore": held,
        "set-aside": row.figures.labels > 0,
        "take-back": row.figures.set_aside > 0,
    }
    panels = []
    for name, action in ACTIONS.items() if study.rights.may_edit else ():
        refused = bound is not None and bound[0] == name
        form = bound[1] if bound and refused else action.form.fresh(auto_id=f"{name}-%s")
        if offered[name] or refused:
            panels.append({"name": name, "action": action, "form": form, "refused": refused})
    people_url = reverse("annotation:study-people", args=[study.slug])
    words = {question["key"]: question["question"] for question in study.eligibility or []}
    context = study_page(study, ("People", people_url), (row.short_id, None), tab="people") | {
        "all_items": items_behind(study),
        "people": everybody,
        "row": row,
        "enrollment": enrollment,
        "eligibility": [(words.get(key, key), answer) for key, answer in enrollment.eligibility.items()],
        "attempts": list(enrollment.attempts.exclude(finished_at=None)),
        "interventions": interventions_of(enrollment),
        "answers": answers_latest(enrollment),
        "reasons": signals_of(study).reasons.get(enrollment.annotator_id, ()),
        "panels": panels,
        "identified": may_identify(request.user, study),
    }
    return render(request, "annotation/researcher/person.html", context, status=422 if bound else 200)


def _suspend(enrollment: Enrollment, **given: Any) -> str:
    done = enrollment_suspend(enrollment=enrollment, **given)
    return "The annotator is suspended. Their open items were released." if done else ""


def _restore(enrollment: Enrollment, **given: Any) -> str:
    return "The annotator can continue." if enrollment_restore(enrollment=enrollment, **given) else ""


def _set_aside(enrollment: Enrollment, **given: Any) -> str:
    n = labels_set_aside(enrollment=enrollment, **given)
    return f"{n} label{'' if n == 1 else 's'} excluded; the slots are open again." if n else ""


def _take_back(enrollment: Enrollment, **given: Any) -> str:
    n = labels_take_back(enrollment=enrollment, **given)
    return f"{n} label{' counts' if n == 1 else 's count'} again. Labels whose slot was filled since are surplus."


def _message(enrollment: Enrollment, **given: Any) -> str:
    return (
        "The message will be shown on their next page."
        if message_send(enrollment=enrollment, **given)
        else ""
    )


@dataclass(frozen=True, slots=True)
class PersonAction:
    """Something that can be done about a person: its words, its form, and the service behind it."""

    words: str
    button: str
    form: Any
    act: Callable[..., str]
    confirm: str = ""


ACTIONS = {
    "message": PersonAction("Send a message", "Send", MessageForm, _message),
    "suspend": PersonAction(
        "Suspend",
        "Suspend",
        SuspendForm,
        _suspend,
        "Suspend this person? Their open items are released at once.",
    ),
    "restore": PersonAction(
        "Restore", "Restore access", RestoreForm, _restore, "Restore this person's access?"
    ),
    "set-aside": PersonAction(
        "Exclude labels",
        "Exclude all labels",
        SetAsideForm,
        _set_aside,
        "Exclude all labels of this person? Their slots open to others.",
    ),
    "take-back": PersonAction(
        "Include excluded labels",
        "Include labels",
        TakeBackForm,
        _take_back,
        "Include the excluded labels again? Labels whose slots were filled since become surplus.",
    ),
}


@researcher_action
def person_act(request: ResearcherRequest, slug: str, public_id: str, action: str) -> HttpResponse:
    study = study_to_edit(request, slug)
    enrollment = enrollment_in(study, public_id)
    if action not in ACTIONS:
        raise Http404("There is no such action.")
    form = ACTIONS[action].form(request.POST, auto_id=f"{action}-%s")
    if not form.is_valid():
        return _person_page(request, enrollment, (action, form))
    words = ACTIONS[action].act(enrollment, by=request.user, **form.cleaned_data)
    if words:
        messages.success(request, words)
    return redirect("annotation:study-person", slug, public_id)

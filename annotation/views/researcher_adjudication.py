"""Adjudication: an expert decides about items on which people disagree, without knowing who said what."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.domain.errors import LabelValueError
from annotation.forms.work import WorkForm
from annotation.kinds import from_canonical, kind_of
from annotation.models import Adjudication, EvidenceRule, Study, StudyItem
from annotation.selectors.adjudication import (
    AdjudicationQueue,
    adjudications_listed,
    expert_order,
    marks_of,
    place_of,
    queue_of,
    standing_for,
    tally_of,
)
from annotation.selectors.shown import item_shown, value_rules
from annotation.services.adjudication import adjudicate
from annotation.views.common import study_page, study_to_edit
from web.access import ResearcherRequest, researcher_form, researcher_page

MAX_NOTE = 2_000


@researcher_page
def adjudicate_next(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Go to the most disputed item that waits for a decision; `?after=` leaves one out for now."""
    study = study_to_edit(request, slug)
    queue = queue_of(study)
    after = request.GET.get("after", "")
    item = queue.next(int(after) if after.isdecimal() and len(after) < 19 else None)
    if item is not None:
        return redirect("annotation:study-adjudicate-item", slug, item)
    context = study_page(study, ("Adjudicate", None), tab="adjudicate") | {
        "queue": queue,
        "adjudications": adjudications_listed(study),
    }
    return render(request, "annotation/researcher/adjudicate_done.html", context)


def _place(study: Study, queue: AdjudicationQueue, item_id: int) -> StudyItem:
    """An item that is disputed, or that was decided about."""
    if item_id not in queue.items and item_id not in queue.decided:
        raise Http404("There is no such item to decide about.")
    try:
        return place_of(study, item_id)
    except StudyItem.DoesNotExist:
        raise Http404("There is no such item in this study.") from None


@researcher_form
def adjudicate_item(request: ResearcherRequest, slug: str, item_id: int) -> HttpResponse:
    study = study_to_edit(request, slug)
    queue = queue_of(study)
    place = _place(study, queue, item_id)
    if request.method != "POST":
        return _page(request, place, queue)
    # What an expert has to say is a note of its own.
    form = WorkForm(study, value_rules(study, place.item), request.POST, value_only=True)
    if not form.is_valid():
        return _page(request, place, queue, form=form, error=form.error)
    try:
        adjudicate(
            place=place,
            expert=request.user,
            shown_value=form.shown_value,
            order=expert_order(study, item_id, request.user),
            note=request.POST.get("note", "").replace("\x00", "").strip()[:MAX_NOTE],
        )
    except LabelValueError as refusal:
        return _page(request, place, queue, form=form, error=refusal.message)
    messages.success(request, "Decided.")
    following = AdjudicationQueue(queue.items, queue.decided | {item_id}).next(after=item_id)
    if following is None:
        return redirect("annotation:study-adjudicate", slug)
    return redirect("annotation:study-adjudicate-item", slug, following)


def _page(
    request: ResearcherRequest,
    place: StudyItem,
    queue: AdjudicationQueue,
    *,
    form: WorkForm | None = None,
    error: str = "",
) -> HttpResponse:
    """The item as an annotator would see it. What people said is not on it before the expert has decided or asks."""
    study = place.study
    order = expert_order(study, place.item_id, request.user)
    shown = item_shown(study, place.item, order)
    standing = standing_for(place)
    mine = standing if standing and standing.expert_id == request.user.pk else None
    asked = request.GET.get("said") == "1"
    is_marked = study.evidence != EvidenceRule.OFF
    context = {
        "study": study,
        "place": place,
        "item": shown,
        "fields": form.fields if form else _fields(study, mine, order),
        "note": request.POST.get("note", "") if form else (mine.note if mine else ""),
        "error": error,
        "queue": queue,
        "standing": standing,
        "mine": mine,
        "tally": tally_of(place, shown, order) if mine or asked else None,
        "marks": marks_of(place, order) if is_marked and (mine or asked) else None,
        "evidence": is_marked,
        "submit": "Decide again" if mine else "Decide",
        "body": study.kind_info.template,
        "bar": study.kind_info.bar_template,
    }
    return render(request, "annotation/researcher/adjudicate.html", context, status=422 if error else 200)


def _fields(study: Study, mine: Adjudication | None, order: list[int]) -> dict[str, str]:
    """What the expert said before, to begin with."""
    if mine is None:
        return {}
    return kind_of(study.kind).fields(from_canonical(study.kind, mine.value, order))


@researcher_page
def adjudicate_said(request: ResearcherRequest, slug: str, item_id: int) -> HttpResponse:
    """What people said of an item, as counts: the fragment that an expert asks for."""
    study = study_to_edit(request, slug)
    place = _place(study, queue_of(study), item_id)
    if not request.htmx:
        return redirect(f"{reverse('annotation:study-adjudicate-item', args=[slug, item_id])}?said=1")
    order = expert_order(study, item_id, request.user)
    tally = tally_of(place, item_shown(study, place.item, order), order)
    return render(
        request,
        "annotation/researcher/adjudicate.html#said",
        {
            "tally": tally,
            "marks": marks_of(place, order) if study.evidence != EvidenceRule.OFF else None,
            "study": study,
            "place": place,
        },
    )

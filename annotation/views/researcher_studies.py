"""A researcher's studies: the list, the study page, its form, its states and its links."""

import secrets
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from annotation.domain.errors import StudyRuleError
from annotation.forms.entry import InvitationForm
from annotation.forms.upload import ItemChoiceForm
from annotation.models import Invitation, PayBasis, Study, StudyState
from annotation.selectors.agreement import agreement_so_far, is_agreement_counted, label_stamp
from annotation.selectors.costly import counted, study_key
from annotation.selectors.dataset_versions import study_lag
from annotation.selectors.overview import (
    invitation_get_for,
    invitations_of,
    may_copy,
    may_identify,
    state_counts,
    study_list_for,
)
from annotation.selectors.picked import reasons_so_far
from annotation.selectors.progress import (
    items_are_chosen,
    labels_by_day,
    study_activity,
    study_funnel,
    study_pace,
    study_progress,
)
from annotation.selectors.shown import study_question
from annotation.services.studies import (
    invitation_create,
    invitation_revoke,
    study_close,
    study_open,
    study_pause,
)
from annotation.views.annotator.common import money
from annotation.views.common import items_behind, study_of, study_page, study_to_edit
from web.access import ResearcherRequest, researcher_action, researcher_page

STUDIES_PER_PAGE = 25
PACE_SECONDS = 600
STATE_ACTIONS = {
    "open": (study_open, "The study is open. Annotators can join with the links below."),
    "pause": (study_pause, "The study is paused. Annotators get no new items."),
    "close": (study_close, "The study is closed."),
}


def _home(study: Study) -> HttpResponseRedirect:
    return redirect("annotation:study-detail", slug=study.slug)


@researcher_page
def study_list(request: ResearcherRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state not in StudyState.values:
        state = ""
    counts = state_counts(request.user)
    page = Paginator(study_list_for(request.user, state=state), STUDIES_PER_PAGE).get_page(
        request.GET.get("page")
    )
    context = {
        "section": "studies",
        "page_obj": page,
        "state": state,
        "states": [(value, label, counts[value]) for value, label in StudyState.choices],
        "total": sum(counts.values()),
    }
    return render(request, "annotation/researcher/study_list.html", context)


def _live(study: Study) -> dict[str, Any]:
    """What changes while people work. `stamp` says whether it has."""
    stamp = counted(study_key(study, "stamp"), lambda: label_stamp(study))
    progress, funnel = study_progress(study), study_funnel(study)
    people = "-".join(str(n) for n in (*funnel.by_stage.values(), funnel.suspended))
    # The pace wears off by itself.
    minutes = int(timezone.now().timestamp()) // PACE_SECONDS
    return {
        "study": study,
        "progress": progress,
        "funnel": funnel,
        "labels": stamp,
        "stamp": f"{study.state}.{stamp}.{progress.labels}.{progress.wanted}.{progress.open_leases}.{people}.{minutes}",
        "polling": study.state == StudyState.OPEN,
        "chosen": items_are_chosen(study),
        "now": timezone.now(),
    }


def _figures(
    request: ResearcherRequest, study: Study, live: dict[str, Any], *, is_now: bool
) -> dict[str, Any]:
    wanted = request.GET.get("dimension", "")
    dimension = next((each for each in study.dimensions_asked if each.part and each.key == wanted), None)
    key, stamp = dimension.key if dimension else "", live["labels"]
    # Who asks for it waits for it: the page itself doesn't, and asks once it's there.
    waits = not is_now and not is_agreement_counted(study, stamp, key)
    activity = study_activity(study)
    is_draft = study.state == StudyState.DRAFT
    return live | {
        "waits": waits,
        "all_items": items_behind(study),
        "split_items": items_behind(study, case="split", sort="disagreement"),
        "pace": None if is_draft else study_pace(study, live["progress"], activity=activity),
        "agreement": None if waits else agreement_so_far(study, stamp, key),
        "dimension": dimension,
        "reasons": None if waits else reasons_so_far(study, stamp),
        "days": _bars(labels_by_day(activity)),
    }


def _bars(days: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Days as bars of a chart that is 100 high, each 10 wide with a gap of 2."""
    most = max((day.labels for day in days), default=0)
    bars = []
    for place, day in enumerate(days):
        height = 100 * day.labels / most
        bars.append(
            {"day": day.day, "labels": day.labels, "x": 12 * place, "y": 100 - height, "height": height}
        )
    return bars


@researcher_page
def study_detail(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = study_of(request, slug)
    return _detail_page(request, study, InvitationForm())


def _detail_page(request: ResearcherRequest, study: Study, form: InvitationForm) -> HttpResponse:
    context = (
        _figures(request, study, _live(study), is_now="now" in request.GET)
        | study_page(study)
        | {
            # Who has a link can join: links are for those who let people in.
            "invitations": list(invitations_of(study)) if study.rights.may_edit else [],
            "invitation_form": form,
            "asks_more": True,
            "may_identify": may_identify(request.user, study),
            "pay": _pay_words(study),
            "question": study_question(study),
            "item_form": ItemChoiceForm(),
            "lag": 0 if study.dataset_version in (None, study.dataset.version) else study_lag(study),
            "copy_nonce": secrets.token_hex(4),
            "may_copy": may_copy(request.user, study),
        }
    )
    return render(request, "annotation/researcher/study_detail.html", context)


def _pay_words(study: Study) -> str:
    by_time = study.pay_basis == PayBasis.TIME
    amount = study.pay_per_hour if by_time else study.pay_per_item
    if not amount:
        return "none"
    return f"{money(amount, study)} {'an hour' if by_time else 'an item'}"


@researcher_page
def study_live(request: ResearcherRequest, slug: str) -> HttpResponse:
    """The part of the study page that changes; 204 while nothing has (`?seen=`). With `?now=` it's the first time."""
    study = study_of(request, slug)
    live = _live(study)
    if request.GET.get("seen") == live["stamp"]:
        return HttpResponse(status=204)
    context = _figures(request, study, live, is_now=True) | {"asks_more": "now" in request.GET}
    return render(request, "annotation/researcher/study_detail.html#live", context)


@researcher_action
def study_state(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = study_to_edit(request, slug)
    try:
        change, words = STATE_ACTIONS[request.POST.get("action", "")]
    except KeyError:
        raise Http404("There is no such action.") from None
    try:
        change(study=study)
    except StudyRuleError as refusal:
        messages.error(request, f"That didn't work: {refusal.message}.")
    else:
        messages.success(request, words)
    return _home(study)


@researcher_action
def invitation_add(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = study_to_edit(request, slug)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _detail_page(request, study, form)
    invitation_create(
        study=study,
        note=form.cleaned_data["note"],
        max_annotators=form.cleaned_data["max_annotators"],
        expires_at=form.expires_at(),
    )
    messages.success(request, "There is a new link.")
    return redirect(f"{reverse('annotation:study-detail', args=[study.slug])}#invitations")


@researcher_action
def invitation_end(request: ResearcherRequest, slug: str, pk: int) -> HttpResponse:
    try:
        invitation = invitation_get_for(request.user, slug, pk)
    except Invitation.DoesNotExist:
        raise Http404("There is no such link.") from None
    invitation_revoke(invitation=invitation)
    messages.success(request, "The link is revoked. Annotators who already joined can continue.")
    return redirect(f"{reverse('annotation:study-detail', args=[slug])}#invitations")

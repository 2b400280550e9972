"""A researcher's studies: the list, the study page, its form, its states and its links."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db import IntegrityError
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.domain.errors import StudyRuleError
from annotation.forms.researcher import MARKDOWN_FIELDS, InvitationForm, StudyForm
from annotation.models import Invitation, Study, StudyState
from annotation.rendering import MAX_MARKDOWN
from annotation.selectors.agreement import agreement_so_far, label_stamp
from annotation.selectors.overview import (
    invitation_get_for,
    invitations_of,
    labels_by_day,
    may_identify,
    state_counts,
    study_funnel,
    study_get_for,
    study_list_for,
    study_progress,
)
from annotation.services.studies import (
    invitation_create,
    invitation_revoke,
    study_close,
    study_create,
    study_open,
    study_pause,
    study_update,
)
from annotation.views.access import ResearcherRequest, researcher_required

STUDIES_PER_PAGE = 25
STATE_ACTIONS = {
    "open": (study_open, "The study is open: the links below let people in."),
    "pause": (study_pause, "The study is paused: nobody is given new items."),
    "close": (study_close, "The study is closed."),
}


def _get(request: ResearcherRequest, slug: str) -> Study:
    try:
        return study_get_for(request.user, slug)
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None


def _home(study: Study) -> HttpResponseRedirect:
    return redirect("annotation:study-detail", slug=study.slug)


@require_safe
@researcher_required
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


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_required
def study_create_view(request: ResearcherRequest) -> HttpResponse:
    if request.method != "POST":
        form = StudyForm(user=request.user)
        # PostgreSQL refuses a query with a NUL in it.
        wanted = request.GET.get("dataset", "").replace("\x00", "")
        chosen = form.fields["dataset"].queryset.filter(name=wanted).first()  # type: ignore[attr-defined]
        form.initial["dataset"] = chosen and chosen.pk
        return _form_page(request, form)
    form = StudyForm(request.POST, user=request.user)
    study = _create(request, form) if form.is_valid() else None
    return _form_page(request, form) if study is None else _home(study)


def _create(request: ResearcherRequest, form: StudyForm) -> Study | None:
    """The new study, or the one that the same form has made before; None when it is refused."""
    slug = _slug(form)
    made = Study.objects.filter(slug=slug, owner=request.user)
    if study := made.first():
        return study
    try:
        study = study_create(
            dataset=form.cleaned_data["dataset"], slug=slug, owner=request.user, **form.rules()
        )
    except (StudyRuleError, IntegrityError) as refusal:
        # Two of the same form at once, and the other was faster.
        if study := made.first():
            return study
        if isinstance(refusal, IntegrityError):
            raise
        form.show_rule(refusal.field, refusal.message)
        return None
    messages.success(request, "The study is a draft: look it over, then open it.")
    return study


def _slug(form: StudyForm) -> str:
    """The address of a new study: its title, and a part that is the form's own."""
    nonce = slugify(form.cleaned_data["nonce"])[:8]
    return f"{slugify(form.cleaned_data['title'])[:48].strip('-') or 'study'}-{nonce}".strip("-")


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_required
def study_edit(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = _get(request, slug)
    if request.method != "POST":
        return _form_page(request, StudyForm(instance=study, user=request.user))
    form = StudyForm(request.POST, instance=study, user=request.user)
    if form.is_valid():
        try:
            study_update(study=study, **form.rules())
        except StudyRuleError as refusal:
            form.show_rule(refusal.field, refusal.message)
        else:
            messages.success(request, "Saved.")
            return _home(study)
    return _form_page(request, form)


def _form_page(request: ResearcherRequest, form: StudyForm) -> HttpResponse:
    study = form.instance if form.instance.pk else None
    crumbs = [("Studies", reverse("annotation:study-list"))]
    if study:
        # The form has written what was typed into its instance; the page is named after what is stored.
        crumbs.append((form.initial["title"], reverse("annotation:study-detail", args=[study.slug])))
    context = {
        "section": "studies",
        "form": form,
        "study": study,
        "crumbs": [*crumbs, ("Edit" if study else "New study", None)],
        "datasets": form.fields["dataset"].queryset.exists(),  # type: ignore[attr-defined]
    }
    return render(request, "annotation/researcher/study_form.html", context)


@require_POST
@researcher_required
def markdown_preview(request: ResearcherRequest) -> HttpResponse:
    """What a text will look like: the fragment beside its field."""
    field = request.GET.get("field", "")
    if field not in MARKDOWN_FIELDS:
        raise Http404("There is no such field.")
    text = request.POST.get(field, "")[:MAX_MARKDOWN]
    context = {"field": field, "text": text}
    return render(request, "annotation/researcher/_preview.html", context)


def _live(study: Study) -> dict[str, Any]:
    """What changes while people work. `stamp` says whether it has."""
    stamp = label_stamp(study)
    progress, funnel = study_progress(study), study_funnel(study)
    people = "-".join(str(n) for n in funnel.by_stage.values())
    return {
        "study": study,
        "progress": progress,
        "funnel": funnel,
        "labels": stamp,
        "stamp": f"{study.state}.{stamp}.{progress.labels}.{progress.open_leases}.{people}",
        "polling": study.state == StudyState.OPEN,
    }


def _figures(study: Study, live: dict[str, Any]) -> dict[str, Any]:
    return live | {"agreement": agreement_so_far(study, live["labels"]), "days": _bars(labels_by_day(study))}


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


@require_safe
@researcher_required
def study_detail(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = _get(request, slug)
    return _detail_page(request, study, InvitationForm())


def _detail_page(request: ResearcherRequest, study: Study, form: InvitationForm) -> HttpResponse:
    context = _figures(study, _live(study)) | {
        "section": "studies",
        "crumbs": [("Studies", reverse("annotation:study-list")), (study.title, None)],
        "invitations": list(invitations_of(study)),
        "invitation_form": form,
        "may_identify": may_identify(request.user, study),
        "pay": f"{study.pay_per_item.normalize():f}",  # 0.12, not 0.1200
    }
    return render(request, "annotation/researcher/study_detail.html", context)


@require_safe
@researcher_required
def study_live(request: ResearcherRequest, slug: str) -> HttpResponse:
    """The part of the study page that changes; 204 while nothing has (`?seen=`)."""
    study = _get(request, slug)
    live = _live(study)
    if request.GET.get("seen") == live["stamp"]:
        return HttpResponse(status=204)
    return render(request, "annotation/researcher/_study_live.html", _figures(study, live))


@require_POST
@researcher_required
def study_state(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = _get(request, slug)
    try:
        change, words = STATE_ACTIONS[request.POST.get("action", "")]
    except KeyError:
        raise Http404("There is no such action.") from None
    try:
        change(study=study)
    except StudyRuleError as refusal:
        messages.error(request, f"That did not work: {refusal.message}.")
    else:
        messages.success(request, words)
    return _home(study)


@require_POST
@researcher_required
def invitation_add(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = _get(request, slug)
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


@require_POST
@researcher_required
def invitation_end(request: ResearcherRequest, slug: str, pk: int) -> HttpResponse:
    try:
        invitation = invitation_get_for(request.user, slug, pk)
    except Invitation.DoesNotExist:
        raise Http404("There is no such link.") from None
    invitation_revoke(invitation=invitation)
    messages.success(request, "The link lets nobody in any more. Who is in stays in.")
    return redirect(f"{reverse('annotation:study-detail', args=[slug])}#invitations")

"""Who has access to a study or a dataset: the page on which its owner shares it and gives it away."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.domain.errors import SharingError
from annotation.forms.sharing import ShareForm, TransferForm
from annotation.models import AccessRole, Dataset, Study, Team
from annotation.selectors.datasets import dataset_get_for, datasets_owned_by
from annotation.selectors.sharing import grant_of, grants_of
from annotation.services.sharing import access_change, access_grant, access_remove, ownership_transfer
from annotation.views.common import study_page, study_to_settle
from web.access import ResearcherRequest, researcher_action, researcher_form
from web.loop import LoopPlace


@dataclass(frozen=True, slots=True)
class Shared:
    """A study or a dataset that its owner shares: what it is, and where its pages are."""

    subject: Study | Dataset
    title: str
    home: str
    share: str
    transfer: str
    act: str
    context: dict[str, Any]


def _study(request: ResearcherRequest, slug: str) -> Shared:
    study = study_to_settle(request, slug)
    return Shared(
        study,
        study.title,
        reverse("annotation:study-detail", args=[slug]),
        reverse("annotation:study-share", args=[slug]),
        reverse("annotation:study-transfer", args=[slug]),
        "annotation:study-access-act",
        study_page(study, ("Share", None), tab="share"),
    )


def _dataset(request: ResearcherRequest, name: str) -> Shared:
    dataset = dataset_get_for(request.user, name, datasets_owned_by(request.user))
    home = reverse("annotation:dataset-detail", args=[name])
    crumbs = [("Datasets", reverse("annotation:dataset-list")), (dataset.title, home), ("Share", None)]
    return Shared(
        dataset,
        dataset.title,
        home,
        reverse("annotation:dataset-share", args=[name]),
        reverse("annotation:dataset-transfer", args=[name]),
        "annotation:dataset-access-act",
        {
            "section": "datasets",
            "crumbs": crumbs,
            "dataset": dataset,
            "loop": LoopPlace(dataset.name, "import"),
        },
    )


@researcher_form
def study_share(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Show who has access to a study; POST: share it with a person or a team."""
    return _share(request, _study(request, slug))


@researcher_action
def study_access_act(request: ResearcherRequest, slug: str, pk: int) -> HttpResponse:
    """Change the role of a person or a team that a study is shared with, or remove them."""
    return _act(request, _study(request, slug), pk)


@researcher_action
def study_transfer(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Give a study to another owner."""
    return _transfer(request, _study(request, slug))


@researcher_form
def dataset_share(request: ResearcherRequest, name: str) -> HttpResponse:
    """Show who has access to a dataset; POST: share it with a person or a team."""
    return _share(request, _dataset(request, name))


@researcher_action
def dataset_access_act(request: ResearcherRequest, name: str, pk: int) -> HttpResponse:
    """Change the role of a person or a team that a dataset is shared with, or remove them."""
    return _act(request, _dataset(request, name), pk)


@researcher_action
def dataset_transfer(request: ResearcherRequest, name: str) -> HttpResponse:
    """Give a dataset to another owner."""
    return _transfer(request, _dataset(request, name))


def _page(
    request: ResearcherRequest,
    shared: Shared,
    *,
    form: ShareForm | None = None,
    transfer: TransferForm | None = None,
) -> HttpResponse:
    key = shared.subject.slug if isinstance(shared.subject, Study) else shared.subject.name
    refused = form is not None or transfer is not None
    context = shared.context | {
        "shared": shared,
        "subject": shared.subject,
        "is_study": isinstance(shared.subject, Study),
        "grants": [(row, reverse(shared.act, args=[key, row.pk])) for row in grants_of(shared.subject)],
        "roles": AccessRole.choices,
        "form": form or ShareForm(user=request.user),
        "transfer_form": transfer or TransferForm(),
    }
    return render(request, "annotation/researcher/share.html", context, status=422 if refused else 200)


def _share(request: ResearcherRequest, shared: Shared) -> HttpResponse:
    if request.method != "POST":
        return _page(request, shared)
    form = ShareForm(request.POST, user=request.user)
    if not form.is_valid():
        return _page(request, shared, form=form)
    holder, role = form.holder, form.cleaned_data["role"]
    try:
        _, changed = access_grant(subject=shared.subject, holder=holder, role=role, by=request.user)
    except SharingError as refusal:
        field = "team" if isinstance(holder, Team) else "person"
        form.add_error(field if refusal.field == "holder" else refusal.field, refusal.message)
        return _page(request, shared, form=form)
    if changed:
        messages.success(request, f"{_name(holder)} is {_article(role)} {role} of {shared.title} now.")
    return redirect(shared.share)


def _act(request: ResearcherRequest, shared: Shared, pk: int) -> HttpResponse:
    grant = grant_of(shared.subject, pk)
    action = request.POST.get("action", "")
    if action == "remove":
        if access_remove(grant=grant):
            messages.success(request, f"{grant.holder} no longer has access to {shared.title}.")
    elif action == "role":
        role = request.POST.get("role", "")
        try:
            changed = access_change(grant=grant, role=role)
        except SharingError as refusal:
            raise Http404(refusal.message) from None
        if changed:
            messages.success(request, f"{grant.holder} is {_article(role)} {role} of {shared.title} now.")
    else:
        raise Http404("There is no such action.")
    return redirect(shared.share)


def _transfer(request: ResearcherRequest, shared: Shared) -> HttpResponse:
    form = TransferForm(request.POST)
    if not form.is_valid():
        return _page(request, shared, transfer=form)
    to = form.cleaned_data["to"]
    try:
        changed = ownership_transfer(subject=shared.subject, to=to, by=request.user)
    except SharingError as refusal:
        form.add_error("to", refusal.message)
        return _page(request, shared, transfer=form)
    if changed:
        messages.success(request, f"{to.get_username()} owns {shared.title} now.")
    return redirect(shared.home)


def _name(holder: Any) -> str:
    return f"The team {holder.name}" if isinstance(holder, Team) else str(holder.get_username())


def _article(role: str) -> str:
    return "an" if role == AccessRole.EDITOR else "a"

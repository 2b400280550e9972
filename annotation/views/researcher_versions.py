"""The versions of a dataset, what changed between two of them, and moving a study on to the current one."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from annotation.domain.errors import StudyRuleError
from annotation.selectors.dataset_versions import item_changes, labels_touched, version_changes, versions_of
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.overview import studies_editable_by
from annotation.services.study_versions import study_move_on
from annotation.views.common import study_to_edit
from web.access import ResearcherRequest, researcher_action, researcher_page
from web.loop import LoopPlace

CHANGES_PER_PAGE = 20


@researcher_page
def dataset_versions(request: ResearcherRequest, name: str) -> HttpResponse:
    """The versions; with `?before=1&now=2`, what changed between two of them, else since the one before."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    reader = None if request.user.is_administrator else request.user
    versions = versions_of(dataset)
    now = _number(request.GET.get("now"), dataset.version, dataset.version)
    before = _number(request.GET.get("before"), max(1, now - 1), dataset.version)
    changes = version_changes(dataset, before, now, reader)
    total = changes.added + changes.removed + changes.changed
    page = Paginator(range(total), CHANGES_PER_PAGE).get_page(request.GET.get("page"))
    first = (page.number - 1) * CHANGES_PER_PAGE
    context = {
        "section": "datasets",
        "crumbs": [
            ("Datasets", reverse("annotation:dataset-list")),
            (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
            ("Versions", None),
        ],
        "loop": LoopPlace(dataset.name, "import"),
        "dataset": dataset,
        "versions": versions,
        "numbers": range(1, dataset.version + 1),
        "changes": changes,
        "items": item_changes(dataset, before, now, reader, first=first, n=CHANGES_PER_PAGE),
        "page_obj": page,
        "touched": labels_touched(dataset, reader),
        "studies": [
            study
            for study in studies_editable_by(request.user).filter(dataset=dataset)
            if study.dataset_version not in (None, dataset.version)
        ],
    }
    return render(request, "annotation/researcher/dataset_versions.html", context)


def _number(given: str | None, default: int, last: int) -> int:
    """A version of the address; Http404 for one that there is not."""
    if not given:
        return default
    if not given.isdecimal() or len(given) > 9 or not 1 <= int(given) <= last:
        raise Http404("There is no such version.")
    return int(given)


@researcher_action
def study_moves_on(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Let a study of theirs offer its items as the dataset's current version has them; again changes nothing."""
    study = study_to_edit(request, slug)
    try:
        moved = study_move_on(study=study)
    except StudyRuleError as refusal:
        messages.error(request, f"Nothing was changed: {refusal.message}.")
    else:
        items = "item was" if moved.replaced == 1 else "items were"
        messages.success(
            request,
            f"The study now has version {study.dataset_version} of its dataset: {moved.replaced} {items} replaced, "
            f"{moved.withdrawn} withdrawn. Labels stay with the items that they were given on.",
        )
    return redirect("annotation:study-detail", slug=study.slug)

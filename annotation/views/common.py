"""What the pages of a study share: the study of an address, and where a page is."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse

from annotation.models import Enrollment, Study
from annotation.selectors.annotators import enrollment_by_pseudonym
from annotation.selectors.overview import (
    studies_editable_by,
    studies_owned_by,
    studies_settled_by,
    studies_visible_to,
    study_get_for,
)
from web.access import ResearcherRequest
from web.loop import LoopPlace

Crumb = tuple[str, str | None]


def study_of(request: ResearcherRequest, slug: str) -> Study:
    """The study, if they may see it."""
    return _study(request, slug, studies_visible_to(request.user))


def study_to_edit(request: ResearcherRequest, slug: str) -> Study:
    """The study, if they may change it."""
    return _study(request, slug, studies_editable_by(request.user))


def study_to_own(request: ResearcherRequest, slug: str) -> Study:
    """The study, if they may do what only its owner may."""
    return _study(request, slug, studies_owned_by(request.user))


def study_to_settle(request: ResearcherRequest, slug: str) -> Study:
    """The study, if they may share it and give it away."""
    return _study(request, slug, studies_settled_by(request.user))


def _study(request: ResearcherRequest, slug: str, among: QuerySet[Study]) -> Study:
    try:
        return study_get_for(request.user, slug, among)
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None


def study_page(study: Study, *crumbs: Crumb, tab: str = "") -> dict[str, Any]:
    """What every page of a study has: where it is, and which of its tabs that is."""
    here = reverse("annotation:study-detail", args=[study.slug]) if crumbs else None
    return {
        "section": "studies",
        "study": study,
        "tab": tab,
        "loop": LoopPlace(study.dataset.name, "annotate"),
        "crumbs": [("Studies", reverse("annotation:study-list")), (study.title, here), *crumbs],
    }


def items_behind(study: Study, **asked: Any) -> str:
    """The address of the items of a study that fit, with its labels: the page is of an application above."""
    query = {"study": study.slug, **asked}
    return reverse("metaeval:dataset-items", args=[study.dataset.name], query=query)


def enrollment_in(study: Study, public_id: str) -> Enrollment:
    """A person of a study that was fetched for the user, by their pseudonym there."""
    try:
        return enrollment_by_pseudonym(study, public_id)
    except (Enrollment.DoesNotExist, ValidationError):
        raise Http404("There is no such person in this study.") from None

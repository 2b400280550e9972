"""The pictures of a judge in time: the page of `judges` asks for them by address. For administrators."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.selectors.datasets import datasets_visible_to
from judges.models import AnchorSet
from judges.selectors.anchors import anchor_get, in_time
from judges.selectors.reading import judge_get_for
from metaeval.pictures.picture import Picture
from metaeval.reports.drift_pictures import drift_pictures
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, researcher_page


@never_cache
@researcher_page
def in_time_pictures_part(request: ResearcherRequest, pk: int, anchors: int) -> HttpResponse:
    """The pictures of some anchors; 204 where there is nothing to draw yet."""
    row = _anchors(request, pk, anchors)
    shown = pictures_shown(
        request,
        _pictures(row),
        lambda name, suffix: reverse("metaeval:in-time-picture", args=[pk, anchors, name, suffix]),
    )
    if not shown:
        return HttpResponse(status=204)
    return render(request, "metaeval/in_time_pictures.html", {"pictures": shown})


@researcher_page
def in_time_picture(
    request: ResearcherRequest, pk: int, anchors: int, picture: str, file: str
) -> HttpResponse:
    """A picture of some anchors as a file, or as the page of the judge shows it."""
    row = _anchors(request, pk, anchors)
    return picture_response(request, picture, file, f"judge-{pk}-anchors-{anchors}", lambda: _pictures(row))


def _anchors(request: ResearcherRequest, pk: int, anchors: int) -> AnchorSet:
    if not request.user.is_administrator:
        raise PermissionDenied("Only administrators check judges.")
    row = anchor_get(judge_get_for(request.user, pk), anchors)
    if row is None or not datasets_visible_to(request.user).filter(pk=row.dataset_id).exists():
        raise Http404("There are no such anchors.")
    return row


def _pictures(anchors: AnchorSet) -> tuple[Picture, ...]:
    found = in_time(anchors)
    looks = [(check.number, check.state.e_value) for check in found.looks if check.state is not None]
    return drift_pictures(anchors.judge.name, looks, found.alarm)

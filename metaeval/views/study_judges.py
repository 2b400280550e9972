"""The parts of a study's page that are about judges, and its pictures: `annotation` asks for them by address."""

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.models import Study
from annotation.selectors.agreement import agreement_so_far
from annotation.selectors.datasets import scales_rated
from annotation.selectors.overview import study_get_for
from metaeval.figures.estimates import plain
from metaeval.pictures.picture import Picture
from metaeval.reports import tables
from metaeval.reports.anytime import anytime_label, anytime_meaning, anytime_words
from metaeval.reports.study_pictures import study_pictures
from metaeval.reports.words import verdict_of
from metaeval.services.study_judges import study_judges_get
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, researcher_page

MOST_JUDGES = 10


@never_cache
@researcher_page
def study_pictures_part(request: ResearcherRequest, slug: str) -> HttpResponse:
    """The pictures of a study's page; 204 where there is nothing to draw yet."""
    study = _study(request, slug)
    shown = pictures_shown(
        request,
        _pictures(study),
        lambda name, suffix: reverse("metaeval:study-picture", args=[study.slug, name, suffix]),
    )
    if not shown:
        return HttpResponse(status=204)
    return render(request, "metaeval/_pictures.html", {"pictures": shown, "id": "study-pictures"})


@researcher_page
def study_picture(request: ResearcherRequest, slug: str, picture: str, file: str) -> HttpResponse:
    """A picture of a study as a file, or as its page shows it."""
    study = _study(request, slug)
    return picture_response(request, picture, file, study.slug, lambda: _pictures(study))


def _study(request: ResearcherRequest, slug: str) -> Study:
    try:
        return study_get_for(request.user, slug)
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None


def _pictures(study: Study) -> tuple[Picture, ...]:
    looks = agreement_so_far(study).over_time
    shown = [(look.n_instructions, plain(look.estimate)) for look in looks]
    return study_pictures(study.kind, shown, scales_rated(study.dataset, study.kind))


@never_cache
@researcher_page
def study_judges(request: ResearcherRequest, slug: str) -> HttpResponse:
    """Judges against the annotators of a study; 204 where there is nothing to say, so that the page stays as it is."""
    study = _study(request, slug)
    wanted = request.GET.get("dimension", "")
    dimension = next((each for each in study.dimensions_asked if each.part and each.key == wanted), None)
    found = study_judges_get(
        study=study, reader=request.user, dimension="" if dimension is None else dimension.key
    )
    if found is None:
        return HttpResponse(status=204)
    context: dict[str, Any] = {"study": study, "dataset": study.dataset, "stored": found.stored}
    context["dimension"] = dimension
    if (content := found.content) is not None:
        context |= {
            "content": content,
            "verdict": verdict_of(content),
            "table": tables.leading_table(content, MOST_JUDGES),
            "n_judges": sum(not judge.baseline for judge in content.judges),
            "most": MOST_JUDGES,
            "has_alike": tables.has_alike(content),
            "why_not_alike": tables.why_not_alike(content),
            "labels_words": tables.labels_words(content),
        }
        if (row := found.anytime) is not None:
            margin, confidence = (float(content.options.get(name, 0.0)) for name in ("margin", "confidence"))
            context |= {
                "anytime_label": anytime_label(row),
                "anytime": anytime_words(found.leader, row.rival, row, margin=margin),
                "anytime_meaning": anytime_meaning([row], confidence),
            }
    return render(request, "metaeval/study_judges.html", context)

"""The systems of a dataset: ranked by people, by judges, and beside ratings from elsewhere."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from annotation.forms.upload import import_file
from annotation.importers.errors import ImportFileError
from annotation.kinds import DEFAULT_KIND
from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from judges.selectors.item_addresses import items_url
from metaeval.forms import RatingsForm
from metaeval.models import JobPage
from metaeval.pictures.picture import Picture
from metaeval.reports.errors import RatingsError, ReportError
from metaeval.reports.report import canonical_json
from metaeval.reports.systems import PEOPLE, SourceRanking, SystemsReport
from metaeval.reports.systems_pictures import systems_pictures
from metaeval.services.outside import ratings_import, ratings_read
from metaeval.services.page_contents import PageAsked
from metaeval.services.systems import systems_get
from metaeval.views.kept import Kept, kept_of
from metaeval.views.pictures import picture_response, pictures_shown
from web.access import ResearcherRequest, is_researcher, researcher_action, researcher_page
from web.bodies import FORM_BYTES, accepts_body
from web.files import attachment
from web.loop import LoopPlace
from web.upload import MAX_BYTES


@never_cache
@researcher_page
def systems(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    context: dict[str, Any] = {
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "report"),
        "section": "reports",
        "form": RatingsForm(),
    }
    kept = _kept(request, dataset)
    try:
        if kept is not None:
            content = None if kept.content is None else SystemsReport.read(kept.content)
        else:
            content = systems_get(dataset=dataset, reader=request.user)
    except ReportError as error:
        return render(request, "metaeval/systems.html", context | {"error": str(error)})
    context["kept"] = kept
    if content is not None:
        context |= _shown(dataset, content, request.GET.get("by", ""))
        query = urlencode({"by": context["chosen"].key})
        context["pictures"] = pictures_shown(
            request,
            systems_pictures(content, context["chosen"]),
            lambda picture, suffix: (
                f"{reverse('metaeval:systems-picture', args=[name, picture, suffix])}?{query}"
            ),
        )
    return render(request, "metaeval/systems.html", context)


def _kept(request: ResearcherRequest, dataset: Dataset) -> Kept | None:
    asked = PageAsked(JobPage.SYSTEMS.value, None, "", dataset.name, DEFAULT_KIND)
    return kept_of(request, [dataset], asked)


def _shown(dataset: Dataset, content: SystemsReport, by: str) -> dict[str, Any]:
    """The ranking by one source (people unless another is asked for), what few labels gain by a judge, and where each
    figure leads.
    """
    chosen = _chosen(content, by)
    helped, helper = {}, ""
    if content.helped is not None and chosen.key == PEOPLE:
        helped, helper = {row["system"]: row for row in content.helped.systems}, content.helped.key
    rows = [
        {
            "row": row,
            "url": _pairs_of(dataset, chosen.key, system=row.system),
            "helped": helped.get(row.system),
            "helped_url": _pairs_of(dataset, helper, system=row.system),
        }
        for row in chosen.ordered
    ]
    return {
        "content": content,
        "chosen": chosen,
        "pairs_url": _pairs_of(dataset, chosen.key),
        "rows": rows,
        "rankings": [(row, _pairs_of(dataset, PEOPLE, row.key)) for row in content.rankings],
        "is_helped": bool(helped),
    }


def _pairs_of(dataset: Dataset, *sources: str, system: str = "") -> str:
    """The pairs of two named systems that each of these sources answered: human annotators, judges."""
    judges = [key for key in sources if key != PEOPLE]
    has = ["named", *(["label"] if PEOPLE in sources else []), *(["verdict"] if judges else [])]
    sort = "disagreement" if judges else "split"
    return items_url(dataset.name, kind=DEFAULT_KIND, judge=judges, system=system, has=has, sort=sort)


def _chosen(content: SystemsReport, by: str) -> SourceRanking:
    """The source that an address names; the first, people, for others."""
    return next((one for one in content.sources if one.key == by), content.sources[0])


@researcher_page
def systems_picture(request: ResearcherRequest, name: str, picture: str, file: str) -> HttpResponse:
    """A picture of the systems as a file, or as a page shows it."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)

    def pictures() -> tuple[Picture, ...]:
        content = _content_asked(request, dataset)
        return systems_pictures(content, _chosen(content, request.GET.get("by", "")))

    return picture_response(request, picture, file, f"{dataset.name}-systems", pictures)


def _content_asked(request: ResearcherRequest, dataset: Dataset) -> SystemsReport:
    """The figures that the page shows; Http404 where there are none."""
    kept = _kept(request, dataset)
    if kept is not None and kept.content is not None:
        return SystemsReport.read(kept.content)
    try:
        return systems_get(dataset=dataset, reader=request.user)
    except ReportError as error:
        raise Http404(str(error)) from None


@researcher_page
def systems_download(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    content = _content_asked(request, dataset).as_json()
    return attachment(canonical_json(content), f"{dataset.name}-systems.json", "application/json")


@accepts_body(MAX_BYTES + FORM_BYTES, who=is_researcher)
@researcher_action
def ratings_upload(request: ResearcherRequest, name: str) -> HttpResponseBase:
    """Store ratings from elsewhere, for all datasets; the same again changes nothing."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    form = RatingsForm(request.POST, request.FILES)
    # Of a large dataset the ranking is asked for anew.
    back = redirect(f"{reverse('metaeval:systems', args=[dataset.name])}?now=1#elsewhere")
    if not form.is_valid():
        for field, errors in form.errors.items():
            messages.error(request, f"Nothing was stored. {form[field].label}: {' '.join(map(str, errors))}")
        return back
    data = form.cleaned_data
    try:
        with import_file(data["file"]) as path:
            file = ratings_read(path, score=data["score"])
        ratings, changed = ratings_import(
            file=file, name=data["name"], source=data["source"], user=request.user
        )
    except (ImportFileError, RatingsError) as error:
        messages.error(request, f"Nothing was stored. {error}")
        return back
    n = len(ratings.scores)
    said = f"{ratings.title}: {n:,} system{'' if n == 1 else 's'} by {ratings.column}"
    messages.success(request, f"{said}." if changed else f"{said}, as before.")
    return back

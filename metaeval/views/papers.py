"""The tables and figures of papers, made from a dataset: what there is, each paper's page, its files as an archive."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import never_cache

from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from metaeval.figures import KIND_LABELS
from metaeval.papers import PAPERS
from metaeval.papers.files import paper_zip
from metaeval.papers.paper import MadePaper
from metaeval.papers.tables import UNDEFINED
from metaeval.pictures.picture import Picture
from metaeval.pictures.rendering import available, to_svg
from metaeval.reports.errors import ReportError
from metaeval.selectors.inputs import kinds_of
from metaeval.services.papers import paper_make
from metaeval.services.report_jobs import is_small
from web.access import ResearcherRequest, researcher_page
from web.files import attachment
from web.loop import LoopPlace


@researcher_page
def paper_list(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    kinds = kinds_of(dataset)
    rows = [
        (paper, any(kind in kinds for kind in paper.kinds), [KIND_LABELS[kind] for kind in paper.kinds])
        for paper in PAPERS.values()
    ]
    context = {
        "dataset": dataset,
        "rows": rows,
        "section": "reports",
        "loop": LoopPlace(dataset.name, "report"),
        "crumbs": _crumbs(dataset),
    }
    return render(request, "metaeval/paper_list.html", context)


@never_cache
@researcher_page
def paper_detail(request: ResearcherRequest, name: str, paper: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    crumbs = [*_crumbs(dataset, here=False), (PAPERS[paper].title, None)]
    context = {
        "dataset": dataset,
        "paper": PAPERS[paper],
        "section": "reports",
        "loop": LoopPlace(dataset.name, "report"),
        "crumbs": crumbs,
    }
    try:
        made = _made(request, dataset, paper)
    except ReportError as error:
        return render(request, "metaeval/paper_detail.html", context | {"error": str(error)})
    shown = [(picture, *_drawings(picture), _rows(picture)) for picture in made.pictures]
    return render(request, "metaeval/paper_detail.html", context | {"made": made, "pictures": shown})


@never_cache
@researcher_page
def paper_download(request: ResearcherRequest, name: str, paper: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    try:
        made = _made(request, dataset, paper)
    except ReportError as error:
        return HttpResponse(str(error), content_type="text/plain; charset=utf-8", status=409)
    return attachment(paper_zip(made), f"{dataset.name}-{paper}.zip", "application/zip")


def _made(request: ResearcherRequest, dataset: Dataset, paper: str) -> MadePaper:
    kinds = [kind for kind in PAPERS[paper].kinds if kind in kinds_of(dataset)]
    if not all(is_small([dataset], kind) for kind in kinds):
        raise ReportError(
            "This dataset is too large to make these tables while you wait. "
            f"Run: python manage.py report {dataset.name} --paper {paper} --output FOLDER"
        )
    return paper_make(paper=paper, dataset=dataset, reader=request.user)


def _drawings(picture: Picture) -> tuple[SafeString, SafeString]:
    """For a wide page and for a phone; empty where pictures cannot be drawn here."""
    if not available():
        return mark_safe(""), mark_safe("")
    wide, narrow = (to_svg(picture, "page", narrow=small) for small in (False, True))
    return mark_safe(wide), mark_safe(narrow)  # noqa: S308  our own drawing: `to_svg` leaves no script in it


def _rows(picture: Picture) -> list[list[tuple[str, bool]]]:
    """The numbers behind it as text, and whether they stand on the right."""
    units = [column.unit for column in picture.columns]
    return [
        [(_text(cell, unit), unit != "text") for cell, unit in zip(row, units, strict=True)]
        for row in picture.rows
    ]


def _text(cell: object, unit: str) -> str:
    if cell is None:
        return UNDEFINED
    if not isinstance(cell, int | float):
        return str(cell)
    return f"{cell:.1%}" if unit == "percent" else f"{cell:,.4g}"


def _crumbs(dataset: Dataset, *, here: bool = True) -> list[tuple[str, str | None]]:
    return [
        ("Datasets", reverse("annotation:dataset-list")),
        (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
        ("Tables of the papers", None if here else reverse("metaeval:paper-list", args=[dataset.name])),
    ]

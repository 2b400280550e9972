"""The tables and figures of papers, made from a dataset: what there is, each paper's page, its files as an archive."""

from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache

from annotation.models import Dataset
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.instructions import dataset_systems
from metaeval.figures import KIND_LABELS
from metaeval.models import JobPage
from metaeval.papers import PAPERS
from metaeval.papers.paper import MadePaper, paper_read
from metaeval.pictures.picture import Picture
from metaeval.reports.errors import ReportError
from metaeval.reports.typesetting import MissingPdfError
from metaeval.selectors.inputs import kinds_of
from metaeval.selectors.papers import agreement_sets_for
from metaeval.services.page_contents import PageAsked
from metaeval.services.papers import DOCUMENTS, documents_here, paper_make
from metaeval.services.report_jobs import is_small
from metaeval.views.kept import Kept, kept_of
from metaeval.views.pictures import picture_response, pictures_shown
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


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the address of a paper's page chooses: baselines, and whose labels say how far judges agree with people."""

    baselines: tuple[str, ...]
    agreement: Dataset | None

    @property
    def query(self) -> str:
        """The end of an address that chooses the same."""
        named = [("baseline", name) for name in self.baselines]
        named += [] if self.agreement is None else [("agreement", self.agreement.name)]
        return f"?{urlencode(named)}" if named else ""


def _chosen(request: ResearcherRequest, paper: str) -> Chosen:
    """What is chosen; another person's private dataset is none. Papers that rank no systems have nothing to choose."""
    if not PAPERS[paper].ranks_systems:
        return Chosen((), None)
    name = request.GET.get("agreement", "")
    agreement = get_object_or_404(datasets_visible_to(request.user), name=name) if name else None
    return Chosen(tuple(filter(None, request.GET.getlist("baseline"))), agreement)


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
    chosen = _chosen(request, paper)
    context |= {"chosen": chosen, "second": chosen.baselines[1:2]}
    if PAPERS[paper].ranks_systems:
        systems = dataset_systems(dataset.pk)
        context |= {
            "systems": systems if len(systems) > 1 else [],
            "agreement_sets": agreement_sets_for(request.user, dataset, PAPERS[paper].kinds),
        }
    kept = _kept(request, dataset, paper, chosen)
    context["kept"] = kept
    if kept is not None and kept.content is None:
        return render(request, "metaeval/paper_detail.html", context)
    try:
        made = _made(request, dataset, paper, chosen, kept)
    except ReportError as error:
        return render(request, "metaeval/paper_detail.html", context | {"error": str(error)})
    shown = pictures_shown(
        request,
        made.pictures,
        lambda picture, suffix: (
            reverse("metaeval:paper-picture", args=[name, paper, picture, suffix]) + chosen.query
        ),
    )
    context |= {"made": made, "pictures": shown, "documents": documents_here().items()}
    return render(request, "metaeval/paper_detail.html", context)


@researcher_page
def paper_picture(request: ResearcherRequest, name: str, paper: str, picture: str, file: str) -> HttpResponse:
    """A picture of a paper as a file, or as its page shows it."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    chosen = _chosen(request, paper)

    def make() -> tuple[Picture, ...]:
        try:
            return _made(request, dataset, paper, chosen, _kept(request, dataset, paper, chosen)).pictures
        except ReportError as error:
            raise Http404(str(error)) from None

    return picture_response(request, picture, file, f"{dataset.name}-{paper}", make)


@never_cache
@researcher_page
def paper_download(request: ResearcherRequest, name: str, paper: str, document: str) -> HttpResponse:
    """All tables and figures as one file, or all files as an archive."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    chosen = _chosen(request, paper)
    try:
        made = _made(request, dataset, paper, chosen, _kept(request, dataset, paper, chosen))
    except ReportError as error:
        return HttpResponse(str(error), content_type="text/plain; charset=utf-8", status=409)
    write, content_type = DOCUMENTS[f".{document}"]
    try:
        return attachment(write(made), f"{dataset.name}-{paper}.{document}", content_type)
    except MissingPdfError as error:
        return HttpResponse(str(error), content_type="text/plain; charset=utf-8", status=409)


def _kept(request: ResearcherRequest, dataset: Dataset, paper: str, chosen: Chosen) -> Kept | None:
    """What a worker made of data that is too large to wait for; None where the page makes it itself."""
    datasets = [dataset] if chosen.agreement is None else [dataset, chosen.agreement]
    kinds = [kind for kind in PAPERS[paper].kinds if kind in kinds_of(dataset)]
    large = next((kind for kind in kinds if not is_small(datasets, kind)), None)
    if large is None:
        return None
    asked = PageAsked(
        JobPage.PAPER.value,
        None,
        "",
        dataset.name,
        large,
        paper=paper,
        baselines=chosen.baselines,
        agreement="" if chosen.agreement is None else chosen.agreement.name,
    )
    return kept_of(request, datasets, asked)


def _made(
    request: ResearcherRequest, dataset: Dataset, paper: str, chosen: Chosen, kept: Kept | None
) -> MadePaper:
    if kept is None:
        return paper_make(
            paper=paper,
            dataset=dataset,
            reader=request.user,
            baselines=chosen.baselines,
            agreement=chosen.agreement,
        )
    if kept.content is None:
        raise ReportError("A worker makes these tables. Ask for them on their page.")
    return paper_read(PAPERS[paper], kept.content)


def _crumbs(dataset: Dataset, *, here: bool = True) -> list[tuple[str, str | None]]:
    return [
        ("Datasets", reverse("annotation:dataset-list")),
        (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
        ("Tables of the papers", None if here else reverse("metaeval:paper-list", args=[dataset.name])),
    ]

"""Judgments of a dataset: listed by what they say, opened with all that led to them, taken away as a file."""

from dataclasses import replace
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone

from annotation.kinds import kind_of
from annotation.models import Dataset
from annotation.selectors.datasets import datasets_editable_by, datasets_visible_to, items_of
from annotation.selectors.judged_items import dataset_categories, kinds_ever
from annotation.selectors.overview import reader_of
from annotation.services.audit import audit
from judges.forms.judgment_filters import (
    detail_context,
    filter_from,
    list_context,
    number_from,
    query_of,
    with_query,
)
from judges.selectors.judgment_list import JudgmentFilter
from judges.selectors.judgment_page import judgment_detail
from judges.selectors.reading import judges_of_dataset, judges_visible_to, judgment_get_for
from judges.services.judgment_exports import judgments_table
from web.access import ResearcherRequest, researcher_page
from web.files import streamed
from web.loop import LoopPlace
from web.tables import FORMATS, table_bytes


def _filters(request: ResearcherRequest, dataset: Dataset) -> JudgmentFilter:
    """What the address asks, of one dataset only: that bounds what can be read."""
    query = request.GET.copy()
    query["dataset"] = str(dataset.pk)
    if fingerprint := query.get("fingerprint", ""):
        # How a comparison knows a judge; from here on it is known by its number.
        judge = judges_of_dataset(dataset).filter(fingerprint=fingerprint.replace("\x00", "")).first()
        query["judge"] = str(judge.pk if judge else 0)
    return replace(filter_from(query), reader=reader_of(request.user))


def _query(filters: JudgmentFilter) -> dict[str, object]:
    return {name: value for name, value in query_of(filters).items() if name != "dataset"}


@researcher_page
def judgment_list(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    filters = _filters(request, dataset)
    chosen = _query(filters)
    kinds = kinds_ever(dataset)
    context = {
        "section": "datasets",
        "crumbs": [
            ("Datasets", reverse("annotation:dataset-list")),
            (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
            ("Judgments", None),
        ],
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "judge"),
        **list_context(request.GET, filters, chosen),
        "judges": judges_of_dataset(dataset).only("name"),
        "categories": dataset_categories(dataset),
        "kinds": [(kind, kind_of(kind).label) for kind in kinds],
        "judgment_page": "judges:judgment",
        "may_import": datasets_editable_by(request.user).filter(pk=dataset.pk).exists(),
        "export_formats": [(name, name.upper()) for name in FORMATS],
    }
    return render(request, "judges/judgment_list.html", context)


@researcher_page
def judgment_page(request: ResearcherRequest, pk: int) -> HttpResponse:
    dataset = judgment_get_for(request.user, pk).item.dataset
    detail = judgment_detail(pk, reader=reader_of(request.user))
    filters = _filters(request, dataset)
    query = urlencode(_query(filters), doseq=True)
    list_url = with_query(reverse("judges:judgment-list", args=[dataset.name]), query)

    context = {
        "section": "datasets",
        "crumbs": [
            ("Datasets", reverse("annotation:dataset-list")),
            (dataset.title, reverse("annotation:dataset-detail", args=[dataset.name])),
            ("Judgments", list_url),
            (detail.item.external_id, None),
        ],
        "loop": LoopPlace(dataset.name, "judge"),
        **detail_context(detail, filters, query, page="judges:judgment", judge_page="judges:judge-detail"),
    }
    return render(request, "judges/judgment.html", context)


@researcher_page
def judgment_export(request: ResearcherRequest, name: str, format: str) -> HttpResponseBase:
    """All judgments of a dataset, imported or run, or those of one judge (``?judge=``)."""
    dataset = get_object_or_404(datasets_visible_to(request.user), name=name)
    if format not in FORMATS:
        raise Http404(f"There is no format {format}.")
    judge_id = None
    if asked := request.GET.get("judge"):
        judge_id = get_object_or_404(judges_visible_to(request.user), pk=number_from(asked) or 0).pk
    table = judgments_table(items_of([dataset]), judge_ids=None if judge_id is None else [judge_id])
    whose = "" if judge_id is None else f"-judge-{judge_id}"
    audit("judgments.exported", dataset, after={"format": format, "judge": judge_id})
    filename = f"{dataset.name}-judgments{whose}-{timezone.now():%Y%m%d}.{format}"
    return streamed(table_bytes(table, format), filename, FORMATS[format])

"""Datasets: what there is, and the items themselves."""

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.forms.upload import CriteriaForm, DatasetForm
from annotation.kinds import kind_of
from annotation.models import Dataset
from annotation.selectors.dataset_figures import (
    KindItems,
    dataset_labels_for,
    dataset_list_for,
)
from annotation.selectors.datasets import dataset_counts, dataset_get_for
from annotation.selectors.overview import (
    items_for_reading,
    label_tallies,
    studies_visible_to,
    unfinished_imports_count,
)
from web.access import ResearcherRequest, researcher_page
from web.loop import LoopPlace

ITEMS_PER_PAGE = 20
LONGEST_SEARCH = 200


@researcher_page
def dataset_list(request: ResearcherRequest) -> HttpResponse:
    rows = dataset_list_for(request.user)
    context = {
        "rows": [(row, _behind(row.dataset, row.kinds)) for row in rows],
        "unfinished": unfinished_imports_count(request.user),
        "section": "datasets",
    }
    return render(request, "annotation/researcher/dataset_list.html", context)


def _shares(tally: dict[str, int]) -> list[tuple[str, int, float]]:
    total = sum(tally.values())
    return [(name, n, n / total) for name, n in tally.items()]


def _behind(dataset: Dataset, kinds: Sequence[KindItems]) -> dict[str, list[dict[str, Any]]]:
    """The lists of items behind each tile, one for each kind that has some: the list is of an application above."""

    def lists(name: str, has: str = "") -> list[dict[str, Any]]:
        return [
            {
                "n": getattr(one, name),
                "of": kind_of(one.kind).label.lower() if len(kinds) > 1 else "",
                "url": reverse(
                    "metaeval:dataset-items",
                    args=[dataset.name],
                    query={"kind": one.kind} | ({"has": has} if has else {}),
                ),
            }
            for one in kinds
            if getattr(one, name)
        ]

    return {"items": lists("items"), "gold": lists("gold", "gold"), "labelled": lists("labelled", "label")}


@researcher_page
def dataset_detail(request: ResearcherRequest, name: str) -> HttpResponse:
    dataset = dataset_get_for(request.user, name)
    filters = {
        key: request.GET.get(key, "").strip()[:LONGEST_SEARCH] for key in ("category", "subset", "search")
    }
    items = items_for_reading(dataset, **{key: text.replace("\x00", "") for key, text in filters.items()})
    page = Paginator(items, ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    tallies = label_tallies(request.user, [item.pk for item in page.object_list])
    for item in page.object_list:
        item.tally = tallies.get(item.pk)  # type: ignore[attr-defined]  # for the template
    counts, labelled = dataset_counts(dataset), dataset_labels_for(request.user, dataset)
    versions = list(dataset.versions.all())
    may_change, may_settle = dataset.rights.may_edit, dataset.rights.may_settle
    context = {
        "section": "datasets",
        "crumbs": [("Datasets", "/datasets/"), (dataset.title, None)],
        "dataset": dataset,
        "loop": LoopPlace(dataset.name, "import"),
        "counts": counts,
        "versions": versions,
        "rows_left_out": sum(one.rows_left_out for one in versions),
        "kinds": _shares(counts.by_kind),
        "categories": _shares(counts.by_category),
        "subsets": _shares(counts.by_subset),
        "labelled": labelled,
        "behind": _behind(dataset, labelled.kinds),
        "studies": list(studies_visible_to(request.user).filter(dataset=dataset)),
        "criteria": list(dataset.criteria.all()),
        # Of the application above, by the name of its relation.
        "has_judgments": dataset.items.filter(judgments__isnull=False).exists(),
        "may_change": may_change,
        "may_offer": may_change or not dataset.is_private,
        "criteria_form": CriteriaForm() if may_change else None,
        "settings_form": DatasetForm(instance=dataset) if may_settle else None,
        "page_obj": page,
        "filters": filters,
        "filtered": any(filters.values()),
    }
    return render(request, "annotation/researcher/dataset_detail.html", context)

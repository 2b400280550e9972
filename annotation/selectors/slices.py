"""The part of a dataset that a study offers: which items, how many, and of what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet

from annotation.models import Criterion, Dataset, Item, Response, Study


def slice_items(
    *, dataset_id: int, kind: str, categories: Sequence[str] = (), subset: str = ""
) -> QuerySet[Item]:
    """Items of a kind; only of these categories and under this subset path, where they are given."""
    items = Item.objects.filter(dataset_id=dataset_id, kind=kind)
    if categories:
        items = items.filter(instruction__category__in=list(categories))
    if subset:
        items = items.filter(Q(instruction__subset=subset) | Q(instruction__subset__startswith=f"{subset}/"))
    return items


def study_slice(study: Study) -> QuerySet[Item]:
    """The slice of the study's dataset, before anything is drawn from it."""
    return slice_items(
        dataset_id=study.dataset_id, kind=study.kind, categories=study.categories, subset=study.subset
    )


@dataclass(frozen=True, slots=True)
class SliceCounts:
    """How much there is of a slice; `by_category` from name ("" is none given) to items."""

    items: int
    gold: int
    by_category: dict[str, int]


def slice_counts(items: QuerySet[Item]) -> SliceCounts:
    """One query, however many categories."""
    rows = (
        items.order_by("instruction__category")
        .values_list("instruction__category")
        .annotate(n=Count("pk"), gold=Count("gold"))
    )
    found = [(name, n, gold) for name, n, gold in rows]
    return SliceCounts(
        items=sum(n for _, n, _ in found),
        gold=sum(gold for *_, gold in found),
        by_category={name: n for name, n, _ in found},
    )


def dataset_criteria(dataset_id: int) -> list[tuple[str, str]]:
    """Key and question of each criterion of a dataset, in their order."""
    return list(Criterion.objects.filter(dataset_id=dataset_id).values_list("key", "question"))


def dataset_systems(dataset_id: int, *, limit: int = 200) -> list[str]:
    """Names of the systems whose responses a dataset has, by name."""
    names = (
        Response.objects.filter(instruction__dataset_id=dataset_id)
        .exclude(system="")
        .order_by("system")
        .values_list("system", flat=True)
        .distinct()
    )
    return list(names[:limit])


def dataset_parts(dataset: Dataset) -> dict[str, list[str]]:
    """What a slice can be chosen by: categories, subset paths with the paths above them."""
    rows = dataset.instructions.order_by().values_list("category", "subset").distinct()
    categories, subsets = set(), set()
    for category, subset in rows:
        categories.add(category)
        parts = subset.split("/") if subset else []
        subsets |= {"/".join(parts[: depth + 1]) for depth in range(len(parts))}
    return {"categories": sorted(categories - {""}), "subsets": sorted(subsets)}

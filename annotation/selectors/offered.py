"""Datasets, and parts of them, that a judge can be run on: for the forms of sweeps, prompts and composites."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q

from annotation.kinds import KINDS
from annotation.models import Dataset, Instruction, Item
from annotation.selectors.judging import GENERATION


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """A dataset that a sweep may judge.

    Attributes
    ----------
    n_items, n_instructions : int
        Of all kinds; contestants answer instructions.
    n_references : int
        Items whose instruction has a human-written reference.
    by_kind : tuple of (str, int)
        How many items of which kind, in words: ``("12 pairs", ...)``.
    """

    pk: int
    name: str
    title: str
    is_private: bool
    n_items: int
    n_instructions: int
    n_references: int
    n_gold: int
    kinds: tuple[str, ...]
    by_kind: tuple[str, ...]


def datasets_offered() -> list[DatasetChoice]:
    """Return the datasets that have something to judge or to answer, by name; three queries."""
    has_reference = Q(instruction__reference__isnull=False) & ~Q(instruction__reference="")
    rows = (
        Item.objects.current()
        .order_by()
        .values_list("dataset_id", "kind")
        .annotate(n=Count("pk"), gold=Count("gold"), references=Count("pk", filter=has_reference))
    )
    counts: dict[int, dict[str, tuple[int, int, int]]] = {}
    for dataset_id, kind, *numbers in rows:
        counts.setdefault(dataset_id, {})[kind] = (numbers[0], numbers[1], numbers[2])
    instructions = dict(Instruction.objects.order_by().values_list("dataset_id").annotate(n=Count("pk")))
    return [
        _dataset_choice(dataset, counts.get(dataset.pk, {}), instructions[dataset.pk])
        for dataset in Dataset.objects.order_by("name")
        if instructions.get(dataset.pk)
    ]


def _dataset_choice(
    dataset: Dataset, counts: dict[str, tuple[int, int, int]], n_instructions: int
) -> DatasetChoice:
    kinds = [kind for kind in KINDS if kind in counts]
    return DatasetChoice(
        pk=dataset.pk,
        name=dataset.name,
        title=dataset.title,
        is_private=dataset.is_private,
        n_items=sum(n for n, _, _ in counts.values()),
        n_instructions=n_instructions,
        n_gold=sum(gold for _, gold, _ in counts.values()),
        n_references=sum(references for *_, references in counts.values()),
        kinds=tuple(kinds),
        by_kind=tuple(f"{n:,} {KINDS[kind].noun[n != 1]}" for kind in kinds for n, _, _ in [counts[kind]]),
    )


@dataclass(frozen=True, slots=True)
class OfferedRow:
    """A dataset or a study that has `n` of what is looked for."""

    pk: int
    name: str
    n: int


def datasets_by_kind(kind: str) -> list[OfferedRow]:
    """Return the datasets with items of a kind, by name; with instructions for "generation". One query."""
    counted = Count("instructions") if kind == GENERATION else Count("items", filter=Q(items__kind=kind))
    rows = Dataset.objects.annotate(n=counted).filter(n__gt=0).order_by("name")
    return [OfferedRow(row.pk, row.name, row.n) for row in rows]


@dataclass(frozen=True, slots=True)
class SlicePart:
    """A category or a subset path, and how many items it has; `depth` of a path is that of its nesting."""

    name: str
    n: int
    depth: int = 0

    @property
    def last(self) -> str:
        """The last part of a path."""
        return self.name.rpartition("/")[2]


def slice_parts(dataset_ids: Iterable[int]) -> tuple[list[SlicePart], list[SlicePart]]:
    """Return the categories and the subset paths of datasets, with how many items each has; one query.

    Items without a category or subset are in none. A path counts what is below it too. Where a dataset has
    instructions and no items, its instructions count.
    """
    rows = (
        Instruction.objects.filter(dataset_id__in=list(dataset_ids))
        .order_by()
        .values_list("dataset_id", "category", "subset")
        .annotate(n_items=Count("items"), n_own=Count("pk", distinct=True))
    )
    found = list(rows)
    has_items = {dataset_id for dataset_id, _, _, items, _ in found if items}
    categories: Counter[str] = Counter()
    subsets: Counter[str] = Counter()
    for dataset_id, category, subset, items, own in found:
        n = items if dataset_id in has_items else own
        if category:
            categories[category] += n
        parts = subset.split("/") if subset else []
        for depth in range(len(parts)):
            subsets["/".join(parts[: depth + 1])] += n
    return (
        [SlicePart(name, categories[name]) for name in sorted(categories)],
        [SlicePart(name, subsets[name], name.count("/")) for name in sorted(subsets)],
    )


def group_paths(by: str, *, at_most: int) -> list[str]:
    """Categories (or subset paths) of all instructions, each behind those above it; one query."""
    named = Instruction.objects.filter(dataset__is_staged=False).exclude(**{by: ""}).order_by(by)
    parts = [path.split("/") for path in named.values_list(by, flat=True).distinct()[:at_most]]
    return list(dict.fromkeys("/".join(names[: n + 1]) for names in parts for n in range(len(names))))


def item_picked(dataset_id: int, kind: str, *, external_id: str = "", at_random: bool = False) -> int | None:
    """The item of that name; else a random one, or the first."""
    items = Item.objects.current().filter(dataset_id=dataset_id, kind=kind)
    if external_id and not at_random:
        items = items.filter(external_id=external_id)
    return items.order_by("?" if at_random else "position").values_list("pk", flat=True).first()


def count_with_texts(dataset: Dataset, texts: Iterable[str]) -> int:
    """How many instructions of a dataset have one of these texts."""
    wanted = list(texts)
    return Instruction.objects.filter(dataset=dataset, text__in=wanted).count() if wanted else 0

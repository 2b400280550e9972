"""What judging has to know of datasets before it reads their texts: which items, and how many."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Left
from django.db.models.lookups import Exact

from annotation.domain.sampling import seeded_hash
from annotation.kinds import DEFAULT_KIND
from annotation.models import Instruction, Item, Response

GENERATION = "generation"
"""In place of a kind of items: the instructions themselves, which contestants are to answer."""


@dataclass(frozen=True, slots=True)
class ItemSlice:
    """The part of each dataset that is judged.

    Attributes
    ----------
    categories : tuple of str
        Only of these; empty: of all.
    subsets : tuple of str
        Only where the subset is one of these paths, or below one; empty: all.
    sample_size : int or None
        Of what is left, so many are drawn from each dataset; None: all.
    seed : int
        Another seed draws others; the same one draws the same everywhere.
    """

    categories: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    sample_size: int | None = None
    seed: int = 0

    def condition(self, prefix: str = "") -> Q:
        """Return what an instruction must fulfil, before anything is drawn; `prefix` leads to it."""
        wanted = Q()
        if self.categories:
            wanted &= Q(**{f"{prefix}category__in": self.categories})
        if self.subsets:
            at_or_below = Q(**{f"{prefix}subset__in": self.subsets})
            for path in self.subsets:
                # Not `startswith`, which takes upper and lower case for the same on SQLite.
                head = Left(f"{prefix}subset", len(path) + 1)
                at_or_below |= Q(Exact(head, Value(f"{path}/")))
            wanted &= at_or_below
        return wanted


WHOLE = ItemSlice()


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """How many items of one kind a dataset has, and how many of them lack a human-written reference."""

    n_items: int = 0
    n_without_reference: int = 0


def item_counts(
    *, dataset_ids: Iterable[int], kind: str = DEFAULT_KIND, part: ItemSlice = WHOLE
) -> dict[int, ItemCounts]:
    """Count the items of `kind` in each dataset; instructions for the kind "generation".

    One query, or one a dataset where some are drawn. A dataset without any is in the result too.
    """
    wanted = list(dataset_ids)
    if part.sample_size is not None:
        return {dataset_id: _count_drawn(dataset_id, kind, part) for dataset_id in wanted}
    rows, prefix = _rows(kind)
    lacking = Q(**{f"{prefix}reference__isnull": True}) | Q(**{f"{prefix}reference": ""})
    found = {
        dataset_id: ItemCounts(n, lacking)
        for dataset_id, n, lacking in rows.filter(part.condition(prefix), dataset_id__in=wanted)
        .order_by()
        .values_list("dataset_id")
        .annotate(n=Count("pk"), lacking=Count("pk", filter=lacking))
    }
    return {dataset_id: found.get(dataset_id, ItemCounts()) for dataset_id in wanted}


Between: TypeAlias = tuple[int, int | None]
"""The first and the last primary key of a range; None: to the end."""


def _within(rows: QuerySet[Any], between: Between) -> QuerySet[Any]:
    rows = rows.filter(pk__gte=between[0]) if between[0] else rows
    return rows if between[1] is None else rows.filter(pk__lte=between[1])


def key_after(
    *, dataset_id: int, kind: str, between: Between, count: int, part: ItemSlice = WHOLE
) -> int | None:
    """Return the key of the last of the first `count` of what is to be judged in a range; None if there are no more.

    Nothing may be drawn. It reads so many rows of an index, whatever the size of the dataset.
    """
    rows, prefix = _rows(kind)
    rows = _within(rows.filter(part.condition(prefix), dataset_id=dataset_id), between)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[count - 1 : count + 1])
    return keys[0] if len(keys) == 2 else None


def slice_names(
    *,
    dataset_id: int,
    kind: str,
    part: ItemSlice = WHOLE,
    only: Collection[int] | None = None,
    between: Between = (0, None),
) -> list[tuple[int, str]]:
    """Return primary key and external id of what is to be judged, in the order of the source; one query.

    With `only`, those of it with these primary keys; with `between`, those of it in this range.

    What is drawn are those with the smallest hashes of seed and external id: the same on every machine, and a larger
    sample holds the smaller one.
    """
    rows, prefix = _rows(kind)
    rows = rows.filter(part.condition(prefix), dataset_id=dataset_id)
    if only is not None and part.sample_size is None:
        rows = rows.filter(pk__in=only)  # a sample has to be drawn from the whole
    if part.sample_size is None:
        rows = _within(rows, between)
    first = () if kind == GENERATION else ("position",)
    names = list(rows.order_by(*first, "pk").values_list("pk", "external_id"))
    if part.sample_size is None:
        return names
    drawn = sorted(names, key=lambda row: (seeded_hash(part.seed, row[1]), row[0]))[: part.sample_size]
    keep = {pk for pk, _ in drawn} if only is None else {pk for pk, _ in drawn} & set(only)
    return [row for row in names if row[0] in keep]


def count_without_response(*, dataset_id: int, kind: str, system: str, part: ItemSlice = WHOLE) -> int:
    """Return how many of what is to be judged have no response of this system to their instruction."""
    rows, prefix = _rows(kind)
    ids = [pk for pk, _ in slice_names(dataset_id=dataset_id, kind=kind, part=part)]
    answered = Response.objects.filter(instruction__dataset_id=dataset_id, system=system)
    there = rows.filter(**{f"{prefix}pk__in": answered.values("instruction_id")}, dataset_id=dataset_id)
    return len(set(ids) - set(there.values_list("pk", flat=True)))


def _rows(kind: str) -> tuple[QuerySet[Item] | QuerySet[Instruction], str]:
    """Return what is judged of a kind, and the way from there to the instruction."""
    if kind == GENERATION:
        return Instruction.objects.all(), ""
    return Item.objects.current().filter(kind=kind), "instruction__"


def _count_drawn(dataset_id: int, kind: str, part: ItemSlice) -> ItemCounts:
    _, prefix = _rows(kind)
    drawn = [pk for pk, _ in slice_names(dataset_id=dataset_id, kind=kind, part=part)]
    rows, _ = _rows(kind)
    has_reference = ~Q(**{f"{prefix}reference": ""}) & Q(**{f"{prefix}reference__isnull": False})
    referenced = set(
        rows.filter(has_reference, part.condition(prefix), dataset_id=dataset_id).values_list("pk", flat=True)
    )
    return ItemCounts(len(drawn), sum(pk not in referenced for pk in drawn))

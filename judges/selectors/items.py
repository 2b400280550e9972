"""The items of a dataset as the engine needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from django.db.models import Count, Q

from annotation.models import Item, Kind
from judges.strategies.types import ItemView

CHUNK = 500
"""Items read at a time: a dataset of any size goes through a bounded memory."""


@dataclass(frozen=True, slots=True)
class ItemCounts:
    """How many items of one kind a dataset has, and how many of them lack a human-written reference."""

    n_items: int = 0
    n_without_reference: int = 0


def item_counts(*, dataset_ids: Iterable[int], kind: str = Kind.PAIRWISE) -> dict[int, ItemCounts]:
    """Count the items of `kind` in each dataset; one query. A dataset without any is in the result too."""
    wanted = list(dataset_ids)
    lacking = Q(instruction__reference__isnull=True) | Q(instruction__reference="")
    rows = (
        Item.objects.filter(dataset_id__in=wanted, kind=kind)
        .order_by()
        .values_list("dataset_id")
        .annotate(n=Count("pk"), lacking=Count("pk", filter=lacking))
    )
    found = {dataset_id: ItemCounts(n, lacking) for dataset_id, n, lacking in rows}
    return {dataset_id: found.get(dataset_id, ItemCounts()) for dataset_id in wanted}


def item_views(*, dataset_id: int, kind: str = Kind.PAIRWISE, chunk: int = CHUNK) -> Iterator[ItemView]:
    """Yield the items of a dataset in canonical order, in the order of their source; two queries a chunk."""
    after = (-1, -1)
    while True:
        later = Q(position__gt=after[0]) | Q(position=after[0], pk__gt=after[1])
        items = list(
            Item.objects.filter(later, dataset_id=dataset_id, kind=kind)
            .select_related("instruction")
            .only(
                "kind",
                "external_id",
                "position",
                "instruction__text",
                "instruction__context",
                "instruction__reference",
                "instruction__category",
            )
            .order_by("position", "pk")[:chunk]
        )
        if not items:
            return
        texts: dict[int, list[str]] = {item.pk: [] for item in items}
        parts = Item.responses.through.objects.filter(item_id__in=texts).order_by("item_id", "position")
        for item_id, text in parts.values_list("item_id", "response__text"):
            texts[item_id].append(text)
        for item in items:
            yield _view(item, tuple(texts[item.pk]))
        after = (items[-1].position, items[-1].pk)


def _view(item: Item, responses: tuple[str, ...]) -> ItemView:
    instruction = item.instruction
    return ItemView(
        item_id=item.pk,
        kind=item.kind,
        instruction=instruction.text,
        responses=responses,
        context=instruction.context,
        reference=instruction.reference or None,
        category=instruction.category,
        external_id=item.external_id,
    )


def presented(view: ItemView, order: int) -> ItemView:
    """Return the view in a presentation order: 0 as stored, 1 with the responses swapped."""
    return replace(view, responses=view.responses[::-1], order=order) if order else view

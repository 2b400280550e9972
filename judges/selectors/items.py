"""The items of a dataset as strategies see them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from annotation.selectors.datasets import items_for_judging
from annotation.selectors.judging import ItemCounts, item_counts
from judges.strategies.types import ItemView

__all__ = ["ItemCounts", "item_counts", "item_views", "presented"]

PAIRWISE = "pairwise"


def item_views(*, dataset_id: int, kind: str = PAIRWISE) -> Iterator[ItemView]:
    """Yield the items of `kind` in canonical order, in the order of their source; read in chunks."""
    for row in items_for_judging(dataset_id):
        if row.kind == kind:
            yield ItemView(
                item_id=row.item_id,
                kind=row.kind,
                instruction=row.instruction,
                responses=row.responses,
                context=row.context,
                reference=row.reference or None,
                category=row.category,
                external_id=row.external_id,
            )


def presented(view: ItemView, order: int) -> ItemView:
    """Return the view in a presentation order: 0 as stored, 1 with the responses swapped."""
    return replace(view, responses=view.responses[::-1], order=order) if order else view

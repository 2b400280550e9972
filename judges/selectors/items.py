"""The items of a dataset as strategies see them, and which of them belong to a sweep."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.selectors.datasets import (
    CHUNK,
    ItemRow,
    criteria_for_judging,
    instructions_read,
    items_read,
    references_read,
)
from annotation.selectors.judging import (
    GENERATION,
    WHOLE,
    ItemSlice,
    seeded_hash,
    slice_names,
)
from judges.models import Judge, Orders, Sweep
from judges.strategies.registry import STRATEGIES
from judges.strategies.types import AspectView, CriterionView, ItemView


def item_views(
    *,
    dataset_id: int,
    kind: str = DEFAULT_KIND,
    part: ItemSlice = WHOLE,
    item_ids: Sequence[int] | None = None,
    reference_systems: Collection[str] = (),
) -> Iterator[ItemView]:
    """Yield the items of `kind` in canonical order, in the order of their source; texts are read in chunks.

    Parameters
    ----------
    kind : str
        For "generation" a view is an instruction, `item_id` its primary key, and there are no responses.
    part : ItemSlice
        Only of this part of the dataset.
    item_ids : sequence of int, optional
        Only these of it; of instructions for "generation".
    reference_systems : collection of str
        Systems whose responses to the instruction are to be `ItemView.references`; not for "generation".
    """
    ids = [pk for pk, _ in slice_names(dataset_id=dataset_id, kind=kind, part=part, only=item_ids)]
    yield from _instructions(ids) if kind == GENERATION else _items(dataset_id, kind, ids, reference_systems)


def _items(dataset_id: int, kind: str, ids: Sequence[int], systems: Collection[str]) -> Iterator[ItemView]:
    criteria: tuple[CriterionView, ...] = ()
    if kind in KINDS and KINDS[kind].parts == "criteria":
        criteria = tuple(CriterionView(*row) for row in criteria_for_judging(dataset_id))
    for start in range(0, len(ids), CHUNK):
        rows = list(items_read(ids[start : start + CHUNK]))
        others = references_read({row.instruction_id for row in rows}, systems) if systems else {}
        for row in rows:
            yield _item(row, criteria, others.get(row.instruction_id, ()))


def _item(
    row: ItemRow, criteria: tuple[CriterionView, ...], references: tuple[tuple[str, str], ...]
) -> ItemView:
    return ItemView(
        item_id=row.item_id,
        kind=row.kind,
        instruction=row.instruction,
        responses=row.responses,
        context=row.context,
        reference=row.reference or None,
        category=row.category,
        subset=row.subset,
        external_id=row.external_id,
        systems=row.systems,
        criteria=criteria,
        aspects=tuple(AspectView(each.key, each.text, each.parent) for each in row.aspects),
        conversation=row.conversation,
        references=references,
    )


def _instructions(ids: Sequence[int]) -> Iterator[ItemView]:
    for row in instructions_read(ids):
        yield ItemView(
            item_id=row.instruction_id,
            kind=GENERATION,
            instruction=row.text,
            responses=(),
            context=row.context,
            reference=row.reference or None,
            category=row.category,
            subset=row.subset,
            external_id=row.external_id,
            conversation=row.conversation,
        )


def view_presented(view: ItemView, order: int) -> ItemView:
    """Return the view in a presentation order: 0 as stored, 1 with the responses swapped."""
    if not order:
        return view
    return replace(view, responses=view.responses[::-1], systems=view.systems[::-1], order=order)


def judge_kind(judge: Judge) -> str:
    """Return the kind of items that a judge judges; of a composed one what its members do."""
    return _kind(judge.spec)


def _kind(spec: Mapping[str, Any]) -> str:
    for member in (spec.get("members") or {}).values():
        return _kind(member)
    info = STRATEGIES.get(spec.get("strategy", ""))
    return info.kind if info is not None else DEFAULT_KIND


def sweep_slice(sweep: Sweep) -> ItemSlice:
    """Return the part of its datasets that a sweep judges."""
    return ItemSlice(tuple(sweep.categories), tuple(sweep.subsets), sweep.sample_size, sweep.seed)


def is_presented(kind: str) -> bool:
    """Whether an item of the kind may be presented in two orders."""
    return kind in KINDS and KINDS[kind].presented


def orders_wanted(orders: str, kind: str = DEFAULT_KIND) -> tuple[int, ...]:
    """Return the presentation orders in which items are judged, one of them for each where it is drawn."""
    return (0, 1) if is_presented(kind) and orders != Orders.ORIGINAL else (0,)


def orders_of(orders: str, kind: str, seed: int, external_id: str) -> tuple[int, ...]:
    """Return the presentation orders of one item; only pairs have more than the original one."""
    if is_presented(kind) and orders == Orders.RANDOM:
        return (order_drawn(seed, external_id),)
    return orders_wanted(orders, kind)


def order_drawn(seed: int, external_id: str) -> int:
    """Return the one order in which a sweep with random orders shows an item: 0 or 1, each with equal chance."""
    return seeded_hash(seed, external_id, "order")[0] & 1

"""The items of a dataset as strategies see them, and which of them belong to a sweep."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.selectors.datasets import (
    CHUNK,
    ItemRow,
    category_scheme,
    criteria_for_judging,
    instructions_read,
    items_read,
    references_read,
)
from annotation.selectors.judging import (
    GENERATION,
    WHOLE,
    Between,
    ItemSlice,
    slice_names,
)
from judges.models import Judge, Sweep
from judges.strategies.registry import STRATEGIES
from judges.strategies.types import AspectView, CriterionView, ItemView


def item_views(
    *,
    dataset_id: int,
    kind: str = DEFAULT_KIND,
    part: ItemSlice = WHOLE,
    item_ids: Sequence[int] | None = None,
    between: Between = (0, None),
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
    between : tuple of int and (int or None)
        Only those with primary keys from the first to the last; not where a sample is drawn.
    reference_systems : collection of str
        Systems whose responses to the instruction are to be `ItemView.references`; not for "generation".
    """
    ids = [
        pk
        for pk, _ in slice_names(dataset_id=dataset_id, kind=kind, part=part, only=item_ids, between=between)
    ]
    yield from _instructions(ids) if kind == GENERATION else _items(dataset_id, kind, ids, reference_systems)


def _items(dataset_id: int, kind: str, ids: Sequence[int], systems: Collection[str]) -> Iterator[ItemView]:
    criteria: tuple[CriterionView, ...] = ()
    if kind in KINDS and KINDS[kind].parts == "criteria":
        criteria = tuple(CriterionView(*row) for row in criteria_for_judging(dataset_id))
    several = kind in KINDS and bool(KINDS[kind].parts_field) and category_scheme(dataset_id).several
    for start in range(0, len(ids), CHUNK):
        rows = list(items_read(ids[start : start + CHUNK]))
        others = references_read({row.instruction_id for row in rows}, systems) if systems else {}
        for row in rows:
            yield _item(row, criteria, others.get(row.instruction_id, ()), several)


def _item(
    row: ItemRow,
    criteria: tuple[CriterionView, ...],
    references: tuple[tuple[str, str], ...],
    several: bool,
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
        several=several,
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

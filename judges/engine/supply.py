"""What a run is to work on: what belongs to its sweep and has no result yet."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from django.db.models import QuerySet

from annotation.selectors.judging import GENERATION, Between, ItemSlice
from judges.models import Anchor, AnchorVerdict, Generation, Judgment, Orders, SweepRun
from judges.selectors.items import item_views, sweep_slice
from judges.strategies.presentation import is_presented, orders_of, view_presented
from judges.strategies.types import ItemView

CACHED_ITEMS = 5000
"""Items that are kept for the next judge."""

_Key: TypeAlias = tuple[int, str, ItemSlice, frozenset[str], Between]


class Supply:
    """Reads the items of ranges of runs, lazily; the last ones are kept if they are not many.

    They come in the order of their source, both presentation orders (and all samples) of an item side by side: so
    requests with a common beginning are sent one after the other, and an engine that keeps the state of prefixes
    computes each but once.
    """

    def __init__(self) -> None:
        self._kept: dict[_Key, list[tuple[ItemView, ItemView]]] = {}

    def remaining(
        self,
        run: SweepRun,
        kind: str,
        reference_systems: frozenset[str] = frozenset(),
        between: Between = (0, None),
    ) -> Iterator[ItemView]:
        """Yield what is to be judged, or answered, in a range of keys, and has not been."""
        if run.sweep.anchors_id is not None:
            return self._anchors(run, kind, reference_systems)
        if kind == GENERATION:
            return self._generations(run, between)
        return self._judgments(run, kind, reference_systems, between)

    def _judgments(
        self, run: SweepRun, kind: str, reference_systems: frozenset[str], between: Between
    ) -> Iterator[ItemView]:
        sweep = run.sweep
        rows = Judgment.objects.filter(judge_id=run.judge_id, item__dataset_id=run.dataset_id, sample=0)
        judged = set(_in_range(rows, "item_id", between).values_list("item_id", "order"))
        fixed = () if sweep.orders == Orders.RANDOM else orders_of(sweep.orders, kind, sweep.seed, "")
        for views in self._of(run.dataset_id, kind, sweep_slice(sweep), reference_systems, between):
            first = views[0]
            for order in fixed or orders_of(sweep.orders, kind, sweep.seed, first.external_id):
                if (first.item_id, order) not in judged:
                    yield views[order]

    def _anchors(self, run: SweepRun, kind: str, reference_systems: frozenset[str]) -> Iterator[ItemView]:
        left = set(Anchor.objects.filter(anchors=run.sweep.anchors_id).values_list("item_id", "order"))
        left -= set(AnchorVerdict.objects.filter(sweep=run.sweep_id).values_list("item_id", "order"))
        views = item_views(
            dataset_id=run.dataset_id,
            kind=kind,
            item_ids=sorted({item_id for item_id, _ in left}),
            reference_systems=reference_systems,
        )
        for view in views:
            for order in (0, 1):
                if (view.item_id, order) in left:
                    yield view_presented(view, order)

    def _generations(self, run: SweepRun, between: Between) -> Iterator[ItemView]:
        rows = Generation.objects.filter(contestant_id=run.judge_id, instruction__dataset_id=run.dataset_id)
        made = set(_in_range(rows, "instruction_id", between).values_list("instruction_id", "sample"))
        for view, _ in self._of(run.dataset_id, GENERATION, sweep_slice(run.sweep), frozenset(), between):
            for sample in range(run.sweep.samples):
                if (view.item_id, sample) not in made:
                    yield replace(view, sample=sample) if sample else view

    def _of(
        self,
        dataset_id: int,
        kind: str,
        part: ItemSlice,
        reference_systems: frozenset[str],
        between: Between,
    ) -> Iterator[tuple[ItemView, ItemView]]:
        """Yield each item as it is presented in either order; only pairs have a second one."""
        key = (dataset_id, kind, part, reference_systems, between)
        if key in self._kept:
            yield from self._kept[key]
            return
        views: list[tuple[ItemView, ItemView]] = []
        for view in item_views(
            dataset_id=dataset_id,
            kind=kind,
            part=part,
            between=between,
            reference_systems=reference_systems,
        ):
            both = (view, view_presented(view, 1) if is_presented(kind) else view)
            if len(views) <= CACHED_ITEMS:
                views.append(both)
            yield both
        if len(views) <= CACHED_ITEMS:
            if sum(map(len, self._kept.values())) + len(views) > CACHED_ITEMS:
                self._kept.clear()
            self._kept[key] = views


def _in_range(rows: QuerySet[Any], name: str, between: Between) -> QuerySet[Any]:
    first, last = between
    rows = rows.filter(**{f"{name}__gte": first}) if first else rows
    return rows if last is None else rows.filter(**{f"{name}__lte": last})

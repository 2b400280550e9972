"""What a run is to work on: what belongs to its sweep and has no result yet."""

from collections.abc import Iterator
from dataclasses import replace

from annotation.selectors.judging import GENERATION, ItemSlice
from judges.models import Anchor, AnchorVerdict, Generation, Judgment, SweepRun
from judges.selectors.items import is_presented, item_views, orders_of, sweep_slice, view_presented
from judges.strategies.types import ItemView

CACHED_ITEMS = 5000
"""Items of the last dataset that are kept for the next judge."""


class Supply:
    """Reads the items of runs, lazily; those of the last dataset are kept if they are not many.

    They come in the order of their source, both presentation orders (and all samples) of an item side by side: so
    requests with a common beginning are sent one after the other, and an engine that keeps the state of prefixes
    computes each but once.
    """

    def __init__(self) -> None:
        self._key: tuple[int, str, ItemSlice, frozenset[str]] | None = None
        self._views: list[tuple[ItemView, ItemView]] = []

    def remaining(
        self, run: SweepRun, kind: str, reference_systems: frozenset[str] = frozenset()
    ) -> Iterator[ItemView]:
        """Yield what is to be judged, or answered, and has not been."""
        if run.sweep.anchors_id is not None:
            return self._anchors(run, kind, reference_systems)
        if kind == GENERATION:
            return self._generations(run)
        return self._judgments(run, kind, reference_systems)

    def _judgments(self, run: SweepRun, kind: str, reference_systems: frozenset[str]) -> Iterator[ItemView]:
        sweep = run.sweep
        judged = set(
            Judgment.objects.filter(
                judge_id=run.judge_id, item__dataset_id=run.dataset_id, sample=0
            ).values_list("item_id", "order")
        )
        for views in self._of(run.dataset_id, kind, sweep_slice(sweep), reference_systems):
            first = views[0]
            for order in orders_of(sweep.orders, kind, sweep.seed, first.external_id):
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

    def _generations(self, run: SweepRun) -> Iterator[ItemView]:
        made = set(
            Generation.objects.filter(
                contestant_id=run.judge_id, instruction__dataset_id=run.dataset_id
            ).values_list("instruction_id", "sample")
        )
        for view, _ in self._of(run.dataset_id, GENERATION, sweep_slice(run.sweep)):
            for sample in range(run.sweep.samples):
                if (view.item_id, sample) not in made:
                    yield replace(view, sample=sample) if sample else view

    def _of(
        self,
        dataset_id: int,
        kind: str,
        part: ItemSlice,
        reference_systems: frozenset[str] = frozenset(),
    ) -> Iterator[tuple[ItemView, ItemView]]:
        """Yield each item as it is presented in either order; only pairs have a second one."""
        key = (dataset_id, kind, part, reference_systems)
        if self._key == key:
            yield from self._views
            return
        views: list[tuple[ItemView, ItemView]] = []
        for view in item_views(
            dataset_id=dataset_id, kind=kind, part=part, reference_systems=reference_systems
        ):
            both = (view, view_presented(view, 1) if is_presented(kind) else view)
            if len(views) <= CACHED_ITEMS:
                views.append(both)
            yield both
        if len(views) <= CACHED_ITEMS:
            self._key, self._views = key, views

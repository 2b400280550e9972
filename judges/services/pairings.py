"""Which judges of a sweep go with which of its datasets, and which workers ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.selectors.judging import WHOLE, ItemCounts, item_counts
from judges.models import Judge, Queue, Sweep
from judges.selectors.items import judge_kind, sweep_slice

if TYPE_CHECKING:
    from annotation.models import Dataset

MOST_DEMANDING = (Queue.GPU, Queue.CPU, Queue.HTTP)


@dataclass(frozen=True, slots=True)
class Pairings:
    """What is to be judged by whom.

    Attributes
    ----------
    pairs : tuple of (Judge, Dataset)
        Those that go together: the dataset has items of the judge's kind in the sweep's slice.
    counts, whole : mapping of str to mapping of int to ItemCounts
        By kind and dataset: items in the slice, and in the whole dataset.
    """

    pairs: tuple[tuple[Judge, Dataset], ...]
    counts: dict[str, dict[int, ItemCounts]]
    whole: dict[str, dict[int, ItemCounts]]


def pairings(sweep: Sweep, judges: Sequence[Judge], datasets: Sequence[Dataset]) -> Pairings:
    """Find out which judges of a sweep go with which datasets; two queries a kind, more where items are drawn."""
    ids, part = [dataset.pk for dataset in datasets], sweep_slice(sweep)
    kinds = {judge.pk: judge_kind(judge) for judge in judges}
    whole = {kind: item_counts(dataset_ids=ids, kind=kind) for kind in dict.fromkeys(kinds.values())}
    counts = whole
    if (part.categories, part.subsets, part.sample_size) != (WHOLE.categories, WHOLE.subsets, None):
        counts = {kind: item_counts(dataset_ids=ids, kind=kind, part=part) for kind in whole}
    pairs = tuple(
        (judge, dataset)
        for dataset in datasets
        for judge in judges
        if counts[kinds[judge.pk]][dataset.pk].n_items
    )
    return Pairings(pairs, counts, whole)


def judge_queue(judge: Judge) -> str:
    """Return the queue of a judge's runs: the most demanding of its endpoints'; empty without a model."""
    queues = {row.endpoint.queue for row in judge.models.all()}
    return next((queue.value for queue in MOST_DEMANDING if queue in queues), "")

"""Reading judgments, as arrays for the statistics."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.kinds import KINDS
from judges.models import Judgment

_PAIRS = [kind.name for kind in KINDS.values() if kind.scale == "preference"]


@dataclass(frozen=True, slots=True)
class PairwiseVerdicts:
    """Pairwise judgments in long format: equal-length arrays, ordered by (judge, item's position, order).

    Attributes
    ----------
    judge_id, item_id, order : ndarray of int64
        `order` 0 = as stored, 1 = swapped.
    choice : ndarray of float64
        1.0 = first response better, 2.0 = second, 0.0 = tie; canonical order; NaN = unparsed or failed.
    status : ndarray of str
        "parsed", "unparsed" or "failed".
    cost : ndarray of float64
        US dollars.
    latency_ms : ndarray of float64
    probability : ndarray of float64
        In [0, 1]: that the first response is better, in canonical order; NaN = unknown.
    """

    judge_id: NDArray[np.int64]
    item_id: NDArray[np.int64]
    order: NDArray[np.int64]
    choice: NDArray[np.float64]
    status: NDArray[np.str_]
    cost: NDArray[np.float64]
    latency_ms: NDArray[np.float64]
    probability: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.judge_id)


def pairwise_verdicts(
    dataset_id: int, judge_ids: Collection[int] | None = None, sample: int = 0
) -> PairwiseVerdicts:
    """All pairwise judgments of a dataset, or those of some judges; one query."""
    judgments = Judgment.objects.filter(
        item__dataset_id=dataset_id, item__kind__in=_PAIRS, sample=sample
    ).order_by("judge_id", "item__position", "item_id", "order")
    if judge_ids is not None:
        judgments = judgments.filter(judge_id__in=list(judge_ids))
    rows = judgments.values_list(
        "judge_id", "item_id", "order", "choice", "status", "cost", "latency_ms", "probability"
    )
    table = np.fromiter(
        (
            (judge, item, order, _number(choice), status, cost, latency, _number(probability))
            for judge, item, order, choice, status, cost, latency, probability in rows.iterator(
                chunk_size=10_000
            )
        ),
        dtype=[
            ("judge_id", np.int64),
            ("item_id", np.int64),
            ("order", np.int64),
            ("choice", np.float64),
            ("status", "U8"),
            ("cost", np.float64),
            ("latency_ms", np.float64),
            ("probability", np.float64),
        ],
    )
    return PairwiseVerdicts(*(np.ascontiguousarray(table[name]) for name in table.dtype.names or ()))


def _number(value: float | None) -> float:
    return np.nan if value is None else value

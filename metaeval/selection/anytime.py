"""Two judges on one dataset while its labels arrive: their difference, with an interval that is valid at every look."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.selection.scoring import block_of
from metaeval.selection.types import Booleans, JudgedDataset
from metaeval.stats import ConfidenceSequence, SequenceDecision
from metaeval.stats.results import Result

# What stands in place of an item's number in the order in which items got their last label.
TO_COME = 0
NOT_ASKED = -1
NEVER = -2
# A margin of nothing: no interval is that narrow, so no two judges are equivalent within it.
_NO_MARGIN = 1e-9


@dataclass(frozen=True, slots=True)
class DifferenceSoFar(Result):
    """The first judge minus the second, over the instructions that are finished.

    Attributes
    ----------
    decision : SequenceDecision
        Its estimate is of the items of finished instructions, each of the same weight.
    n_finished, n_planned : int
        Instructions that count, and those with the ones that still will.
    """

    decision: SequenceDecision
    n_finished: int
    n_planned: int


def difference_so_far(
    dataset: JudgedDataset,
    arrival: Sequence[int],
    judges: tuple[str, str],
    *,
    confidence: float = 0.95,
    n_shared: int = 1,
    most: Sequence[float] | None = None,
    margin: float = 0.0,
) -> DifferenceSoFar:
    """The difference of two judges, and whether labeling may stop.

    Parameters
    ----------
    dataset : JudgedDataset
        Its weights are sizes of items, questions say, and never sampling weights: a bet on an item needs a bound that
        is known in advance.
    arrival : sequence of int, one an item
        From 1: its place in the order in which items got the last of their labels. `TO_COME`: it has not yet.
        `NEVER`: it will not any more, and its instruction never counts. `NOT_ASKED`: nobody is to label it.
    judges : (str, str)
    confidence : float, default 0.95
    n_shared : int, default 1
        How many such intervals are to hold at once, whichever of them is looked at (Bonferroni): all pairs of judges,
        where the pair was chosen on the same labels.
    most : sequence of float, one an item, optional
        The most that each item can weigh, whatever is labeled; 1 by default, as without weights.
    margin : float, default 0
        How large a difference makes none in practice; at 0 nothing is equivalent.

    Returns
    -------
    DifferenceSoFar

    Notes
    -----
    An instruction counts at once with all of its items, when the last of them has all its labels, so that what was
    counted once does not change with the next label. One that a judge has not judged whole takes no part.
    """
    block, place = block_of(dataset, judges), np.asarray(arrival)
    _, codes = np.unique(dataset.clusters, return_inverse=True)
    asked = place != NOT_ASKED
    limit = np.ones(len(place)) if most is None else np.asarray(most, dtype=np.float64)
    counted = asked & block.scorable

    def with_any(items: Booleans) -> Booleans:
        found: Booleans = np.bincount(codes[items], minlength=int(codes.max(initial=-1)) + 1) > 0
        return found

    waits = with_any(place == TO_COME) & ~with_any(place == NEVER)
    left_out = with_any(counted & ~block.covered.all(axis=1)) | with_any(place == NEVER)
    finished = with_any(counted) & ~waits & ~left_out
    last = np.zeros(len(finished), dtype=np.intp)
    np.maximum.at(last, codes[asked], place[asked])
    own = np.flatnonzero(counted & finished[codes])
    own = own[np.argsort(last[codes[own]], kind="stable")]
    sizes = None if dataset.weights is None else np.asarray(dataset.weights, dtype=np.float64)[own]
    gaps = block.scores[own, 0] - block.scores[own, 1]
    sequence = ConfidenceSequence(
        bounds=(-1.0, 1.0),
        confidence=1.0 - (1.0 - confidence) / n_shared,
        # How large an instruction can be is known before anything is labeled.
        largest=float(np.bincount(codes[asked], weights=limit[asked], minlength=1).max()) or 1.0,
    )
    sequence.update(gaps, clusters=codes[own], weights=sizes)
    n_finished = int(finished.sum())
    n_planned = n_finished + int((waits & ~left_out).sum())
    decision = sequence.decide(
        margin=margin or _NO_MARGIN, reference=0.0, budget=n_planned if n_finished else None
    )
    return DifferenceSoFar(decision, n_finished, n_planned)

"""How good a judge is on each item, from 0 to 1: what a choice between judges rests on, but for agreement of pairs.

An answer that could not be read, never came, or is not about what was asked scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.figures import FIGURES
from metaeval.figures.sample import Sample
from metaeval.inputs import Against, Booleans, Floats, Inputs, Options
from metaeval.selection.types import ScoredLabels
from metaeval.stats.crossed import Crossing
from metaeval.stats.crossed_sums import CrossedSums


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Scores of one dataset's items; arrays have n_items rows, mappings are by the judge's fingerprint.

    Attributes
    ----------
    scores : mapping of str to ndarray
        In [0, 1]; NaN where the judge judged nothing, or there is nothing to score against.
    judged, unparsed : mapping of str to ndarray of bool
        Whether there is a judgment, and whether it could not be read or never came.
    scorable : ndarray of bool
        Whether there is something to score against.
    weights : ndarray or None
        What each item counts; None weighs all the same.
    labels : ScoredLabels or None
        What each label of people does to the scores; None where they play no part.
    """

    scores: Mapping[str, Floats]
    judged: Mapping[str, Booleans]
    unparsed: Mapping[str, Booleans]
    scorable: Booleans
    weights: Floats | None = None
    labels: ScoredLabels | None = None


def item_scores(inputs: Inputs, against: Against, figure: str = "") -> ItemScores:
    """Score the judges of a kind on each item.

    *Rubric*: 1 minus the mean over criteria of the distance from people's mean (or the gold) rating, as a share of the
    widest one; or the share of criteria that are near it on their scale. *Checklist*: the share of the decided
    questions that are answered as the target; items weigh as many as they have, so that the mean is that of all
    questions.
    *Importance*: (1 + rho) / 2 with Spearman's rho, averaged over people. *Answer ranking*: (1 + r) / 2 with Pearson's
    r, as in the comparison. By response sets, of any kind: the share of people who find the answer reasonable, or of
    answers that half of them do.

    Parameters
    ----------
    against : {"people", "gold"}
        What answers are compared with.
    figure : str
        Which figure of the kind ranks judges; the first of those by default.
    """
    kind = FIGURES[inputs.kind]
    primary = figure or kind.primaries[0]
    sample = kind.sample(inputs, Options(against=against, n_resamples=0))
    by_sets = primary in kind.further
    scorable, weights = sample.has_target(primary) if by_sets else sample.scorable, sample.size
    if sample.compared is not None:
        weights = sample.compared if weights is None else weights * sample.compared
    judged = {judge.fingerprint: judge.asked for judge in inputs.judges}
    # Of two presentation orders, one of which could be read, the score has the other as 0 already.
    unparsed = {
        judge.fingerprint: np.asarray((judge.unparsed | ~judge.judged).all(axis=1) & judge.asked)
        for judge in inputs.judges
    }
    scores = {
        key: np.where(judged[key] & scorable, np.where(unparsed[key], 0.0, one.score(primary)), np.nan)
        for one, key in ((one, one.judge.fingerprint) for one in sample.judges)
    }
    labels = (
        None if sample.against_gold else _scored_labels(sample, primary, scores, beside_people=not by_sets)
    )
    return ItemScores(scores, judged, unparsed, scorable, weights, labels)


def _scored_labels(
    sample: Sample, primary: str, scores: Mapping[str, Floats], *, beside_people: bool
) -> ScoredLabels | None:
    """In the units of scores, and by item what it weighs: items then weigh as they do in a choice.

    With ``beside_people`` also beside what annotators reach, which is in the units of the first figure of a kind.
    """
    size = np.ones(sample.n_items) if sample.size is None else sample.size
    sums, crossing = {}, None
    beside: tuple[dict[str, Any], dict[str, Any]] = {}, {}
    for one in sample.judges:
        found, key = one.alike(primary), one.judge.fingerprint
        if found is None:
            return None
        crossing, known = found.crossing, ~np.isnan(scores[key])
        counted = np.where(found.sums.bottom > 0, found.sums.bottom, 1.0)
        moved = _by_size(_shares(found.sums, found.bounds), counted, found.crossing)
        sums[key] = replace(moved, top=np.where(known, scores[key], 0.0), bottom=known.astype(np.float64))
        if not beside_people:
            continue
        for known_beside, gap in zip(beside, (one.beside_people(), one.beside_best()), strict=True):
            if gap is not None and gap.minus is not None:
                first, second = (
                    _by_size(_shares(side, gap.bounds), size, gap.crossing) for side in (gap.sums, gap.minus)
                )
                known_beside[key] = first, second
    return None if crossing is None else ScoredLabels(crossing, sums, *beside)


def _shares(sums: CrossedSums, bounds: tuple[float, float]) -> CrossedSums:
    """From 0 to 1."""
    width = bounds[1] - bounds[0]
    return sums.scaled(1 / width, -bounds[0] / width)


def _by_size(sums: CrossedSums, size: Floats, crossing: Crossing) -> CrossedSums:
    each, below = size[crossing.item], sums.bottom_effects
    return replace(
        sums,
        top=sums.top / size,
        bottom=sums.bottom / size,
        top_effects=sums.top_effects / each,
        bottom_effects=None if below is None else below / each,
    )

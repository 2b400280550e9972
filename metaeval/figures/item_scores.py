"""How good a judge is on each item of a kind other than pairs, from 0 to 1: what a choice between judges rests on.

An answer that could not be read, never came, or is not about what was asked scores 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metaeval.figures import FIGURES
from metaeval.inputs import Against, Booleans, Floats, Inputs, Options


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
    """

    scores: Mapping[str, Floats]
    judged: Mapping[str, Booleans]
    unparsed: Mapping[str, Booleans]
    scorable: Booleans
    weights: Floats | None = None


def item_scores(inputs: Inputs, against: Against) -> ItemScores:
    """Score the judges of a kind on each item.

    *Rubric*: 1 minus the mean over criteria of the distance from people's mean (or the gold) rating, as a share of the
    widest one. *Checklist*: the share of the decided questions that are answered as the target; items weigh as many
    as they have, so that the mean is that of all questions. *Importance*: (1 + rho) / 2 with Spearman's rho, averaged
    over people. *Answer ranking*: (1 + r) / 2 with Pearson's r, as in the comparison.

    Parameters
    ----------
    against : {"people", "gold"}
        What answers are compared with.
    """
    sample = FIGURES[inputs.kind].sample(inputs, Options(against=against, n_resamples=0))
    scorable, weights = sample.scorable, sample.size
    if sample.compared is not None:
        weights = sample.compared if weights is None else weights * sample.compared
    judged = {judge.fingerprint: judge.asked for judge in inputs.judges}
    unparsed = {judge.fingerprint: np.asarray(judge.unparsed.any(axis=1)) for judge in inputs.judges}
    scores = {
        key: np.where(judged[key] & scorable, np.where(unparsed[key], 0.0, one.score), np.nan)
        for one, key in ((one, one.judge.fingerprint) for one in sample.judges)
    }
    return ItemScores(scores, judged, unparsed, scorable, weights)

"""AlpacaEval's published conventions for agreement: how it breaks ties, and what a tie is worth.

They are options, never the default: two tied modes always go to the second output, so that a judge that prefers the
second looks better than it is.
"""

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.counts import LabelCounts
from metaeval.stats.errors import InvalidInputError


def alpaca_scale(values: Floats, *, graded: bool) -> Floats:
    """A tie, written 0, lies halfway between the two outputs; a judge may also lie anywhere between them."""
    known = np.isnan(values) | (values == 0) | (values == 1) | (values == 2) | (values == 1.5)
    if graded:
        known |= (values >= 1) & (values <= 2)
    if not known.all():
        wrong = values[~known][0]
        raise InvalidInputError(
            f"tie_break='alpaca_eval' is for preferences 1, 2 and tie (0), found {wrong:g}"
        )
    scale: Floats = np.where(values == 0, 1.5, values)
    return scale


def alpaca_target(matrix: Integers, scale: Floats) -> Floats:
    """The mode. Of two tied modes the larger; of three the smallest: what the published fixed seed draws."""
    top = matrix == matrix.max(axis=1, initial=0)[:, np.newaxis]
    low = np.where(top, scale, np.inf).min(axis=1, initial=np.inf)
    high = np.where(top, scale, -np.inf).max(axis=1, initial=-np.inf)
    target: Floats = np.where(top.sum(axis=1) >= 3, low, high)
    return target


def _matrix(counts: LabelCounts) -> tuple[Integers, Floats]:
    used = counts.per_item().any(axis=0)
    scale = alpaca_scale(counts.values[used], graded=False)
    if len(np.unique(scale)) != len(scale):
        raise InvalidInputError("tie_break='alpaca_eval': a tie is written both 0 and 1.5")
    return counts.matrix[:, used], scale


def alpaca_people(counts: LabelCounts) -> Floats:
    """People's score of each row of the counts: each label against the mode of the others."""
    matrix, scale = _matrix(counts)
    total = matrix.sum(axis=1)
    score = np.zeros(len(matrix))
    for place, value in enumerate(scale):
        others = matrix.copy()
        others[:, place] -= 1
        score += np.where(
            matrix[:, place] > 0, matrix[:, place] * (1 - np.abs(alpaca_target(others, scale) - value)), 0
        )
    return np.where(total >= 2, score / np.maximum(total, 1), np.nan)


def alpaca_judge(counts: LabelCounts, verdict: Floats) -> Floats:
    """A judge's score of each item: its verdict against the mode of all labels."""
    matrix, scale = _matrix(counts)
    target = np.where(matrix.any(axis=1), alpaca_target(matrix, scale), np.nan)
    distance = np.abs(target[counts.row] - alpaca_scale(verdict, graded=True))
    # An unparsed verdict has no distance; the caller decides what it is worth, on items that have a target.
    unparsed = np.isnan(verdict) & ~np.isnan(target[counts.row])
    score: Floats = np.where(unparsed, 0.0, 1 - distance)
    return score

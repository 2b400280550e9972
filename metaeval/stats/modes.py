"""The modes of an item's labels, what is left of them without one label, and AlpacaEval's conventions for both."""

from dataclasses import dataclass

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.counts import LabelCounts, LongLabels
from metaeval.stats.errors import InvalidInputError


@dataclass(frozen=True, slots=True)
class Tops:
    """The largest count of each row, how many values have it, and the same for the largest count below it."""

    total: Integers
    first: Integers
    n_first: Integers
    second: Integers
    n_second: Integers

    def of(self, rows: Integers) -> "Tops":
        """The same of some of the rows."""
        return Tops(
            self.total[rows], self.first[rows], self.n_first[rows], self.second[rows], self.n_second[rows]
        )


def tops(matrix: Integers) -> Tops:
    """Of each row of a matrix of counts, (n_rows, n_values)."""
    first = matrix.max(axis=1, initial=0)
    is_first = matrix == first[:, np.newaxis]
    below = np.where(is_first, 0, matrix)
    second = below.max(axis=1, initial=0)
    n_second = ((below == second[:, np.newaxis]) & ~is_first).sum(axis=1)
    return Tops(matrix.sum(axis=1), first, is_first.sum(axis=1), second, n_second)


def label_scores(read: LongLabels, verdict: Floats | None = None) -> Floats:
    """How probably each label is the mode of the *others'* labels of its item, a tie being broken at random.

    With a verdict, the same of the verdict in place of the label.

    Parameters
    ----------
    read : LongLabels
        The labels.
    verdict : ndarray of shape (n_items,), optional
        A judge's; NaN, and a value that nobody gave, are no mode.

    Returns
    -------
    ndarray of shape (n_labels,)
        NaN where the item has no other label.

    Examples
    --------
    >>> from metaeval.stats.counts import read_labels
    >>> label_scores(read_labels([[1, 1, 2]])).tolist()
    [0.5, 0.5, 0.0]
    >>> label_scores(read_labels([[1, 1, 2]]), np.array([1.0])).tolist()
    [0.5, 0.5, 1.0]
    """
    counts = LabelCounts(read.values, np.arange(read.n_items), None, read.item, read.code)
    matrix = counts.matrix
    top = tops(matrix).of(read.item)
    own = matrix[read.item, read.code]
    is_first = own == top.first
    sole = is_first & (top.n_first == 1)
    # Without this label: how often the most frequent values of the others occur, and how many these are.
    most = np.where(sole, top.first - 1, top.first)
    n_most = np.where(
        sole,
        np.where(most == top.second, 1 + top.n_second, 1),
        np.where(is_first, top.n_first - 1, top.n_first),
    )
    if verdict is None:
        matching = own - 1 == most
    else:
        padded = np.concatenate([matrix, np.zeros((len(matrix), 1), dtype=np.intp)], axis=1)
        column = counts.columns(verdict)[read.item]
        matching = padded[read.item, column] - (column == read.code) == most
    return np.where(top.total >= 2, matching / np.maximum(n_most, 1), np.nan)


def people_terms(top: Tops) -> tuple[Integers, Floats]:
    """(how many labels can match at all, the chance that each does); the others never match.

    A label matches only if its value still is a mode when it is taken away: it must be the sole mode, and
    then it stays alone if it was two ahead, and is level with the runners-up if it was one ahead.
    """
    ahead = top.first - top.second
    chance = np.where(ahead >= 2, 1.0, 1.0 / (1 + top.n_second))
    return np.where(top.n_first == 1, top.first, 0), chance


def judge_terms(own: Integers, top: Tops) -> list[tuple[Integers, Floats]]:
    """Labels left out, by what their absence does for a verdict: [(how many, the chance of a match)].

    ``own`` is how often the verdict's value was given; its strongest rivals have ``rival`` labels each and
    are ``n_rivals``. Leaving out one of its own labels weakens the verdict, leaving out a rival's
    strengthens it.
    """
    is_first = own == top.first
    sole = is_first & (top.n_first == 1)
    rival = np.where(sole, top.second, top.first)
    n_rivals = np.where(sole, top.n_second, top.n_first - is_first)
    ahead, level = own > rival, (own == rival) & (own > 0)
    # One behind a single rival: level with it, and with others of the same count, when the rival loses a
    # label.
    behind = (own == rival - 1) & (n_rivals == 1) & (own > 0)
    others = top.total - own
    weakened = np.where(ahead, own, 0)
    strengthened = np.where(level, rival * n_rivals, np.where(behind, rival, 0))
    chance_weakened = np.where(own - 1 > rival, 1.0, 1.0 / (1 + n_rivals))
    chance_strengthened = np.where(level, 1.0 / np.maximum(n_rivals, 1), 1.0 / (1 + top.n_second))
    rest = np.where(ahead, others, np.where(level, others - rival * n_rivals, 0))
    chance_rest = np.where(ahead, 1.0, 1.0 / (1 + n_rivals))
    return [(weakened, chance_weakened), (strengthened, chance_strengthened), (rest, chance_rest)]


def over_labels(matches: Floats, total: Integers) -> Floats:
    """Matches as a share of the labels left out; undefined where no label would be left."""
    return np.where(total >= 2, matches / np.maximum(total, 1), np.nan)


def people_score(top: Tops) -> Floats:
    """Leave-one-out agreement of people on rows of counts, ties between modes by expectation."""
    how_many, chance = people_terms(top)
    return over_labels(how_many * chance, top.total)


def judge_score(own: Integers, top: Tops) -> Floats:
    """The same of a verdict whose value was given ``own`` times."""
    matches = np.zeros(len(own))
    for how_many, chance in judge_terms(own, top):
        matches += how_many * chance
    return over_labels(matches, top.total)


# --- AlpacaEval's published conventions: how it breaks ties, and what a tie is worth -------------------------------
#
# They are options, never the default: two tied modes always go to the second output, so that a judge that prefers the
# second looks better than it is.


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

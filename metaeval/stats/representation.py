"""Who represents the other people better, label by label: a judge, or the person left out."""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.errors import InvalidInputError

Score: TypeAlias = Literal["match", "negative_rmse"] | Callable[[float, Floats], float]

# Squared distances that differ by less than this share of the squared range are equal.
_GRAIN = 1e-9
# Counting all cells costs less than sorting the labels, up to so many cells a label.
_MOST_CELLS = 20


def advantages(
    item: Integers, value: Floats, verdicts: Floats, score: Score, *, unparsed_loses: bool = True
) -> tuple[Floats, Floats]:
    """Whether the judge, and whether the person, represents the other labels of an item at least as well.

    Parameters
    ----------
    item, value : ndarray of shape (n_labels,)
        Labels, each with the row of its item. A label is left out in turn; the others of its item are compared with.
    verdicts : ndarray of shape (n_items, n_orders)
        NaN is unparsed.
    score : {"match", "negative_rmse"} or callable
        See `alternative_annotator_test`.
    unparsed_loses : bool
        Or an order without a verdict takes no part.

    Returns
    -------
    judge, person : ndarray of shape (n_labels,)
        1 or 0, with two orders their mean; NaN where no order takes part or the item has one label.
    """
    n_items = len(verdicts)
    others = np.bincount(item, minlength=n_items)[item] - 1
    judge, person, orders = np.zeros(len(item)), np.zeros(len(item)), np.zeros(len(item))
    for column in verdicts.T:
        verdict = column[item]
        parsed = ~np.isnan(verdict)
        gap = _gaps(item, value, verdict, others, n_items, score)
        judge += parsed & (gap >= 0)
        person += np.where(parsed, gap <= 0, unparsed_loses)
        orders += parsed | unparsed_loses
    known = (orders > 0) & (others > 0)
    orders = np.where(known, orders, 1)
    return np.where(known, judge / orders, np.nan), np.where(known, person / orders, np.nan)


def _gaps(
    item: Integers, value: Floats, verdict: Floats, others: Integers, n_items: int, score: Score
) -> Floats:
    """Score of the judge minus score of the person, or anything of the same sign."""
    if callable(score):
        return _called(item, value, verdict, others, score)
    if score == "match":
        return _matches(item, value, verdict)
    # The mean squared distances from the others differ by what the distances from their mean differ by.
    middle = np.bincount(item, weights=value, minlength=n_items) / np.maximum(
        np.bincount(item, minlength=n_items), 1
    )
    centred, judged = value - middle[item], verdict - middle[item]
    total = np.bincount(item, weights=centred, minlength=n_items)[item]
    mean = (total - centred) / np.maximum(others, 1)
    gap = (centred - mean) ** 2 - (judged - mean) ** 2
    answers = np.concatenate([value, verdict[~np.isnan(verdict)]])
    grain = _GRAIN * float(np.ptp(answers)) ** 2 if len(answers) else 0.0
    return np.where(np.abs(gap) <= grain, 0.0, gap)


def _matches(item: Integers, value: Floats, verdict: Floats) -> Floats:
    """Others who said what the judge says, minus others who said what the person says."""
    if not len(value):
        return np.zeros(0)
    values, codes = np.unique(value, return_inverse=True)
    place = np.minimum(np.searchsorted(values, verdict), len(values) - 1)
    alike, said = _counted(item * len(values) + codes, item * len(values) + place)
    said = np.where(values[place] == verdict, said, 0)
    gap: Floats = (said - (verdict == value) - (alike - 1)).astype(np.float64)
    return gap


def _counted(cells: Integers, wanted: Integers) -> tuple[Integers, Integers]:
    """How often each cell occurs among the cells, and each that is wanted."""
    n_cells = int(max(cells.max(), wanted.max())) + 1
    if n_cells <= _MOST_CELLS * len(cells):
        counts = np.bincount(cells, minlength=n_cells)
        return counts[cells], counts[wanted]
    distinct, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
    found = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    return counts[which], np.where(distinct[found] == wanted, counts[found], 0)


def _called(
    item: Integers, value: Floats, verdict: Floats, others: Integers, score: Callable[[float, Floats], float]
) -> Floats:
    gap = np.zeros(len(item))
    order = np.argsort(item, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(item[order])) + 1):
        for position, place in enumerate(places):
            if others[place] and not math.isnan(verdict[place]):
                rest = np.delete(value[places], position)
                gap[place] = score(float(verdict[place]), rest) - score(float(value[place]), rest)
    if np.isnan(gap).any():
        raise InvalidInputError("score: gave NaN for labels that are there")
    return gap

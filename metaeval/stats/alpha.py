"""Krippendorff's alpha, its interval and its value from coincidences of items.

The value is that of the krippendorff package where it is installed. It is GPL-3.0-or-later, so the application depends
on it and this library doesn't: without it the same formula runs on the same counts.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from scipy import sparse

from metaeval.stats.alignment import aligned
from metaeval.stats.alpha_many import (
    Distance,
    ManyValues,
    alpha_and_range,
    alpha_influence,
    resampled_alpha,
)
from metaeval.stats.arrays import Booleans, Floats, Integers, check_option
from metaeval.stats.counts import LabelCounts, LongLabels
from metaeval.stats.crossed import People
from metaeval.stats.crossed_pairs import (
    MOST_DISTINCT,
    TOO_MANY,
    PairTerms,
    coefficient_of_others,
    labels_for,
    labels_of,
)
from metaeval.stats.crossed_sums import of_others_unknown
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, finish, item_weights, resolve, why_none
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import Spread, spread_of, spread_of_totals

try:
    import krippendorff
except ImportError:
    krippendorff = None  # type: ignore[assignment,unused-ignore]

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

_LEVELS = ("nominal", "ordinal", "interval", "ratio")
_ONE_VALUE = "all labels are one value: chance agreement is complete"
# More distinct values than this are held as a sparse matrix.
MOST_VALUES = 8
# The package holds items x values x values numbers.
MOST_OF_THE_PACKAGE = 20_000_000
# Resamples whose ordinal distances are held at once.
_CHUNK = 2_000


@aligned()
def krippendorff_alpha(
    labels: Any, *, level: Level | Distance = "nominal", people: People = "fixed", **options: Unpack[Sampling]
) -> Estimate:
    """Agreement of any number of annotators beyond chance, 1 minus observed over expected disagreement.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value).
    level : {"nominal", "ordinal", "interval", "ratio"} or callable
        How far apart two values are. Pairwise choices are nominal, ratings ordinal. A callable takes two arrays of
        values that broadcast, and gives their distances: 0 of equal ones, positive of others.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. From fewer
        than five people there is no interval of others.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        At most 1; 0 is chance, below it is worse than chance. NaN when no item has two labels, or when all
        labels of such items are one value (there is nothing to disagree about).

    References
    ----------
    K. Krippendorff, "Content Analysis", 4th ed., 2018, ch. 12; S. Castro, "Fast Krippendorff", the package.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 2], [1, 2], [1, 1]]).value, 6)
    0.533333
    """
    if not callable(level):
        check_option(level, _LEVELS, "level")
    read, counts = labels_for(labels, people)
    resamples, mask, confidence = resolve(counts.n_items, options, weighted=True)
    weights = item_weights(counts.n_items, options)
    many = not counts.tabular and len(counts.values) > MOST_VALUES
    per_item = None if many else counts.per_item()
    sizes = np.bincount(counts.item, minlength=counts.n_items) if per_item is None else per_item.sum(axis=1)
    pairable = sizes >= 2
    if mask is not None:
        pairable &= mask
    if weights is not None:
        pairable &= weights > 0
        weights = _scaled(weights, np.where(pairable, sizes, 0))
    if not pairable.any():
        return undefined(why_none("no item has two labels", options.get("weights")))
    others = _Others(read, level, pairable, weights, resamples, confidence)
    if per_item is None:
        return _of_many(counts, level, pairable, weights, resamples, confidence, others)
    per_item = np.where(pairable[:, np.newaxis], per_item, 0)
    used = per_item.any(axis=0)
    if np.count_nonzero(used) < 2:
        return undefined(_ONE_VALUE)
    per_item, values = per_item[:, used], counts.values[used]
    columns, alpha = _of_totals(per_item, values, level)
    if weights is not None:
        columns = columns * weights[:, np.newaxis]
    if weights is None and krippendorff is not None and not callable(level):
        value = _of_the_package(per_item[pairable], values, level)
    else:
        value = float(alpha(columns.sum(axis=0)[np.newaxis])[0])
    bounds = _range(columns[:, -len(values) :].sum(axis=0), values, level)
    if not resamples.n_resamples:
        return finish(value, np.zeros(0), pairable, resamples, confidence, bounds)
    spread = spread_of_totals(columns, alpha, pairable, resamples)
    resampled = alpha(resamples.totals(columns))
    fixed = finish(value, resampled, pairable, resamples, confidence, bounds, spread)
    return others.beside(fixed, resampled, bounds, spread)


def _scaled(weights: Floats, sizes: Integers) -> Floats:
    """The weights with which the labels that count add up to as many as there are.

    Alpha allows for how few labels it is computed from, which the scale of the weights says nothing about.
    """
    weighted = float((weights * sizes).sum())
    result: Floats = weights * (sizes.sum() / weighted) if weighted else weights
    return result


def _of_many(
    counts: LabelCounts,
    level: Level | Distance,
    pairable: Booleans,
    weights: Floats | None,
    resamples: Resamples,
    confidence: float,
    others: "_Others",
) -> Estimate:
    data = ManyValues.of(counts, pairable, weights)
    if len(data.values) < 2:
        return undefined(_ONE_VALUE)
    value, bounds = alpha_and_range(data, level)
    size = np.count_nonzero(pairable) * len(data.values) ** 2
    of_package = weights is None and krippendorff is not None and size <= MOST_OF_THE_PACKAGE
    if of_package and not callable(level):
        value = _of_the_package(
            counts.matrix[pairable][:, np.isin(counts.values, data.values)], data.values, level
        )
    if not resamples.n_resamples:
        return finish(value, np.zeros(0), pairable, resamples, confidence, bounds)
    rows = resamples.cluster_totals(np.column_stack([alpha_influence(data, level), pairable]))
    rows = rows[rows[:, 1] > 0]
    spread = spread_of(rows[:, 0], rows[:, 1])
    resampled = resampled_alpha(data, level, resamples)
    fixed = finish(value, resampled, pairable, resamples, confidence, bounds, spread)
    return others.beside(fixed, resampled, bounds, spread)


@dataclass(frozen=True, slots=True)
class _Others:
    """What the interval of annotators like these needs beside that of these; nothing where only these are asked for."""

    read: LongLabels | None
    level: Level | Distance
    pairable: Booleans
    weights: Floats | None
    resamples: Resamples
    confidence: float

    def beside(
        self, fixed: Estimate, resampled: Floats, bounds: tuple[float, float], spread: Spread
    ) -> Estimate:
        if self.read is None or not fixed.defined:
            return fixed
        read = labels_of(self.read, self.pairable)
        if len(read.values) > MOST_DISTINCT:
            return of_others_unknown(fixed, TOO_MANY.format(n=len(read.values)))
        sizes = np.bincount(read.item, minlength=read.n_items).astype(np.float64)
        weights = np.where(self.pairable, 1.0 if self.weights is None else self.weights, 0.0)
        pairs, values = alpha_terms(read, weights, self.level)
        return coefficient_of_others(
            fixed,
            resampled,
            read,
            PairTerms(pairs, values, sizes / 2, sizes),
            weights,
            bounds=bounds,
            spread=spread,
            resamples=self.resamples,
            confidence=self.confidence,
        )


def alpha_terms(read: LongLabels, weights: Floats, level: Level | Distance) -> tuple[Floats, Floats]:
    """Derivatives of alpha: by coincidences, (n_values, n_values), and by the labels of each value, (n_values,).

    Parameters
    ----------
    read : LongLabels
        The labels of items with two or more.
    weights : ndarray of shape (n_items,)

    References
    ----------
    K. Krippendorff, "Content Analysis", 4th ed., 2018, ch. 12: alpha as a function of coincidences and margins.
    """
    each = (read.item, read.code)
    counts = sparse.csr_array((np.ones(len(read.item)), each), shape=(read.n_items, len(read.values)))
    share = weights / np.maximum(np.asarray(counts.sum(axis=1)) - 1, 1)
    coincidence = np.asarray((counts.T @ sparse.diags_array(share) @ counts).todense())
    np.fill_diagonal(coincidence, 0.0)
    margins = np.asarray(counts.T @ weights)
    total, chance = float(margins.sum()), np.outer(margins, margins)
    middle = np.cumsum(margins) - margins / 2
    gap = np.subtract.outer(middle, middle)
    values = read.values
    distance = gap**2 if level == "ordinal" else _distance(values[:, np.newaxis], values, level)
    distance = np.where(np.eye(len(values), dtype=bool), 0.0, distance)
    observed, expected = (float((each * distance).sum()) / 2 for each in (coincidence, chance))
    by_expected, by_observed = distance @ margins, np.zeros(len(values))
    if level == "ordinal":
        # A label moves the middles of the values above its own by one, and of its own by a half.
        for sums, pulled in ((by_expected, chance), (by_observed, coincidence)):
            pull = (2 * gap * pulled).sum(axis=1)
            sums += pull.sum() - np.cumsum(pull) + pull / 2
    scale = (total - 1) / expected
    of_values = scale * (observed / expected * by_expected - by_observed) - observed / expected
    return -scale * distance, of_values


def _of_the_package(per_item: Integers, values: Floats, level: Level) -> float:
    return float(
        krippendorff.alpha(value_counts=per_item, value_domain=values.tolist(), level_of_measurement=level)
    )


def _of_totals(
    counts: Integers, values: Floats, level: Level | Distance
) -> tuple[Floats, Callable[[Floats], Floats]]:
    """What each item adds to the coincidences, (n_items, k), and alpha as a function of the totals, (m, k) to (m,).

    An item with counts c of m labels adds ``c_a c_b / (m - 1)`` to the coincidence of a and b, hence c to the
    margins. Only pairs of different values disagree, so the diagonal is never needed.
    """
    weight = 1.0 / np.maximum(counts.sum(axis=1) - 1, 1)
    first, second = np.triu_indices(len(values), k=1)
    if level != "ordinal":
        distance = _distance(values[first], values[second], level)
        # Fixed distances: the disagreement of an item is one number, whatever the number of values.
        observed = np.zeros(len(counts))
        for a, b, d in zip(first, second, distance, strict=True):
            observed += counts[:, a] * counts[:, b] * d
        return (
            np.column_stack([observed * weight, counts]),
            lambda totals: _alpha(totals[:, 0], totals[:, 1:], first, second, distance),
        )

    def ordinal(totals: Floats) -> Floats:
        parts = []
        for start in range(0, len(totals), _CHUNK):
            coincidences, margins = np.split(totals[start : start + _CHUNK], [len(first)], axis=1)
            # Ordinal distance: how many labels lie between the two, each end counted half.
            middle = np.cumsum(margins, axis=1) - margins / 2
            distance = (middle[:, second] - middle[:, first]) ** 2
            parts.append(_alpha((coincidences * distance).sum(axis=1), margins, first, second, distance))
        return np.concatenate(parts)

    return np.column_stack([counts[:, first] * counts[:, second] * weight[:, np.newaxis], counts]), ordinal


def _range(margins: Floats, values: Floats, level: Level | Distance) -> tuple[float, float]:
    """What alpha could be had the labels disagreed wholly, and 1: given how often each value was used.

    It makes alpha a share of the worst disagreement, so that its interval is Wilson's where that is near 0 or
    there are few clusters. The percentiles alone say "1 to 1" of ten items without a disagreement.
    """
    first, second = np.triu_indices(len(values), k=1)
    if level == "ordinal":
        middle = np.cumsum(margins) - margins / 2
        distance = (middle[second] - middle[first]) ** 2
    else:
        distance = _distance(values[first], values[second], level)
    total = margins.sum()
    expected = 2 * float((margins[first] * margins[second] * distance).sum()) / (total * (total - 1))
    return 1 - float(distance.max()) / expected, 1.0


def _alpha(observed: Floats, margins: Floats, first: Integers, second: Integers, distance: Floats) -> Floats:
    expected = (margins[:, first] * margins[:, second] * distance).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Both sums run over unordered pairs, which cancels.
        result: Floats = 1 - (margins.sum(axis=1) - 1) * observed / expected
    return result


def _distance(one: Floats, two: Floats, level: Level | Distance) -> Floats:
    if callable(level):
        return level(one, two)
    if level == "nominal":
        return np.ones(len(one))
    if level == "interval":
        return (one - two) ** 2
    with np.errstate(invalid="ignore"):
        return np.where(one + two == 0, 0.0, ((one - two) / (one + two)) ** 2)

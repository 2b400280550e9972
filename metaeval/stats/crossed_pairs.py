"""Agreement of pairs of labels, raw or beyond chance, for other items *and* people like these.

A coefficient of agreement is a function of two kinds of sums: of what pairs of an item's labels are apart, and of how
often each value was given. So a label moves it, to the first order, by what its own pairs and its own value do.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.stats.arrays import Booleans, Floats, Integers, check_option
from metaeval.stats.counts import LabelCounts, LongLabels, count_labels, read_labels
from metaeval.stats.crossed import (
    METHOD,
    PEOPLE,
    CrossedScores,
    Crossing,
    People,
    people_variance,
    two_way_ends,
)
from metaeval.stats.crossed_sums import (
    CrossedSums,
    curved,
    mean_effects,
    mean_with_others,
    of_others_unknown,
    pair_effects,
)
from metaeval.stats.estimate import Estimate
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import Spread, variance_freedom

# Distances between all values are held at once.
MOST_DISTINCT = 1_000
TOO_MANY = "not known for others: {n} distinct values are too many"
# Ratings such as 1.1 and 0.1 are a distance of 1 apart, whatever their last binary digit says.
_GRAIN = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PairTerms:
    """How far a coefficient moves with its labels: its derivatives.

    Attributes
    ----------
    pairs : ndarray of shape (n_values, n_values)
        By the mean over the pairs of labels of an item, for each pair of values.
    values : ndarray of shape (n_values,)
        By the mean over the labels of an item, for each value.
    of_pairs, of_values : ndarray of shape (n_items,)
        How often each of these means of an item is counted; 0 where it is not.
    """

    pairs: Floats
    values: Floats
    of_pairs: Floats
    of_values: Floats


def labels_for(labels: Any, people: People) -> tuple[LongLabels | None, LabelCounts]:
    """(the labels with who gave them, where other people are to be spoken of; the labels as counts).

    Labels that are read already are taken as they are.
    """
    check_option(people, PEOPLE, "people")
    if people == "fixed" and not isinstance(labels, LongLabels):
        return None, count_labels(labels)
    read = labels if isinstance(labels, LongLabels) else read_labels(labels)
    counts = LabelCounts(read.values, np.arange(read.n_items), None, read.item, read.code)
    return (read if people == "sampled" else None), counts


def labels_of(read: LongLabels, items: Booleans) -> LongLabels:
    """Those of some items, with the values that occur there."""
    kept = items[read.item]
    used, code = np.unique(read.code[kept], return_inverse=True)
    return LongLabels(
        read.item[kept], read.annotator[kept], code, read.n_items, read.annotators, read.values[used]
    )


def with_values(read: LongLabels, values: Floats) -> LongLabels:
    """The labels with one of these values, ascending, in terms of these."""
    place = np.searchsorted(values, read.values)
    known = values[np.minimum(place, len(values) - 1)] == read.values
    kept = known[read.code]
    return LongLabels(
        read.item[kept], read.annotator[kept], place[read.code[kept]], read.n_items, read.annotators, values
    )


def pair_sums(read: LongLabels, crossing: Crossing, tolerance: float = 0.0) -> CrossedSums:
    """Share of the pairs of an item's labels that are within a distance, and what each label does to it.

    Examples
    --------
    >>> read = LongLabels(np.array([0, 0, 0]), np.arange(3), np.array([0, 0, 1]), 1, np.arange(3), np.array([1.0, 2.0]))
    >>> pair_sums(read, Crossing.of(read.item, read.annotator)).mean.round(3).tolist()
    [0.333]
    """
    value = read.values[read.code]

    def near(one: Integers, two: Integers) -> Floats:
        return (np.abs(value[one] - value[two]) <= tolerance + _GRAIN).astype(np.float64)

    mean, effects = pair_effects(mean_with_others(read.item, near), crossing, read.n_items)
    known = ~np.isnan(mean)
    return CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), effects)


def coefficient_of_others(
    fixed: Estimate,
    resampled: Floats,
    read: LongLabels,
    terms: PairTerms,
    weights: Floats,
    *,
    bounds: tuple[float, float],
    spread: Spread,
    resamples: Resamples,
    confidence: float,
) -> Estimate:
    """A coefficient with an interval for other items *and* people like these.

    Parameters
    ----------
    fixed : Estimate
        The same coefficient for these people on other items.
    resampled : ndarray of shape (n_resamples,)
        Its values in resamples of the items.
    read : LongLabels
        The labels.
    terms : PairTerms
        How far it moves with them.
    weights : ndarray of shape (n_items,)
        What each item weighs in its sums, 0 where it takes no part.
    bounds, spread, resamples, confidence
        As of `metaeval.stats.intervals.finish`.

    Returns
    -------
    Estimate
        As of `metaeval.stats.crossed.crossed_estimate`.
    """
    finite = resampled[np.isfinite(resampled)]
    if not fixed.defined or fixed.method == "none" or not len(finite) or not fixed.n_clusters:
        return fixed
    item, code = read.item, read.code
    crossing = Crossing.of(item, read.annotator)
    apart = mean_with_others(item, lambda one, two: terms.pairs[code[one], code[two]])
    effects = terms.of_pairs[item] * pair_effects(apart, crossing, read.n_items)[1]
    effects += terms.of_values[item] * mean_effects(terms.values[code], crossing, read.n_items)[1]
    # Each item weighs as much as its labels are counted.
    scale = np.maximum(terms.of_values, terms.of_pairs)
    counted = weights * scale
    effects = np.where(counted[item] > 0, effects * counted.sum() / np.maximum(scale[item], 1e-300), 0.0)
    people = people_variance(CrossedScores(counted, effects), crossing, counted, resamples)
    if people.reason is not None:
        return of_others_unknown(fixed, people.reason)
    width = bounds[1] - bounds[0]
    n = fixed.n_clusters
    of_items = float(finite.var()) * n / max(1, n - 1)
    variance, freedom = curved(people).total(of_items, variance_freedom(spread.carriers, n))
    share = min(1.0, max(0.0, (fixed.value - bounds[0]) / width))
    low, high = two_way_ends(share, variance / width**2, freedom, n, people, confidence)
    return Estimate(
        fixed.value,
        min(float(bounds[0] + width * low), fixed.low),
        max(float(bounds[0] + width * high), fixed.high),
        fixed.n,
        n,
        METHOD,
    )

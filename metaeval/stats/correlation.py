"""Correlations over items: of a judge with people's mean rating, and of one person with the mean of the others.

Their intervals are on Fisher's scale, where their spread does not depend on their size.
"""

import math
from collections.abc import Iterator
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, as_rows, check_option
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, PairedDifference, undefined
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import (
    ONE_CLUSTER,
    Sampling,
    clusters_counted,
    confidence_ahead,
    item_weights,
    resolve,
    why_none,
    wilson_interval,
)
from metaeval.stats.options import as_count
from metaeval.stats.resampling import Resamples
from metaeval.stats.weighted_correlation import METHODS, Columns, resampled_correlations, weighted_correlation
from metaeval.stats.weighted_correlation import Method as Method

# 1 - r^2 below this is a correlation of 1.
_PERFECT = 1e-12
_NO_INTERVAL = "no interval: undefined in every resample"


def fisher_interval(
    value: float, resampled: Floats, *, n_clusters: int, confidence: float = 0.95
) -> tuple[float, float, str]:
    """(low, high, method) of a correlation, from its values in the resamples.

    Fisher's z of the value, give or take Student's quantile (one degree of freedom less than clusters) times the
    standard deviation over the resamples, divided by 1 - r^2: the slope of z is one over that. Resampled
    correlations near 1 are skewed and most lie lower, where z is less steep, so 1 - r^2 is that of the value or the
    mean of the resamples, whichever is larger. (The standard deviation of the resampled z would be infinite where
    one of them is 1.) Resamples without a value are left out. A correlation of 1 or -1, or one that no resample
    changes, has Wilson's interval of as many successes as there are clusters, so that it is never a point.

    References
    ----------
    R. A. Fisher, "On the 'probable error' of a coefficient of correlation deduced from a small sample", Metron 1
    (1921); A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 5.2.

    Examples
    --------
    >>> [round(end, 3) for end in fisher_interval(0.5, np.array([0.4, 0.6] * 50), n_clusters=50)[:2]]
    [0.272, 0.675]
    >>> skewed = np.repeat([0.999, 0.99, 0.9], 100)
    >>> [round(end, 3) for end in fisher_interval(0.998, skewed, n_clusters=50)[:2]]
    [0.974, 1.0]
    """
    if len(resampled) == 0:
        return math.nan, math.nan, "none"
    finite = resampled[np.isfinite(resampled)]
    if not len(finite):
        return math.nan, math.nan, "none"
    spread, unexplained = float(finite.std()), 1 - value**2
    if n_clusters <= 1 or unexplained < _PERFECT or spread < _PERFECT:
        ends = wilson_interval((1 + value) / 2, max(n_clusters, 1), confidence)
        return 2 * ends[0] - 1, 2 * ends[1] - 1, "wilson"
    unexplained = max(unexplained, float(np.mean(1 - finite**2)))
    error = spread * math.sqrt(n_clusters / (n_clusters - 1)) / unexplained
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    centre = math.atanh(value)
    return math.tanh(centre - reach), math.tanh(centre + reach), "fisher"


def finish_correlation(
    value: float, resampled: Floats, counted: Booleans, resamples: Resamples, confidence: float
) -> Estimate:
    """The estimate of a correlation that is defined; ``counted`` says which items it is computed from."""
    n, n_clusters = int(np.count_nonzero(counted)), clusters_counted(counted, resamples)
    low, high, method = fisher_interval(value, resampled, n_clusters=n_clusters, confidence=confidence)
    reason = _NO_INTERVAL if math.isnan(low) and len(resampled) else None
    if reason is not None:
        warn(reason)
    return Estimate(value, low, high, n, n_clusters, method, reason)


# Two points lie on a line, whatever they are.
FEWEST = 3
# Items that a person must share with others: a correlation over fewer is mostly noise.
FEWEST_SHARED = 5
_DIGITS = 12


@aligned()
def correlation(
    first: ArrayLike, second: ArrayLike, *, method: Method = "pearson", **options: Unpack[Sampling]
) -> Estimate:
    """Pearson's, Spearman's or Kendall's correlation over items, NaN in either taking no part.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
    method : {"pearson", "spearman", "kendall"}
        Spearman's is Pearson's of average ranks; Kendall's is tau-b, which allows for ties. Ranks are taken anew,
        and pairs counted anew, in every resample.
    **options
        See `metaeval.stats.intervals.Sampling`. With ``weights`` the correlation is that of the items picked from:
        an item counts ``w`` times, and a pair of items the product of their weights.

    Returns
    -------
    Estimate
        In [-1, 1]; NaN with fewer than three items, or where either is one value.

    Notes
    -----
    Pearson's is resampled through totals, in time that grows linearly. The two of ranks are too where there are few
    different pairs of values (two ratings on five points); of continuous values they need the order in every
    resample: 2,000 items and 1,000 resamples take less than a second each.

    References
    ----------
    C. Spearman, "The proof and measurement of association between two things", Am. J. Psychol. 15 (1904);
    M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).

    Examples
    --------
    >>> round(correlation([1, 2, 3, 4], [1, 2, 4, 3], method="spearman").value, 6)
    0.8
    """
    columns, resamples, confidence = _columns(first, second, method, options)
    counted = columns.weights > 0
    if (reason := why_not(columns.first[counted], columns.second[counted])) is not None:
        return undefined(why_none(reason, options.get("weights")))
    value = weighted_correlation(columns, method)
    resampled = resampled_correlations([columns], resamples, method)[:, 0]
    return finish_correlation(value, resampled, counted, resamples, confidence)


@aligned()
def correlation_difference(
    first: ArrayLike,
    second: ArrayLike,
    target: ArrayLike,
    *,
    method: Method = "pearson",
    **options: Unpack[Sampling],
) -> PairedDifference:
    """How much better one judge correlates with the target than another: on the same items and resamples.

    Parameters
    ----------
    first, second, target : array_like of shape (n_items,)
        The two judges and what they are compared with; an item with NaN in any takes no part.
    method : {"pearson", "spearman", "kendall"}
        As of `correlation`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    PairedDifference
        First minus second, in [-2, 2]. The interval is Student's with the standard deviation over the resamples.

    Notes
    -----
    An own combination: both correlations are taken in each resample of the clusters, so what the two judges share
    cancels; the standard deviation of the differences makes the interval.

    Examples
    --------
    >>> people = np.arange(40.0)
    >>> found = correlation_difference(people, people % 7, people, n_resamples=500)
    >>> found.value > 0.5, found.low > 0
    (True, True)
    """
    columns, resamples, confidence = _columns(first, as_items(target, "target"), method, options)
    other = as_items(second, "second", len(columns.first))
    columns = columns._replace(weights=np.where(np.isnan(other), 0.0, columns.weights))
    rival = columns._replace(first=other)
    counted = columns.weights > 0
    reason = why_not(columns.first[counted], columns.second[counted]) or why_not(
        other[counted], columns.second[counted]
    )
    if reason is not None:
        nothing = undefined(why_none(reason, options.get("weights")))
        return PairedDifference(math.nan, math.nan, math.nan, n=0, reason=nothing.reason)
    n = int(counted.sum())
    value = weighted_correlation(columns, method) - weighted_correlation(rival, method)
    both = resampled_correlations([columns, rival], resamples, method)
    # Equal judges differ in the last bits of their sums, and are equal all the same.
    gaps = np.round(both[:, 0] - both[:, 1], _DIGITS)
    n_clusters = clusters_counted(counted, resamples)
    finite = gaps[np.isfinite(gaps)]
    if not len(finite):
        return PairedDifference(value, math.nan, math.nan, n, n_clusters)
    if n_clusters < 2:
        warn(ONE_CLUSTER)
        return PairedDifference(value, math.nan, math.nan, n, 1, reason=ONE_CLUSTER)
    error = float(finite.std()) * math.sqrt(n_clusters / (n_clusters - 1))
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    better = confidence_ahead(value, error, n_clusters - 1)
    ends = max(-2.0, value - reach), min(2.0, value + reach)
    return PairedDifference(value, *ends, n, n_clusters, "t", None, better)


@aligned()
def person_correlation(
    labels: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    n_items: int,
    method: Method = "pearson",
    fewest: int = FEWEST_SHARED,
    **options: Unpack[Sampling],
) -> Estimate:
    """Mean correlation of one person's ratings with the mean of the others' ratings of the same items.

    What a judge's correlation with people's mean stands beside. A person is compared with a mean of one rating
    less than a judge is, so the figure is a little lower than that of a judge that is as good.

    Parameters
    ----------
    labels : tuple of three array_like of shape (n_labels,)
        Row of the item (0 to n_items - 1), the person, the rating (NaN: none).
    n_items : int
    method : {"pearson", "spearman", "kendall"}
    fewest : int
        Items that a person has to share with others to count.
    **options
        See `metaeval.stats.intervals.Sampling`. With ``weights`` an item counts as often in each person's correlation.

    Returns
    -------
    Estimate
        In [-1, 1]; ``n`` counts the items that the people who count share with others. NaN where nobody counts.

    Notes
    -----
    An own figure, on the pattern of leave-one-out agreement: each person's ratings against the mean of the others',
    over the items of that person; then the mean over people.

    Examples
    --------
    >>> items, people = [0, 1, 2, 3, 4] * 2, [0] * 5 + [1] * 5
    >>> round(person_correlation((items, people, [1, 2, 3, 4, 5, 1, 2, 4, 3, 5]), n_items=5).value, 6)
    0.9
    """
    check_option(method, METHODS, "method")
    n_items = as_count(n_items, "n_items")
    resamples, mask, confidence = resolve(n_items, options, weighted=True)
    given = item_weights(n_items, options)
    fewest = max(as_count(fewest, "fewest", 1), FEWEST)
    if given is not None:  # an item of no weight is not shared, so that nobody counts for such items alone
        mask = given > 0 if mask is None else mask & (given > 0)
    people = list(_people(*_long(labels, n_items), mask, fewest))
    if not people:
        reason = f"nobody shares {fewest} items with others, rated differently"
        return undefined(why_none(reason, options.get("weights")))
    asked = [_on_all(n_items, *person) for person in people]
    if given is not None:
        asked = [columns._replace(weights=columns.weights * given) for columns in asked]
    value = float(np.mean([weighted_correlation(columns, method) for columns in asked]))
    resampled = mean_of_known(resampled_correlations(asked, resamples, method).T)
    counted = np.zeros(n_items, dtype=np.bool_)
    for rows, _, _ in people:
        counted[rows] = True
    return finish_correlation(value, resampled, counted, resamples, confidence)


def mean_of_others(item: Integers, value: Floats, n_items: int) -> Floats:
    """For each rating, the mean of the item's other ratings; NaN where there is none, or no rating.

    Examples
    --------
    >>> mean_of_others(np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 6.0, 5.0]), 2).tolist()
    [4.0, 3.5, 1.5, nan]
    """
    known = ~np.isnan(value)
    total = np.bincount(item[known], weights=value[known], minlength=n_items)[item]
    count = np.bincount(item[known], minlength=n_items)[item]
    return np.where(known & (count > 1), (total - value) / np.maximum(count - 1, 1), np.nan)


def _columns(
    first: ArrayLike, second: ArrayLike, method: str, options: Sampling
) -> tuple[Columns, Resamples, float]:
    check_option(method, METHODS, "method")
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    resamples, mask, confidence = resolve(len(one), options, weighted=True)
    counted = ~np.isnan(one) & ~np.isnan(two)
    if mask is not None:
        counted &= mask
    weights = item_weights(len(one), options)
    weights = np.ones(len(one)) if weights is None else weights
    return Columns(one, two, np.where(counted, weights, 0.0)), resamples, confidence


def why_not(one: Floats, two: Floats, fewest: int = FEWEST) -> str | None:
    """Why there is no correlation of these two columns; None where there is one.

    Examples
    --------
    >>> why_not(np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    'the ratings are all the same'
    """
    if len(one) < fewest:
        return f"fewer than {fewest} items"
    if is_flat(one):
        return "the ratings are all the same"
    return "what they are compared with is all the same" if is_flat(two) else None


def is_flat(values: Floats) -> bool:
    """Whether all values are the same but for rounding errors."""
    return float(np.ptp(values)) <= 10.0**-_DIGITS * float(np.abs(values).max())


def _long(labels: tuple[ArrayLike, ArrayLike, ArrayLike], n_items: int) -> tuple[Integers, Integers, Floats]:
    if not isinstance(labels, tuple | list) or len(labels) != 3:
        raise InvalidInputError("labels: expected a tuple (item, person, rating)")
    value = as_items(labels[2], "labels (ratings)")
    item = as_rows(labels[0], "labels (items)", len(value))
    person = as_codes(labels[1], "labels (people)", len(value))[0]
    if len(item) and not (item.min() >= 0 and item.max() < n_items):
        raise InvalidInputError(f"labels: expected items 0 to {n_items - 1} (n_items - 1)")
    return item, person, value


def _people(
    item: Integers, person: Integers, value: Floats, mask: Booleans | None, fewest: int
) -> Iterator[tuple[Integers, Floats, Floats]]:
    """(items, own ratings, means of the others) of each person who shares enough and has a correlation."""
    others = mean_of_others(item, value, int(item.max(initial=-1)) + 1)
    counted = ~np.isnan(others)
    if mask is not None:
        counted &= mask[item]
    for one in np.unique(person[counted]):
        mine = counted & (person == one)
        if mine.sum() >= fewest and why_not(value[mine], others[mine]) is None:
            yield item[mine], value[mine], others[mine]


def _on_all(n_items: int, rows: Integers, own: Floats, others: Floats) -> Columns:
    """One person's columns over all items; someone who rated an item twice is on it with the last rating."""
    first, second, weights = np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)
    first[rows], second[rows], weights[rows] = own, others, 1.0
    return Columns(first, second, weights)


def mean_of_known(values: Floats) -> Floats:
    """Mean over rows, NaN taking no part; NaN where a column has nothing else.

    Examples
    --------
    >>> mean_of_known(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means

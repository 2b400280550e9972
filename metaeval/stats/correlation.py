"""Correlations over items: of a judge with people's mean rating, and of one person with the mean of the others."""

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats, as_items, check_option
from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.estimate import Estimate, PairedDifference, undefined
from metaeval.stats.intervals import ONE_CLUSTER, Sampling, clusters_counted, finish, resolve
from metaeval.stats.resampling import Resamples

Method: TypeAlias = Literal["pearson", "spearman"]

_METHODS = ("pearson", "spearman")
# Two points lie on a line, whatever they are.
FEWEST = 3
# Items that a person must share with others: a correlation over fewer is mostly noise.
FEWEST_SHARED = 5
# A variance below this share of the mean square is a rounding error.
_GRAIN = 1e-12
_DIGITS = 12


def correlation(
    first: ArrayLike, second: ArrayLike, *, method: Method = "pearson", **options: Unpack[Sampling]
) -> Estimate:
    """Pearson's or Spearman's correlation over items, NaN in either taking no part.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
    method : {"pearson", "spearman"}
        Spearman's is Pearson's of average ranks, and ranks are taken anew in every resample.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; NaN with fewer than three items, or where either is one value.

    References
    ----------
    C. Spearman, "The proof and measurement of association between two things", Am. J. Psychol. 15 (1904).

    Examples
    --------
    >>> round(correlation([1, 2, 3, 4], [1, 2, 4, 3], method="spearman").value, 6)
    0.8
    """
    one, two, resamples, counted, confidence = _columns(first, second, method, options)
    if (reason := _why_not(one[counted], two[counted])) is not None:
        return undefined(reason)
    value = float(_correlations(one[counted], two[counted], np.ones((1, int(counted.sum()))), method)[0])
    resampled = _resampled(one, two, counted, resamples, method)
    return finish(value, resampled, counted, resamples, confidence, (-1.0, 1.0))


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

    Returns
    -------
    PairedDifference
        First minus second, in [-2, 2]. The interval is Student's with the standard deviation over the resamples.

    Examples
    --------
    >>> people = np.arange(40.0)
    >>> found = correlation_difference(people, people % 7, people, n_resamples=500)
    >>> found.value > 0.5, found.low > 0
    (True, True)
    """
    one, two, resamples, counted, confidence = _columns(first, target, method, options)
    other = as_items(second, "second", len(one))
    counted &= ~np.isnan(other)
    reason = _why_not(one[counted], two[counted]) or _why_not(other[counted], two[counted])
    if reason is not None:
        nothing = undefined(reason)
        return PairedDifference(math.nan, math.nan, math.nan, n=0, reason=nothing.reason)
    n, ones = int(counted.sum()), np.ones((1, int(counted.sum())))
    value = float(
        _correlations(one[counted], two[counted], ones, method)[0]
        - _correlations(other[counted], two[counted], ones, method)[0]
    )
    gaps = _resampled(one, two, counted, resamples, method)
    gaps = gaps - _resampled(other, two, counted, resamples, method)
    n_clusters = clusters_counted(counted, resamples)
    finite = gaps[np.isfinite(gaps)]
    if not len(finite):
        return PairedDifference(value, math.nan, math.nan, n, n_clusters)
    better = float(np.mean(finite > 0) + np.mean(finite == 0) / 2)
    if n_clusters < 2:
        warnings.warn(ONE_CLUSTER, StatisticsWarning, stacklevel=2)
        return PairedDifference(value, math.nan, math.nan, n, 1, reason=ONE_CLUSTER, share_better=better)
    error = float(finite.std()) * math.sqrt(n_clusters / (n_clusters - 1))
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    ends = max(-2.0, value - reach), min(2.0, value + reach)
    return PairedDifference(value, *ends, n, n_clusters, "t", None, better)


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
    method : {"pearson", "spearman"}
    fewest : int
        Items that a person has to share with others to count.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; ``n`` counts the items that the people who count share with others. NaN where nobody counts.

    Examples
    --------
    >>> items, people = [0, 1, 2, 3, 4] * 2, [0] * 5 + [1] * 5
    >>> round(person_correlation((items, people, [1, 2, 3, 4, 5, 1, 2, 4, 3, 5]), n_items=5).value, 6)
    0.9
    """
    check_option(method, _METHODS, "method")
    resamples, mask, confidence = resolve(n_items, options)
    people = list(_people(*_long(labels, n_items), mask, max(fewest, FEWEST)))
    if not people:
        return undefined(f"nobody shares {max(fewest, FEWEST)} items with others, rated differently")
    value = float(np.mean([_plain(own, others, method) for _, own, others in people]))
    parts = [
        np.stack([_correlations(own, others, draws[:, rows], method) for rows, own, others in people])
        for draws in resamples.item_draws()
    ]
    resampled = _mean_of_known(np.concatenate(parts, axis=1)) if parts else np.zeros(0)
    counted = np.zeros(n_items, dtype=np.bool_)
    for rows, _, _ in people:
        counted[rows] = True
    return finish(value, resampled, counted, resamples, confidence, (-1.0, 1.0))


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
) -> tuple[Floats, Floats, Resamples, Booleans, float]:
    check_option(method, _METHODS, "method")
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    resamples, mask, confidence = resolve(len(one), options)
    counted = ~np.isnan(one) & ~np.isnan(two)
    return one, two, resamples, counted if mask is None else counted & mask, confidence


def _why_not(one: Floats, two: Floats) -> str | None:
    """Why there is no correlation of these."""
    if len(one) < FEWEST:
        return f"fewer than {FEWEST} items"
    if _is_flat(one):
        return "the ratings are all the same"
    return "what they are compared with is all the same" if _is_flat(two) else None


def _is_flat(values: Floats) -> bool:
    return float(np.ptp(values)) <= 10.0**-_DIGITS * float(np.abs(values).max())


def _plain(one: Floats, two: Floats, method: Method) -> float:
    return float(_correlations(one, two, np.ones((1, len(one))), method)[0])


def _resampled(one: Floats, two: Floats, counted: Booleans, resamples: Resamples, method: Method) -> Floats:
    parts = [
        _correlations(one[counted], two[counted], draws[:, counted], method)
        for draws in resamples.item_draws()
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _correlations(one: Floats, two: Floats, weights: Floats, method: Method) -> Floats:
    """Correlations under each row of weights, (n_rows, n_items): NaN where a side has no variance."""
    one, two, weights = _collapsed(one, two, weights)
    if method == "spearman":
        return _of_columns(_weighted_ranks(one, weights), _weighted_ranks(two, weights), weights)
    # Centred, so that the sums of squares lose no digits.
    a, b = one - one.mean(), two - two.mean()
    sums = weights @ np.stack([np.ones_like(a), a, b, a * a, b * b, a * b], axis=1)
    whole, first, second, squares_a, squares_b, products = sums.T
    whole = np.maximum(whole, 1.0)
    return _ratio(
        products - first * second / whole,
        squares_a - first * first / whole,
        squares_b - second * second / whole,
        squares_a,
        squares_b,
    )


def _collapsed(one: Floats, two: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Items with the same two values as one item with their weights: ratings have few values."""
    cells, code = np.unique(np.stack([one, two], axis=1), axis=0, return_inverse=True)
    code = code.reshape(-1)
    if len(cells) * 2 > len(one):
        return one, two, weights
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(cells)))
    return cells[:, 0], cells[:, 1], np.add.reduceat(weights[:, order], starts, axis=1)


def _of_columns(one: Floats, two: Floats, weights: Floats) -> Floats:
    """Correlations of columns that differ from row to row."""
    whole = np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
    a = one - (weights * one).sum(axis=1, keepdims=True) / whole
    b = two - (weights * two).sum(axis=1, keepdims=True) / whole
    of_a, of_b = weights * a, weights * b
    return _ratio(
        np.einsum("ij,ij->i", of_a, b),
        np.einsum("ij,ij->i", of_a, a),
        np.einsum("ij,ij->i", of_b, b),
        np.einsum("ij,ij,ij->i", weights, one, one),
        np.einsum("ij,ij,ij->i", weights, two, two),
    )


def _ratio(products: Floats, squares_a: Floats, squares_b: Floats, size_a: Floats, size_b: Floats) -> Floats:
    flat = (squares_a <= _GRAIN * size_a) | (squares_b <= _GRAIN * size_b)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(flat, np.nan, products / np.sqrt(squares_a * squares_b))
    found: Floats = np.clip(r, -1.0, 1.0)
    return found


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Average ranks when item *i* is there ``weights[:, i]`` times: (n_rows, n_items), up to a constant."""
    # Means of the same ratings, added in another order, differ in their last bits and are equal all the same.
    scale = float(np.abs(values).max()) or 1.0
    unique, code = np.unique(np.round(values / scale, _DIGITS), return_inverse=True)
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(unique)))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middle: Floats = (np.cumsum(sizes, axis=1) - sizes / 2)[:, code]
    return middle


def _long(labels: tuple[ArrayLike, ArrayLike, ArrayLike], n_items: int) -> tuple[Integers, Integers, Floats]:
    item, person = (np.asarray(column, dtype=np.intp) for column in labels[:2])
    value = as_floats(labels[2], "labels")
    if not item.shape == person.shape == value.shape or item.ndim != 1:
        raise InvalidInputError("labels: expected three columns of the same length")
    if len(item) and not (item.min() >= 0 and item.max() < n_items):
        raise InvalidInputError(f"labels: expected items 0 to {n_items - 1}")
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
        if mine.sum() >= fewest and _why_not(value[mine], others[mine]) is None:
            yield item[mine], value[mine], others[mine]


def _mean_of_known(values: Floats) -> Floats:
    """Mean over rows, NaN taking no part; NaN where a column has nothing else."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def pearson_of(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """Pearson's correlation of two short lists: NaN where either is one value, or they are shorter than two.

    Examples
    --------
    >>> pearson_of([1, 2, 3], [2, 4, 6]), pearson_of([1, 1, 1], [1, 2, 3])
    (1.0, nan)
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(one) < 2 or one.min() == one.max() or two.min() == two.max():
        return math.nan
    a, b = one - one.mean(), two - two.mean()
    scale = math.sqrt(float(a @ a) * float(b @ b))
    return max(-1.0, min(1.0, float(a @ b) / scale)) if scale else math.nan

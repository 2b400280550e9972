"""Pearson's, Spearman's and Kendall's correlation of weighted items, and all of them in every resample.

A resample says how often each item is drawn, so a correlation in a resample is a correlation of weighted items.
Pearson's is a function of six totals and is resampled through these; the other two need the order anew each time.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.kendall import kendall_sums
from metaeval.stats.resampling import Resamples, distinct_columns

Method: TypeAlias = Literal["pearson", "spearman", "kendall"]

METHODS = ("pearson", "spearman", "kendall")
# A variance below this share of the mean square is a rounding error.
_GRAIN = 1e-12
_DIGITS = 12
# Pairs of values, over all correlations asked for at once, whose draws are counted instead of those of the items.
_MOST_CELLS = 64


class Columns(NamedTuple):
    """Two columns to correlate over the items that have a weight above 0; what the others hold is not read."""

    first: Floats
    second: Floats
    weights: Floats


def weighted_correlation(columns: Columns, method: Method) -> float:
    """The correlation of the items themselves; NaN where a side is one value.

    Examples
    --------
    >>> twice = Columns(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    >>> round(weighted_correlation(twice, "pearson"), 6)
    0.426401
    """
    return float(correlation_of(weighted_sums(columns, method)))


def weighted_sums(columns: Columns, method: Method) -> Floats:
    """`sums_of_products` of the items themselves: shape (3,)."""
    counted = columns.weights > 0
    first, second = columns.first[counted], columns.second[counted]
    sums: Floats = sums_of_products(first, second, columns.weights[np.newaxis, counted], method)[0]
    return sums


def sums_of_products(first: Floats, second: Floats, weights: Floats, method: Method) -> Floats:
    """What a correlation is made of: (n_rows, 3), products of the two sides and squares of either.

    Of deviations from the mean (Pearson), of deviations of ranks (Spearman), of signs of differences over pairs
    (Kendall). The correlation is the first over the root of the other two; squares are 0 where a side is one value.
    Sums of groups add up, which makes a correlation within groups.
    """
    if method == "pearson":
        columns, units = _products(first, second)
        return _of_sums(weights @ columns) * units
    first, second, weights = _collapsed(first, second, weights)
    if method == "kendall":
        return kendall_sums(codes_in_order(first), codes_in_order(second), weights)
    return _of_ranks(_weighted_ranks(first, weights), _weighted_ranks(second, weights), weights)


def correlation_of(sums: Floats) -> Floats:
    """The correlation from its sums, (..., 3) to (...): NaN where a side is one value."""
    products, squares_a, squares_b = sums[..., 0], sums[..., 1], sums[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where((squares_a > 0) & (squares_b > 0), products / np.sqrt(squares_a * squares_b), np.nan)
    found: Floats = np.clip(r, -1.0, 1.0)
    return found


def resampled_correlations(asked: Sequence[Columns], resamples: Resamples, method: Method) -> Floats:
    """Each correlation in each resample, (n_resamples, n_asked), all on the same draws."""
    return correlation_of(resampled_sums(asked, resamples, method))


def resampled_sums(asked: Sequence[Columns], resamples: Resamples, method: Method) -> Floats:
    """`sums_of_products` of each correlation in each resample: (n_resamples, n_asked, 3)."""
    if not resamples.n_resamples or not asked:
        return np.zeros((resamples.n_resamples, len(asked), 3))
    if method != "pearson":
        return _by_cells(asked, resamples, method)
    products, units = zip(*map(_all_products, asked), strict=True)
    # Of twenty judges each is in nineteen correlations.
    columns, places = distinct_columns(products)
    totals = resamples.totals(columns)
    parts = [_of_sums(totals[:, own]) * unit for own, unit in zip(places, units, strict=True)]
    return np.stack(parts, axis=1)


def codes_in_order(values: Floats) -> Integers:
    """Codes 0 to k - 1 in the order of the values; values that differ in their last bits are equal.

    Means of the same ratings, added in another order, differ in their last bits and are equal all the same.
    """
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    return np.unique(np.round(values / scale, _DIGITS), return_inverse=True)[1].reshape(-1)


def _products(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Columns whose weighted sums make up Pearson's correlation: 1, a, b, a², b², ab; and the units of their sums.

    Centred, so that the sums of squares lose no digits; and of unit spread, so that what counts as the same total
    (`group_rows`) does not depend on the unit of the ratings.
    """
    a, b = first - first.mean(), second - second.mean()
    unit_a, unit_b = (float(np.sqrt(np.mean(side**2))) or 1.0 for side in (a, b))
    a, b = a / unit_a, b / unit_b
    units = np.array([unit_a * unit_b, unit_a**2, unit_b**2])
    return np.stack([np.ones_like(a), a, b, a * a, b * b, a * b], axis=1), units


def _all_products(columns: Columns) -> tuple[Floats, Floats]:
    counted = columns.weights > 0
    found = np.zeros((len(counted), 6))
    if not counted.any():
        return found, np.ones(3)
    products, units = _products(columns.first[counted], columns.second[counted])
    found[counted] = columns.weights[counted, np.newaxis] * products
    return found, units


def _of_sums(sums: Floats) -> Floats:
    whole, first, second, squares_a, squares_b, products = sums.T
    whole = np.where(whole > 0, whole, 1.0)
    return _without_grains(
        products - first * second / whole,
        squares_a - first * first / whole,
        squares_b - second * second / whole,
        squares_a,
        squares_b,
    )


def _without_grains(
    products: Floats, squares_a: Floats, squares_b: Floats, size_a: Floats, size_b: Floats
) -> Floats:
    """Sums of deviations, with 0 for squares that are rounding errors of the sums they were taken from."""
    squares_a = np.where(squares_a > _GRAIN * size_a, squares_a, 0.0)
    squares_b = np.where(squares_b > _GRAIN * size_b, squares_b, 0.0)
    return np.stack([products, squares_a, squares_b], axis=1)


def _by_cells(asked: Sequence[Columns], resamples: Resamples, method: Method) -> Floats:
    """Ratings have few values: where the pairs of values are few, the draws of these are all one needs."""
    tables = [_cells(each) for each in asked]
    n_cells = sum(len(values) for values, _ in tables)
    if n_cells > _MOST_CELLS or 4 * n_cells > resamples.n_items:
        return _by_items(asked, resamples, method)
    indicators = np.zeros((resamples.n_items, n_cells))
    ends = np.cumsum([len(values) for values, _ in tables])
    for each, (values, codes), end in zip(asked, tables, ends, strict=True):
        counted = np.flatnonzero(each.weights > 0)
        indicators[counted, end - len(values) + codes] = each.weights[counted]
    totals = resamples.totals(indicators)
    return np.stack(
        [
            sums_of_products(values[:, 0], values[:, 1], totals[:, end - len(values) : end], method)
            for (values, _), end in zip(tables, ends, strict=True)
        ],
        axis=1,
    )


def _by_items(asked: Sequence[Columns], resamples: Resamples, method: Method) -> Floats:
    counted = [each.weights > 0 for each in asked]
    return np.concatenate(
        [
            np.stack(
                [
                    sums_of_products(
                        each.first[rows], each.second[rows], draws[:, rows] * each.weights[rows], method
                    )
                    for each, rows in zip(asked, counted, strict=True)
                ],
                axis=1,
            )
            for draws in resamples.item_draws()
        ]
    )


def _cells(columns: Columns) -> tuple[Floats, Integers]:
    """The different pairs of values, and which of them each item that counts has."""
    counted = columns.weights > 0
    first, second = columns.first[counted], columns.second[counted]
    # A look at some of the items spares most columns of continuous values a sort.
    if len(first) > 1000 and len(_distinct(first[:1000], second[:1000])[0]) > _MOST_CELLS:
        return np.stack([first, second], axis=1), np.arange(len(first))
    return _distinct(first, second)


def _distinct(first: Floats, second: Floats) -> tuple[Floats, Integers]:
    """The different pairs of values, (n_pairs, 2), and which of them each item has."""
    one, one_codes = np.unique(first, return_inverse=True)
    two, two_codes = np.unique(second, return_inverse=True)
    pairs, codes = np.unique(one_codes.astype(np.int64) * len(two) + two_codes, return_inverse=True)
    return np.stack([one[pairs // max(len(two), 1)], two[pairs % max(len(two), 1)]], axis=1), codes


def _collapsed(first: Floats, second: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Items with the same two values as one item with their weights: ratings have few values."""
    cells, code = _distinct(first, second)
    if len(cells) * 2 > len(first):
        return first, second, weights
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(cells)))
    return cells[:, 0], cells[:, 1], np.add.reduceat(weights[:, order], starts, axis=1)


def _of_ranks(first: Floats, second: Floats, weights: Floats) -> Floats:
    """Pearson's correlation of columns that differ from row to row."""
    whole = weights.sum(axis=1, keepdims=True)
    whole = np.where(whole > 0, whole, 1.0)
    a = first - (weights * first).sum(axis=1, keepdims=True) / whole
    b = second - (weights * second).sum(axis=1, keepdims=True) / whole
    of_a, of_b = weights * a, weights * b
    return _without_grains(
        np.einsum("ij,ij->i", of_a, b),
        np.einsum("ij,ij->i", of_a, a),
        np.einsum("ij,ij->i", of_b, b),
        np.einsum("ij,ij,ij->i", weights, first, first),
        np.einsum("ij,ij,ij->i", weights, second, second),
    )


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Average ranks when item *i* is there ``weights[:, i]`` times: (n_rows, n_items), up to a constant."""
    code = codes_in_order(values)
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middle: Floats = (np.cumsum(sizes, axis=1) - sizes / 2)[:, code]
    return middle

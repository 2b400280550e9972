"""Correlations inside groups, many small ones at once: the systems of an instruction, the answers to a question."""

import numpy as np

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.kendall import pair_balance
from metaeval.stats.weighted_correlation import Method, codes_in_order

# Groups up to this size are compared pair by pair, all groups together; larger ones one by one.
_PAIRWISE_LIMIT = 200
# A spread below this share of the largest value is a rounding error.
_GRAIN = 1e-12


def sums_within_groups(
    first: Floats, second: Floats, groups: Integers, n_groups: int, method: Method
) -> Floats:
    """Sums of products of each group, (n_groups, 3), as `sums_of_products` makes them for one list.

    Parameters
    ----------
    first, second : ndarray of shape (n_items,)
        Without NaN.
    groups : ndarray of int, shape (n_items,)
        0 to ``n_groups`` - 1; a group may be empty.

    Examples
    --------
    >>> groups = np.array([0, 0, 0, 1, 1])
    >>> sums_within_groups(np.array([1.0, 2, 3, 1, 2]), np.array([1.0, 3, 2, 5, 5]), groups, 2, "kendall").tolist()
    [[1.0, 3.0, 3.0], [0.0, 1.0, 0.0]]
    """
    order = np.argsort(groups, kind="stable")
    first, second, groups = first[order], second[order], groups[order]
    if not len(groups):
        return np.zeros((n_groups, 3))
    if method == "kendall":
        return _kendall(codes_in_order(first), codes_in_order(second), groups, n_groups)
    if method == "spearman":
        first, second = (ranks_within_groups(side, groups, n_groups) for side in (first, second))
    a, b = (_centred(side, groups, n_groups) for side in (first, second))
    parts = [np.bincount(groups, weights=part, minlength=n_groups) for part in (a * b, a * a, b * b)]
    return np.stack(parts, axis=1)


def ranks_within_groups(values: Floats, groups: Integers, n_groups: int) -> Floats:
    """Average ranks of each value among those of its group, from 1.

    Examples
    --------
    >>> ranks_within_groups(np.array([3.0, 1.0, 3.0, 7.0]), np.array([0, 0, 0, 1]), 2).tolist()
    [2.5, 1.0, 2.5, 1.0]
    """
    code = codes_in_order(values)
    order = np.lexsort((code, groups))
    starts, sizes = _runs(code[order], groups[order])
    before = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=n_groups))])[groups[order]]
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(starts + (sizes + 1) / 2, sizes) - before
    return ranks


def _runs(codes: Integers, groups: Integers) -> tuple[Integers, Integers]:
    """Starts and lengths of the runs of one value in one group."""
    new = np.ones(len(codes), dtype=np.bool_)
    new[1:] = (np.diff(codes) != 0) | (np.diff(groups) != 0)
    starts = np.flatnonzero(new)
    return starts, np.diff(starts, append=len(codes))


def _centred(values: Floats, groups: Integers, n_groups: int) -> Floats:
    """Deviations from the group's mean; exactly 0 in a group of one value."""
    sizes = np.maximum(np.bincount(groups, minlength=n_groups), 1)
    deviations = values - (np.bincount(groups, weights=values, minlength=n_groups) / sizes)[groups]
    present = np.flatnonzero(np.bincount(groups, minlength=n_groups))
    starts = np.searchsorted(groups, present)
    spread, size = np.zeros(n_groups), np.zeros(n_groups)
    spread[present] = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
    size[present] = np.maximum.reduceat(np.abs(values), starts)
    centred: Floats = np.where((spread <= _GRAIN * size)[groups], 0.0, deviations)
    return centred


def _kendall(first: Integers, second: Integers, groups: Integers, n_groups: int) -> Floats:
    sizes = np.bincount(groups, minlength=n_groups)
    balance = np.zeros(n_groups)
    small = sizes[groups] <= _PAIRWISE_LIMIT
    one, two, group = first[small], second[small], groups[small]
    # Items of a group stand together, so its pairs are those that lie 1, 2, ... rows apart.
    for apart in range(1, int(sizes[sizes <= _PAIRWISE_LIMIT].max(initial=0))):
        same = group[apart:] == group[:-apart]
        signs = np.sign(one[apart:] - one[:-apart]) * np.sign(two[apart:] - two[:-apart])
        balance += np.bincount(group[apart:][same], weights=signs[same], minlength=n_groups)
    for large in np.flatnonzero(sizes > _PAIRWISE_LIMIT):
        rows = groups == large
        balance[large] = pair_balance(first[rows], second[rows], np.ones((1, int(rows.sum()))))[0]
    return np.stack([balance, *(_untied(side, groups, sizes) for side in (first, second))], axis=1)


def _untied(codes: Integers, groups: Integers, sizes: Integers) -> Floats:
    order = np.lexsort((codes, groups))
    starts, lengths = _runs(codes[order], groups[order])
    tied = np.bincount(groups[order][starts], weights=lengths.astype(np.float64) ** 2, minlength=len(sizes))
    untied: Floats = (sizes.astype(np.float64) ** 2 - tied) / 2
    return untied

"""Kendall's tau-b of weighted items: pairs in the same order less pairs in the opposite order, corrected for ties.

An item drawn twice in a resample is two items that are tied with each other. So with weights *w* the balance of the
pairs is the quadratic form ``½ w'Kw`` with ``K[i, j] = sgn(x_i - x_j) sgn(y_i - y_j)``, and the pairs that are not
tied are ``½ (W² - Σ (weight of a value)²)``. One product of matrices gives the balance in all resamples at once.
"""

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second

from metaeval.stats.arrays import Floats, Integers

# Up to here one product of matrices beats a sort for each resample (measured: 2,000 items x 1,000 resamples in
# 0.13 s against 1.9 s); beyond it the matrix grows with the square of the items.
MATRIX_LIMIT = 3_000
# Sums of whole numbers are exact in single precision up to here.
_EXACT_SINGLE = 2**24


def kendall_sums(first: Integers, second: Integers, weights: Floats) -> Floats:
    """What tau-b is made of: (n_rows, 3), the balance of the pairs and the pairs that either side does not tie.

    Parameters
    ----------
    first, second : ndarray of int, shape (n_items,)
        Codes that order as the values do.
    weights : ndarray of shape (n_rows, n_items)

    References
    ----------
    M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945).

    Examples
    --------
    >>> kendall_sums(np.array([0, 1, 2]), np.array([0, 1, 1]), np.ones((1, 3))).tolist()
    [[2.0, 3.0, 2.0]]
    """
    balance = pair_balance(first, second, weights)
    return np.stack([balance, untied_pairs(first, weights), untied_pairs(second, weights)], axis=1)


def pair_balance(first: Integers, second: Integers, weights: Floats) -> Floats:
    """Weight of the pairs in the same order less that of the pairs in the opposite order, for each row of weights."""
    if len(first) <= MATRIX_LIMIT:
        return _by_matrix(first, second, weights)
    return np.array([_by_sorting(first, second, row) for row in weights])


def untied_pairs(codes: Integers, weights: Floats) -> Floats:
    """Weight of the pairs of items with different values, for each row of weights."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    of_value = np.add.reduceat(weights[:, order], starts, axis=1) if len(codes) else weights
    whole = of_value.sum(axis=1)
    tied = np.einsum("ij,ij->i", of_value, of_value)
    # With fractional weights the two differ by a rounding error where all is one value.
    untied: Floats = np.where(whole**2 - tied > 1e-12 * whole**2, (whole**2 - tied) / 2, 0.0)
    return untied


def _by_matrix(first: Integers, second: Integers, weights: Floats) -> Floats:
    exact = (
        bool((weights == np.rint(weights)).all())
        and float(weights.sum(axis=1).max(initial=0)) < _EXACT_SINGLE
    )
    kind = np.float32 if exact else np.float64
    signs = np.sign(first[:, np.newaxis] - first).astype(kind)
    signs *= np.sign(second[:, np.newaxis] - second)
    towards = weights.astype(kind) @ signs
    balance: Floats = np.einsum("ij,ij->i", weights, towards.astype(np.float64)) / 2
    return balance


def _by_sorting(first: Integers, second: Integers, weights: Floats) -> float:
    """By Knight's sort in scipy where the weights are numbers of items, else row by row of the matrix."""
    if (weights == np.rint(weights)).all():
        times = weights.astype(np.intp)
        one, two = np.repeat(first, times), np.repeat(second, times)
        ones = np.ones((1, len(one)))
        scale = np.sqrt(untied_pairs(one, ones)[0]) * np.sqrt(untied_pairs(two, ones)[0])
        if scale == 0:
            return 0.0
        return float(np.rint(scipy.stats.kendalltau(one, two, method="asymptotic").statistic * scale))
    total, step = 0.0, 1_000
    for start in range(0, len(first), step):
        rows = slice(start, start + step)
        signs = np.sign(first[rows, np.newaxis] - first) * np.sign(second[rows, np.newaxis] - second)
        total += float(weights[rows] @ (signs @ weights))
    return total / 2

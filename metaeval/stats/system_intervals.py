"""Intervals of correlations over systems whose means are measured with error: of these systems, and of ones like these.

The error of the means is known from resamples of the instructions: their products and squares are too large by it.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats
from metaeval.stats.grouped_correlation import sums_within_groups
from metaeval.stats.weighted_correlation import Method, correlation_of

# The largest correlation that has a Fisher's z.
_NEARLY = 1 - 1e-12
# Fewer than four have no Fisher's z, and a jackknife that leaves two.
FEWEST_SAMPLED = 4
_MOST_DRAWS = 4_000
_GRID = np.tanh(np.linspace(-6.0, 6.0, 4_001))


def error_covariances(means: Floats, draws: Floats, n_clusters: int) -> Floats:
    """Covariance of the errors of each system's two means, beyond what moves all systems alike.

    Parameters
    ----------
    means : ndarray of shape (n_systems, 2)
    draws : ndarray of shape (n_resamples, n_systems, 2)

    Returns
    -------
    ndarray of shape (n_systems, 2, 2)
        Their sum over systems is what sums of products and squares of the means have too much.

    Examples
    --------
    >>> means = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> moved = means + np.array([[0.3, 0.0], [0.0, 0.0], [-0.3, 0.0]])
    >>> error_covariances(means, np.stack([moved, 2 * means - moved, moved + 5]), 100)[:, 0, 0].round(3).tolist()
    [0.091, 0.0, 0.091]
    """
    gone = draws - means
    gone = gone - gone.mean(axis=1, keepdims=True)
    one, two = gone[..., 0], gone[..., 1]
    crossed = np.einsum("bn,bn->n", one, two)
    sums = [[np.einsum("bn,bn->n", one, one), crossed], [crossed, np.einsum("bn,bn->n", two, two)]]
    found: Floats = np.moveaxis(np.array(sums), 2, 0) / len(draws) * n_clusters / (n_clusters - 1)
    return found


def correlations_of_rows(first: Floats, second: Floats, method: Method) -> Floats:
    """The correlation of each row of two matrices, (n_rows, n_systems)."""
    n_rows, n_systems = first.shape
    rows = np.repeat(np.arange(n_rows), n_systems)
    return correlation_of(sums_within_groups(first.ravel(), second.ravel(), rows, n_rows, method))


def of_these_systems(
    means: Floats, errors: Floats, method: Method, confidence: float, n_draws: int
) -> Floats:
    """Ends of the interval of the correlation that the means of these systems would have without their errors.

    Quantiles of what the true means may be, given the measured ones: between systems they vary as a normal pair does,
    with a covariance that is drawn from its posterior (inverse Wishart, less that of the errors), and each system's are
    drawn from their own posterior. A fixed seed draws.

    References
    ----------
    C. N. Morris, "Parametric empirical Bayes inference: theory and applications", JASA 78 (1983).

    Examples
    --------
    >>> means = np.array([[0.0, 0.1], [1.0, 0.9], [2.0, 2.2], [3.0, 2.9], [4.0, 4.1]])
    >>> of_these_systems(means, np.full((5, 2, 2), 0.0), "pearson", 0.95, 200).round(3).tolist()
    [0.996, 0.996]
    >>> of_these_systems(means, np.tile(0.1 * np.eye(2), (5, 1, 1)), "pearson", 0.95, 200).round(1).tolist()
    [0.9, 1.0]
    """
    rng = np.random.default_rng(0)
    n, n_draws = len(means), min(n_draws, _MOST_DRAWS)
    unit = np.sqrt(np.mean((means - means.mean(axis=0)) ** 2, axis=0))
    away = (means - means.mean(axis=0)) / unit
    errors = errors / np.multiply.outer(unit, unit)
    if tuple(away[:, 0]) > tuple(away[:, 1]):  # which side is the first makes no difference to what is drawn
        away, errors = away[:, ::-1], errors[:, ::-1, ::-1]
    shared = errors.sum(axis=0) / (n - 1)
    whole = away.T @ away + 1e-9 * np.eye(2)
    # Bartlett's decomposition of a Wishart matrix, inverted. Matrices of two rows are written out element by element:
    # a library takes microseconds for each, and there are n_draws times n of them.
    base = np.linalg.cholesky(np.linalg.inv(whole))
    upper = np.sqrt(rng.chisquare(n - 1, n_draws))
    lower = base[1, 1] * np.sqrt(rng.chisquare(n - 2, n_draws))
    side = base[1, 0] * upper + base[1, 1] * rng.normal(size=n_draws)
    upper = base[0, 0] * upper
    size = (upper * lower) ** 2
    between = _proper(
        _Symmetric(
            (side**2 + lower**2) / size - shared[0, 0],
            -upper * side / size - shared[1, 0],
            upper**2 / size - shared[1, 1],
        )
    )
    a, b, d = (part[:, np.newaxis] for part in between)
    whole_a, whole_b, whole_d = a + errors[:, 0, 0] + 1e-12, b + errors[:, 1, 0], d + errors[:, 1, 1] + 1e-12
    size = whole_a * whole_d - whole_b**2
    # Towards the mean of all systems, (2, 2), and what is left of the spread between them.
    t00, t01 = (a * whole_d - b * whole_b) / size, (b * whole_a - a * whole_b) / size
    t10, t11 = (b * whole_d - d * whole_b) / size, (d * whole_a - b * whole_b) / size
    left = _proper(
        _Symmetric(a - (t00 * a + t01 * b), b - (t10 * a + t11 * b), d - (t10 * b + t11 * d)),
    )
    root = np.sqrt(left.first + 1e-15)
    across = left.across / root
    rest = np.sqrt(np.maximum(left.second + 1e-15 - across**2, 0.0))
    one, two = np.moveaxis(rng.normal(size=(n_draws, n, 2)), 2, 0)
    true = (
        t00 * away[:, 0] + t01 * away[:, 1] + root * one,
        t10 * away[:, 0] + t11 * away[:, 1] + across * one + rest * two,
    )
    found = correlations_of_rows(*true, method)
    found = found[~np.isnan(found)]
    ends: Floats = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return ends


def of_systems_like_these(
    value: float, means: Floats, errors: Floats, method: Method, confidence: float
) -> Floats:
    """Ends of the interval of the correlation over all systems that these are drawn from, without the means' errors.

    First of the means as they are measured: Spearman's on Fisher's scale with the variance of Bonett and Wright, a
    correlation of 1 counting as half a step less; Kendall's the values that differ from it by less than the quantile of
    a normal times the standard deviation that they would have of normal pairs (Esscher); Pearson's by the jackknife on
    Fisher's scale, as it depends on the tails. Then each end without the errors, through Pearson's correlation of
    normal pairs. Where the means differ by no more than their errors there is nothing to know, and the ends are -1, 1.

    References
    ----------
    D. G. Bonett and T. A. Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
    correlations", Psychometrika 65 (2000); F. Esscher, "On a method of determining correlation from the ranks of the
    variates", Skandinavisk Aktuarietidskrift 7 (1924); C. Spearman, "The proof and measurement of association between
    two things", Am. J. Psychol. 15 (1904).

    Examples
    --------
    >>> means = np.array([[0, 1], [1, 0], [2, 2], [3, 4], [4, 3], [5, 5], [6, 7], [7, 6.0]])
    >>> of_systems_like_these(0.929, means, np.zeros((8, 2, 2)), "spearman", 0.95).round(2).tolist()
    [0.54, 0.99]
    """
    n = len(means)
    reach = float(special.ndtri((1 + confidence) / 2))
    if method == "pearson":
        ends = _jackknifed(value, means, confidence)
    elif method == "spearman":
        step = 6 / (n * (n * n - 1))
        held = max(step - 1, min(1 - step, value))
        error = math.sqrt((1 + held**2 / 2) / (n - 3))
        ends = np.tanh(math.atanh(held) + error * np.array([-reach, reach]))
    else:
        held = max(2 / (n * (n - 1)) - 1, min(1 - 2 / (n * (n - 1)), value))
        inside = _GRID[np.abs(_GRID - held) <= reach * np.sqrt(_variance_of_tau(_GRID, n))]
        ends = np.array([min(held, inside.min(initial=held)), max(held, inside.max(initial=held))])
    if abs(value) >= _NEARLY:
        ends[int(value > 0)] = np.sign(value)
    squares = ((means - means.mean(axis=0)) ** 2).sum(axis=0)
    wrong = errors.sum(axis=0)
    reliable = 1 - np.diag(wrong) / squares
    if reliable.min() <= 0:
        return np.array([-1.0, 1.0])
    plain = (_as_pearson(ends, method) - wrong[0, 1] / math.sqrt(squares.prod())) / math.sqrt(reliable.prod())
    return _from_pearson(np.clip(plain, -1.0, 1.0), method)


class _Symmetric(NamedTuple):
    """Symmetric matrices of two rows: the diagonal's two elements, and the one beside it."""

    first: Floats
    across: Floats
    second: Floats


def _proper(covariances: _Symmetric) -> _Symmetric:
    """Without a negative variance in any direction: its size tells how uncertain it is, so that its sign is dropped."""
    first, across, second = covariances
    middle, half = (first + second) / 2, (first - second) / 2
    reach = np.hypot(half, across)
    # The eigenvalues are middle plus and minus reach.
    most, least = np.abs(middle + reach), np.abs(middle - reach)
    mean, slope = (most + least) / 2, (most - least) / np.where(reach > 0, 2 * reach, 1.0)
    return _Symmetric(mean + slope * half, slope * across, mean - slope * half)


def _jackknifed(value: float, means: Floats, confidence: float) -> Floats:
    """Ends on Fisher's scale, with Student's quantile and the spread of the values without each of the systems."""
    n = len(means)
    rest = np.array([np.delete(np.arange(n), place) for place in range(n)])
    without = correlations_of_rows(means[rest, 0], means[rest, 1], "pearson")
    scaled = np.arctanh(np.clip(without[~np.isnan(without)], -_NEARLY, _NEARLY))
    error = math.sqrt((n - 1) / n * float(((scaled - scaled.mean()) ** 2).sum())) if len(scaled) else math.inf
    reach = float(special.stdtrit(n - 1, (1 + confidence) / 2)) * error
    ends: Floats = np.tanh(math.atanh(max(-_NEARLY, min(_NEARLY, value))) + np.array([-reach, reach]))
    return ends


def _variance_of_tau(tau: Floats, n: int) -> Floats:
    """Variance of Kendall's coefficient of n normal pairs whose own is tau."""
    plain = np.sin(np.pi / 2 * tau)
    far = 2 / np.pi * np.arcsin(plain / 2)
    found: Floats = 2 / (n * (n - 1)) * (1 - tau**2 + 2 * (n - 2) * (1 / 9 - far**2))
    return found


def _as_pearson(values: Floats, method: Method) -> Floats:
    """Pearson's correlation of normal pairs from another coefficient of theirs."""
    if method == "kendall":
        return np.asarray(np.sin(np.pi / 2 * values))
    return np.asarray(2 * np.sin(np.pi / 6 * values)) if method == "spearman" else values


def _from_pearson(values: Floats, method: Method) -> Floats:
    if method == "kendall":
        return np.asarray(2 / np.pi * np.arcsin(values))
    return np.asarray(6 / np.pi * np.arcsin(values / 2)) if method == "spearman" else values

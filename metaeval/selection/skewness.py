"""How much further the largest lead of equally good judges reaches than sign flips say: where clusters are skewed.

Flipping the signs of a cluster asks that it could have favored the others as much as it did one. Of two judges that is
so. Of many whose scores are skewed (most clusters nearly all right, some wholly wrong) it is not: a large cluster drags
some judges down and lifts none. Equal judges could have changed places in every cluster, though, so the leads after
such exchanges show how far they reach, and the leads after exchanges *and* flips what flips make of it.
"""

import numpy as np
from scipy import special

from metaeval.selection.types import Floats
from metaeval.stats.arrays import Integers
from metaeval.stats.differences import adjusted_variance, shrinkage

_DRAWS = 1_000
_SEED = 20_240_601
# Numbers held at once.
_CHUNK = 2_000_000
# Beyond so many clusters times judges sums are normal, and no order of them is worth the time.
_MOST_CELLS = 8_000
_ROUNDING = 1e-13


def skewness_factor(gaps: Floats, sizes: Floats, confidence: float) -> float:
    """The quantile of the largest lead after exchanges over that after exchanges and sign flips; at least 1.

    Parameters
    ----------
    gaps : ndarray of shape (n_clusters, n_judges)
        What each cluster adds to each judge's objective.
    sizes : ndarray of shape (n_clusters,)
        What it weighs.
    confidence : float
        The level of the quantiles.

    Returns
    -------
    float
        1 for two judges, for many small clusters, and where nothing is skewed, give or take the draws.

    References
    ----------
    J. P. Romano, "On the behavior of randomization tests without a group invariance assumption", JASA 85 (1990).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> even = rng.normal(size=(40, 5)) / 40
    >>> skewness_factor(even, np.full(40, 1 / 40), 0.95) < 1.05
    True
    >>> skewness_factor(even[:, :2], np.full(40, 1 / 40), 0.95)
    1.0
    """
    n_clusters, n_judges = gaps.shape
    if n_judges < 3 or n_clusters < 2 or n_clusters * n_judges > _MOST_CELLS:
        return 1.0
    rng = np.random.default_rng(_SEED)
    step = max(1, _CHUNK // (n_clusters * n_judges))
    exchanged, flipped = [], []
    for start in range(0, _DRAWS, step):
        n = min(step, _DRAWS - start)
        order = rng.random((n, n_clusters, n_judges)).argsort(axis=2)
        drawn = np.take_along_axis(np.broadcast_to(gaps, order.shape), order, axis=2)
        exchanged.append(_largest_lead(drawn, sizes, confidence))
        signs = rng.integers(0, 2, (n, n_clusters, 1)) * 2.0 - 1
        flipped.append(_largest_lead(drawn * signs, sizes, confidence))
    far, near = (float(np.quantile(np.concatenate(each), confidence)) for each in (exchanged, flipped))
    return max(1.0, far / near) if near > 0 else 1.0


def canonical_order(rows: Floats) -> Integers:
    """The order of rows by their content, so that draws do not depend on what clusters are called.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)

    Examples
    --------
    >>> canonical_order(np.array([[2.0, 1.0], [1.0, 1.0], [3.0, 0.0]])).tolist()
    [2, 1, 0]
    """
    scale = np.maximum(np.abs(rows).max(axis=0, initial=0.0), _ROUNDING)
    return np.lexsort(np.round(rows / scale, 9).T)


def _largest_lead(drawn: Floats, sizes: Floats, confidence: float) -> Floats:
    """Of each draw, (n_draws, n_clusters, n_judges): as `metaeval.stats.differences.stratum_variance` studentises."""
    n = drawn.shape[1]
    totals = drawn.sum(axis=1)
    # Of judges that are level the first one leads, whatever rounding makes of them.
    leader = np.round(totals / max(float(np.abs(totals).max()), _ROUNDING), 9).argmax(axis=1)
    apart = np.take_along_axis(drawn, leader[:, np.newaxis, np.newaxis], axis=2) - drawn
    centre = apart.sum(axis=1) * shrinkage(n)
    squares = apart**2
    second, fourth = squares.sum(axis=1), (squares**2).sum(axis=1)
    # Sums over clusters of (gap - size * centre)^2, and of the two clusters added.
    squared = second - 2 * centre * np.einsum("dcj,c->dj", apart, sizes) + float(sizes @ sizes) * centre**2
    number = (np.abs(apart) > _ROUNDING).sum(axis=1)
    size = float(sizes.mean())
    squared += 2 * second / np.maximum(number, 1) + 2 * (size * centre) ** 2
    doubt = _doubt(second, fourth, n, confidence)
    most = (np.abs(apart).sum(axis=1) + 2 * size) * float((sizes**2).sum() / sizes.sum())
    variance = adjusted_variance(squared, doubt, most, n)
    leads: Floats = (centre / np.sqrt(np.where(variance > 0, variance, np.inf))).max(axis=1)
    return leads


def _doubt(second: Floats, fourth: Floats, n_clusters: int, confidence: float) -> Floats:
    """`metaeval.stats.differences.carriers_doubt` of many at once."""
    carriers = np.where(fourth > 0, second**2 / np.where(fourth > 0, fourth, 1.0), float(n_clusters))
    excess = np.maximum(1 / np.maximum(carriers, 1.0) - 1 / n_clusters, 1 / n_clusters)
    freedom = np.maximum(1.0, np.minimum(2 / excess - 1, n_clusters - 1.0))
    level = (1 + confidence) / 2
    return np.asarray((special.stdtrit(freedom, level) / special.stdtrit(max(1, n_clusters - 1), level)) ** 2)

"""Differences of judges: of two given ones, and of the best of many to each of the others."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_columns, as_items, as_weights, dot
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import PairedDifference, undefined
from metaeval.stats.intervals import (
    ALL_THE_SAME,
    ONE_CLUSTER,
    Sampling,
    clusters_counted,
    confidence_ahead,
    item_weights,
    resolve,
    why_none,
)
from metaeval.stats.options import as_count, as_level, as_positive, as_range
from metaeval.stats.resampling import Resamples, as_resamples
from metaeval.stats.spread import PeopleVariance, variance_freedom

# Simulated quantiles are good to about one in a hundred; the seed is fixed because they are constants.
_CRITICAL_DRAWS = 20_000
_CRITICAL_SEED = 20_240_601
_GRAIN = 1e-9
# What is left of a sum of equal terms with opposite signs.
_ROUNDING = 1e-13


@aligned()
def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    critical: float | None = None,
    **options: Unpack[Sampling],
) -> PairedDifference:
    """Difference of two judges' means on the items that both are scored on, paired.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Contributions of the two judges to a mean; an item with NaN in either takes no part.
    bounds : (float, float) or None
        The ends of the scores' scale, beyond which no difference can lie; None where it has none. A score outside is
        refused.
    critical : float, optional
        Standard errors to either side, in place of Student's quantile: what `critical_values` gives, if one of
        the two was chosen for its mean.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    PairedDifference
        ``value`` is first minus second; ``share_better`` how sure it is that the first is ahead.

    References
    ----------
    D. G. Bonett and R. M. Price, "Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data", J. Educ. Behav. Stat. 37 (2012), here for clusters; see `variance_freedom`.

    Examples
    --------
    >>> difference = paired_difference([1, 1, 0, 1] * 10, [1, 0, 0, 1] * 10)
    >>> difference.value, difference.low > 0, difference.share_better > 0.99
    (0.25, True, True)
    """
    return difference_of(first, second, bounds=bounds, critical=critical, **options)


def difference_of(
    first: ArrayLike,
    second: ArrayLike,
    *,
    bounds: tuple[float, float] | None,
    critical: float | None,
    people: Callable[[Floats, Resamples], PeopleVariance] | None = None,
    **options: Unpack[Sampling],
) -> PairedDifference:
    """What `paired_difference` gives; with ``people``, for people like these too.

    ``people`` is given what each item weighs, and says how much the difference varies between people
    (`metaeval.stats.crossed`).
    """
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    if bounds is not None:
        bounds = as_range(bounds, "bounds")
        check_scores(one, bounds, "first")
        check_scores(two, bounds, "second")
    resamples, mask, confidence = resolve(len(one), options, weighted=True)
    weights = item_weights(len(one), options)
    counted = ~np.isnan(one) & ~np.isnan(two)
    if weights is not None:
        counted &= weights > 0
    if mask is not None:
        counted &= mask
    if not counted.any():
        nothing = undefined(why_none("no item is scored for both", weights))
        return PairedDifference(math.nan, math.nan, math.nan, n=0, reason=nothing.reason)
    size = np.where(counted, 1.0 if weights is None else weights, 0.0)
    gap = np.where(counted, one - two, 0.0) * size
    n = int(counted.sum())
    value = float(gap.sum() / size.sum())
    if not resamples.n_resamples:
        return PairedDifference(value, math.nan, math.nan, n, clusters_counted(counted, resamples))
    totals = resamples.cluster_totals(np.stack([gap, size, np.abs(gap)], axis=1))
    totals = totals[totals[:, 1] > 0]
    if len(totals) < 2:
        warn(ONE_CLUSTER)
        return PairedDifference(value, math.nan, math.nan, n, len(totals), reason=ONE_CLUSTER)
    freedom = float(len(totals) - 1)
    plain = float(special.stdtrit(freedom, (1 + confidence) / 2))
    critical = plain if critical is None else as_positive(critical, "critical")
    # The largest gap that there can be is the unit of the adjustment; without bounds, the largest that there is.
    unit = bounds[1] - bounds[0] if bounds is not None else float(np.abs(one - two)[counted].max())
    if unit == 0:
        warn(ALL_THE_SAME)
        return PairedDifference(
            value, math.nan, math.nan, n, len(totals), reason=ALL_THE_SAME, share_better=0.5
        )
    gaps, sizes, differing = (totals / totals[:, 1].sum()).T
    centre = shrinkage(len(totals)) * float(gaps.sum()) / unit
    error = math.sqrt(
        stratum_variance(
            gaps / unit, sizes[:, np.newaxis], differing / unit, np.array([centre]), confidence=confidence
        )
    )
    if people is not None:
        found = people(size, resamples)
        if found.reason is not None:
            warn(found.reason)
            return PairedDifference(value, math.nan, math.nan, n, len(totals), reason=found.reason)
        variance, freedom = found.total(error**2, freedom)
        error = math.sqrt(variance)
        critical *= float(special.stdtrit(freedom, (1 + confidence) / 2)) / plain
    better = confidence_ahead(centre, error, freedom)
    low, high = (centre - critical * error) * unit, (centre + critical * error) * unit
    if bounds is not None:
        low, high = max(-unit, low), min(unit, high)
    # The adjustment draws the centre towards 0, for a handful of clusters past the figure itself.
    return PairedDifference(value, min(low, value), max(high, value), n, len(totals), "t", None, better)


def check_scores(scores: Floats, bounds: tuple[float, float], name: str) -> None:
    """Refuse scores outside of their scale: their difference could lie where its interval is cut off.

    Examples
    --------
    >>> check_scores(np.array([0.0, 1.0, np.nan]), (0.0, 1.0), "first")
    """
    grain = _GRAIN * (bounds[1] - bounds[0])
    outside = (scores < bounds[0] - grain) | (scores > bounds[1] + grain)
    if outside.any():
        raise InvalidInputError(
            f"{name}: {scores[outside][0]:g} lies outside of {bounds}; pass the ends of the scale as bounds, or None"
        )


def stratum_variance(
    gaps: Floats, sizes: Floats, differing: Floats, means: Floats, *, confidence: float
) -> float:
    """Variance that the clusters of one stratum bring to a mean difference, or to a weighted sum of such.

    Gaps are in units of the largest that there can be.

    Two clusters are added that differ as much as those that differ do, one in favor of each side. With many
    that differ they do nothing; with few they keep the interval from shrinking to a point, as the plain one does
    where nothing differs, or all that differ do so in favor of one side.

    Where few clusters carry the variance it is raised for its few degrees of freedom, at most to what it would be if
    items that differ always came in whole clusters.

    Parameters
    ----------
    gaps, differing : ndarray of shape (n_clusters,)
        Sums over the items of each cluster of weight times gap, and of weight times absolute gap.
    sizes : ndarray of shape (n_clusters, n_means)
        Sums of the weights in each mean. All weights add up to 1, over all strata.
    means : ndarray of shape (n_means,)
        The adjusted centers (`shrinkage`).

    Examples
    --------
    >>> gaps, sizes = np.array([0.05] * 10 + [0.0] * 10), np.full((20, 1), 0.05)
    >>> round(stratum_variance(gaps, sizes, gaps, shrinkage(20) * gaps.sum(keepdims=True), confidence=0.95), 5)
    0.01614
    """
    n_clusters = len(gaps)
    whole, average = sizes.sum(axis=1), sizes.mean(axis=0)
    size = float(average.sum())
    different = gaps[np.abs(gaps) > _ROUNDING]
    squares = different**2
    typical = math.sqrt(float(squares.mean())) if len(different) else size
    most = (float(differing.sum()) + 2 * size) * float((whole**2).sum() / whole.sum())
    off = np.r_[gaps - np.einsum("ij,j->i", sizes, means), np.array([typical, -typical]) - average @ means]
    doubt = carriers_doubt(squares.sum(), (squares**2).sum(), n_clusters, confidence)
    return float(adjusted_variance(dot(off, off), doubt, most, n_clusters))


def carriers_doubt(second: ArrayLike, fourth: ArrayLike, n_clusters: int, confidence: float) -> Floats:
    """By how much the few clusters that carry a variance raise it: Student's quantiles squared, theirs over all's.

    Parameters
    ----------
    second, fourth : array_like
        Sums over clusters of squared gaps, and of their squares; any shape.

    Examples
    --------
    >>> float(carriers_doubt(20.0, 20.0, 20, 0.95)), round(float(carriers_doubt(4.0, 4.0, 20, 0.95)), 3)
    (1.0, 1.168)
    """
    second, fourth = np.asarray(second, dtype=np.float64), np.asarray(fourth, dtype=np.float64)
    carriers = np.where(fourth > 0, second**2 / np.where(fourth > 0, fourth, 1.0), float(n_clusters))
    freedom = np.maximum(1.0, np.vectorize(variance_freedom, otypes=[np.float64])(carriers, n_clusters))
    level = (1 + confidence) / 2
    return np.asarray((special.stdtrit(freedom, level) / special.stdtrit(max(1, n_clusters - 1), level)) ** 2)


def adjusted_variance(squared: Any, doubt: Any, most: Any, n_clusters: int) -> Floats:
    """Variance from summed squared deviations, raised by the doubt about it (`stratum_variance`); any shape.

    Examples
    --------
    >>> round(float(adjusted_variance(0.04, 2.0, 1.0, 18)), 4)
    0.0682
    """
    known = np.asarray(squared) * (n_clusters + 2) / (n_clusters + 1)
    found: Floats = np.maximum(known, np.minimum(known * doubt, most)) * shrinkage(n_clusters) ** 2
    return found


def shrinkage(n_clusters: int) -> float:
    """What the two clusters added leave of a mean difference."""
    return n_clusters / (n_clusters + 2)


@aligned()
def critical_values(
    columns: Sequence[Floats],
    n_candidates: int,
    *,
    resamples: Resamples,
    confidence: float = 0.95,
    weights: Floats | None = None,
) -> list[float]:
    """Standard errors to allow for in the difference of the best of several judges and each one of them.

    The leader was chosen because it came out best, so its lead is the largest of many and a plain interval makes
    too much of it. Here each judge in turn is the control of a two-sided Dunnett comparison with all candidates:
    whichever of them leads, the interval of the leader minus that judge covers the truth with the confidence.
    So the judge that is best indeed is ruled out with a chance of at most 1 - confidence (Hsu's comparison with
    the best). Quantiles are those of a multivariate t with the clusters' covariance, simulated with a fixed seed.

    Parameters
    ----------
    columns : sequence or mapping of ndarray of shape (n_items,), or ndarray of shape (n_items, n_judges)
        What each item contributes to each judge's mean; NaN where it does not count. First the candidates to lead,
        then judges that they are compared with only.
    n_candidates : int
        How many are candidates.
    resamples : Resamples
        The clusters; the same as of the differences.
    confidence : float, default 0.95
        That all intervals hold together.
    weights : ndarray of shape (n_items,), optional
        One over the chance with which each item was drawn. Default: all the same.

    Returns
    -------
    list of float
        For each column; Student's quantile where there is one rival only.

    Raises
    ------
    InvalidInputError
        Without a judge.

    References
    ----------
    J. C. Hsu, "Multiple Comparisons: Theory and Methods", 1996, ch. 4; C. W. Dunnett, JASA 50 (1955).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> judges = [(rng.random(200) < 0.8).astype(float) for _ in range(10)]
    >>> [round(value, 1) for value in critical_values(judges[:2], 2, resamples=Resamples(200, 0))]
    [2.0, 2.0]
    >>> 2.5 < critical_values(judges, 10, resamples=Resamples(200, 0))[0] < 3
    True
    """
    n_candidates, confidence = as_count(n_candidates, "n_candidates", 1), as_level(confidence, "confidence")
    weighted = as_weights(weights, as_resamples(resamples).n_items)
    columns = as_columns(columns, "columns")
    if not len(columns):
        raise InvalidInputError("columns: expected one judge or more")
    scores = np.stack([as_items(column, "columns", resamples.n_items) for column in columns], axis=1)
    counted = ~np.isnan(scores)
    shares = counted * (1.0 if weighted is None else weighted[:, np.newaxis])
    sizes = shares.sum(axis=0)
    shares /= np.where(sizes > 0, sizes, 1.0)
    known = np.where(counted, scores, 0.0)
    deviations = shares * (known - (shares * known).sum(axis=0))
    rows = resamples.cluster_totals(deviations)
    freedom = max(1, clusters_counted(np.asarray(counted.any(axis=1)), resamples) - 1)
    plain = float(special.stdtrit(freedom, (1 + confidence) / 2))
    if n_candidates < 2:
        return [plain] * len(columns)
    covariance = rows.T @ rows
    scale = float(np.trace(covariance)) / len(columns)
    if scale == 0:
        return [plain] * len(columns)
    rng = np.random.default_rng(_CRITICAL_SEED)
    # Judges that say the same make the matrix singular; the grain is far below any standard error.
    root = np.linalg.cholesky(covariance + np.eye(len(columns)) * scale * _GRAIN)
    draws = rng.standard_normal((_CRITICAL_DRAWS, len(columns))) @ root.T
    draws /= np.sqrt(rng.chisquare(freedom, _CRITICAL_DRAWS) / freedom)[:, np.newaxis]
    variances = np.diag(covariance)
    result = []
    for place in range(len(columns)):
        error = np.sqrt(np.maximum(variances + variances[place] - 2 * covariance[place], 0.0))[:n_candidates]
        rivals = np.flatnonzero((error > math.sqrt(scale * _GRAIN) * 10) & (np.arange(n_candidates) != place))
        if len(rivals) < 2:
            result.append(plain)
            continue
        distance = np.abs(draws[:, rivals] - draws[:, [place]]) / error[rivals]
        result.append(max(plain, float(np.quantile(distance.max(axis=1), confidence))))
    return result

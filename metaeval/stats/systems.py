"""Correlation of systems' means, and its interval where the means themselves are measured with error."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_items, check_option
from metaeval.stats.correlation import why_not
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.fisher import fisher_interval
from metaeval.stats.grouped_correlation import sums_within_groups
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling, clusters_counted, item_weights, resolve, why_none
from metaeval.stats.weighted_correlation import METHODS, Columns, Method, correlation_of, weighted_correlation

# A random order of four systems agrees perfectly with another once in 24: no correlation of so few can tell itself
# from chance.
FEW_SYSTEMS = 5
# Simulated coverage holds above this share of the spread of the means that is not error.
_LEAST_RELIABLE = 0.9
# The largest correlation that has a Fisher's z.
_NEARLY = 1 - 1e-15


@dataclass(frozen=True, slots=True)
class SystemCorrelation(Estimate):
    """A correlation over systems; ``n`` counts systems, ``n_clusters`` the instructions (clusters) resampled.

    Attributes
    ----------
    systems : tuple
        The systems, in the order of the means.
    first, second : ndarray of float, shape (n_systems,)
        Each system's mean on either side.
    reliability : (float, float)
        Of either side, the share of the variance between the systems' means that is not error of these means. Below
        0.9 the interval covers too little, and a warning says so.
    corrected : float
        The correlation that the means would have without error (Spearman's correction for attenuation, with the
        errors and their covariance from the resamples); NaN where the reliability is not above 0.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"first": ("systems",), "second": ("systems",)}

    systems: tuple[Any, ...] = ()
    first: Floats = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    second: Floats = field(default_factory=lambda: np.zeros(0), compare=False, repr=False)
    reliability: tuple[float, float] = (math.nan, math.nan)
    corrected: float = math.nan


@aligned()
def system_correlation(
    first: ArrayLike,
    second: ArrayLike,
    systems: Any,
    *,
    method: Method = "pearson",
    **options: Unpack[Sampling],
) -> SystemCorrelation:
    """Correlation over systems of their mean scores by two judges (or a judge and people).

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Scores of single responses; an item with NaN in either takes no part in either mean.
    systems : array_like of shape (n_items,)
        The system that each response is of.
    method : {"pearson", "spearman", "kendall"}
    **options
        See `metaeval.stats.intervals.Sampling`. Pass the instructions as ``clusters``: these are resampled, and the
        means of all systems recomputed. The systems are held fixed.

    Returns
    -------
    SystemCorrelation
        In [-1, 1]; NaN with fewer than three systems, or where all have the same mean on a side.

    Raises
    ------
    InvalidInputError
        For columns of different shapes.

    Notes
    -----
    Means that are measured with error correlate less than the true means do, and means of a resample have the error
    twice. So percentiles of the resampled correlation lie too low. The interval here reaches from the lowest to the
    highest of three: Fisher's about the value, Fisher's about the value corrected for attenuation, percentiles. Away
    from 0 the second takes the slope of z at the corrected value.

    References
    ----------
    C. Spearman, "The proof and measurement of association between two things", Am. J. Psychol. 15 (1904).

    Examples
    --------
    >>> systems = np.repeat(["a", "b", "c", "d", "e"], 40)
    >>> truth, rng = np.repeat([1.0, 2, 3, 4, 5], 40), np.random.default_rng(0)
    >>> found = system_correlation(truth + rng.normal(size=200), truth + rng.normal(size=200), systems,
    ...                            clusters=np.tile(np.arange(40), 5), n_resamples=500)
    >>> found.value > 0.98, found.n, found.n_clusters, found.low <= found.value <= found.high
    (True, 5, 40, True)
    """
    check_option(method, METHODS, "method")
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    distinct, codes = as_ids(systems, "systems", len(one))
    names = distinct.tolist()
    resamples, mask, confidence = resolve(len(one), options, weighted=True)
    weights = item_weights(len(one), options)
    weights = np.ones(len(one)) if weights is None else weights
    counted = ~np.isnan(one) & ~np.isnan(two) & (weights > 0)
    if mask is not None:
        counted &= mask
    present = np.unique(codes[counted])
    columns = _by_system(one, two, np.where(counted, weights, 0.0), codes, present)
    a, b = _means(columns.sum(axis=0)[np.newaxis])
    totals = resamples.totals(columns) if resamples.n_resamples and len(present) else columns[:0]
    draws = _means(totals)
    return correlation_of_means(
        a[0],
        b[0],
        draws,
        tuple(names[place] for place in present),
        method=method,
        n_clusters=clusters_counted(counted, resamples),
        confidence=confidence,
        weights=weights,
    )


def correlation_of_means(
    first: Floats,
    second: Floats,
    draws: tuple[Floats, Floats],
    systems: tuple[Any, ...],
    *,
    method: Method,
    n_clusters: int,
    confidence: float,
    weights: Floats | None = None,
) -> SystemCorrelation:
    """`system_correlation` from the means, (n_systems,), and those of each resample, (n_resamples, n_systems).

    The weights of the items say why there is no system where they are all zero.
    """
    reason = why_not(first, second)
    if len(systems) < 3:
        reason = "fewer than 3 systems"
    if reason is not None:
        nothing = undefined(why_none(reason, weights))
        return SystemCorrelation(nothing.value, math.nan, math.nan, 0, reason=nothing.reason, systems=systems)
    if len(systems) < FEW_SYSTEMS:
        warn(f"a correlation of {len(systems)} systems cannot be told from chance")
    value = weighted_correlation(Columns(first, second, np.ones(len(first))), method)
    low, high, reliability, corrected = _interval(
        value, (first, second), draws, method, n_clusters, confidence
    )
    if min(reliability) < _LEAST_RELIABLE:
        warn("the systems' means differ little more than by chance; the interval covers too little")
    reason = None
    if math.isnan(low) and len(draws[0]):
        reason = "no interval: undefined in every resample"
        warn(reason)
    return SystemCorrelation(
        value,
        low,
        high,
        len(systems),
        n_clusters,
        "none" if math.isnan(low) else "fisher",
        reason,
        systems,
        first,
        second,
        reliability,
        corrected,
    )


def _by_system(one: Floats, two: Floats, weights: Floats, codes: Integers, present: Integers) -> Floats:
    """Columns (weight, weighted score of one, of two) of each system."""
    columns = np.zeros((len(one), 3 * len(present)))
    rows = np.flatnonzero(weights > 0)
    place = 3 * np.searchsorted(present, codes[rows])
    for shift, values in enumerate((np.ones(len(rows)), one[rows], two[rows])):
        columns[rows, place + shift] = weights[rows] * values
    return columns


def _means(totals: Floats) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals[:, 1::3] / totals[:, ::3], totals[:, 2::3] / totals[:, ::3]


def _row_sums(first: Floats, second: Floats, method: Method) -> Floats:
    n_rows, n_systems = first.shape
    rows = np.repeat(np.arange(n_rows), n_systems)
    return sums_within_groups(first.ravel(), second.ravel(), rows, n_rows, method)


def _interval(
    value: float,
    means: tuple[Floats, Floats],
    draws: tuple[Floats, Floats],
    method: Method,
    n_clusters: int,
    confidence: float,
) -> tuple[float, float, tuple[float, float], float]:
    """(low, high, reliability of either side, correlation without error)."""
    whole = ~np.isnan(draws[0]).any(axis=1) & ~np.isnan(draws[1]).any(axis=1)
    drawn = draws[0][whole], draws[1][whole]
    if not len(drawn[0]) or n_clusters < 2:
        return math.nan, math.nan, (math.nan, math.nan), math.nan
    sums = _row_sums(means[0][np.newaxis], means[1][np.newaxis], "pearson")[0]
    # Products and squares of means are too large by those of their errors, and in resamples by as much again.
    excess = (_row_sums(*drawn, "pearson").mean(axis=0) - sums) * n_clusters / (n_clusters - 1)
    freed = sums - excess
    reliability = float(freed[1] / sums[1]), float(freed[2] / sums[2])
    corrected = _corrected(value, sums, freed, method)
    resampled = correlation_of(_row_sums(*drawn, method))
    low, high, _ = fisher_interval(value, resampled, n_clusters=n_clusters, confidence=confidence)
    tails = np.nanquantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = min(low, float(tails[0])), max(high, float(tails[1]))
    if math.isnan(corrected) or abs(corrected) == 1:
        return (low, 1.0, reliability, corrected) if value > 0 else (-1.0, high, reliability, corrected)
    centre = math.atanh(corrected)
    shift = centre - math.atanh(value) if abs(value) < 1 else 0.0
    shifted = [math.tanh(math.atanh(max(-_NEARLY, min(_NEARLY, end))) + shift) for end in (low, high)]
    low, high = min(low, shifted[0]), max(high, shifted[1])
    # Away from 0 the slope is that at the corrected value: how far it is from a perfect correlation is what the
    # resamples, which are all farther from it, do not show.
    error = float(np.nanstd(resampled)) * math.sqrt(n_clusters / (n_clusters - 1))
    error *= abs(corrected / value) if value else 1.0
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error / (1 - corrected**2)
    far = math.tanh(centre + math.copysign(reach, value))
    return min(low, far), max(high, far), reliability, corrected


def _corrected(value: float, sums: Floats, freed: Floats, method: Method) -> float:
    """The value without the attenuation that Pearson's has; ranks through the normal distribution's relations."""
    if min(freed[1], freed[2]) <= 0 or sums[0] == 0:
        return math.nan
    plain = sums[0] / math.sqrt(sums[1] * sums[2])
    factor = max(0.0, float(freed[0] / math.sqrt(freed[1] * freed[2]) / plain))
    if method == "kendall":
        sine = max(-1.0, min(1.0, factor * math.sin(math.pi / 2 * value)))
        return 2 / math.pi * math.asin(sine)
    return max(-1.0, min(1.0, factor * value))

"""Correlation of systems' means, and its interval where the means themselves are measured with error."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, check_option
from metaeval.stats.correlation import fisher_interval, why_not
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import (
    Sampling,
    clusters_counted,
    item_weights,
    resolve,
    why_none,
)
from metaeval.stats.resampling import Resamples, distinct_columns
from metaeval.stats.system_intervals import (
    FEWEST_SAMPLED,
    correlations_of_rows,
    error_covariances,
    of_systems_like_these,
    of_these_systems,
)
from metaeval.stats.weighted_correlation import METHODS, Columns, Method, weighted_correlation

SystemsAre: TypeAlias = Literal["fixed", "sampled"]

# A random order of four systems agrees perfectly with another once in 24: no correlation of so few can tell itself
# from chance.
FEW_SYSTEMS = 5
# Resampled sums held at once, in numbers.
_CHUNK = 10_000_000
# Simulated coverage holds above this share of the spread of the means that is not error.
_LEAST_RELIABLE = 0.8


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
        0.8 no simulation says how often the interval covers, and a warning says so.
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
    systems_are: SystemsAre = "fixed",
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
    systems_are : {"fixed", "sampled"}
        Whom the interval speaks of: these systems on new instructions, or systems like these, of which these are a
        sample, on new instructions. The second needs four systems.
    **options
        See `metaeval.stats.intervals.Sampling`. Pass the instructions as ``clusters``: these are resampled, and the
        means of all systems recomputed.

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
    twice, so percentiles of the resampled correlation lie too low. Both intervals are of the correlation of the true
    means: `metaeval.stats.system_intervals` says how. That of these systems holds Fisher's about the value, too. Both
    are widened where they would not hold the value, which is that of the means as measured.

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
    >>> like = system_correlation(truth, -truth + rng.normal(size=200), systems, systems_are="sampled")
    >>> like.value < -0.99, -1 <= like.low <= like.value <= like.high < 0
    (True, True)
    """
    check_option(method, METHODS, "method")
    check_option(systems_are, ("fixed", "sampled"), "systems_are")
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    distinct, codes = as_ids(systems, "systems", len(one))
    names = distinct.tolist()
    resamples, mask, confidence = resolve(len(one), options, weighted=True)
    weights = item_weights(len(one), options)
    weights = np.ones(len(one)) if weights is None else weights
    (found,) = correlations_by_system(
        [(one, two)],
        names,
        codes,
        weights,
        (weights > 0) if mask is None else (weights > 0) & mask,
        resamples,
        confidence,
        method=method,
        systems_are=systems_are,
    )
    return found


def correlations_by_system(
    pairs: Sequence[tuple[Floats, Floats]],
    names: Sequence[Any],
    codes: Integers,
    weights: Floats,
    counted: Booleans,
    resamples: Resamples,
    confidence: float,
    *,
    method: Method,
    systems_are: SystemsAre = "fixed",
) -> Iterator[SystemCorrelation]:
    """`system_correlation` of several pairs of judges, whose sums are resampled together as many as fit.

    Parameters
    ----------
    names : sequence of length n_systems
    codes : ndarray of shape (n_items,)
        The system of each item.
    weights, counted : ndarray of shape (n_items,)
        What an item weighs, and whether it counts.
    """
    together = 1
    if resamples.is_shared:
        together = max(1, _CHUNK // max(1, resamples.n_resamples) // max(1, 3 * len(names)))
    for start in range(0, len(pairs), together):
        tables = [_by_system(*pair, weights, counted, codes) for pair in pairs[start : start + together]]
        columns, places = distinct_columns(table.columns for table in tables)
        totals = resamples.totals(columns) if resamples.n_resamples and columns.any() else columns[:0]
        for table, own in zip(tables, places, strict=True):
            a, b = _means(table.columns.sum(axis=0)[np.newaxis])
            yield correlation_of_means(
                a[0],
                b[0],
                _means(totals[:, own]),
                tuple(names[place] for place in table.present.tolist()),
                method=method,
                systems_are=systems_are,
                n_clusters=clusters_counted(table.counted, resamples),
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
    systems_are: SystemsAre = "fixed",
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
    means = np.stack([first, second], axis=1)
    drawn = np.stack(draws, axis=2)
    drawn = drawn[~np.isnan(drawn).any(axis=(1, 2))]
    low = high = corrected = math.nan
    reliability = math.nan, math.nan
    reason = None
    if len(drawn) and n_clusters > 1:
        errors = error_covariances(means, drawn, n_clusters)
        squares = ((means - means.mean(axis=0)) ** 2).sum(axis=0)
        freed = 1 - np.diag(errors.sum(axis=0)) / squares
        reliability = float(freed[0]), float(freed[1])
        corrected = _corrected(value, means, errors.sum(axis=0), method)
        if systems_are == "fixed":
            low, high = of_these_systems(means, errors, method, confidence, len(drawn)).tolist()
            resampled = correlations_of_rows(drawn[..., 0], drawn[..., 1], method)
            ends = fisher_interval(value, resampled, n_clusters=n_clusters, confidence=confidence)
            low, high = min(low, ends[0]), max(high, ends[1])
        elif len(systems) >= FEWEST_SAMPLED:
            low, high = of_systems_like_these(value, means, errors, method, confidence).tolist()
        else:
            reason = f"no interval: fewer than {FEWEST_SAMPLED} systems to speak of others"
        low, high = min(low, value), max(high, value)
        if min(reliability) < _LEAST_RELIABLE:
            warn("the systems' means differ little more than by chance; the interval may cover too little")
    elif len(draws[0]):
        reason = "no interval: undefined in every resample"
    if reason is not None:
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


class _BySystem(NamedTuple):
    """Columns (weight, weighted score of one, of two) of each system that is present, and the items that count."""

    columns: Floats
    present: Integers
    counted: Booleans


def _by_system(one: Floats, two: Floats, weights: Floats, counted: Booleans, codes: Integers) -> _BySystem:
    counted = counted & ~np.isnan(one) & ~np.isnan(two)
    present = np.unique(codes[counted])
    columns = np.zeros((len(one), 3 * len(present)))
    rows = np.flatnonzero(counted)
    place = 3 * np.searchsorted(present, codes[rows])
    for shift, values in enumerate((np.ones(len(rows)), one[rows], two[rows])):
        columns[rows, place + shift] = weights[rows] * values
    return _BySystem(columns, present, counted)


def _means(totals: Floats) -> tuple[Floats, Floats]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return totals[:, 1::3] / totals[:, ::3], totals[:, 2::3] / totals[:, ::3]


def _corrected(value: float, means: Floats, wrong: Floats, method: Method) -> float:
    """The value without the attenuation that Pearson's has; ranks through the normal distribution's relations."""
    away = means - means.mean(axis=0)
    sums = away.T @ away
    freed = sums - wrong
    if min(freed[0, 0], freed[1, 1]) <= 0 or sums[0, 1] == 0:
        return math.nan
    plain = sums[0, 1] / math.sqrt(sums[0, 0] * sums[1, 1])
    factor = max(0.0, float(freed[0, 1] / math.sqrt(freed[0, 0] * freed[1, 1]) / plain))
    if method == "kendall":
        sine = max(-1.0, min(1.0, factor * math.sin(math.pi / 2 * value)))
        return 2 / math.pi * math.asin(sine)
    return max(-1.0, min(1.0, factor * value))

"""Intervals, and the estimators that all others are made of: mean, ratio, macro mean."""

import math
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Seed, as_floats, as_items, as_mask, as_weights
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.options import as_level, as_number, as_positive, as_range
from metaeval.stats.resampling import DEFAULT_RESAMPLES, Resamples, as_resamples
from metaeval.stats.spread import (
    NOTHING_VARIES,
    Spread,
    effective_sample_size,
    ratio_spread,
    resampled_spread,
    variance_freedom,
)

# Below these the percentile interval covers too little (the usual "five successes and five failures").
_FEW_CLUSTERS = 30
_FEW_EVENTS = 5.0
# A share this far outside of its range is a rounding error.
_GRAIN = 1e-9
ONE_CLUSTER = "no interval: the items are one cluster"
ALL_WEIGHTS_ZERO = "no item counts: all weights are zero"
# The range of what is measured in money or seconds.
AMOUNT = (0.0, math.inf)
ALL_THE_SAME = "no interval: all items are the same, and no bounds say how far others could be"


class Sampling(TypedDict, total=False):
    """What every estimate takes, by keyword.

    clusters : (n_items,) labels, items of one cluster are resampled together; default: each item its own.
    resamples : a shared `Resamples` instead of ``clusters``, ``n_resamples`` and ``rng``.
    where : (n_items,) booleans, the items that count (a category, a subset); default: all.
    confidence : level of the interval, 0.95.
    n_resamples : bootstrap resamples, 10,000; 0 leaves the interval out.
    rng : seed or generator; None is a fixed seed.
    weights : (n_items,) numbers of at least 0, one over the probability with which each item was picked for
        labeling, up to a common factor. Means and ratios are then those of the items picked from (Hajek's
        estimate); an item of weight 0 does not count. Figures that cannot be weighted refuse them. Default: all
        items weigh the same.
    """

    clusters: Any
    resamples: Resamples | None
    where: ArrayLike | None
    confidence: float
    n_resamples: int
    rng: Seed
    weights: ArrayLike | None


def resolve(
    n_items: int, options: Sampling, *, weighted: bool = False
) -> tuple[Resamples, Booleans | None, float]:
    """The resamples, the selection and the level that the options ask for, checked against the items.

    A figure that reads `item_weights` says so with ``weighted``; for all others weights are an error, not ignored.
    """
    unknown = options.keys() - Sampling.__annotations__.keys()
    if unknown:
        raise TypeError(f"unexpected argument {sorted(unknown)[0]!r}")
    if not weighted and options.get("weights") is not None:
        raise InvalidInputError("weights: this figure cannot be weighted by sampling probabilities")
    confidence = as_level(options.get("confidence", 0.95), "confidence")
    clusters, resamples = options.get("clusters"), options.get("resamples")
    if resamples is None:
        resamples = Resamples(
            n_items if clusters is None else clusters,
            options.get("n_resamples", DEFAULT_RESAMPLES),
            options.get("rng"),
            shared=False,
        )
    elif as_resamples(resamples) and clusters is not None:
        raise InvalidInputError("clusters: the resamples bring their own; pass one or the other")
    if resamples.n_items != n_items:
        raise InvalidInputError(f"clusters or resamples: expected {n_items} items, got {resamples.n_items}")
    return resamples, as_mask(options.get("where"), n_items), confidence


def item_weights(n_items: int, options: Sampling) -> Floats | None:
    """The sampling weights that the options ask for, checked and with mean 1; None where all weigh the same."""
    weights = as_weights(options.get("weights"), n_items)
    if weights is None or not weights.any():
        return weights
    if weights.min() == weights.max():
        return None
    # Their scale says nothing, and sums near 1 are told apart as exactly as those of unweighted items.
    scaled: Floats = weights / weights.mean()
    return scaled


def why_none(reason: str, weights: ArrayLike | None) -> str:
    """Why no item counts: because of its weights where they are all zero, else for ``reason``.

    Examples
    --------
    >>> why_none("no item has two labels", [0, 0]), why_none("no item has two labels", None)
    ('no item counts: all weights are zero', 'no item has two labels')
    """
    if weights is None or np.size(weights) == 0 or as_floats(weights, "weights").any():
        return reason
    return ALL_WEIGHTS_ZERO


def wilson_interval(share: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share; ``n`` may be an effective, hence fractional, sample size.

    Parameters
    ----------
    share : float
        In [0, 1].
    n : float
        Sample size: above 0, infinite for what is known exactly.
    confidence : float, default 0.95
        Level of the interval.

    Returns
    -------
    (float, float)
        Its ends, in [0, 1].

    References
    ----------
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Examples
    --------
    >>> [round(end, 4) for end in wilson_interval(0.0, 20)]
    [0.0, 0.1611]
    """
    as_level(confidence, "confidence")
    if n != math.inf:  # what is known exactly is a sample without end
        as_positive(n, "n")
    share = min(1.0, max(0.0, as_number(share, "share", -_GRAIN, 1 + _GRAIN)))
    z = float(special.ndtri((1 + confidence) / 2))
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if share == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if share == 1 else min(1.0, (centre + spread) / scale)
    return low, high


def check_bounds(value: float, bounds: tuple[float, float]) -> None:
    """Refuse a range that is none, or that the value lies outside of."""
    low, high = as_range(bounds, "bounds")
    width = high - low
    if not -_GRAIN <= (value - low) / width <= 1 + _GRAIN:
        raise InvalidInputError(
            f"bounds: {value:g} lies outside of {bounds}; of other scales pass their ends or None"
        )


def interval(
    value: float,
    resampled: Floats,
    *,
    n_clusters: int,
    confidence: float,
    bounds: tuple[float, float] | None,
    spread: Spread | None = None,
) -> tuple[float, float, str]:
    """(low, high, method) of a figure from its values in the resamples.

    Of a bounded figure whose spread is known, a mean or a ratio, Wilson's interval with the effective sample size;
    of one without two bounds (money, seconds) Student's with the same variance. Of any other bounded figure (alpha, a
    correlation) the percentile interval, and Wilson's near its bounds or from few clusters; of any other figure
    without bounds the percentile interval. Resamples in which the figure is undefined say nothing and are left out.

    Parameters
    ----------
    value : float
        The figure.
    resampled : ndarray of shape (n_resamples,)
        Its values in the resamples; empty for no interval.
    n_clusters : int
        Clusters that it is computed from.
    bounds : (float, float) or None
        Its range; a value outside of it is an error. An end may be infinite: an amount is in (0, inf).
    spread : Spread, optional
        Of a figure that is a function of few sums; of any other it is told from the resamples. With the variance of a
        mean or ratio (`ratio_spread`) the ends depend on the data alone, and on no resample.
    """
    if len(resampled) == 0:
        return math.nan, math.nan, "none"
    finite = resampled[np.isfinite(resampled)]
    if bounds is not None:
        bounds = as_range(bounds, "bounds", endless=True)
    if bounds is not None and math.isfinite(bounds[1] - bounds[0]):
        check_bounds(value, bounds)
        low, width = bounds[0], bounds[1] - bounds[0]
        share = min(1.0, max(0.0, (value - low) / width))
        scaled = finite / width
        known = spread if spread is not None else resampled_spread(scaled, n_clusters)
        variance = known.variance / width**2
        if math.isnan(variance):
            variance = float(scaled.var()) * n_clusters / max(1, n_clusters - 1) if len(scaled) else 0.0
        size = effective_sample_size(share, variance, n_clusters, known, confidence)
        few = n_clusters < _FEW_CLUSTERS or size * min(share, 1 - share) < _FEW_EVENTS
        if spread is not None or few or variance <= NOTHING_VARIES:
            ends = wilson_interval(share, size, confidence)
            return low + width * ends[0], low + width * ends[1], "wilson"
    if n_clusters <= 1 or len(finite) == 0:
        return math.nan, math.nan, "none"
    if spread is not None and not math.isnan(spread.variance):
        tail = special.stdtrit(variance_freedom(spread.carriers, n_clusters), (1 + confidence) / 2)
        reach = float(tail) * math.sqrt(spread.variance)
        least, most = (-math.inf, math.inf) if bounds is None else bounds
        return min(value, max(least, value - reach)), max(value, min(most, value + reach)), "t"
    return *percentiles(value, finite, confidence), "percentile"


def percentiles(value: float, resampled: Floats, confidence: float) -> tuple[float, float]:
    """The percentile interval of a figure, drawn out to the figure where all but few resamples lie to one side of it.

    They do by a rounding error where all resamples are one value, and where resampling is biased: a standard
    deviation is smaller in most resamples.

    Examples
    --------
    >>> percentiles(3.0, np.array([1.0, 2.0]), 0.95)[1]
    3.0
    """
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return min(float(low), value), max(float(high), value)


def confidence_ahead(centre: float, error: float, freedom: float) -> float:
    """How sure it is that a difference is above 0: the level of the one-sided Student's interval that ends at 0.

    Examples
    --------
    >>> confidence_ahead(0.0, 0.1, 20), round(confidence_ahead(0.2086, 0.1, 20), 3)
    (0.5, 0.975)
    """
    if error == 0:
        return 0.5 + math.copysign(0.5, centre) * (centre != 0)
    return float(special.stdtr(freedom, centre / error))


def finish(
    value: float,
    resampled: Floats,
    counted: Booleans,
    resamples: Resamples,
    confidence: float,
    bounds: tuple[float, float] | None,
    spread: Spread | None = None,
) -> Estimate:
    """The estimate of a figure that is defined; ``counted`` says which items it is computed from."""
    n = int(np.count_nonzero(counted))
    n_clusters = clusters_counted(counted, resamples)
    low, high, method = interval(
        value, resampled, n_clusters=n_clusters, confidence=confidence, bounds=bounds, spread=spread
    )
    reason = None
    if bounds is None and high - low <= _GRAIN * abs(value) and np.ptp(resampled) <= _GRAIN * abs(value):
        # Resamples of one value are that value, which is no evidence that there are no others.
        low, high, method, reason = math.nan, math.nan, "none", ALL_THE_SAME
    elif math.isnan(low) and len(resampled):
        reason = ONE_CLUSTER if n_clusters <= 1 else "no interval: undefined in every resample"
    if reason is not None:
        warn(reason)
    return Estimate(value, low, high, n, n_clusters, method, reason)


def clusters_counted(counted: Booleans, resamples: Resamples) -> int:
    """How many clusters the items belong to."""
    return (
        int(np.count_nonzero(counted))
        if resamples.codes is None
        else int(np.count_nonzero(np.bincount(resamples.codes[counted])))
    )


@aligned()
def ratio_estimate(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    reason: str = "no item counts",
    **options: Unpack[Sampling],
) -> Estimate:
    """Sum of the numerators over sum of the denominators, with a cluster-bootstrap interval.

    Parameters
    ----------
    numerator, denominator : array_like of shape (n_items,)
        What each item adds to either sum; an item with denominator 0 does not count.
    bounds : (float, float) or None
        The range of the figure; within bounds the interval is Wilson's, else Student's. An end may be infinite.
    reason : str
        Said when no item counts.
    **options
        See `Sampling`.

    Returns
    -------
    Estimate
        NaN with a `StatisticsWarning` where no item counts.

    Raises
    ------
    InvalidInputError
        For NaN in either sum, and a figure outside of the bounds.

    References
    ----------
    L. Kish, "Survey Sampling" (1965), for the design effect that makes an effective sample size of clusters; N. Dean
    and M. Pagano, "Evaluating confidence interval methods for binomial proportions in clustered surveys", J. Survey
    Stat. Methodol. 3 (2015), for Wilson's interval with it.

    Examples
    --------
    >>> ratio_estimate([1, 0, 2], [2, 1, 2]).value
    0.6
    """
    top = as_items(numerator, "numerator")
    bottom = as_items(denominator, "denominator", len(top))
    if np.isnan(bottom).any() or np.isnan(top[bottom > 0]).any():
        what = "denominator" if np.isnan(bottom).any() else "numerator"
        raise InvalidInputError(f"{what}: found NaN; an item that does not count has the denominator 0")
    resamples, mask, confidence = resolve(len(top), options, weighted=True)
    weights = item_weights(len(top), options)
    counted = bottom > 0
    if mask is not None:
        counted &= mask
    if weights is not None:
        if counted.any() and not weights[counted].any():
            reason = why_none("no item counts: all that could have the weight 0", weights)
        top, bottom = top * weights, bottom * weights
        counted &= weights > 0
    if not counted.all():
        top, bottom = np.where(counted, top, 0.0), np.where(counted, bottom, 0.0)
    whole = float(bottom.sum())
    if whole == 0:
        return undefined(reason)
    value = float(top.sum()) / whole
    rows = resamples.cluster_totals(np.stack([top, bottom], axis=1))
    spread = ratio_spread(rows[:, 0] - value * rows[:, 1], rows[:, 1])
    if bounds is not None and not math.isnan(spread.variance):
        # The ends depend on the data alone; one resample says that they are asked for.
        resampled = np.full(min(1, resamples.n_resamples), value)
    else:
        resampled = resampled_ratio(top, bottom, resamples)
    return finish(value, resampled, counted, resamples, confidence, bounds, spread)


@aligned()
def mean_estimate(
    contributions: ArrayLike,
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    reason: str = "no item counts",
    **options: Unpack[Sampling],
) -> Estimate:
    """Mean over items of what each contributes, NaN taking no part, with a cluster-bootstrap interval.

    Parameters
    ----------
    contributions : array_like of shape (n_items,)
        What each item contributes to the mean; an item with NaN does not count.
    bounds : (float, float) or None
        As of `ratio_estimate`.
    reason : str
        Said when no item counts.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    As of `ratio_estimate`.

    Examples
    --------
    >>> mean_estimate([1.0, 0.0, float("nan"), 0.5]).value
    0.5
    """
    values = as_items(contributions, "contributions")
    missing = np.isnan(values)
    if missing.any():
        values = np.where(missing, 0.0, values)
    return ratio_estimate(values, (~missing).astype(np.float64), bounds=bounds, reason=reason, **options)


def resampled_ratio(top: Floats, bottom: Floats, resamples: Resamples) -> Floats:
    if not resamples.n_resamples:
        return np.zeros(0)
    totals = resamples.totals(np.stack([top, bottom], axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Floats = totals[:, 0] / totals[:, 1]
    return ratio

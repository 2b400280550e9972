"""Weighted sums of means: of groups that count alike however large they are, of datasets, and differences of such.

Each mean has its own Wilson interval, and these are put together. One variance for all would take a small group that is
all right for certain: with groups of 10 and 1,500 items its interval covers 42% where 95% is meant.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, as_list
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import (
    Sampling,
    finish,
    item_weights,
    resolve,
    why_none,
    wilson_interval,
)
from metaeval.stats.spread import effective_sample_size, ratio_spread, spread_of


def combined_interval(
    means: Floats,
    deviations: Floats,
    weights: Floats,
    factors: ArrayLike,
    *,
    confidence: float = 0.95,
    bounds: tuple[float, float] = (0.0, 1.0),
    widen: float = 1.0,
) -> tuple[float, float]:
    """Ends of the interval of a sum of factors times means, by Zou and Donner, from Wilson's interval of each mean.

    Parameters
    ----------
    means : ndarray of shape (n_means,)
    deviations, weights : ndarray of shape (n_clusters, n_means)
        What each cluster adds to the deviation of each mean from its value, and its share of that mean; 0 where the
        mean has no item of the cluster.
    factors : array_like of shape (n_means,)
        1 / n_means each for a mean of means, 1 and -1 for a difference.
    bounds : (float, float)
        Of each mean; the ends stay within what these allow.
    widen : float
        Standard errors are multiplied by it.

    References
    ----------
    G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
    in Medicine 27 (2008).

    Examples
    --------
    >>> weights = np.array([[0.1, 0.0]] * 10 + [[0.0, 0.01]] * 100)
    >>> low, high = combined_interval(np.array([1.0, 0.5]), np.zeros((110, 2)), weights, [0.5, 0.5])
    >>> round(low, 3), round(high, 3)     # nothing varies in either
    (0.603, 0.798)
    """
    signed, floor, width = np.asarray(factors, dtype=np.float64), bounds[0], bounds[1] - bounds[0]
    below, above = np.zeros(len(means)), np.zeros(len(means))
    for place, mean in enumerate(means.tolist()):
        part, share = deviations[:, place] / width, weights[:, place]
        n = int(np.count_nonzero(share))
        spread = ratio_spread(part, share)
        scaled = min(1.0, max(0.0, (mean - floor) / width))
        size = effective_sample_size(scaled, widen**2 * spread.variance, n, spread, confidence)
        low, high = (width * end for end in wilson_interval(scaled, size, confidence))
        reach = abs(signed[place]) * np.array([scaled * width - low, high - scaled * width])
        below[place], above[place] = reach if signed[place] >= 0 else reach[::-1]
    # Means that share clusters go together as their deviations do.
    parts = deviations * signed
    norms = np.sqrt((parts**2).sum(axis=0))
    together = (parts / np.where(norms > 0, norms, 1.0)).T @ (parts / np.where(norms > 0, norms, 1.0))
    np.fill_diagonal(together, 1.0)
    value = float(means @ signed)
    down, up = (math.sqrt(max(0.0, float(end @ together @ end))) for end in (below, above))
    ends = np.sort(np.outer(signed, bounds), axis=1).sum(axis=0)
    return max(float(ends[0]), value - down), min(float(ends[1]), value + up)


@aligned(apart=("among",))
def macro_mean(
    contributions: ArrayLike,
    groups: Any,
    *,
    among: Sequence[Any] | None = None,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    **options: Unpack[Sampling],
) -> Estimate:
    """Unweighted mean of the groups' means, with an interval put together from those of the groups.

    Parameters
    ----------
    contributions : array_like of shape (n_items,)
        What each item contributes to its group's mean; NaN takes no part.
    groups : array_like of shape (n_items,)
        The group of each item, LLMBar's subset for example.
    among : sequence, optional
        The groups that count (LLMBar's Adversarial is the mean of four of five). Default: all that occur.
    bounds : (float, float) or None
        As of `ratio_estimate`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        NaN with a `StatisticsWarning` where a group that counts has no item.

    Raises
    ------
    InvalidInputError
        Without names of groups in ``among``.

    Notes
    -----
    The interval is the wider, on either side, of Wilson's with the pooled variance and of one that is put together from
    Wilson's interval of each group; that the two are joined is ours.

    References
    ----------
    G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
    in Medicine 27 (2008).

    Examples
    --------
    >>> macro_mean([1, 1, 1, 0], ["easy", "easy", "easy", "hard"]).value
    0.5
    """
    values = as_items(contributions, "contributions")
    distinct, codes = as_ids(groups, "groups", len(values))
    names = distinct.tolist()
    resamples, mask, confidence = resolve(len(values), options, weighted=True)
    weights = item_weights(len(values), options)
    weights = np.ones(len(values)) if weights is None else weights
    counted = ~np.isnan(values) & (weights > 0)
    if mask is not None:
        counted &= mask
    if among is None:
        chosen = [names[place] for place in np.unique(codes if mask is None else codes[mask]).tolist()]
    else:
        chosen = as_list(among, "among")
    if not all(isinstance(name, Hashable) and not isinstance(name, np.void) for name in chosen):
        raise InvalidInputError("among: expected names of groups")
    place = {name: code for code, name in enumerate(names)}
    members = [counted & (codes == place.get(name, -1)) for name in chosen]
    empty = [str(name) for name, member in zip(chosen, members, strict=True) if not member.any()]
    if empty or not chosen:
        reason = f"no item counts in group {empty[0]}" if empty else "no item counts"
        return undefined(why_none(reason, weights))
    columns = np.stack(
        [np.where(member, values * weights, 0.0) for member in members]
        + [np.where(member, weights, 0.0) for member in members],
        axis=1,
    )
    tops, bottoms = np.split(columns.sum(axis=0), 2)
    means = tops / bottoms
    counted = np.any(members, axis=0)
    totals = resamples.totals(columns) if resamples.n_resamples else np.zeros((0, columns.shape[1]))
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = np.mean(totals[:, : len(chosen)] / totals[:, len(chosen) :], axis=1)
    in_groups, sizes = np.split(resamples.cluster_totals(columns), 2, axis=1)
    deviations, shares = (in_groups - means * sizes) / bottoms, sizes / bottoms
    factors = np.full(len(chosen), 1 / len(chosen))
    spread = spread_of(deviations @ factors, shares @ factors)
    found = finish(float(means.mean()), resampled, counted, resamples, confidence, bounds, spread)
    if bounds is None or not len(resampled):
        return found
    ends = combined_interval(means, deviations, shares, factors, confidence=confidence, bounds=bounds)
    return hull(found, ends)


def mean_of_strata(estimates: Sequence[Estimate], *, bounds: tuple[float, float]) -> Estimate:
    """Unweighted mean of figures of strata that share no cluster, each with an interval of its own.

    The intervals are put together as those of independent figures are (MOVER), whatever each was made with: of
    correlations Fisher's, which `combined_interval` has no deviations of. Undefined where one of the figures is.

    References
    ----------
    G. Y. Zou, "Toward using confidence intervals to compare correlations", Psychological Methods 12 (2007).

    Examples
    --------
    >>> strata = [Estimate(0.5, 0.2, 0.7, 30, 30, "fisher"), Estimate(0.9, 0.8, 0.94, 90, 90, "fisher")]
    >>> found = mean_of_strata(strata, bounds=(-1, 1))
    >>> found.value, round(found.low, 3), round(found.high, 3), found.n
    (0.7, 0.542, 0.802, 120)
    """
    values = np.array([one.value for one in estimates])
    missing = next((one.reason for one in estimates if math.isnan(one.value)), None)
    if missing is not None or not len(values):
        return Estimate(math.nan, math.nan, math.nan, 0, reason=missing or "no item counts")
    n, n_clusters = sum(one.n for one in estimates), sum(one.n_clusters for one in estimates)
    value = float(values.mean())
    below = math.sqrt(sum((one.value - one.low) ** 2 for one in estimates)) / len(values)
    above = math.sqrt(sum((one.high - one.value) ** 2 for one in estimates)) / len(values)
    if math.isnan(below + above):
        reason = next((one.reason for one in estimates if math.isnan(one.low)), None)
        return Estimate(value, math.nan, math.nan, n, n_clusters, "none", reason)
    low, high = max(bounds[0], value - below), min(bounds[1], value + above)
    return Estimate(value, low, high, n, n_clusters, "mover")


def hull(found: Estimate, ends: tuple[float, float]) -> Estimate:
    """The estimate with the wider of its interval and another on either side.

    Groups of a few items each that are nearly all right: put together, their intervals cover 90 to 92%, and that of
    the pooled variance 94%. A small group beside a large one: 95% and 42%.
    """
    return replace(found, low=min(found.low, ends[0]), high=max(found.high, ends[1]))

"""Many figures at once: every measure, in every group, on the same resamples.

A measure is a ratio of two sums over items. The resampled sums of all measures and groups come from one matrix
product, which is what makes a report of thirty judges a matter of seconds.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metaeval.figures.groups import Layout
from metaeval.inputs import Floats
from metaeval.stats import Estimate, Resamples
from metaeval.stats.combined import combined_interval
from metaeval.stats.intervals import clusters_counted, interval
from metaeval.stats.spread import Spread, ratio_spread, spread_of

Bounds = tuple[float, float] | None
# Resampled sums held at once, in numbers: 10,000 resamples of 500 sums.
_CHUNK = 5_000_000
# Above this many draw counts each statistic draws for itself, and equal rows are few only one measure at a time.
_SHARED_DRAWS = 64_000_000


@dataclass(frozen=True, slots=True)
class Measure:
    """What each item adds to the numerator and the denominator of one figure; shape (n_items,) each.

    ``bounds`` is the range of the figure; within bounds the interval is Wilson's. ``reason`` is said where no item
    counts. ``scale`` multiplies the figure, to give it per thousand say. ``gap``: whether the difference between
    adversarial and other subsets is one of its figures.
    """

    name: str
    top: Floats
    bottom: Floats
    bounds: Bounds = (0.0, 1.0)
    reason: str = "no item counts"
    scale: float = 1.0
    gap: bool = False


def weighted(measure: Measure, weights: Floats | None) -> Measure:
    """The measure with each item weighing what it stands for: one over the chance with which it was drawn."""
    if weights is None:
        return measure
    return replace(measure, top=measure.top * weights, bottom=measure.bottom * weights)


Breakdown = dict[str, Any]


def breakdowns(
    measures: Sequence[Measure], layout: Layout, resamples: Resamples, confidence: float
) -> dict[str, Breakdown]:
    """Each measure overall, by category, by subset and as unweighted means over subsets.

    Returns
    -------
    dict
        ``{measure: {"overall": estimate, "category": {name: estimate}, "subset": ..., "macro": ...,
        "gap": ...}}``; empty kinds are left out.
    """
    shared = resamples.n_clusters * resamples.n_resamples <= _SHARED_DRAWS
    per_measure = 2 * len(layout.groups)
    together = max(1, _CHUNK // max(1, resamples.n_resamples) // per_measure) if shared else 1
    result: dict[str, Breakdown] = {}
    for start in range(0, len(measures), together):
        chunk = measures[start : start + together]
        defined = [measure for measure in chunk if measure.bottom.any()]
        draws = _draws(defined, layout, resamples)
        for measure in chunk:
            result[measure.name] = _breakdown(measure, layout, resamples, confidence, draws.get(measure.name))
    return result


def _draws(measures: Iterable[Measure], layout: Layout, resamples: Resamples) -> dict[str, Floats]:
    """Resampled figures of each measure in each group: (n_resamples, n_groups), NaN where nothing was drawn."""
    measures = list(measures)
    if not measures:
        return {}
    n_groups = len(layout.groups)
    if not resamples.n_resamples:
        return {measure.name: np.zeros((0, n_groups)) for measure in measures}
    if not layout.combinations:
        # Of a ratio with a bound the ends depend on the data alone; one resample says that they are asked for.
        bounded = [measure for measure in measures if _is_bounded(measure)]
        rest = [measure for measure in measures if not _is_bounded(measure)]
        if bounded:
            return {measure.name: np.zeros((1, n_groups)) for measure in bounded} | _draws(
                rest, layout, resamples
            )
    members = np.stack([group.members for group in layout.groups], axis=1)
    columns = np.concatenate(
        [side[:, np.newaxis] * members for measure in measures for side in (measure.top, measure.bottom)],
        axis=1,
    )
    totals = resamples.totals(columns).reshape(resamples.n_resamples, len(measures), 2, n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        figures = totals[:, :, 0] / totals[:, :, 1]
    return {measure.name: figures[:, place] for place, measure in enumerate(measures)}


def _is_bounded(measure: Measure) -> bool:
    return measure.bounds is not None


def _breakdown(
    measure: Measure, layout: Layout, resamples: Resamples, confidence: float, draws: Floats | None
) -> Breakdown:
    result: Breakdown = {}
    values = np.full(len(layout.groups), math.nan)
    parts: list[tuple[Floats, Floats]] = []
    counted = measure.bottom > 0
    for place, group in enumerate(layout.groups):
        inside = counted & group.members
        if inside.any():
            values[place] = measure.top[inside].sum() / measure.bottom[inside].sum()
        parts.append(_parts(measure, inside, float(values[place]), resamples))
        column = np.zeros(0) if draws is None else draws[:, place]
        spread = ratio_spread(*parts[place]) if inside.any() else None
        found = _estimate(
            measure, float(values[place]), column, inside, resamples, confidence, measure.bounds, spread
        )
        if group.kind == "overall":
            result["overall"] = found
        else:
            result.setdefault(group.kind, {})[group.name] = found
    for combination in layout.combinations:
        if combination.is_difference and not measure.gap:
            continue
        used = np.flatnonzero(combination.weights)
        weights = combination.weights[used]
        value = float((values[used] * weights).sum())
        column = np.zeros(0) if draws is None else draws[:, used] @ weights
        inside = counted & np.any([layout.groups[place].members for place in used], axis=0)
        bounds = measure.bounds
        if bounds is not None and combination.is_difference:
            bounds = (bounds[0] - bounds[1], bounds[1] - bounds[0])
        deviations = np.stack([parts[place][0] for place in used], axis=1)
        sizes = np.stack([parts[place][1] for place in used], axis=1)
        together = None if math.isnan(value) else spread_of(deviations @ weights, sizes @ np.abs(weights))
        found = _estimate(measure, value, column, inside, resamples, confidence, bounds, together)
        if found["low"] is not None and measure.bounds is not None:
            ends = combined_interval(
                values[used], deviations, sizes, weights, confidence=confidence, bounds=measure.bounds
            )
            low, high = (_rounded(end * measure.scale) for end in ends)
            found |= {"low": min(found["low"], low), "high": max(found["high"], high)}
        result.setdefault(combination.kind, {})[combination.name] = found
    if "gap" in result:
        result["gap"] = next(iter(result["gap"].values()))
    return result


def _parts(measure: Measure, inside: Any, value: float, resamples: Resamples) -> tuple[Floats, Floats]:
    """What each cluster adds to the deviation of a figure from its value, and its weight in the figure."""
    bottom = np.where(inside, measure.bottom, 0.0)
    whole = bottom.sum()
    if not whole:
        nothing = np.zeros(resamples.n_clusters)
        return nothing, nothing
    columns = np.stack([np.where(inside, measure.top, 0.0), bottom], axis=1)
    tops, bottoms = (resamples.cluster_totals(columns) / whole).T
    return tops - value * bottoms, bottoms


def _estimate(
    measure: Measure,
    value: float,
    draws: Floats,
    counted: Any,
    resamples: Resamples,
    confidence: float,
    bounds: Bounds,
    spread: Spread | None,
) -> dict[str, Any]:
    n = int(np.count_nonzero(counted))
    if math.isnan(value):
        return plain(Estimate(math.nan, math.nan, math.nan, n=n, reason=measure.reason))
    n_clusters = clusters_counted(counted, resamples)
    low, high, method = interval(
        value, draws, n_clusters=n_clusters, confidence=confidence, bounds=bounds, spread=spread
    )
    reason = None
    if math.isnan(low) and len(draws):
        reason = "no interval: the items share one instruction"
    scale = measure.scale
    return plain(Estimate(value * scale, low * scale, high * scale, n, n_clusters, method, reason))


def plain(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON values, rounded to twelve digits, with the method of its interval or why there is none.

    The last bits of a sum depend on the order in which a machine adds; a report must not.
    """
    result = {name: _rounded(value) for name, value in estimate.as_dict().items()}
    if result["low"] is None:
        result.setdefault("reason", "no intervals were asked for")
    elif estimate.method != "percentile":
        result["method"] = estimate.method
    return result


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return float(f"{value:.12g}") + 0.0  # no negative zero

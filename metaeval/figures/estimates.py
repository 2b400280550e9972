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
from metaeval.inputs import Booleans, Floats
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
    groups = [_Members(group.members, resamples) for group in layout.groups]
    asked = _Asked(layout, resamples, confidence)
    result: dict[str, Breakdown] = {}
    for start in range(0, len(measures), together):
        chunk = measures[start : start + together]
        defined = [measure for measure in chunk if measure.bottom.any()]
        draws = _draws(defined, layout, resamples)
        for measure in chunk:
            result[measure.name] = _breakdown(measure, groups, asked, draws.get(measure.name))
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
    measure: Measure, groups: Sequence["_Members"], asked: "_Asked", draws: Floats | None
) -> Breakdown:
    layout, result = asked.layout, Breakdown()
    parts = [_part(measure, members) for members in groups]
    values = np.array([part.value for part in parts])
    for place, (group, part) in enumerate(zip(layout.groups, parts, strict=True)):
        spread = ratio_spread(part.deviations, part.sizes) if part.n else None
        column = np.zeros(0) if draws is None else draws[:, place]
        found = _estimate(measure, part, column, asked.confidence, measure.bounds, spread)
        if group.kind == "overall":
            result["overall"] = found
        else:
            result.setdefault(group.kind, {})[group.name] = found
    for combination in layout.combinations:
        if combination.is_difference and not measure.gap:
            continue
        used = np.flatnonzero(combination.weights).tolist()
        weights = combination.weights[used]
        bounds = measure.bounds
        if bounds is not None and combination.is_difference:
            bounds = (bounds[0] - bounds[1], bounds[1] - bounds[0])
        column = np.zeros(0) if draws is None else draws[:, used] @ weights
        counted = (measure.bottom > 0) & np.any([layout.groups[place].members for place in used], axis=0)
        n_clusters = clusters_counted(counted, asked.resamples)
        deviations = np.stack([groups[place].in_all(parts[place].deviations) for place in used], axis=1)
        sizes = np.stack([groups[place].in_all(parts[place].sizes) for place in used], axis=1)
        whole = _Part(
            float((values[used] * weights).sum()),
            np.einsum("ij,j->i", deviations, weights),
            np.einsum("ij,j->i", sizes, np.abs(weights)),
            int(np.count_nonzero(counted)),
            n_clusters,
        )
        spread = None if math.isnan(whole.value) else spread_of(whole.deviations, whole.sizes)
        found = _estimate(measure, whole, column, asked.confidence, bounds, spread)
        if found["low"] is not None and measure.bounds is not None:
            ends = combined_interval(
                values[used], deviations, sizes, weights, confidence=asked.confidence, bounds=measure.bounds
            )
            low, high = (rounded(end * measure.scale) for end in ends)
            found |= {"low": min(found["low"], low), "high": max(found["high"], high)}
        result.setdefault(combination.kind, {})[combination.name] = found
    if "gap" in result:
        result["gap"] = next(iter(result["gap"].values()))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What all measures of a call share."""

    layout: Layout
    resamples: Resamples
    confidence: float


class _Members:
    """The items of a group, with their clusters alone: a group costs what it is large."""

    def __init__(self, members: Booleans, resamples: Resamples) -> None:
        self.rows = np.flatnonzero(members)
        self.resamples = resamples.among(self.rows)
        self._whole = resamples

    def in_all(self, by_cluster: Floats) -> Floats:
        """Numbers of these clusters, in the places of all clusters."""
        codes = self.rows if self._whole.codes is None else self._whole.codes[self.rows]
        own = np.arange(len(codes)) if self.resamples.codes is None else self.resamples.codes
        found = np.zeros(self._whole.n_clusters)
        found[codes] = by_cluster[own]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A figure of a group: what each cluster adds to its deviation from its value, and weighs in it."""

    value: float
    deviations: Floats
    sizes: Floats
    n: int
    n_clusters: int


def _part(measure: Measure, members: _Members) -> _Part:
    top, bottom, resamples = measure.top[members.rows], measure.bottom[members.rows], members.resamples
    inside = bottom > 0
    n = int(np.count_nonzero(inside))
    if not n:
        nothing = np.zeros(resamples.n_clusters)
        return _Part(math.nan, nothing, nothing, 0, 0)
    if n < len(inside):
        top, bottom = np.where(inside, top, 0.0), np.where(inside, bottom, 0.0)
    whole = bottom.sum()
    value = float(top.sum() / whole)
    sizes = resamples.cluster_sums(bottom) / whole
    deviations = resamples.cluster_sums(top) / whole - value * sizes
    return _Part(value, deviations, sizes, n, int(np.count_nonzero(sizes)))


def _estimate(
    measure: Measure, part: _Part, draws: Floats, confidence: float, bounds: Bounds, spread: Spread | None
) -> dict[str, Any]:
    if math.isnan(part.value):
        return plain(Estimate(math.nan, math.nan, math.nan, n=part.n, reason=measure.reason))
    low, high, method = interval(
        part.value, draws, n_clusters=part.n_clusters, confidence=confidence, bounds=bounds, spread=spread
    )
    reason = None
    if math.isnan(low) and len(draws):
        reason = "no interval: the items share one instruction"
    value, low, high = (measure.scale * number for number in (part.value, low, high))
    return plain(Estimate(value, low, high, part.n, part.n_clusters, method, reason))


def plain(estimate: Estimate) -> dict[str, Any]:
    """An estimate as JSON values, rounded to twelve digits, with the method of its interval or why there is none.

    The last bits of a sum depend on the order in which a machine adds; a report must not.
    """
    result = {name: rounded(value) for name, value in estimate.as_dict().items()}
    if result["low"] is None:
        result.setdefault("reason", "no intervals were asked for")
    elif estimate.method != "percentile":
        result["method"] = estimate.method
    return result


def rounded(value: Any) -> Any:
    """A number to twelve digits, null where it is none; of a mapping each of its values.

    Examples
    --------
    >>> rounded({"threshold": 0.1 + 0.2, "bound": math.nan, "n": 3})
    {'threshold': 0.3, 'bound': None, 'n': 3}
    """
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return float(f"{value:.12g}") + 0.0  # no negative zero

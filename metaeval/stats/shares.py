"""Shares over clustered, weighted items with Wilson's interval in closed form, for figures that need many of them.

The ends are those of `metaeval.stats.intervals.ratio_estimate`, which are a function of the data alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, as_mask, as_weights, dot
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import wilson_interval
from metaeval.stats.options import as_level
from metaeval.stats.spread import effective_sample_size, ratio_spread


@dataclass(frozen=True, slots=True, eq=False)
class Share:
    """A share, how many independent answers it is worth, and what each cluster adds to its deviation."""

    estimate: Estimate
    size: float
    deviations: Floats

    @property
    def value(self) -> float:
        """The share."""
        return self.estimate.value


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The clusters (numbers from 0 on), weights (0: does not count) and level that figures of these items share."""

    codes: Integers
    weights: Floats
    weighted: bool
    confidence: float

    @property
    def counted(self) -> Booleans:
        """The items that count."""
        return np.asarray(self.weights > 0)

    def by_cluster(self, values: Floats) -> Floats:
        """Sums over the items of each cluster."""
        return np.bincount(self.codes, weights=values).astype(np.float64, copy=False)

    def n_clusters(self, counted: Booleans) -> int:
        """How many clusters these items belong to."""
        return int(np.count_nonzero(np.bincount(self.codes, weights=counted)))

    def share(self, values: Floats, weights: Floats) -> Share:
        """The weighted mean of values in [0, 1], where at least one weight is above 0."""
        whole = float(weights.sum())
        value = min(1.0, max(0.0, dot(weights, values) / whole))
        off, totals = self.by_cluster(weights * (values - value)), self.by_cluster(weights)
        n_clusters = int(np.count_nonzero(totals))
        spread = ratio_spread(off, totals)
        size = effective_sample_size(value, spread.variance, n_clusters, spread, self.confidence)
        ends = wilson_interval(value, size, self.confidence)
        n = int(np.count_nonzero(weights))
        return Share(Estimate(value, *ends, n, n_clusters, "wilson"), size, off / whole)


def read_frame(
    n_items: int, weights: ArrayLike | None, clusters: Any, where: ArrayLike | None, confidence: float
) -> Frame:
    """Check what every such figure takes.

    Examples
    --------
    >>> frame = read_frame(4, None, ["a", "a", "b", "b"], None, 0.95)
    >>> frame.share(np.array([1.0, 1.0, 0.0, 1.0]), frame.weights).estimate.n_clusters
    2
    """
    given = as_weights(weights, n_items)
    own = np.ones(n_items) if given is None else given
    mask = as_mask(where, n_items)
    if mask is not None:
        own = np.where(mask, own, 0.0)
    codes = np.arange(n_items) if clusters is None else as_codes(clusters, "clusters", n_items)[0]
    # Their scale says nothing, and sums near 1 are as exact as those of unweighted items.
    scaled = own / own.mean() if given is not None and own.any() else own
    return Frame(codes, scaled, given is not None, as_level(confidence, "confidence"))


def as_shares(values: ArrayLike, name: str, n_items: int | None = None) -> Floats:
    """A number from 0 to 1 an item, or NaN.

    Examples
    --------
    >>> as_shares([0.5, None], "probabilities").tolist()
    [0.5, nan]
    """
    array = as_items(values, name, n_items)
    check_shares(array, name)
    return array


def check_shares(array: Floats, name: str) -> None:
    """Refuse anything but numbers from 0 to 1, and NaN."""
    if ((array < 0) | (array > 1)).any():
        raise InvalidInputError(f"{name}: expected numbers from 0 to 1")

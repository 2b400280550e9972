"""What a paired test is made from: the items that two judges are both scored on, summed by cluster."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.arrays import Booleans, Floats, as_items, as_mask, as_weights, dot
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_level


@dataclass(frozen=True, slots=True)
class PairedScores:
    """The items that both judges are scored on, and the sums of their clusters."""

    first: Floats
    second: Floats
    weights: Floats | None
    codes: Any  # cluster of each item, or None: each item its own
    gaps: Floats  # of each cluster, the (weighted) sum of first minus second
    sizes: Floats  # of each cluster, the number of items or the sum of their weights

    @property
    def n(self) -> int:
        return len(self.first)

    @property
    def mean(self) -> float:
        return float(self.gaps.sum() / self.sizes.sum())


def paired_scores(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Any,
    where: ArrayLike | None,
    confidence: float,
    weights: ArrayLike | None = None,
) -> PairedScores | None:
    """Read the scores of two judges; None if no item is scored for both.

    Examples
    --------
    >>> paired_scores([1, 1, 0], [0, 1, float("nan")], ["a", "a", "b"], None, 0.95).gaps.tolist()
    [1.0]
    """
    one = as_items(first, "first")
    two = as_items(second, "second", len(one))
    as_level(confidence, "confidence")
    codes = None if clusters is None else as_codes(clusters, "clusters", len(one))[0]
    mask, weight = as_mask(where, len(one)), as_weights(weights, len(one))
    counted: Booleans = ~np.isnan(one) & ~np.isnan(two)
    if mask is not None:
        counted &= mask
    if weight is not None:
        counted &= weight > 0
    if not counted.any():
        return None
    one, two = one[counted], two[counted]
    gap = one - two
    if weight is not None:
        weight = weight[counted] / weight[counted].mean()
        gap = gap * weight
    if codes is None:
        return PairedScores(one, two, weight, None, gap, np.ones(len(gap)) if weight is None else weight)
    codes = np.unique(codes[counted], return_inverse=True)[1]
    sizes: Floats = np.bincount(codes, weights=weight).astype(np.float64)
    gaps: Floats = np.bincount(codes, weights=gap).astype(np.float64)
    return PairedScores(one, two, weight, codes, gaps, sizes)


def ratio_variance(gaps: Floats, sizes: Floats) -> float:
    """Variance of a mean over items, from the sums and sizes of two clusters or more.

    Examples
    --------
    >>> round(ratio_variance(np.array([1.0, 0.0, 2.0]), np.ones(3)), 6)          # 1 / 3, the variance, over 3
    0.333333
    """
    whole = float(sizes.sum())
    residuals = gaps - float(gaps.sum()) / whole * sizes
    return dot(residuals, residuals) * len(gaps) / (len(gaps) - 1) / whole**2

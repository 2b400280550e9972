"""Krippendorff's alpha of labels with many distinct values, ratings from 0 to 100 say.

A matrix of items times values would be nearly empty, and a coincidence for each pair of values far too much. Here a
label is one entry of a sparse matrix, so that time and memory grow with the number of labels. What is resampled are
the items themselves, chunk by chunk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from metaeval.stats.arrays import Booleans, Floats
from metaeval.stats.counts import LabelCounts
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.resampling import Resamples

# Ratio distances have no closed form: a matrix of values times values.
_MOST_RATIO_VALUES = 5_000
_CHUNK = 4_000_000

Distance: TypeAlias = Callable[[Floats, Floats], Floats]
"""Of two arrays of values."""


@dataclass(frozen=True, slots=True)
class ManyValues:
    """Labels of the items that count, as a sparse matrix of counts, (n_items, n_values)."""

    counts: sparse.csr_array
    sizes: Floats
    values: Floats
    item_weights: Floats

    @classmethod
    def of(cls, counts: LabelCounts, pairable: Booleans, weights: Floats | None = None) -> "ManyValues":
        """Keep the labels of the pairable items, and the values that occur there; items weigh 1 by default."""
        kept = pairable[counts.item]
        item, code = counts.item[kept], counts.code[kept]
        used, code = np.unique(code, return_inverse=True)
        ones = np.ones(len(item))
        matrix = sparse.csr_array((ones, (item, code)), shape=(counts.n_items, len(used)))
        sizes = np.bincount(item, minlength=counts.n_items).astype(np.float64)
        of_items = np.ones(counts.n_items) if weights is None else weights
        return cls(matrix, sizes, counts.values[used], of_items)

    @property
    def weight(self) -> Floats:
        """What a pair of labels of an item counts for, 1 / (m - 1)."""
        return 1.0 / np.maximum(self.sizes - 1, 1)


def alpha_and_range(data: ManyValues, level: str | Distance) -> tuple[float, tuple[float, float]]:
    """Alpha of all items, and the bounds that it has (see `metaeval.stats.alpha`)."""
    disagreement = Disagreement(data, level)
    observed, expected, total, largest = (
        float(x[0]) for x in disagreement.under(data.item_weights[:, np.newaxis])
    )
    ratio = (total - 1) / expected
    return 1 - ratio * observed, (1 - ratio * total * largest / 2, 1.0)


def resampled_alpha(data: ManyValues, level: str | Distance, resamples: Resamples) -> Floats:
    """Alpha in every resample."""
    disagreement = Disagreement(data, level)
    parts = []
    for draws in resamples.item_draws():
        observed, expected, total, _ = disagreement.under(draws.T * data.item_weights[:, np.newaxis])
        with np.errstate(invalid="ignore", divide="ignore"):
            parts.append(1 - (total - 1) * observed / expected)
    return np.concatenate(parts) if parts else np.zeros(0)


def alpha_influence(data: ManyValues, level: str | Distance) -> Floats:
    """What each item adds to the deviation of alpha, (n_items,): its derivative by the item's weight, times that.

    Ordinal ranks are taken as they are; it only matters here over how many items the variance is spread.
    """
    of_items = data.item_weights
    margins = np.asarray(data.counts.T @ of_items)
    total = float(margins.sum())
    if level in ("ordinal", "interval"):
        ranks = np.cumsum(margins) - margins / 2
        positions = ranks if level == "ordinal" else data.values
        positions = positions - positions.mean()
        sums, squares = data.counts @ positions, data.counts @ positions**2
        observed = (data.sizes * squares - sums**2) * data.weight
        whole_sum, whole_squares = float(of_items @ sums), float(of_items @ squares)
        expected = total * whole_squares - whole_sum**2
        slopes = data.sizes * whole_squares + total * squares - 2 * whole_sum * sums
    else:
        disagreement = Disagreement(data, level)
        observed = disagreement.observed
        expected = float(disagreement.under(of_items[:, np.newaxis])[1][0])
        if level == "nominal":
            slopes = total * data.sizes - data.counts @ margins
        else:
            slopes = data.counts @ (disagreement.distance @ margins)
    whole = float(of_items @ observed)
    slope: Floats = (total - 1) * whole * slopes / expected - data.sizes * whole - (total - 1) * observed
    result: Floats = of_items * slope / expected
    return result


class Disagreement:
    """Observed and expected disagreement under any draws of the items."""

    def __init__(self, data: ManyValues, level: str | Distance) -> None:
        self.level, self.values, self.weight = level, data.values, data.weight
        self.counts = data.counts
        self.by_value = data.counts.T.tocsr()
        if level == "ordinal":
            scaled = sparse.diags_array(data.sizes * self.weight) @ data.counts
            self.scaled_by_value = scaled.T.tocsr()
            return
        if level == "interval":
            self.values = data.values - data.values.mean()
        self.distance = np.zeros((0, 0))
        if callable(level) or level == "ratio":
            self.distance = _distances(data.values, level)
        self.observed = self._item_disagreement(data) * self.weight

    def under(self, draws: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Four arrays of shape (n_draws,), of draws (n_items, n_draws).

        Observed disagreement over unordered pairs of an item's labels, expected disagreement over unordered pairs of
        all labels, the number of labels, and the largest distance.
        """
        margins = np.asarray(self.by_value @ draws)
        total = margins.sum(axis=0)
        if self.level == "ordinal":
            return self._ordinal(draws, margins, total)
        observed = self.observed @ draws
        if self.level == "interval":
            expected = _spread(self.values[:, np.newaxis], margins, total)
            largest = np.full(len(total), (self.values[-1] - self.values[0]) ** 2)
        elif self.level == "nominal":
            expected, largest = (total**2 - (margins**2).sum(axis=0)) / 2, np.ones(len(total))
        else:
            expected = ((self.distance @ margins) * margins).sum(axis=0) / 2
            largest = np.full(len(total), self.distance.max())
        return observed, expected, total, largest

    def _ordinal(
        self, draws: Floats, margins: Floats, total: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """The distance of two values is how many labels lie between them: of their ranks, taken anew."""
        ranks = np.cumsum(margins, axis=0) - margins / 2 - total / 2
        squares = ((self.scaled_by_value @ draws) * ranks**2).sum(axis=0)
        sums = np.asarray(self.counts @ ranks)
        observed = squares - (draws * sums**2 * self.weight[:, np.newaxis]).sum(axis=0)
        return observed, _spread(ranks, margins, total), total, (ranks[-1] - ranks[0]) ** 2

    def _item_disagreement(self, data: ManyValues) -> Floats:
        """Sum of the distances over the unordered pairs of each item's labels."""
        if self.level == "nominal":
            return np.asarray((data.sizes**2 - data.counts.power(2).sum(axis=1)) / 2)
        item = np.repeat(np.arange(len(data.sizes)), np.diff(data.counts.indptr))
        count, value = data.counts.data, self.values[data.counts.indices]
        if self.level == "interval":
            # The sum of squared differences is m times the sum of squares about the item's mean.
            means = np.bincount(item, count * value, len(data.sizes)) / np.maximum(data.sizes, 1)
            return data.sizes * np.bincount(item, count * (value - means[item]) ** 2, len(data.sizes))
        result = np.zeros(len(data.sizes))
        step = max(1, _CHUNK // len(data.values))
        for start in range(0, len(result), step):
            some = data.counts[start : start + step]
            result[start : start + step] = np.asarray(some.multiply(some @ self.distance).sum(axis=1)) / 2
        return result


def _spread(positions: Floats, margins: Floats, total: Floats) -> Floats:
    """Sum of squared differences of the positions over all unordered pairs of labels."""
    spread: Floats = total * (margins * positions**2).sum(axis=0) - (margins * positions).sum(axis=0) ** 2
    return spread


def _distances(values: Floats, level: str | Distance) -> Floats:
    if len(values) > _MOST_RATIO_VALUES:
        name = "a distance" if callable(level) else f"level={level!r}"
        raise InvalidInputError(f"labels: {len(values)} distinct values are too many for {name}")
    if callable(level):
        return level(values[:, np.newaxis], values)
    sums = np.add.outer(values, values)
    gaps = np.subtract.outer(values, values)
    return np.divide(gaps, sums, out=np.zeros_like(gaps), where=sums != 0) ** 2

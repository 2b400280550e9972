"""The objective over several datasets: its intervals, and differences of it.

The objective is a weighted mean of the datasets' means. An item of dataset *d* weighs
*a = share_d × weight / (sum of weights in d)* in it, so it is a sum over items, and over clusters.
The variance of such a sum of ratios is that of its linearised contributions, *a × (score - mean_d)*, added up by
cluster.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metaeval.selection.table import ItemTable, sums_by_code
from metaeval.selection.types import Booleans, Floats
from metaeval.stats import Estimate, InvalidInputError, PairedDifference
from metaeval.stats.arrays import Integers, Seed, generator
from metaeval.stats.combined import combined_interval
from metaeval.stats.differences import shrinkage, stratum_variance
from metaeval.stats.intervals import ONE_CLUSTER, confidence_ahead, interval
from metaeval.stats.resampling import draw_counts
from metaeval.stats.spread import ratio_spread

# Draw counts kept, one byte each; beyond it they are drawn again each time, from the same seed.
MOST_KEPT = 64_000_000
# Draw counts turned into numbers at once, which bounds the memory.
_CHUNK = 4_000_000


class Draws:
    """A fixed set of cluster-bootstrap resamples: all judges and all datasets see the same draws.

    As `metaeval.stats.Resamples`, but for hundreds of columns at once whose rows are nearly all distinct: there a
    product of matrices is the cheapest way.

    Examples
    --------
    >>> draws = Draws(3, 1000, rng=7)
    >>> draws.totals(np.ones((3, 2))).shape, float(draws.totals(np.ones((3, 1))).min())
    ((1000, 2), 3.0)
    """

    def __init__(self, n_clusters: int, n_resamples: int, rng: Seed = None) -> None:
        if n_resamples < 0:
            raise InvalidInputError(f"n_resamples: expected 0 or more, got {n_resamples}")
        self.n_clusters, self.n_resamples = n_clusters, n_resamples
        self._seed = int(generator(rng).integers(2**62))
        self._kept: list[NDArray[np.uint8]] | None = None

    def totals(self, rows: Floats) -> Floats:
        """Totals of each column in each resample: (n_clusters, k) to (n_resamples, k)."""
        parts = [counts.T.astype(np.float64) @ rows for counts in self._counts()]
        return np.concatenate(parts) if parts else np.zeros((0, rows.shape[1]))

    def _counts(self) -> Iterator[NDArray[np.uint8]]:
        if self._kept is None and self.n_clusters * self.n_resamples <= MOST_KEPT:
            self._kept = list(self._drawn())
        yield from self._drawn() if self._kept is None else self._kept

    def _drawn(self) -> Iterator[NDArray[np.uint8]]:
        rng = np.random.default_rng(self._seed)
        step = max(1, _CHUNK // max(1, self.n_clusters))
        for start in range(0, self.n_resamples, step):
            yield draw_counts(self.n_clusters, min(step, self.n_resamples - start), rng)


def estimate_of(
    value: float,
    resampled: Floats,
    deviations: Floats,
    weights: Floats,
    *,
    n: int,
    confidence: float,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    reason: str = "no item counts",
    widen: float = 1.0,
) -> Estimate:
    """An estimate from a figure, its values in the resamples, and what each cluster adds to it, (n_clusters,)."""
    if math.isnan(value):
        return Estimate(math.nan, math.nan, math.nan, n=0, reason=reason)
    n_clusters = int(np.count_nonzero(weights))
    spread = ratio_spread(deviations, weights)
    low, high, method = interval(
        value,
        resampled,
        n_clusters=n_clusters,
        confidence=confidence,
        bounds=bounds,
        spread=replace(spread, variance=widen**2 * spread.variance),
    )
    missing = None
    if math.isnan(low) and len(resampled):
        missing = ONE_CLUSTER if n_clusters <= 1 else "no interval: undefined in every resample"
    return Estimate(value, low, high, n, n_clusters, method, missing)


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Means of the objective of columns of item scores, in all the data and in each resample of its clusters."""

    table: ItemTable
    draws: Draws
    confidence: float

    def shares(self, counted: Booleans) -> Floats:
        """What each item weighs in the objective, (n_items,); adds up to 1 over the items counted."""
        table = self.table
        weights = np.where(counted, table.weights, 0.0)
        sizes = np.bincount(table.dataset, weights=weights, minlength=len(table.shares))
        there = np.where(sizes > 0, table.shares, 0.0)
        if not there.any():
            return np.zeros(len(weights))
        each = there / there.sum() / np.where(sizes > 0, sizes, 1.0)
        return np.asarray(each[table.dataset] * weights)

    def resampled(self, columns: Floats) -> Floats:
        """The objective of each column in each resample: (n_items, k) to (n_resamples, k); NaN counts nowhere."""
        table, n_columns = self.table, columns.shape[1]
        there = ~np.isnan(columns)
        parts = []
        for place in np.flatnonzero(table.shares):
            weights = np.where(table.dataset == place, table.weights, 0.0)[:, np.newaxis] * there
            parts += [np.where(there, columns, 0.0) * weights, weights]
        totals = self.draws.totals(
            sums_by_code(table.cluster, np.concatenate(parts, axis=1), table.n_clusters)
        )
        totals = totals.reshape(len(totals), len(parts) // 2, 2, n_columns)
        values = table.values(totals[:, :, 0], totals[:, :, 1])
        shares = table.shares[table.shares > 0]
        return np.asarray(np.einsum("rdk,d->rk", values, shares))

    def mean(self, column: Floats) -> float:
        """The objective of one column; NaN where nothing counts."""
        table, counted = self.table, ~np.isnan(column)
        weights = np.where(counted, table.weights, 0.0)
        n_datasets = len(table.shares)
        sizes = np.bincount(table.dataset, weights=weights, minlength=n_datasets)
        sums = np.bincount(
            table.dataset, weights=np.where(counted, column, 0.0) * weights, minlength=n_datasets
        )
        there = (sizes > 0) & (table.shares > 0)
        if not there.any():
            return math.nan
        # As a mean of means it is exactly 1 where all are right.
        shares = table.shares[there]
        return float((sums[there] / sizes[there] * shares).sum() / shares.sum())

    def estimate(
        self, column: Floats, resampled: Floats, *, widen: float = 1.0, reason: str = "no item counts"
    ) -> Estimate:
        """The objective of one column with its interval; ``widen`` multiplies the standard error.

        Over several datasets the interval is put together from theirs: of a few instructions of one dataset that are
        all right nothing but their number tells how far they may be from the truth.
        """
        deviations, weights = self.linear(column)
        value = self.mean(column)
        found = estimate_of(
            value,
            resampled,
            deviations,
            weights,
            n=int((self.shares(~np.isnan(column)) > 0).sum()),
            confidence=self.confidence,
            reason=reason,
            widen=widen,
        )
        counted = self.table.dataset[self.shares(~np.isnan(column)) > 0]
        if math.isnan(found.low) or len(np.unique(counted)) < 2:
            return found
        low, high = self._ends(column, widen)
        return replace(found, low=low, high=high, method="wilson")

    def _ends(self, column: Floats, widen: float) -> tuple[float, float]:
        """Zou and Donner's interval of a weighted sum of means, from Wilson's of each dataset's mean.

        References
        ----------
        G. Y. Zou and A. Donner, "Construction of confidence limits about effect measures: a general approach",
        Statistics in Medicine 27 (2008).
        """
        table, weighing = self.table, self.shares(~np.isnan(column))
        means: list[float] = []
        shares: list[float] = []
        deviations: list[Floats] = []
        weights: list[Floats] = []
        for place in np.unique(table.dataset[weighing > 0]):
            items = (table.dataset == place) & (weighing > 0)
            share, cluster = float(weighing[items].sum()), table.cluster[items]
            mean = float(weighing[items] @ column[items]) / share
            rows = np.stack([weighing[items] * (column[items] - mean), weighing[items]], axis=1) / share
            means.append(mean)
            shares.append(share)
            for found, part in zip(
                (deviations, weights), sums_by_code(cluster, rows, table.n_clusters).T, strict=True
            ):
                found.append(part)
        return combined_interval(
            np.array(means),
            np.stack(deviations, axis=1),
            np.stack(weights, axis=1),
            shares,
            confidence=self.confidence,
            widen=widen,
        )

    def linear(self, column: Floats) -> tuple[Floats, Floats]:
        """What each cluster adds to the deviation of the objective from its value, and what it weighs in it."""
        table, counted = self.table, ~np.isnan(column)
        weighing, values = self.shares(counted), np.where(counted, column, 0.0)
        sizes = np.bincount(table.dataset, weights=weighing, minlength=len(table.shares))
        sums = np.bincount(table.dataset, weights=weighing * values, minlength=len(table.shares))
        means = sums / np.where(sizes > 0, sizes, 1.0)
        added = weighing * (values - means[table.dataset])
        both = sums_by_code(table.cluster, np.stack([added, weighing], axis=1), table.n_clusters)
        return both[:, 0], both[:, 1]

    def variance(self, column: Floats) -> float:
        """Squared standard error of the objective of one column, from the clusters of each dataset."""
        deviations, weights = self.linear(column)
        there = weights > 0
        homes, squares = self.table.homes[there], deviations[there, np.newaxis] ** 2
        n_datasets = len(self.table.shares)
        sizes = np.bincount(homes, minlength=n_datasets)
        return float(
            (sums_by_code(homes, squares, n_datasets)[:, 0] * sizes / np.maximum(sizes - 1, 1)).sum()
        )

    def difference(
        self,
        first: Floats,
        second: Floats,
        *,
        critical: float | None = None,
        level: float | None = None,
        widen: float = 1.0,
    ) -> PairedDifference:
        """First minus second on the items that both have, with Student's interval between clusters.

        As `metaeval.stats.paired_difference`, which it is where there is one dataset. ``level`` is that of the
        interval where it is not the confidence; ``widen`` multiplies the standard error.
        """
        gaps = first - second
        spread = self.gap_variance(gaps)
        if spread is None:
            return PairedDifference(math.nan, math.nan, math.nan, n=0, reason="no item is scored for both")
        n = int((self.shares(~np.isnan(gaps)) > 0).sum())
        n_clusters = int(spread.sizes.sum())
        value = spread.value
        if n_clusters < 2:
            return PairedDifference(value, math.nan, math.nan, n, n_clusters, reason=ONE_CLUSTER)
        if critical is None:
            level = self.confidence if level is None else level
            critical = float(special.stdtrit(spread.freedom, (1 + level) / 2))
        error = widen * math.sqrt(spread.variance)
        better = confidence_ahead(spread.centre, error, spread.freedom)
        reach = critical * error
        low, high = max(-1.0, spread.centre - reach), min(1.0, spread.centre + reach)
        return PairedDifference(value, min(low, value), max(high, value), n, n_clusters, "t", None, better)

    def gap_variance(self, gaps: Floats) -> "GapVariance | None":
        """How far a mean of gaps is known; None where there is no gap at all.

        Each dataset's clusters are a stratum, adjusted by `metaeval.stats.differences.stratum_variance` as in
        `metaeval.stats.paired_difference`.
        """
        table, counted = self.table, ~np.isnan(gaps)
        weighing = self.shares(counted)
        if not weighing.any():
            return None
        n_datasets = len(table.shares)
        cells = table.cluster * n_datasets + table.dataset
        shape = (table.n_clusters, n_datasets)
        size = np.bincount(cells, weights=weighing, minlength=shape[0] * n_datasets).reshape(shape)
        each = np.where(counted, gaps, 0.0) * weighing
        gap = np.bincount(cells, weights=each, minlength=shape[0] * n_datasets).reshape(shape)
        differing = np.bincount(table.cluster, weights=np.abs(each), minlength=shape[0])
        there = size.any(axis=1)
        size, gap, differing, homes = size[there], gap[there], differing[there], table.homes[there]
        sizes = np.bincount(homes, minlength=n_datasets)
        shrink = np.array([shrinkage(int(n)) for n in sizes])[homes]
        of_dataset = size.sum(axis=0)
        means = (shrink @ gap) / np.where(of_dataset > 0, of_dataset, 1.0)
        variances = np.zeros(n_datasets)
        for home in np.flatnonzero(sizes):
            members = homes == home
            variances[home] = stratum_variance(
                gap[members].sum(axis=1),
                size[members],
                differing[members],
                means,
                confidence=self.confidence,
            )
        return GapVariance(self.mean(gaps), float(shrink @ gap.sum(axis=1)), variances, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class GapVariance:
    """A mean difference: its value, the adjusted centre, and the variance that the clusters of each dataset bring."""

    value: float
    centre: float
    variances: Floats
    sizes: Integers

    @property
    def variance(self) -> float:
        """Squared standard error."""
        return float(self.variances.sum())

    @property
    def freedom(self) -> float:
        """Degrees of freedom (Satterthwaite); with one dataset the clusters less one."""
        return satterthwaite(self.variances, self.sizes)


def satterthwaite(variances: Floats, sizes: Integers) -> float:
    """Degrees of freedom of a sum of variances, each estimated from so many clusters."""
    used = variances > 0
    if not used.any():
        return float(max(1, int(sizes.sum()) - 1))
    each = variances[used] / variances[used].max()
    return float(each.sum() ** 2 / np.sum(each**2 / np.maximum(sizes[used] - 1, 1)))

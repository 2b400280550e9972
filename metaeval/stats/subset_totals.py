"""Means over subsets, means of such means and their differences, all from each subset's sum and count.

A table of subsets has dozens of figures, and each is a function of the same few totals: these are resampled once.
"""

from collections.abc import Sequence

import numpy as np

from metaeval.stats.arrays import Booleans, Floats, Integers
from metaeval.stats.combined import combined_interval, hull
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, finish, item_weights, resolve, why_none
from metaeval.stats.spread import ratio_spread, spread_of


class SubsetTotals:
    """What items contribute, added up by subset, in the data and in every resample.

    Parameters
    ----------
    contributions : ndarray of shape (n_items,)
        To a mean within [0, 1]; NaN takes no part.
    codes : ndarray of shape (n_items,)
        The subset of each item, from 0 on.
    n_subsets : int
    options : Sampling

    Examples
    --------
    >>> totals = SubsetTotals(np.array([1.0, 0.0, 1.0, np.nan]), np.array([0, 0, 1, 1]), 2, {})
    >>> totals.mean([0, 1]).value, totals.macro_mean([0, 1]).value
    (0.6666666666666666, 0.75)
    """

    def __init__(self, contributions: Floats, codes: Integers, n_subsets: int, options: Sampling) -> None:
        n_items = len(contributions)
        self._resamples, mask, self._confidence = resolve(n_items, options, weighted=True)
        weights = item_weights(n_items, options)
        counted = ~np.isnan(contributions)
        for part in (mask, None if weights is None else weights > 0):
            if part is not None:
                counted &= part
        size = np.where(counted, 1.0 if weights is None else weights, 0.0)
        # The sums first, then the counts: (n_items, 2 n_subsets).
        columns = np.zeros((n_items, 2 * n_subsets))
        rows = np.arange(n_items)
        columns[rows, codes] = np.where(counted, contributions, 0.0) * size
        columns[rows, n_subsets + codes] = size
        self._weights = weights
        self._counted, self._codes, self._n_subsets = counted, codes, n_subsets
        self._in_clusters = self._resamples.cluster_totals(columns)
        self._resampled = (
            self._resamples.totals(columns) if self._resamples.n_resamples else np.zeros((0, 2 * n_subsets))
        )

    def mean(self, subsets: Sequence[int], reason: str = "no item counts") -> Estimate:
        """Mean over the items of these subsets."""
        return self.combination([subsets], [1.0], reason)

    def macro_mean(
        self, subsets: Sequence[int], reason: str = "no item counts in one of the subsets"
    ) -> Estimate:
        """Unweighted mean of the subsets' means."""
        return self.combination([[one] for one in subsets], [1 / max(1, len(subsets))] * len(subsets), reason)

    def combination(
        self,
        groups: Sequence[Sequence[int]],
        factors: Sequence[float],
        reason: str,
        bounds: tuple[float, float] = (0.0, 1.0),
    ) -> Estimate:
        """The sum over groups of subsets of a factor times the mean over the group's items."""
        member = np.zeros((self._n_subsets, len(groups)))
        for place, group in enumerate(groups):
            member[list(group), place] = 1.0
        signed = np.array(factors)
        in_clusters, sizes = (part @ member for part in np.split(self._in_clusters, 2, axis=1))
        bottoms = sizes.sum(axis=0)
        if not len(groups) or not (bottoms > 0).all():
            return undefined(why_none(reason, self._weights))
        means = in_clusters.sum(axis=0) / bottoms
        resampled_tops, resampled_bottoms = (part @ member for part in np.split(self._resampled, 2, axis=1))
        with np.errstate(invalid="ignore", divide="ignore"):
            resampled = (resampled_tops / resampled_bottoms) @ signed
        deviations, shares = (in_clusters - means * sizes) / bottoms, sizes / bottoms
        parts = deviations @ signed, shares @ np.abs(signed)
        spread = ratio_spread(*parts) if len(groups) == 1 else spread_of(*parts)
        inside: Booleans = np.asarray(member.any(axis=1))
        counted = self._counted & inside[self._codes]
        found = finish(
            float(means @ signed), resampled, counted, self._resamples, self._confidence, bounds, spread
        )
        if len(groups) == 1 or not len(resampled):
            return found
        ends = combined_interval(means, deviations, shares, signed, confidence=self._confidence)
        return hull(found, ends)

"""Which judges cannot be told apart from the best: a model confidence set of the objective.

Hansen, Lunde and Nason's scheme. As long as the judges left are not equally good by a test at the level, the one
that is worst by it is dropped. The test statistic is the largest studentised lead of the leader over another judge
left. Its null distribution comes from sign flips (`NullLeads`): where all are equally good, what a cluster says in
favor of one judge it could have said against it as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from metaeval.selection.objective import Objective, satterthwaite
from metaeval.selection.skewness import canonical_order, skewness_factor
from metaeval.selection.table import sums_by_code
from metaeval.selection.types import Floats
from metaeval.stats.arrays import Integers
from metaeval.stats.differences import adjusted_variance, carriers_doubt, shrinkage

# The level is met to about 0.2 points; the seed is fixed because quantiles are constants.
_DRAWS = 10_000
_CHUNK = 1_000
_SEED = 20_240_601
# Beyond so many clusters the smallest ones are drawn together, by the central limit theorem.
_MOST_FLIPPED = 2_000
# Leads that are equal differ by less.
_GRAIN = 1e-9
_DECIMALS = 12
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class ConfidenceSet:
    """The judges kept, and how many standard errors the lead over each had to exceed.

    Attributes
    ----------
    kept : tuple of int
        The leader first. All judges that are equally best are among them with the confidence.
    critical : mapping of int to float
        For every judge but the leader, that of the step at which it was dropped, or of the last.
    widest : float
        That of the first step, when all were left: enough for any judge that the leader is compared with besides.
    """

    kept: tuple[int, ...]
    critical: dict[int, float]
    widest: float


def confidence_set(objective: Objective, judges: Sequence[int]) -> ConfidenceSet:
    """Find the set.

    Parameters
    ----------
    objective : Objective
    judges : sequence of int
        Those that may be chosen, places in the table; the leader first.

    References
    ----------
    P. R. Hansen, A. Lunde and J. M. Nason, "The model confidence set", Econometrica 79 (2011).
    """
    null = NullLeads(objective, judges)
    leads = np.array([_studentised(objective, judges[0], judge) for judge in judges])
    left = list(range(len(judges)))
    critical: dict[int, float] = {}
    widest = last = null.quantile(left)
    while len(left) > 1:
        worst = max(left[1:], key=lambda place: leads[place])
        if not leads[worst] > last:
            break
        critical[judges[worst]] = last
        left.remove(worst)
        last = null.quantile(left)
    kept = tuple(judges[place] for place in left)
    return ConfidenceSet(kept, critical | dict.fromkeys(kept[1:], last), widest)


def _studentised(objective: Objective, leader: int, judge: int) -> float:
    """The lead in standard errors, both adjusted for few clusters as in `Objective.difference`."""
    scores = objective.table.scores
    spread = objective.gap_variance(scores[:, leader] - scores[:, judge])
    if spread is None or spread.variance <= 0:
        return 0.0
    return spread.centre / float(np.sqrt(spread.variance))


class NullLeads:
    """The largest studentised lead where all judges are equally good: sign flips of whole clusters.

    Each draw gives every cluster's contributions, of all judges together, a random sign, and computes the leads and
    their standard errors anew, as `Objective.gap_variance` does. Among equally good judges a cluster is as likely to
    favor the one as the other, so the test of two is exact there, however few clusters carry the means: a multivariate
    t with the clusters less one as degrees of freedom has the 10 equal judges of 36 small and 4 large clusters in the
    set in 78% of datasets, not in 95%. Of more than two, quantiles are raised for skewness
    (`metaeval.selection.skewness`).

    Parameters
    ----------
    objective : Objective
    judges : sequence of int
        Places in the table. Where one lacks an item that another has, its mean stands there.

    References
    ----------
    J. P. Romano, "On the behavior of randomization tests without a group invariance assumption", JASA 85 (1990);
    A. C. Cameron, J. B. Gelbach and D. L. Miller, "Bootstrap-based improvements for inference with clustered errors",
    Review of Economics and Statistics 90 (2008), whose wild cluster bootstrap imposes the null in the same way.
    """

    def __init__(self, objective: Objective, judges: Sequence[int]) -> None:
        table, self._confidence = objective.table, objective.confidence
        columns = table.scores[:, list(judges)]
        weighing = objective.shares(np.asarray(~np.isnan(columns).all(axis=1)))
        items = np.flatnonzero(weighing)
        codes, cluster = np.unique(table.cluster[items], return_inverse=True)
        homes, n_datasets, n_judges = table.homes[codes], len(table.shares), len(judges)
        weights, dataset = weighing[items], table.dataset[items]
        each = _filled(columns[items], weights, dataset) * weights[:, np.newaxis]
        cells, n_cells = cluster * n_datasets + dataset, len(codes) * n_datasets
        gaps = sums_by_code(cells, each, n_cells).reshape(-1, n_datasets, n_judges)
        sizes = np.bincount(cells, weights=weights, minlength=n_cells).reshape(-1, n_datasets)
        totals = sizes.sum(axis=0)
        means = gaps.sum(axis=0) / np.where(totals > 0, totals, 1.0)[:, np.newaxis]
        # Without what the judges differ by, which an exchange would spread over all of them.
        deviations = gaps.sum(axis=1) - sizes @ means
        order = canonical_order(np.column_stack([deviations, sizes, homes]))
        gaps, sizes, homes, deviations = gaps[order], sizes[order], homes[order], deviations[order]
        cluster = np.argsort(order)[cluster]
        self._strata = [
            _stratum(
                gaps[homes == home].sum(axis=1),
                sizes[homes == home],
                each[homes[cluster] == home],
                np.flatnonzero(homes == home),
                self._confidence,
            )
            for home in np.unique(homes).tolist()
        ]
        n_clusters = np.bincount(homes, minlength=n_datasets)
        shrink = np.array([shrinkage(int(n)) for n in n_clusters])[homes]
        own = sums_by_code(homes, (deviations**2).sum(axis=1, keepdims=True), n_datasets)[:, 0]
        self._n_judges = n_judges
        self._factor = skewness_factor(deviations, sizes.sum(axis=1), self._confidence)
        freedom = satterthwaite(own, n_clusters)
        self._least = float(special.stdtrit(freedom, (1 + self._confidence) / 2))
        self._draw(gaps * shrink[:, np.newaxis, np.newaxis], totals)

    def _draw(self, gaps: Floats, totals: Floats) -> None:
        """Flip the signs: of each draw the centers, the mean of each dataset, and what the strata need of them."""
        rng = np.random.default_rng(_SEED)
        rows = gaps.reshape(len(gaps), -1)
        heavy = np.ones(len(rows), dtype=np.bool_)
        if len(rows) > _MOST_FLIPPED:
            reach = np.ptp(gaps.sum(axis=1), axis=1)
            heavy = np.zeros(len(rows), dtype=np.bool_)
            heavy[np.argsort(-reach, kind="stable")[:_MOST_FLIPPED]] = True
        light = rows[~heavy]
        covariance = light.T @ light
        scale = float(np.trace(covariance)) / max(1, len(covariance))
        root = np.linalg.cholesky(covariance + np.eye(len(covariance)) * scale * 1e-9) if scale > 0 else None
        flipped = rows[heavy]
        place = np.cumsum(heavy) - 1
        crosses = [
            (place[one.members[heavy[one.members]]], one.cross[heavy[one.members]]) for one in self._strata
        ]
        moved: list[Floats] = []
        crossed: list[list[Floats]] = [[] for _ in self._strata]
        for _ in range(0, _DRAWS, _CHUNK):
            bits = np.unpackbits(
                rng.integers(0, 256, (_CHUNK, -(-len(flipped) // 8)), dtype=np.uint8), axis=1
            )
            signs = 2 * bits[:, : len(flipped)].astype(np.float64) - 1
            one = signs @ flipped
            if root is not None:
                one += rng.standard_normal(one.shape) @ root.T
            moved.append(one)
            for (members, cross), found in zip(crosses, crossed, strict=True):
                found.append(signs[:, members] @ cross.reshape(len(cross), -1))
        shape = (_DRAWS, *gaps.shape[1:])
        whole = np.concatenate(moved).reshape(shape)
        self._centres = whole.sum(axis=1)
        self._means = whole / np.where(totals > 0, totals, 1.0)[:, np.newaxis]
        self._crossed = [
            np.concatenate(found).reshape(_DRAWS, len(one.datasets), shape[2])
            for one, found in zip(self._strata, crossed, strict=True)
        ]

    def quantile(self, left: Sequence[int]) -> float:
        """What the largest lead of the leader among some of the judges exceeds with a chance of 1 - confidence.

        At least Student's quantile, what a single comparison takes.
        """
        if len(left) < 2:
            return self._least
        among = list(left)
        centres, every = self._centres[:, among], np.arange(_DRAWS)
        # Judges that come out equal in a draw are apart by the rounding of sums, which is another on each machine.
        leader = np.round(centres, _DECIMALS).argmax(axis=1)

        def lead(values: Floats) -> Floats:
            """The leader's minus each: (n_draws, ..., n_judges)."""
            return values[every, ..., leader][..., np.newaxis] - values

        means = lead(self._means[:, :, among])
        variance = np.zeros_like(centres)
        for one, cross in zip(self._strata, self._crossed, strict=True):
            own = means[:, one.datasets]
            pair = np.ix_(among, among)
            squared = one.squares[pair][leader] - 2 * (own * lead(cross[:, :, among])).sum(axis=1)
            squared += np.einsum("bdj,de,bej->bj", own, one.products, own, optimize=True)
            squared += 2 * one.typical[pair][leader] + 2 * np.einsum("d,bdj->bj", one.average, own) ** 2
            doubt, most = one.doubt[pair][leader], one.most[pair][leader]
            variance += adjusted_variance(squared, doubt, most, len(one.members))
        leads = lead(centres) / np.sqrt(np.where(variance > 0, variance, np.inf))
        found = np.quantile(leads.max(axis=1), self._confidence, method="higher")
        return max(self._least, float(found) * (1 + _GRAIN) * self._skewness(among))

    def _skewness(self, among: list[int]) -> float:
        """By how much flips fall short for so many judges: not at all for two, in proportion for more."""
        return 1 + (self._factor - 1) * max(0, len(among) - 2) / max(1, self._n_judges - 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """What the clusters of one dataset bring to the variance of each pair of judges' difference.

    Attributes
    ----------
    members, datasets : ndarray of int
        Its clusters, and the datasets that these have items of.
    squares, typical, doubt, most : ndarray of shape (n_judges, n_judges)
        As in `metaeval.stats.differences.stratum_variance`; signs do not change them.
    cross : ndarray of shape (n_members, n_datasets, n_judges)
        Size times gap of each cluster, which the deviations from the mean need.
    products, average : ndarray
        Of the sizes: sums of products, (n_datasets, n_datasets), and means.
    """

    members: Integers
    datasets: Integers
    squares: Floats
    typical: Floats
    doubt: Floats
    most: Floats
    cross: Floats
    products: Floats
    average: Floats


def _stratum(gaps: Floats, sizes: Floats, each: Floats, members: Integers, confidence: float) -> _Stratum:
    n_judges = gaps.shape[1]
    datasets = np.flatnonzero(sizes.any(axis=0))
    sizes = sizes[:, datasets]
    whole, average = sizes.sum(axis=1), sizes.mean(axis=0)
    second, fourth, number, differing = np.zeros((4, n_judges, n_judges))
    for place in range(n_judges):
        apart = gaps - gaps[:, [place]]
        squares = np.where(np.abs(apart) > _ROUNDING, apart, 0.0) ** 2
        second[place], fourth[place] = squares.sum(axis=0), (squares**2).sum(axis=0)
        number[place] = (squares > 0).sum(axis=0)
        differing[place] = np.abs(each - each[:, [place]]).sum(axis=0)
    size = float(average.sum())
    return _Stratum(
        members=members,
        datasets=datasets,
        squares=second,
        typical=np.where(number > 0, second / np.maximum(number, 1), size**2),
        doubt=carriers_doubt(second, fourth, len(gaps), confidence),
        most=(differing + 2 * size) * float((whole**2).sum() / whole.sum()),
        cross=sizes[:, :, np.newaxis] * gaps[:, np.newaxis],
        products=sizes.T @ sizes,
        average=average,
    )


def _filled(scores: Floats, weights: Floats, dataset: Integers) -> Floats:
    """With the judge's own mean of the dataset where an item has no score."""
    if not np.isnan(scores).any():
        return scores
    there = ~np.isnan(scores)
    n_datasets = int(dataset.max()) + 1
    tops = sums_by_code(dataset, np.where(there, scores, 0.0) * weights[:, np.newaxis], n_datasets)
    bottoms = sums_by_code(dataset, there * weights[:, np.newaxis], n_datasets)
    return np.where(there, scores, (tops / np.where(bottoms > 0, bottoms, 1.0))[dataset])

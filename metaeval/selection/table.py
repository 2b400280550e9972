"""All datasets as one table of items: what each judge contributes where, checked once and here."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.selection.scoring import Block, block_of
from metaeval.selection.types import COMPOSITE, Booleans, Candidate, Floats, JudgedDataset
from metaeval.stats import InvalidInputError
from metaeval.stats.arrays import Integers

POSITIONAL, UNPARSED, COST, SECONDS = range(4)
"""Places of the figures that follow the datasets' scores in `ItemTable.tops`."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemTable:
    """Items of all datasets, one after the other.

    Attributes
    ----------
    datasets, judges, categories : tuple of str
        Names; the judges are the candidates in the order given. Category "" comes first.
    scores : ndarray of shape (n_items, n_judges)
        What each item contributes to the judge's score on its dataset; NaN where it does not count. Items that are
        not common to the judges compared count for nobody.
    dataset, category, cluster : ndarray of int, shape (n_items,)
    weights : ndarray of shape (n_items,)
        Their mean is 1 in each dataset.
    shares : ndarray of shape (n_datasets,)
        What each dataset weighs in the objective; they add up to 1, or are all 0 where nothing can be scored.
    ranked : ndarray of bool, shape (n_judges,)
        The candidates that are compared: no baselines, and none that judged a part only.
    tops, bottoms : ndarray of shape (n_clusters, n_datasets + 4, n_judges)
        Sums over the items of each cluster: every figure of a judge is the ratio of two of them. First the score on
        each dataset; then positional agreement, unparsed share, cost of 1,000 judgments, seconds of one.
    counts : ndarray of int, shape (n_datasets + 4, n_judges)
        Items that each figure is computed from.
    homes : ndarray of int, shape (n_clusters,)
        The dataset in whose score the cluster weighs most: its stratum.
    """

    datasets: tuple[str, ...]
    judges: tuple[str, ...]
    categories: tuple[str, ...]
    scores: Floats
    dataset: Integers
    category: Integers
    cluster: Integers
    weights: Floats
    shares: Floats
    ranked: Booleans
    tops: Floats
    bottoms: Floats
    counts: Integers
    homes: Integers

    @property
    def n_clusters(self) -> int:
        """Instructions in all datasets together."""
        return len(self.tops)

    @property
    def decides(self) -> Booleans:
        """Items that the objective is computed from, (n_items,)."""
        if not self.ranked.any():
            return np.zeros(len(self.scores), dtype=np.bool_)
        first = int(np.argmax(self.ranked))
        return ~np.isnan(self.scores[:, first]) & (self.shares[self.dataset] > 0)

    def values(self, tops: Floats, bottoms: Floats) -> Floats:
        """Figures from their sums, NaN where nothing counts."""
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio: Floats = np.where(bottoms > 0, tops / bottoms, np.nan)
        return ratio

    def objective(self, values: Floats, *, strict: bool = True) -> Floats:
        """Weighted mean of the datasets' scores: (..., n_figures, n_judges) to (..., n_judges).

        A dataset of which nothing is there makes it NaN, or with ``strict=False`` is left out of the mean.
        """
        places = np.flatnonzero(self.shares)
        scores, shares = values[..., places, :], self.shares[places, np.newaxis]
        if strict:
            with np.errstate(invalid="ignore"):
                return np.asarray((scores * shares).sum(axis=-2) / shares.sum())
        there = ~np.isnan(scores)
        whole = np.where(there, shares, 0.0).sum(axis=-2)
        with np.errstate(invalid="ignore"):
            mean: Floats = np.where(there, scores * shares, 0.0).sum(axis=-2) / whole
        return mean


def table_of_scores(scores: Floats, cluster: Integers, weights: Floats | None = None) -> ItemTable:
    """Judges' scores of the items of one dataset as a table of nothing else.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_judges)
        NaN where an item does not count.
    cluster : ndarray of int, shape (n_items,)
    weights : ndarray of shape (n_items,), optional
    """
    n_items, n_judges = scores.shape
    nothing, n_clusters = np.zeros(n_items, dtype=np.intp), int(cluster.max(initial=-1)) + 1
    no_figures = np.zeros((n_clusters, 0, n_judges))
    return ItemTable(
        datasets=("",),
        judges=tuple(str(place) for place in range(n_judges)),
        categories=("",),
        scores=scores,
        dataset=nothing,
        category=nothing,
        cluster=cluster,
        weights=np.ones(n_items) if weights is None else weights,
        shares=np.ones(1),
        ranked=np.ones(n_judges, dtype=np.bool_),
        tops=no_figures,
        bottoms=no_figures,
        counts=np.zeros((0, n_judges), dtype=np.intp),
        homes=np.zeros(n_clusters, dtype=np.intp),
    )


def table_build(
    datasets: Sequence[JudgedDataset], candidates: Sequence[Candidate]
) -> tuple[ItemTable, list[str]]:
    """Put the datasets together, and say in plain words what is left out.

    Raises
    ------
    InvalidInputError
        Naming the dataset and the judge.
    """
    _check_names(datasets, candidates)
    judges = tuple(candidate.key for candidate in candidates)
    blocks = [block_of(dataset, judges) for dataset in datasets]
    notes: list[str] = []
    dataset = np.repeat(np.arange(len(blocks)), [len(block.scorable) for block in blocks])
    covered = np.concatenate([block.covered for block in blocks])
    may_rank = np.array([not candidate.is_baseline for candidate in candidates], dtype=np.bool_)
    weights = np.array([one.weight for one in datasets], dtype=np.float64)
    item_weights = np.concatenate([block.weights for block in blocks])
    covered &= item_weights[:, np.newaxis] > 0
    for place, (one, block) in enumerate(zip(datasets, blocks, strict=True)):
        scored = bool(covered[dataset == place][:, may_rank].any())
        if not scored:
            weights[place] = 0.0
            notes.append(_nothing_scored(one, block))
    if not any(one.weight for one in datasets):
        notes.append("Every dataset has weight 0: nothing determines the choice.")
    ranked, common = comparable_judges(covered, dataset, weights > 0, may_rank)
    notes += _left_out(candidates, ranked, may_rank, covered, dataset, weights > 0)
    scorable = np.concatenate([block.scorable for block in blocks])
    for place in np.flatnonzero(weights).tolist() if ranked.any() else []:
        asked, there = int((common & (dataset == place)).sum()), int((scorable & (dataset == place)).sum())
        if asked < there:
            notes.append(
                f"{datasets[place].name}: judges are compared on {asked:,} of the {there:,} items that can be scored, "
                f"those that all of them judged."
            )
    scores = np.concatenate([block.scores for block in blocks])
    scores[~common] = np.nan
    names, cluster = np.unique(
        np.concatenate([np.asarray(one.clusters).astype(str) for one in datasets]), return_inverse=True
    )
    categories, category = np.unique(
        np.concatenate([np.array([""]), *(np.asarray(one.categories).astype(str) for one in datasets)]),
        return_inverse=True,
    )
    shares = weights / weights.sum() if weights.any() and ranked.any() else np.zeros(len(weights))
    tops, bottoms, counts = _figures(scores, blocks, dataset, cluster, len(names), item_weights)
    table = ItemTable(
        datasets=tuple(one.name for one in datasets),
        judges=judges,
        categories=tuple(str(name) for name in categories),
        scores=scores,
        dataset=dataset,
        category=category[1:],
        cluster=cluster,
        weights=item_weights,
        shares=shares,
        ranked=ranked,
        tops=tops,
        bottoms=bottoms,
        counts=counts,
        homes=_homes(dataset, cluster, item_weights * common, shares, len(names)),
    )
    return table, notes


def _check_names(datasets: Sequence[JudgedDataset], candidates: Sequence[Candidate]) -> None:
    if not datasets:
        raise InvalidInputError("datasets: expected at least one")
    if not candidates:
        raise InvalidInputError("candidates: expected at least one")
    for names, what in (
        ([one.name for one in datasets], "datasets"),
        ([one.key for one in candidates], "candidates"),
    ):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InvalidInputError(f"{what}: {twice[0]!r} is there twice")
    if any(candidate.key == COMPOSITE for candidate in candidates):
        raise InvalidInputError(f"candidates: the key {COMPOSITE!r} is taken by the composite")


def comparable_judges(
    covered: Booleans, dataset: Integers, weighted: Booleans, may_rank: Booleans
) -> tuple[Booleans, Booleans]:
    """Which judges are compared, and on which items: those that all of them judged.

    Judges join from the one that judged most downwards, as long as at least half of its items stay on every dataset
    that decides. On a dataset that decides nothing the same rule finds the items; a judge that lacks some of them has
    its score there on the others.
    """
    n_datasets = len(weighted)

    def sizes(items: Booleans) -> Integers:
        return np.bincount(dataset[items], minlength=n_datasets)

    def join(places: Sequence[int], among: Booleans) -> tuple[list[int], Booleans]:
        in_these = among[dataset]
        numbers = {place: sizes(covered[:, place] & in_these)[among] for place in places}
        most = np.maximum(np.max([numbers[place] for place in places], axis=0, initial=0), 1)
        order = sorted(
            places, key=lambda at: (-float(np.min(numbers[at] / most)), -int(numbers[at].sum()), at)
        )
        if not order or not numbers[order[0]].all():
            return [], np.zeros(len(dataset), dtype=np.bool_)
        common, joined = covered[:, order[0]] & in_these, []
        enough = sizes(common)[among] / 2
        for place in order:
            shared = common & covered[:, place]
            if (sizes(shared)[among] >= enough).all():
                common = shared
                joined.append(place)
        return joined, common

    ranked = np.zeros(len(may_rank), dtype=np.bool_)
    if not weighted.any():
        return ranked, np.asarray(covered[:, may_rank].any(axis=1))
    joined, common = join([int(place) for place in np.flatnonzero(may_rank)], weighted)
    ranked[joined] = True
    for place in np.flatnonzero(~weighted):
        if joined:
            common = common | join(joined, np.arange(n_datasets) == place)[1]
    return ranked, common


def _figures(
    scores: Floats,
    blocks: list[Block],
    dataset: Integers,
    cluster: Integers,
    n_clusters: int,
    weights: Floats,
) -> tuple[Floats, Floats, Integers]:
    n_datasets, n_judges = len(blocks), scores.shape[1]
    tops = np.zeros((n_clusters, n_datasets + 4, n_judges))
    bottoms = np.zeros_like(tops)
    counts = np.zeros((n_datasets + 4, n_judges), dtype=np.intp)
    for place, block in enumerate(blocks):
        items = dataset == place
        block_scores = scores[items]
        counted = (~np.isnan(block_scores)).astype(np.float64)
        parts = [(place, np.where(counted > 0, block_scores, 0.0), counted)]
        parts += [(n_datasets + which, *sums) for which, sums in enumerate(block.measures)]
        for figure, top, bottom in parts:
            # Only scores rest on labels, whose items were drawn; the other figures are of every judgment alike.
            weighed = weights[items, np.newaxis]
            if figure >= n_datasets:
                weighed = (weighed > 0).astype(np.float64)
            counts[figure] += (bottom * weighed > 0).sum(axis=0)
            for sums, column in ((tops, top), (bottoms, bottom)):
                sums[:, figure] += sums_by_code(cluster[items], column * weighed, n_clusters)
    return tops, bottoms, counts


def sums_by_code(codes: Integers, columns: Floats, n_codes: int) -> Floats:
    """Sums of the columns over the items of each code."""
    return np.stack([np.bincount(codes, weights=column, minlength=n_codes) for column in columns.T], axis=1)


def _homes(
    dataset: Integers, cluster: Integers, weights: Floats, shares: Floats, n_clusters: int
) -> Integers:
    sizes = np.bincount(dataset, weights=weights, minlength=len(shares))
    part = shares[dataset] * weights / np.maximum(sizes, 1e-300)[dataset]
    cells = np.bincount(cluster * len(shares) + dataset, weights=part, minlength=n_clusters * len(shares))
    # A cluster that decides nothing lives where its items are.
    items = np.bincount(cluster * len(shares) + dataset, minlength=len(cells))
    return np.asarray((cells + items * 1e-300).reshape(n_clusters, len(shares)).argmax(axis=1))


def _nothing_scored(dataset: JudgedDataset, block: Block) -> str:
    if not block.scorable.any():
        labels = "two labels" if dataset.scores is None else "labels"
        lacks = "no item with a gold answer" if dataset.role == "gold" else f"no item with {labels}"
        return f"{dataset.name}: {lacks}, so it is reported only."
    if not (block.scorable & (block.weights > 0)).any():
        return f"{dataset.name}: every item that can be scored has weight 0, so it is reported only."
    return f"{dataset.name}: no candidate judged an item that can be scored, so it is reported only."


def _left_out(
    candidates: Sequence[Candidate],
    ranked: Booleans,
    may_rank: Booleans,
    covered: Booleans,
    dataset: Integers,
    weighted: Booleans,
) -> list[str]:
    notes = []
    for place, candidate in enumerate(candidates):
        if may_rank[place] and not ranked[place] and weighted.any():
            numbers = int(covered[weighted[dataset], place].sum())
            most = int(covered[weighted[dataset]][:, may_rank].sum(axis=0).max())
            notes.append(
                f"{candidate.name} judged {numbers:,} of the items that others judged {most:,} of, too few on some "
                f"dataset, so it is not ranked."
            )
    return notes

"""All datasets as one table of items: what each judge contributes where, checked once and here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metaeval.selection.types import COMPOSITE, Booleans, Candidate, Floats, JudgedDataset
from metaeval.stats import (
    InvalidInputError,
    accuracy_contributions,
    leave_one_out_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.arrays import Integers, as_items, as_matrix, check_choices

POSITIONAL, UNPARSED, COST, SECONDS = range(4)
"""Places of the figures that follow the datasets' scores in `Table.tops`."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
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
            return np.asarray((scores * shares).sum(axis=-2)) if len(places) else scores.sum(axis=-2) * np.nan
        there = ~np.isnan(scores)
        whole = np.where(there, shares, 0.0).sum(axis=-2)
        with np.errstate(invalid="ignore"):
            mean: Floats = np.where(there, scores * shares, 0.0).sum(axis=-2) / whole
        return mean


def table_build(
    datasets: Sequence[JudgedDataset], candidates: Sequence[Candidate]
) -> tuple[Table, list[str]]:
    """Put the datasets together, and say in plain words what is left out.

    Raises
    ------
    InvalidInputError
        Naming the dataset and the judge.
    """
    _check_names(datasets, candidates)
    judges = tuple(candidate.key for candidate in candidates)
    blocks = [_block(dataset, judges) for dataset in datasets]
    notes: list[str] = []
    dataset = np.repeat(np.arange(len(blocks)), [len(block.scorable) for block in blocks])
    covered = np.concatenate([block.covered for block in blocks])
    may_rank = np.array([not candidate.is_baseline for candidate in candidates], dtype=np.bool_)
    weights = np.array([one.weight for one in datasets], dtype=np.float64)
    for place, (one, block) in enumerate(zip(datasets, blocks, strict=True)):
        scored = bool(block.covered[:, may_rank].any())
        if not scored:
            weights[place] = 0.0
            notes.append(_nothing_scored(one, block))
    ranked, common = _comparable(covered, dataset, weights > 0, may_rank)
    notes += _left_out(candidates, ranked, may_rank, covered, dataset, weights > 0)
    scores = np.concatenate([block.scores for block in blocks])
    scores[~common] = np.nan
    names, cluster = np.unique(
        np.concatenate([np.asarray(one.clusters).astype(str) for one in datasets]), return_inverse=True
    )
    categories, category = np.unique(
        np.concatenate([np.array([""]), *(np.asarray(one.categories).astype(str) for one in datasets)]),
        return_inverse=True,
    )
    item_weights = np.concatenate([block.weights for block in blocks])
    shares = weights / weights.sum() if weights.any() and ranked.any() else np.zeros(len(weights))
    tops, bottoms, counts = _figures(scores, blocks, dataset, cluster, len(names), item_weights)
    table = Table(
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


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """One dataset's arrays; all over items and judges, the orders of presentation added up."""

    scores: Floats
    scorable: Booleans
    covered: Booleans
    weights: Floats
    measures: list[tuple[Floats, Floats]]  # sums and numbers of positional agreement, unparsed, cost, seconds


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


def _block(dataset: JudgedDataset, judges: Sequence[str]) -> _Block:
    try:
        return _block_unnamed(dataset, judges)
    except InvalidInputError as error:
        raise InvalidInputError(f"dataset {dataset.name!r}: {error}") from error


def _block_unnamed(dataset: JudgedDataset, judges: Sequence[str]) -> _Block:
    n = len(dataset.clusters)
    for name in ("clusters", "categories"):
        shape = np.shape(getattr(dataset, name))
        if shape != (n,):
            raise InvalidInputError(f"{name}: expected shape ({n},), got {shape}")
    if not (np.isfinite(dataset.weight) and dataset.weight >= 0):
        raise InvalidInputError(f"weight: expected 0 or more, got {dataset.weight}")
    score, scorable = _scorer(dataset, n)
    columns = [_judge(dataset, key, n, score) for key in judges]
    scores = np.stack([column[0] for column in columns], axis=1)
    asked = np.stack([column[1].any(axis=1) for column in columns], axis=1)
    measures = [
        (
            np.stack([column[2][place][0] for column in columns], axis=1),
            np.stack([column[2][place][1] for column in columns], axis=1),
        )
        for place in range(4)
    ]
    return _Block(scores, scorable, asked & scorable[:, np.newaxis], _item_weights(dataset, n), measures)


def _scorer(dataset: JudgedDataset, n: int) -> tuple[Callable[[Floats], Floats], Booleans]:
    """How verdicts in one order are scored, and which items can be scored at all."""
    if dataset.role == "gold":
        gold = np.full(n, np.nan) if dataset.gold is None else as_items(dataset.gold, "gold", n)
        check_choices(gold, "gold")
        return (lambda verdicts: accuracy_contributions(verdicts, gold)), ~np.isnan(gold)
    if dataset.role != "people":
        raise InvalidInputError(f"role: expected 'people' or 'gold', got {dataset.role!r}")
    labels = np.full((n, 0), np.nan) if dataset.labels is None else as_matrix(dataset.labels, "labels")
    if len(labels) != n:
        raise InvalidInputError(f"labels: expected {n} items, got {len(labels)}")
    check_choices(labels, "labels")
    two = (~np.isnan(labels)).sum(axis=1) > 1
    if not two.any():
        return (lambda _: np.full(n, np.nan)), two
    return (lambda verdicts: leave_one_out_contributions(labels, verdicts)), two


def _item_weights(dataset: JudgedDataset, n: int) -> Floats:
    if dataset.weights is None or not n:
        return np.ones(n)
    weights = as_items(dataset.weights, "weights", n)
    if not (weights > 0).all():
        raise InvalidInputError("weights: expected a number above 0 for every item")
    return np.asarray(weights / weights.mean())


def _judge(dataset: JudgedDataset, key: str, n: int, score: Callable[[Floats], Floats]) -> tuple[Any, ...]:
    """(scores, judged, measures) of one judge; one that is not in the dataset judged nothing."""
    verdicts, judged = judged_verdicts(dataset, key)
    parsed = ~np.isnan(verdicts)
    # Not judged is not the same as unparsed: what was not judged takes no part.
    each = np.stack([score(column) for column in verdicts.T], axis=1)
    counted = judged & ~np.isnan(each)
    number = counted.sum(axis=1)
    scores = np.where(number > 0, np.where(counted, each, 0.0).sum(axis=1) / np.maximum(number, 1), np.nan)
    both = judged.all(axis=1)
    # A judge that never gives a readable verdict is not a consistent one.
    both &= bool((parsed & both[:, np.newaxis]).any())
    same = positional_agreement_contributions(verdicts) * both
    n_judged = judged.sum(axis=1).astype(np.float64)
    measures = [
        (same, both.astype(np.float64)),
        ((judged & ~parsed).sum(axis=1).astype(np.float64), n_judged),
        _amounts(dataset.costs, key, n, judged, "costs", 1000.0),
        _amounts(dataset.seconds, key, n, judged, "seconds", 1.0),
    ]
    return scores, judged, measures


def judged_verdicts(dataset: JudgedDataset, key: str) -> tuple[Floats, Booleans]:
    """One judge's verdicts, NaN where there are none, and whether there is a judgment: both (n_items, 2)."""
    n = len(dataset.clusters)
    verdicts = _two_orders(dataset.verdicts, key, n, "verdicts")
    check_choices(verdicts, f"verdicts of {key!r}")
    judged = ~np.isnan(verdicts)
    if key in dataset.judged:
        judged = np.asarray(dataset.judged[key])
        if judged.dtype != np.bool_ or judged.shape != (n, 2):
            raise InvalidInputError(f"judged of {key!r}: expected booleans of shape ({n}, 2)")
    return np.where(judged, verdicts, np.nan), judged


def _two_orders(columns: Any, key: str, n: int, what: str) -> Floats:
    if key not in columns:
        return np.full((n, 2), np.nan)
    array = as_matrix(columns[key], f"{what} of {key!r}")
    if array.shape != (n, 2):
        raise InvalidInputError(f"{what} of {key!r}: expected shape ({n}, 2), got {array.shape}")
    return array


def _amounts(
    columns: Any, key: str, n: int, judged: Booleans, what: str, scale: float
) -> tuple[Floats, Floats]:
    amounts = _two_orders(columns, key, n, what)
    measured = judged & ~np.isnan(amounts)
    return scale * np.where(measured, amounts, 0.0).sum(axis=1), measured.sum(axis=1).astype(np.float64)


def _comparable(
    covered: Booleans, dataset: Integers, weighted: Booleans, may_rank: Booleans
) -> tuple[Booleans, Booleans]:
    """Which judges are compared, and on which items: those that all of them judged.

    Judges join from the one that judged most downwards, as long as at least half of its items stay on every dataset
    that decides. On a dataset that decides nothing the items are those that most of the judges compared have judged,
    by the same rule; a judge that lacks them has no score there.
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
        return ranked, covered[:, may_rank].any(axis=1)
    joined, common = join([int(place) for place in np.flatnonzero(may_rank)], weighted)
    ranked[joined] = True
    for place in np.flatnonzero(~weighted):
        if joined:
            common = common | join(joined, np.arange(n_datasets) == place)[1]
    return ranked, common


def _figures(
    scores: Floats,
    blocks: list[_Block],
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
            counts[figure] += (bottom > 0).sum(axis=0)
            for sums, column in ((tops, top), (bottoms, bottom)):
                sums[:, figure] += sums_by_code(
                    cluster[items], column * weights[items, np.newaxis], n_clusters
                )
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
    cells += np.bincount(cluster * len(shares) + dataset, minlength=len(cells)) * 1e-300
    return np.asarray(cells.reshape(n_clusters, len(shares)).argmax(axis=1))


def _nothing_scored(dataset: JudgedDataset, block: _Block) -> str:
    if not block.scorable.any():
        lacks = "no item with a gold answer" if dataset.role == "gold" else "no item with two labels"
        return f"{dataset.name}: {lacks}, so it decides nothing."
    return f"{dataset.name}: no candidate judged an item that can be scored, so it decides nothing."


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

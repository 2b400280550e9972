"""What rankings of aspects and of answers share: correlations with each target, and of every two people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second

from metaeval.figures.figure import CORRELATION, GROUPS, Figure
from metaeval.figures.sample import (
    CrossedRatio,
    JudgeSample,
    Ratio,
    Sample,
    best_of_several,
    mean_of,
    means_by,
    part_mask,
    share_of,
)
from metaeval.inputs import Booleans, Floats, Integers, JudgeAnswers, baseline_judge
from metaeval.stats import RankPairs, rank_pairs
from metaeval.stats.correlation import Method
from metaeval.stats.crossed import Crossing
from metaeval.stats.crossed_sums import (
    CrossedSums,
    mean_effects,
    mean_with_others,
    pair_effects,
    replaced_effects,
)

_ENDS = (-1.0, 1.0)
# There are two orders with ties for each part after the first: of ten parts 512.
_MOST_TIED = 10
_AT_ONCE = 4096
NO_ORDER = 0.5
"""What a ranking scores that puts everything on one rank: broken by chance, its ties have a mean rho of 0."""
_NO_RHO = "no item on which both a judge and those it is compared with order the parts"
_NO_PAIR = "no item has two rankings that are not constant"
_NOT_TWO = "no item has two rankings"


class RankingJudge(JudgeSample):
    """A judge's rankings, beside each target of an item: a person's or the gold one."""

    sample: RankingSample

    @property
    def ranks(self) -> Floats:
        """(n_items, n_parts); NaN where it could not be read, or is of other parts."""
        return self.judge.values[:, 0]

    @property
    def scores(self) -> Floats:
        """How good each part is: the finest number where there is one (a log-likelihood), else minus the rank."""
        if self.judge.finer is None:
            return -self.ranks
        finer = self.judge.finer[:, 0]
        return np.where(np.isnan(finer).all(axis=1, keepdims=True), -self.ranks, finer)

    @property
    def spearman(self) -> Floats:
        """Rho by item, averaged over its targets: NaN where there is none."""
        return self._by_item("spearman")

    @property
    def pearson(self) -> Floats:
        """The same of Pearson's r, by how far apart the parts are."""
        return self._by_item("pearson")

    def _by_item(self, method: Method) -> Floats:
        return means_by(self.sample.targets[0], self.with_each(method), self.sample.n_items)

    def with_each(self, method: Method) -> Floats:
        """Its correlation with each target: (n_targets,)."""
        if method not in self._with_each:
            said = -self.ranks if method == "spearman" else self.scores
            self._with_each[method] = self._correlated(said, method)
        return self._with_each[method]

    @cached_property
    def _with_each(self) -> dict[Method, Floats]:
        return {}

    def _correlated(self, said: Floats, method: Method) -> Floats:
        sample, (item, target) = self.sample, self.sample.targets
        found = np.full(len(item), np.nan)
        readable = np.asarray((~np.isnan(self.ranks)).any(axis=1))[item]
        # Items of as many parts are computed together: each row is a judge's answer beside one target.
        for n in np.unique(sample.n_parts[item]).tolist():
            rows = np.flatnonzero(readable & (sample.n_parts[item] == n))
            sides = said[item[rows], :n], target[rows, :n]
            if method == "spearman" and len(rows):
                sides = scipy.stats.rankdata(sides[0], axis=1), scipy.stats.rankdata(sides[1], axis=1)
            if n and len(rows):
                found[rows] = row_correlations(*sides)
        return found

    def with_alike(self, method: Method) -> CrossedRatio | None:
        """The correlation with the target, of annotators like these too."""
        sample = self.sample
        if sample.against_gold:
            return None
        mean, effects = mean_effects(self.with_each(method), sample.ranking, sample.n_items)
        return CrossedRatio(_sums(mean, effects), sample.ranking, _ENDS)

    def beside_people(self) -> CrossedRatio | None:
        """Its rho with each annotator minus that of annotators with one another."""
        own = self.with_alike("spearman")
        return None if own is None else replace(own, minus=self.sample.paired.sums)

    def beside_best(self) -> CrossedRatio | None:
        """The upper bound minus its rho with each annotator."""
        own = self.with_alike("spearman")
        return None if own is None else replace(own, sums=self.sample.best, minus=own.sums)

    def alike(self, primary: str) -> CrossedRatio | None:
        # Where it says nothing of an order, or of other parts, it has a score all the same: no label moves that.
        return self.with_alike("pearson" if primary == "pearson" else "spearman")

    @property
    def read(self) -> Booleans:
        """Items with an answer that could be read, be it of these parts or not."""
        return np.asarray((self.judge.judged & ~self.judge.unparsed)[:, 0])

    def mean(self, method: str) -> Ratio:
        """The correlation with the target, averaged over items."""
        return mean_of(getattr(self, method), _NO_RHO)

    def undefined(self) -> Ratio:
        """Compared items without a correlation."""
        compared = self.read & self.sample.has_target("")
        return share_of(np.isnan(self.spearman), compared, _NO_RHO)

    def score(self, primary: str) -> Floats:
        """(1 + r) / 2 of the figure that ranks judges; what is of other parts scores 0."""
        found = np.asarray(getattr(self, primary))
        column = np.where(np.isnan(found), NO_ORDER, (1.0 + found) / 2)
        return np.where(np.isnan(found) & self.read & np.isnan(self.ranks).all(axis=1), 0.0, column)


class RankingSample(Sample):
    """Rankings of the labels and of the target."""

    judge_type = RankingJudge

    @cached_property
    def n_parts(self) -> Integers:
        """Parts of each item."""
        return np.array([len(names) for names in self.items.parts], dtype=np.intp)

    @cached_property
    def ranked(self) -> Integers:
        """The labels that rank the parts of their item."""
        return np.flatnonzero(~np.isnan(self.labels.values).all(axis=1))

    @cached_property
    def targets(self) -> tuple[Integers, Floats]:
        """What judges are compared with, a row a person or the gold one: the item, and its parts, higher is better."""
        if self.against_gold:
            rows = np.flatnonzero(self.items.has_gold)
            return rows, -self.items.gold[rows]
        return self.labels.item[self.ranked], -self.labels.values[self.ranked]

    def has_target(self, primary: str) -> Booleans:  # noqa: ARG002
        return np.bincount(self.targets[0], minlength=self.n_items) > 0

    @property
    def scorable(self) -> Booleans:
        """With a target of one rank, or of one part, there is no order to find."""
        item, target = self.targets
        whole = part_mask(self.items.parts, self.items.width)[item]
        low = np.where(whole, target, np.inf).min(axis=1, initial=np.inf)
        high = np.where(whole, target, -np.inf).max(axis=1, initial=-np.inf)
        return np.bincount(item[low < high], minlength=self.n_items) > 0

    @cached_property
    def ranking(self) -> Crossing:
        """Who gave which ranking."""
        return Crossing.of(self.labels.item[self.ranked], self.labels.annotator[self.ranked])

    @cached_property
    def paired(self) -> CrossedRatio:
        """Rho of two annotators, of annotators like these too."""
        _, effects = pair_effects(self.with_others()[self.ranked], self.ranking, self.n_items)
        return CrossedRatio(_sums(self._rho, effects), self.ranking, _ENDS)

    @cached_property
    def best(self) -> CrossedSums:
        """The upper bound: of each item the order that has the highest mean rho with its rankings."""
        crossing, ranks = self.ranking, self.labels.values[self.ranked]
        item = crossing.item
        units, ordered = np.zeros(ranks.shape), np.zeros(len(item), dtype=np.bool_)
        for n in np.unique(self.n_parts[item]).tolist():
            rows = np.flatnonzero(self.n_parts[item] == n)
            units[rows, :n] = _unit(scipy.stats.rankdata(ranks[rows, :n], axis=1))
            ordered[rows] = units[rows].any(axis=1)
        count = np.bincount(item, ordered, self.n_items).astype(np.float64)
        total = np.zeros((self.n_items, ranks.shape[1]))
        np.add.at(total, item, units)

        def after(one: Integers, two: Integers) -> Floats:
            each = item[one]
            n = np.maximum(count[each] + ordered[two] - ordered[one], 1)
            return _best_rho((total[each] + units[two] - units[one]) / n[:, np.newaxis], self.n_parts[each])

        best = _best_rho(total / np.maximum(count, 1)[:, np.newaxis], self.n_parts)
        return best_of_several(best, count, replaced_effects(best, crossing, after), item)

    def pairs_alike(self, *, first_only: bool) -> CrossedRatio:
        """Pairs of people who give the same order, or rank the same parts first, of annotators like these too."""
        parts = np.zeros((len(self.labels), self.items.width))
        for own, ranks in zip((rows for rows, _ in self._people), self._dense, strict=True):
            parts[own, : ranks.shape[1]] = ranks == 1 if first_only else ranks
        code = np.unique(parts[self.ranked], axis=0, return_inverse=True)[1].reshape(-1)
        same = mean_with_others(self.ranking.item, lambda one, two: (code[one] == code[two]).astype(float))
        mean, effects = pair_effects(same, self.ranking, self.n_items)
        return CrossedRatio(_sums(mean, effects), self.ranking)

    @cached_property
    def _people(self) -> list[tuple[Integers, Floats]]:
        """By item, the labels that rank it and their ranks."""
        item = self.labels.item[self.ranked]
        order = np.argsort(item, kind="stable")
        ends = np.searchsorted(item[order], np.arange(self.n_items + 1))
        rows = [self.ranked[order[ends[k] : ends[k + 1]]] for k in range(self.n_items)]
        return [(each, self.labels.values[each, : self.n_parts[k]]) for k, each in enumerate(rows)]

    @cached_property
    def _pairs(self) -> RankPairs:
        return rank_pairs([ranks if len(ranks) else np.zeros((1, 0)) for _, ranks in self._people])

    def spearman(self) -> Ratio:
        """Each person beside another, as a judge is beside each of them."""
        return mean_of(self._rho, _NO_PAIR)

    @cached_property
    def _rho(self) -> Floats:
        return means_by(self._pairs.item, self._pairs.rho, self.n_items)

    def same_order(self) -> Ratio:
        """Pairs of people who give the same order."""
        return mean_of(np.array([_same(each) for each in self._dense]), _NOT_TWO)

    def same_first(self) -> Ratio:
        """Pairs of people who rank the same parts first."""
        return mean_of(np.array([_same(each == 1) for each in self._dense]), _NOT_TWO)

    @property
    def _dense(self) -> list[Any]:
        return [
            scipy.stats.rankdata(ranks, method="dense", axis=1) if len(ranks) else ranks
            for _, ranks in self._people
        ]

    def undefined(self) -> Ratio:
        """Items of two rankings without a correlation."""
        two = np.array([len(ranks) >= 2 for _, ranks in self._people], dtype=np.bool_)
        return share_of(np.isnan(self._rho), two, _NOT_TWO)

    def with_others(self) -> Floats:
        """The mean rho of each label with the others of its item."""
        pairs = self._pairs
        label = [
            self._people[item][0][row]
            for side in (pairs.first, pairs.second)
            for item, row in zip(pairs.item.tolist(), side.tolist(), strict=True)
        ]
        rho = np.concatenate([pairs.rho, pairs.rho])
        return means_by(np.array(label, dtype=np.intp), rho, len(self.labels))

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """The order given."""
        return self.ranked_by("importance given", "order given", [range(n) for n in self.n_parts.tolist()])

    def ranked_by(self, key: str, name: str, keys: Sequence[Sequence[float]]) -> tuple[JudgeAnswers, ...]:
        """A baseline that ranks by keys, lower is better; equal keys share a rank."""
        values = np.full((self.n_items, 1, self.items.width), np.nan)
        for row, each in enumerate(keys):
            values[row, 0, : len(each)] = scipy.stats.rankdata(each, method="min")
        return (baseline_judge(key, name, values),)

    def remarks_on_people(self) -> tuple[str, ...]:
        has_target = self.has_target("")
        two = int((has_target & (self.n_parts == 2)).sum())
        if not two:
            return ()
        return (
            f"{two:,} of {int(has_target.sum()):,} items have two parts, where a correlation can only be −1 or 1.",
        )


def _sums(mean: Floats, effects: Floats) -> CrossedSums:
    known = ~np.isnan(mean)
    return CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), effects)


def _unit(ranks: Floats) -> Floats:
    """Rows around their mean, of length one; of a constant row nothing is left."""
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    return np.asarray(np.where(length > 0, centred / np.where(length > 0, length, 1.0), 0.0))


@lru_cache(maxsize=32)
def _orders(n: int) -> Floats:
    """All orders of so many parts in which no part comes before an earlier one, ties included, as `_unit` rows.

    Of more parts than `_MOST_TIED` only the one without ties.
    """
    if n < 2 or n > _MOST_TIED:
        return _unit(np.arange(float(n))[np.newaxis])
    steps = (np.arange(2 ** (n - 1))[:, np.newaxis] >> np.arange(n - 1)) & 1
    levels = np.c_[np.zeros(len(steps)), steps.cumsum(axis=1)]
    return _unit(scipy.stats.rankdata(levels, axis=1))


def _best_rho(means: Floats, n_parts: Integers) -> Floats:
    """The highest mean rho that an order can have with rankings whose `_unit` rows have these means, by item.

    That order ranks the parts as the means do, so that with the means in order few are left to try.
    """
    found = np.zeros(len(means))
    for n in np.unique(n_parts).tolist():
        orders = _orders(n) if n else np.zeros((1, 0))
        for rows in np.array_split(np.flatnonzero(n_parts == n), 1 + int((n_parts == n).sum()) // _AT_ONCE):
            found[rows] = (np.sort(means[rows, :n], axis=1) @ orders.T).max(axis=1)
    return found


def row_correlations(first: Floats, second: Floats) -> Floats:
    """Pearson's correlation of each row with its partner: (n, parts) twice to (n,); NaN where one is constant."""
    one, two = (rows - rows.mean(axis=1, keepdims=True) for rows in (first, second))
    # Of a constant row rounding may leave something.
    varies = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0)
    scale = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(varies & (scale > 0), (one * two).sum(axis=1) / scale, np.nan)
    return np.clip(found, -1.0, 1.0)


def _same(rows: Any) -> float:
    """Share of the pairs of rows of a matrix that are equal; NaN without a pair.

    Examples
    --------
    >>> _same(np.array([[1, 2], [1, 2], [2, 1]]))
    0.3333333333333333
    """
    n = len(rows)
    if n < 2:
        return math.nan
    counts = np.unique(rows, axis=0, return_counts=True)[1]
    return float((counts * (counts - 1)).sum() / (n * (n - 1)))


def spearman_figure(label: str, what: str, function: Any, alike: Any) -> Figure:
    """Spearman's rho of people or judges."""
    return Figure(
        "spearman", label, what, function, "number", CORRELATION, GROUPS, compares=True, alike=alike
    )


def undefined_rate(function: Any) -> Figure:
    """How often there is no rho."""
    return Figure(
        "undefined_rate",
        "Correlation undefined",
        "Share of the compared items on which a ranking is constant, so that there is no correlation.",
        function,
        compares=True,
        only_these="it counts constant rankings and isn't an agreement",
    )


def people_figures(part: str, over: str) -> tuple[Figure, ...]:
    """The figures of people who rank parts of this name, averaged over items of that name."""
    return (
        spearman_figure(
            f"Spearman of two annotators, mean of {over}",
            f"Spearman's rho of two annotators' rankings, averaged over pairs of annotators, then over {over}.",
            RankingSample.spearman,
            lambda sample: sample.paired,
        ),
        Figure(
            "pair_exact",
            "Pairwise agreement on the order",
            "Share of the pairs of human annotators who give the same order, averaged over items.",
            RankingSample.same_order,
            axes=GROUPS,
            alike=partial(RankingSample.pairs_alike, first_only=False),
        ),
        Figure(
            "same_first",
            f"Pairwise agreement on the first {part}",
            f"Share of the pairs of human annotators who rank the same {part} first, averaged over items.",
            RankingSample.same_first,
            axes=GROUPS,
            alike=partial(RankingSample.pairs_alike, first_only=True),
        ),
        undefined_rate(RankingSample.undefined),
    )


OF_JUDGES = {name: partial(RankingJudge.mean, method=name) for name in ("spearman", "pearson")}
ALIKE = {name: partial(RankingJudge.with_alike, method=name) for name in ("spearman", "pearson")}
MINUS_PEOPLE = Figure(
    "minus_people",
    "Judge minus human annotators",
    "Spearman's rho of the judge with each annotator of an item minus that of two annotators, on the same items.",
    RankingJudge.beside_people,
    "number",
    (-2.0, 2.0),
    compares=True,
    short="Judge − human",
)
BELOW_BEST = Figure(
    "below_best",
    "Upper bound minus judge",
    "Spearman's rho of an item's best order with each of its annotators minus that of the judge, on the same items.",
    RankingJudge.beside_best,
    "number",
    (-2.0, 2.0),
    compares=True,
)
UNDEFINED = undefined_rate(RankingJudge.undefined)
OF_ONE_PERSON = Figure(
    "agreement",
    "Mean Spearman with each of the others",
    "Mean of Spearman's rho of this annotator with each other annotator of the same items.",
    RankingSample.spearman,
    "number",
    CORRELATION,
)
SO_FAR = ("spearman", "same_first", "undefined_rate")
EACH = "each human annotator who ranked the item"
SPEARMAN = (
    "Spearman's rho of two annotators (average ranks for ties) is averaged over the pairs of annotators of an item, "
    "then over items; a constant ranking has no correlation and isn't counted."
)

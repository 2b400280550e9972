"""The figures of ratings by criteria: how far they follow people's mean rating, or the gold ratings."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from metaeval.figures.binary import BinaryAnswers, binary_figures, read_once
from metaeval.figures.figure import (
    CORRELATION,
    GROUPS,
    OPTIONS,
    UNPARSED,
    Convention,
    Figure,
    KindFigures,
    ScoreWords,
)
from metaeval.figures.groups import Layout, layout_of
from metaeval.figures.retest import RETEST
from metaeval.figures.sample import (
    ByCriterion,
    CrossedRatio,
    JudgeSample,
    Ratio,
    Sample,
    best_of_several,
    mean_of,
    means_by,
)
from metaeval.inputs import Booleans, Floats, Integers, JudgeAnswers, baseline_judge
from metaeval.stats import (
    Estimate,
    correlation,
    krippendorff_alpha,
    pairwise_agreement_contributions,
    person_correlation,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.correlation import mean_of_others
from metaeval.stats.counts import read_labels
from metaeval.stats.crossed import People
from metaeval.stats.crossed_sums import (
    CrossedSums,
    Linear,
    crossed_correlation,
    mean_effects,
    mean_with_others,
    others_mean_effects,
    pair_effects,
    replaced_effects,
    sums_estimate,
)

NEAR = 1.0
"""Tolerant accuracy: within one point (HELM Instruct)."""
# People's means are sums of floats.
_GRAIN = 1e-9
_PARTS = ("criterion",)
# HELM Instruct's scenarios are categories here, or subsets.
_SCENARIOS = ("criterion", *GROUPS)
_RATINGS = (1.0, 5.0)
_DISTANCE = (0.0, 4.0)
_OF_EACH = "they are means of these annotators' own correlations"
_NO_TARGET = "no judged item has a rating to compare with"
_NO_PAIR = "no item has two labels"


def with_mean(ratings: Floats) -> Floats:
    """Ratings by criterion and, as the last column, their mean: NaN where a criterion has no rating.

    Examples
    --------
    >>> with_mean(np.array([[1.0, 4.0], [2.0, np.nan]])).tolist()
    [[1.0, 4.0, 2.5], [2.0, nan, nan]]
    """
    n = ratings.shape[1]
    return np.column_stack([ratings, ratings.mean(axis=1) if n else np.full(len(ratings), np.nan)])


def within_one_point(distance: Floats) -> Floats:
    """1 where a rating is within one point, 0 where it isn't; NaN where there is no distance."""
    return np.where(np.isnan(distance), np.nan, (distance <= NEAR + _GRAIN).astype(np.float64))


def passing(ratings: Floats, mark: float) -> Floats:
    """1 where a rating is at or above the mark, 0 where it is below, NaN where there is none.

    Examples
    --------
    >>> passing(np.array([3.0, 4.0, np.nan]), 4.0).tolist()
    [0.0, 1.0, nan]
    """
    return np.where(np.isnan(ratings), np.nan, (ratings >= mark - _GRAIN).astype(np.float64))


def closeness(distance: Floats) -> Floats:
    """One minus a distance as a share of the widest."""
    return np.asarray(1.0 - distance / _DISTANCE[1])


def _row_means(values: Floats) -> Floats:
    """Means of rows, NaN taking no part."""
    known = ~np.isnan(values)
    total, n = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _sums(mean: Floats, effects: Floats) -> CrossedSums:
    known = ~np.isnan(mean)
    return CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), effects)


def _closest(total: Floats, n_labels: Floats) -> Floats:
    """The mean over labels of the best rating of each criterion, from sums by criterion and rating."""
    return np.asarray(total.max(axis=2).sum(axis=1) / np.maximum(n_labels, 1))


_NEARNESS: dict[str, Callable[[Floats], Floats]] = {
    "closeness": closeness,
    "within_one": within_one_point,
    "mean_absolute_error": lambda distance: distance,
}


class RubricJudge(JudgeSample):
    """A judge's ratings, (n_items, n_criteria + 1)."""

    sample: RubricSample

    @cached_property
    def table(self) -> Floats:
        """Its ratings and their mean."""
        return with_mean(self.judge.values[:, 0])

    @cached_property
    def finer_table(self) -> Floats | None:
        """Its expected ratings and their mean; where a rating has no probabilities, the rating itself."""
        finer = self.judge.finer
        if finer is None or np.isnan(finer).all():
            return None
        return with_mean(np.where(np.isnan(finer[:, 0]), self.judge.values[:, 0], finer[:, 0]))

    def correlated(self, method: Linear, *, expected: bool = False) -> ByCriterion | None:
        """Its ratings, or its expected ones, beside the target's."""
        table = self.finer_table if expected else self.table
        if table is None:
            return None

        def in_group(members: Booleans) -> Estimate:
            said, target = table[:, -1], self.sample.target[:, -1]
            return correlation(said, target, method=method, where=members, **self._how)

        return ByCriterion(partial(self._correlation, table, method), in_group)

    def correlated_alike(self, method: Linear, *, expected: bool = False) -> ByCriterion | None:
        """The same of annotators like these too."""
        table = self.finer_table if expected else self.table
        if table is None or self.sample.against_gold:
            return None
        return ByCriterion(partial(self._correlation_alike, table, method))

    def _correlation(self, table: Floats, method: Linear, place: int | None) -> Estimate:
        key = id(table), method, place
        if key not in self._known:
            column = -1 if place is None else place
            said, target = table[:, column], self.sample.target[:, column]
            self._known[key] = correlation(said, target, method=method, **self._how)
        return self._known[key]

    def _correlation_alike(self, table: Floats, method: Linear, place: int | None) -> Estimate:
        sample, column = self.sample, -1 if place is None else place
        return crossed_correlation(
            table[:, column],
            sample.target[:, column],
            lambda one, two: sample.moved(one, two)[:, column],
            sample.crossing,
            method=method,
            fixed=self._correlation(table, method, place),
            **self._how,
        )

    @cached_property
    def _known(self) -> dict[Any, Estimate]:
        return {}

    @property
    def _how(self) -> dict[str, Any]:
        sample = self.sample
        return {
            "resamples": sample.resamples,
            "confidence": sample.options.confidence,
            "weights": sample.compared,
        }

    @property
    def distance(self) -> Floats:
        """From the target."""
        return np.asarray(np.abs(self.table - self.sample.target)[:, :-1])

    def mean_distance(self) -> Ratio:
        """From the target, of ratings that could be read."""
        return mean_of(self.distance, _NO_TARGET)

    @property
    def _covered(self) -> Booleans:
        return np.asarray(self.judge.asked[:, np.newaxis] & ~np.isnan(self.sample.target[:, :-1]))

    def agreement(self, primary: str) -> Ratio:
        """How near its ratings are, from 0 to 1. What could not be read is as far as can be, and stays."""
        near = np.where(self._covered, np.nan_to_num(_NEARNESS[primary](self.distance)), np.nan)
        return mean_of(near, _NO_TARGET)

    def of_criterion_alike(self, primary: str) -> ByCriterion | None:
        """How near its ratings are to annotators like these too, or how far: of a criterion, or of all."""
        if self.sample.against_gold:
            return None
        return ByCriterion(partial(self._near_alike, primary))

    def _near_alike(self, primary: str, place: int | None) -> Estimate:
        part = self._sums(primary, slice(None) if place is None else slice(place, place + 1))
        return sums_estimate(part.sums, part.crossing, bounds=part.bounds, reason=_NO_TARGET, **self._how)

    def alike(self, primary: str) -> CrossedRatio | None:
        return None if self.sample.against_gold else self._sums(primary, slice(None))

    def _sums(self, primary: str, columns: slice) -> CrossedRatio:
        sample, nearness = self.sample, _NEARNESS[primary]
        covered, said = self._covered[:, columns], self.table[:, :-1][:, columns]
        if primary == "mean_absolute_error":  # what could not be read is left out
            covered = covered & ~np.isnan(said)

        def score(items: Integers, target: Floats) -> Floats:
            near = np.nan_to_num(nearness(np.abs(said[items] - target[:, :-1][:, columns])))
            return np.asarray(np.where(covered[items], near, 0.0).sum(axis=1))

        top = score(np.arange(sample.n_items), sample.target)
        effects = replaced_effects(
            top, sample.crossing, lambda one, two: score(sample.labels.item[one], sample.moved(one, two))
        )
        sums = CrossedSums(top, covered.sum(axis=1).astype(np.float64), effects, is_curved=True)
        return CrossedRatio(
            sums, sample.crossing, _DISTANCE if primary == "mean_absolute_error" else (0.0, 1.0)
        )

    def beside_people(self) -> CrossedRatio | None:
        """Its closeness to each annotator minus that of annotators to one another, over an item's criteria."""
        sample, own = self.sample, self._to_each
        return None if own is None else CrossedRatio(own, sample.crossing, minus=sample.paired)

    def beside_best(self) -> CrossedRatio | None:
        """The upper bound minus its closeness to each annotator."""
        sample, own = self.sample, self._to_each
        return None if own is None else CrossedRatio(sample.best, sample.crossing, minus=own)

    @cached_property
    def _to_each(self) -> CrossedSums | None:
        """Its closeness to each annotator of an item; None where people play no part."""
        sample = self.sample
        if sample.against_gold or not len(sample.labels):
            return None
        said = np.nan_to_num(self.table[sample.labels.item], nan=np.inf)[:, :-1]
        near = _row_means(np.maximum(0.0, closeness(np.abs(said - sample.ratings[:, :-1]))))
        near = np.where(self.judge.asked[sample.labels.item], near, np.nan)
        return _sums(*mean_effects(near, sample.crossing, sample.n_items))

    def mean_rating(self) -> Ratio:
        """Of all its ratings."""
        return mean_of(self.table[:, :-1], _NO_TARGET)

    @read_once
    def binary(self, *, gold: bool) -> BinaryAnswers | None:  # noqa: ARG002
        """Whether it passes each rating, by item and criterion; None where no pass mark was asked for.

        The options of the sample say beside what: the share of people who pass it, or gold.
        """
        sample, mark = self.sample, self.sample.options.pass_mark
        if mark is None:
            return None
        shares = sample.passed(mark)
        rows = np.repeat(np.arange(sample.n_items), shares.shape[1])
        return BinaryAnswers(
            item=rows,
            cluster=sample.clusters[rows],
            said=passing(self.judge.values[:, 0], mark).reshape(-1, 1),
            asked=self.judge.asked[rows][:, np.newaxis],
            shares=shares.ravel(),
            chance=None,
            weights=None if sample.compared is None else sample.compared[rows],
            n_items=sample.n_items,
        )

    def score(self, primary: str) -> Floats:
        """The mean of how near its ratings are; a criterion left out is as far off as can be."""
        known = ~np.isnan(self.sample.target[:, :-1])
        close = np.where(known, np.nan_to_num(_NEARNESS[primary](self.distance)), 0.0)
        return np.asarray(close.sum(axis=1) / np.maximum(known.sum(axis=1), 1))


class RubricSample(Sample):
    """Ratings of the labels and of the target: a column a criterion, the last one their mean."""

    judge_type = RubricJudge

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.items, category_means=True)

    @cached_property
    def ratings(self) -> Floats:
        """(n_labels, n_criteria + 1)."""
        return with_mean(self.labels.values)

    @cached_property
    def means(self) -> Floats:
        """People's mean ratings: (n_items, n_criteria + 1)."""
        return means_by(self.labels.item, self.ratings, self.n_items)

    @cached_property
    def others(self) -> Floats:
        """The mean rating of the others of each label's item: (n_labels, n_criteria + 1)."""
        columns = [mean_of_others(self.labels.item, column, self.n_items) for column in self.ratings.T]
        return np.stack(columns, axis=1)

    @cached_property
    def target(self) -> Floats:
        """What judges are compared with: (n_items, n_criteria + 1)."""
        return with_mean(self.items.gold) if self.against_gold else self.means

    @cached_property
    def _n_rated(self) -> Floats:
        """Labels of each item that rate a criterion, or all: (n_items, n_criteria + 1)."""
        known = ~np.isnan(self.ratings)
        columns = [np.bincount(self.labels.item, column, self.n_items) for column in known.T]
        return np.maximum(np.stack(columns, axis=1), 1.0)

    def moved(self, one: Integers, two: Integers) -> Floats:
        """The target of the items of some labels if each of these were as another of its item."""
        item = self.labels.item[one]
        change = np.nan_to_num(self.ratings[two] - self.ratings[one])
        return np.asarray(self.means[item] + change / self._n_rated[item])

    @cached_property
    def paired(self) -> CrossedSums:
        """Closeness of two annotators of an item, averaged over its criteria."""
        near = mean_with_others(
            self.labels.item,
            lambda one, two: _row_means(closeness(np.abs(self.ratings[one] - self.ratings[two])[:, :-1])),
        )
        return _sums(*pair_effects(near, self.crossing, self.n_items))

    @cached_property
    def best(self) -> CrossedSums:
        """The upper bound: of each criterion of an item the rating that is closest to its annotators, their median."""
        item, given = self.labels.item, self.ratings[:, :-1]
        rates = np.asarray(~np.isnan(given).all(axis=1), dtype=np.float64)
        each = np.maximum((~np.isnan(given)).sum(axis=1), 1)[:, np.newaxis, np.newaxis]
        # Of each label, criterion and rating that there is: how close that would be, as a share of the label's.
        options = np.arange(_RATINGS[0], _RATINGS[1] + 1)
        close = np.nan_to_num(closeness(np.abs(options - given[:, :, np.newaxis]))) / each
        total = np.zeros((self.n_items, *close.shape[1:]))
        np.add.at(total, item, close)
        n_rate = np.bincount(item, rates, self.n_items).astype(np.float64)

        def after(one: Integers, two: Integers) -> Floats:
            n = n_rate[item[one]] + rates[two] - rates[one]
            return _closest(total[item[one]] + close[two] - close[one], n)

        best = _closest(total, n_rate)
        return best_of_several(best, n_rate, replaced_effects(best, self.crossing, after), item)

    def pairs_alike(self, tolerance: float) -> ByCriterion:
        """The pairs of people within a distance, of annotators like these."""

        def of(column: Floats) -> tuple[Floats, Floats]:
            def kernel(one: Integers, two: Integers) -> Floats:
                gap = np.abs(column[one] - column[two])
                return np.where(np.isnan(gap), np.nan, (gap <= tolerance).astype(np.float64))

            near = mean_with_others(self.labels.item, kernel)
            return pair_effects(near, self.crossing, self.n_items)

        return self._over_criteria(of)

    def beside_others_alike(
        self, score: Callable[[Floats], Floats], bounds: tuple[float, float] = (0.0, 1.0)
    ) -> ByCriterion:
        """A score of how far ratings are from the mean of the others, of annotators like these."""
        return self._over_criteria(
            lambda column: others_mean_effects(column, self.crossing, self.n_items, score),
            bounds,
            is_curved=True,
        )

    def mean_rating_alike(self) -> ByCriterion:
        """The mean of ratings, of annotators like these."""
        return self._over_criteria(lambda column: mean_effects(column, self.crossing, self.n_items), _RATINGS)

    def _over_criteria(
        self,
        of: Callable[[Floats], tuple[Floats, Floats]],
        bounds: tuple[float, float] = (0.0, 1.0),
        *,
        is_curved: bool = False,
    ) -> ByCriterion:
        """A mean over items, from (mean of each item, effect of each label) of each criterion."""

        def figure(place: int | None) -> Estimate:
            places = range(len(self.inputs.criteria)) if place is None else (place,)
            top, bottom = np.zeros((2, self.n_items))
            effects = np.zeros(len(self.labels))
            for each in places:
                mean, found = of(self.ratings[:, each])
                top, bottom = top + np.nan_to_num(mean), bottom + ~np.isnan(mean)
                effects += found
            return sums_estimate(
                CrossedSums(top, bottom, effects, is_curved=is_curved),
                self.crossing,
                bounds=bounds,
                reason=_NO_PAIR,
                resamples=self.resamples,
                confidence=self.options.confidence,
                weights=self.drawn,
            )

        return ByCriterion(figure)

    def passed(self, mark: float) -> Floats:
        """The share of people who rate it at or above the mark, or whether gold does: (n_items, n_criteria)."""
        if self.against_gold:
            return passing(self.items.gold, mark)
        return means_by(self.labels.item, passing(self.labels.values, mark), self.n_items)

    def has_target(self, primary: str) -> Booleans:  # noqa: ARG002
        return np.asarray((~np.isnan(self.target)).any(axis=1))

    @property
    def size(self) -> Floats | None:
        """Criteria of each item that have a target, so that the mean over items is that of all ratings."""
        known = (~np.isnan(self.target[:, :-1])).sum(axis=1).astype(np.float64)
        return None if len(np.unique(known[known > 0])) < 2 else np.maximum(known, 1.0)

    @property
    def most(self) -> Floats:
        return np.full(self.n_items, float(max(1, len(self.inputs.criteria))))

    @property
    def scorable(self) -> Booleans:
        return np.asarray((~np.isnan(self.target[:, :-1])).any(axis=1))

    def with_others(self) -> Floats:
        """Share of the ratings of each label that are within one point of the mean of the others'."""
        close = within_one_point(np.abs(self.ratings - self.others)[:, :-1])
        label = np.repeat(np.arange(len(close)), close.shape[1])
        return means_by(label, close.ravel(), len(close))

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """On each criterion always the median of the target: the best that can be done without reading."""
        medians = [
            np.median(column[~np.isnan(column)]) if not np.isnan(column).all() else np.nan
            for column in self.target[:, :-1].T
        ]
        values = np.tile(np.array(medians, dtype=np.float64), (self.n_items, 1, 1))
        return (baseline_judge("rubric median", "always the median", values),)

    def slots(self, place: int) -> Floats:
        """The ratings of one criterion as (n_items, most labels of an item)."""
        column = self.ratings[:, place]
        known = ~np.isnan(column)
        return slots_of(self.labels.item[known], column[known], self.n_items)

    def pairs(self, tolerance: float) -> Ratio:
        """The pairs of people within a distance, of each item and criterion."""
        found = np.full((self.n_items, len(self.inputs.criteria)), np.nan)
        for place in range(found.shape[1]):
            slots = self.slots(place)
            if slots.shape[1]:
                found[:, place] = pairwise_agreement_contributions(slots, tolerance=tolerance)
        return mean_of(found, _NO_PAIR)

    def within_one(self) -> Ratio:
        """Each rating beside the mean of the others, averaged over an item's labels."""
        return self._of_labels(within_one_point(np.abs(self.ratings - self.others)))

    def mean_distance(self) -> Ratio:
        """From the mean of the others, averaged over an item's labels."""
        return self._of_labels(np.abs(self.ratings - self.others))

    def _of_labels(self, values: Floats) -> Ratio:
        return mean_of(means_by(self.labels.item, values[:, :-1], self.n_items), _NO_PAIR)

    def mean_rating(self) -> Ratio:
        """Of people's means."""
        return mean_of(self.means[:, :-1], _NO_TARGET)

    def gold_rating(self) -> Ratio:
        """Of the gold answers."""
        return mean_of(self.items.gold, _NO_TARGET)

    def person(self, method: Linear) -> ByCriterion:
        """Each annotator beside the mean of the others."""
        labels = self.labels

        def figure(place: int | None, where: Booleans | None = None) -> Estimate:
            column = self.ratings[:, -1 if place is None else place]
            return person_correlation(
                (labels.item, labels.annotator, column),
                n_items=self.n_items,
                method=method,
                resamples=self.resamples,
                confidence=self.options.confidence,
                weights=self.drawn,
                where=where,
            )

        return ByCriterion(figure, partial(figure, None))

    def alpha(self, people: People = "fixed") -> ByCriterion:
        """Ordinal, over the items of one criterion or the items of all."""

        def figure(place: int | None) -> Estimate:
            places = range(len(self.inputs.criteria)) if place is None else (place,)
            found, label = np.nonzero(~np.isnan(self.ratings[:, places].T))
            if not len(found):
                return Estimate(np.nan, np.nan, np.nan, n=0, reason="no labels")
            whose = self.labels.item[label], self.labels.annotator[label]
            rows = np.tile(np.arange(self.n_items), len(places))
            values = self.ratings[label, np.asarray(places)[found]]
            return krippendorff_alpha(
                read_labels((found * self.n_items + whose[0], whose[1], values), len(rows)),
                level="ordinal",
                people=people,
                resamples=self.resamples if len(places) == 1 else self.resamples_of(rows),
                confidence=self.options.confidence,
                weights=None if self.drawn is None else self.drawn[rows],
            )

        return ByCriterion(figure)

    def alpha_alike(self) -> ByCriterion | None:
        """The same of annotators like these."""
        return self.alpha("sampled") if len(self.labels) else None


def _correlation(
    name: str, label: str, what: str, function: Any, axes: tuple[str, ...] = _SCENARIOS, **populations: Any
) -> Figure:
    return Figure(name, label, what, function, "number", CORRELATION, axes, compares=True, **populations)


def _of_judge(name: str, label: str, what: str, method: Linear, *, expected: bool = False) -> Figure:
    how: dict[str, Any] = {"method": method, "expected": expected}
    return _correlation(
        name,
        label,
        what,
        partial(RubricJudge.correlated, **how),
        _PARTS if expected else _SCENARIOS,
        alike=partial(RubricJudge.correlated_alike, **how),
    )


def _mean_rating(function: Any, alike: Any = None) -> Figure:
    return Figure(
        "mean_rating",
        "Mean rating",
        "Mean of all ratings.",
        function,
        "number",
        _RATINGS,
        _SCENARIOS,
        alike=alike,
    )


PEOPLE = (
    _correlation(
        "alpha",
        "Krippendorff's alpha, ordinal",
        "Agreement beyond chance of ordered ratings, over all items and criteria.",
        RubricSample.alpha,
        _PARTS,
        alike=RubricSample.alpha_alike,
    ),
    Figure(
        "pair_exact",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same rating, averaged over items and criteria.",
        partial(RubricSample.pairs, tolerance=0.0),
        axes=_PARTS,
        alike=partial(RubricSample.pairs_alike, tolerance=0.0),
    ),
    Figure(
        "pair_near",
        "Pairwise agreement within one point",
        "Share of the pairs of human annotators whose ratings differ by one point at most.",
        partial(RubricSample.pairs, tolerance=NEAR),
        axes=_PARTS,
        alike=partial(RubricSample.pairs_alike, tolerance=NEAR),
    ),
    Figure(
        "within_one",
        "Within one point of the mean of the others",
        "Share of the ratings within one point of the mean of the other annotators' ratings of the item.",
        RubricSample.within_one,
        axes=_SCENARIOS,
        alike=partial(RubricSample.beside_others_alike, score=within_one_point),
    ),
    _correlation(
        "spearman",
        "Spearman with the mean of the others",
        "Spearman's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
        partial(RubricSample.person, method="spearman"),
        only_these=_OF_EACH,
    ),
    _correlation(
        "pearson",
        "Pearson with the mean of the others",
        "Pearson's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
        partial(RubricSample.person, method="pearson"),
        only_these=_OF_EACH,
    ),
    Figure(
        "mean_absolute_error",
        "Mean distance to the mean of the others",
        "Mean distance of a rating to the mean of the other annotators' ratings of the item.",
        RubricSample.mean_distance,
        "number",
        _DISTANCE,
        _SCENARIOS,
        alike=partial(RubricSample.beside_others_alike, score=np.asarray, bounds=_DISTANCE),
    ),
    _mean_rating(RubricSample.mean_rating, alike=RubricSample.mean_rating_alike),
)
GOLD = (_mean_rating(RubricSample.gold_rating),)
JUDGES = (
    Figure(
        "closeness",
        "Closeness of ratings",
        "One minus the mean distance of the judge's rating to the target's as a share of the widest one; an unparsed "
        "rating counts as the maximum distance.",
        partial(RubricJudge.agreement, primary="closeness"),
        axes=_SCENARIOS,
        compares=True,
        alike=partial(RubricJudge.of_criterion_alike, primary="closeness"),
        short="Closeness",
    ),
    Figure(
        "within_one",
        "Within one point",
        "Share of the ratings within one point of the target's; an unparsed rating is not.",
        partial(RubricJudge.agreement, primary="within_one"),
        axes=_PARTS,
        compares=True,
        alike=partial(RubricJudge.of_criterion_alike, primary="within_one"),
    ),
    Figure(
        "minus_people",
        "Judge minus human annotators",
        "Closeness of the judge to each annotator of an item minus that of two annotators, on the same items.",
        RubricJudge.beside_people,
        "points",
        CORRELATION,
        compares=True,
        short="Judge − human",
    ),
    Figure(
        "below_best",
        "Upper bound minus judge",
        "Closeness of the best rating of each criterion (the annotators' median) to each annotator of an item minus "
        "that of the judge, on the same items.",
        RubricJudge.beside_best,
        "points",
        CORRELATION,
        compares=True,
    ),
    _of_judge(
        "spearman",
        "Spearman",
        "Spearman's correlation of the judge's mean rating with the target's.",
        "spearman",
    ),
    _of_judge(
        "pearson", "Pearson", "Pearson's correlation of the judge's mean rating with the target's.", "pearson"
    ),
    _of_judge(
        "spearman_expected",
        "Spearman, expected ratings",
        "Spearman's correlation of the judge's probability-weighted rating with the target's.",
        "spearman",
        expected=True,
    ),
    _of_judge(
        "pearson_expected",
        "Pearson, expected ratings",
        "Pearson's correlation of the judge's probability-weighted rating with the target's.",
        "pearson",
        expected=True,
    ),
    Figure(
        "mean_absolute_error",
        "Mean absolute error",
        "Mean distance of the judge's rating to the target's, over items and criteria.",
        RubricJudge.mean_distance,
        "number",
        _DISTANCE,
        _PARTS,
        compares=True,
        alike=partial(RubricJudge.of_criterion_alike, primary="mean_absolute_error"),
    ),
    _mean_rating(RubricJudge.mean_rating),
    *RETEST,
    UNPARSED,
    *binary_figures(partial(RubricJudge.binary, gold=False), "at or above the pass mark", "the target"),
)
KIND = KindFigures(
    sample=RubricSample,
    people=PEOPLE,
    judges=JUDGES,
    gold=GOLD,
    primaries=("closeness", "within_one"),
    options=(*OPTIONS, "pass_mark"),
    sides=("Pass", "Fail"),
    so_far=("alpha", "pair_exact", "pair_near", "within_one", "mean_rating"),
    of_everyone="within_one",
    of_one_person=Figure(
        "agreement",
        "Ratings within one point of the mean of the others",
        "Share of this annotator's ratings within one point of the mean of the others'.",
        RubricSample.within_one,
    ),
    of_responses="mean_rating",
    finer=("expected",),
    counted="n counts items; of alpha over all criteria, items times criteria.",
    methods=(
        "Krippendorff's alpha is ordinal; over all criteria together it is of all ratings. Two annotators are compared "
        "pair by pair within an item, then items are averaged.",
        "Leave-one-out figures compare each rating with the mean of the other annotators' ratings of the same item: "
        "correlations are of each annotator who shares at least five items with others, averaged over annotators; "
        "distances and shares are averaged over an item's labels, then over items.",
        "Figures of all items pool the items of all subsets and categories; means over subsets or categories are the "
        "unweighted means of their figures (HELM Instruct's means over scenarios), with the interval of independent "
        "strata.",
    ),
    conventions=(
        Convention(("pair_near",), "pairwise_agreement", {"tolerance": NEAR}),
        Convention(("within_one",), "tolerant_accuracy", {"tolerance": NEAR}),
        Convention(("alpha",), "krippendorff_alpha", {"level": "ordinal"}),
        Convention(("pearson", "pearson_expected"), "evaluator_correlations", {"method": "pearson"}),
    ),
    ranked="Judges are ranked by how close their ratings are to {against}.",
    against={"people": "human annotators' mean ratings", "gold": "the gold ratings"},
    scores={
        "closeness": ScoreWords(
            "rated responses",
            "closeness to human ratings",
            "closeness to the gold ratings",
            "closeness",
            "Closeness is 1 minus the mean distance of a judge's ratings from the mean human rating (or from the gold "
            "one), as a share of the 4 points between 1 and 5: 100% is the same rating on every criterion, 75% is one "
            "point off. It has no fixed chance level: the baseline "
            "that always gives the median shows what can be reached without reading.",
        ),
        "within_one": ScoreWords(
            "rated responses",
            "ratings within one point of human ratings",
            "ratings within one point of the gold ratings",
            "within one point",
            "Within one point is the share of a judge's ratings that are at most one point from the mean human rating "
            "(or from the gold one), over criteria: the tolerant accuracy of HELM Instruct. It has no fixed chance "
            "level: the baseline that always gives the median shows what can be reached without reading.",
        ),
    },
)

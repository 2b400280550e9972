"""What the figures of ratings by criteria are computed in: people's ratings, their target, and what a judge rated."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from annotation.domain.scales import STANDARD, Scale
from metaeval.figures.binary import BinaryAnswers, read_once
from metaeval.figures.groups import Layout, layout_of
from metaeval.figures.rating_scales import RatingScales
from metaeval.figures.response_sets import PRIMARIES as SET_PRIMARIES
from metaeval.figures.response_sets import SetJudge, SetSample
from metaeval.figures.sample import (
    ByCriterion,
    CrossedRatio,
    Ratio,
    best_of_several,
    mean_of,
    means_by,
)
from metaeval.inputs import (
    NOT_APPLICABLE,
    Booleans,
    Floats,
    Inputs,
    Integers,
    JudgeAnswers,
    Options,
    baseline_judge,
)
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
"""Tolerant accuracy, in multiples of what is near on a scale: within one point of five (HELM Instruct)."""
# People's means are sums of floats.
_GRAIN = 1e-9
_NO_TARGET = "no judged item has a rating to compare with"
_NO_PAIR = "no item has two labels"
_NO_ANSWER = "not asked"
_NO_TWO_ANSWERS = "not asked of two"


def with_mean(ratings: Floats, left_out: Booleans | None = None) -> Floats:
    """Ratings by criterion and, as the last column, their mean: NaN where a criterion has no rating.

    What is `left_out`, of the same shape, does not apply and takes no part in the mean.

    Examples
    --------
    >>> with_mean(np.array([[1.0, 4.0], [2.0, np.nan]])).tolist()
    [[1.0, 4.0, 2.5], [2.0, nan, nan]]
    """
    n = ratings.shape[1]
    if not n:
        return np.column_stack([ratings, np.full(len(ratings), np.nan)])
    if left_out is None or not left_out.any():
        return np.column_stack([ratings, ratings.mean(axis=1)])
    total = np.where(left_out, 0.0, ratings).sum(axis=1)  # NaN where another one is missing
    applies = n - left_out.sum(axis=1)
    return np.column_stack([ratings, np.where(applies > 0, total / np.maximum(applies, 1), np.nan)])


def is_near(distance: Floats, near: Floats | float) -> Floats:
    """1 where a rating is near, 0 where it isn't; NaN where there is no distance."""
    return np.where(np.isnan(distance), np.nan, (distance <= near + _GRAIN).astype(np.float64))


def with_column(mask: Booleans) -> Booleans:
    """A mask by criterion with a last column for their mean, which it never hides."""
    return np.column_stack([mask, np.zeros(len(mask), dtype=np.bool_)])


def passing(ratings: Floats, mark: float) -> Floats:
    """1 where a rating is at or above the mark, 0 where it is below, NaN where there is none.

    Examples
    --------
    >>> passing(np.array([3.0, 4.0, np.nan]), 4.0).tolist()
    [0.0, 1.0, nan]
    """
    return np.where(np.isnan(ratings), np.nan, (ratings >= mark - _GRAIN).astype(np.float64))


def _row_means(values: Floats) -> Floats:
    """Means of rows, NaN taking no part."""
    known = ~np.isnan(values)
    total, n = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _sums(mean: Floats, effects: Floats) -> CrossedSums:
    known = ~np.isnan(mean)
    return CrossedSums(np.where(known, mean, 0.0), known.astype(np.float64), effects)


def _is_on(scale: Scale, answer: float) -> bool:
    return scale.not_applicable if answer == NOT_APPLICABLE else int(answer) in scale


def _closest(total: Floats, n_labels: Floats) -> Floats:
    """The mean over labels of the best rating of each criterion, from sums by criterion and rating."""
    return np.asarray(total.max(axis=2).sum(axis=1) / np.maximum(n_labels, 1))


class RubricJudge(SetJudge):
    """A judge's ratings, (n_items, n_criteria + 1)."""

    sample: RubricSample

    def __init__(self, sample: RubricSample, judge: JudgeAnswers) -> None:
        super().__init__(sample, sample.scales.read_judge(judge))
        self._as_stored = judge
        self.says_not: Booleans = np.asarray(judge.values[:, 0] == NOT_APPLICABLE)
        """Where it says that a criterion does not apply: (n_items, n_criteria)."""

    @cached_property
    def set_verdicts(self) -> Floats:
        return self.sample.set_places(self.sample.set_answers_of(self._as_stored))

    @cached_property
    def table(self) -> Floats:
        """Its ratings and their mean."""
        return with_mean(self.judge.values[:, 0], self.says_not)

    @cached_property
    def finer_table(self) -> Floats | None:
        """Its expected ratings and their mean; where a rating has no probabilities, the rating itself."""
        finer = self.judge.finer
        if finer is None or np.isnan(finer).all():
            return None
        values = np.where(np.isnan(finer[:, 0]) | self.says_not, self.judge.values[:, 0], finer[:, 0])
        return with_mean(values, self.says_not)

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
        near = np.nan_to_num(self.sample.nearness(primary, self.distance))
        near = np.where(self._covered, near, np.nan)
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
        if primary in SET_PRIMARIES:
            return self.set_coverage_sums() if primary == "set_coverage" else None
        return None if self.sample.against_gold else self._sums(primary, slice(None))

    def _sums(self, primary: str, columns: slice) -> CrossedRatio:
        sample = self.sample
        covered, said = self._covered[:, columns], self.table[:, :-1][:, columns]
        if primary == "mean_absolute_error":  # what could not be read is left out
            covered = covered & ~np.isnan(said)

        def score(items: Integers, target: Floats) -> Floats:
            distance = np.abs(said[items] - target[:, :-1][:, columns])
            near = np.nan_to_num(sample.nearness(primary, distance, columns))
            return np.asarray(np.where(covered[items], near, 0.0).sum(axis=1))

        top = score(np.arange(sample.n_items), sample.target)
        effects = replaced_effects(
            top, sample.crossing, lambda one, two: score(sample.labels.item[one], sample.moved(one, two))
        )
        sums = CrossedSums(top, covered.sum(axis=1).astype(np.float64), effects, is_curved=True)
        most = sample.scales.width if primary == "mean_absolute_error" else 1.0
        return CrossedRatio(sums, sample.crossing, (0.0, most))

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
        near = _row_means(
            np.maximum(0.0, sample.nearness("closeness", np.abs(said - sample.ratings[:, :-1])))
        )
        near = np.where(self.judge.asked[sample.labels.item], near, np.nan)
        return _sums(*mean_effects(near, sample.crossing, sample.n_items))

    def mean_rating(self) -> Ratio:
        """Of all its ratings."""
        return mean_of(self.table[:, :-1], _NO_TARGET)

    def not_applicable(self) -> Ratio:
        """Share of what it says of criteria that may not apply."""
        said = (self.says_not | ~np.isnan(self.table[:, :-1])) & self.sample.scales.may_not_apply
        return Ratio((self.says_not & said).astype(np.float64), said.astype(np.float64), _NO_ANSWER)

    def applies_alike(self) -> Ratio:
        """Share of the criteria of which it says as the target whether they apply; unparsed is wrong."""
        right = self.sample.target_not
        asked = self.judge.asked[:, np.newaxis] & ~np.isnan(right)
        said = np.where(self.says_not, 1.0, np.where(np.isnan(self.table[:, :-1]), np.nan, 0.0))
        return Ratio((asked & (said == right)).astype(np.float64), asked.astype(np.float64), _NO_ANSWER)

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
        if primary in SET_PRIMARIES:
            return self.set_score(primary)
        known = ~np.isnan(self.sample.target[:, :-1])
        close = np.where(known, np.nan_to_num(self.sample.nearness(primary, self.distance)), 0.0)
        return np.asarray(close.sum(axis=1) / np.maximum(known.sum(axis=1), 1))


class RubricSample(SetSample):
    """Ratings of the labels and of the target: a column a criterion, the last one their mean.

    They are points, or positions on scales that have different ends (`RatingScales`).
    """

    judge_type = RubricJudge

    def __init__(self, inputs: Inputs, options: Options) -> None:
        self.scales = RatingScales.of(inputs)
        self.as_stored = inputs
        super().__init__(self.scales.read(inputs), options)

    def nearness(self, primary: str, distance: Floats, places: slice = slice(None)) -> Floats:
        """How near ratings are, by a figure, that are so far away: (n_rows, n_criteria), or some criteria."""
        if primary == "closeness":
            return np.asarray(1.0 - distance / self.scales.width)
        return is_near(distance, self.scales.near[places]) if primary == "within_one" else distance

    @property
    def set_inputs(self) -> Inputs:
        return self.as_stored

    @property
    def set_offered(self) -> Booleans:
        scales = self.as_stored.scales or (STANDARD,) * len(self.inputs.criteria)
        return np.array(
            [[_is_on(scale, answer) for answer in self.set_answers] for scale in scales], dtype=np.bool_
        )[np.newaxis]

    @cached_property
    def labels_not(self) -> Booleans:
        """Where a label says that a criterion does not apply: (n_labels, n_criteria)."""
        return np.asarray(self.as_stored.labels.values == NOT_APPLICABLE)

    @cached_property
    def gold_not(self) -> Booleans:
        """Where gold says that a criterion does not apply: (n_items, n_criteria)."""
        return np.asarray(self.as_stored.items.gold == NOT_APPLICABLE)

    @cached_property
    def _not_counts(self) -> tuple[Floats, Floats]:
        """Labels that say that a criterion does not apply, and that rate it: (n_items, n_criteria) each."""
        said = self.labels_not, ~np.isnan(self.labels.values)
        sides = []
        for side in said:
            counts = np.zeros((self.n_items, side.shape[1]))
            np.add.at(counts, self.labels.item, side.astype(np.float64))
            sides.append(counts)
        return sides[0], sides[1]

    @cached_property
    def target_not(self) -> Floats:
        """Whether a criterion that may not apply does not, by most people or gold: 1 or 0, NaN where nobody says or
        they are divided. (n_items, n_criteria)
        """
        if self.against_gold:
            known = np.where(self.gold_not, 1.0, np.where(np.isnan(self.items.gold), np.nan, 0.0))
        else:
            n_not, n_rate = self._not_counts
            known = np.where(n_not > n_rate, 1.0, np.where(n_rate > n_not, 0.0, np.nan))
        return np.where(self.scales.may_not_apply, known, np.nan)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.items, category_means=True)

    @cached_property
    def ratings(self) -> Floats:
        """(n_labels, n_criteria + 1)."""
        return with_mean(self.labels.values, self.labels_not)

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
        """What judges are compared with: (n_items, n_criteria + 1). A criterion that most people say does not apply has
        none.
        """
        if self.against_gold:
            return with_mean(self.items.gold, self.gold_not)
        # Where most say that it does not apply there is no rating to follow.
        n_not, n_rate = self._not_counts
        return np.where(with_column(n_not > n_rate), np.nan, self.means)

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
        moved = self.means[item] + change / self._n_rated[item]
        return np.where(np.isnan(self.target[item]), np.nan, moved)

    @cached_property
    def paired(self) -> CrossedSums:
        """Closeness of two annotators of an item, averaged over its criteria."""
        near = mean_with_others(
            self.labels.item,
            lambda one, two: _row_means(
                self.nearness("closeness", np.abs(self.ratings[one] - self.ratings[two])[:, :-1])
            ),
        )
        return _sums(*pair_effects(near, self.crossing, self.n_items))

    @cached_property
    def best(self) -> CrossedSums:
        """The upper bound: of each criterion of an item the rating that is closest to its annotators, their median."""
        item, given = self.labels.item, self.ratings[:, :-1]
        rates = np.asarray(~np.isnan(given).all(axis=1), dtype=np.float64)
        each = np.maximum((~np.isnan(given)).sum(axis=1), 1)[:, np.newaxis, np.newaxis]
        # Of each label, criterion and rating that there is: how close that would be, as a share of the label's.
        distance = np.abs(self._options - given[:, :, np.newaxis])
        close = np.nan_to_num(self.nearness("closeness", distance)) / each
        total = np.zeros((self.n_items, *close.shape[1:]))
        np.add.at(total, item, close)
        n_rate = np.bincount(item, rates, self.n_items).astype(np.float64)

        def after(one: Integers, two: Integers) -> Floats:
            n = n_rate[item[one]] + rates[two] - rates[one]
            return _closest(total[item[one]] + close[two] - close[one], n)

        best = _closest(total, n_rate)
        return best_of_several(best, n_rate, replaced_effects(best, self.crossing, after), item)

    @cached_property
    def _options(self) -> Floats:
        """The ratings that may be the best: (n_criteria, n_ratings), NaN beyond a scale's own. A median is always one
        that somebody gave, so that of 0 to 100 few are tried.
        """
        found = [
            np.unique(column[~np.isnan(column)]) if scale.is_number else self.scales.points(place)
            for place, (scale, column) in enumerate(
                zip(self.scales.scales, self.ratings[:, :-1].T, strict=True)
            )
        ]
        options = np.full((len(found), max(map(len, found), default=0)), np.nan)
        for place, points in enumerate(found):
            options[place, : len(points)] = points
        return options

    def pairs_alike(self, tolerance: float) -> ByCriterion:
        """The pairs of people within a multiple of what is near, of annotators like these."""

        def of(place: int) -> tuple[Floats, Floats]:
            column = self.ratings[:, place]
            limit = tolerance * self.scales.near[place] + _GRAIN

            def kernel(one: Integers, two: Integers) -> Floats:
                gap = np.abs(column[one] - column[two])
                return np.where(np.isnan(gap), np.nan, (gap <= limit).astype(np.float64))

            near = mean_with_others(self.labels.item, kernel)
            return pair_effects(near, self.crossing, self.n_items)

        return self._over_criteria(of)

    def beside_others_alike(self, primary: str) -> ByCriterion:
        """How near, or how far, ratings are from the mean of the others, of annotators like these."""

        def of(place: int) -> tuple[Floats, Floats]:
            def score(distance: Floats) -> Floats:
                return is_near(distance, self.scales.near[place]) if primary == "within_one" else distance

            return others_mean_effects(self.ratings[:, place], self.crossing, self.n_items, score)

        most = 1.0 if primary == "within_one" else self.scales.width
        return self._over_criteria(of, (0.0, most), is_curved=True)

    def mean_rating_alike(self) -> ByCriterion:
        """The mean of ratings, of annotators like these."""
        return self._over_criteria(
            lambda place: mean_effects(self.ratings[:, place], self.crossing, self.n_items), self.scales.range
        )

    def _over_criteria(
        self,
        of: Callable[[int], tuple[Floats, Floats]],
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
                mean, found = of(each)
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

    def has_target(self, primary: str) -> Booleans:
        if primary in SET_PRIMARIES:
            return self.has_set()
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
        """Share of the ratings of each label that are near the mean of the others'."""
        close = self.nearness("within_one", np.abs(self.ratings - self.others)[:, :-1])
        label = np.repeat(np.arange(len(close)), close.shape[1])
        return means_by(label, close.ravel(), len(close))

    def baselines(self) -> tuple[JudgeAnswers, ...]:
        """On each criterion always the median of the target: the best that can be done without reading."""
        medians = [
            np.median(column[~np.isnan(column)]) if not np.isnan(column).all() else np.nan
            for column in self.target[:, :-1].T
        ]
        known = self.scales.stored(np.array(medians, dtype=np.float64))
        values = np.tile(known, (self.n_items, 1, 1))
        return (baseline_judge("rubric median", "always the median", values),)

    def slots(self, place: int) -> Floats:
        """The ratings of one criterion as (n_items, most labels of an item)."""
        column = self.ratings[:, place]
        known = ~np.isnan(column)
        return slots_of(self.labels.item[known], column[known], self.n_items)

    def pairs(self, tolerance: float) -> Ratio:
        """The pairs of people within a multiple of what is near, of each item and criterion."""
        found = np.full((self.n_items, len(self.inputs.criteria)), np.nan)
        for place in range(found.shape[1]):
            slots = self.slots(place)
            if slots.shape[1]:
                limit = tolerance * float(self.scales.near[place])
                found[:, place] = pairwise_agreement_contributions(slots, tolerance=limit)
        return mean_of(found, _NO_PAIR)

    def not_applicable(self) -> Ratio:
        """Share of people's answers to criteria that may not apply."""
        n_not, n_rate = (np.where(self.scales.may_not_apply, side, 0.0) for side in self._not_counts)
        return Ratio(n_not, n_not + n_rate, _NO_ANSWER)

    def pairs_applicable(self) -> Ratio:
        """The pairs of people who say the same of whether a criterion applies, of each item and criterion."""
        found = np.full((self.n_items, len(self.inputs.criteria)), np.nan)
        for place in np.flatnonzero(self.scales.may_not_apply).tolist():
            said = self.labels_not[:, place]
            known = said | ~np.isnan(self.labels.values[:, place])
            slots = slots_of(self.labels.item[known], said[known].astype(np.float64), self.n_items)
            if slots.shape[1]:
                found[:, place] = pairwise_agreement_contributions(slots)
        return mean_of(found, _NO_TWO_ANSWERS)

    def within_one(self) -> Ratio:
        """Each rating beside the mean of the others, averaged over an item's labels."""
        return self._of_labels(self.nearness("within_one", np.abs(self.ratings - self.others)[:, :-1]))

    def mean_distance(self) -> Ratio:
        """From the mean of the others, averaged over an item's labels."""
        return self._of_labels(np.abs(self.ratings - self.others)[:, :-1])

    def _of_labels(self, values: Floats) -> Ratio:
        return mean_of(means_by(self.labels.item, values, self.n_items), _NO_PAIR)

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

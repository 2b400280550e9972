"""The figures of ratings by criteria: how far they follow people's mean rating, or the gold ratings."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from metaeval.figures.figure import CORRELATION, UNPARSED, Figure, KindFigures
from metaeval.figures.sample import (
    ByCriterion,
    Correlated,
    JudgeSample,
    Part,
    Ratio,
    Sample,
    mean_of,
    means_by,
)
from metaeval.inputs import Booleans, Floats, JudgeAnswers, baseline_judge
from metaeval.stats import (
    Estimate,
    krippendorff_alpha,
    pairwise_agreement_contributions,
    person_correlation,
)
from metaeval.stats.arrays import slots_of
from metaeval.stats.correlation import Method, mean_of_others

NEAR = 1.0
"""Tolerant accuracy: within one point (HELM Instruct)."""
# People's means are sums of floats.
_GRAIN = 1e-9
_PARTS = ("criterion",)
_RATINGS = (1.0, 5.0)
_DISTANCE = (0.0, 4.0)
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


class RubricJudge(JudgeSample):
    """A judge's ratings, (n_items, n_criteria + 1)."""

    sample: RubricSample

    @cached_property
    def table(self) -> Floats:
        """Its ratings and their mean."""
        return with_mean(self.judge.values[:, 0])

    def correlated(self, method: Method) -> Correlated:
        """Its ratings beside the target's."""
        return Correlated(self.table, self.sample.target, method)

    def expected(self, method: Method) -> Part | None:
        """Its expected ratings beside the target's; where a rating has no probabilities, the rating itself."""
        finer = self.judge.finer
        if finer is None or np.isnan(finer).all():
            return None
        ratings = np.where(np.isnan(finer[:, 0]), self.judge.values[:, 0], finer[:, 0])
        return Correlated(with_mean(ratings), self.sample.target, method)

    @property
    def distance(self) -> Floats:
        """From the target."""
        return np.asarray(np.abs(self.table - self.sample.target)[:, :-1])

    def mean_distance(self) -> Ratio:
        """From the target, of ratings that could be read."""
        return mean_of(self.distance, _NO_TARGET)

    def within_one(self) -> Ratio:
        """What could not be read is not near: it stays in the denominator."""
        covered = self.judge.asked[:, np.newaxis] & ~np.isnan(self.sample.target[:, :-1])
        return mean_of(np.where(covered, np.nan_to_num(within_one_point(self.distance)), np.nan), _NO_TARGET)

    def mean_rating(self) -> Ratio:
        """Of all its ratings."""
        return mean_of(self.table[:, :-1], _NO_TARGET)

    @property
    def score(self) -> Floats:
        """One minus the mean distance from the target as a share of the widest; a criterion left out is as far off as
        can be.
        """
        known = ~np.isnan(self.sample.target[:, :-1])
        close = np.where(known, np.nan_to_num(1.0 - self.distance / _DISTANCE[1]), 0.0)
        return np.asarray(close.sum(axis=1) / np.maximum(known.sum(axis=1), 1))


class RubricSample(Sample):
    """Ratings of the labels and of the target: a column a criterion, the last one their mean."""

    judge_type = RubricJudge

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

    def has_target(self, primary: str) -> Booleans:  # noqa: ARG002
        return np.asarray((~np.isnan(self.target)).any(axis=1))

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

    def person(self, method: Method) -> ByCriterion:
        """Each annotator beside the mean of the others."""
        labels = self.labels

        def figure(place: int | None) -> Estimate:
            column = self.ratings[:, -1 if place is None else place]
            return person_correlation(
                (labels.item, labels.annotator, column),
                n_items=self.n_items,
                method=method,
                resamples=self.resamples,
                confidence=self.options.confidence,
                weights=self.drawn,
            )

        return ByCriterion(figure)

    def alpha(self) -> ByCriterion:
        """Ordinal, over the items of one criterion or the items of all."""

        def figure(place: int | None) -> Estimate:
            places = range(len(self.inputs.criteria)) if place is None else (place,)
            parts = [self.slots(each) for each in places]
            width = max((part.shape[1] for part in parts), default=0)
            if not width:
                return Estimate(np.nan, np.nan, np.nan, n=0, reason="no labels")
            table = np.full((len(parts), self.n_items, width), np.nan)
            for row, part in enumerate(parts):
                table[row, :, : part.shape[1]] = part
            rows = np.tile(np.arange(self.n_items), len(parts))
            return krippendorff_alpha(
                table.reshape(-1, width),
                level="ordinal",
                resamples=self.resamples if len(parts) == 1 else self.resamples_of(rows),
                confidence=self.options.confidence,
                weights=None if self.drawn is None else self.drawn[rows],
            )

        return ByCriterion(figure)


def _correlation(name: str, label: str, what: str, function: Any, axes: tuple[str, ...] = _PARTS) -> Figure:
    return Figure(name, label, what, function, "number", CORRELATION, axes, compares=True)


def _mean_rating(function: Any) -> Figure:
    return Figure("mean_rating", "Mean rating", "Mean of all ratings.", function, "number", _RATINGS, _PARTS)


PEOPLE = (
    _correlation(
        "alpha",
        "Krippendorff's alpha, ordinal",
        "Agreement beyond chance of ordered ratings, over all items and criteria.",
        RubricSample.alpha,
    ),
    Figure(
        "pair_exact",
        "Pairwise agreement",
        "Share of the pairs of human annotators who give the same rating, averaged over items and criteria.",
        partial(RubricSample.pairs, tolerance=0.0),
        axes=_PARTS,
    ),
    Figure(
        "pair_near",
        "Pairwise agreement within one point",
        "Share of the pairs of human annotators whose ratings differ by one point at most.",
        partial(RubricSample.pairs, tolerance=NEAR),
        axes=_PARTS,
    ),
    Figure(
        "within_one",
        "Within one point of the mean of the others",
        "Share of the ratings within one point of the mean of the other annotators' ratings of the item.",
        RubricSample.within_one,
        axes=_PARTS,
    ),
    _correlation(
        "spearman",
        "Spearman with the mean of the others",
        "Spearman's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
        partial(RubricSample.person, method="spearman"),
    ),
    _correlation(
        "pearson",
        "Pearson with the mean of the others",
        "Pearson's correlation of an annotator's ratings with the mean of the others', averaged over annotators.",
        partial(RubricSample.person, method="pearson"),
        (),
    ),
    Figure(
        "mean_absolute_error",
        "Mean distance to the mean of the others",
        "Mean distance of a rating to the mean of the other annotators' ratings of the item.",
        RubricSample.mean_distance,
        "number",
        _DISTANCE,
    ),
    _mean_rating(RubricSample.mean_rating),
)
GOLD = (_mean_rating(RubricSample.gold_rating),)
JUDGES = (
    _correlation(
        "spearman",
        "Spearman",
        "Spearman's correlation of the judge's mean rating with the target's.",
        partial(RubricJudge.correlated, method="spearman"),
    ),
    _correlation(
        "pearson",
        "Pearson",
        "Pearson's correlation of the judge's mean rating with the target's.",
        partial(RubricJudge.correlated, method="pearson"),
    ),
    _correlation(
        "spearman_expected",
        "Spearman, expected ratings",
        "Spearman's correlation of the judge's probability-weighted rating with the target's.",
        partial(RubricJudge.expected, method="spearman"),
    ),
    _correlation(
        "pearson_expected",
        "Pearson, expected ratings",
        "Pearson's correlation of the judge's probability-weighted rating with the target's.",
        partial(RubricJudge.expected, method="pearson"),
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
    ),
    Figure(
        "within_one",
        "Within one point",
        "Share of the ratings within one point of the target's; one that could not be read is not.",
        RubricJudge.within_one,
        axes=_PARTS,
        compares=True,
    ),
    _mean_rating(RubricJudge.mean_rating),
    UNPARSED,
)
KIND = KindFigures(
    sample=RubricSample,
    people=PEOPLE,
    judges=JUDGES,
    gold=GOLD,
    primaries=("spearman",),
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
    # A baseline of rubrics says one number everywhere, which correlates with nothing.
    has_floor=False,
    has_confidence_set=False,
    counted="n counts items; of alpha over all criteria, items times criteria.",
    methods=(
        "Krippendorff's alpha is ordinal; over all criteria together it is of all ratings. Two annotators are compared "
        "pair by pair within an item, then items are averaged.",
        "Leave-one-out figures compare each rating with the mean of the other annotators' ratings of the same item: "
        "correlations are of each annotator who shares at least five items with others, averaged over annotators; "
        "distances and shares are averaged over an item's labels, then over items.",
    ),
    ranked="Judges are ranked by Spearman's correlation of their mean rating of an item with {against}.",
    against={"people": "human annotators' mean ratings", "gold": "the gold ratings"},
)

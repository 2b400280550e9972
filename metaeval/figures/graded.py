"""The figures of graded preferences: how strong they are, among human annotators and beside a judge.

A grade is a number from -3 to 3 (`annotation.kinds.grades`). Inputs without a grade have none of these figures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from annotation.kinds.grades import MOST, STRENGTH_WORDS, STRENGTHS
from metaeval.figures.figure import CORRELATION, GROUPS, Figure
from metaeval.figures.sample import ByGroup, CrossedRatio, JudgeSample, Part, Ratio, Sample, mean_of, means_by
from metaeval.inputs import SCORE_DIFFERENCES, Booleans, Floats, Integers
from metaeval.stats import Estimate, correlation, krippendorff_alpha, person_correlation
from metaeval.stats.arrays import row_sums
from metaeval.stats.correlation import mean_of_others
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.crossed_sums import (
    CrossedSums,
    Linear,
    crossed_correlation,
    others_mean_effects,
    replaced_effects,
)

NO_GRADE = "no label has a grade"
NO_GRADE_OF_JUDGE = "the judge's verdicts have no grade"
OWN_SCALE = "differences of scores, on a scale of their own"
_NO_GRADED_PAIR = "no item has two labels with a grade"
_NO_SHARED = "no item has a grade of the judge and of a label"
_RANGE = (0.0, 2 * MOST)
_TABLE = "Graded preferences"
_OF_EACH = "they are means of these annotators' own correlations"
_OF_OTHERS = "a label's score depends on the other labels of its item"


def has_strength(grades: Floats, strength: str) -> Booleans:
    """The preferences whose grade is nearest to that of a word.

    Examples
    --------
    >>> has_strength(np.array([-1.0, 1.5, 0.0, np.nan]), "slightly").tolist()
    [True, False, False, False]
    """
    grade = np.array(list(STRENGTHS.values()))
    # Half way between two words is the stronger one.
    place = np.searchsorted((grade[1:] + grade[:-1]) / 2, np.abs(grades), side="right")
    return np.asarray((np.abs(grades) > 0) & (grade[place] == STRENGTHS[strength]))


class GradedJudge(JudgeSample):
    """A judge of pairs, by how strong its preferences are."""

    sample: GradedSample

    @cached_property
    def grade(self) -> Floats:
        """Its grade of each item, the mean over presentation orders; NaN where there is none."""
        grades = self.judge.grades
        if grades is None:
            return np.full(self.sample.n_items, np.nan)
        known = ~np.isnan(grades)
        total, n = row_sums(np.where(known, grades, 0.0)), row_sums(known)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    @property
    def _missing(self) -> str:
        """Why there is nothing to compare; empty where there is."""
        if self.sample.labels.grades is None:
            return NO_GRADE
        return NO_GRADE_OF_JUDGE if np.isnan(self.grade).all() else ""

    @property
    def _how(self) -> dict[str, Any]:
        sample = self.sample
        return {
            "resamples": sample.resamples,
            "confidence": sample.options.confidence,
            "weights": sample.drawn,
        }

    def graded_correlation(self, method: Linear) -> ByGroup | None:
        """Its grades beside people's mean grades."""
        if not self.sample.is_graded:
            return None
        if reason := self._missing:
            return _nothing(reason)
        said, target = self.grade, self.sample.mean_grade
        return ByGroup(lambda members: correlation(said, target, method=method, where=members, **self._how))

    def graded_correlation_alike(self, method: Linear) -> ByGroup | None:
        """The same of annotators like these too."""
        if not self.sample.is_graded or self._missing:
            return None
        sample = self.sample
        return ByGroup(
            lambda members: crossed_correlation(
                self.grade,
                sample.mean_grade,
                sample.moved_grade,
                sample.crossing,
                method=method,
                where=members,
                **self._how,
            )
        )

    def grade_distance(self) -> Ratio | None:
        """How far its grades are from people's mean grades."""
        if not self.sample.is_graded:
            return None
        reason = self._missing or (OWN_SCALE if self._has_own_scale else _NO_SHARED)
        if self._has_own_scale:
            return mean_of(np.full(self.sample.n_items, np.nan), reason)
        return mean_of(np.abs(self.grade - self.sample.mean_grade), reason)

    def grade_distance_alike(self) -> CrossedRatio | None:
        """The same of annotators like these too."""
        if not self.sample.is_graded or self._missing or self._has_own_scale:
            return None
        sample, said = self.sample, self.grade
        distance = np.abs(said - sample.mean_grade)
        counted = ~np.isnan(distance)
        top = np.where(counted, distance, 0.0)

        def after(one: Integers, two: Integers) -> Floats:
            item = sample.labels.item[one]
            return np.where(counted[item], np.abs(said[item] - sample.moved_grade(one, two)), 0.0)

        effects = np.nan_to_num(replaced_effects(top, sample.crossing, after))
        sums = CrossedSums(top, counted.astype(np.float64), effects, is_curved=True)
        return CrossedRatio(sums, sample.crossing, _RANGE)

    @property
    def _has_own_scale(self) -> bool:
        return self.judge.grade_scale == SCORE_DIFFERENCES

    def graded_agreement(self, strength: str) -> Ratio | None:
        """How often it gives the side of labels of a strength."""
        if not self.sample.is_graded:
            return None
        return _label_sums(self.sample, self._same_side(strength), _none_of(self.sample, strength))

    def graded_agreement_alike(self, strength: str) -> ByGroup | None:
        """The same of annotators like these."""
        if not self.sample.is_graded or self.sample.labels.grades is None:
            return None
        return self.sample.mean_alike(self._same_side(strength))

    def _same_side(self, strength: str) -> Floats:
        """Of each label of a strength, the share of the judge's verdicts with its side: NaN for other labels."""
        labels, judge = self.sample.labels, self.judge
        verdicts, asked = judge.verdicts, judge.judged
        if self.sample.options.unparsed == "omit":
            asked = asked & ~np.isnan(verdicts)
        same = (verdicts[labels.item] == labels.choice[:, np.newaxis]) & asked[labels.item]
        n = row_sums(asked)[labels.item]
        counted = has_strength(self.sample.grades, strength) & (n > 0)
        return np.where(counted, row_sums(same) / np.maximum(n, 1), np.nan)

    def graded_wins(self) -> Ratio | None:
        """Its preference for the first response, between 0 and 1."""
        if not self.sample.is_graded:
            return None
        shares = (
            np.full(self.sample.n_items, np.nan) if self._has_own_scale else self.grade / (2 * MOST) + 0.5
        )
        return mean_of(shares, OWN_SCALE if self._has_own_scale else NO_GRADE_OF_JUDGE)


class GradedSample(Sample):
    """Pairs, by how strong preferences are."""

    @property
    def is_graded(self) -> bool:
        """Whether any label or judge has a grade."""
        graded = self.labels.grades is not None
        return graded or any(judge.grades is not None for judge in self.inputs.judges)

    @cached_property
    def grades(self) -> Floats:
        """The grade of each label, NaN where it has none: (n_labels,)."""
        known = self.labels.grades
        return np.full(len(self.labels), np.nan) if known is None else known

    @cached_property
    def mean_grade(self) -> Floats:
        """The mean grade of the labels of each item: (n_items,)."""
        return means_by(self.labels.item, self.grades, self.n_items)

    @cached_property
    def _n_graded(self) -> Integers:
        known = ~np.isnan(self.grades)
        return np.maximum(np.bincount(self.labels.item[known], minlength=self.n_items), 1)

    def moved_grade(self, one: Integers, two: Integers) -> Floats:
        """The mean grade of the items of some labels if each of these were as another of its item."""
        item = self.labels.item[one]
        change = np.nan_to_num(self.grades[two] - self.grades[one])
        return np.asarray(self.mean_grade[item] + change / self._n_graded[item])

    @cached_property
    def _graded_labels(self) -> LongLabels:
        known = ~np.isnan(self.grades)
        labels = self.labels
        return read_labels((labels.item[known], labels.annotator[known], self.grades[known]), self.n_items)

    def graded_alpha(self, **options: Any) -> ByGroup | None:
        """Ordinal alpha of the grades."""
        if not self.is_graded:
            return None
        if self.labels.grades is None:
            return _nothing(NO_GRADE)
        how = options | {
            "resamples": self.resamples,
            "confidence": self.options.confidence,
            "weights": self.drawn,
        }
        return ByGroup(
            lambda members: krippendorff_alpha(self._graded_labels, level="ordinal", where=members, **how)
        )

    def graded_alpha_alike(self) -> ByGroup | None:
        """The same of annotators like these."""
        return None if self.labels.grades is None else self.graded_alpha(people="sampled")

    def graded_correlation(self, method: Linear) -> ByGroup | None:
        """Each annotator's grades beside the mean of the others'."""
        if not self.is_graded:
            return None
        if self.labels.grades is None:
            return _nothing(NO_GRADE)
        labels, known = self.labels, ~np.isnan(self.grades)
        rows = labels.item[known], labels.annotator[known], self.grades[known]
        how: dict[str, Any] = {
            "n_items": self.n_items,
            "method": method,
            "resamples": self.resamples,
            "confidence": self.options.confidence,
            "weights": self.drawn,
        }
        return ByGroup(lambda members: person_correlation(rows, where=members, **how))

    def grade_distance(self) -> Ratio | None:
        """How far a grade is from the mean of the others of its item."""
        if not self.is_graded:
            return None
        reason = NO_GRADE if self.labels.grades is None else _NO_GRADED_PAIR
        others = mean_of_others(self.labels.item, self.grades, self.n_items)
        return mean_of(means_by(self.labels.item, np.abs(self.grades - others), self.n_items), reason)

    def grade_distance_alike(self) -> CrossedRatio | None:
        """The same of annotators like these."""
        if self.labels.grades is None:
            return None
        mean, effects = others_mean_effects(self.grades, self.crossing, self.n_items, np.asarray)
        known = ~np.isnan(mean)
        sums = CrossedSums(
            np.where(known, mean, 0.0), known.astype(np.float64), np.nan_to_num(effects), is_curved=True
        )
        return CrossedRatio(sums, self.crossing, _RANGE)

    def graded_agreement(self, strength: str) -> Ratio | None:
        """How often another annotator gives the side of labels of a strength."""
        if not self.is_graded:
            return None
        return _label_sums(self, self._sides_of_others(strength), _none_of(self, strength))

    def _sides_of_others(self, strength: str) -> Floats:
        """Of each label of a strength, the share of the other labels of its item with its side: NaN for the rest."""
        item, choice = self.labels.item, self.labels.choice.astype(np.intp)
        votes = np.zeros((self.n_items, 3))
        np.add.at(votes, (item, choice), 1.0)
        others = votes[item].sum(axis=1) - 1
        counted = has_strength(self.grades, strength) & (others > 0)
        return np.where(counted, (votes[item, choice] - 1) / np.maximum(others, 1), np.nan)


def _nothing(reason: str) -> ByGroup:
    return ByGroup(lambda _: Estimate(np.nan, np.nan, np.nan, n=0, reason=reason))


def _none_of(sample: GradedSample, strength: str) -> str:
    none = f"no label says “{STRENGTH_WORDS[strength]}” where it can be compared"
    return NO_GRADE if sample.labels.grades is None else none


def _label_sums(sample: Sample, scores: Floats, reason: str) -> Ratio:
    """The mean of a score of labels, NaN taking no part, as sums over items."""
    item, known = sample.labels.item, np.asarray(~np.isnan(scores), dtype=np.float64)
    top = np.bincount(item, weights=np.nan_to_num(scores), minlength=sample.n_items)
    bottom = np.bincount(item, weights=known, minlength=sample.n_items)
    return Ratio(top.astype(np.float64), bottom.astype(np.float64), reason)


def _by_strength(
    function: Callable[..., Part | None],
    estimand: str,
    alike: Callable[..., Part | None] | None = None,
    only_these: str = "",
) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            f"agreement_{strength}",
            f"Agreement where labels say “{words}”",
            estimand.format(words=words),
            partial(function, strength=strength),
            compares=True,
            table=_TABLE,
            short=f"“{words.capitalize()}”",
            alike=None if alike is None else partial(alike, strength=strength),  # type: ignore[arg-type]
            only_these=only_these,
        )
        for strength, words in STRENGTH_WORDS.items()
    )


PEOPLE = (
    Figure(
        "graded_alpha",
        "Krippendorff's alpha of graded preferences, ordinal",
        "Agreement beyond chance of graded preferences, as ordered categories from the first response to the second.",
        GradedSample.graded_alpha,
        "number",
        CORRELATION,
        GROUPS,
        table=_TABLE,
        short="Alpha, ordinal",
        alike=GradedSample.graded_alpha_alike,
    ),
    Figure(
        "grade_spearman",
        "Spearman correlation of grades",
        "Mean correlation, over human annotators, of one annotator's grades with the mean of the others' grades of the "
        "same pairs.",
        partial(GradedSample.graded_correlation, method="spearman"),
        "number",
        CORRELATION,
        table=_TABLE,
        short="Spearman",
        only_these=_OF_EACH,
    ),
    Figure(
        "grade_pearson",
        "Pearson correlation of grades",
        "Mean correlation, over human annotators, of one annotator's grades with the mean of the others' grades of the "
        "same pairs.",
        partial(GradedSample.graded_correlation, method="pearson"),
        "number",
        CORRELATION,
        table=_TABLE,
        short="Pearson",
        only_these=_OF_EACH,
    ),
    Figure(
        "grade_distance",
        "Mean absolute difference of grades",
        "Distance of a grade from the mean of the other grades of its pair, averaged over the labels of a pair and "
        "over pairs; grades go from -3 to 3.",
        GradedSample.grade_distance,
        "number",
        _RANGE,
        GROUPS,
        table=_TABLE,
        short="Distance",
        alike=GradedSample.grade_distance_alike,
    ),
    *_by_strength(
        GradedSample.graded_agreement,
        "Chance that another human annotator's label has the side of a label that says “{words}”.",
        only_these=_OF_OTHERS,
    ),
)
JUDGES = (
    Figure(
        "grade_spearman",
        "Spearman correlation of grades",
        "Correlation of the judge's grades, averaged over presentation orders, with the mean grades of human "
        "annotators.",
        partial(GradedJudge.graded_correlation, method="spearman"),
        "number",
        CORRELATION,
        GROUPS,
        compares=True,
        table=_TABLE,
        short="Spearman",
        alike=partial(GradedJudge.graded_correlation_alike, method="spearman"),
    ),
    Figure(
        "grade_pearson",
        "Pearson correlation of grades",
        "Correlation of the judge's grades, averaged over presentation orders, with the mean grades of human "
        "annotators.",
        partial(GradedJudge.graded_correlation, method="pearson"),
        "number",
        CORRELATION,
        GROUPS,
        compares=True,
        table=_TABLE,
        short="Pearson",
        alike=partial(GradedJudge.graded_correlation_alike, method="pearson"),
    ),
    Figure(
        "grade_distance",
        "Mean absolute difference of grades",
        "Distance of the judge's grade, averaged over presentation orders, from the mean grade of human annotators, "
        "averaged over pairs; grades go from -3 to 3.",
        GradedJudge.grade_distance,
        "number",
        _RANGE,
        GROUPS,
        compares=True,
        table=_TABLE,
        short="Distance",
        alike=GradedJudge.grade_distance_alike,
    ),
    *_by_strength(
        GradedJudge.graded_agreement,
        "Share of the labels that say “{words}” whose side is the judge's verdict, averaged over presentation orders.",
        alike=GradedJudge.graded_agreement_alike,
    ),
    Figure(
        "graded_win_rate",
        "Graded win rate of the first response",
        "The judge's preference for the first response between 0 (the second is much better) and 1, averaged over "
        "presentation orders and pairs; of probabilities, their mean.",
        GradedJudge.graded_wins,
        table=_TABLE,
        short="Graded win rate",
        neutral=0.5,
    ),
)

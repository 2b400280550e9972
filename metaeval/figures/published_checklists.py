"""The figures of checklists that papers print: HealthBench's score, and how well its graders agree with physicians."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metaeval.figures.checklist import NO, YES, ChecklistJudge, ChecklistSample
from metaeval.figures.figure import GROUPS, Figure, PublishedConvention
from metaeval.figures.sample import ByGroup, means_by
from metaeval.inputs import UNSURE, Booleans, Floats, Integers
from metaeval.stats import Estimate, preset, rubric_points_contributions
from metaeval.stats.categories import macro_scores
from metaeval.stats.estimate import no_estimate
from metaeval.stats.rubric_points import mean_of_points

_NAME = "healthbench"
_OPTIONS = preset(_NAME).of(rubric_points_contributions)
_NO_POINTS = "no item has a criterion with points"
_NO_LABELS = "no label of a judged item"
_NO_PAIR = "no question has two labels"
_SIDES = np.array([YES, NO])

# --- points earned -------------------------------------------------------------------------------------------------


def _shares(sample: ChecklistSample, item: Integers, answers: Floats) -> Floats:
    """By item the mean share of its points of these checklists, one a row of `answers`; NaN where there is none."""
    assert sample.items.points is not None
    points = np.where(sample.is_question, sample.items.points, 0.0)
    row, part = np.nonzero(sample.is_question[item] & ~np.isnan(points[item]).any(axis=1, keepdims=True))
    given = answers[row, part]
    # A question that was left out cannot be told.
    met = np.where(np.isnan(given) | (given == UNSURE), np.nan, given)
    shares = np.full(len(item), np.nan)
    rows = np.unique(row)
    if len(rows):
        shares[rows] = rubric_points_contributions(met, row, points[item][row, part], **_OPTIONS)
    return means_by(item, shares, sample.n_items)


def _score(sample: ChecklistSample, item: Integers, answers: Floats, weights: Floats | None) -> ByGroup:
    points = sample.items.points

    def figure(members: Booleans) -> Estimate:
        if points is None:
            return no_estimate(_NO_POINTS)
        shares = _shares(sample, item, answers)
        lost, possible = (np.nansum(side, axis=1) for side in (np.minimum(points, 0), np.maximum(points, 0)))
        least = float((lost[possible > 0] / possible[possible > 0]).min(initial=0.0))
        return mean_of_points(
            shares,
            least,
            where=members,
            resamples=sample.resamples,
            weights=weights,
            confidence=sample.options.confidence,
        )

    return ByGroup(figure)


def _of_judge(one: ChecklistJudge) -> ByGroup:
    rows = np.flatnonzero(one.read)
    return _score(one.sample, rows, one.judge.values[rows, 0], None)


def _of_people(sample: ChecklistSample) -> ByGroup:
    return _score(sample, sample.labels.item, sample.labels.values, sample.drawn)


# --- agreement with physicians -------------------------------------------------------------------------------------


def _macro_f1(
    sample: ChecklistSample, said: Floats, truth: Floats, question: Integers, reason: str
) -> ByGroup:
    """Macro F1 of met and not met, over pairs of what was said and what a physician said; NaN is unparsed."""
    item = sample.item[question]

    def figure(members: Booleans) -> Estimate:
        if not len(item):
            return no_estimate(reason)
        chosen = np.where(np.isnan(said), np.nan, np.where(said == YES, YES, NO))
        return macro_scores(
            (chosen[:, np.newaxis] == _SIDES).astype(np.float64),
            (truth[:, np.newaxis] == _SIDES).astype(np.float64),
            where=members[item],
            resamples=sample.resamples_of(item),
            weights=None if sample.drawn is None else sample.drawn[item],
            confidence=sample.options.confidence,
        ).f1

    return ByGroup(figure)


def _with_physicians(one: ChecklistJudge) -> ByGroup:
    sample = one.sample
    given = sample.by_answer
    counted = (given.value != UNSURE) & one.judge.asked[sample.item[given.question]]
    question = given.question[counted]
    said = one.answers[question]
    return _macro_f1(sample, said, given.value[counted], question, _NO_LABELS)


def _of_physicians(sample: ChecklistSample) -> ByGroup:
    slots = np.where(sample.slots == UNSURE, np.nan, sample.slots)
    known = ~np.isnan(slots)
    question, first, second = np.nonzero(known[:, :, np.newaxis] & known[:, np.newaxis])
    apart = first != second
    question, first, second = question[apart], first[apart], second[apart]
    said, truth = slots[question, first], slots[question, second]
    return _macro_f1(sample, said, truth, question, _NO_PAIR)


_POINTS = "points earned over the points that can be earned, averaged over items; the mean is cut off at 0."
_PAIRED = "the convention pools the labels of these annotators"
PUBLISHED: Mapping[str, PublishedConvention] = {
    _NAME: PublishedConvention(
        "HealthBench",
        "An item scores the points of the criteria that are met over all points above 0, and the mean of items is cut "
        "off at 0; cannot tell is not met. A judge's macro F1 is the mean of the F1 of met and of not met over all "
        "pairs of a verdict and a physician's label, so that an item with many labels weighs more.",
        ("arora2025healthbench",),
        (
            Figure(
                f"{_NAME}_score",
                "HealthBench score",
                f"Of the judge's answers, {_POINTS}",
                _of_judge,
                axes=GROUPS,
                short="Score",
            ),
            Figure(
                f"{_NAME}_macro_f1",
                "Macro F1 with labels (HealthBench)",
                "Mean of the F1 of met and of not met, over the pairs of a verdict and a label of the same criterion.",
                _with_physicians,
                axes=GROUPS,
                short="Macro F1",
                compares=True,
                only_these=_PAIRED,
            ),
        ),
        (
            Figure(
                f"{_NAME}_human_score",
                "HealthBench score",
                f"Of human annotators' answers, {_POINTS}",
                _of_people,
                axes=GROUPS,
                only_these=_PAIRED,
                in_pages=False,
            ),
            Figure(
                f"{_NAME}_human_macro_f1",
                "Macro F1 of labels (HealthBench)",
                "Mean of the F1 of met and of not met, over the pairs of labels of the same criterion.",
                _of_physicians,
                axes=GROUPS,
                only_these=_PAIRED,
                in_pages=False,
            ),
        ),
    ),
}
"""By the name of a preset."""

"""Verdicts with two sides (first or second better, yes or no) beside what is right: errors, and how sure a judge was.

A row is a pair, or a question of a checklist. A kind's judge says what its rows are; the figures are made here once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np

from metaeval.figures.figure import GROUPS, Figure
from metaeval.figures.sample import RISK, ByGroup, JudgeSample, Part, Ratio
from metaeval.inputs import Booleans, Floats, Integers
from metaeval.stats import Estimate, abstention_threshold
from metaeval.stats.calibration import calibration_estimate
from metaeval.stats.confusion import NO_NEGATIVE, NO_POSITIVE, Outcomes, outcomes

_ONLY_THESE = "the majority of these annotators counts as right"
_NO_CERTAINTY = "no verdict with a known right answer has a certainty"


@dataclass(frozen=True, eq=False)
class BinaryAnswers:
    """A judge's answers by row.

    Attributes
    ----------
    item, cluster : ndarray of shape (n_rows,)
        The item and the instruction of each row.
    said : ndarray of shape (n_rows, n_orders)
        1 and 0, -1 for neither (a tie, cannot tell), NaN for unparsed.
    asked : ndarray of shape (n_rows, n_orders)
        Where there is a judgment.
    shares : ndarray of shape (n_rows,)
        What is right: the share of people who say 1, or the gold answer; NaN where nothing is known.
    chance : ndarray of shape (n_rows,) or None
        The judge's probability of 1, over orders; NaN where it gave no verdict. None where nothing says how sure it is.
    weights : ndarray of shape (n_rows,) or None
        Sampling weights of labelled rows.
    """

    item: Integers
    cluster: Integers
    said: Floats
    asked: Booleans
    shares: Floats
    chance: Floats | None
    weights: Floats | None
    n_items: int

    @cached_property
    def truth(self) -> Floats:
        """The majority, 1 or 0; NaN where it is drawn."""
        return np.where(self.shares > 0.5, 1.0, np.where(self.shares < 0.5, 0.0, np.nan))

    @cached_property
    def outcomes(self) -> Outcomes:
        """The cells of the confusion matrix."""
        return outcomes(self.said, self.truth, asked=self.asked)

    @cached_property
    def certainty(self) -> Floats:
        """The probability of the side that it prefers; NaN where it gave no verdict, or does not say."""
        return np.full(len(self.shares), np.nan) if self.chance is None else certainty_of(self.chance)

    @cached_property
    def right(self) -> Floats:
        """1 where the side that it prefers is right, 0 where it isn't, one half where it prefers neither; else NaN."""
        if self.chance is None:
            return np.full(len(self.shares), np.nan)
        same = (self.chance > 0.5) == (self.truth == 1)
        known = ~np.isnan(self.chance) & ~np.isnan(self.truth)
        return np.where(known, np.where(self.chance == 0.5, 0.5, same), np.nan)

    @property
    def wrong(self) -> Floats:
        """1 where it would be wrong to keep its verdict."""
        return 1 - self.right

    def ratio(self, name: str, reason: str) -> Ratio:
        """A rate of the confusion matrix."""
        top, bottom = self.outcomes.ratio(name)
        return Ratio(self._per_item(top), self._per_item(bottom), reason)

    def brier(self) -> Ratio | None:
        """Brier score of the certainty."""
        if self.chance is None:
            return None
        # Where it prefers neither side, one of the two orders is right: certainty of one half scores 0.25.
        squared = (self.certainty - self.right) ** 2 + self.right * (1 - self.right)
        known = ~np.isnan(squared)
        return Ratio(self._per_item(np.where(known, squared, 0.0)), self._per_item(known), _NO_CERTAINTY)

    def calibration(self, confidence: float, *, intervals: bool) -> Part | None:
        """Calibration error of the certainty, by group of items; with or without intervals."""
        if self.chance is None:
            return None
        certainty, right = self.certainty, self.right

        def of(members: Booleans) -> Estimate:
            rows = np.flatnonzero(members[self.item])
            estimate = calibration_estimate(
                certainty[rows],
                right[rows],
                clusters=self.cluster[rows],
                weights=None if self.weights is None else self.weights[rows],
                confidence=confidence,
            )
            return estimate if intervals else replace(estimate, low=math.nan, high=math.nan, method="none")

        return ByGroup(of)

    def threshold(self, confidence: float, risk: float = RISK) -> dict[str, Any] | None:
        """From where on the judge may decide by itself; None where nothing says how sure it is."""
        if self.chance is None or np.isnan(self.wrong).all():
            return None
        found = abstention_threshold(
            self.certainty,
            self.wrong,
            where=self.asked.any(axis=1),
            risk=risk,
            clusters=self.cluster,
            weights=self.weights,
            confidence=confidence,
        )
        return found.as_dict()

    def _per_item(self, values: Any) -> Floats:
        found = np.bincount(self.item, weights=np.asarray(values, dtype=np.float64), minlength=self.n_items)
        return found.astype(np.float64, copy=False)


Read = Callable[[Any], BinaryAnswers | None]


def certainty_of(chance: Floats) -> Floats:
    """The probability of the side that is preferred, from that of the positive one."""
    return np.maximum(chance, 1 - chance)


def read_once(method: Any) -> Any:
    """Have a judge's answers read once beside each target: every figure of errors and of confidence asks for them."""

    @wraps(method)
    def read(self: JudgeSample, *, gold: bool) -> BinaryAnswers | None:
        if gold not in self.answers_read:
            self.answers_read[gold] = method(self, gold=gold)
        found: BinaryAnswers | None = self.answers_read[gold]
        return found

    return read


def binary_figures(read: Read, positive: str, right: str, *, gold: bool = False) -> tuple[Figure, ...]:
    """The figures of errors and of confidence of a judge, beside what people say or beside gold.

    ``positive`` is what a positive row is called and ``right`` what it is compared with, in sentences.
    """
    suffix, words = ("_gold", " (gold)") if gold else ("", "")
    table = f"Errors and confidence{words}"

    def rate(name: str, label: str, estimand: str, reason: str) -> Figure:
        return Figure(
            name + suffix,
            label + words,
            estimand,
            partial(_rate, read=read, name=name, reason=reason),
            short=label,
            axes=GROUPS,
            in_pages=False,
            table=table,
            compares=not gold,
            of_gold=gold,
            only_these=_ONLY_THESE,
        )

    return (
        rate(
            "true_positive_rate",
            "True positive rate",
            f"Of those that are {positive} by {right}, the share that the judge says is.",
            NO_POSITIVE,
        ),
        rate(
            "true_negative_rate",
            "True negative rate",
            f"Of those that are not {positive} by {right}, the share that the judge says is not.",
            NO_NEGATIVE,
        ),
        rate(
            "precision",
            "Precision",
            f"Of those that the judge says are {positive}, the share that is by {right}.",
            "the judge calls no item positive",
        ),
        rate(
            "f1",
            "F1",
            "Harmonic mean of precision and true positive rate.",
            "neither the judge nor the right answers call any item positive",
        ),
        Figure(
            f"brier_score{suffix}",
            f"Brier score{words}",
            f"Mean squared difference of the judge's certainty and whether it is right by {right}; 0 is best.",
            partial(_brier, read=read),
            "number",
            short="Brier score",
            in_pages=False,
            table=table,
            compares=not gold,
            of_gold=gold,
            only_these=_ONLY_THESE,
        ),
        Figure(
            f"calibration_error{suffix}",
            f"Calibration error{words}",
            f"Root mean squared gap between the judge's certainty and how often it is right by {right}, by bins, "
            "corrected for bias.",
            partial(_calibration, read=read),
            short="Calibration error",
            in_pages=False,
            table=table,
            compares=not gold,
            of_gold=gold,
            only_these=_ONLY_THESE,
        ),
    )


def _rate(judge: Any, read: Read, name: str, reason: str) -> Ratio | None:
    answers = read(judge)
    return None if answers is None else answers.ratio(name, reason)


def _brier(judge: Any, read: Read) -> Ratio | None:
    answers = read(judge)
    return None if answers is None else answers.brier()


def _calibration(judge: Any, read: Read) -> Part | None:
    answers = read(judge)
    options = judge.sample.options
    if answers is None:
        return None
    return answers.calibration(options.confidence, intervals=options.n_resamples > 0)

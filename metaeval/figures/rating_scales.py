"""The scales of a report's criteria: what their ratings are as numbers that may be pooled, and what is near on each.

Criteria whose scales have the same ends keep their points. Where the ends differ, a rating is its position on its
scale, from 0 (the lowest) to 1 (`Scale.position`), in every figure: over all criteria, and of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from annotation.domain.scales import STANDARD, Scale, are_mixed
from metaeval.inputs import NOT_APPLICABLE, Booleans, Floats, Inputs, JudgeAnswers


@dataclass(frozen=True)
class RatingScales:
    """The scale of each criterion, in their order."""

    scales: tuple[Scale, ...]

    @classmethod
    def of(cls, inputs: Inputs) -> RatingScales:
        """Those of the inputs; 1 to 5 of criteria that they say nothing of."""
        known = inputs.scales or ()
        return cls((*known, *[STANDARD] * (inputs.items.width - len(known))))

    @cached_property
    def is_mixed(self) -> bool:
        """Whether figures are of positions from 0 to 1, since scales have different ends."""
        return are_mixed(self.scales)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most of the numbers that figures are of."""
        if self.is_mixed:
            return 0.0, 1.0
        one = self.scales[0] if self.scales else STANDARD
        return float(one.low), float(one.high)

    @property
    def width(self) -> float:
        """From the least to the most."""
        return self.range[1] - self.range[0]

    @cached_property
    def near(self) -> Floats:
        """What is near on each criterion, in these numbers: (n_criteria,)."""
        return np.array([each.near / (each.width if self.is_mixed else 1) for each in self.scales])

    def mark_fault(self, mark: float | None) -> str:
        """What is wrong with a pass mark; empty if nothing is.

        >>> RatingScales((Scale(0, 100),)).mark_fault(101)
        'pass mark: expected a rating from 0 to 100, found 101.'
        """
        low, high = self.range
        if mark is None or low <= mark <= high:
            return ""
        if self.is_mixed:
            return (
                "pass mark: expected a position from 0 (lowest rating) to 1 (highest), since the criteria have scales "
                f"with different ends, found {mark:g}."
            )
        return f"pass mark: expected a rating from {low:g} to {high:g}, found {mark:g}."

    @property
    def has_not_applicable(self) -> bool:
        """Whether "not applicable" is an answer to some criterion."""
        return any(each.not_applicable for each in self.scales)

    @cached_property
    def may_not_apply(self) -> Booleans:
        """Whether "not applicable" is an answer, by criterion: (n_criteria,)."""
        return np.array([each.not_applicable for each in self.scales], dtype=np.bool_)

    def points(self, place: int) -> Floats:
        """All ratings of a criterion, in these numbers."""
        return self._scaled(np.array(self.scales[place].points, dtype=np.float64), slice(place, place + 1))

    def numbers(self, stored: Floats) -> Floats:
        """Stored ratings, (..., n_criteria), as these numbers: NaN of what was not said or does not apply."""
        return self._scaled(np.where(stored == NOT_APPLICABLE, np.nan, stored), slice(None))

    def stored(self, numbers: Floats) -> Floats:
        """The way back, of numbers that are known."""
        if not self.is_mixed:
            return numbers
        low, width = self._ends(slice(None))
        return np.asarray(low + numbers * width)

    @property
    def is_plain(self) -> bool:
        """Whether stored ratings are these numbers."""
        return not self.is_mixed and not self.has_not_applicable

    def read(self, inputs: Inputs) -> Inputs:
        """The inputs with gold and labels as these numbers; judges stay as they are (`read_judge`)."""
        if self.is_plain:
            return inputs
        return replace(
            inputs,
            items=replace(inputs.items, gold=self.numbers(inputs.items.gold)),
            labels=replace(inputs.labels, values=self.numbers(inputs.labels.values)),
        )

    def read_judge(self, judge: JudgeAnswers) -> JudgeAnswers:
        """A judge with all its ratings as these numbers; samples keep `NOT_APPLICABLE`."""
        if self.is_plain:
            return judge
        return replace(
            judge,
            values=self.numbers(judge.values),
            finer=None if judge.finer is None else self.numbers(judge.finer),
            samples=None if judge.samples is None else self._scaled(judge.samples, slice(None)),
        )

    def _scaled(self, points: Floats, places: slice) -> Floats:
        if not self.is_mixed:
            return points
        low, width = self._ends(places)
        return np.asarray((points - low) / width)

    def _ends(self, places: slice) -> tuple[Floats, Floats]:
        low = np.array([each.low for each in self.scales[places]], dtype=np.float64)
        return low, np.array([each.width for each in self.scales[places]], dtype=np.float64)


def tolerance_words(scales: Sequence[Scale]) -> str:
    """What tolerance forgives, in a few words: "one point", or, of scales that differ, that it is each one's own."""
    found = dict.fromkeys(_near_words(each) for each in scales or (STANDARD,))
    if len(found) == 1:
        return next(iter(found))
    return "the tolerance"


def tolerance_rule(scales: Sequence[Scale]) -> str:
    """The same as a sentence, where there is more to say than the words do; else empty."""
    kinds = dict.fromkeys(_near_kind(each) for each in scales)
    if len(kinds) < 2 and "one step" in (kinds or {"one step": None}):
        return ""
    return f" Each scale allows {', '.join(kinds)}." if kinds else ""


def _near_words(scale: Scale) -> str:
    if scale.n_points == 2:
        return "half a step"
    points = f"{scale.near:g}"
    return "one point" if points == "1" else f"{points} points"


def _near_kind(scale: Scale) -> str:
    if scale.n_points == 2:
        return "half a step on two points (the side of the majority)"
    if scale.is_number:
        return "a tenth of the range on more than 11 points"
    return "one step"

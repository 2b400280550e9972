"""How right an answer is against its gold, and whether a test is passed.

A *judgment* is a part of an answer that can be right by itself: the choice of a pair, a criterion of a rubric, an
aspect of a checklist, an element of a ranking. Two rules of passing:

- exact (HREF): at least k of n answers are right in all their judgments;
- tolerant (HELM Instruct): the share of judgments within a distance of gold, over all answers, exceeds a threshold.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grade:
    """`correct` of `total` were right, and `needed` were needed."""

    correct: int
    total: int
    needed: int

    @property
    def passed(self) -> bool:
        return self.correct >= self.needed


@dataclass(frozen=True, slots=True)
class TolerantGrade:
    """`within` of `judgments` were near enough to gold, and their share has to be more than `threshold`."""

    within: int
    judgments: int
    threshold: float

    @property
    def accuracy(self) -> float | None:
        """None where nothing could be judged."""
        return self.within / self.judgments if self.judgments else None

    @property
    def passed(self) -> bool:
        return self.accuracy is not None and self.accuracy > self.threshold


@dataclass(frozen=True, slots=True)
class AnswerGrade:
    """One answer: whether all of it is right, and how many of its judgments are near enough."""

    is_right: bool
    judgments: int
    within: int


def grade(answers: Iterable[bool], *, needed: int) -> Grade:
    """Count the right answers.

    Examples
    --------
    >>> grade([True] * 9 + [False], needed=9).passed
    True
    """
    results = list(answers)
    if needed < 0:
        raise ValueError(f"needed must not be negative, got {needed}")
    return Grade(correct=sum(results), total=len(results), needed=needed)


def grade_tolerant(answers: Iterable[tuple[int, int]], *, threshold: float) -> TolerantGrade:
    """Pool the judgments of all answers, each given as (judgments, within).

    Examples
    --------
    >>> grade_tolerant([(5, 5), (5, 4)], threshold=0.85).accuracy
    0.9
    """
    pairs = list(answers)
    return TolerantGrade(
        within=sum(within for _, within in pairs),
        judgments=sum(judgments for judgments, _ in pairs),
        threshold=threshold,
    )

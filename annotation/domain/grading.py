"""Grading of a qualification test: at least k of n exactly right."""

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

"""How right an answer is against its gold, and whether a test is passed.

A *judgment* is a part of an answer that can be right by itself: the choice of a pair, a criterion of a rubric, an
aspect of a checklist, an element of a ranking. Two rules of passing:

- exact (HREF): at least k of n answers are right in all their judgments;
- tolerant (HELM Instruct): the share of judgments within a distance of gold, over all answers, exceeds a threshold.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.domain.values import dense

Ranks = Mapping[str, int]


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


def answer_grade(
    kind: str, value: Mapping[str, Any], gold: Mapping[str, Any], *, tolerance: float
) -> AnswerGrade:
    """Compare canonical values.

    The tolerance is for ratings and ranks. A choice, a yes or a no is right or wrong: between these there is no
    distance that could be tolerated.

    Examples
    --------
    >>> answer_grade("rubric", {"ratings": {"a": 4, "b": 1}}, {"ratings": {"a": 5, "b": 5}}, tolerance=1)
    AnswerGrade(is_right=False, judgments=2, within=1)
    """
    if tolerance < 0:
        raise ValueError(f"tolerance must not be negative, got {tolerance}")
    found = distances(kind, value, gold)
    limit = tolerance if kind in ("rubric", "importance", "answer_ranking") else 0
    return AnswerGrade(
        is_right=not any(found), judgments=len(found), within=sum(distance <= limit for distance in found)
    )


def distances(kind: str, value: Mapping[str, Any], gold: Mapping[str, Any]) -> list[int]:
    """The distance from gold of each judgment that has a gold: points of a rating, ranks of a ranking; 0 or 1 of the
    others.
    """
    if kind == "pairwise":
        return [int(value["choice"] != gold["choice"])]
    if kind == "rubric":
        ratings = value["ratings"]
        return [abs(ratings[key] - points) for key, points in gold["ratings"].items() if key in ratings]
    if kind == "checklist":
        answers = value["answers"]
        known = {key: answer for key, answer in gold["answers"].items() if answer is not None}
        return [int(answers[key] is not answer) for key, answer in known.items() if key in answers]
    if kind in ("importance", "answer_ranking"):
        ranks, right = _both_ranked(value["ranks"], gold["ranks"])
        return [abs(ranks[key] - right[key]) for key in right]
    raise ValueError(f"unknown kind {kind!r}")


def _both_ranked(value: Ranks, gold: Ranks) -> tuple[Ranks, Ranks]:
    """Both rankings on the elements that they share, without gaps: 1, 3, 3 is 1, 2, 2."""
    shared = [key for key in gold if key in value]
    return dense({key: value[key] for key in shared}), dense({key: gold[key] for key in shared})

"""How right an answer is against gold, from 0 to 1: the score of a hidden check."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from annotation.domain.errors import LabelValueError
from annotation.domain.grading import answer_grade

GRADED = ("pairwise", "rubric", "checklist")
RANKINGS = ("importance", "answer_ranking")


def score(
    kind: str, value: Mapping[str, Any], gold: Mapping[str, Any], *, tolerance: float = 0.0
) -> float | None:
    """How right a canonical value is; None where nothing in it can be compared with the gold.

    - pairwise: 1 for the same choice, else 0; strength and both bad are not looked at
    - rubric: the share of the ratings with a gold that are within `tolerance` points of it
    - checklist: the share of the aspects with a yes or no as gold that are answered so
    - rankings: Kendall's tau-a with ties as a relation of their own, and 0 where it is below: of all pairs of parts,
      those that stand to each other as in the gold (before, after, tied) minus those that are the other way round. It
      is 1 for the same order and about 0 for a random one.

    What a study does not ask (a criterion that it leaves out) is not wrong, and neither is what the gold leaves open.

    Examples
    --------
    >>> score("pairwise", {"choice": 1, "strength": "much"}, {"choice": 1})
    1.0
    >>> score("rubric", {"ratings": {"a": 1, "b": 2}}, {"ratings": {"a": 1, "b": 3}})
    0.5
    >>> score("rubric", {"ratings": {"a": 1, "b": 2}}, {"ratings": {"a": 1, "b": 3}}, tolerance=1)
    1.0
    >>> score("importance", {"ranks": {"a": 1, "b": 2, "c": 2}}, {"ranks": {"a": 1, "b": 2, "c": 3}})
    0.6666666666666666
    """
    if kind in GRADED:
        graded = answer_grade(kind, value, gold, tolerance=tolerance)
        return graded.within / graded.judgments if graded.judgments else None
    if kind in RANKINGS:
        return _rank_score(value["ranks"], gold["ranks"])
    raise LabelValueError("kind", f"there is no score for {kind!r}")


def _rank_score(given: Mapping[str, int], right: Mapping[str, int]) -> float | None:
    shared = [part for part in right if part in given]
    pairs = [
        (_relation(given, one, other), _relation(right, one, other)) for one, other in combinations(shared, 2)
    ]
    if not pairs:
        return None
    points = sum((mine == gold) - (mine == -gold != 0) for mine, gold in pairs)
    return max(0.0, points / len(pairs))


def _relation(ranks: Mapping[str, int], one: str, other: str) -> int:
    """-1, 0 or 1: the one comes before the other, is tied with it, or comes after it."""
    return (ranks[one] > ranks[other]) - (ranks[one] < ranks[other])

"""How right an answer is against gold, from 0 to 1: the score of a hidden check."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from annotation.domain.errors import LabelValueError

PARTS = {"rubric": "ratings", "checklist": "answers"}
RANKINGS = ("importance", "answer_ranking")


def score(kind: str, value: Mapping[str, Any], gold: Mapping[str, Any]) -> float:
    """How right a canonical value is.

    - pairwise: 1 for the same choice, else 0; strength and both bad are not looked at
    - rubric, checklist: the share of the criteria or aspects with a gold that have exactly this answer
    - rankings: Kendall's tau-a with ties as a relation of their own, and 0 where it is below: of all pairs of parts,
      those that stand to each other as in the gold (before, after, tied) minus those that are the other way round. It
      is 1 for the same order and about 0 for a random one.

    Examples
    --------
    >>> score("pairwise", {"choice": 1, "strength": "much"}, {"choice": 1})
    1.0
    >>> score("rubric", {"ratings": {"a": 1, "b": 2}}, {"ratings": {"a": 1, "b": 3}})
    0.5
    >>> score("importance", {"ranks": {"a": 1, "b": 2, "c": 2}}, {"ranks": {"a": 1, "b": 2, "c": 3}})
    0.6666666666666666
    """
    if kind == "pairwise":
        return float(value["choice"] == gold["choice"])
    if kind in PARTS:
        given, right = value[PARTS[kind]], gold[PARTS[kind]]
        same = sum(name in given and given[name] == right[name] for name in right)
        return same / len(right) if right else 1.0
    if kind in RANKINGS:
        return _rank_score(value["ranks"], gold["ranks"])
    raise LabelValueError("kind", f"there is no score for {kind!r}")


def _rank_score(given: Mapping[str, int], right: Mapping[str, int]) -> float:
    pairs = [
        (_relation(given, one, other), _relation(right, one, other)) for one, other in combinations(right, 2)
    ]
    if not pairs:
        return 1.0
    points = sum((mine == gold) - (mine == -gold != 0) for mine, gold in pairs)
    return max(0.0, points / len(pairs))


def _relation(ranks: Mapping[str, int], one: str, other: str) -> int:
    """-1, 0 or 1: the one comes before the other, is tied with it, or comes after it."""
    return (ranks[one] > ranks[other]) - (ranks[one] < ranks[other])

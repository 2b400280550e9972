"""Judgments beside people and gold, and as arrays for the statistics."""

from typing import Any

import pytest

from annotation.models import Item
from annotation.selectors.judging_labels import PeopleSaid
from judges.models import Judge, Judgment
from judges.selectors.disagreement import against_gold, against_people, rank_correlation_of

pytestmark = pytest.mark.django_db


def verdict(judge: Judge, item: Item, choice: int | None, **fields: Any) -> Judgment:
    given = {"status": "parsed", "value": {"choice": choice}}
    return Judgment.objects.create(judge=judge, item=item, order=0, choice=choice, **(given | fields))


def test_rankings_contradict_people_when_they_run_the_other_way() -> None:
    people = PeopleSaid("answer_ranking", 2, parts={"0": 1.0, "1": 2.5, "2": 2.5})
    assert against_people("answer_ranking", None, {"ranks": {"0": 3, "1": 1, "2": 2}}, people) is True
    assert against_people("answer_ranking", None, {"ranks": {"0": 1, "1": 2, "2": 3}}, people) is False
    assert against_people("answer_ranking", None, {"ranks": {"0": 1, "1": 1, "2": 1}}, people) is None
    assert rank_correlation_of([1], [1]) is None
    assert rank_correlation_of([1, 2, 3, 4], [1, 3, 2, 4]) == pytest.approx(0.8)


def test_checklists_contradict_by_the_majority() -> None:
    people = PeopleSaid("checklist", 4, parts={"a": 0.75, "b": 0.5})
    assert against_people("checklist", None, {"answers": {"a": True, "b": False}}, people) is False
    assert against_people("checklist", None, {"answers": {"a": False, "b": True}}, people) is True
    assert against_people("checklist", None, {"answers": {"a": None, "b": True}}, people) is False
    assert against_people("checklist", None, None, people) is None
    assert against_people("pairwise", 1, None, people) is None


def test_gold_of_other_kinds() -> None:
    gold = {"ranks": {"a": 1, "b": 2}}
    assert against_gold("importance", None, {"ranks": {"a": 1, "b": 2}, "scores": {}}, gold) is False
    assert against_gold("importance", None, {"ranks": {"a": 2, "b": 1}}, gold) is True
    assert against_gold("importance", None, None, gold) is None
    assert against_gold("pairwise", 1, None, None) is None

"""Which turns are hidden, and how right an answer is: pure rules."""

import secrets
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.errors import LabelValueError
from annotation.domain.mixing import CHECK, REPEAT, WORK, pick, role_of_turn
from annotation.kinds import kind_of

rates = st.integers(0, 50).map(lambda percent: percent / 100)


def roles(key: bytes, n: int, check_rate: float, repeat_rate: float) -> list[str]:
    return [role_of_turn(key, turn, check_rate=check_rate, repeat_rate=repeat_rate) for turn in range(n)]


@given(st.binary(min_size=1), rates, rates)
def test_the_rates_are_kept_in_any_stretch(key, check_rate, repeat_rate):
    drawn = roles(key, 400, check_rate, repeat_rate)
    for part in (drawn, drawn[:200], drawn[137:]):
        hidden = len(part) * (check_rate + repeat_rate)
        assert abs(len(part) - part.count(WORK) - hidden) <= 2
        assert abs(part.count(CHECK) - len(part) * check_rate) <= 3
        assert abs(part.count(REPEAT) - len(part) * repeat_rate) <= 3


@given(st.binary(min_size=1), st.integers(1, 33), st.integers(0, 1))
def test_two_hidden_items_never_touch(key, percent, split):
    drawn = roles(key, 200, percent / 100, 0.0) if split else roles(key, 200, percent / 200, percent / 200)
    assert all(one == WORK or other == WORK for one, other in pairwise(drawn))


def test_nothing_is_hidden_without_rates():
    assert set(roles(b"key", 100, 0.0, 0.0)) == {WORK}


def test_every_person_has_other_places():
    """Over many keys, the check of the first ten turns is as often at each place but the first."""
    places = [roles(secrets.token_bytes(16), 10, 0.1, 0.0).index(CHECK) for _ in range(600)]
    counts = [places.count(place) for place in range(10)]
    assert counts[0] == 0
    assert min(counts[1:]) > 28
    assert max(counts[1:]) < 110


def test_a_pick_is_one_of_the_candidates_and_another_for_another_key():
    assert pick(b"key", []) is None
    assert pick(b"key", [7]) == 7
    picked = {pick(bytes([key]), range(10)) for key in range(100)}
    assert picked == set(range(10))


@pytest.mark.parametrize(
    ("kind", "value", "gold", "right"),
    [
        ("pairwise", {"choice": 1, "strength": "much"}, {"choice": 1}, 1.0),
        ("pairwise", {"choice": 0, "both_bad": True}, {"choice": 0}, 1.0),
        ("pairwise", {"choice": 2}, {"choice": 1}, 0.0),
        ("rubric", {"ratings": {"a": 1, "b": 5}}, {"ratings": {"a": 1}}, 1.0),
        ("rubric", {"ratings": {"a": 1, "b": 5}}, {"ratings": {"a": 1, "b": 4}}, 0.5),
        ("checklist", {"answers": {"a": True, "b": None}}, {"answers": {"a": True, "b": None}}, 1.0),
        ("checklist", {"answers": {"a": None}}, {"answers": {"a": False}}, 0.0),
        ("importance", {"ranks": {"a": 1, "b": 2}}, {"ranks": {"a": 2, "b": 3}}, 1.0),
        ("importance", {"ranks": {"a": 1, "b": 1}}, {"ranks": {"a": 1, "b": 2}}, 0.0),
        ("answer_ranking", {"ranks": {"0": 3, "1": 2, "2": 1}}, {"ranks": {"0": 1, "1": 2, "2": 3}}, 0.0),
        ("answer_ranking", {"ranks": {"0": 1, "1": 3, "2": 2}}, {"ranks": {"0": 1, "1": 2, "2": 3}}, 1 / 3),
        # What the study does not ask, and what the gold leaves open, is not wrong.
        ("rubric", {"ratings": {"a": 1}}, {"ratings": {"a": 1, "b": 4}}, 1.0),
        ("checklist", {"answers": {"a": True, "b": False}}, {"answers": {"a": True, "b": None}}, 1.0),
        ("importance", {"ranks": {"a": 1, "b": 2}}, {"ranks": {"a": 1, "b": 2, "c": 3}}, 1.0),
    ],
)
def test_scores(kind, value, gold, right):
    assert kind_of(kind).score(value, gold) == pytest.approx(right)


@pytest.mark.parametrize(
    ("kind", "value", "gold"),
    [
        ("importance", {"ranks": {"a": 1}}, {"ranks": {"a": 1}}),
        ("checklist", {"answers": {"a": True}}, {"answers": {"a": None}}),
        ("rubric", {"ratings": {"a": 1}}, {"ratings": {"b": 4}}),
    ],
)
def test_nothing_to_compare_is_no_score(kind, value, gold):
    assert kind_of(kind).score(value, gold) is None


def test_a_rating_is_right_within_the_tolerance_and_a_yes_is_not():
    ratings = {"ratings": {"a": 1, "b": 5, "c": 3}}
    gold = {"ratings": {"a": 2, "b": 3, "c": 3}}
    assert kind_of("rubric").score(ratings, gold) == pytest.approx(1 / 3)
    assert kind_of("rubric").score(ratings, gold, tolerance=1) == pytest.approx(2 / 3)
    assert kind_of("checklist").score({"answers": {"a": True}}, {"answers": {"a": False}}, tolerance=1) == 0.0
    assert kind_of("pairwise").score({"choice": 1}, {"choice": 2}, tolerance=1) == 0.0


@given(st.lists(st.integers(1, 4), min_size=2, max_size=6), st.data())
def test_a_ranking_is_fully_right_only_in_the_same_dense_order(ranks, data):
    other = data.draw(st.lists(st.integers(1, 4), min_size=len(ranks), max_size=len(ranks)))
    dense = lambda given: [sorted(set(given)).index(rank) for rank in given]  # noqa: E731
    named = lambda given: {"ranks": {str(k): rank for k, rank in enumerate(given)}}  # noqa: E731
    got = kind_of("importance").score(named(ranks), named(other))
    assert got is not None
    assert 0.0 <= got <= 1.0
    assert (got == 1.0) == (dense(ranks) == dense(other))


def test_a_kind_without_a_score_is_an_error():
    with pytest.raises(LabelValueError):
        kind_of("essay").score({}, {})

"""The model of simulated annotators."""

import dataclasses
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.simulation import (
    SimulatedAnnotator,
    choice_probabilities,
    draw_choice,
    draw_strength,
    plan_labels,
)
from annotation.kinds import ValueRules, kind_of


def draw_value(person, *, kind, truth, item_key):
    return kind_of(kind).draw(person, item=item_key, metadata={"truth": truth}, lengths=[])


CAREFUL = SimulatedAnnotator(
    name="Juniper", style="careful", accuracy=0.8, length_bias=0.0, tie_rate=0.2, seconds=60, seed=1
)


def test_worked_case():
    # accuracy 0.8: logit = ln 4; margin 1 and no length bias: s = ln 4; tie = 0.2 / 4 = 0.05;
    # first = 0.95 * 4/5 = 0.76; second = 0.19.
    assert choice_probabilities(CAREFUL, margin=1, length_1=100, length_2=100) == pytest.approx(
        (0.05, 0.76, 0.19)
    )


def test_no_difference_is_a_tie_at_the_tie_rate():
    assert choice_probabilities(CAREFUL, margin=0, length_1=5, length_2=5) == pytest.approx((0.2, 0.4, 0.4))


@given(
    margin=st.floats(-2, 2),
    length_1=st.integers(0, 10**6),
    length_2=st.integers(0, 10**6),
    bias=st.floats(-1, 1),
)
def test_probabilities_are_probabilities_and_mirror(margin, length_1, length_2, bias):
    person = SimulatedAnnotator("x", "", 0.7, bias, 0.5, 10, 1)
    tie, first, second = choice_probabilities(person, margin=margin, length_1=length_1, length_2=length_2)
    assert min(tie, first, second) >= 0
    assert math.isclose(tie + first + second, 1)
    mirrored = choice_probabilities(person, margin=-margin, length_1=length_2, length_2=length_1)
    assert mirrored == pytest.approx((tie, second, first))


def test_strengths_follow_the_difference_and_change_no_choice():
    # s = ln 4 for accuracy 0.8 at margin 1. P(difference > t | it is above 0) = sigmoid(s - t) / sigmoid(s).
    seen = {"margin": 1, "length_1": 9, "length_2": 9}
    drawn = Counter(
        draw_strength(CAREFUL, item_key=str(k), choice=1, strengths=("slightly", "better", "much"), **seen)
        for k in range(6000)
    )
    above = lambda limit: (1 / (1 + math.exp(limit - math.log(4)))) / 0.8  # noqa: E731
    assert drawn["much"] / 6000 == pytest.approx(above(2.5), abs=0.02)
    assert drawn["better"] / 6000 == pytest.approx(above(1.0) - above(2.5), abs=0.02)
    five, seven = (
        ValueRules(strengths=words) for words in (("slightly", "much"), ("slightly", "better", "much"))
    )
    for key in map(str, range(200)):
        given = {"item": key, "metadata": {"margin": 1}, "lengths": [9, 9]}
        plain, _ = kind_of("pairwise").draw(CAREFUL, **given)
        values = [kind_of("pairwise").draw(CAREFUL, **given, rules=rules)[0] for rules in (five, seven)]
        assert all(value["choice"] == plain["choice"] for value in values)
        assert all(("strength" in value) == bool(value["choice"]) for value in values)
        assert values[0].get("strength") in (None, "slightly", "much")
        # The same difference in other words: much better is that on both scales.
        assert (values[0].get("strength") == "much") == (values[1].get("strength") == "much")


def test_a_difference_against_the_choice_is_a_weak_one():
    seen = {"margin": 2, "length_1": 9, "length_2": 9}
    against = [
        draw_strength(CAREFUL, item_key=str(k), choice=2, strengths=("slightly", "much"), **seen)
        for k in range(500)
    ]
    along = [
        draw_strength(CAREFUL, item_key=str(k), choice=1, strengths=("slightly", "much"), **seen)
        for k in range(500)
    ]
    assert against.count("much") < along.count("much") / 2


def test_draws_repeat_and_follow_the_probabilities():
    draws = [draw_choice(CAREFUL, item_key=str(k), margin=1, length_1=9, length_2=9) for k in range(4000)]
    assert draws == [
        draw_choice(CAREFUL, item_key=str(k), margin=1, length_1=9, length_2=9) for k in range(4000)
    ]
    share = Counter(choice for choice, _seconds in draws)
    # Standard error of a share near 0.76 with 4,000 draws: 0.0068; four of them.
    assert share[1] / 4000 == pytest.approx(0.76, abs=0.028)
    assert share[0] / 4000 == pytest.approx(0.05, abs=0.014)


def test_plan_is_even_distinct_and_leaves_open_items_in_every_category():
    categories = ["a"] * 12 + ["b"] * 6 + ["c"] * 3
    plan = plan_labels(categories, 7, labels_per_item=4, open_items=6, seed=3)
    assert all(len(set(people)) == len(people) for people in plan)
    load = Counter(person for people in plan for person in people)
    assert max(load.values()) - min(load.values()) <= 1
    fewer = Counter(category for category, people in zip(categories, plan, strict=True) if len(people) == 3)
    assert fewer == {"a": 2, "b": 2, "c": 2}


@pytest.mark.parametrize(
    ("people", "open_items", "message"), [(3, 0, "need as many people"), (9, 3, "more than the 2 items")]
)
def test_impossible_plans_are_refused(people, open_items, message):
    with pytest.raises(ValueError, match=message):
        plan_labels(["a", "b"], people, labels_per_item=4, open_items=open_items, seed=1)


RUBRIC = {"ratings": {f"c{k}": 3 for k in range(5)}}
CHECKLIST = {"answers": {f"a{k}": True for k in range(5)}}
RANKS = {"ranks": {"a": 1, "b": 2, "c": 3, "d": 4}}


@pytest.mark.parametrize(("kind", "truth"), [("rubric", RUBRIC), ("checklist", CHECKLIST)])
def test_a_part_is_right_as_often_as_the_person_is(kind, truth):
    (field,) = truth
    drawn = [draw_value(CAREFUL, kind=kind, truth=truth, item_key=str(k))[0][field] for k in range(800)]
    right = [value[key] == truth[field][key] for value in drawn for key in value]
    assert sum(right) / len(right) == pytest.approx(0.8, abs=0.03)


def test_a_wrong_rating_is_a_neighbour_on_the_scale():
    drawn = [
        draw_value(CAREFUL, kind="rubric", truth={"ratings": {"a": 1}}, item_key=str(k))[0]["ratings"]["a"]
        for k in range(300)
    ]
    assert set(drawn) == {1, 2}


def test_what_cannot_be_told_stays_so():
    truth = {"answers": {"a": None}}
    assert draw_value(CAREFUL, kind="checklist", truth=truth, item_key="x")[0] == truth


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 6), min_size=2, max_size=6), st.integers()
)
def test_drawn_ranks_are_levels_without_gaps(ranks, key):
    drawn = draw_value(CAREFUL, kind="importance", truth={"ranks": ranks}, item_key=str(key))[0]["ranks"]
    assert drawn.keys() == ranks.keys()
    assert set(drawn.values()) == set(range(1, len(set(drawn.values())) + 1))


def test_the_more_accurate_misorder_less():
    def misordered(accuracy):
        person = dataclasses.replace(CAREFUL, accuracy=accuracy)
        drawn = [
            draw_value(person, kind="answer_ranking", truth=RANKS, item_key=str(k))[0] for k in range(300)
        ]
        return sum(value != RANKS for value in drawn)

    assert misordered(0.98) < misordered(0.85) < misordered(0.6)


def test_the_same_arguments_give_the_same_value():
    again = [draw_value(CAREFUL, kind="rubric", truth=RUBRIC, item_key="x") for _ in range(2)]
    assert again[0] == again[1]


def test_sets_of_categories_have_the_choice_and_mostly_what_is_reasonable():
    truth = {"categories": {"fee": True, "loan": False, "room": False}}
    about = {"metadata": {"truth": truth, "reasonable": ["loan"]}, "lengths": []}
    rules, kind = ValueRules("classification", response_sets=True), kind_of("classification")
    drawn = [kind.draw(CAREFUL, item=str(k), **about, rules=rules)[0] for k in range(800)]
    plain = [kind.draw(CAREFUL, item=str(k), **about)[0] for k in range(800)]
    assert [value["categories"] for value in drawn] == [value["categories"] for value in plain]
    assert "reasonable" not in plain[0]
    chosen = [next(name for name, on in value["categories"].items() if on) for value in drawn]
    assert all(name in value["reasonable"] for name, value in zip(chosen, drawn, strict=True))
    share = sum("loan" in value["reasonable"] for value in drawn) / 800
    assert share == pytest.approx(CAREFUL.accuracy, abs=0.06)

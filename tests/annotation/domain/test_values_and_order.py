"""The pure rules: values of the five kinds, the shown order and its undoing, grading, steps."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.errors import LabelValueError
from annotation.domain.grading import grade
from annotation.domain.presentation import shown_order
from annotation.domain.stages import STEPS, stage_after
from annotation.kinds import ValueRules, from_canonical, kind_of, to_canonical, validate_value
from annotation.kinds.grades import BETWEEN, POINTS, STRENGTHS, grade_of, graded_value
from annotation.kinds.values import dense

PAIR = ValueRules()
RUBRIC = ValueRules(kind="rubric", criteria=("clear", "true"))
RANKING = ValueRules(kind="importance", aspects=("x", "y"))
CHECKLIST = ValueRules(kind="checklist", aspects=("x", "y"))
ANSWERS = ValueRules(kind="answer_ranking", n_responses=3)
SEVEN = tuple(STRENGTHS)
FULL_PAIR = ValueRules(strengths=SEVEN, graded=True, both_bad=True)
FIVE_POINTS = ValueRules(strengths=("slightly", "much"))


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (PAIR, {"choice": 0}),
        (PAIR, {"choice": 2}),
        (FULL_PAIR, {"choice": 1}),
        (FULL_PAIR, {"choice": 2, "strength": "much"}),
        (FULL_PAIR, {"choice": 2, "strength": "better"}),
        (FULL_PAIR, {"choice": 1, "grade": 1.38}),
        (FULL_PAIR, {"choice": 2, "grade": -3}),
        (FIVE_POINTS, {"choice": 1, "strength": "slightly"}),
        (FULL_PAIR, {"choice": 0, "both_bad": True}),
        (RUBRIC, {"ratings": {"clear": 1, "true": 5}}),
        (RANKING, {"ranks": {"x": 1, "y": 1}}),
        (CHECKLIST, {"answers": {"x": True, "y": None}}),
        (ANSWERS, {"ranks": {"0": 2, "1": 1, "2": 3}}),
    ],
)
def test_what_fits_is_returned_as_it_is(rules, value):
    assert validate_value(value, rules) == value


@pytest.mark.parametrize(
    ("rules", "value", "field"),
    [
        (PAIR, None, "value"),
        (PAIR, [1], "value"),
        (PAIR, {}, "choice"),
        (PAIR, {"choice": 3}, "choice"),
        (PAIR, {"choice": "1"}, "choice"),
        (PAIR, {"choice": True}, "choice"),
        (PAIR, {"choice": 1.0}, "choice"),
        (PAIR, {"choice": 1, "note": "x"}, "note"),
        (ValueRules(ties=False), {"choice": 0}, "choice"),
        (PAIR, {"choice": 1, "strength": "much"}, "strength"),
        (PAIR, {"choice": 0, "both_bad": True}, "both_bad"),
        (FULL_PAIR, {"choice": 0, "strength": "much"}, "strength"),
        (FULL_PAIR, {"choice": 1, "strength": "very"}, "strength"),
        (FULL_PAIR, {"choice": 1, "strength": ["much"]}, "strength"),
        (FIVE_POINTS, {"choice": 1, "strength": "better"}, "strength"),
        (FIVE_POINTS, {"choice": 1, "grade": 2.0}, "grade"),
        (FULL_PAIR, {"choice": 1, "grade": -1.0}, "grade"),
        (FULL_PAIR, {"choice": 2, "grade": 0.0}, "grade"),
        (FULL_PAIR, {"choice": 0, "grade": 0.1}, "grade"),
        (FULL_PAIR, {"choice": 1, "grade": 3.01}, "grade"),
        (FULL_PAIR, {"choice": 1, "grade": True}, "grade"),
        (FULL_PAIR, {"choice": 1, "grade": float("nan")}, "grade"),
        (FULL_PAIR, {"choice": 1, "grade": 1.0, "strength": "much"}, "grade"),
        (FULL_PAIR, {"choice": 1, "both_bad": True}, "both_bad"),
        (FULL_PAIR, {"choice": 0, "both_bad": "yes"}, "both_bad"),
        (FULL_PAIR, {"choice": 0, "both_bad": 1}, "both_bad"),
        (
            ValueRules(kind="checklist", aspects=("x", "y"), cannot_tell=False),
            {"answers": {"x": True, "y": None}},
            "answers.y",
        ),
        (RUBRIC, {"ratings": []}, "ratings"),
        (RUBRIC, {"ratings": {"clear": 1}}, "ratings.true"),
        (RUBRIC, {"ratings": {"clear": 1, "true": 6}}, "ratings.true"),
        (RUBRIC, {"ratings": {"clear": 1, "true": 2, "kind": 3}}, "ratings.kind"),
        (RANKING, {"ranks": {"x": 0, "y": 1}}, "ranks.x"),
        (RANKING, {"ranks": {"x": 1, "y": 3}}, "ranks.y"),
        (
            ValueRules(kind="importance", ties=False, aspects=("x", "y")),
            {"ranks": {"x": 1, "y": 1}},
            "ranks.y",
        ),
        (CHECKLIST, {"answers": {"x": 1, "y": None}}, "answers.x"),
        (ANSWERS, {"ranks": {"0": 1, "1": 2}}, "ranks.2"),
        (ValueRules(kind="poem"), {}, "kind"),
    ],
)
def test_what_does_not_fit_names_its_field(rules, value, field):
    with pytest.raises(LabelValueError) as caught:
        validate_value(value, rules)
    assert caught.value.field == field


PAIRS = st.one_of(
    st.fixed_dictionaries({"choice": st.sampled_from([1, 2])}, optional={"strength": st.sampled_from(SEVEN)}),
    st.fixed_dictionaries({"choice": st.just(0)}, optional={"both_bad": st.just(True)}),
)


@given(annotator=st.uuids(), item=st.integers(1, 10**9), value=PAIRS)
def test_the_shown_order_of_a_pair_is_undone_with_all_that_was_said(annotator, item, value):
    order = shown_order(annotator, item)
    assert validate_value(value, FULL_PAIR) == value
    canonical = to_canonical("pairwise", value, order)
    assert validate_value(canonical, FULL_PAIR) == canonical
    assert from_canonical("pairwise", canonical, order) == value
    assert {key: canonical[key] for key in canonical if key != "choice"} == {
        key: value[key] for key in value if key != "choice"
    }


@given(annotator=st.uuids(), item=st.integers(1, 10**9), grade=st.floats(-3, 3).filter(bool))
def test_the_shown_order_of_a_grade_is_undone(annotator, item, grade):
    order = shown_order(annotator, item)
    value = {"choice": 1 if grade > 0 else 2, "grade": grade}
    canonical = to_canonical("pairwise", value, order)
    assert validate_value(canonical, FULL_PAIR) == canonical
    assert from_canonical("pairwise", canonical, order) == value
    assert canonical["grade"] == (grade if order == [0, 1] else -grade)


@given(annotator=st.uuids(), item=st.integers(1, 10**9), value=PAIRS)
def test_the_grade_turns_round_with_the_order(annotator, item, value):
    order = shown_order(annotator, item)
    shown, canonical = grade_of(value), grade_of(to_canonical("pairwise", value, order))
    assert canonical == (shown if shown is None or order == [0, 1] else -shown)


@pytest.mark.parametrize(
    ("value", "grade"),
    [
        ({"choice": 0}, 0.0),
        ({"choice": 0, "both_bad": True}, 0.0),
        ({"choice": 1, "strength": "slightly"}, 1.0),
        ({"choice": 1, "strength": "better"}, 2.0),
        ({"choice": 2, "strength": "much"}, -3.0),
        ({"choice": 2, "grade": -0.25}, -0.25),
        ({"choice": 1}, None),
        ({}, None),
    ],
)
def test_a_word_has_one_grade_on_every_scale(value, grade):
    assert grade_of(value) == grade
    assert {word for words in POINTS.values() for word in words} == set(STRENGTHS)


@pytest.mark.parametrize(
    ("field", "number", "value"),
    [
        ("preference", 1.27, {"choice": 1, "grade": 1.38}),
        ("preference", 1.5, {"choice": 0}),
        ("preference", 2, {"choice": 2, "grade": -3.0}),
        ("share", 0.73, {"choice": 1, "grade": 1.38}),
        ("share", 0.5, {"choice": 0}),
        ("grade", -0.5, {"choice": 2, "grade": -0.5}),
        ("grade", 2, {"choice": 1, "grade": 2.0}),
        ("preference_strength", -3, {"choice": 1, "strength": "much"}),
        ("preference_strength", 1, {"choice": 2, "strength": "slightly"}),
        ("preference_strength", 0, {"choice": 0}),
        ("preference_strength", 0.5, {"choice": 2, "grade": -0.5}),
    ],
)
def test_a_number_between_the_responses_is_a_choice_and_its_grade(field, number, value):
    assert graded_value(field, number) == value
    assert kind_of("pairwise").raw({field: number}, FULL_PAIR) == value
    assert validate_value(value, FULL_PAIR) == value


@pytest.mark.parametrize(
    ("field", "number"), [("preference", 0.9), ("share", 1.1), ("grade", 4), ("grade", "1"), ("share", True)]
)
def test_a_number_outside_of_its_scale_is_refused(field, number):
    with pytest.raises(LabelValueError, match="expected") as caught:
        graded_value(field, number)
    assert caught.value.field == field
    assert field in BETWEEN


def test_what_is_not_said_is_not_stored():
    assert validate_value({"choice": 1, "strength": None, "both_bad": False}, FULL_PAIR) == {"choice": 1}


@given(ranks=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_ranks_are_levels_without_gaps_that_keep_the_order(ranks):
    names = [str(place) for place in range(len(ranks))]
    given_ranks = dict(zip(names, (min(rank, len(ranks)) for rank in ranks), strict=True))
    rules = ValueRules(kind="answer_ranking", n_responses=len(ranks))
    stored = validate_value({"ranks": given_ranks}, rules)["ranks"]
    assert sorted(set(stored.values())) == list(range(1, len(set(stored.values())) + 1))
    assert dense(stored) == stored
    for one in names:
        for other in names:
            assert (stored[one] < stored[other]) == (given_ranks[one] < given_ranks[other])
    assert validate_value({"ranks": stored}, rules) == {"ranks": stored}


@given(annotator=st.uuids(), item=st.integers(1, 10**9), choice=st.sampled_from([0, 1, 2]))
def test_the_shown_order_of_a_pair_is_undone(annotator, item, choice):
    order = shown_order(annotator, item)
    canonical = to_canonical("pairwise", {"choice": choice}, order)
    assert from_canonical("pairwise", canonical, order) == {"choice": choice}
    if choice:
        assert canonical["choice"] - 1 == order[choice - 1]
    else:
        assert canonical["choice"] == 0


@given(
    annotator=st.uuids(),
    item=st.integers(1, 10**9),
    ranks=st.lists(st.integers(1, 6), min_size=1, max_size=6),
)
def test_the_shown_order_of_a_ranking_is_undone(annotator, item, ranks):
    order = shown_order(annotator, item, len(ranks))
    shown = {"ranks": {str(place): rank for place, rank in enumerate(ranks)}}
    canonical = to_canonical("answer_ranking", shown, order)
    assert from_canonical("answer_ranking", canonical, order) == shown
    for place, rank in enumerate(ranks):
        assert canonical["ranks"][str(order[place])] == rank


@given(value=st.sampled_from([{"ratings": {"a": 3}}, {"ranks": {"x": 1}}]))
def test_other_kinds_have_no_order(value):
    kind = "rubric" if "ratings" in value else "importance"
    assert to_canonical(kind, value, []) == value


@given(annotator=st.uuids(), item=st.integers(1, 10**9), n=st.integers(0, 8))
def test_an_order_is_a_permutation_and_stable(annotator, item, n):
    order = shown_order(annotator, item, n)
    assert sorted(order) == list(range(n))
    assert order == shown_order(UUID(annotator.hex), item, n)


def test_orders_are_balanced_over_people_and_items():
    swapped = sum(shown_order(uuid4(), item) == [1, 0] for item in range(4000))
    assert 1800 < swapped < 2200  # 6 standard deviations
    one = UUID(int=5)
    assert 1800 < sum(shown_order(one, item) == [1, 0] for item in range(4000)) < 2200


def test_the_order_never_changes_between_versions():
    assert "".join(str(shown_order(UUID(int=7), item)[0]) for item in range(1, 17)) == "0100000101011000"


def test_a_second_time_is_drawn_anew():
    one = UUID(int=7)
    same = sum(shown_order(one, item) == shown_order(one, item, salt="repeat") for item in range(4000))
    assert 1800 < same < 2200


@pytest.mark.parametrize(
    ("kind", "one", "other", "agree"),
    [
        ("pairwise", {"choice": 1}, {"choice": 1}, True),
        ("pairwise", {"choice": 0}, {"choice": 1}, False),
        ("pairwise", {"choice": 1, "strength": "much"}, {"choice": 1, "strength": "slightly"}, True),
        ("pairwise", {"choice": 0, "both_bad": True}, {"choice": 0}, True),
        ("importance", {"ranks": {"x": 1, "y": 3}}, {"ranks": {"x": 1, "y": 2}}, True),
        ("importance", {"ranks": {"x": 1, "y": 1}}, {"ranks": {"x": 1, "y": 2}}, False),
        ("checklist", {"answers": {"x": None}}, {"answers": {"x": False}}, False),
        ("rubric", {"ratings": {"a": 2}}, {"ratings": {"a": 2}}, True),
    ],
)
def test_agreement_with_gold(kind, one, other, agree):
    assert kind_of(kind).agrees(one, other) is agree


@given(answers=st.lists(st.booleans(), max_size=20), needed=st.integers(0, 20))
def test_at_least_k_of_n(answers, needed):
    result = grade(answers, needed=needed)
    assert result.passed == (answers.count(True) >= needed)
    assert (result.correct, result.total) == (answers.count(True), len(answers))


@given(present=st.sets(st.sampled_from(STEPS)))
def test_steps_only_go_forward_and_end_at_the_work(present):
    stage, seen = None, []
    while stage != "work":
        stage = stage_after(stage, present)
        seen.append(stage)
    assert seen == [step for step in STEPS if step in present | {"work"}]


def test_negative_numbers_are_refused():
    with pytest.raises(ValueError, match="needed"):
        grade([], needed=-1)
    with pytest.raises(ValueError, match="n_responses"):
        shown_order(UUID(int=1), 1, -1)
    with pytest.raises(ValueError, match="no step"):
        stage_after("work", [])

"""Response sets in values: what fits, what is added, what is refused, orders, form fields and words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.errors import LabelValueError
from annotation.domain.scales import Scale
from annotation.importers.columns import answers_listed
from annotation.kinds import ValueRules, from_canonical, kind_of, to_canonical, validate_value
from annotation.kinds.grades import STRENGTHS
from annotation.kinds.shown import ShownAspect, ShownCriterion, ShownItem
from annotation.kinds.values import field_of

PAIR = ValueRules(response_sets=True)
SEVEN = ValueRules(response_sets=True, both_bad=True, strengths=tuple(STRENGTHS))
FILE = ValueRules(response_sets=True, both_bad=True, strengths=tuple(STRENGTHS), graded=True, complete=False)
SCALE = Scale(1, 4, not_applicable=True)
RUBRIC = ValueRules("rubric", response_sets=True, criteria=("clear", "true"), scales={"clear": SCALE})
TOPICS = ValueRules("classification", response_sets=True, aspects=("sport", "money", "weather"))


def rated(**sets):
    return {"ratings": {"clear": 2, "true": 5}} | ({"reasonable": sets} if sets else {})


def chosen(name, *also):
    found = {"categories": {each: each == name for each in TOPICS.aspects}}
    return found | ({"reasonable": list(also)} if also else {})


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (PAIR, {"choice": 1}),
        (PAIR, {"choice": 1, "reasonable": ["1"]}),
        (PAIR, {"choice": 0, "reasonable": ["1", "0", "2"]}),
        (SEVEN, {"choice": 2, "strength": "much", "reasonable": ["0", "2-slightly", "2-much"]}),
        (SEVEN, {"choice": 0, "both_bad": True, "reasonable": ["0", "bad"]}),
        (FILE, {"choice": 1, "grade": 1.38, "reasonable": ["1-slightly", "1", "0"]}),
        (RUBRIC, rated()),
        (RUBRIC, rated(clear=[1, 2, "not_applicable"], true=[5])),
        (RUBRIC, rated(true=[4, 5])),
        (TOPICS, chosen("money")),
        (TOPICS, chosen("money", "sport", "money")),
    ],
)
def test_what_fits_is_returned_as_it_is(rules, value):
    assert validate_value(value, rules) == value
    assert validate_value(value | {"reasonable": None}, rules) == {
        key: said for key, said in value.items() if key != "reasonable"
    }


@pytest.mark.parametrize(
    ("rules", "given_value", "reasonable"),
    [
        (PAIR, {"choice": 1, "reasonable": []}, ["1"]),
        (PAIR, {"choice": 2, "reasonable": ["0", "0"]}, ["0", "2"]),
        (PAIR, {"choice": 2, "reasonable": [0, 1]}, ["1", "0", "2"]),
        (SEVEN, {"choice": 1, "strength": "better", "reasonable": ["1-much"]}, ["1-much", "1-better"]),
        (RUBRIC, rated(clear=[4], true=[]), {"clear": [2, 4], "true": [5]}),
        (TOPICS, chosen("weather", "sport"), ["sport", "weather"]),
    ],
)
def test_the_forced_choice_is_added_and_answers_are_in_order(rules, given_value, reasonable):
    found = validate_value(given_value, rules)
    assert found["reasonable"] == reasonable
    assert validate_value(found, rules) == found


@pytest.mark.parametrize(
    ("rules", "value", "message"),
    [
        (PAIR, {"choice": 1, "reasonable": "1"}, "reasonable: expected a list of answers, found '1'."),
        (PAIR, {"choice": 1, "reasonable": ["3"]}, "reasonable: expected answers among 1, 0, 2, found '3'."),
        (
            PAIR,
            {"choice": 1, "reasonable": [True]},
            "reasonable: expected answers among 1, 0, 2, found True.",
        ),
        (
            PAIR,
            {"choice": 1, "reasonable": ["bad"]},
            "reasonable: expected answers among 1, 0, 2, found 'bad'.",
        ),
        (PAIR, {"choice": 1, "reasonable": [[]]}, "reasonable: expected answers among 1, 0, 2, found []."),
        (
            ValueRules(response_sets=True, ties=False),
            {"choice": 1, "reasonable": ["0"]},
            "reasonable: expected answers among 1, 2, found '0'.",
        ),
        (ValueRules(), {"choice": 1, "reasonable": ["1"]}, "reasonable: is not expected beside 'choice'."),
        (
            RUBRIC,
            rated(clear=[0]),
            "reasonable.clear: expected answers among 1, 2, 3, 4, not_applicable, found 0.",
        ),
        (
            RUBRIC,
            rated(true=["not_applicable"]),
            "reasonable.true: expected answers among 1, 2, 3, 4, 5, found",
        ),
        (RUBRIC, rated(other=[1]), "reasonable.other: expected a set of what the value rates"),
        (RUBRIC, rated() | {"reasonable": [1]}, "reasonable: expected an object of lists, found [1]."),
        (
            ValueRules("rubric", criteria=("clear",)),
            {"ratings": {"clear": 1}, "reasonable": {}},
            "not expected",
        ),
        (
            TOPICS,
            chosen("money", "art"),
            "reasonable: expected answers among sport, money, weather, found 'art'.",
        ),
        (
            ValueRules("classification", response_sets=True, several=True, aspects=("a", "b")),
            {"categories": ["a"], "reasonable": ["b"]},
            "reasonable: is not expected where a label may have several categories.",
        ),
        (
            ValueRules("checklist", response_sets=True, aspects=("a",)),
            {"answers": {"a": True}, "reasonable": []},
            "reasonable: is not expected",
        ),
    ],
)
def test_a_refusal_says_what_is_wrong(rules, value, message):
    with pytest.raises(LabelValueError) as refused:
        validate_value(value, rules)
    assert message in str(refused.value)


@given(
    st.sampled_from(["1", "2", "0", "bad"]),
    st.sets(st.sampled_from(["1-much", "1-slightly", "0", "2-better", "bad"])),
)
def test_the_order_shown_is_undone_in_the_set_too(side, answers):
    choice = {"choice": 0, "both_bad": True} if side == "bad" else {"choice": int(side)}
    value = validate_value(choice | {"reasonable": sorted(answers)}, FILE)
    assert to_canonical("pairwise", value, [0, 1]) == value
    turned = to_canonical("pairwise", value, [1, 0])
    assert from_canonical("pairwise", turned, [1, 0]) == value
    assert validate_value(turned, FILE) == turned
    swap = {"1": "2", "2": "1"}
    assert set(turned["reasonable"]) == {
        swap.get(each[:1], each[:1]) + each[1:] for each in value["reasonable"]
    }


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (PAIR, {"choice": 0, "reasonable": ["1", "0"]}),
        (SEVEN, {"choice": 2, "strength": "much", "reasonable": ["0", "2-much", "bad"]}),
        (RUBRIC, rated(clear=[1, 2, "not_applicable"], true=[5])),
        (TOPICS, chosen("money", "sport", "money")),
    ],
)
def test_the_form_has_what_the_value_has(rules, value):
    kind = kind_of(rules.kind)
    fields = kind.fields(value)
    assert all(kind.has_field(name) for name in fields)
    assert kind.read(lambda name: fields.get(name, ""), rules) == value
    # A study that does not ask reads no set, whatever is sent.
    plain = ValueRules(
        rules.kind, both_bad=True, strengths=rules.strengths, criteria=rules.criteria, aspects=rules.aspects,
        scales=rules.scales,
    )  # fmt: skip
    assert "reasonable" not in kind.read(lambda name: fields.get(name, ""), plain)


def test_a_form_without_marks_has_the_choice_alone():
    assert kind_of("pairwise").read({"choice": "2"}.get, PAIR) == {"choice": 2, "reasonable": ["2"]}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "item", "value", "also", "remark"),
    [
        (
            "pairwise",
            ShownItem("pairwise", ""),
            {"choice": 1, "reasonable": ["1", "0", "2-much"]},
            ["also reasonable: Tie, B is much better"],
            "also reasonable: tie, second response (much)",
        ),
        ("pairwise", ShownItem("pairwise", ""), {"choice": 1, "reasonable": ["1"]}, [""], ""),
        ("pairwise", ShownItem("pairwise", ""), {"choice": 1}, [""], ""),
        (
            "rubric",
            ShownItem(
                "rubric", "", criteria=(ShownCriterion("clear", "?", SCALE), ShownCriterion("true", "?"))
            ),
            rated(clear=[2, 3, "not_applicable"], true=[5]),
            ["also reasonable: 3, Not applicable", ""],
            "also reasonable: clear 3 or not applicable",
        ),
        (
            "classification",
            ShownItem(
                "classification", "", aspects=tuple(ShownAspect(each, each) for each in TOPICS.aspects)
            ),
            chosen("money", "sport", "money"),
            ["also reasonable: sport"],
            "also reasonable: sport",
        ),
    ],
)
def test_the_set_in_words(kind, item, value, also, remark):
    parts = kind_of(kind).words(item, kind_of(kind).fields(value))
    assert [part.also for part in parts] == also
    assert kind_of(kind).remark(value) == remark


@pytest.mark.parametrize(
    ("kind", "value", "numbers"),
    [
        ("pairwise", {"choice": 1, "reasonable": ["1-much", "1", "0", "bad"]}, {"": [1.0, 0.0]}),
        ("pairwise", {"choice": 1}, {}),
        ("rubric", rated(clear=[2, "not_applicable"]), {"clear": [2.0, None]}),
        (
            "classification",
            chosen("money", "sport", "money"),
            {"sport": [1.0], "money": [1.0], "weather": []},
        ),
        ("checklist", {"answers": {"a": True}}, {}),
    ],
)
def test_the_set_as_numbers(kind, value, numbers):
    assert kind_of(kind).set_numbers(value) == numbers


@pytest.mark.parametrize(
    ("kind", "scales", "several", "why"),
    [
        ("pairwise", {}, False, ""),
        ("rubric", {"clear": SCALE}, False, ""),
        (
            "rubric",
            {"clear": SCALE, "deep": Scale(0, 100)},
            False,
            "the ratings of 'deep' are typed (0 to 100)",
        ),
        ("classification", {}, False, ""),
        ("classification", {}, True, "a label may have several categories already"),
        ("checklist", {}, False, "checklists have no response sets"),
        ("importance", {}, False, "have no response sets"),
    ],
)
def test_what_can_have_sets(kind, scales, several, why):
    found = kind_of(kind).sets_refused(scales, several=several)
    assert why in found
    assert bool(found) == bool(why)


def test_numbers_and_cells_of_files():
    raw = kind_of("pairwise").raw
    assert raw({"preference": 1.27, "reasonable": [1, 0]}, FILE) == {
        "choice": 1,
        "grade": 1.38,
        "reasonable": [1, 0],
    }
    topics = kind_of("classification").raw({"category": "Money", "reasonable": ["SPORT"]}, TOPICS)
    assert validate_value(topics, TOPICS) == chosen("money", "sport", "money")
    words = ValueRules(
        "rubric",
        response_sets=True,
        criteria=("ok",),
        scales={"ok": Scale(0, 1, words=((0, "Fail"), (1, "Pass")))},
    )
    ratings = kind_of("rubric").raw({"ratings": {"ok": "pass"}, "reasonable": {"ok": ["Fail"]}}, words)
    assert validate_value(ratings, words) == {"ratings": {"ok": 1}, "reasonable": {"ok": [0, 1]}}
    assert answers_listed(" | ") is None
    assert field_of({"choice": 1}, "choice")

"""Several dimensions of a pair and reasons beside an answer: what a study may ask, values, forms, both orders."""

import pytest

from annotation.domain.errors import LabelValueError, StudyRuleError
from annotation.domain.simulation import SimulatedAnnotator
from annotation.kinds import (
    KINDS,
    PAIRWISE,
    AnswerError,
    ValueRules,
    answer_fields,
    answer_words,
    from_canonical,
    raw_value,
    to_canonical,
    validate_value,
)
from annotation.kinds.dimensions import MAX_DIMENSIONS, dimensions_read, on_dimension
from annotation.kinds.grades import STRENGTHS
from annotation.kinds.reasons import MAX_REASONS, reason_words, reasons_read
from annotation.kinds.shown import ShownItem

OVERALL = {"key": "overall", "name": "Overall", "definition": "All in all.", "overall": True}
FACTUAL = {"key": "factual", "name": "Factual accuracy"}
STYLE = {"key": "style", "name": "Style", "definition": "Which reads better?"}
SHORT, TRUE = {"key": "short", "words": "Shorter"}, {"key": "true", "words": "More accurate"}
RULES = ValueRules(dimensions=("factual", "style"), reasons=("true", "short"))
FILES = ValueRules(
    complete=False,
    both_bad=True,
    strengths=tuple(STRENGTHS),
    graded=True,
    response_sets=True,
    open_names=True,
)
WHOLE = {"choice": 1, "dimensions": {"factual": {"choice": 2}, "style": {"choice": 0}}}


def test_a_study_lists_dimensions_one_of_them_overall():
    overall, factual, _ = dimensions_read([OVERALL, FACTUAL, STYLE])
    assert (overall.field, overall.part) == ("choice", "")
    assert (factual.field, factual.part) == ("dimension-factual", "factual")
    assert dimensions_read([]) == ()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({}, "expected a list"),
        ([OVERALL], "expected at least 2, found 1"),
        (
            [OVERALL, *({"key": f"k{n}", "name": f"N{n}"} for n in range(MAX_DIMENSIONS))],
            "at most 8, found 9",
        ),
        ([FACTUAL, STYLE], "one that is the overall one, found none"),
        ([OVERALL, STYLE | {"overall": True}], "one that is the overall one, found 2"),
        ([OVERALL, FACTUAL, FACTUAL], r"\[2\].key: 'factual' is the key of an earlier"),
        ([OVERALL, FACTUAL, FACTUAL | {"key": "x"}], r"\[2\].name: 'Factual accuracy' is the name of an"),
        ([OVERALL, {"key": "A b", "name": "N"}], r"\[1\].key: expected up to 40"),
        ([OVERALL, {"key": "a"}], r"\[1\].name: expected a text of 1 to 60"),
        ([OVERALL, FACTUAL | {"definition": "x" * 501}], r"\[1\].definition: expected a text of at most 500"),
        ([OVERALL, FACTUAL | {"weight": 2}], r"\[1\].weight: is not expected here"),
        ([OVERALL, "style"], r"\[1\]: expected an object"),
        ([OVERALL, FACTUAL | {"overall": "no"}], r"\[1\].overall: expected true or false"),
    ],
)
def test_dimensions_that_are_refused(stored, message):
    with pytest.raises(StudyRuleError, match=message) as refused:
        dimensions_read(stored)
    assert refused.value.field == "dimensions"


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ("short", "expected a list"),
        ([{"key": f"k{n}", "words": f"W{n}"} for n in range(MAX_REASONS + 1)], "at most 12, found 13"),
        ([SHORT, SHORT], r"\[1\].key: 'short' is the key of an earlier"),
        ([SHORT, {"key": "x", "words": "shorter"}], r"\[1\].words: 'shorter' is listed twice"),
        ([{"key": "Short", "words": "S"}], r"\[0\].key: expected up to 40"),
        ([{"key": "s", "words": " "}], r"\[0\].words: expected a text"),
        ([{"key": "s", "words": "S", "to": 1}], r"\[0\].to: is not expected here"),
        ([1], r"\[0\]: expected an object"),
    ],
)
def test_reasons_that_are_refused(stored, message):
    with pytest.raises(StudyRuleError, match=message) as refused:
        reasons_read(stored)
    assert refused.value.field == "reasons"


def test_a_value_has_an_answer_on_each_dimension_in_the_order_of_the_study():
    given = {"choice": 1, "dimensions": {"style": {"choice": 0}, "factual": {"choice": 2}}}
    found = validate_value(given, RULES)
    assert found == WHOLE
    assert list(found["dimensions"]) == ["factual", "style"]
    assert on_dimension(found, "factual") == {"choice": 2}
    assert on_dimension(found, "depth") is None
    assert on_dimension(found, "") == found


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ({"choice": 1}, "dimensions"),
        ({"choice": 1, "dimensions": [1]}, "dimensions"),
        ({"choice": 1, "dimensions": {"factual": {"choice": 1}}}, "dimensions.style"),
        (WHOLE | {"dimensions": WHOLE["dimensions"] | {"depth": {"choice": 1}}}, "dimensions.depth"),
        (
            WHOLE | {"dimensions": {"factual": {"choice": 3}, "style": {"choice": 1}}},
            "dimensions.factual.choice",
        ),
        (
            WHOLE | {"dimensions": {"factual": {"choice": 1, "strength": "much"}, "style": {"choice": 1}}},
            "dimensions.factual.strength",
        ),
        (WHOLE | {"reasons": ["long"]}, "reasons"),
        (WHOLE | {"reasons": "short"}, "reasons"),
    ],
)
def test_values_that_are_refused(value, field):
    with pytest.raises(LabelValueError) as refused:
        validate_value(value, RULES)
    assert refused.value.field == field


def test_who_is_not_asked_says_nothing_of_them():
    for more in ({"dimensions": {"style": {"choice": 1}}}, {"reasons": ["short"]}):
        with pytest.raises(LabelValueError, match="is not expected beside 'choice'"):
            validate_value({"choice": 1} | more, ValueRules())


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_has_reasons_and_both_orders_keep_them(kind):
    rules = ValueRules(
        kind,
        criteria=("clear",),
        aspects=("tone", "length"),
        n_responses=2,
        reasons=("true", "short"),
    )
    values = {
        "pairwise": {"choice": 1},
        "rubric": {"ratings": {"clear": 3}},
        "checklist": {"answers": {"tone": True, "length": None}},
        "importance": {"ranks": {"tone": 1, "length": 2}},
        "answer_ranking": {"ranks": {"0": 1, "1": 2}},
        "classification": {"categories": ["tone"]},
    }
    value = validate_value(values[kind] | {"reasons": ["short", "true", "short"]}, rules)
    assert value["reasons"] == ["true", "short"]
    assert to_canonical(kind, value, [1, 0])["reasons"] == ["true", "short"]
    assert "reasons" not in validate_value(values[kind], rules)
    fields = answer_fields(kind, value)
    assert {"reason-true", "reason-short"} <= fields.keys()
    item = ShownItem(kind, "", reasons=reasons_read([TRUE, SHORT]), dimensions=())
    assert answer_words(item, fields)[-1].said == "More accurate, Shorter"
    plain = {name: said for name, said in value.items() if name != "reasons"}
    assert KINDS[kind].agrees(value, plain)
    assert KINDS[kind].numbers(value) == KINDS[kind].numbers(plain)


def test_the_order_shown_is_undone_on_every_dimension():
    shown = {
        "choice": 1,
        "strength": "much",
        "dimensions": {
            "factual": {"choice": 2, "strength": "slightly"},
            "style": {"choice": 0, "both_bad": True},
        },
    }
    canonical = to_canonical("pairwise", shown, [1, 0])
    assert canonical["choice"] == 2
    assert canonical["dimensions"] == {
        "factual": {"choice": 1, "strength": "slightly"},
        "style": {"choice": 0, "both_bad": True},
    }
    assert from_canonical("pairwise", canonical, [1, 0]) == shown


def test_the_form_asks_for_every_dimension_and_names_the_first_that_is_missing():
    rules = ValueRules(dimensions=("factual",), strengths=("slightly", "much"))
    fields = {"choice": "1-much", "dimension-factual": "0"}
    value = PAIRWISE.read(lambda name: fields.get(name, ""), rules)
    assert value == {"choice": 1, "strength": "much", "dimensions": {"factual": {"choice": 0}}}
    assert PAIRWISE.fields(value) == fields
    with pytest.raises(AnswerError, match="every dimension") as missing:
        PAIRWISE.read(lambda name: "1-much" if name == "choice" else "", rules)
    assert missing.value.field == "dimension-factual"
    with pytest.raises(AnswerError, match="every dimension") as missing:
        PAIRWISE.read(lambda name: "7" if name == "dimension-factual" else "", rules)
    assert missing.value.field == "choice"


def test_words_name_the_dimensions_and_gold_of_the_overall_one_stands_alone():
    item = ShownItem("pairwise", "", dimensions=dimensions_read([FACTUAL, OVERALL]))
    said = PAIRWISE.words(item, {"choice": "2", "dimension-factual": "0"})
    assert [(part.name, part.said) for part in said] == [
        ("Factual accuracy", "Tie"),
        ("Overall", "B is better"),
    ]
    assert [part.name for part in PAIRWISE.words(item, {"choice": "2"})] == ["Overall"]
    assert PAIRWISE.remark(WHOLE) == "factual: second response, style: tie"


def test_files_have_dimensions_and_reasons_of_any_key_in_any_form_of_a_preference():
    raw = {
        "preference": 1.27,
        "dimensions": {"style": 2, "factual": {"preference": 1.5}, "depth": None, "tone": {"choice": 0}},
        "reasons": ["more_detail"],
    }
    assert validate_value(raw_value(raw, FILES), FILES) == {
        "choice": 1,
        "grade": 1.38,
        "dimensions": {"factual": {"choice": 0}, "style": {"choice": 2}, "tone": {"choice": 0}},
        "reasons": ["more_detail"],
    }
    for bad in ({"choice": 1, "dimensions": {"My key": 1}}, {"choice": 1, "reasons": ["My reason"]}):
        with pytest.raises(LabelValueError, match="expected up to 40 lower-case"):
            validate_value(raw_value(bad, FILES), FILES)


def test_a_category_of_a_file_may_stand_bare_beside_reasons():
    rules = ValueRules("classification", aspects=("Tone", "Length"), open_names=True)
    value = validate_value(raw_value({"category": "tone", "reasons": ["x"]}, rules), rules)
    assert value == {"categories": {"Tone": True, "Length": False}, "reasons": ["x"]}


def test_simulated_annotators_answer_on_every_dimension():
    person = SimulatedAnnotator("ann", "plain", 0.9, 0.0, 0.1, 30.0, 1)
    metadata = {"margin": 4, "margins": {"style": -4}}
    rules = ValueRules(dimensions=("factual", "style"), strengths=("slightly", "much"))
    drawn = [
        PAIRWISE.draw(person, item=f"i{n}", metadata=metadata, lengths=(10, 10), rules=rules)[0]
        for n in range(40)
    ]
    for value in drawn:
        assert validate_value(value, rules) == value
    assert sum(value["dimensions"]["factual"]["choice"] == 1 for value in drawn) > 25
    assert sum(value["dimensions"]["style"]["choice"] == 2 for value in drawn) > 25


def test_words_of_reasons():
    assert reason_words(["short", "more_detail"], reasons_read([SHORT])) == ["Shorter", "More detail"]

"""Judges that rate on other scales than 1 to 5: what they are asked, what they may answer, and how it is read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.scales import NOT_APPLICABLE, Scale
from annotation.kinds import ValueRules, validate_value
from judges.exports.questions import judge_questions
from judges.exports.writing import ExportRefusedError
from judges.strategies.combining import combine
from judges.strategies.contents import item_content_hash
from judges.strategies.parsing import parsed
from judges.strategies.rubric import option_labels, options_worded
from judges.strategies.spec import JudgeSpec
from judges.strategies.structured import read_label, read_last_label
from judges.strategies.types import Answer, CriterionView, TokenLogprob
from tests.judges.strategies.kinds_props import RUBRIC, asked, judged, text_of

DEPTH = CriterionView("depth", "How deep?", Scale(0, 100, words=((0, "Says nothing"), (100, "Says all"))))
TONE = CriterionView("tone", "How warm?", Scale(-3, 3, not_applicable=True, words=((0, "Just right"),)))
SAFE = CriterionView("safe", "Safe?", Scale(0, 1, words=((0, "Fail"), (1, "Pass"))))
STEPS = CriterionView("steps", "How many steps?", Scale(0, 10))
CRITERIA = (DEPTH, TONE, SAFE, STEPS)
ITEM = replace(RUBRIC, criteria=CRITERIA)
RULES = ValueRules(
    "rubric", criteria=tuple(c.key for c in CRITERIA), scales={c.key: c.scale for c in CRITERIA}
)


def said(name, *texts, **params):
    """The verdict of a strategy that is answered with these texts, each for a question."""
    return judged(name, ITEM, list(texts) if len(texts) > 1 else texts[0], params=params)


def test_a_scale_is_written_out_in_the_prompt():
    assert options_worded(DEPTH).splitlines() == [
        "any whole number from 0 to 100",
        "0 = Says nothing",
        "100 = Says all",
    ]
    assert options_worded(TONE).splitlines() == [
        *("-3", "-2", "-1", "0 = Just right", "1", "2", "3"),
        "not_applicable = the criterion does not apply to this response",
    ]
    text = text_of(asked("rubric_all", ITEM))
    assert "depth: How deep?\n    any whole number from 0 to 100\n" in text


def test_choices_and_the_schema_are_the_scale():
    found = asked("rubric_each", ITEM)
    assert found[0].choices == tuple(map(str, range(101)))
    assert found[1].choices == ("-3", "-2", "-1", "0", "1", "2", "3", NOT_APPLICABLE)
    assert found[2].choices == ("0", "1")
    schema = json.loads(asked("rubric_all", ITEM).json_schema)["properties"]
    assert schema["safe"] == {"type": "integer", "enum": [0, 1]}
    assert schema["tone"] == {"type": ["integer", "string"], "enum": [-3, -2, -1, 0, 1, 2, 3, NOT_APPLICABLE]}


@given(st.data())
def test_every_answer_of_a_scale_is_read_as_it_is(data):
    for each in CRITERIA:
        answer = data.draw(st.sampled_from(each.answers))
        labels = option_labels(each)
        for text in (answer, f"**{answer}**", f" {answer}.", f'{{"rating": {json.dumps(answer)}}}'):
            assert read_label(text, labels) == (answer, ""), text
        assert read_last_label(f"It is fine.\nRating: {answer}", labels) == (answer, "")


@pytest.mark.parametrize(
    ("criterion", "text", "label"),
    [
        (TONE, "−2", "-2"),
        (TONE, "+2", "2"),
        (TONE, "N/A", NOT_APPLICABLE),
        (TONE, "Not applicable.", NOT_APPLICABLE),
        (TONE, "Just right", "0"),
        (TONE, "2 - 3", None),
        (TONE, "Rating - 2", None),
        (TONE, "-4", None),
        (TONE, "between -1 and 1", None),
        (DEPTH, "85", "85"),
        (DEPTH, "85/100", "85"),
        (DEPTH, "101", None),
        (DEPTH, "-5", None),
        (DEPTH, "85.5", None),
        (DEPTH, "not applicable", None),
        (SAFE, "Pass", "1"),
        (STEPS, "10", "10"),
        (STEPS, "10/10", "10"),
    ],
)
def test_ways_to_answer(criterion, text, label):
    assert read_label(text, option_labels(criterion))[0] == label


def test_one_question_a_criterion():
    verdict = said("rubric_each", "85", "-2", "1", "10")
    assert verdict.value == {"ratings": {"depth": 85, "tone": -2, "safe": 1, "steps": 10}}
    assert validate_value(verdict.value, RULES) == verdict.value
    verdict = said("rubric_each", "85", "n/a", "Fail", "10")
    assert verdict.value["ratings"] == {"depth": 85, "tone": NOT_APPLICABLE, "safe": 0, "steps": 10}
    verdict = said("rubric_each", "850", "n/a", "Fail", "10")
    assert verdict.status == "unparsed"
    assert verdict.value == {"partial": {"tone": NOT_APPLICABLE, "safe": 0, "steps": 10}}


def test_all_in_one_answer():
    text = json.dumps({"depth": 85, "tone": -3, "safe": "1", "steps": 0})
    assert said("rubric_all", text).value == {"ratings": {"depth": 85, "tone": -3, "safe": 1, "steps": 0}}
    text = json.dumps({"depth": 85, "tone": "not_applicable", "safe": 1, "steps": 0})
    assert said("rubric_all", text).value["ratings"]["tone"] == NOT_APPLICABLE
    assert (
        said("rubric_all", json.dumps({"depth": 85, "tone": -4, "safe": 1, "steps": 0})).status == "unparsed"
    )


def test_expected_ratings_only_where_a_token_is_a_rating():
    def answer(text):
        return Answer(text, logprobs=(TokenLogprob(text, -0.1, ((text, -0.1), ("0", -2.5))),))

    answers = [answer("85"), answer("-2"), answer("1"), answer("10")]
    verdict = judged("rubric_each", ITEM, answers, params={"expected": True})
    assert set(verdict.value["expected"]) == {"safe"}
    assert 0.5 < verdict.value["expected"]["safe"] < 1


def test_a_format_of_ones_own():
    verdict = said(
        "prometheus",
        *("Feedback: so.\n[RESULT] 85", "Feedback: so.\n[RESULT] -2"),
        *("Feedback: so.\n[RESULT] 1", "Feedback: so.\n[RESULT] 10"),
    )
    assert verdict.value["ratings"] == {"depth": 85, "tone": -2, "safe": 1, "steps": 10}


@pytest.mark.parametrize(
    ("given_", "rating"),
    [
        ((80, 91, 92), 88),
        ((80, 81), 80),
        ((NOT_APPLICABLE, NOT_APPLICABLE, 50), NOT_APPLICABLE),
        ((NOT_APPLICABLE, 50), 50),
        ((NOT_APPLICABLE,), NOT_APPLICABLE),
    ],
)
def test_a_jury(given_, rating):
    criterion = CriterionView("depth", "How deep?", Scale(0, 100, not_applicable=True))
    members = {str(k): parsed("", {"ratings": {"depth": one}}) for k, one in enumerate(given_)}
    verdict = combine(replace(RUBRIC, criteria=(criterion,)), members, {})
    assert verdict.value["ratings"] == {"depth": rating}
    numbers = [one for one in given_ if one != NOT_APPLICABLE]
    assert verdict.value["expected"] == ({"depth": sum(numbers) / len(numbers)} if numbers else {})


def test_what_another_tool_cannot_read_is_refused():
    spec = JudgeSpec(strategy="rubric_each", backend="openai", model="m")
    assert judge_questions(spec, (DEPTH, SAFE))[0].answer.labels[-1] == "100"
    with pytest.raises(ExportRefusedError, match="'tone' is rated below 0 or with “not applicable”"):
        judge_questions(spec, CRITERIA)


def test_another_scale_is_another_content():
    standard = replace(RUBRIC, criteria=(CriterionView("c", "?", Scale()),))
    wider = replace(RUBRIC, criteria=(CriterionView("c", "?", Scale(not_applicable=True)),))
    assert item_content_hash(standard) != item_content_hash(wider)

"""What may go into other tools: what each carries is said whole, and what it can't is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.exports.answers import ALONE, DOUBLE, JSON, LINE, RESULT, AnswerForm
from judges.exports.decoding import request_fields
from judges.exports.errors import ExportRefusedError
from judges.exports.questions import ABOUT, judge_questions, why_refused
from judges.exports.tables import documentation
from judges.exports.targets import TARGETS, export_target
from judges.exports.writing import ASPECTS, target_export, target_offer
from judges.strategies.documents import document_read
from judges.strategies.parsing import read_choice, read_verdict_line
from judges.strategies.parsing_ratings import read_rating, read_rating_line
from judges.strategies.registry import STRATEGIES
from judges.strategies.spec import build_strategy
from judges.strategies.types import AspectView, ItemView
from tests.judges.exports.cases import CRITERIA, document_of, pairs

PAGE = Path(__file__).parents[3] / "docs" / "judges-anywhere.md"
URL = "http://127.0.0.1:9/v1"
ASKED = [
    name
    for name, info in STRATEGIES.items()
    if not why_refused(info, {name: param.default for name, param in info.params.items()})
]


def test_each_target_says_of_everything_whether_it_is_carried():
    for target in TARGETS.values():
        assert set(target.carries) | set(target.loses) == set(ASPECTS), target.name
        assert not set(target.carries) & set(target.loses), target.name
        assert target.about.keys() <= ABOUT.keys(), target.name
        assert target.about


def test_the_documentation_has_the_tables():
    begin, end = "<!-- what each tool carries -->\n", "\n<!-- end -->"
    text = PAGE.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]
    # Written by: python -c "from judges.exports.tables import documentation; print(documentation())"
    assert text == documentation()


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_lost_that_was_not_accepted(name):
    document = document_of("vanilla", "m", URL, allow_tie=True, params={"probabilities": True})
    target = export_target(name)
    if "compare" not in target.about:
        with pytest.raises(ExportRefusedError, match="has no place"):
            target_export(target, document, accept=ASPECTS)
        return
    lost = target_export(target, document, accept=ASPECTS).lost
    for left_out in lost:
        with pytest.raises(ExportRefusedError) as refused:
            target_export(target, document, accept=set(lost) - {left_out})
        assert ASPECTS[left_out] in str(refused.value)
        assert target.loses[left_out] in str(refused.value)
    whole = target_export(target, document, accept=lost)
    assert {"README.md", "judge.json"} < set(whole.files)
    assert all(f"Lost. {ASPECTS[each]}" in whole.files["README.md"] for each in lost)


def test_what_a_judge_is_that_no_tool_can_ask_is_refused_with_its_reason():
    for strategy, words in [
        ("debate", "several questions"),
        ("longest", "no model"),
        ("rubric_all", "one answer"),
    ]:
        with pytest.raises(ExportRefusedError, match=words):
            judge_questions(document_of(strategy, "m", URL).spec, CRITERIA)
    with pytest.raises(ExportRefusedError, match="its dataset's"):
        judge_questions(document_of("rubric_each", "m", URL).spec)
    with pytest.raises(ExportRefusedError, match="no 'everything'"):
        target_export(export_target("alpaca-eval"), document_of("vanilla", "m", URL), accept=["everything"])
    with pytest.raises(ExportRefusedError, match="there is no target 'excel'"):
        export_target("excel")


@pytest.mark.parametrize("context", ["", "Some input."])
@pytest.mark.parametrize("strategy", ASKED)
def test_the_question_is_the_one_that_the_judge_asks(strategy, context):
    document = document_of(strategy, "m", URL)
    questions = judge_questions(document.spec, CRITERIA)
    row = pairs(9)[8]
    values = {**row, "context": context, "response": row["output_a"], "requirement": "It is short."}
    asked = next(build_strategy(document.spec)(_item_of(document.spec.kind, row, context)))
    chats = asked if isinstance(asked, tuple) else (asked,)
    for question in questions:
        messages = question.messages(values.__getitem__, context=bool(context))
        assert messages in [chat.messages for chat in chats]
        conditional = question.context_block(
            values.__getitem__, lambda text: text, lambda block: block if context else ""
        )
        assert conditional == messages


def _item_of(kind: str, row: dict[str, str], context: str) -> ItemView:
    responses = (row["output_a"], row["output_b"]) if kind == "pairwise" else (row["output_a"],)
    return ItemView(
        item_id=1,
        kind=kind,
        instruction=row["instruction"],
        responses=responses,
        context=context,
        reference=row["reference"],
        criteria=CRITERIA if kind == "rubric" else (),
        aspects=(AspectView("1", "It is short."),) if kind == "checklist" else (),
    )


VERDICTS = ("A", "B", "tie")
LABELS = st.sampled_from([*VERDICTS, "C", "AB", "not A", "A or B", "Tie", "a"])
BEFORE = st.sampled_from(
    ["", "Both are fine.\n", "**", "Verdict: ", "\nVerdict:", "# Final Verdict: **", "It is not: "]
)
AFTER = st.sampled_from(["", ".", "**", "\n", ".\n\n", " or B", "\nBecause it is."])


@given(BEFORE, LABELS, AFTER)
def test_a_verdict_that_is_found_is_the_one_that_our_reader_finds(before, label, after):
    text = f"{before}{label}{after}"
    choices = {"A": 1, "B": 2, "tie": 0}
    if (said := AnswerForm(VERDICTS, ALONE, "verdict").read(text)) is not None:
        assert read_choice(text, allow_tie=True).choice == choices[said]
    if (said := AnswerForm(VERDICTS, LINE, "verdict").read(text)) is not None:
        assert read_verdict_line(text, allow_tie=True).choice == choices[said]
    for form, mark in [(DOUBLE, f"[[{label}]]"), (RESULT, f"[RESULT] {label}")]:
        marked = f"{before}{mark}{after}"
        if (said := AnswerForm(VERDICTS, form, "verdict").read(marked)) is not None:
            assert read_verdict_line(marked, allow_tie=True).choice == choices[said]


@given(BEFORE, st.integers(0, 12), AFTER)
def test_a_score_that_is_found_is_the_one_that_our_reader_finds(before, number, after):
    labels = tuple(map(str, range(11)))
    for form, read in [(ALONE, read_rating), (LINE, read_rating_line)]:
        text = f"{before.replace('Verdict', 'Rating')}{number}{after}"
        if (said := AnswerForm(labels, form, "rating").read(text)) is not None:
            assert read(text, 0, 10).score == int(said)


def test_what_the_prompts_ask_for_is_found():
    assert AnswerForm(VERDICTS, ALONE).read(" **B**.\n") == "B"
    assert AnswerForm(VERDICTS, LINE, "verdict").read("Because.\n\n**Verdict: tie**") == "tie"
    json = AnswerForm(VERDICTS, JSON, "verdict")
    assert json.read('{"reasons": "It says \\"verdict\\": \\"B\\"}", "verdict": "A"}') == "A"
    assert json.read('```json\n{"reasons": "x",\n "verdict": "tie"\n}\n```') == "tie"
    assert AnswerForm(VERDICTS, DOUBLE, words={"tie": ("C",)}).read("So: [[C]]") == "tie"
    assert AnswerForm(VERDICTS, RESULT).read("Feedback: good. [RESULT] A") == "A"
    assert AnswerForm(("1", "10"), ALONE).read("10") == "10"


def test_the_expressions_need_nothing_that_javascript_has_not():
    for form in (ALONE, LINE, JSON, DOUBLE, RESULT):
        for pattern in AnswerForm(VERDICTS, form, "verdict").patterns().values():
            assert not re.search(
                r"\(\?[^:]|\\[AZz]|[^\\]\s", pattern.replace(" \\t", "").replace("inal )", "")
            )


THINKS_IN_VLLM = {
    "extra_body": {
        "chat_template_kwargs": {"enable_thinking": True, "thinking": True},
        "thinking_token_budget": 500,
    }
}


@pytest.mark.parametrize(
    ("form", "decoding", "sent"),
    [
        ("openai", {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        (
            "vllm",
            {"thinking_budget": 500},
            THINKS_IN_VLLM,
        ),
    ],
)
def test_how_a_judge_thinks_is_carried_or_named_as_lost(form, decoding, sent):
    document = document_read(
        {
            "name": "Thinks",
            "strategy": "cot",
            "model": "m",
            "endpoint": URL,
            "backend_options": {"thinking_form": form},
            "decoding": {"temperature": None, "max_tokens": None, "max_completion_tokens": 3000, **decoding},
        }
    )
    fields = request_fields(document.spec.main_model())
    assert fields["max_completion_tokens"] == 3000
    assert {name: fields[name] for name in sent} == sent
    for name in ("langfuse", "openai-label-model"):
        lost = [each for each, _, _ in target_offer(export_target(name), document).lost]
        assert {"thinking", "max_tokens"} <= set(lost), name
    assert "thinking" in target_offer(export_target("alpaca-eval"), document).carried

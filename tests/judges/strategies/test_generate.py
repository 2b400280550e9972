"""Contestants answer instructions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, Chat, ItemView, Verdict
from tests.judges.strategies.replay import advance

ITEM = ItemView(
    3, "generation", "And of the next?", (), conversation=(("user", "Hi."), ("assistant", "Hello."))
)


def generated(*answers, item=ITEM, **params):
    spec = JudgeSpec(strategy="generate", backend="openai", model="m", params=params)
    assert spec.kind == "generation"
    return advance(build_strategy(spec)(item), answers)


def test_the_conversation_then_the_instruction_with_its_context():
    item = replace(ITEM, context="It rains.", sample=2)
    assert generated(item=item) == Chat(
        (("user", "Hi."), ("assistant", "Hello."), ("user", "And of the next?\n\nIt rains.")), sample=2
    )


def test_a_system_message_comes_first_where_there_is_one():
    assert generated(system="Be brief.").messages[0] == ("system", "Be brief.")
    assert generated().messages[0] == ("user", "Hi.")


def test_the_text_is_kept_as_it_is():
    answer = Answer(text=" A text\n", finish_reason="length")
    assert generated(answer) == Verdict(
        choice=None, status="parsed", raw_text=" A text\n", value={"finish_reason": "length"}
    )


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_text_is_unparsed_and_says_why(text):
    verdict = generated(Answer(text=text, finish_reason="content_filter"))
    assert (verdict.status, verdict.raw_text) == ("unparsed", text)
    assert "'content_filter'" in verdict.reason

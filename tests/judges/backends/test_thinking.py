"""Models that think, on a server: what they are told, what they take, and what it costs."""

from __future__ import annotations

import pytest

from judges.backends.errors import PermanentBackendError
from judges.backends.mock_answers import THOUGHT
from judges.backends.mock_server import running_mock_server
from judges.backends.openai_protocol import tokens_of
from judges.backends.tokenising import Prompter
from judges.backends.wire import build_wire
from judges.strategies.types import Chat, Decoding
from tests.cases import over
from tests.judges.backends.test_openai import ask, question

LOW = Decoding(temperature=None, max_tokens=2000, reasoning_effort="low")


@pytest.mark.service
def test_a_strict_reasoning_model_answers_and_its_thoughts_are_counted_and_priced(server):
    answer = ask(server.url, "mock-reasoner", decoding=LOW, price_prompt=1.0, price_completion=10.0)
    assert (answer.text, answer.thought, answer.reasoning_tokens) == ("B", "", 64)
    assert answer.completion_tokens == 65
    assert answer.cost == pytest.approx((answer.prompt_tokens + 650) / 1e6)


@pytest.mark.service
@over(
    [
        (Decoding(), "Unsupported parameter: 'max_tokens'"),
        (Decoding(temperature=0.0, max_tokens=None, max_completion_tokens=900), "only the default (1)"),
    ]
)
def test_a_strict_reasoning_model_says_what_it_does_not_take(decoding, words):
    with running_mock_server() as server:
        answer = ask(server.url, "mock-reasoner", decoding=decoding)
    assert isinstance(answer, PermanentBackendError)
    assert words.lower() in str(answer).lower()


@pytest.mark.service
def test_a_limit_without_room_leaves_no_answer(server):
    decoding = Decoding(temperature=None, max_tokens=None, max_completion_tokens=100, reasoning_effort="high")
    answer = ask(server.url, "mock-reasoner", decoding=decoding)
    assert (answer.text, answer.finish_reason, answer.reasoning_tokens) == ("", "length", 1024)


@pytest.mark.service
@over(
    [
        ("vllm", {"thinking_budget": 700}),
        ("anthropic", {"thinking_budget": 1500}),
        ("qwen", {"thinking_budget": 700}),
        ("openrouter", {"thinking_budget": 700}),
        ("gemini", {"thinking_budget": 700}),
    ]
)
def test_a_budget_arrives_whatever_its_field_is_called(form, asked):
    decoding = Decoding(temperature=None, max_tokens=None, max_completion_tokens=5000, **asked)
    with running_mock_server() as server:
        answer = ask(server.url, "mock-reasoner", decoding=decoding, thinking_form=form)
    assert answer.reasoning_tokens == asked["thinking_budget"]


@pytest.mark.service
@pytest.mark.parametrize("form", ["openai", "anthropic", "vllm", "qwen", "deepseek", "openrouter", "other"])
def test_thinking_is_turned_off(server, form):
    on = ask(server.url, "mock-thinking", question(), decoding=Decoding(temperature=None), thinking_form=form)
    off = ask(
        server.url,
        "mock-thinking",
        question(),
        decoding=Decoding(reasoning_effort="none"),
        thinking_form=form,
    )
    assert (on.thought, off.thought) == (THOUGHT, "")
    assert on.reasoning_tokens > 0 == off.reasoning_tokens
    assert on.text == off.text


@over(
    [
        # OpenAI's and vLLM's: within the completion.
        ({"prompt_tokens": 9, "completion_tokens": 70, "total_tokens": 79}, 60, (9, 70, 60)),
        # xAI's: beside it; Gemini's: in the total alone.
        ({"prompt_tokens": 9, "completion_tokens": 10, "total_tokens": 79}, 60, (9, 70, 60)),
        ({"prompt_tokens": 9, "completion_tokens": 10, "total_tokens": 79}, None, (9, 70, 60)),
        ({"prompt_tokens": 9, "completion_tokens": 10}, None, (9, 10, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 10, "total_tokens": "many"}, "x", (9, 10, 0)),
        ({"total_tokens": 10}, None, (0, 0, 0)),
        ({}, None, (0, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 10, "total_tokens": 19}, 99, (9, 10, 10)),
    ]
)
def test_thoughts_are_generated_tokens_however_a_server_counts_them(usage, reasoning, expected):
    details = {} if reasoning is None else {"completion_tokens_details": {"reasoning_tokens": reasoning}}
    assert tokens_of(usage | details) == expected


class Template:
    """A tokenizer that keeps the variables its chat template was given."""

    bos_token_id = 1
    chat_template = "x"
    all_special_tokens = ()

    def apply_chat_template(self, _turns, **variables):
        self.variables = variables
        return "text"

    def encode(self, text, **_):
        return [1] * len(text)

    def decode(self, _ids):
        return ""


def test_a_model_in_the_worker_is_told_by_its_chat_template():
    template = Template()
    prompter = Prompter(
        template, max_length=100, template_options={"enable_thinking": False, "language": "en"}
    )
    prompter.encode(build_wire(Chat((("user", "x"),)), model="m", decoding=LOW))
    assert template.variables["enable_thinking"] is template.variables["thinking"] is True
    assert (template.variables["reasoning_effort"], template.variables["language"]) == ("low", "en")
    prompter.encode(build_wire(Chat((("user", "x"),)), model="m"))
    assert template.variables["enable_thinking"] is False
    assert "thinking" not in template.variables

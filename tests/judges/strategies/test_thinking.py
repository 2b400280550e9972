"""What a judge may ask of a model that thinks, and the fields in which each provider is told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.openai_protocol import build_body
from judges.backends.wire import WireRequest, build_wire
from judges.strategies.errors import SpecError
from judges.strategies.spec import JudgeSpec
from judges.strategies.thinking import (
    ANSWER_ROOM,
    EFFORTS,
    FORMS,
    OFFERED,
    ROOM,
    seconds_for,
    thinking_fields,
    thinks,
)
from judges.strategies.types import Chat, Decoding
from tests.cases import over
from tests.judges.strategies.test_spec import spec


def thinking(form="", backend="openai", options=None, **decoding) -> JudgeSpec:
    given = {"thinking_form": form} if form else {}
    return spec(backend=backend, backend_options=given | (options or {}), decoding=decoding)


def body_of(judge: JudgeSpec, chat: Chat | None = None) -> dict:
    wire = build_wire(chat or Chat((("user", "Which?"),)), model="m", decoding=judge.decoding)
    form = judge.backend_options.get("thinking_form") or OFFERED[0]
    body = build_body(wire, structured="none", max_tokens_field="max_tokens", extra={}, thinking_form=form)
    return {name: value for name, value in body.items() if name not in ("model", "messages")}


ON, OFF = {"enable_thinking": True, "thinking": True}, {"enable_thinking": False, "thinking": False}
BODIES = [
    ("openai", {"reasoning_effort": "high"}, {"reasoning_effort": "high", "max_completion_tokens": ROOM}),
    (
        "openai",
        {"reasoning_effort": "none"},
        {"reasoning_effort": "none", "temperature": 0.0, "max_tokens": 1024},
    ),
    (
        "openai",
        {"temperature": None, "max_completion_tokens": 300},
        {"max_completion_tokens": 300},
    ),
    (
        "anthropic",
        {"thinking_budget": 2048},
        {"thinking": {"type": "enabled", "budget_tokens": 2048}, "max_tokens": 2048 + ANSWER_ROOM},
    ),
    (
        "anthropic",
        {"reasoning_effort": "max", "temperature": 1, "max_tokens": 9000},
        {
            "thinking": {"type": "adaptive"},
            "output_config": {"effort": "max"},
            "temperature": 1.0,
            "max_tokens": 9000,
        },
    ),
    (
        "anthropic",
        {"reasoning_effort": "none"},
        {"thinking": {"type": "disabled"}, "temperature": 0.0, "max_tokens": 1024},
    ),
    ("gemini", {"reasoning_effort": "low"}, {"reasoning_effort": "low", "max_tokens": ROOM}),
    (
        "gemini",
        {"thinking_budget": 0, "max_tokens": 64},
        {
            "extra_body": {"google": {"thinking_config": {"thinking_budget": 0, "include_thoughts": True}}},
            "temperature": 0.0,
            "max_tokens": 64,
        },
    ),
    (
        "vllm",
        {"reasoning_effort": "medium", "temperature": 0.6},
        {
            "chat_template_kwargs": ON,
            "reasoning_effort": "medium",
            "temperature": 0.6,
            "max_tokens": ROOM,
        },
    ),
    (
        "vllm",
        {"reasoning_effort": "none"},
        {"chat_template_kwargs": OFF, "temperature": 0.0, "max_tokens": 1024},
    ),
    (
        "vllm",
        {"thinking_budget": 500},
        {"chat_template_kwargs": ON, "thinking_token_budget": 500, "max_tokens": 500 + ANSWER_ROOM},
    ),
    (
        "qwen",
        {"thinking_budget": 500, "max_tokens": 900},
        {"enable_thinking": True, "thinking_budget": 500, "max_tokens": 900},
    ),
    (
        "qwen",
        {"reasoning_effort": "none"},
        {"enable_thinking": False, "temperature": 0.0, "max_tokens": 1024},
    ),
    (
        "deepseek",
        {"reasoning_effort": "high"},
        {"thinking": {"type": "enabled"}, "reasoning_effort": "high", "max_tokens": ROOM},
    ),
    (
        "openrouter",
        {"thinking_budget": 700},
        {"reasoning": {"max_tokens": 700}, "max_tokens": 700 + ANSWER_ROOM},
    ),
    (
        "other",
        {"reasoning_effort": "low", "temperature": 0.3},
        {"reasoning_effort": "low", "temperature": 0.3, "max_tokens": ROOM},
    ),
]


@over(BODIES)
def test_each_provider_is_told_in_its_own_fields(form, asked, sent):
    assert body_of(thinking(form, **asked)) == sent


REFUSED = [
    ("", {"thinking_budget": 512, "max_tokens": 1024}, "thinking_budget: OpenAI takes a reasoning effort"),
    ("anthropic", {"thinking_budget": 512}, "thinking_budget: expected at least 1,024 tokens"),
    (
        "anthropic",
        {"thinking_budget": 4096, "max_tokens": 4096},
        "thinking_budget: expected fewer tokens than the limit of 4,096",
    ),
    (
        "vllm",
        {"thinking_budget": 4096, "max_completion_tokens": 2048},
        "thinking_budget: expected fewer tokens than the limit of 2,048",
    ),
    ("vllm", {"reasoning_effort": "xhigh"}, "reasoning_effort: expected one of none, low, medium, high"),
    ("", {"reasoning_effort": "much"}, "reasoning_effort: expected one of none, minimal"),
    ("", {"reasoning_effort": 3}, "reasoning_effort: expected one of none, minimal"),
    ("", {"reasoning_effort": "low", "temperature": 0}, "temperature: expected 1 or none"),
    ("anthropic", {"thinking_budget": 2048, "temperature": 0.5}, "temperature: expected 1 or none"),
    ("deepseek", {"reasoning_effort": "low", "temperature": 0.5}, "temperature: expected 1 or none"),
    ("openai", {"reasoning_effort": "low", "top_p": 0.5}, "top_p: expected at least 0.95 or none"),
    ("gemini", {"reasoning_effort": "low", "thinking_budget": 100}, "thinking_budget: expected a reasoning"),
    ("", {"thinking_budget": True}, "thinking_budget: expected a whole number"),
    ("", {"max_tokens": 5, "max_completion_tokens": 5}, "max_completion_tokens: expected it or max_tokens"),
    ("tarot", {}, "thinking_form: expected one of openai"),
]


@over(REFUSED)
def test_what_a_provider_does_not_take_is_refused_with_its_field(form, asked, words):
    with pytest.raises(SpecError) as caught:
        thinking(form, **asked)
    assert words in str(caught.value)


def test_a_model_in_a_role_is_checked_too():
    role = {"backend": "openai", "model": "m", "decoding": {"reasoning_effort": "low", "temperature": 0}}
    with pytest.raises(SpecError, match=r"roles\.system\.decoding\.temperature"):
        spec(strategy="loglikelihood", roles={"system": role})


@pytest.mark.parametrize("backend", ["litellm", "vllm_server", "vllm", "transformers"])
def test_a_backend_with_a_form_of_its_own_is_given_no_other(backend):
    with pytest.raises(SpecError, match="form of its own"):
        thinking("gemini", backend=backend)


def test_a_server_of_the_worker_needs_the_parser_of_thoughts():
    with pytest.raises(SpecError, match="reasoning_parser"):
        thinking(backend="vllm_server", reasoning_effort="low")
    assert thinking(backend="vllm_server", options={"reasoning_parser": "qwen3"}, reasoning_effort="low")


def test_judges_of_before_are_the_same_ones():
    assert spec().decoding == Decoding()
    assert (
        spec().fingerprint()
        == spec(decoding={"reasoning_effort": None, "thinking_budget": None}).fingerprint()
    )
    assert "thinking" not in json.dumps(spec().identity())
    assert "reasoning" not in json.dumps(WireRequest("chat", "m", ()).payload())


asked = st.fixed_dictionaries(
    {},
    optional={
        "reasoning_effort": st.sampled_from([None, *EFFORTS]),
        "thinking_budget": st.none() | st.integers(0, 40_000),
        "max_completion_tokens": st.none() | st.integers(1, 40_000),
        "max_tokens": st.none() | st.integers(1, 40_000),
        "temperature": st.none() | st.sampled_from([0, 0.5, 1]),
    },
)


@given(st.sampled_from(OFFERED), asked)
def test_what_is_not_refused_is_sent_whole_and_survives_json(form, decoding):
    try:
        judge = thinking(form, **decoding)
    except SpecError:
        return
    again = JudgeSpec.from_dict(json.loads(json.dumps(judge.to_dict())))
    assert again == judge
    assert again.fingerprint() == judge.fingerprint()
    wire = build_wire(Chat((("user", "x"),)), model="m", decoding=judge.decoding)
    assert WireRequest.from_payload(json.loads(wire.canonical_json())).decoding.limit == wire.decoding.limit
    fields = thinking_fields(judge.decoding, form)
    assert bool(fields) == any(
        decoding.get(name) is not None for name in ("reasoning_effort", "thinking_budget")
    )
    if (budget := judge.decoding.thinking_budget) and judge.decoding.limit is not None:
        assert budget < judge.decoding.limit
    if thinks(judge.decoding) and not FORMS[form].samples_freely:
        assert judge.decoding.temperature in (None, 1.0)


def test_a_strategy_with_a_limit_of_its_own_leaves_room_for_thoughts():
    short = Chat((("user", "x"),), max_tokens=10, temperature=0.0, top_p=0.1)
    assert body_of(thinking("anthropic", thinking_budget=2000), short)["max_tokens"] == 2000 + ANSWER_ROOM
    roomy = Chat((("user", "x"),), max_tokens=5000)
    assert body_of(thinking("anthropic", thinking_budget=2000), roomy)["max_tokens"] == 7000
    sent = body_of(thinking(reasoning_effort="low"), short)
    assert sent == {"reasoning_effort": "low", "max_completion_tokens": ROOM}
    assert body_of(spec(), short) == {"max_tokens": 10, "temperature": 0.0, "top_p": 0.1}


def test_a_thinking_model_gets_time_for_all_of_its_tokens():
    assert seconds_for(Decoding(), 120.0) == 120.0
    assert seconds_for(Decoding(reasoning_effort="none"), 120.0) == 120.0
    assert seconds_for(Decoding(reasoning_effort="low", max_tokens=25_000), 120.0) == 1250.0
    assert seconds_for(Decoding(reasoning_effort="low", max_tokens=None), 120.0) == 1250.0
    assert seconds_for(Decoding(thinking_budget=100, max_tokens=1000), 120.0) == 120.0
    assert seconds_for(Decoding(thinking_budget=100, max_tokens=10**6), 120.0) == 3600.0


def test_the_judge_stands_above_what_its_endpoint_says_to_all():
    wire = build_wire(Chat(()), model="m", decoding=thinking("vllm", reasoning_effort="low").decoding)
    extra = {"chat_template_kwargs": {"enable_thinking": False, "lang": "en"}, "reasoning_effort": "high"}
    body = build_body(
        wire, structured="none", max_tokens_field="max_tokens", extra=extra, thinking_form="vllm"
    )
    assert body["chat_template_kwargs"] == ON | {"lang": "en"}
    assert body["reasoning_effort"] == "low"

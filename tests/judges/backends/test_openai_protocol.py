"""What is sent, and how anything at all that comes back is read."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.errors import (
    BackendError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.openai_protocol import ServerReply, build_body, read_reply, retry_after
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding, TokenLogprob

MESSAGES = (("system", "You judge."), ("user", "Which?"))
WIRE = WireRequest(kind="chat", model="m", messages=MESSAGES, choices=("A", "B"), logprobs=2)


def body_of(wire=WIRE, *, structured="none", max_tokens_field="max_tokens", extra=None):
    return build_body(wire, structured=structured, max_tokens_field=max_tokens_field, extra=extra or {})


def read(document, *, wire=WIRE, status=200, structured="none", headers=None, secret=""):
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    reply = ServerReply(url="http://x", status=status, headers=headers or {}, body=raw, secret=secret)
    return read_reply(reply, wire, structured=structured, latency_ms=1.0, prices=(0.0, 0.0))


def reply_with(content, **choice):
    return {"choices": [{"message": {"content": content}, **choice}]}


def test_the_body_holds_what_is_set_and_nothing_else():
    assert body_of(WireRequest(kind="chat", model="m", messages=MESSAGES)) == {
        "model": "m",
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Which?"}],
        "temperature": 0.0,
        "max_tokens": 1024,
    }


def test_all_of_the_decoding_is_sent():
    decoding = Decoding(temperature=None, max_tokens=3, top_p=0.5, seed=0, stop=("x",))
    body = body_of(WireRequest(kind="chat", model="m", messages=(), decoding=decoding, sample=2, logprobs=5))

    assert "temperature" not in body
    assert (body["max_tokens"], body["top_p"], body["stop"]) == (3, 0.5, ["x"])
    assert body["seed"] == 2  # each sample of a seeded request has a seed of its own
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)


def test_the_renamed_field_and_extra_fields():
    body = body_of(max_tokens_field="max_completion_tokens", extra={"temperature": 1, "top_k": 4})

    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["temperature"], body["top_k"]) == (1024, 1, 4)


def test_constraints():
    assert body_of(structured="vllm")["structured_outputs"] == {"choice": ["A", "B"]}
    schema = body_of(structured="json_schema")["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["properties"]["choice"]["enum"] == ["A", "B"]
    free = WireRequest(kind="chat", model="m", messages=(), json_schema='{"type": "object"}')
    assert body_of(free, structured="vllm")["response_format"]["json_schema"]["schema"] == {"type": "object"}
    plain = body_of(WireRequest(kind="chat", model="m", messages=()), structured="vllm")
    assert "structured_outputs" not in plain
    assert "response_format" not in plain


def test_a_regular_expression_is_sent_where_a_server_takes_one():
    wire = WireRequest(kind="chat", model="m", messages=(), regex="[1-5]")

    assert body_of(wire, structured="vllm")["structured_outputs"] == {"regex": "[1-5]"}
    for structured in ("none", "json_schema"):
        assert not {"structured_outputs", "response_format"} & body_of(wire, structured=structured).keys()


def test_under_a_schema_the_log_probabilities_are_those_of_the_choice():
    tokens = ['{"', "choice", '":', ' "', "A", '"}', "<|end|>"]
    content = [{"token": token, "logprob": -1.0 - i} for i, token in enumerate(tokens)]
    answer = read(reply_with('{"choice": "A"}', logprobs={"content": content}), structured="json_schema")
    others = read(reply_with('{"choice": "A"}', logprobs={"content": content[1:]}), structured="json_schema")

    assert (answer.text, answer.logprobs) == ("A", (TokenLogprob("A", -5.0),))
    assert len(others.logprobs) == 6  # they do not spell the text, so nothing is known of them


@pytest.mark.parametrize(
    ("content", "text", "constrained"),
    [
        ('{"choice": "A"}', "A", True),
        ('\n {"choice"  :"B"}\n', "B", True),
        ('{"choice": "C"}', '{"choice": "C"}', False),
        ('{"choice": ["A"]}', '{"choice": ["A"]}', False),
        ('["A"]', '["A"]', False),
        ('"A"', '"A"', False),
        ("A", "A", False),
        ("", "", False),
    ],
)
def test_a_schema_constraint_is_checked_when_read(content, text, constrained):
    answer = read(reply_with(content), structured="json_schema")

    assert (answer.text, answer.constrained) == (text, constrained)


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"message": {"content": None, "refusal": "I will not."}}, "I will not.", "refusal"),
        ({"message": {"content": None}, "finish_reason": "length"}, "", "length"),
        ({"message": {"content": None}, "finish_reason": "content_filter"}, "", "content_filter"),
        ({"message": {"content": "A"}, "finish_reason": None}, "A", "stop"),
        (
            {"message": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "B"}]}},
            "B",
            "stop",
        ),
        ({"message": {"content": "A\x00\ud800"}, "finish_reason": 3}, "A\ufffd?", "stop"),
    ],
)
def test_answers_that_are_out_of_the_ordinary(choice, text, finish):
    answer = read({"choices": [choice], "usage": {"prompt_tokens": "many", "completion_tokens": 10**30}})

    assert (answer.text, answer.finish_reason) == (text, finish)
    assert (answer.prompt_tokens, answer.completion_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("message", "text", "thought"),
    [
        ({"content": "B", "reasoning_content": "A?"}, "B", "A?"),
        ({"content": "B", "reasoning": "A?", "reasoning_details": [{"type": "reasoning.text"}]}, "B", "A?"),
        ({"content": "B", "thinking": "A?"}, "B", "A?"),
        ({"content": "B", "reasoning": {"effort": "low"}, "reasoning_content": None}, "B", ""),
        (
            {"content": "B", "reasoning_details": [
                {"type": "reasoning.summary", "summary": "A?"}, {"type": "reasoning.encrypted", "data": "x"},
            ]},
            "B", "A?",
        ),
        ({"content": "B", "thinking_blocks": [{"type": "thinking", "thinking": "A?", "signature": "x"}]}, "B", "A?"),
        (
            {"content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"},
            ]},
            "B", "A?",
        ),
        # It never stopped thinking: an empty answer, and no misbehaviour of the server.
        ({"content": None, "reasoning_content": "A?"}, "", "A?"),
        ({"content": [{"type": "thinking", "thinking": "A?"}]}, "", "A?"),
        ({"content": "B", "reasoning_content": "\x00"}, "B", "\ufffd"),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_thought_that_the_server_sends_apart_is_kept_apart(message, text, thought):
    answer = read({"choices": [{"message": message, "finish_reason": "stop"}]})

    assert (answer.text, answer.thought, answer.finish_reason) == (text, thought, "stop")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[" * 100_000,
        b"9" * 5_000,
        [],
        {},
        {"choices": {}},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        reply_with(None),
        reply_with(3),
        reply_with([{"type": "image", "text": "A"}]),
        reply_with([{"type": "text", "text": 3}]),
        reply_with(["A"]),
        reply_with("A", logprobs={"content": [3]}),
        reply_with("A", logprobs={"content": [{"token": 1, "logprob": 0}]}),
        reply_with("A", logprobs={"content": [{"token": "A", "logprob": "low"}]}),
    ],
    ids=range(18),
)
def test_what_is_no_answer_is_misbehaviour(document):
    with pytest.raises(MisbehavingServerError, match="http://x: HTTP 200, "):
        read(document)


def test_log_probabilities_are_finite():
    content = [
        {"token": "A", "logprob": -0.1, "top_logprobs": [{"token": "B", "logprob": float("-inf")}]},
        {"token": ".", "logprob": float("nan"), "top_logprobs": None},
    ]
    answer = read(reply_with("A.", logprobs={"content": content}))

    assert answer.logprobs == (TokenLogprob("A", -0.1, (("B", -9999.0),)), TokenLogprob(".", -9999.0))
    assert read(reply_with("A", logprobs=None)).logprobs is None


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (201, MisbehavingServerError),
        (301, EndpointError),
        (307, EndpointError),
        (400, PermanentBackendError),
        (401, EndpointError),
        (402, EndpointError),
        (403, EndpointError),
        (404, EndpointError),
        (405, EndpointError),
        (408, TransientBackendError),
        (409, TransientBackendError),
        (413, PermanentBackendError),
        (415, PermanentBackendError),
        (422, PermanentBackendError),
        (425, TransientBackendError),
        (429, TransientBackendError),
        (500, TransientBackendError),
        (501, PermanentBackendError),
        (503, TransientBackendError),
        (529, TransientBackendError),
    ],
)
def test_every_status_says_what_to_do(status, error):
    with pytest.raises(error) as caught:
        read({"error": {"message": "because"}}, status=status)

    assert type(caught.value) is error
    assert caught.value.status == status
    assert f"HTTP {status}" in str(caught.value)
    assert str(caught.value).endswith(": because")


def test_an_empty_account_is_not_worth_retrying():
    with pytest.raises(EndpointError, match="no quota"):
        read({"error": {"message": "Pay.", "code": "insufficient_quota"}}, status=429)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"error": "plain"}', ": plain"),
        (b'{"error": "over\\r\\n\\ttwo \\u001b[31mlines"}', ": over two [31mlines"),
        (b'{"detail": "from FastAPI"}', ", try again later."),
        (b'{"message": "flat"}', ", try again later."),
        (b"<h1>Bad\r\n\tGateway\x1b[31m</h1>", ", try again later."),
        (b"", ", try again later."),
        (b'{"error": 3}', ", try again later."),
        (b"\xff\xfe", ", try again later."),
    ],
)
def test_only_messages_in_the_form_of_the_protocol_are_shown(body, shown):
    with pytest.raises(TransientBackendError) as caught:
        read(body, status=502)
    assert str(caught.value).endswith(shown)


def test_messages_are_short_and_never_hold_the_key():
    with pytest.raises(BackendError) as caught:
        read(b"hunter2 " * 10_000, status=500, secret="hunter2")
    assert len(str(caught.value)) < 300
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(ServerReply("u", 200, {}, b"", secret="hunter2"))


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("3", 3.0),
        (" 0.5 ", 0.5),
        ("-4", 0.0),
        ("Thu, 01 Jan 2026 00:01:00 GMT", 60.0),
        ("Thu, 01 Jan 2026 00:01:00 -0000", 60.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("Thu, 99 Jan 2026 00:01:00 GMT", None),
    ],
)
def test_a_pause_is_given_in_seconds_or_as_a_date(value, seconds):
    headers = {} if value is None else {"retry-after": value}
    assert retry_after(headers, now=NOW) == seconds


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                (
                    "choices",
                    "message",
                    "content",
                    "finish_reason",
                    "logprobs",
                    "usage",
                    "error",
                    "token",
                    "logprob",
                )
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from([200, 400, 429, 500]), st.sampled_from(["none", "vllm", "json_schema"]))
def test_any_json_is_an_answer_or_a_backend_error(document, status, structured):
    for each in (
        document,
        {"choices": [document]},
        {"choices": [{"message": document}]},
        reply_with(document),
    ):
        try:
            answer = read(each, status=status, structured=structured)
        except BackendError as error:
            str(error).encode("utf-8")
        else:
            assert isinstance(answer, Answer)
            answer.text.encode("utf-8")
            assert "\x00" not in answer.text


@given(st.binary(max_size=60), st.integers(200, 599))
def test_any_bytes_are_an_answer_or_a_backend_error(raw, status):
    with pytest.raises(BackendError):
        read(raw, status=status)

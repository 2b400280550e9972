"""Answers survive the database, verdicts lose their presentation order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.base import storable
from judges.backends.wire import WireRequest, answer_from_json, canonical_hash
from judges.engine.codec import (
    answer_to_json,
    storable_answer,
    verdict_result,
)
from judges.strategies.types import Answer, TokenLogprob, Verdict
from tests.judges.props import request_hash

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text()
logprobs = st.builds(
    TokenLogprob, token=texts, logprob=numbers, top=st.lists(st.tuples(texts, numbers), max_size=3).map(tuple)
)
answers = st.builds(
    Answer,
    text=texts,
    finish_reason=texts,
    prompt_tokens=st.integers(0, 10**6),
    completion_tokens=st.integers(0, 10**6),
    latency_ms=numbers,
    cost=numbers,
    logprobs=st.none() | st.lists(logprobs, max_size=3).map(tuple),
    constrained=st.booleans(),
    logprob=st.none() | numbers,
    vector=st.none() | st.lists(numbers, max_size=3).map(tuple),
    scores=st.none() | st.lists(numbers, max_size=3).map(tuple),
)


@given(answers)
def test_a_replayed_answer_is_the_answer(answer):
    assert answer_from_json(json.loads(answer_to_json(answer))) == answer


@given(st.text(st.characters(codec=None) | st.just("\x00") | st.just("\ud800")))
def test_text_that_is_stored_has_neither_nul_nor_surrogates(text):
    cleaned = storable(text)
    assert "\x00" not in cleaned
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert storable(cleaned) == cleaned
    assert storable_answer(Answer(text)).text == cleaned


@pytest.mark.parametrize(
    ("verdict", "order", "expected"),
    [
        (Verdict(1, "parsed"), 0, ("parsed", 1, None, {"choice": 1})),
        (Verdict(1, "parsed"), 1, ("parsed", 2, None, {"choice": 2})),
        (Verdict(0, "parsed"), 1, ("parsed", 0, None, {"choice": 0})),
        (Verdict(None, "unparsed", probability=0.5), 1, ("unparsed", None, None, None)),
        (Verdict(None, "unparsed", reason="cut off"), 0, ("unparsed", None, None, {"reason": "cut off"})),
        (
            Verdict(2, "parsed", scores=(3.0, 4.0), probability=0.25),
            1,
            ("parsed", 1, 0.75, {"choice": 1, "scores": [4.0, 3.0]}),
        ),
        (Verdict(1, "parsed", probability=1.0 + 1e-12), 0, ("parsed", 1, 1.0, {"choice": 1})),
        (
            Verdict(None, "parsed", value={"ratings": {"a": 3}}),
            0,
            ("parsed", None, None, {"ratings": {"a": 3}}),
        ),
        (
            Verdict(None, "parsed", value={"tree": [{"a\x00": "\ud800"}], "smile": "\U0001f600"}),
            0,
            ("parsed", None, None, {"tree": [{"a\ufffd": "?"}], "smile": "\U0001f600"}),
        ),
    ],
)
def test_what_is_stored_of_a_verdict_is_canonical(verdict, order, expected):
    status, choice, probability, value, *_ = verdict_result(verdict, order)
    assert (status, choice, probability, None if value is None else json.loads(value)) == expected


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict(3, "parsed"),
        Verdict(1, "parsed", probability=float("nan")),
        Verdict(1, "parsed", probability=1.5),
        Verdict(1, "parsed", scores=(float("inf"), 1.0)),
        Verdict(1, "parsed", value={"x": object()}),
        None,
    ],
)
def test_a_verdict_that_cannot_be_stored_is_refused(verdict):
    with pytest.raises((AttributeError, TypeError, ValueError)):
        verdict_result(verdict, 0)


def test_both_ways_to_a_hash_agree():
    wire = WireRequest(kind="chat", model="m", messages=(("user", "é"),))
    assert canonical_hash(wire.canonical_json(), "here") == request_hash(wire, "here")

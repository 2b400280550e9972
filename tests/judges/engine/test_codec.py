"""Answers survive the database, verdicts lose their presentation order."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.base import storable
from judges.backends.wire import WireRequest, canonical_hash, request_hash
from judges.engine.codec import (
    answer_from_json,
    answer_to_json,
    storable_answer,
    verdict_fields,
)
from judges.strategies.types import Answer, TokenLogprob, Verdict

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
        (Verdict(1, "parsed"), 0, ("parsed", 1, {"choice": 1})),
        (Verdict(1, "parsed"), 1, ("parsed", 2, {"choice": 2})),
        (Verdict(0, "parsed"), 1, ("parsed", 0, {"choice": 0})),
        (Verdict(None, "unparsed"), 1, ("unparsed", None, None)),
        (Verdict(None, "unparsed", reason="cut off"), 0, ("unparsed", None, {"reason": "cut off"})),
        (
            Verdict(2, "parsed", scores=(3.0, 4.0), probability=0.25),
            1,
            ("parsed", 1, {"choice": 1, "scores": [4.0, 3.0], "probability": 0.75}),
        ),
    ],
)
def test_the_presentation_order_is_undone(verdict, order, expected):
    status, choice, value = verdict_fields(verdict, order)
    assert (status, choice, None if value is None else json.loads(value)) == expected


def test_both_ways_to_a_hash_agree():
    wire = WireRequest(kind="chat", model="m", messages=(("user", "é"),))
    assert canonical_hash(wire.canonical_json(), "here") == request_hash(wire, "here")

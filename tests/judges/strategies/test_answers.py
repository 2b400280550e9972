"""Answers survive being stored."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.answers import answer_from_dict, answer_to_dict
from judges.strategies.types import Answer, TokenLogprob

numbers = st.floats(allow_nan=False, allow_infinity=False)
rivals = st.lists(st.tuples(st.text(max_size=3), numbers), max_size=2).map(tuple)
logprobs = st.lists(st.builds(TokenLogprob, st.text(max_size=3), numbers, rivals), max_size=3).map(tuple)
answers = st.builds(
    Answer,
    text=st.text(),
    finish_reason=st.sampled_from(["stop", "length"]),
    prompt_tokens=st.integers(0, 9),
    completion_tokens=st.integers(0, 9),
    latency_ms=numbers,
    cost=numbers,
    logprobs=st.none() | logprobs,
    constrained=st.booleans(),
    logprob=st.none() | numbers,
    vector=st.none() | st.lists(numbers, max_size=3).map(tuple),
    scores=st.none() | st.lists(numbers, max_size=3).map(tuple),
)


@given(answers)
def test_an_answer_survives_json(answer):
    assert answer_from_dict(json.loads(json.dumps(answer_to_dict(answer)))) == answer


def test_only_what_differs_is_stored():
    assert answer_to_dict(Answer("A")) == {"text": "A"}
    assert answer_to_dict(Answer("A", scores=(1.0,))) == {"text": "A", "scores": [1.0]}

"""Embedding similarity to the reference, fed with vectors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judges.strategies.errors import MissingReferenceError
from judges.strategies.similarity import cosine
from judges.strategies.spec import JudgeSpec, build_strategy
from judges.strategies.types import Answer, Embed, ItemView, Match
from tests.judges.strategies.replay import advance

ITEM = ItemView(17, "pairwise", "Name a prime.", ("Seven.", "Nine."), reference="7")


def embedded(*vectors, item=ITEM, **params):
    spec = JudgeSpec(strategy="embedding", backend="openai", model="encoder", params=params)
    answers = tuple(Answer(text="", vector=vector) for vector in vectors)
    return advance(build_strategy(spec)(item), [answers] if answers else [])


def test_both_responses_and_the_reference_are_embedded_at_once():
    assert embedded() == (Embed("Seven."), Embed("Nine."), Embed("7"))
    assert embedded(prefix="query: ")[2] == Embed("query: 7")


def test_the_closer_response_wins():
    verdict = embedded((3.0, 4.0), (0.0, 2.0), (0.0, 1.0))
    assert (verdict.choice, verdict.status) == (2, "parsed")
    assert verdict.scores == (pytest.approx(0.8), 1.0)


def test_equal_vectors_are_a_tie():
    assert embedded((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), (0.7, 0.1, 0.9)).choice == 0


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        (((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), "zeros"),
        (((1.0,), (1.0, 0.0), (1.0, 1.0)), "different dimensions: 1, 2, 2"),
        ((None, (1.0, 0.0), (1.0, 1.0)), "no vector"),
        (((), (1.0, 0.0), (1.0, 1.0)), "no vector"),
        (((math.nan, 0.0), (1.0, 0.0), (1.0, 1.0)), "not finite"),
    ],
)
def test_what_cannot_be_compared_is_unparsed(vectors, reason):
    verdict = embedded(*vectors)
    assert (verdict.choice, verdict.status) == (None, "unparsed")
    assert reason in verdict.reason


def test_an_empty_response_is_not_embedded():
    verdict = embedded(item=replace(ITEM, responses=("Seven.", " ")))
    assert (verdict.status, verdict.reason) == ("unparsed", "response B is empty")


def test_without_a_reference_there_is_nothing_to_compare_with():
    with pytest.raises(MissingReferenceError):
        embedded(item=replace(ITEM, reference=""))


vectors = st.lists(st.floats(-1e200, 1e200).map(lambda x: x or 1.0), min_size=3, max_size=3)


@settings(deadline=None)
@given(vectors, vectors)
def test_cosines_are_those_of_numpy_and_never_overflow(a, b):
    found = cosine(tuple(a), tuple(b))
    x, y = np.array(a) / max(map(abs, a)), np.array(b) / max(map(abs, b))

    assert -1 <= found <= 1
    assert found == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), abs=1e-12)


def matched(*scores, item=ITEM, **params):
    spec = JudgeSpec(strategy="bertscore", backend="transformers", model="roberta-large", params=params)
    answers = tuple(Answer(text="", scores=each) for each in scores)
    return advance(build_strategy(spec)(item), [answers] if answers else [])


def test_bertscore_compares_each_response_with_the_reference():
    assert matched(layer=3) == (Match("Seven.", "7", layer=3), Match("Nine.", "7", layer=3))
    verdict = matched((0.5, 0.7, 0.6), (0.9, 0.4, 0.55))
    assert (verdict.choice, verdict.scores) == (1, (0.6, 0.55))
    assert matched((0.5, 0.5, 0.5), (0.4, 0.6, 0.5)).choice == 0
    assert matched((0.5, 0.5, 0.5), None).reason == "the backend gave no precision, recall and F1"
    assert matched(item=replace(ITEM, responses=("Seven.", " "))).reason == "response B is empty"
    with pytest.raises(MissingReferenceError):
        matched(item=replace(ITEM, reference=None))

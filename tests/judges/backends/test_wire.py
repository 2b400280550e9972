"""A request's identity holds everything that can change its answer, and nothing else."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.wire import (
    UnstorableError,
    WireRequest,
    build_wire,
    canonical_hash,
    hash_and_shown,
    is_storable,
)
from judges.strategies.types import Chat, Classify, Decoding, Embed, Score
from tests.judges.props import request_hash

MESSAGES = (("system", "You judge."), ("user", "Which?"))
WIRE = WireRequest(kind="chat", model="m", messages=MESSAGES)

OTHER = {
    "kind": "score",
    "model": "m2",
    "messages": (("user", "Which?"),),
    "decoding": Decoding(temperature=0.5),
    "choices": ("A", "B"),
    "json_schema": "{}",
    "logprobs": 5,
    "sample": 1,
    "revision": "r",
    "text": "t",
    "prefix": "p",
    "regex": "[AB]",
    "biases": (("A", 7.0),),
    "layer": 3,
    "function": "{}",
}
OTHER_DECODING = {
    "temperature": 0.7,
    "max_tokens": 7,
    "top_p": 0.5,
    "seed": 0,
    "stop": ("\n",),
    "reasoning_effort": "low",
    "thinking_budget": 5,
    "max_completion_tokens": 9,
}


def test_every_field_changes_the_hash():
    assert OTHER.keys() == {each.name for each in fields(WireRequest)}
    # What `top_logprobs` asks for is the request's `logprobs`.
    assert OTHER_DECODING.keys() | {"top_logprobs"} == {each.name for each in fields(Decoding)}
    variants = [WIRE]
    variants += [replace(WIRE, **{name: value}) for name, value in OTHER.items()]
    variants += [replace(WIRE, decoding=replace(Decoding(), **{n: v})) for n, v in OTHER_DECODING.items()]
    hashes = {request_hash(variant, "here") for variant in variants}
    hashes.add(request_hash(WIRE, "there"))

    assert len(hashes) == len(variants) + 1


decodings = st.builds(
    Decoding,
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 9),
    top_p=st.none() | st.floats(0, 1),
    seed=st.none() | st.integers(0, 9),
    stop=st.lists(st.text(max_size=2), max_size=2).map(tuple),
)
wires = st.builds(
    WireRequest,
    kind=st.sampled_from(["chat", "score"]),
    model=st.text(max_size=2),
    messages=st.lists(st.tuples(st.text(max_size=2), st.text(max_size=3)), max_size=3).map(tuple),
    decoding=decodings,
    choices=st.lists(st.text(max_size=2), max_size=2).map(tuple),
    json_schema=st.none() | st.text(max_size=2),
    logprobs=st.integers(0, 2),
    sample=st.integers(0, 2),
    revision=st.text(max_size=2),
    text=st.text(max_size=2),
    biases=st.lists(st.tuples(st.text(max_size=2), st.floats(-100, 100)), max_size=2).map(tuple),
)


@given(wires, wires, st.text(max_size=2), st.text(max_size=2))
def test_hashes_are_equal_exactly_when_requests_are(one, two, here, there):
    same = one == two and here == there
    assert (request_hash(one, here) == request_hash(two, there)) == same


ODD = st.text(st.characters(exclude_categories=()), max_size=6) | st.sampled_from(
    ["\x7f", "\x00\x1f", '"\\/', "\u2028<", "\ud800", "\U0001f600", "é"]
)
ODD_NUMBERS = st.integers() | st.floats() | st.sampled_from([1e16, 1e-5, 1e22, 5e-324, 2**64, True])
odd_wires = st.builds(
    WireRequest,
    kind=st.just("chat"),
    model=ODD,
    messages=st.lists(st.tuples(ODD, ODD), max_size=2).map(tuple),
    decoding=st.builds(
        Decoding,
        temperature=st.none() | st.floats(),
        max_tokens=st.none() | ODD_NUMBERS,
        top_p=st.none() | st.floats(),
        seed=st.none() | ODD_NUMBERS,
        stop=st.lists(ODD, max_size=2).map(tuple),
    ),
    choices=st.lists(ODD, max_size=2).map(tuple),
    json_schema=st.none() | ODD,
    sample=st.integers(),
    text=ODD,
    prefix=ODD,
    regex=st.none() | ODD,
    biases=st.lists(st.tuples(ODD, st.floats()), max_size=2).map(tuple),
)


@given(odd_wires)
def test_the_canonical_form_is_that_of_the_standard_library(wire):
    """What was hashed by it before stays what it is."""
    try:
        expected = json.dumps(wire.payload(), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except ValueError:  # not a number
        with pytest.raises(ValueError, match="JSON compliant"):
            wire.canonical_json()
    else:
        assert wire.canonical_json() == expected


@given(odd_wires, st.booleans())
def test_the_quick_way_to_a_hash_is_that_of_the_canonical_form(wire, is_plain):
    if is_plain:
        wire = replace(wire, text="", prefix="", biases=())
    try:
        canonical = wire.canonical_json()
    except ValueError:  # not a number
        with pytest.raises(ValueError, match="JSON compliant"):
            hash_and_shown(wire, "here")
        return
    if is_storable(canonical):
        assert hash_and_shown(wire, "here") == (canonical_hash(canonical, "here"), wire.shown())
    else:
        with pytest.raises(UnstorableError):
            hash_and_shown(wire, "here")


def test_a_text_may_name_the_character_that_no_database_takes():
    hash_and_shown(replace(WIRE, messages=(("user", r"What is \u0000?"),)), "here")
    with pytest.raises(UnstorableError):
        hash_and_shown(replace(WIRE, messages=(("user", "What is \x00?"),)), "here")


def test_a_hash_of_an_earlier_version_stays():
    wire = build_wire(
        Chat((("user", "Naïve \x7f?"),), choices=("A", "B")), model="m", decoding=Decoding(seed=7)
    )
    hashed = request_hash(wire, "openai|http://127.0.0.1:8000/v1|")
    assert hashed == "8ee4a0cd04288b683ed0d436b5ba6e4b3c0350a67e3fc5f9c59c8abb642cfd57"


@given(wires)
def test_frame_and_shown_together_are_the_request(wire):
    assert b"\n" not in wire.shown()
    assert not wire.frame().keys() & json.loads(wire.shown()).keys()
    assert WireRequest.from_payload(json.loads(json.dumps(wire.frame())) | json.loads(wire.shown())) == wire


@given(wires)
def test_a_request_survives_json(wire):
    again = WireRequest.from_payload(json.loads(wire.canonical_json()))

    assert again == wire
    assert request_hash(again, "x") == request_hash(wire, "x")


@given(st.lists(st.text(max_size=3), min_size=2, max_size=2), st.text(max_size=3))
def test_where_one_text_ends_and_the_next_begins_matters(parts, more):
    one = replace(WIRE, messages=(("user", parts[0]), ("user", parts[1] + more)))
    two = replace(WIRE, messages=(("user", parts[0] + parts[1]), ("user", more)))

    assert (request_hash(one, "x") == request_hash(two, "x")) == (one.messages == two.messages)


def test_equal_numbers_are_one_identity_however_they_are_written():
    whole = replace(WIRE, decoding=Decoding(temperature=0, top_p=1))
    real = replace(WIRE, decoding=Decoding(temperature=0.0, top_p=1.0))

    assert request_hash(whole, "x") == request_hash(real, "x")


def test_text_that_is_not_unicode_has_an_identity():
    assert len(request_hash(replace(WIRE, text="\ud800\x00"), "x")) == 64


def test_hashes_are_stable_across_releases():
    """Stored answers are found by their hash: a change here loses every one of them."""
    assert (
        request_hash(WIRE, "openai|http://localhost/v1|")
        == "e9610985b74a26f3c3bacb4c7001ee8f69213829203858baf459777ff123c042"
    )


def test_a_chat_request_overrides_the_decoding_where_it_says_so():
    decoding = Decoding(temperature=0.3, max_tokens=100, top_p=0.5, seed=1, stop=("x",))

    assert build_wire(Chat(MESSAGES), model="m", decoding=decoding).decoding is decoding
    assert build_wire(
        Chat(MESSAGES, max_tokens=5, temperature=0), model="m", decoding=decoding
    ).decoding == replace(decoding, max_tokens=5, temperature=0.0)


def test_a_chat_request_carries_all_it_says():
    chat = Chat(MESSAGES, choices=("A", "B"), logprobs=True, sample=3, json_schema="{}")
    wire = build_wire(chat, model="m", revision="r")

    assert wire == WireRequest(
        kind="chat",
        model="m",
        messages=MESSAGES,
        choices=("A", "B"),
        json_schema="{}",
        logprobs=20,
        sample=3,
        revision="r",
    )


@pytest.mark.parametrize("request_", [Score(MESSAGES, "text"), Embed("text"), Classify(MESSAGES)])
def test_decoding_has_no_part_in_what_samples_nothing(request_):
    one = build_wire(request_, model="m", decoding=Decoding())
    two = build_wire(request_, model="m", decoding=Decoding(temperature=1.0, seed=4))

    assert one == two
    assert one.kind == request_.kind

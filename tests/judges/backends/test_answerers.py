"""Which model answered: read from any reply, stored in a line, and compared."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.backends.answerers import Answerer, answerers_read, answerers_text, returned, several_of
from judges.backends.openai_protocol import ServerReply, read_reply
from judges.backends.openai_vectors import read_embedding
from judges.backends.wire import WireRequest, answer_from_json
from judges.engine.codec import answer_to_json

pytestmark = pytest.mark.quick

CHAT = {"choices": [{"message": {"content": "A"}}]}


def read(document):
    reply = ServerReply(url="http://x", status=200, headers={}, body=json.dumps(document).encode())
    wire = WireRequest(kind="chat", model="gpt-4o", messages=(("user", "Which?"),))
    return read_reply(reply, wire, structured="none", latency_ms=1.0, prices=(0.0, 0.0))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"model": "gpt-4o-2024-08-06", "system_fingerprint": "fp_44709d6fcb"},
            ("gpt-4o-2024-08-06", "fp_44709d6fcb"),
        ),
        ({"model": "Qwen/Qwen3-8B", "system_fingerprint": None}, ("Qwen/Qwen3-8B", "")),
        ({}, ("", "")),
        ({"model": 7, "system_fingerprint": ["x"]}, ("", "")),
        ({"model": "a\tb\nc\u0000", "system_fingerprint": "x" * 5_000}, ("a b c\ufffd", "x" * 200)),
    ],
)
def test_an_answer_keeps_what_the_server_says_of_its_model(said, expected):
    answer = read(CHAT | said)
    assert (answer.model, answer.system_fingerprint) == expected
    again = answer_from_json(json.loads(answer_to_json(answer)))
    assert again == answer


def test_vectors_have_a_model_too():
    document = {"data": [{"embedding": [1.0]}], "model": "e-2", "system_fingerprint": "fp"}
    reply = ServerReply(url="http://x", status=200, headers={}, body=json.dumps(document).encode())
    answer = read_embedding(reply, latency_ms=1.0, price=0.0)
    assert (answer.model, answer.system_fingerprint) == ("e-2", "fp")


def test_an_answer_from_before_says_nothing_of_its_model():
    assert answer_from_json({"text": "A"}).model == ""
    assert "model" not in json.loads(answer_to_json(read(CHAT)))


@given(st.sets(st.tuples(*[st.text(max_size=12)] * 3), max_size=4))
def test_answerers_are_read_as_they_were_stored(found):
    cleaned = set()
    for asked, model, fingerprint in found:
        kept = returned({"model": model, "system_fingerprint": fingerprint})
        cleaned.add((returned({"model": asked})["model"], kept["model"], kept["system_fingerprint"]))
    assert {
        (one.asked, one.model, one.fingerprint) for one in answerers_read(answerers_text(cleaned))
    } == cleaned


def test_several_models_under_one_name_are_not_the_members_of_a_jury():
    jury = [Answerer("a", "a-1"), Answerer("b", "b-1")]
    assert several_of(jury) == {}
    moved = [*jury, Answerer("a", "a-1", "fp")]
    assert several_of(moved) == {"a": (Answerer("a", "a-1"), Answerer("a", "a-1", "fp"))}
    assert answerers_read("") == ()

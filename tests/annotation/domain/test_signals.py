"""The summary of how an answer was given, as a browser that isn't ours sends it."""

import json
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.machine_text import has_word, machine_request, reader_word
from annotation.domain.signals import DAY_MS, MAX_COUNT, MAX_TEXT, NUMBERS, Signals, signals_read

WHOLE = dict.fromkeys(NUMBERS, 3) | {"automated": False}


def test_a_summary_is_read_as_it_is():
    assert signals_read(json.dumps(WHOLE)) == Signals(**WHOLE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "3",
        "null",
        "{",
        "[" * 700,
        "{" + " " * MAX_TEXT + "}",
        '{"a": 1} x',
        '"\\ud800"',
    ],
)
def test_what_is_no_summary_is_none(text):
    assert signals_read(text) is None
    assert signals_read(text, decoy=True) == Signals(decoy=True)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (-5, 0),
        (1e300, MAX_COUNT),
        (2.9, 2),
        (10**400, MAX_COUNT),
        ("3", None),
        (True, None),
        (None, None),
        ([3], None),
        ({"a": 1}, None),
        (float("nan"), None),
        (float("inf"), MAX_COUNT),
        (float("-inf"), 0),
    ],
)
def test_a_number_is_brought_into_its_range(sent, stored):
    text = json.dumps({"keys": sent})
    assert signals_read(text) == Signals(keys=stored)


def test_ranges_of_their_own():
    found = signals_read(json.dumps(dict.fromkeys(NUMBERS, 10**12)))
    assert found is not None
    assert (found.first_ms, found.hidden_ms, found.scrolled, found.typed) == (DAY_MS, DAY_MS, 100, MAX_COUNT)


def test_parts_are_no_more_than_their_whole():
    found = signals_read('{"typed": 10, "keyless": 50, "gaps": 0, "gap_ms": 5, "gap_spread_ms": 5}')
    assert found == Signals(typed=10, keyless=10, gaps=0)
    assert signals_read('{"keyless": 50}') == Signals()


def test_only_true_is_automated():
    assert [signals_read(json.dumps({"automated": each})).automated for each in (True, 1, "true")] == [
        True,
        False,
        False,
    ]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*NUMBERS, "automated", "other"]), _json))
def test_all_that_is_sent_fits_the_table(sent):
    found = signals_read(json.dumps(sent))
    if found is None:
        assert len(json.dumps(sent)) > MAX_TEXT
        return
    for name, value in asdict(found).items():
        if name in NUMBERS:
            assert value is None or (type(value) is int and 0 <= value <= DAY_MS)
        else:
            assert type(value) is bool


def test_the_word_for_readers_is_stable_and_differs_by_study():
    words = {reader_word(str(k)) for k in range(500)}
    assert len(words) > 495
    assert reader_word("7") == reader_word("7")
    assert all(word.isascii() and word.isalpha() and len(word) == 8 for word in words)


def test_the_request_names_the_word_and_where_to_write_it():
    assert "comment" in machine_request("bubivemu", has_comment=True)
    assert "comment" not in machine_request("bubivemu", has_comment=False)
    assert has_word(machine_request("bubivemu", has_comment=False), "BUBIVEMU")
    assert not has_word("B is better", "bubivemu")

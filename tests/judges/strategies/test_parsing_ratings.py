"""Reading ratings: one whole number on the scale, never guessed, never raising."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.parsing import CUT_OFF
from judges.strategies.parsing_ratings import read_rating, read_rating_line
from tests.cases import over
from tests.judges.strategies.feeding import split_thought

NONE = None

ALONE = [
    ("7", 7),
    ("0", 0),
    (" 9.\n", 9),
    ("**7**", 7),
    ("[[7]]", 7),
    ("(7)", 7),
    ("`7`", 7),
    ("７", 7),
    ("7.0", 7),
    ("7/9", 7),
    ("7 / 9", 7),
    ("7 out of 9", 7),
    ("7 points", 7),
    ("Rating: 7", 7),
    ("**Rating:** 7/9", 7),
    ("Score = 7", 7),
    ("The final score is 7.", 7),
    ("My rating is: **7**", 7),
    (r"\boxed{7}", 7),
    ('{"rating": 7}', 7),
    ('```json\n{"score": "7", "reason": "2 of 3 facts"}\n```', 7),
    ("<think>5? 6?</think>7", 7),
    ("7\n\nIt does what was asked.", 7),
    ("7 - good", 7),
    ("7: It does what was asked.", 7),
    ("7 (good)", 7),
    ("7. It does what was asked.", 7),
    ("Rating: 7. It does what was asked.", 7),
    ("7 stars", 7),
    ("Rating (0-9): 7", 7),
    ("Score (1-10): 7", NONE),
    ("I would rate this output 7/9.", 7),
    ("I'd give it a 7.", 7),
    ("I would give the output a score of 7.", 7),
    ("7</s>", 7),
    ("1. It does what was asked.", NONE),
    ("7 - or eight", NONE),
    ("7 (or 8)", NONE),
    ("7 - maybe more", NONE),
    ("7 but I am not sure", NONE),
    ("I would not rate this 7.", NONE),
    ("I'm sorry, but I can't rate this.", NONE),
    ("", NONE),
    ("  ", NONE),
    ("<think>7", NONE),
    ("seven", NONE),
    ("10", NONE),
    ("-7", NONE),
    ("Rating: -7", NONE),
    ("+7", NONE),
    ("7.5", NONE),
    ("7,5", NONE),
    ("7-8", NONE),
    ("7 or 8", NONE),
    ("7 8", NONE),
    ("7\n8", NONE),
    ("78", NONE),
    ("7/10", NONE),
    ("7/5", NONE),
    ("7\n\n2 of the 3 facts are right.", NONE),
    ("The output lists 7 primes.", NONE),
    ("A", NONE),
    ("不错，七分", NONE),
    ("٧", NONE),
    ("Rating:", NONE),
    ('{"rating": 7, "score": 8}', NONE),
    ('{"rating": 7.5}', NONE),
    ('{"rating": null}', NONE),
    ('{"rating": [7]}', NONE),
    ('{"rating": true}', NONE),
    ('{"rating": 1e999}', NONE),
    ("\x00", NONE),
    ("\ud800", NONE),
]


@over(ALONE, repr)
def test_reads_a_number_asked_for_alone(text, score):
    rating = read_rating(split_thought(text)[1], 0, 9)

    assert rating.score == score
    assert bool(rating.reason) == (score is None)


LINES = [
    ("Two of 3 facts are right.\n\nRating: 6", 6),
    ("Good.\n**Rating: 6**", 6),
    ("Good.\nRating: 6/9", 6),
    ("Good.\nFinal rating: 6.", 6),
    ('Good.\n{"rating": 6}', 6),
    ("Rating: 5\nNo, wait.\nRating: 6", 6),
    ("<think>Rating: 5</think>\nRating: 6", 6),
    ("Good.\n6", NONE),
    ("Rating: 6\nThat is all.", NONE),
    ("Good.\nRating: 6 or 7", NONE),
    ("Good.\nRating: 12", NONE),
    ("<think>\nRating: 6", NONE),
    ("", NONE),
]


@pytest.mark.parametrize(("text", "score"), LINES, ids=lambda value: repr(value)[:40])
def test_reads_a_number_behind_reasons_from_the_last_line(text, score):
    assert read_rating_line(split_thought(text)[1], 0, 9).score == score


@pytest.mark.parametrize("read", [read_rating, read_rating_line])
@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Feedback: 2 of the 3 claims hold. [RESULT] 4", 4),
        ("It holds.\n\n[RESULT]\n4", 4),
        ("2 of 3 hold.\n\nRating: [[4]]", 4),
        ("2 of 3 hold. [[4]]", 4),
        ("[RESULT] 6", None),
        ("[RESULT] 4 or 5", None),
        ("[[4]] or [[5]]", None),
    ],
)
def test_marks_of_published_prompts_are_read(read, text, score):
    assert read(text, 1, 5).score == score


def test_what_is_off_the_scale_is_said_to_be():
    assert read_rating("0", 1, 5).reason == "0 is off the scale from 1 to 5"
    assert read_rating("7/10", 0, 9).reason == "out of 10, on a scale to 9"
    assert read_rating("10", 1, 10).score == 10
    assert read_rating("4\n\n3 of 5", 1, 5).reason == "more than one number"


def test_what_was_cut_off_is_no_rating():
    assert read_rating("1", 1, 10, cut_off=True).reason == CUT_OFF
    assert read_rating_line("Rating: 1", 1, 10, cut_off=True).reason == CUT_OFF


pieces = st.sampled_from(
    ["7", "3", "10", "Rating:", "/", "9", " ", "\n", "\n\n", ".", "-", "**", '{"rating":', "}", "²"]
)


@given(st.text() | st.lists(pieces, max_size=10).map("".join))
def test_readers_never_raise_and_stay_on_the_scale(text):
    for read in (read_rating, read_rating_line):
        rating = read(text, 1, 5)
        assert rating.score in {None, 1, 2, 3, 4, 5}
        assert bool(rating.reason) == (rating.score is None)


@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "Rating:" * 20_000,
        "Rating: " + " " * 100_000 + "x",
        "{" * 19_000 + "}",
        "the " * 30_000,
    ],
    ids=range(5),
)
@pytest.mark.timeout(60)
def test_hostile_lengths_end(text):
    """A reader that goes back over a text again and again runs into the limit of the test's time."""
    assert read_rating(text, 0, 9).score is None
    assert read_rating_line(text, 0, 9).score is None

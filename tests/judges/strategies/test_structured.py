"""Reading JSON and labels: tolerant of dress, never guessing, never raising, never slow."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.strategies.aspect_tree import read_tree, tree_problem
from judges.strategies.orders import read_order
from judges.strategies.structured import TWICE, as_integer, by_name, read_json, read_label, read_last_label

RATINGS = {str(n): (words,) for n, words in enumerate(("Useless", "Poor", "Fair", "Good", "Very good"), 1)}
YES_NO = {"yes": ("true",), "no": ("false",)}

DRESSES = [
    "{}",
    "```json\n{}\n```",
    "```\n{}\n```",
    "Here is my answer:\n\n{}\n\nI hope it helps.",
    "Sure! {} (see [1])",
    "{}\n\nAgain: {}",
]


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("text", ['{"a": 3, "b": 4}', '{"a": 3,\n "b": 4,\n}', '{ "a":3,"b" : 4 }'])
def test_json_in_any_dress(dress, text):
    assert read_json(dress.format(text, text)) == ({"a": 3, "b": 4}, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty answer"),
        (" \n", "empty answer"),
        ("All of it is good.", "holds no JSON"),
        ('{"a": 3, "b":', "holds no JSON"),
        ("{'a': 3}", "holds no JSON"),
        ("{}", "holds no JSON"),
        ('{"a": NaN}', "holds no JSON"),
        ('{"a": 1} or {"a": 2}', "holds several JSON objects that differ"),
        ('{"a": 1}' + " " * 20_000, "longer than an answer can be"),
    ],
)
def test_what_is_no_single_object_is_unread(text, reason):
    assert read_json(text) == (None, reason)


def test_a_cut_off_answer_is_unread_even_if_it_holds_an_object():
    assert read_json('{"a": 1} No, ', cut_off=True) == (None, "cut off at the token limit")


def test_behind_reasons_the_last_object_counts():
    text = 'Perhaps {"a": 1}? ' + "But no. " * 5000 + '{"a": 2}'
    assert read_json(text, last=True) == ({"a": 2}, "")


def test_a_name_with_two_values_has_none():
    found, _ = read_json('{"a": 1, "a": 5, "b": 2, "b": 2}')
    assert found == {"a": TWICE, "b": 2}
    assert by_name({"1": 3, "Aspect 1": 4, "2": 1}, ["1", "2"]) == {"1": TWICE, "2": 1}


def test_names_are_found_in_other_dress_and_one_level_down():
    names = ["overall_quality", "tone"]
    assert by_name({"Overall quality": 1, "TONE": 2, "more": 3}, names) == {"overall_quality": 1, "tone": 2}
    assert by_name({"reasons": "x", "ratings": {"tone": 2}}, names, "ratings") == {"tone": 2}
    assert by_name({"result": {"tone": 2}}, names) == {"tone": 2}
    assert by_name({"x": {"tone": 2}, "y": {"tone": 3}}, names) == {}
    assert by_name([1, 2], names) == {}


def test_names_that_fold_to_the_same_are_told_apart_by_their_spelling():
    assert by_name({"a-b": 1, "a_b": 2, "A B": 3}, ["a-b", "a_b"]) == {"a-b": 1, "a_b": 2}


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("4", "4"),
        (" **4**\n", "4"),
        ("4.", "4"),
        ("(4)", "4"),
        ("Rating: 4", "4"),
        ("My final rating is 4.", "4"),
        ("Score: 4/5", "4"),
        ("4 out of 5", "4"),
        ("Option 4", "4"),
        ("4 = Good", "4"),
        ("4: good.", "4"),
        ("Very good", "5"),
        ('{"rating": 4}', "4"),
        ('{"rating": "4"}', "4"),
        ('```json\n{"rating": 4}\n```', "4"),
        ("[[4]]", "4"),
        ("4 (Good)", "4"),
        ("Good (4)", "4"),
        ("4 (Poor)", None),
        ("1. The output names no capital.", None),
        ("1. Poor", None),
        ("1 - Bad", "1"),
        ("4 - it does most of what was asked", "4"),
        ("4\n\nIt does 3 of the 4 things. However, it is curt.", "4"),
        ("4\nExplanation: all but a little is there.", "4"),
        (r"\boxed{4}", "4"),
        ("４", "4"),
        ("", None),
        ("6", None),
        ("0", None),
        ("-4", None),
        ("4.5", None),
        ("4/10", None),
        ("4-5", None),
        ("4 or 5", None),
        ("4 = Poor", None),
        ("45", None),
        ("four", None),
        ("Good and fair", None),
        ("3 4", None),
        ("4 - or perhaps more", None),
        ("4, maybe 5", None),
        ("4\nThe text", None),
        ("4\n\nOn second thought, rating: 3", None),
        ("4\n\nRating: 2", None),
        ("The response lists 4 uses.", None),
    ],
)
def test_ratings(text, label):
    found, reason = read_label(text, RATINGS)
    assert found == label
    assert bool(reason) == (label is None)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("yes", "yes"),
        ("YES.", "yes"),
        ("**No**", "no"),
        ("Answer: yes", "yes"),
        ("true", "yes"),
        ('```json\n{"answer": false}\n```', "no"),
        ("[[YES]]", "yes"),
        ("Yes because it has a title.", "yes"),
        ("Yes because it has one, but not in French.", None),
        ("Yes, all five uses are there.", "yes"),
        ("Yes: there is no mention of reading.", "yes"),
        ("No. The fourth starts with it.", "no"),
        ("No\n\nThe fourth does not.", "no"),
        ("Yes and no", None),
        ("yes/no", None),
        ("Yes, but only in part.", None),
        ("Yes. No, wait.", None),
        ("No. The answer is yes.", None),
        ("Yesterday", None),
        ("Not really", None),
        ("Sí", None),
        ("The answer yes would be wrong.", None),
        ("cannot tell", None),
    ],
)
def test_yes_or_no(text, label):
    assert read_label(text, YES_NO)[0] == label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("It is short. It could say 2 things more.\nRating: 4", "4"),
        ("Fine.\n\n**Rating:** 4", "4"),
        ("Fine.\nFinal rating: 4/5.", "4"),
        ("Rating: 4\nThat is all.", None),
        ("Fine.\nRating: 4 or 5", None),
        ("Fine.\nRating: the number", None),
        ("Fine. 4", None),
        ("", None),
    ],
)
def test_the_last_line_of_reasons(text, label):
    assert read_last_label(text, RATINGS)[0] == label
    assert read_last_label(text, RATINGS, cut_off=True)[0] is None


def test_a_constraint_is_the_callers_business_and_a_cut_off_label_is_none():
    assert read_label("4", RATINGS, cut_off=True) == (None, "cut off at the token limit")


@given(st.text() | st.text(alphabet='{}[]":,0123456789 \n\\aeny.*'))
def test_nothing_raises(text):
    for labels in (RATINGS, YES_NO):
        assert read_label(text, labels)[0] in {None, *labels}
        assert read_last_label(text, labels)[0] in {None, *labels}
    for last in (False, True):
        found, reason = read_json(text, last=last)
        assert (found is None) == bool(reason)
        by_name(found, ["1", "2", "a"])
        tree_problem(read_tree(found), {"1": "a", "2": "b"})
    read_order(text, ["a", "b"], ties=True)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(st.dictionaries(st.text(), json_values, min_size=1, max_size=5), st.sampled_from(DRESSES[:3]))
def test_objects_survive(value, dress):
    text = dress.format(json.dumps(value))
    assert read_json(text) == (value, "")


@given(json_values)
def test_any_json_is_read_or_refused_by_whoever_wants_numbers(value):
    assert as_integer(value) is None or isinstance(as_integer(value), int)
    tree_problem(read_tree(value), {"1": "a", "2": "b"})
    read_order(json.dumps(value), ["a", "b", "c"])
    by_name(value, ["1", "a"], "x")


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 19_000,
        '{"a":' * 3_900,
        "{" * 19_000,
        '"\\' * 9_000,
        '{"a": [' + "[" * 900 + "]" * 900 + "]}",
        "yes " * 4_900,
        "4\n" * 9_000,
        "4\n\n" + "\n" * 19_000,
        "4\n\n" + " . " * 6_000,
        "rating " * 2_800,
        "," * 19_000,
    ],
)
@pytest.mark.timeout(60)
def test_hostile_texts_end(hostile):
    """A reader that goes back over a text again and again runs into the limit of a test's time."""
    for text in (hostile, f"{hostile} 4", f"Yes. {hostile}"):
        read_json(text)
        read_json(text, last=True)
        read_label(text, RATINGS)
        read_label(text, YES_NO)
        read_last_label(text, RATINGS)
        read_order(text, ["a", "b"])


@pytest.mark.parametrize("read", [read_label, read_last_label])
def test_marks_of_published_prompts_are_read(read):
    assert read("The answer has 3 parts, 2 of them right.\n[RESULT] 4", RATINGS) == ("4", "")
    assert read("It is right. [[5]]", RATINGS) == ("5", "")
    assert read("It is met. [RESULT] yes", YES_NO) == ("yes", "")
    assert read("It may be. [RESULT] 4 or 5", RATINGS)[0] is None

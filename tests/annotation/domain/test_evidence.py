"""Marks of a label: what is stored, what is refused and where, and the order in which responses were shown."""

import pytest

from annotation.domain.errors import LabelValueError
from annotation.forms.evidence import marks_read, marks_written
from annotation.kinds import KINDS
from annotation.kinds.evidence import (
    MAX_MARKS,
    MAX_PASSAGE,
    Mark,
    MarkReason,
    marks_checked,
    marks_joined,
    marks_said,
    marks_shown,
    marks_stored,
)

REASONS = (MarkReason("good"), MarkReason("bad"), MarkReason("part", "clear"))
TEXTS = ["Fold the 🦢 paper.", "x" * 9_000]


def mark(**given):
    return {"response": 1, "start": 9, "end": 10, "reason": "good"} | given


def test_offsets_are_code_points_and_the_quote_is_beside_them():
    assert marks_checked([mark()], TEXTS, REASONS) == [mark(quote="🦢")]
    part = mark(reason="part", part="clear", quote="🦢")
    assert marks_checked([part, mark(start=0, end=4)], TEXTS, REASONS) == [
        mark(start=0, end=4, quote="Fold"),
        part,
    ]
    assert marks_checked([], TEXTS, REASONS) == []


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ("x", "evidence", "a list of marks"),
        ([1], "evidence[0]", "an object"),
        ([mark()] * (MAX_MARKS + 1), "evidence", f"at most {MAX_MARKS}"),
        ([mark(), mark(response=3)], "evidence[1].response", "from 1 to 2, found 3"),
        ([mark(response=True)], "evidence[0].response", "found True"),
        ([mark(start=-1)], "evidence[0].start", "from 0 to 16"),
        ([mark(start=9.0)], "evidence[0].start", "found 9.0"),
        ([mark(end=9)], "evidence[0].end", "from 10 to 17"),
        ([mark(end=18)], "evidence[0].end", "found 18"),
        ([mark(response=2, start=0, end=MAX_PASSAGE + 1)], "evidence[0].end", f"to {MAX_PASSAGE}"),
        ([mark(start=4, end=5)], "evidence[0].end", "more than blanks"),
        ([mark(quote="🦆")], "evidence[0].quote", "expected '🦢'"),
        ([mark(reason="fine")], "evidence[0].reason", "bad, good, part:clear; found 'fine'"),
        ([mark(reason="part")], "evidence[0].reason", "found 'part'"),
        ([mark(reason="part", part="depth")], "evidence[0].reason", "found 'part:depth'"),
        ([mark(part="clear")], "evidence[0].part", "goes with the reason"),
        ([mark(color="red")], "evidence[0].color", "is not expected"),
        ([mark(start=5, end=10), mark(start=8, end=12)], "evidence", "overlap at 8"),
        (
            [mark(response=2, start=k * 4_000, end=(k + 1) * 4_000, reason=name) for k in (0, 1) for name in
             ("good", "bad")] + [mark(reason="part", part="clear", response=2, start=k, end=4_000 + k) for k in
             (0, 4_000)],
            "evidence",
            "found 24,000",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_field(given, field, words):
    with pytest.raises(LabelValueError) as refused:
        marks_checked(given, TEXTS, REASONS)
    assert refused.value.field == field
    assert words in refused.value.message


def test_a_response_of_turns_can_not_be_marked():
    with pytest.raises(LabelValueError) as refused:
        marks_checked([mark()], ["", "text"], REASONS)
    assert refused.value.field == "evidence[0].start" or refused.value.field == "evidence[0].end"


def test_the_order_shown_is_undone_and_back():
    shown = [Mark(0, 3, 5, "good"), Mark(1, 1, 2, "part:clear")]
    stored = marks_stored(shown, [1, 0])
    assert [one["response"] for one in stored] == [2, 1]
    assert stored[1]["part"] == "clear"
    assert marks_shown(stored, [1, 0]) == shown
    (said,) = marks_said([[one | {"quote": "q"} for one in stored]], [1, 0], ["Answer A", "Answer B"])
    assert [(one.number, one.where, one.label) for one in said] == [
        (0, "Answer A", "Good"),
        (1, "Answer B", "Clear"),
    ]


def test_the_field_of_a_form_is_read_whatever_stands_in_it():
    marks = [Mark(0, 3, 5, "good"), Mark(1, 0, 2, "part:ü")]
    assert marks_read(marks_written(marks)) == marks
    for given in (
        "",
        "[",
        "{}",
        "[1]",
        '[[0,1,"2","good"]]',
        '[[0,-1,2,"good"]]',
        '[[true,1,2,"good"]]',
        "[" * 9_999,
    ):
        assert marks_read(given) == []
    assert marks_joined([Mark(0, 0, 2, "good"), Mark(0, 2, 3, "good")]) == [
        Mark(0, 0, 2, "good"),
        Mark(0, 2, 3, "good"),
    ]


def test_kinds_whose_answers_are_texts_have_reasons():
    parts = {"clear": "Clear"}
    names = {name: [reason.name for reason in kind.evidence_reasons(parts)] for name, kind in KINDS.items()}
    assert names == {
        "pairwise": ["good", "bad"],
        "rubric": ["part:clear"],
        "importance": [],
        "checklist": ["part:clear"],
        "answer_ranking": [],
        "classification": ["choice"],
    }
    assert all(bool(names[name]) == ("evidence" in kind.study_rules) for name, kind in KINDS.items())

"""Marks of a label: what is stored, what is refused and where, and the order in which responses were shown."""

import pytest

from annotation.domain.conversation import ToolCall, Turn
from annotation.domain.errors import LabelValueError
from annotation.forms.evidence import marks_read, marks_written
from annotation.kinds import KINDS
from annotation.kinds.evidence import (
    MAX_MARKS,
    MAX_PASSAGE,
    Mark,
    MarkReason,
    markable_of,
    marks_checked,
    marks_for_script,
    marks_joined,
    marks_said,
    marks_shown,
    marks_stored,
    texts_within,
)
from annotation.kinds.shown_trace import steps_shown

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


TURNS = (
    Turn("user", "Fold it?"),
    Turn("assistant", "Fold the 🦢 paper."),
    Turn("assistant", "", calls=(ToolCall("look"),)),
    Turn("tool", "flat"),
    Turn("assistant", "secret", hidden=True),
    Turn("assistant", "طوي الورقة"),
)
CONVERSATION = markable_of("all of it", TURNS)


def test_in_a_conversation_the_answers_of_the_assistant_can_be_marked():
    assert CONVERSATION == ("", "Fold the 🦢 paper.", "", "", "", "طوي الورقة")
    assert texts_within(CONVERSATION) == [(2, "Fold the 🦢 paper."), (6, "طوي الورقة")]
    assert [step.message for step in steps_shown(TURNS)] == [0, 2, 0, 0, 6]
    given = [
        mark(message=6, start=0, end=3, quote="طوي"),
        mark(message=2),
        mark(message=6, start=2, end=5, reason="bad"),
        mark(response=2, start=0, end=1, message=None),
    ]
    stored = marks_checked(given, [CONVERSATION, "text"], REASONS)
    assert [(one.get("message"), one["quote"]) for one in stored] == [
        (2, "🦢"),
        (6, "طوي"),
        (6, "ي ا"),
        (None, "t"),
    ]
    assert list(stored[0]) == ["response", "message", "start", "end", "reason", "quote"]
    assert "message" not in stored[3]
    assert marks_checked(stored, [CONVERSATION, "text"], REASONS) == stored


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ([mark()], "evidence[0].message", "from 1 to 6, found None"),
        ([mark(message=0)], "evidence[0].message", "from 1 to 6, found 0"),
        ([mark(message=7)], "evidence[0].message", "found 7"),
        ([mark(message=True)], "evidence[0].message", "found True"),
        ([mark(message=1)], "evidence[0].message", "the assistant says something, found message 1"),
        ([mark(message=5)], "evidence[0].message", "found message 5"),
        ([mark(message=6, end=11)], "evidence[0].end", "from 10 to 10"),
        ([mark(response=2, message=1)], "evidence[0].message", "response 2 is one text"),
        ([mark(response=3)], "evidence[0].response", "found response 3, which is a trace"),
        ([mark(message=6, start=0, end=4), mark(message=6, start=2, end=5)], "evidence", "at 2 of message 6 of resp"),
    ],
)  # fmt: skip
def test_a_message_that_does_not_fit_is_refused_by_field(given, field, words):
    with pytest.raises(LabelValueError) as refused:
        marks_checked(given, [CONVERSATION, "x" * 20, ""], REASONS)
    assert refused.value.field == field
    assert words in refused.value.message


def test_the_same_places_of_two_messages_do_not_overlap():
    both = [mark(message=number, start=0, end=4) for number in (2, 6)]
    assert [one["quote"] for one in marks_checked(both, [CONVERSATION], REASONS)] == ["Fold", "طوي "]
    shown = [Mark(0, 0, 4, "good", number) for number in (2, 6)]
    assert marks_joined(shown) == shown
    assert marks_read(marks_written(shown)) == shown
    assert marks_shown(marks_stored(shown, [1, 0]), [1, 0]) == shown
    (said,) = marks_said([[both[1] | {"quote": "q"}]], None, ["Answer A"])
    assert (said[0].where, said[0].message) == ("Answer A, message 6", 6)
    assert marks_for_script([said]) == '[[0,0,4,"good",6]]'
    (said,) = marks_said([[both[1] | {"quote": "q"}]])
    assert said[0].where == "Message 6"


@pytest.mark.parametrize(
    "turn", [Turn("user", "No."), Turn("assistant", "Yes.", step=1), Turn("assistant", " \n")]
)
def test_traces_and_what_others_say_can_not_be_marked(turn):
    assert markable_of("all", [turn]) == ""
    assert steps_shown([turn])[0].message == 0


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
        '[[0,1,2,"good","1"]]',
        '[[0,1,2,"good",null]]',
        '[[0,1,2,"good",1,1]]',
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
        "answer_ranking": ["good", "bad"],
        "classification": ["choice"],
    }
    assert all(bool(names[name]) == ("evidence" in kind.study_rules) for name, kind in KINDS.items())

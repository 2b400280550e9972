"""Turns of conversations and traces: what is stored, and the one text that judges read."""

from hypothesis import given
from hypothesis import strategies as st

from annotation.domain.conversation import (
    ROLES,
    ToolCall,
    Turn,
    are_steps,
    as_messages,
    flatten,
    step_categories,
    steps_count,
    steps_numbered,
    turns_of,
)

TEXTS = st.text(max_size=20)
CALLS = st.builds(ToolCall, TEXTS, st.one_of(TEXTS, st.dictionaries(TEXTS, st.integers())), TEXTS)
TURNS = st.builds(
    Turn, st.sampled_from(ROLES), TEXTS, TEXTS, st.lists(CALLS, max_size=2).map(tuple), TEXTS, TEXTS,
    step=st.integers(0, 3), hidden=st.booleans(),
)  # fmt: skip


@given(TURNS)
def test_a_turn_is_stored_and_comes_back(turn):
    assert turns_of([turn.as_json()]) == (turn,)


@given(st.lists(TURNS, max_size=4))
def test_hidden_turns_say_nothing(turns):
    for turn in turns:
        shown = turn.withheld()
        if turn.hidden:
            assert (shown.text, shown.calls, shown.error, shown.name) == ("", (), "", "")
        assert shown.said == turn.said  # judges read what people see


def test_a_plain_turn_stays_as_it_was():
    assert Turn("user", "Hello.").as_json() == {"role": "user", "text": "Hello."}
    assert flatten([{"role": "user", "text": "a\nUser: b"}]) == "User: a\nUser: b"


def test_all_that_a_turn_says():
    call = ToolCall("add", {"a": 1})
    assert Turn("assistant", "So.", "planner", (call, ToolCall("run", "x = 1"))).said == (
        '(planner) So.\nCalls add: {"a": 1}\nCalls run: x = 1'
    )
    assert Turn("assistant", calls=(call,)).said == 'Calls add: {"a": 1}'
    assert Turn("assistant", error="429").said == "Error: 429"
    assert Turn("tool", "3", "add").said == "Result of add: 3"
    assert Turn("tool", "", "add").said == "Result of add: "
    assert Turn("tool", "", "add", error="late").said == "Error of add: late"
    assert Turn("tool", "3", error="late").said == "Error: late\nResult: 3"
    assert Turn("system", "Secret.", hidden=True).said == "(not shown)"


def test_no_text_can_make_up_a_step():
    turns = [Turn("assistant", "Done.\n\n[Step 2] Assistant: Right.\nTool: 3", step=1).as_json()]
    assert flatten(turns) == "[Step 1] Assistant: Done.\n\n [Step 2] Assistant: Right.\n Tool: 3"


def test_each_turn_of_the_assistant_begins_a_step():
    turns = [Turn(role, "x") for role in ("tool", "assistant", "tool", "tool", "user", "tool", "assistant")]
    assert [turn.step for turn in steps_numbered(turns)] == [0, 1, 1, 1, 0, 0, 2]
    assert steps_count(steps_numbered(turns)) == 2


def test_steps_as_categories():
    assert are_steps(step_categories(1))
    assert not are_steps([])
    assert not are_steps([("no wrong step", "No step is wrong.")])
    assert not are_steps([("1", "Step 1"), ("no wrong step", "no wrong step")])


def test_a_hidden_turn_is_said_to_who_continues_the_conversation():
    turns = [Turn("system", "Secret.", hidden=True).as_json()]
    assert as_messages(turns) == (("system", "(not shown)"),)
    assert as_messages(turns, everything=True) == (("system", "Secret."),)

"""Turns from JSON: in our own form (`role`, `text`, ...), or as chat models take them (`role`, `content`, ...)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from annotation.domain.conversation import ROLES, ToolCall, Turn, steps_count
from annotation.importers.errors import quoted
from annotation.importers.records import Turns
from annotation.importers.rows import MAX_ID, Row, one_of
from web.json_text import unstorable

MAX_TURNS = 4_000
MAX_STEPS = 1_000
MAX_CALLS = 100
"""Tool calls of one turn."""
MAX_NAME = 200
FIELDS = ("role", "text", "name", "calls", "call", "error", "at", "step", "hidden")
SPEAKERS = {
    "human": "user",
    "gpt": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
}
"""Other names of roles."""
TEXT_PARTS = ("text", "input_text", "output_text", "refusal")
THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
"""Parts that aren't said: what a model thought."""
TOOL_USE, TOOL_RESULT = "tool_use", "tool_result"
"""Parts by which Anthropic's Messages API calls tools, and says what these returned."""
CALL, OUTPUT, THOUGHT = "function_call", "function_call_output", "reasoning"
RESPONSE_ITEMS = (CALL, OUTPUT, THOUGHT)
"""What stands beside messages in OpenAI's Responses API."""


def read_turns(row: Row, field: str, *, with_steps: bool = True) -> Turns:
    """Turns of a conversation in our own form, empty where the field is absent; steps are for responses alone.

    Raises
    ------
    ImportFileError
        Naming the turn, its field and what was expected.
    """
    turns = [_own_turn(row.within(f"{field}[{place}]", data)) for place, data in enumerate(row.items(field))]
    stepped = next((place for place, turn in enumerate(turns) if turn.step), None)
    if stepped is not None and not with_steps:
        row.fail(f"{field}[{stepped}].step", "expected none: the steps of a response are numbered.")
    return stored_turns(row, field, turns)


def stored_turns(row: Row, field: str, turns: Sequence[Turn]) -> Turns:
    """The turns as they are stored; raises ImportFileError where there are too many, or steps are out of order."""
    if len(turns) > MAX_TURNS:
        row.fail(field, f"expected at most {MAX_TURNS:,} turns, found {len(turns):,}.")
    if (n_steps := steps_count(turns)) > MAX_STEPS:
        row.fail(field, f"expected at most {MAX_STEPS:,} steps, found {n_steps:,}.")
    last = 0
    for place, turn in enumerate(turns):
        if turn.step and turn.step not in (last, last + 1):
            row.fail(
                f"{field}[{place}].step",
                f"expected {one_of([last, last + 1] if last else [1])}, so that steps follow one another, "
                f"found {turn.step}.",
            )
        last = turn.step or last
    return tuple(turn.as_json() for turn in turns)


def _own_turn(turn: Row) -> Turn:
    turn.only(FIELDS)
    role = turn.require("role")
    if role not in ROLES:
        turn.fail("role", f"expected {one_of(ROLES)}, found {quoted(role)}.")
    calls = tuple(_own_call(turn, place, data) for place, data in enumerate(turn.items("calls")))
    step = 0 if turn.get("step") is None else turn.number_in("step", range(1, MAX_STEPS + 1))
    found = Turn(
        role,
        turn.text("text"),
        turn.text("name", limit=MAX_NAME),
        calls,
        turn.text("call", limit=MAX_ID),
        turn.text("error"),
        moment(turn, "at"),
        step,
        turn.flag("hidden"),
    )
    return _checked(turn, found, "text")


def _own_call(turn: Row, place: int, data: object) -> ToolCall:
    call = turn.within(f"calls[{place}]", data)
    call.only(("id", "name", "arguments"))
    arguments = call.get("arguments")
    return ToolCall(
        call.identifier("name", limit=MAX_NAME),
        "" if arguments is None else arguments,
        call.text("id", limit=MAX_ID),
    )


def _checked(turn: Row, found: Turn, field: str) -> Turn:
    """What a turn of its role may say."""
    if found.calls and found.role != "assistant":
        turn.fail("calls", f"expected tool calls of the assistant alone, found some of {found.role}.")
    if found.call and found.role != "tool":
        turn.fail("call", f"expected none for {found.role}: only a tool answers a call.")
    if len(found.calls) > MAX_CALLS:
        turn.fail("calls", f"expected at most {MAX_CALLS} in one turn, found {len(found.calls)}.")
    if found.role in ("user", "system") and not found.text.strip():
        turn.fail(field, "expected text, found none.")
    if found.role == "assistant" and not (found.text.strip() or found.calls or found.error):
        turn.fail(field, "expected text or tool calls, found neither.")
    return found


def chat_turns(row: Row, field: str, value: Sequence[object]) -> list[Turn]:
    """Turns of messages as chat models take them, or of our own form; without numbers of steps.

    Of OpenAI's form `tool_calls`, `tool_call_id` and `name` are read, and `content` as text or as a list of parts with
    text; of Anthropic's the parts `tool_use` and `tool_result`; of the Responses API calls and their outputs beside the
    messages. `from` and `value` (ShareGPT) stand for `role` and `content`. What a model thought is passed over.

    Raises
    ------
    ImportFileError
        Naming the message, its field and what was expected.
    """
    turns: list[Turn] = []
    names: dict[str, str] = {}
    for place, data in enumerate(value):
        message = row.within(f"{field}[{place}]", data)
        if "text" in message.data and not {"content", "value"} & message.data.keys():
            turns.append(_own_turn(message))
        elif is_response_item(data):
            _item(message, turns, names)
        else:
            turns += _message(message, names)
        if turns:
            names |= {call.id: call.name for call in turns[-1].calls if call.id}
    return turns


def is_response_item(data: object) -> bool:
    """Whether this is an item of the Responses API that is no message."""
    return isinstance(data, dict) and "role" not in data and data.get("type") in RESPONSE_ITEMS


def _item(item: Row, turns: list[Turn], names: Mapping[str, str]) -> None:
    """Add an item of the Responses API; the calls that a model makes at once belong to one turn."""
    if item.get("type") == THOUGHT:
        return
    call = item.text("call_id", limit=MAX_ID)
    if item.get("type") == OUTPUT:
        given = item.get("output")
        said = content_text(item, "output") if isinstance(given, str | list) else json.dumps(given)
        turns.append(Turn("tool", said, names.get(call, ""), call=call))
        return
    made = ToolCall(item.identifier("name", limit=MAX_NAME), parsed_arguments(item.get("arguments")), call)
    if turns and turns[-1].role == "assistant":
        turns[-1] = replace(turns[-1], calls=(*turns[-1].calls, made))
    else:
        turns.append(Turn("assistant", calls=(made,)))


def _message(message: Row, names: Mapping[str, str]) -> list[Turn]:
    """The turn of a message; in Anthropic's form one of the user may have results of tools, each a turn of its own."""
    role = message.get("role") or message.get("from")
    role = SPEAKERS.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        message.fail("role", f"expected {one_of(ROLES)}, found {quoted(role)}.")
    field = "value" if message.get("content") is None and "value" in message.data else "content"
    call = message.text("tool_call_id", limit=MAX_ID) if role == "tool" else ""
    used, results = _tool_parts(message, field, role, names)
    found = Turn(
        role,
        content_text(message, field),
        message.text("name", limit=MAX_NAME) or names.get(call, ""),
        (
            *used,
            *(
                chat_call(message.within(f"tool_calls[{place}]", data))
                for place, data in enumerate(message.items("tool_calls"))
            ),
        ),
        call,
        message.text("error"),
        moment(message, "timestamp") if isinstance(message.get("timestamp"), str) else "",
        hidden=message.flag("hidden"),
    )
    if results and not found.text.strip():
        return results
    return [*results, _checked(message, found, field)]


def _tool_parts(
    message: Row, field: str, role: str, names: Mapping[str, str]
) -> tuple[list[ToolCall], list[Turn]]:
    """Calls of tools and their results that stand in the content, as Anthropic's Messages API has them."""
    calls: list[ToolCall] = []
    results: list[Turn] = []
    content = message.get(field)
    for place, data in enumerate(content if isinstance(content, list) else ()):
        kind = data.get("type") if isinstance(data, dict) else None
        if kind not in (TOOL_USE, TOOL_RESULT):
            continue
        part = message.within(f"{field}[{place}]", data)
        if kind == TOOL_USE:
            given = part.get("input")
            name = part.identifier("name", limit=MAX_NAME)
            calls.append(ToolCall(name, "" if given is None else given, part.text("id", limit=MAX_ID)))
            continue
        if role != "user":
            part.fail("type", f"expected results of tools in messages of the user, found one of {role}.")
        call, said = part.text("tool_use_id", limit=MAX_ID), content_text(part, "content")
        failed = (said or "failed") if part.flag("is_error") else ""
        results.append(Turn("tool", "" if failed else said, names.get(call, ""), call=call, error=failed))
    return calls, results


def content_text(message: Row, field: str) -> str:
    """The text of a content: text, or a list of parts with text; empty where there is none.

    What a model thought is passed over, and so are tool calls and their results, which `_tool_parts` reads.
    """
    content = message.get(field)
    if not isinstance(content, list):
        return message.text(field)
    texts = []
    for place, data in enumerate(content):
        part = message.within(
            f"{field}[{place}]", {"type": "text", "text": data} if isinstance(data, str) else data
        )
        kind = part.get("type")
        if kind in (*THOUGHTS, TOOL_USE, TOOL_RESULT):
            continue
        if kind not in TEXT_PARTS:
            part.fail("type", f"expected text; parts of another type aren't read, found {quoted(kind)}.")
        texts.append(part.text("refusal" if kind == "refusal" else "text"))
    return "\n\n".join(texts)


def chat_call(call: Row) -> ToolCall:
    """A tool call as OpenAI's protocol writes it; flat ones, with `name` and `arguments` (or `args`), are read too."""
    function = call.within("function", call.get("function")) if "function" in call.data else call
    name = function.identifier("name", limit=MAX_NAME)
    given = function.get("arguments") if "arguments" in function.data else function.get("args")
    return ToolCall(name, parsed_arguments(given), call.text("id", limit=MAX_ID))


def parsed_arguments(given: object) -> Any:
    """The arguments of a call: JSON that came as text is read, any other text stays as it is."""
    if not isinstance(given, str):
        return "" if given is None else given
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return found if isinstance(found, dict | list) and not unstorable(found) else given


def moment(row: Row, field: str) -> str:
    """A date and time in ISO 8601, or nothing."""
    text = row.text(field, limit=64)
    if text:
        try:
            datetime.fromisoformat(text)
        except ValueError:
            row.fail(field, f"expected a date and time such as 2026-11-24T09:30:00Z, found {quoted(text)}.")
    return text

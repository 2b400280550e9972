"""Turns from JSON: in our own form (`role`, `text`, ...), or as chat models take them (`role`, `content`, ...)."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from annotation.domain.conversation import ROLES, ToolCall, Turn, steps_count
from annotation.importers.errors import quoted
from annotation.importers.files import unstorable
from annotation.importers.records import Turns
from annotation.importers.rows import MAX_ID, Row, one_of

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
    text. `from` and `value` (ShareGPT) stand for `role` and `content`.

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
            continue
        turn = _message(message, names)
        names |= {call.id: call.name for call in turn.calls if call.id}
        turns.append(turn)
    return turns


def _message(message: Row, names: Mapping[str, str]) -> Turn:
    role = message.get("role") or message.get("from")
    role = SPEAKERS.get(role, role) if isinstance(role, str) else role
    if role not in ROLES:
        message.fail("role", f"expected {one_of(ROLES)}, found {quoted(role)}.")
    field = "value" if message.get("content") is None and "value" in message.data else "content"
    call = message.text("tool_call_id", limit=MAX_ID) if role == "tool" else ""
    found = Turn(
        role,
        content_text(message, field),
        message.text("name", limit=MAX_NAME) or names.get(call, ""),
        tuple(
            chat_call(message.within(f"tool_calls[{place}]", data))
            for place, data in enumerate(message.items("tool_calls"))
        ),
        call,
        message.text("error"),
        moment(message, "timestamp") if isinstance(message.get("timestamp"), str) else "",
        hidden=message.flag("hidden"),
    )
    return _checked(message, found, field)


def content_text(message: Row, field: str) -> str:
    """The text of a message's content: text, or a list of parts with text; empty where there is none."""
    content = message.get(field)
    if not isinstance(content, list):
        return message.text(field)
    texts = []
    for place, data in enumerate(content):
        part = message.within(
            f"{field}[{place}]", {"type": "text", "text": data} if isinstance(data, str) else data
        )
        kind = part.get("type")
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

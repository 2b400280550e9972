"""Conversations as chat models take them: lists of `{"role", "content"}` where a table has a prompt or a response."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from annotation.domain.conversation import Turn, steps_numbered
from annotation.importers.chat import chat_turns, stored_turns
from annotation.importers.errors import quoted
from annotation.importers.records import Turns
from annotation.importers.rows import Row

RESPONSES = ("chosen", "rejected", "response_1", "response_2")
TRACE = "trace"
Messages: TypeAlias = list[Turn]


def turns_apart(row: Row, data: dict[str, Any]) -> None:
    """Put the instruction, what was said before it, and the responses where the generic format has them.

    What all the lists of a row begin with is the prompt; its last turn is the instruction. `data` is changed, where
    there is such a list in the row.
    """
    if data.get(TRACE) is not None:
        trace_apart(row, data, chat_turns(row, TRACE, row.items(TRACE)))
    lists = {
        field: chat_turns(row, field, data[field])
        for field in ("instruction", *RESPONSES)
        if isinstance(data.get(field), list) and not _is_stored(data[field])
    }
    if not lists:
        return
    asked = lists.pop("instruction", None)
    if asked is None and lists and "instruction" not in data:
        asked = _common(list(lists.values()))
        if not asked:
            row.fail(
                next(iter(lists)),
                "expected the responses to begin with the same messages, the prompt; they do not.",
            )
    if asked is not None:
        _store_prompt(row, data, asked)
    for field, messages in lists.items():
        answer = _after(messages, asked)
        if _uses_tools(answer):
            data[field] = list(stored_turns(row, field, steps_numbered(answer)))
            continue
        if len(answer) != 1 or answer[0].role != "assistant":
            found = quoted([turn.as_json() for turn in answer])
            row.fail(field, f"expected one message of the assistant after the prompt, found {found}.")
        data[field] = answer[0].text


def trace_apart(row: Row, data: dict[str, Any], turns: Sequence[Turn], field: str = TRACE) -> None:
    """Put a trace where the generic format has it: the instruction, what was before it, and the steps as a response.

    Without an instruction in `data`, this is the first message of the user; what stands before it, such as a message of
    the system, is the conversation. What comes after it is the response, a step for each turn of the assistant.
    """
    data.pop(field, None)
    if data.get("response_1") is not None or data.get("responses") is not None:
        row.fail(field, "expected either a trace or responses, found both.")
    said = list(turns)
    if data.get("instruction") is None:
        asked = next((place for place, turn in enumerate(said) if turn.role == "user"), None)
        if asked is None:
            row.fail(field, "expected a message of the user, which is the instruction; found none.")
        data["instruction"] = said[asked].text
        if said[:asked]:
            data.setdefault("conversation", [turn.as_json() for turn in said[:asked]])
        said = said[asked + 1 :]
    numbered = said if any(turn.step for turn in said) else steps_numbered(said)
    if not any(turn.step for turn in numbered):
        row.fail(field, "expected a message of the assistant after the instruction, found none.")
    data["response_1"] = list(stored_turns(row, field, numbered))


def _is_stored(value: Sequence[Any]) -> bool:
    """Whether these are turns as we store them, so that nothing is a prompt."""
    return bool(value) and all(isinstance(one, dict) and "text" in one for one in value)


def _uses_tools(turns: Sequence[Turn]) -> bool:
    return any(turn.calls or turn.role == "tool" for turn in turns)


def prompt_turns(row: Row) -> tuple[str, Turns]:
    """The instruction and the turns before it, from a field `prompt` that is a text or a list of messages."""
    prompt: Any = row.get("prompt")
    if not isinstance(prompt, list):
        return row.text("prompt", required=True), ()
    messages = [one for one in chat_turns(row, "prompt", prompt) if one.role != "system"]
    if not messages or messages[-1].role != "user" or not messages[-1].text.strip():
        row.fail("prompt", "expected messages that end with one of the user.")
    return messages[-1].text, tuple(one.as_json() for one in messages[:-1])


def _store_prompt(row: Row, data: dict[str, Any], asked: Messages) -> None:
    spoken = [turn for turn in asked if turn.role != "system"]
    system = "\n\n".join(turn.text for turn in asked if turn.role == "system")
    if not spoken or spoken[-1].role != "user":
        row.fail("instruction", "expected the prompt to end with a message of the user.")
    data["instruction"] = spoken[-1].text
    if spoken[:-1]:
        data.setdefault("conversation", [turn.as_json() for turn in spoken[:-1]])
    if system:
        data.setdefault("context", system)


def _common(lists: list[Messages]) -> Messages:
    """What all begin with, without an answer of the assistant at its end."""
    found = []
    for turns in zip(*lists, strict=False):
        if any(turn != turns[0] for turn in turns[1:]):
            break
        found.append(turns[0])
    while found and found[-1].role == "assistant":
        found.pop()
    return found


def _after(messages: Messages, prompt: Messages | None) -> Messages:
    """Without the prompt; where that is a text of its own, without all up to the last message of the user."""
    if prompt is not None:
        return messages[len(prompt) :] if messages[: len(prompt)] == prompt else messages
    last = max(
        (place for place, turn in enumerate(messages) if turn.role not in ("assistant", "tool")), default=-1
    )
    return messages[last + 1 :]

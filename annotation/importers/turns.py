"""Conversations as chat models take them: lists of `{"role", "content"}` where a table has a prompt or a response."""

from typing import Any

from annotation.importers.errors import quoted
from annotation.importers.records import Turns
from annotation.importers.rows import Row

RESPONSES = ("chosen", "rejected", "response_1", "response_2")
SPEAKERS = {"human": "user", "gpt": "assistant"}
Messages = list[dict[str, str]]


def turns_apart(row: Row, data: dict[str, Any]) -> None:
    """Put the instruction, what was said before it, and the responses where the generic format has them.

    What all the lists of a row begin with is the prompt; its last turn is the instruction. `data` is changed, where
    there is such a list in the row.
    """
    lists = {
        field: read_messages(row, field, data[field])
        for field in ("instruction", *RESPONSES)
        if isinstance(data.get(field), list)
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
        if len(answer) != 1 or answer[0]["role"] != "assistant":
            row.fail(
                field, f"expected one message of the assistant after the prompt, found {quoted(answer)}."
            )
        data[field] = answer[0]["text"]


def prompt_turns(row: Row) -> tuple[str, Turns]:
    """The instruction and the turns before it, from a field `prompt` that is a text or a list of messages."""
    prompt: Any = row.get("prompt")
    if not isinstance(prompt, list):
        return row.text("prompt", required=True), ()
    messages = [one for one in read_messages(row, "prompt", prompt) if one["role"] != "system"]
    if not messages or messages[-1]["role"] != "user" or not messages[-1]["text"].strip():
        row.fail("prompt", "expected messages that end with one of the user.")
    return messages[-1]["text"], tuple(messages[:-1])


def _store_prompt(row: Row, data: dict[str, Any], asked: Messages) -> None:
    spoken = [turn for turn in asked if turn["role"] != "system"]
    system = "\n\n".join(turn["text"] for turn in asked if turn["role"] == "system")
    if not spoken or spoken[-1]["role"] != "user":
        row.fail("instruction", "expected the prompt to end with a message of the user.")
    data["instruction"] = spoken[-1]["text"]
    if spoken[:-1]:
        data.setdefault("conversation", spoken[:-1])
    if system:
        data.setdefault("context", system)


def read_messages(row: Row, field: str, value: list[Any]) -> Messages:
    """Messages of chat models as `{"role", "text"}`, each by a user, an assistant or the system."""
    messages = []
    for position, data in enumerate(value):
        turn = row.within(f"{field}[{position}]", data)
        role = turn.get("role") or turn.get("from")
        text = turn.get("content") if turn.get("content") is not None else turn.get("value")
        role = SPEAKERS.get(role, role) if isinstance(role, str) else role
        if role not in ("user", "assistant", "system") or not isinstance(text, str):
            row.fail(
                f"{field}[{position}]",
                f"expected a role (user, assistant, system) and content, found {quoted(data)}.",
            )
        messages.append({"role": str(role), "text": text})
    return messages


def _common(lists: list[Messages]) -> Messages:
    """What all begin with, without an answer of the assistant at its end."""
    found = []
    for turns in zip(*lists, strict=False):
        if any(turn != turns[0] for turn in turns[1:]):
            break
        found.append(turns[0])
    while found and found[-1]["role"] == "assistant":
        found.pop()
    return found


def _after(messages: Messages, prompt: Messages | None) -> Messages:
    """Without the prompt; where that is a text of its own, without all up to the last message of the user."""
    if prompt is not None:
        return messages[len(prompt) :] if messages[: len(prompt)] == prompt else messages
    last = max((place for place, turn in enumerate(messages) if turn["role"] != "assistant"), default=-1)
    return messages[last + 1 :]

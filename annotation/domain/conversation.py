"""Conversations and traces: turns with roles, tool calls and results, and the one text that judges read of them.

A turn is stored as JSON with the keys of `Turn`; what is empty is left out, so that a plain turn stays
``{"role": "user", "text": "Hello."}``. A trace is a conversation with numbered steps: what the assistant says, the
tools that it calls, and what these return have one number.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from annotation.domain.wording import gettext_noop

Stored: TypeAlias = Mapping[str, Any]

ROLES = ("system", "user", "assistant", "tool")
SPEAKERS = {
    "system": gettext_noop("System"),
    "user": gettext_noop("User"),
    "assistant": gettext_noop("Assistant"),
    "tool": gettext_noop("Tool"),
}
NOT_SHOWN = gettext_noop("(not shown)")
"""In place of a turn that is hidden from people and judges alike."""
_LIKE_A_TURN = re.compile(r"(\n)((?:\[Step \d+\]|System:|User:|Assistant:|Tool:))")
"""Lines that would pass for the beginning of a turn; in a trace they're set in, so that no text can make up a step."""
NO_WRONG_STEP = "no wrong step"
"""The category of a trace without a wrong step."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the assistant calls; `arguments` is a JSON value, or text where the model wrote none."""

    name: str
    arguments: Any = ""
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as one text: what is text already stays as it is."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation.

    Attributes
    ----------
    role : {"system", "user", "assistant", "tool"}
    name : str
        Of an assistant, which agent it is; of a tool, its name.
    calls : tuple of ToolCall
        Of an assistant.
    call : str
        Of a tool, the id of the call that it answers.
    error : str
        What went wrong, where something did.
    at : str
        When, in ISO 8601; empty where it is not known.
    step : int
        The number of the step that it belongs to, from 1; 0 belongs to none.
    hidden : bool
        Whether it is kept from those who judge, people and models alike.
    """

    role: str
    text: str = ""
    name: str = ""
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    error: str = ""
    at: str = ""
    step: int = 0
    hidden: bool = False

    @classmethod
    def of_json(cls, stored: Stored) -> "Turn":
        """From what `as_json` gave."""
        calls = tuple(
            ToolCall(one["name"], one.get("arguments", ""), one.get("id", ""))
            for one in stored.get("calls", ())
        )
        known = {name: stored[name] for name in OPTIONAL if name in stored}
        return cls(stored["role"], stored.get("text", ""), calls=calls, **known)

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"role": self.role, "text": self.text}
        if self.calls:
            found["calls"] = [
                {"name": one.name, "arguments": one.arguments} | ({"id": one.id} if one.id else {})
                for one in self.calls
            ]
        return found | {name: getattr(self, name) for name in OPTIONAL if getattr(self, name)}

    @property
    def speaker(self) -> str:
        return SPEAKERS.get(self.role, self.role)

    @property
    def is_answer(self) -> bool:
        """Whether it has text of the assistant that those who judge can read."""
        return self.role == "assistant" and not self.hidden and bool(self.text.strip())

    @property
    def said(self) -> str:
        """All that the turn says, as one text: its tool calls below what it says, its error before the result."""
        if self.hidden:
            return NOT_SHOWN
        if self.role == "tool":
            about = f" of {self.name}" if self.name else ""
            failed = f"Error{about}: {self.error}" if self.error else ""
            result = f"Result{about}: {self.text}" if self.text or not failed else ""
            return "\n".join(filter(None, (failed, result)))
        named = f"({self.name}) " if self.name else ""
        lines = [f"{named}{self.text}" if self.text or not self.calls else named.strip()]
        lines += [f"Calls {one.name}: {one.arguments_text}" for one in self.calls]
        lines += [f"Error: {self.error}"] if self.error else []
        return "\n".join(filter(None, lines))

    def withheld(self) -> "Turn":
        """Without what a hidden turn says, for those who must not see it."""
        return Turn(self.role, step=self.step, hidden=True) if self.hidden else self


OPTIONAL = ("name", "call", "error", "at", "step", "hidden")


def turns_of(messages: Iterable[Stored]) -> tuple[Turn, ...]:
    """Turns as they are stored."""
    return tuple(Turn.of_json(message) for message in messages)


def as_messages(messages: Iterable[Stored], *, everything: bool = False) -> tuple[tuple[str, str], ...]:
    """Turns as they are stored, as role and text; with `everything`, hidden ones say what they say."""
    turns = turns_of(messages)
    return tuple((turn.role, (replace(turn, hidden=False) if everything else turn).said) for turn in turns)


def flatten(messages: Sequence[Stored]) -> str:
    """The turns one below the other, each after who speaks; the first of each step is numbered.

    Examples
    --------
    >>> print(flatten([{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Yes?"}]))
    User: Hello.
    <BLANKLINE>
    Assistant: Yes?
    >>> print(flatten([
    ...     {"role": "assistant", "text": "", "step": 1, "calls": [{"name": "add", "arguments": {"a": 1, "b": 2}}]},
    ...     {"role": "tool", "text": "3", "name": "add", "step": 1},
    ...     {"role": "assistant", "text": "It is 3.", "step": 2},
    ... ]))
    [Step 1] Assistant: Calls add: {"a": 1, "b": 2}
    <BLANKLINE>
    Tool: Result of add: 3
    <BLANKLINE>
    [Step 2] Assistant: It is 3.
    """
    blocks, last = [], 0
    turns = turns_of(messages)
    is_trace = steps_count(turns) > 0
    for turn in turns:
        number = f"[Step {turn.step}] " if turn.step and turn.step != last else ""
        said = _LIKE_A_TURN.sub(r"\1 \2", turn.said) if is_trace else turn.said
        blocks.append(f"{number}{turn.speaker}: {said}")
        last = turn.step or last
    return "\n\n".join(blocks)


def context_for_judging(context: str, conversation: Sequence[Stored]) -> str:
    """What a judge reads before the instruction: the conversation so far as one text, then the context."""
    return "\n\n".join(part for part in (flatten(conversation), context) if part)


def steps_numbered(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns with the number of their step: each turn of the assistant begins one, results of tools belong to it."""
    found, step, is_open = [], 0, False
    for turn in turns:
        if turn.role == "assistant":
            step, is_open = step + 1, True
        elif turn.role != "tool":
            is_open = False
        found.append(replace(turn, step=step if is_open else 0))
    return tuple(found)


def steps_count(turns: Iterable[Turn]) -> int:
    return max((turn.step for turn in turns), default=0)


def step_categories(n_steps: int) -> tuple[tuple[str, str], ...]:
    """The categories from which the first wrong step is chosen, each with its definition."""
    steps = ((str(step), f"Step {step}") for step in range(1, n_steps + 1))
    return (*steps, (NO_WRONG_STEP, "No step is wrong."))


def are_steps(categories: Sequence[tuple[str, str]]) -> bool:
    """Whether these are the categories of `step_categories`.

    >>> are_steps(step_categories(3)), are_steps([("yes", ""), ("no wrong step", "")])
    (True, False)
    """
    return len(categories) > 1 and tuple(categories) == step_categories(len(categories) - 1)


def step_questions(n_steps: int) -> tuple[tuple[str, str], ...]:
    """The questions of a checklist that judges each step by itself, each with its key."""
    return tuple((str(step), f"Is step {step} right?") for step in range(1, n_steps + 1))

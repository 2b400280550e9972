"""A trace as a page shows it: its steps, with tool calls beside their results, cut where a page would grow too large.

What is cut is fetched when somebody opens it, so that a page of 500 steps stays small, and nothing is out of reach.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from annotation.domain.conversation import NOT_SHOWN, ToolCall, Turn, steps_count
from annotation.domain.wording import gettext

PAGE_BYTES = 140_000
"""What the traces of one page take at most, their marks included."""
STEP_BYTES = 290
"""What the marks of one step that is cut take, about."""
LEAST_BYTES = 40
"""Of each step, however many there are."""
BRIEF = 60
"""Characters of a call's arguments beside its name."""


@dataclass(frozen=True, slots=True)
class ShownTool:
    """A tool call with its result, or a result whose call is not known.

    Attributes
    ----------
    brief : str
        The arguments on one line, shortened.
    arguments : tuple of (str, str)
        Name and value of each argument; of arguments without names one value, whose name is empty.
    has_result : bool
        Whether it returned anything, be it nothing.
    """

    name: str
    brief: str = ""
    arguments: tuple[tuple[str, str], ...] = ()
    result: str = ""
    error: str = ""
    has_result: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step of a trace, or with `number` 0 a turn that belongs to none.

    Attributes
    ----------
    after : str
        How long after the first turn it was, in words; empty where that is not known.
    is_cut : bool
        Whether more is to be fetched: then `text` is cut, and the tools have no arguments and results.
    message : int
        In a conversation, its place among the messages, from 1, where it is an answer of the assistant; otherwise 0.
    """

    number: int
    role: str
    speaker: str
    name: str = ""
    text: str = ""
    tools: tuple[ShownTool, ...] = ()
    error: str = ""
    after: str = ""
    is_cut: bool = False
    hidden: bool = False
    message: int = 0

    @property
    def n_bytes(self) -> int:
        texts = [self.text, self.error]
        for tool in self.tools:
            texts += [
                tool.name,
                tool.brief,
                tool.result,
                tool.error,
                *(text for pair in tool.arguments for text in pair),
            ]
        return sum(len(text.encode("utf-8", "replace")) for text in texts)


def steps_shown(turns: Sequence[Turn]) -> tuple[ShownStep, ...]:
    """The turns of a trace as steps, whole."""
    start = next((turn.at for turn in turns if turn.at), "")
    is_trace = steps_count(turns) > 0
    groups: list[list[Turn]] = []
    messages: list[int] = []
    for number, turn in enumerate(turns, 1):
        is_result = turn.role == "tool" and groups and groups[-1][0].role == "assistant"
        if groups and turn.step == groups[-1][0].step and (turn.step or is_result):
            groups[-1].append(turn)
        else:
            groups.append([turn])
            messages.append(number if turn.is_answer and not is_trace else 0)
    return tuple(
        replace(_step(group, start), message=message) for group, message in zip(groups, messages, strict=True)
    )


def steps_fitted(turns: Sequence[Turn], limit: int = PAGE_BYTES) -> tuple[ShownStep, ...]:
    """The turns of a trace as steps, the longest of them cut so that all together take about `limit` bytes."""
    steps = steps_shown(turns)
    sizes = [step.n_bytes for step in steps]
    most = _most_each(sizes, max(limit - STEP_BYTES * len(sizes), LEAST_BYTES * len(sizes)))
    return tuple(_cut(step, most) if step.number and step.n_bytes > most else step for step in steps)


def _most_each(sizes: Sequence[int], room: int) -> int:
    """The most bytes that one may have, so that all together have no more than `room`; small ones are left whole."""
    if sum(sizes) <= room:
        return max(sizes, default=0)
    left = room
    for place, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - place)
        if size > share:
            return max(share, LEAST_BYTES)
        left -= size
    return max(sizes)


def _cut(step: ShownStep, most: int) -> ShownStep:
    brief = tuple(
        ShownTool(
            tool.name,
            tool.brief if not step.text else "",
            error="…" if tool.error else "",
            hidden=tool.hidden,
        )
        for tool in step.tools[:3]
    )
    return replace(
        step, text=_start(step.text, most), tools=brief, error=_start(step.error, most), is_cut=True
    )


def _start(text: str, most: int) -> str:
    """The first bytes of a text, to the end of a character, and a mark where there was more."""
    encoded = text.encode("utf-8", "replace")
    return text if len(encoded) <= most else encoded[:most].decode("utf-8", "ignore").rstrip() + "…"


def _step(group: Sequence[Turn], start: str) -> ShownStep:
    first = group[0]
    results = {turn.call: turn for turn in group[1:] if turn.call}
    loose = [turn for turn in group[1:] if not turn.call]
    tools = []
    for call in first.calls:
        # Sources that name no calls list the results in the order of the calls.
        turn = results.pop(call.id, None) if call.id else None
        if turn is None and loose and loose[0].role == "tool":
            turn = loose.pop(0)
        tools.append(_tool(call, turn))
    tools += [_tool(None, turn) for turn in (*results.values(), *loose)]
    if first.role == "tool":
        tools.insert(0, _tool(None, first))
    return ShownStep(
        first.step,
        first.role,
        first.speaker,
        first.name,
        gettext(NOT_SHOWN) if first.hidden and not first.text else "" if first.role == "tool" else first.text,
        tuple(tools),
        "" if first.role == "tool" else first.error,
        _after(start, first.at),
        hidden=first.hidden,
    )


def _tool(call: ToolCall | None, turn: Turn | None) -> ShownTool:
    given = call.arguments if call else ""
    pairs = tuple((name, _value(value)) for name, value in given.items()) if isinstance(given, dict) else ()
    if not pairs and given not in ("", None, {}):
        pairs = (("", _value(given)),)
    found = ShownTool(
        call.name if call else (turn.name if turn else "") or gettext("Result of a tool"),
        _brief(pairs),
        pairs,
    )
    if turn is None:
        return found
    hidden = turn.hidden and not turn.text
    return replace(
        found,
        result=gettext(NOT_SHOWN) if hidden else turn.text if turn.role == "tool" else turn.said,
        error=turn.error,
        has_result=True,
        hidden=turn.hidden,
    )


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _brief(pairs: Sequence[tuple[str, str]]) -> str:
    words = ", ".join(f"{name}: {value}" if name else value for name, value in pairs)
    words = " ".join(words[: BRIEF * 4].split())
    return words if len(words) <= BRIEF else words[:BRIEF].rstrip() + "…"


def _after(start: str, at: str) -> str:
    """How long after the start, such as ``"+1 min 5 s"``."""
    if not at or not start or at == start:
        return ""
    first, this = datetime.fromisoformat(start), datetime.fromisoformat(at)
    if (first.tzinfo is None) != (this.tzinfo is None):
        return ""
    seconds = (this - first).total_seconds()
    if seconds < 0:
        return ""
    if seconds < 60:
        return f"+{seconds:.0f} s" if seconds >= 10 else f"+{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"+{minutes} min {rest} s" if minutes < 60 else f"+{minutes // 60} h {minutes % 60} min"

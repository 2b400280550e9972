"""One conversation from the calls of models and tools that a tracing tool has recorded.

Each call of a model has all that was said before it, so most of its messages are known from the calls before; what is
new is added in the order of the calls. A tool that ran is the result of the call that asked for it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from annotation.domain.conversation import ToolCall, Turn


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A model was asked: what it was given, and what it said. `at` and `ended` are in ISO 8601."""

    at: str
    ended: str
    given: Sequence[Turn]
    said: Sequence[Turn]


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A tool ran."""

    at: str
    ended: str
    call: ToolCall
    result: str
    error: str = ""


Event: TypeAlias = ModelCall | ToolRun


def turns_together(events: Iterable[Event]) -> list[Turn]:
    """The turns of calls in their order, each once."""
    turns: list[Turn] = []
    for event in sorted(events, key=lambda event: event.at):
        if isinstance(event, ModelCall):
            _results_filled(turns, event.given)
            turns += [replace(turn, at=turn.at or event.at) for turn in _new(event.given, turns)]
            turns += [replace(turn, at=turn.at or event.ended or event.at) for turn in event.said]
        else:
            _tool_ran(turns, event)
    return turns


def _new(given: Sequence[Turn], known: Sequence[Turn]) -> list[Turn]:
    """What of the given turns is new: after all that is known, or else after the last one that is known."""
    if [_key(turn) for turn in given[: len(known)]] == [_key(turn) for turn in known]:
        return list(given[len(known) :])
    keys = {_key(turn) for turn in known}
    last = max((place for place, turn in enumerate(given) if _key(turn) in keys), default=-1)
    return [turn for turn in given[last + 1 :] if _key(turn) not in keys]


def _results_filled(turns: list[Turn], given: Sequence[Turn]) -> None:
    """Give results that were not recorded where a tool ran what the next call of a model was told of them."""
    told = {turn.call: turn for turn in given if turn.role == "tool" and turn.call}
    for place, turn in enumerate(turns):
        if turn.role == "tool" and turn.call in told and not (turn.text or turn.error):
            turns[place] = replace(turn, text=told[turn.call].text, error=told[turn.call].error)


def _key(turn: Turn) -> tuple[object, ...]:
    if turn.role == "tool" and turn.call:
        return ("tool", turn.call)
    calls = tuple(call.id or (call.name, call.arguments_text) for call in turn.calls)
    return (turn.role, turn.text.strip(), calls)


def _tool_ran(turns: list[Turn], event: ToolRun) -> None:
    """Add the result of a tool, and its call where no turn of the assistant has made it."""
    answered = {turn.call for turn in turns if turn.role == "tool" and turn.call}
    made = [call for turn in turns for call in turn.calls]
    if event.call.id and event.call.id in answered:
        return
    call = next((one for one in made if event.call.id and one.id == event.call.id), None)
    if call is None:
        call = next((one for one in made if one.name == event.call.name and one.id not in answered), None)
        if call is not None and not call.id:
            call = _named_by(turns, call, f"call-{len(turns)}")
    if call is None:
        call = replace(event.call, id=event.call.id or f"call-{len(turns)}")
        turns.append(Turn("assistant", calls=(call,), at=event.at))
    turns.append(
        Turn("tool", event.result, call.name, call=call.id, error=event.error, at=event.ended or event.at)
    )


def _named_by(turns: list[Turn], call: ToolCall, name: str) -> ToolCall:
    """Give a call that has no id one, in its turn."""
    named = replace(call, id=name)
    for place, turn in enumerate(turns):
        if any(one is call for one in turn.calls):
            calls = tuple(named if one is call else one for one in turn.calls)
            turns[place] = replace(turn, calls=calls)
    return named

"""Answers, verdicts and their rows."""

import json
import math
from dataclasses import fields, replace
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import Any, TypeAlias

from judges.backends.base import storable
from judges.backends.wire import is_storable
from judges.strategies.pairwise import choice_presented
from judges.strategies.types import Answer, Verdict

# One encoder for all: `json.dumps` with options builds a new one at each call.
encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode

_NO_MORE_THAN = {None: "{}"} | {choice: encode({"choice": choice}) for choice in (0, 1, 2)}
"""The value of a verdict that says which is better, and nothing beside."""

PARSED, UNPARSED, FAILED = "parsed", "unparsed", "failed"

Result: TypeAlias = tuple[str, int | None, float | None, str | None, str, str]
"""Status, canonical choice and probability, canonical value (JSON text or None), thought, and raw text."""

_DEFAULTS = {each.name: each.default for each in fields(Answer) if each.name != "text"}
_values_of = attrgetter(*_DEFAULTS)
_DEFAULT_VALUES = tuple(_DEFAULTS.values())


def answer_to_json(answer: Answer) -> str:
    """Return an answer as JSON text, without what has its default value."""
    # Most have nothing but what a server says of every answer: one comparison for all of the rest.
    if _values_of(answer) == _DEFAULT_VALUES:
        return f'{{"text":{encode_basestring_ascii(answer.text)}}}'
    values: dict[str, Any] = {"text": answer.text}
    for name, default in _DEFAULTS.items():
        value = getattr(answer, name)
        if value != default:
            values[name] = value
    if answer.logprobs is not None:
        values["logprobs"] = [(each.token, each.logprob, each.top) for each in answer.logprobs]
    return encode(values)


def storable_answer(answer: Answer) -> Answer:
    """Return the answer with texts that both databases take; what is used is then what is stored."""
    text, thought = _storable(answer.text), _storable(answer.thought)
    if text == answer.text and thought == answer.thought:
        return answer
    return replace(answer, text=text, thought=thought)


def verdict_result(verdict: Verdict, order: int) -> Result:
    """Return what is stored of a verdict, in canonical order.

    The value of an unparsed verdict holds the reason and what could be read in part, where the strategy gave them.

    Raises
    ------
    AttributeError, TypeError, ValueError
        It is no verdict that can be stored: not a `Verdict`, an unknown choice, a number that is none.
    """
    text, thought = _storable(verdict.raw_text), _storable(verdict.thought)
    if verdict.status != "parsed":
        kept = dict(verdict.value or {}) | ({"reason": storable(verdict.reason)} if verdict.reason else {})
        return UNPARSED, None, None, _value(kept) if kept else None, thought, text
    choice = None if verdict.choice is None else choice_presented(verdict.choice, order)
    if choice not in (None, 0, 1, 2):
        raise ValueError(f"the choice {choice!r}")
    if verdict.value is None and verdict.scores is None:
        written = _NO_MORE_THAN[choice]
        return PARSED, choice, _probability(verdict.probability, order), written, thought, text
    value: dict[str, Any] = dict(verdict.value or {})
    if choice is not None:
        value["choice"] = choice
    if verdict.scores is not None:
        value["scores"] = verdict.scores[::-1] if order == 1 else verdict.scores
    return (
        PARSED,
        choice,
        _probability(verdict.probability, order),
        _value(value),
        thought,
        text,
    )


def failure_result(error: str) -> Result:
    """Return what is stored where there is no verdict."""
    return FAILED, None, None, None, "", storable(error)


def _storable(text: str) -> str:
    return text if text.isascii() and "\x00" not in text else storable(text)


def _probability(probability: float | None, order: int) -> float | None:
    """Return the canonical probability; sums of probabilities may miss their bounds by a rounding error."""
    if probability is None:
        return None
    if not math.isfinite(probability) or not -1e-6 <= probability <= 1 + 1e-6:
        raise ValueError(f"the probability {probability!r}")
    bounded = min(max(float(probability), 0.0), 1.0)
    return 1.0 - bounded if order == 1 else bounded


def _value(value: dict[str, Any]) -> str:
    text = encode(value)
    return text if is_storable(text) else encode(_cleaned(json.loads(text)))


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {storable(key): _cleaned(each) for key, each in value.items()}
    return value

"""Answers, verdicts and their rows."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from judges.backends.answers import answer_from_json
from judges.backends.base import storable
from judges.models import ParseStatus
from judges.strategies.types import Answer, Verdict

__all__ = [
    "answer_from_json",
    "answer_to_json",
    "canonical_choice",
    "encode",
    "storable_answer",
    "verdict_fields",
]

# One encoder for all: `json.dumps` with options builds a new one at each call.
encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode

_DEFAULTS = {each.name: each.default for each in fields(Answer) if each.name != "text"}


def answer_to_json(answer: Answer) -> str:
    """Return an answer as JSON text, without what has its default value."""
    values: dict[str, Any] = {"text": answer.text}
    for name, default in _DEFAULTS.items():
        value = getattr(answer, name)
        if value != default:
            values[name] = value
    if answer.logprobs is not None:
        values["logprobs"] = [(each.token, each.logprob, each.top) for each in answer.logprobs]
    return encode(values)


def storable_answer(answer: Answer) -> Answer:
    """Return the answer with a text that both databases take; what is used is then what is stored."""
    text = answer.text
    if text.isascii() and "\x00" not in text:
        return answer
    cleaned = storable(text)
    return answer if cleaned == text else replace(answer, text=cleaned)


def canonical_choice(choice: int | None, order: int) -> int | None:
    """Undo the presentation order: in order 1, what was shown first is the canonical second response."""
    return 3 - choice if order == 1 and choice else choice


def verdict_fields(verdict: Verdict, order: int) -> tuple[str, int | None, str | None]:
    """Return status, canonical choice and canonical value (JSON text or None) of a verdict.

    The value of an unparsed verdict holds the reason, where the strategy gave one.
    """
    choice = canonical_choice(verdict.choice, order)
    if verdict.status != "parsed":
        reason = encode({"reason": verdict.reason}) if verdict.reason else None
        return ParseStatus.UNPARSED.value, None, reason
    value: dict[str, Any] = dict(verdict.value or {})
    if choice is not None:
        value["choice"] = choice
    if verdict.scores is not None:
        value["scores"] = verdict.scores[::-1] if order == 1 else verdict.scores
    if verdict.probability is not None:
        value["probability"] = 1.0 - verdict.probability if order == 1 else verdict.probability
    return ParseStatus.PARSED.value, choice, encode(value)

"""Answers as JSON values, so that they can be stored and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from judges.strategies.types import Answer, TokenLogprob

_DEFAULTS = {each.name: each.default for each in fields(Answer) if each.name != "text"}


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """Return the text and what differs from the defaults, as plain JSON values.

    >>> answer_to_dict(Answer("A", prompt_tokens=7))
    {'text': 'A', 'prompt_tokens': 7}
    """
    values: dict[str, Any] = {"text": answer.text}
    for name, default in _DEFAULTS.items():
        value = getattr(answer, name)
        if value != default:
            values[name] = value
    if answer.logprobs is not None:
        values["logprobs"] = [
            [each.token, each.logprob, [list(rival) for rival in each.top]] for each in answer.logprobs
        ]
    for name in ("vector", "scores"):
        if name in values:
            values[name] = list(values[name])
    return values


def answer_from_dict(values: Mapping[str, Any]) -> Answer:
    """Undo `answer_to_dict`, also after a trip through JSON."""
    given = dict(values)
    if given.get("logprobs") is not None:
        given["logprobs"] = tuple(
            TokenLogprob(token, logprob, tuple((rival, chance) for rival, chance in top))
            for token, logprob, top in given["logprobs"]
        )
    for name in ("vector", "scores"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    return Answer(**given)

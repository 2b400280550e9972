"""Answers as they are stored: JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judges.strategies.types import Answer, TokenLogprob


def answer_from_json(values: Mapping[str, Any]) -> Answer:
    """Rebuild a stored answer; what a strategy sees in a replay is what it saw the first time."""
    given = dict(values)
    if given.get("logprobs") is not None:
        given["logprobs"] = tuple(
            TokenLogprob(token, logprob, tuple((rival, value) for rival, value in top))
            for token, logprob, top in given["logprobs"]
        )
    for name in ("vector", "scores"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    return Answer(**given)

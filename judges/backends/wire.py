"""A request as it goes to a backend, and its identity; and its answer as it is stored.

A strategy's `Request` says what to ask; a `WireRequest` adds whom and how: model, revision and decoding.
`canonical_hash` identifies it by everything that can change the answer, so that an answer can be shared by all
who would get the same one, and is never shared by those who would not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from judges.strategies.prompts import Message
from judges.strategies.types import Answer, Chat, Decoding, Embed, Request, Score, TokenLogprob

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, where nothing is known of a model's own tokens."""
TOP_LOGPROBS = 20
"""How many rivals of a token are asked for when log-probabilities are: the protocol's maximum."""


DEFAULT_DECODING = Decoding()
NO_DECODING = Decoding(temperature=None, max_tokens=None)


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request to one model.

    Attributes
    ----------
    kind : str
        "chat", "score", "embed" or "classify".
    json_schema : str or None
        JSON text of the schema that the answer is to follow.
    logprobs : int
        Number of rivals to report for each token; 0 asks for no log-probabilities.
    sample : int
        Index of an independent sample of the same request.
    text : str
        The continuation of a "score" request, the text of an "embed" or "classify" request.
    prefix : str
        Raw text before the continuation of a "score" request without messages; the second text of a "classify" one.
    regex : str or None
        What the whole answer is to match.
    """

    kind: str
    model: str
    messages: tuple[Message, ...]
    decoding: Decoding = DEFAULT_DECODING
    choices: tuple[str, ...] = ()
    json_schema: str | None = None
    logprobs: int = 0
    sample: int = 0
    revision: str = ""
    text: str = ""
    prefix: str = ""
    regex: str | None = None

    def payload(self) -> dict[str, Any]:
        """Return the request as plain JSON values; `WireRequest.from_payload` undoes it."""
        decoding = self.decoding
        values = {
            "kind": self.kind,
            "model": self.model,
            "revision": self.revision,
            "messages": self.messages,
            "decoding": {
                "temperature": decoding.temperature,
                "max_tokens": decoding.max_tokens,
                "top_p": decoding.top_p,
                "seed": decoding.seed,
                "stop": decoding.stop,
            },
            "choices": self.choices,
            "json_schema": self.json_schema,
            "logprobs": self.logprobs,
            "sample": self.sample,
            "text": self.text,
        }
        # Left out where they are empty, as they are in most requests.
        if self.prefix:
            values["prefix"] = self.prefix
        if self.regex is not None:
            values["regex"] = self.regex
        return values

    def characters(self) -> int:
        """Return how many characters it shows the model."""
        return sum(len(content) for _, content in self.messages) + len(self.text) + len(self.prefix)

    def canonical_json(self) -> str:
        """Return the payload as JSON text that is the same for equal requests."""
        return _encode(self.payload())

    @classmethod
    def from_payload(cls, payload: dict[str, Any]) -> WireRequest:
        """Rebuild a request from `payload()`, also after a trip through JSON."""
        decoding = dict(payload["decoding"])
        decoding["stop"] = tuple(decoding["stop"])
        return cls(
            kind=payload["kind"],
            model=payload["model"],
            revision=payload["revision"],
            messages=tuple((role, content) for role, content in payload["messages"]),
            decoding=Decoding(**decoding),
            choices=tuple(payload["choices"]),
            json_schema=payload["json_schema"],
            logprobs=payload["logprobs"],
            sample=payload["sample"],
            text=payload["text"],
            prefix=payload.get("prefix", ""),
            regex=payload.get("regex"),
        )


# One encoder for all: `json.dumps` with options builds a new one at each call. Key order is fixed by the code
# that builds the dictionaries, so sorting would only cost time.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def build_wire(
    request: Request, *, model: str, revision: str = "", decoding: Decoding = DEFAULT_DECODING
) -> WireRequest:
    """Complete a strategy's request with the model and the judge's decoding.

    A `Chat` overrides `max_tokens` and `temperature` where it sets them. Decoding has no part in the other
    kinds, which sample nothing, so their identity does not depend on it.
    """
    if isinstance(request, Chat):
        if request.max_tokens is not None or request.temperature is not None:
            decoding = _overridden(decoding, request.max_tokens, request.temperature)
        return WireRequest(
            "chat",
            model,
            request.messages,
            decoding,
            request.choices,
            request.json_schema,
            TOP_LOGPROBS if request.logprobs else 0,
            request.sample,
            revision,
            regex=request.regex,
        )
    if isinstance(request, Score):
        return WireRequest(
            "score",
            model,
            request.messages,
            NO_DECODING,
            revision=revision,
            text=request.continuation,
            prefix=request.prefix,
        )
    if isinstance(request, Embed):
        return WireRequest("embed", model, (), NO_DECODING, revision=revision, text=request.text)
    return WireRequest(
        "classify",
        model,
        request.messages,
        NO_DECODING,
        revision=revision,
        text=request.text,
        prefix=request.text_pair,
    )


@lru_cache(maxsize=1024)
def _overridden(decoding: Decoding, max_tokens: int | None, temperature: float | None) -> Decoding:
    return replace(
        decoding,
        temperature=decoding.temperature if temperature is None else temperature,
        max_tokens=decoding.max_tokens if max_tokens is None else max_tokens,
    )


def canonical_hash(canonical_json: str, endpoint_identity: str) -> str:
    """Return the SHA-256 (64 hex digits) of everything that can change the answer.

    Parameters
    ----------
    canonical_json : str
        Of the request.
    endpoint_identity : str
        `Backend.identity`: which engine or server answers, with the options of the backend that matter.
    """
    return sha256((_encode(endpoint_identity) + canonical_json).encode("ascii")).hexdigest()


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

"""A request as it goes to a backend, and its identity; and its answer as it is stored.

A strategy's `Request` says what to ask; a `WireRequest` adds whom and how: model, revision and decoding.
`canonical_hash` identifies it by everything that can change the answer, so that an answer can be shared by all
who would get the same one, and is never shared by those who would not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

from judges.strategies.prompts import Message
from judges.strategies.records import record
from judges.strategies.thinking import thinks
from judges.strategies.types import Answer, Chat, Decoding, Embed, Match, Request, Score, TokenLogprob

_quick: Callable[[Any], bytes] | None
try:
    import orjson

    _quick = orjson.dumps
except ImportError:  # the same text, ten microseconds later
    _quick = None

CHARACTERS_PER_TOKEN = 4.0
"""Of English text, where nothing is known of a model's own tokens."""


SHOWN = ("messages", "choices", "json_schema", "text", "prefix", "regex")
"""The members of a payload that differ from item to item."""
DEFAULT_DECODING = Decoding()
NO_DECODING = Decoding(temperature=None, max_tokens=None)


@record(frozen=True, slots=True)
class WireRequest:
    """One request to one model.

    Attributes
    ----------
    kind : str
        "chat", "score", "embed", "classify" or "match".
    json_schema : str or None
        JSON text of the schema that the answer is to follow.
    logprobs : int
        Number of rivals to report for each token; 0 asks for no log-probabilities.
    sample : int
        Index of an independent sample of the same request.
    text : str
        The continuation of a "score" request, the text of an "embed", "classify" or "match" request.
    prefix : str
        Raw text before the continuation of a "score" request without messages; the second text of a "classify"
        one, the reference of a "match" one.
    regex : str or None
        What the whole answer is to match.
    biases : tuple of (str, float)
        As in `Chat`: the backend knows which tokens these texts are.
    layer : int
        As in `Match`.
    function : str or None
        As in `Chat`.
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
    biases: tuple[tuple[str, float], ...] = ()
    layer: int = 0
    function: str | None = None

    def payload(self) -> dict[str, Any]:
        """Return the request as plain JSON values; `WireRequest.from_payload` undoes it."""
        values: dict[str, Any] = {
            "kind": self.kind,
            "model": self.model,
            "revision": self.revision,
            "messages": self.messages,
            "decoding": _decoding_values(self.decoding),
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
        if self.biases:
            values["biases"] = self.biases
        if self.layer:
            values["layer"] = self.layer
        if self.function is not None:
            values["function"] = self.function
        return values

    def frame(self) -> dict[str, Any]:
        """Return what of the payload is the same for all items; with `shown`, it is the whole payload."""
        return {name: value for name, value in self.payload().items() if name not in SHOWN}

    def shown(self) -> bytes:
        """Return what of the payload differs from item to item, as JSON in one line."""
        return json_bytes({name: getattr(self, name) for name in SHOWN})

    def characters(self) -> int:
        """Return how many characters it shows the model."""
        return sum(len(content) for _, content in self.messages) + len(self.text) + len(self.prefix)

    def canonical_json(self) -> str:
        """Return the payload as JSON text that is the same for equal requests."""
        values = self.payload()
        if _quick is None:
            return _encode(values)
        # Numbers are the one thing that the quick encoder may write in another form.
        values["decoding"] = orjson.Fragment(_decoding_json(self.decoding, *_number_types(self.decoding)))
        if self.biases:
            values["biases"] = orjson.Fragment(_encode(self.biases))
        try:
            text = _quick(values)
        except TypeError:  # what only the slow encoder takes, such as a surrogate alone
            return _encode(self.payload())
        if text.isascii() and b"\x7f" not in text:
            return text.decode("ascii")
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
            biases=tuple((text, bias) for text, bias in payload.get("biases", ())),
            layer=payload.get("layer", 0),
            function=payload.get("function"),
        )


# One encoder for all: `json.dumps` with options builds a new one at each call. Key order is fixed by the code
# that builds the dictionaries, so sorting would only cost time.
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def _decoding_values(decoding: Decoding) -> dict[str, Any]:
    values: dict[str, Any] = {
        "temperature": decoding.temperature,
        "max_tokens": decoding.max_tokens,
        "top_p": decoding.top_p,
        "seed": decoding.seed,
        "stop": decoding.stop,
    }
    # Left out where they say nothing: stored answers of before keep their identity.
    if decoding.reasoning_effort is not None:
        values["reasoning_effort"] = decoding.reasoning_effort
    if decoding.thinking_budget is not None:
        values["thinking_budget"] = decoding.thinking_budget
    if decoding.max_completion_tokens is not None:
        values["max_completion_tokens"] = decoding.max_completion_tokens
    return values


def _number_types(decoding: Decoding) -> tuple[type, type]:
    return type(decoding.max_tokens), type(decoding.seed)


@lru_cache(maxsize=1024)
def _decoding_json(decoding: Decoding, *_types: type) -> str:
    # The types are part of the key: 1 and 1.0 are equal, and are not the same JSON.
    return _encode(_decoding_values(decoding))


def build_wire(
    request: Request, *, model: str, revision: str = "", decoding: Decoding = DEFAULT_DECODING
) -> WireRequest:
    """Complete a strategy's request with the model and the judge's decoding.

    A `Chat` overrides `max_tokens`, `temperature` and `top_p` where it sets them. Where the model is told to think, its
    limit is one for the answer, to which the thoughts' share is added, and a temperature that the judge leaves to the
    server stays there: providers refuse others. Decoding has no part in the other kinds, which sample nothing, so
    their identity does not depend on it.
    """
    if isinstance(request, Chat):
        if request.max_tokens is not None or request.temperature is not None or request.top_p is not None:
            decoding = _overridden(decoding, request.max_tokens, request.temperature, request.top_p)
        return WireRequest(
            "chat",
            model,
            request.messages,
            decoding,
            request.choices,
            request.json_schema,
            (decoding.top_logprobs or 0) if request.logprobs else 0,
            request.sample,
            revision,
            regex=request.regex,
            biases=request.biases,
            function=request.function,
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
    if isinstance(request, Match):
        return WireRequest(
            "match",
            model,
            (),
            NO_DECODING,
            revision=revision,
            text=request.text,
            prefix=request.reference,
            layer=request.layer,
        )
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
def _overridden(
    decoding: Decoding, max_tokens: int | None, temperature: float | None, top_p: float | None
) -> Decoding:
    changes: dict[str, Any] = {}
    thinking = thinks(decoding)
    if max_tokens is not None:
        limit = max_tokens
        if thinking:
            limit = max(max_tokens + (decoding.thinking_budget or 0), decoding.limit or 0)
        name = "max_tokens" if decoding.max_completion_tokens is None else "max_completion_tokens"
        changes[name] = limit
    if temperature is not None and not (thinking and decoding.temperature is None):
        changes["temperature"] = temperature
    if top_p is not None and not (thinking and decoding.top_p is None):
        changes["top_p"] = top_p
    return replace(decoding, **changes)


def json_bytes(values: Any) -> bytes:
    """Return plain values as JSON, by the quick encoder where it takes them: for what is sent and not hashed."""
    if _quick is not None:
        try:
            return _quick(values)
        except TypeError:
            pass
    return _encode(values).encode("ascii")


def plain_json(values: Any) -> str:
    """Return plain values as JSON text in ASCII, without spaces."""
    text: str = _encode(values)
    return text


def canonical_hash(canonical_json: str, endpoint_identity: str) -> str:
    """Return the SHA-256 (64 hex digits) of everything that can change the answer.

    Parameters
    ----------
    canonical_json : str
        Of the request.
    endpoint_identity : str
        `Backend.identity`: which engine or server answers, with the options of the backend that matter.
    """
    hashed = _hashed_identity(endpoint_identity).copy()
    hashed.update(canonical_json.encode("ascii"))
    digest: str = hashed.hexdigest()
    return digest


@lru_cache(maxsize=1024)
def _hashed_identity(endpoint_identity: str) -> Any:
    return sha256(_encode(endpoint_identity).encode("ascii"))


class UnstorableError(ValueError):
    """A request with a character that no database takes."""


def hash_and_shown(wire: WireRequest, endpoint_identity: str) -> tuple[str, bytes]:
    """Return a request's `canonical_hash`, and what of it differs from item to item (`WireRequest.shown`).

    Of a chat, all but the messages is the same for thousands of requests: it is encoded once for all of them, and the
    messages once for both results.

    Raises
    ------
    UnstorableError
        It has a NUL, or a surrogate alone.
    TypeError, ValueError
        It cannot be written as JSON.
    """
    if _quick is not None and wire.kind == "chat" and not (wire.biases or wire.text or wire.prefix):
        try:
            shown = _quick(wire.messages)
        except TypeError:  # what only the slow encoder takes, such as a surrogate alone
            shown = b""
        if shown and not any("\x00" in role or "\x00" in text for role, text in wire.messages):
            is_canonical = shown.isascii() and b"\x7f" not in shown
            messages = shown if is_canonical else _messages_json(wire.messages).encode("ascii")
            before, after, last = _around_messages(
                *(wire.model, wire.revision, wire.decoding, *_number_types(wire.decoding), wire.choices),
                *(wire.json_schema, wire.logprobs, wire.sample, wire.regex, wire.layer, wire.function),
            )
            hashed = _hashed_beginning(endpoint_identity, before).copy()
            hashed.update(messages)
            hashed.update(after)
            return hashed.hexdigest(), b'{"messages":%b%b' % (shown, last)
    canonical = wire.canonical_json()
    if not is_storable(canonical):
        raise UnstorableError("The request has a character that no database takes.")
    return canonical_hash(canonical, endpoint_identity), wire.shown()


def _messages_json(messages: tuple[Message, ...]) -> str:
    some = [f"[{encode_basestring_ascii(role)},{encode_basestring_ascii(text)}]" for role, text in messages]
    return f"[{','.join(some)}]"


@lru_cache(maxsize=1024, typed=True)
def _around_messages(
    model: str,
    revision: str,
    decoding: Decoding,
    _max_tokens_type: type,
    _seed_type: type,
    choices: tuple[str, ...],
    json_schema: str | None,
    logprobs: int,
    sample: int,
    regex: str | None,
    layer: int,
    function: str | None,
) -> tuple[bytes, bytes, bytes]:
    """Return the canonical JSON of a chat before and after its messages, and what follows them in `shown`."""
    wire = WireRequest(
        *("chat", model, (), decoding, choices, json_schema, logprobs, sample, revision),
        regex=regex,
        layer=layer,
        function=function,
    )
    canonical = wire.canonical_json()
    if not is_storable(canonical):
        raise UnstorableError("The request has a character that no database takes.")
    # Within a text the quotation marks would be escaped.
    before, _, after = canonical.encode("ascii").partition(b'"messages":[]')
    return before + b'"messages":', after, wire.shown().removeprefix(b'{"messages":[]')


@lru_cache(maxsize=1024)
def _hashed_beginning(endpoint_identity: str, canonical: bytes) -> Any:
    hashed = _hashed_identity(endpoint_identity).copy()
    hashed.update(canonical)
    return hashed


def is_storable(json_text: str) -> bool:
    """Whether JSON text in ASCII can be stored as jsonb: neither NUL nor a surrogate alone in it."""
    if "\\u" not in json_text:  # one look through most texts instead of two
        return True
    if "\\u0000" in json_text:
        return False
    if "\\ud" not in json_text:
        return True
    try:
        json.dumps(json.loads(json_text), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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

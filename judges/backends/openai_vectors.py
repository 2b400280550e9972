"""Vectors and class scores of an OpenAI-compatible server: what to send, and how to read what comes back.

``/v1/embeddings`` is part of OpenAI's protocol. ``/classify`` (one text or conversation) and ``/score`` (a pair of
texts, for a cross-encoder) are vLLM's own and stand beside ``/v1``.
"""

import math
from typing import Any

from judges.backends.answerers import returned
from judges.backends.errors import MisbehavingServerError
from judges.backends.openai_protocol import ServerReply, count_of, document_of
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer


def embed_body(request: WireRequest) -> dict[str, Any]:
    """Return the JSON body that asks for the vector of one text."""
    return {"model": request.model, "input": request.text, "encoding_format": "float"}


def classify_body(request: WireRequest) -> dict[str, Any]:
    """Return the JSON body that asks for the raw outputs (logits) of a sequence classifier.

    `use_activation` was called `activation` until vLLM 0.12; a server ignores the one that it does not know.
    """
    body: dict[str, Any] = {"model": request.model, "use_activation": False, "activation": False}
    if request.messages:
        body["messages"] = [{"role": role, "content": content} for role, content in request.messages]
    elif request.prefix:
        body |= {"text_1": request.text, "text_2": request.prefix}
    else:
        body["input"] = request.text
    return body


def read_embedding(reply: ServerReply, *, latency_ms: float, price: float) -> Answer:
    """Return the answer with its vector; raises BackendError of the class that says what to do about it."""
    document = document_of(reply, offers="embeddings")
    vector = _numbers(_first(document).get("embedding"))
    if not vector:
        raise MisbehavingServerError(reply.say("a reply without a vector"), status=reply.status)
    return _answer(document, latency_ms, price, vector=vector)


def classes_of_reply(reply: ServerReply, *, latency_ms: float, price: float) -> Answer:
    """Return the answer with the model's raw outputs, one a class.

    A server that ignores `use_activation` sends probabilities; those of several classes are put back on a scale of
    logits by the logarithm (equal to them up to a constant). A single number is taken as it comes.
    """
    document = document_of(reply, offers="classification, as vLLM does with a model for it")
    found = _first(document)
    scores = _numbers(found.get("probs")) or _numbers([found.get("score")])
    if not scores:
        raise MisbehavingServerError(reply.say("a reply without the classes' scores"), status=reply.status)
    if len(scores) > 1 and min(scores) >= 0.0 and abs(sum(scores) - 1.0) < 1e-4:
        scores = tuple(math.log(max(score, 1e-30)) for score in scores)
    return _answer(document, latency_ms, price, scores=scores)


def _first(document: dict[str, Any]) -> dict[str, Any]:
    data = document.get("data")
    first = data[0] if isinstance(data, list) and data else None
    return first if isinstance(first, dict) else {}


def _numbers(values: object) -> tuple[float, ...]:
    """Return finite numbers as a tuple; an empty one if that is not what they are."""
    if not isinstance(values, list):
        return ()
    try:
        numbers = tuple(float(value) for value in values if not isinstance(value, str | bool))
    except (TypeError, OverflowError):
        return ()
    return numbers if len(numbers) == len(values) and all(map(math.isfinite, numbers)) else ()


def _answer(document: dict[str, Any], latency_ms: float, price: float, **found: Any) -> Answer:
    usage = document.get("usage")
    tokens = count_of(usage.get("prompt_tokens")) if isinstance(usage, dict) else 0
    values = found | returned(document)
    return Answer(text="", prompt_tokens=tokens, latency_ms=latency_ms, cost=tokens * price, **values)

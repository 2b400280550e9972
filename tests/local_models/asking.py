"""Asks backends, and computes the same with plain transformers: the oracle."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from judges.backends.base import Backend
from judges.backends.errors import BackendError, NotSentError
from judges.backends.registry import create_backend
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding

SMALL = {"dtype": "float32", "enforce_eager": True, "cpu_kv_cache_gib": 1}
"""Options that start vLLM quickly, and on any machine."""

CONTEXTS = (
    "Which city is the capital of France?",
    "If a model is asked whether seven is prime, it should",
    "A judge reads an instruction and two answers to it, and says ",
    "Numbers: 0 1 2 3 4\n",
)
CONTINUATIONS = (
    " Paris.",
    " say yes, give the reason and stop.",
    "which answer is the better one. ",
    "5 6 7",
)


def backend_make(kind: str, model: str, **options: Any) -> Backend:
    """Build a backend as the registry does it for an endpoint."""
    given = (SMALL if kind.startswith("vllm") else {"dtype": "float32"}) | options
    return create_backend(kind, options={"model": model, "revision": "", "capacity": 8} | given)


def outcomes(
    backend: Backend, requests: Sequence[WireRequest], seconds: float = 200.0
) -> list[Answer | BackendError]:
    """Submit them all at once and return what comes of each.

    What waited when another failed is given back unsent; it is submitted again, as the engine does.
    """
    found: dict[int, Answer | BackendError] = {}
    deadline = time.monotonic() + seconds
    left = list(range(len(requests)))
    while left:
        for token in left:
            backend.submit(token, requests[token])
        found |= arrivals(backend, len(left), deadline - time.monotonic())
        left = [token for token in left if isinstance(found[token], NotSentError)]
    return [found[token] for token in range(len(requests))]


def arrivals(backend: Backend, n: int, seconds: float = 200.0) -> dict[int, Answer | BackendError]:
    """Return the next n outcomes in the order of their arrival."""
    found: dict[int, Answer | BackendError] = {}
    deadline = time.monotonic() + seconds
    while len(found) < n:
        found |= dict(backend.drain(0.5))
        assert time.monotonic() < deadline, f"{len(found)} of {n} outcomes within {seconds} s"
    return found


def answer(backend: Backend, request: WireRequest) -> Answer:
    """Return the answer to one request."""
    (found,) = outcomes(backend, [request])
    assert isinstance(found, Answer), found
    return found


def chat(model: str, text: str, *, decoding: Decoding | None = None, **fields: Any) -> WireRequest:
    """One question; greedy, at most 12 tokens."""
    return WireRequest("chat", model, (("user", text),), decoding or Decoding(max_tokens=12), **fields)


def pairs(model: str) -> list[WireRequest]:
    """Continuations to score: behind raw contexts and in the chat template."""
    raw = [
        WireRequest("score", model, (), prefix=context, text=continuation)
        for context in CONTEXTS
        for continuation in CONTINUATIONS
    ]
    return [
        *raw,
        *(WireRequest("score", model, (("user", CONTEXTS[0]),), text=each) for each in CONTINUATIONS),
    ]


@lru_cache(maxsize=4)
def loaded(model: str, kind: str) -> tuple[Any, Any]:
    """Return (tokenizer, model) as plain transformers loads them."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    return tokenizer, getattr(transformers, kind).from_pretrained(model, dtype="float32").eval()


def true_logprob(request: WireRequest) -> float:
    """Return a continuation's log-likelihood: one pass, one row, no padding."""
    import torch

    tokenizer, model = loaded(request.model, "AutoModelForCausalLM")
    if request.messages:
        context = _conversation(tokenizer, request)
        whole = context + tokenizer.encode(request.text, add_special_tokens=False)
    else:
        context = tokenizer.encode(request.prefix.rstrip())
        whole = tokenizer.encode(request.prefix + request.text)
    with torch.inference_mode():
        logprobs = model(torch.tensor([whole])).logits[0].double().log_softmax(-1)
    return float(sum(logprobs[place - 1, whole[place]] for place in range(len(context), len(whole))))


def true_text(request: WireRequest, n: int = 12) -> str:
    """Return the greedy answer, token by token without a cache."""
    import torch

    tokenizer, model = loaded(request.model, "AutoModelForCausalLM")
    ids = _conversation(tokenizer, request)
    start = len(ids)
    with torch.inference_mode():
        while len(ids) - start < n:
            token = int(model(torch.tensor([ids])).logits[0, -1].argmax())
            if token == tokenizer.eos_token_id:
                break
            ids = [*ids, token]
    return str(tokenizer.decode(ids[start:], skip_special_tokens=True))


def _conversation(tokenizer: Any, request: WireRequest) -> list[int]:
    turns = [{"role": role, "content": content} for role, content in request.messages]
    text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    return list(tokenizer.encode(text, add_special_tokens=False))


def true_vector(model: str, text: str) -> list[float]:
    """Return the mean of a text's token vectors, of length 1."""
    import torch

    tokenizer, encoder = loaded(model, "AutoModel")
    with torch.inference_mode():
        hidden = encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
    return [float(each) for each in torch.nn.functional.normalize(hidden.mean(0), dim=0)]


def true_match(request: WireRequest) -> tuple[float, float, float]:
    """Precision, recall and F1 of BERTScore, each text alone in the model; its first and last tokens are marks."""
    import torch

    tokenizer, model = loaded(request.model, "AutoModel")
    found = []
    for text in (request.text, request.prefix):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        found.append(torch.nn.functional.normalize(states[request.layer or -1][0], dim=-1))
    alike = found[0] @ found[1].T
    precision, recall = float(alike.max(1).values[1:-1].mean()), float(alike.max(0).values[1:-1].mean())
    return precision, recall, 2 * precision * recall / (precision + recall)


def true_classes(request: WireRequest) -> list[float]:
    """Return the logits of one text, pair or conversation."""
    import torch

    tokenizer, model = loaded(request.model, "AutoModelForSequenceClassification")
    if request.messages:
        turns = [{"role": role, "content": content} for role, content in request.messages]
        text = tokenizer.apply_chat_template(turns, tokenize=False)
        given = tokenizer(text, add_special_tokens=False, return_tensors="pt")
    else:
        given = tokenizer(request.text, request.prefix or None, return_tensors="pt")
    with torch.inference_mode():
        return [float(each) for each in model(**given).logits[0]]

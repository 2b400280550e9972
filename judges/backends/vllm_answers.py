"""What vLLM is asked in a request's words, and its outputs as answers."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from judges.backends.base import finite, storable
from judges.backends.errors import MisbehavingServerError, TransientBackendError
from judges.backends.local import Job
from judges.backends.token_biases import own_biases
from judges.backends.tokenising import Encoded
from judges.backends.wire import WireRequest
from judges.strategies.thinking import thinks
from judges.strategies.types import Answer, TokenLogprob


def sampling(request: WireRequest, defaults: dict[str, Any], tokenizer: Any = None) -> Any:
    """Return vLLM's parameters for a "chat" or "score" request.

    Parameters
    ----------
    defaults : dict
        Of the model's own generation settings, for what the request leaves open.
    tokenizer : Any
        Of the model, for a request that biases tokens.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    if request.kind == "score":
        return SamplingParams(
            max_tokens=1,
            temperature=0.0,
            prompt_logprobs=0,
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
    decoding = request.decoding
    given = {
        "temperature": decoding.temperature,
        "max_tokens": decoding.limit,
        "top_p": decoding.top_p,
        # Independent samples of a seeded request need seeds of their own.
        "seed": None if decoding.seed is None else decoding.seed + request.sample,
        "stop": list(decoding.stop) or None,
        "logprobs": request.logprobs or None,
        # Held to a form from its first token on, it could not think.
        "structured_outputs": None if thinks(decoding) else _constraint(request),
        "logit_bias": own_biases(request, tokenizer) or None,
    }
    values = {"max_tokens": None} | defaults
    values |= {name: value for name, value in given.items() if value is not None}
    return SamplingParams(**values, output_kind=RequestOutputKind.FINAL_ONLY)


def _constraint(request: WireRequest) -> Any:
    from vllm.sampling_params import StructuredOutputsParams

    if request.json_schema is not None:
        return StructuredOutputsParams(json=request.json_schema)
    if request.regex is not None:
        return StructuredOutputsParams(regex=request.regex)
    if request.choices:
        return StructuredOutputsParams(choice=list(request.choices))
    return None


def read_chat(output: Any, job: Job, encoded: Encoded) -> Answer:
    """Return the answer to a "chat" request; whether it keeps to the constraint is checked."""
    completion = output.outputs[0]
    if completion.finish_reason in {"abort", "error"}:
        raise TransientBackendError(f"vLLM gave the request up: {completion.finish_reason}.", status=500)
    text, constrained = checked_text(completion.text, job.request)
    n = len(completion.token_ids)
    return Answer(
        text=storable(text),
        finish_reason=completion.finish_reason or "stop",
        prompt_tokens=len(encoded.ids),
        completion_tokens=n,
        latency_ms=job.elapsed_ms(),
        cost=job.cost(len(encoded.ids), n),
        logprobs=_logprobs(completion, job.request.logprobs) if job.request.logprobs else None,
        constrained=constrained,
    )


def checked_text(text: str, request: WireRequest) -> tuple[str, bool]:
    """Return the text, and whether there was a constraint and it holds."""
    if request.json_schema is not None:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return text, False
        return text, True
    if request.regex is not None:
        return text, re.fullmatch(request.regex, text, re.DOTALL) is not None
    if request.choices and text.strip() in request.choices:
        return text.strip(), True
    return text, False


def _logprobs(completion: Any, rivals: int) -> tuple[TokenLogprob, ...]:
    places = []
    for chosen, at_place in zip(completion.token_ids, completion.logprobs or (), strict=True):
        ranked = sorted(at_place.values(), key=lambda each: each.rank)
        places.append(
            TokenLogprob(
                token=storable(at_place[chosen].decoded_token or ""),
                logprob=finite(at_place[chosen].logprob),
                top=tuple(
                    (storable(each.decoded_token or ""), finite(each.logprob)) for each in ranked[:rivals]
                ),
            )
        )
    return tuple(places)


def read_score(output: Any, job: Job, encoded: Encoded) -> Answer:
    """Return the answer to a "score" request."""
    places = output.prompt_logprobs
    if places is None or len(places) != len(encoded.ids):
        raise MisbehavingServerError("vLLM gave no log-probabilities of the prompt.")
    rest = range(encoded.start, len(encoded.ids))
    total = math.fsum(finite(places[place][encoded.ids[place]].logprob) for place in rest)
    return Answer(
        text="",
        prompt_tokens=len(encoded.ids),
        completion_tokens=len(rest),
        latency_ms=job.elapsed_ms(),
        cost=job.cost(len(encoded.ids), 0),
        logprob=total,
    )


def read_vector(output: Any, job: Job, encoded: Encoded) -> Answer:
    """Return the answer to an "embed" request."""
    return _pooled(output, job, encoded, "vector")


def pooled_classes(output: Any, job: Job, encoded: Encoded) -> Answer:
    """Return the answer to a "classify" request."""
    return _pooled(output, job, encoded, "scores")


def _pooled(output: Any, job: Job, encoded: Encoded, name: str) -> Answer:
    numbers = tuple(float(value) for value in output.outputs.data.float().flatten().tolist())
    if not numbers or not all(map(math.isfinite, numbers)):
        raise MisbehavingServerError("The model's output is not made of numbers.")
    n = len(encoded.ids)
    values: dict[str, Any] = {name: numbers}
    return Answer(text="", prompt_tokens=n, latency_ms=job.elapsed_ms(), cost=job.cost(n, 0), **values)

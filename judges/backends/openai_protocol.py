"""The OpenAI protocol without the network: chat requests and their answers, and what all replies have in common.

Log-likelihoods are in `openai_score`, embeddings and classification in `openai_vectors`.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from annotation.domain.images import ImageReader
from judges.backends.answerers import returned
from judges.backends.base import finite, storable
from judges.backends.errors import (
    BackendError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.images import content_of, openai_image
from judges.backends.wire import WireRequest
from judges.strategies.thinking import FORMS, OFFERED, thinking_fields, thinks
from judges.strategies.types import Answer, TokenLogprob

STRUCTURED = ("none", "vllm", "json_schema")

_TRANSIENT = frozenset({408, 409, 425, 429})
_PERMANENT = frozenset({400, 413, 422, 501})
_EXCERPT = 200


@dataclass(frozen=True, slots=True)
class ServerReply:
    """A complete HTTP reply.

    Attributes
    ----------
    secret : str
        The key that was sent, so that a server which repeats it does not bring it into a message.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    secret: str = field(default="", repr=False)

    def excerpt(self) -> str:
        """Return the message of an error in the protocol's form, on one line; nothing of any other body.

        An address that is no model server could be a page of the inside of a network, which nobody is to read here.
        """
        try:
            document = json.loads(self.body[:20_000])
            error = document.get("error", document if document.get("object") == "error" else None)
            text = error if isinstance(error, str) else error.get("message")
        except (ValueError, AttributeError, RecursionError):
            return ""
        if not isinstance(text, str):
            return ""
        if self.secret:
            text = text.replace(self.secret, "[key]")
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"

    def say(self, what: str) -> str:
        """Return a plain message that names the endpoint and the status."""
        shown = self.excerpt()
        return f"{self.url}: HTTP {self.status}, {what}" + (f": {shown}" if shown else ".")


def build_body(
    request: WireRequest,
    *,
    structured: str,
    max_tokens_field: str,
    extra: Mapping[str, Any],
    thinking_form: str = OFFERED[0],
    images: ImageReader | None = None,
) -> dict[str, Any]:
    """Return the JSON body of a chat request.

    Parameters
    ----------
    max_tokens_field : str
        The name of the limit where the judge gives it as `max_tokens`.
    extra : mapping
        Further fields, which take the place of ours.
    thinking_form : str
        How the server is told to think: a name of `judges.strategies.thinking.FORMS`.
    images : callable, optional
        The stored images that messages show; None where the server's models take none.

    Raises
    ------
    PermanentBackendError
        A message shows images, and they can't be sent.
    """
    decoding = request.decoding
    if thinks(decoding) and FORMS[thinking_form].counts_all:
        max_tokens_field = "max_completion_tokens"
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [
            {"role": role, "content": content_of(content, images, openai_image)}
            for role, content in request.messages
        ],
    }
    # Independent samples of a seeded request need seeds of their own.
    seed = None if decoding.seed is None else decoding.seed + request.sample
    optional = {
        "temperature": decoding.temperature,
        max_tokens_field: decoding.max_tokens,
        **(
            {}
            if decoding.max_completion_tokens is None
            else {"max_completion_tokens": decoding.max_completion_tokens}
        ),
        "top_p": decoding.top_p,
        "seed": seed,
        "stop": list(decoding.stop) or None,
    }
    body.update({name: value for name, value in optional.items() if value is not None})
    if request.logprobs:
        body.update(logprobs=True, top_logprobs=request.logprobs)
    body.update(_constraint(request, structured))
    body.update(extra)
    # What the judge says of thinking stands above what its endpoint says to all: else its figures are another judge's.
    for name, value in thinking_fields(decoding, thinking_form).items():
        given = body.get(name)
        body[name] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value
    return body


def _constraint(request: WireRequest, structured: str) -> dict[str, Any]:
    if request.function is not None:
        function = json.loads(request.function)
        choice = {"type": "function", "function": {"name": function["name"]}}
        return {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
    if structured == "none":
        return {}
    if request.json_schema is not None:
        return {"response_format": _schema_format("answer", json.loads(request.json_schema))}
    if structured == "vllm" and request.regex is not None and not request.choices:
        return {"structured_outputs": {"regex": request.regex}}
    if not request.choices:  # a JSON schema cannot hold a text to a regular expression: it is read tolerantly
        return {}
    if structured == "vllm":
        return {"structured_outputs": {"choice": list(request.choices)}}
    return {"response_format": _schema_format("verdict", choice_schema(request.choices))}


def choice_schema(choices: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON schema of an answer that is one of the choices; `read_choice_of` reads it."""
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def _schema_format(name: str, schema: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}


def read_reply(
    reply: ServerReply,
    request: WireRequest,
    *,
    structured: str,
    latency_ms: float,
    prices: tuple[float, float],
) -> Answer:
    """Turn a reply into an answer.

    Parameters
    ----------
    prices : tuple of two floats
        Of one prompt token and one completion token.

    Raises
    ------
    BackendError
        Of the class that says what to do about it.
    """
    document = document_of(reply)
    choice, usage = first_choice(reply, document)
    finish_reason = choice.get("finish_reason")
    finish_reason = finish_reason if isinstance(finish_reason, str) else "stop"
    raw, finish_reason = _content(reply, choice, finish_reason)
    thought = _thought(choice["message"])
    text, constrained = raw, False
    if structured != "none" and request.choices and request.json_schema is None:
        text, constrained = _read_constrained(raw, request.choices, structured)
    logprobs = _logprobs(reply, choice) if request.logprobs else None
    if logprobs and constrained and structured == "json_schema":
        logprobs = _of_value(logprobs, raw, text)
    prompt_tokens, completion_tokens, reasoning_tokens = tokens_of(usage)
    return Answer(
        text=storable(text),
        finish_reason=storable(finish_reason)[:40],
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        latency_ms=latency_ms,
        cost=prompt_tokens * prices[0] + completion_tokens * prices[1],
        logprobs=logprobs,
        constrained=constrained,
        thought=storable(thought),
        reasoning_tokens=reasoning_tokens,
        **returned(document),
    )


def error_for(reply: ServerReply) -> BackendError:
    """Return the error of a reply that is no answer, of the class that says what to do about it."""
    status = reply.status
    if status == 429 and b"insufficient_quota" in reply.body[:20_000]:
        # A vendor's way to say that the account is empty: waiting does not help.
        return EndpointError(reply.say("the account has no quota left"), status=status)
    if status in _PERMANENT:
        return PermanentBackendError(reply.say("the request was refused"), status=status)
    if status in _TRANSIENT or status >= 500:
        return TransientBackendError(
            reply.say("try again later"), status=status, retry_after=retry_after(reply.headers)
        )
    if status in {401, 402, 403}:
        return EndpointError(reply.say("access was refused"), status=status)
    if status in {404, 405, 410}:
        return EndpointError(reply.say("no such endpoint or model"), status=status)
    if 300 <= status < 400:
        return EndpointError(reply.say("the endpoint has moved; configure its new address"), status=status)
    if status < 300:
        return MisbehavingServerError(reply.say("where 200 was expected"), status=status)
    return PermanentBackendError(reply.say("the request was refused"), status=status)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return the seconds of a Retry-After header, given in seconds or as a date; None if there is none."""
    value = headers.get("retry-after", headers.get("Retry-After", "")).strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = parsedate_to_datetime(value)
        except ValueError:
            return None
        if then.tzinfo is None:
            then = then.replace(tzinfo=UTC)
        seconds = (then - (now or datetime.now(tz=UTC))).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _misbehaving(reply: ServerReply, what: str) -> MisbehavingServerError:
    return MisbehavingServerError(reply.say(what), status=reply.status)


def document_of(reply: ServerReply, *, offers: str = "") -> dict[str, Any]:
    """Return the reply's JSON object.

    Parameters
    ----------
    offers : str
        What a server need not have, such as ``"embeddings"``: where the path is missing, that costs the request and
        not the endpoint, which may well answer others.

    Raises
    ------
    BackendError
        The status is not 200, or the body is no JSON object; of the class that says what to do about it.
    """
    if offers and reply.status in {404, 405, 501}:
        raise PermanentBackendError(
            reply.say(f"the server has no such model, or offers no {offers}"), status=reply.status
        )
    if reply.status != 200:
        raise error_for(reply)
    try:
        document = json.loads(reply.body)
    except (ValueError, RecursionError):
        raise _misbehaving(reply, "a reply that is not JSON") from None
    if not isinstance(document, dict):
        raise _misbehaving(reply, "a reply that is no JSON object")
    return document


def first_choice(reply: ServerReply, document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the reply's first choice and its counts of tokens; raises MisbehavingServerError."""
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _misbehaving(reply, "a reply without choices")
    usage = document.get("usage")
    return choices[0], usage if isinstance(usage, dict) else {}


def _content(reply: ServerReply, choice: dict[str, Any], finish_reason: str) -> tuple[str, str]:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _misbehaving(reply, "a choice without a message")
    content = _joined(message.get("content"))
    if not content and (arguments := _arguments(message)):
        return arguments, finish_reason
    if isinstance(content, str):
        return content, finish_reason
    refusal = message.get("refusal")
    if content is None and isinstance(refusal, str) and refusal:
        return refusal, "refusal"
    if content is None and (finish_reason in {"length", "content_filter"} or _thought(message)):
        # A model that spent its tokens on reasoning, or was stopped: asking again gives the same.
        return "", finish_reason
    raise _misbehaving(reply, "a message without text")


def _arguments(message: Mapping[str, Any]) -> str:
    """Return the arguments of the function that the model calls; empty if it calls none."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return arguments if isinstance(arguments, str) else ""


def _thought(message: Mapping[str, Any]) -> str:
    """Return what the model thought, where the server sends it apart from the text; empty where it does not.

    vLLM, SGLang and DeepSeek name it `reasoning_content`, newer servers and routers `reasoning`, Ollama `thinking`;
    others send blocks, in `reasoning_details` or between those of the text.
    """
    for name in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(value := message.get(name), str) and value.strip():
            return value
    for name in ("reasoning_details", "thinking_blocks", "content"):
        if thought := "\n\n".join(_thoughts(message.get(name))):
            return thought
    return ""


def _thoughts(blocks: object) -> list[str]:
    found: list[str] = []
    for block in blocks if isinstance(blocks, list) else ():
        if not _is_thought(block):
            continue
        for name in ("thinking", "reasoning", "text", "summary"):
            value = block.get(name)
            # Mistral's thinking is a list of texts.
            parts = value if isinstance(value, list) else [value]
            texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
            found += [text for text in texts if isinstance(text, str) and text.strip()]
    return found


def _is_thought(block: object) -> bool:
    return isinstance(block, dict) and str(block.get("type", "")).startswith(("thinking", "reasoning"))


def _joined(content: object) -> object:
    """Return the text of a content that came in parts, as some servers send it beside what the model thought."""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        if texts and all(isinstance(text, str) for text in texts):
            return "".join(texts)
        if content and all(map(_is_thought, content)):  # a thought without an answer
            return None
    return content


def _read_constrained(text: str, choices: tuple[str, ...], structured: str) -> tuple[str, bool]:
    """Unwrap a constrained answer; one that breaks the constraint stays as it is, for the parser to judge."""
    if structured == "json_schema":
        return read_choice_of(text, choices)
    return (text.strip(), True) if text.strip() in choices else (text, False)


def read_choice_of(text: str, choices: tuple[str, ...]) -> tuple[str, bool]:
    """Return the choice in an answer that follows `choice_schema`, and True; else the answer, and False."""
    try:
        chosen = json.loads(text)["choice"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return text, False
    return (chosen, True) if isinstance(chosen, str) and chosen in choices else (text, False)


def _of_value(tokens: tuple[TokenLogprob, ...], raw: str, value: str) -> tuple[TokenLogprob, ...]:
    """Return the tokens of the chosen value alone, out of those of ``{"choice": "A"}``."""
    opening = re.search(r'"choice"\s*:\s*"', raw)
    # What ends an answer is a token too, and no part of its text.
    if opening is None or not "".join(token.token for token in tokens).startswith(raw):
        return tokens
    begin, end, position, kept = opening.end(), opening.end() + len(value), 0, []
    for token in tokens:
        if position < end and position + len(token.token) > begin:
            kept.append(token)
        position += len(token.token)
    return tuple(kept)


def tokens_of(usage: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the tokens of the prompt, those generated, and those of these that were thoughts.

    Thoughts are generated tokens and billed as such. Some servers (Gemini's, xAI's) count them in `total_tokens` and
    not in `completion_tokens`: what the total has beyond both is added.
    """
    prompt, completion = count_of(usage.get("prompt_tokens")), count_of(usage.get("completion_tokens"))
    details = usage.get("completion_tokens_details")
    reasoning = count_of(details.get("reasoning_tokens")) if isinstance(details, dict) else 0
    uncounted = count_of(usage.get("total_tokens")) - prompt - completion
    if uncounted > 0 and prompt:
        completion += uncounted
        reasoning = reasoning or uncounted
    return prompt, completion, min(reasoning, completion)


def count_of(value: object) -> int:
    """Return a count of tokens, 0 for what is none."""
    # Beyond what an integer column holds it is no count of tokens.
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else 0


def _logprobs(reply: ServerReply, choice: dict[str, Any]) -> tuple[TokenLogprob, ...] | None:
    holder = choice.get("logprobs")
    content = holder.get("content") if isinstance(holder, dict) else None
    if content is None:
        return None
    try:
        return tuple(
            TokenLogprob(
                token=storable(each["token"]),
                logprob=finite(each["logprob"]),
                top=tuple(
                    (storable(rival["token"]), finite(rival["logprob"]))
                    for rival in each.get("top_logprobs") or ()
                ),
            )
            for each in content
        )
    except (TypeError, KeyError, AttributeError, ValueError):
        raise _misbehaving(reply, "log-probabilities that cannot be read") from None

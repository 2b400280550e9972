"""Anthropic's Messages protocol without the network: a chat request as its body, and its reply as an answer."""

import json
from collections.abc import Mapping
from typing import Any

from annotation.domain.images import ImageReader, has_images
from judges.backends.answerers import returned
from judges.backends.base import storable
from judges.backends.errors import MisbehavingServerError, PermanentBackendError
from judges.backends.images import NOT_TAKEN, anthropic_image, content_of
from judges.backends.openai_protocol import ServerReply, choice_schema, count_of, document_of, read_choice_of
from judges.backends.wire import WireRequest
from judges.strategies.thinking import thinking_fields
from judges.strategies.types import Answer

STRUCTURED = ("none", "json_schema")
FINISHED = {"end_turn": "stop", "stop_sequence": "stop", "tool_use": "stop", "max_tokens": "length"}
"""The names that OpenAI's protocol has for why an answer ended; others stay as they are."""


def build_message(
    request: WireRequest, *, structured: str, extra: Mapping[str, Any], images: ImageReader | None = None
) -> dict[str, Any]:
    """Return the JSON body of a chat request; `images` as in `openai_protocol.build_body`.

    Raises
    ------
    PermanentBackendError
        It asks for what the protocol does not have: a setting is refused, never left out in silence.
    """
    decoding = request.decoding
    if decoding.seed is not None or request.biases:
        what = "seed" if decoding.seed is not None else "logit biases"
        raise PermanentBackendError(f"Anthropic's API has no {what}: remove it from the judge.")
    if decoding.limit is None and "max_tokens" not in extra:
        raise PermanentBackendError("Anthropic's API needs max_tokens: set it in the judge's decoding.")
    system = "\n\n".join(content for role, content in request.messages if role == "system")
    if has_images(system):
        raise PermanentBackendError(
            NOT_TAKEN if images is None else "Anthropic's API takes no images in a system message."
        )
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [
            {"role": role, "content": content_of(content, images, anthropic_image)}
            for role, content in request.messages
            if role != "system"
        ],
    }
    optional = {
        "system": system or None,
        "max_tokens": decoding.limit,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "stop_sequences": list(decoding.stop) or None,
    }
    body.update({name: value for name, value in optional.items() if value is not None})
    if request.function is not None:
        function = json.loads(request.function)
        tool = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
        if function.get("description"):
            tool["description"] = function["description"]
        body.update(tools=[tool], tool_choice={"type": "tool", "name": function["name"]})
    elif structured == "json_schema":
        if request.json_schema is not None:
            body["output_config"] = _format(json.loads(request.json_schema))
        elif request.choices:
            body["output_config"] = _format(choice_schema(request.choices))
    # What the judge says of thinking stands above what its endpoint says to all. Effort and format share an object.
    for fields in (extra, thinking_fields(decoding, "anthropic")):
        for name, value in fields.items():
            given = body.get(name)
            body[name] = {**given, **value} if isinstance(given, dict) and isinstance(value, dict) else value
    return body


def _format(schema: Any) -> dict[str, Any]:
    return {"format": {"type": "json_schema", "schema": schema}}


def read_message(
    reply: ServerReply,
    request: WireRequest,
    *,
    structured: str,
    latency_ms: float,
    prices: tuple[float, float],
) -> Answer:
    """Turn a reply into an answer; parameters and errors as `openai_protocol.read_reply`.

    Tokens that were written to or read from the cache count as prompt tokens.
    """
    document = document_of(reply)
    blocks = document.get("content")
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise MisbehavingServerError(reply.say("a message without content"), status=reply.status)
    stopped = document.get("stop_reason")
    reason = FINISHED.get(stopped, stopped) if isinstance(stopped, str) else "stop"
    thought = "\n\n".join(_texts(blocks, "thinking", "thinking"))
    text = "".join(_texts(blocks, "text", "text"))
    called = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
    if not text and called and isinstance(called[0], dict):
        text = json.dumps(called[0])
    if not text and not thought and reason not in {"length", "refusal"}:
        raise MisbehavingServerError(reply.say("a message without text"), status=reply.status)
    constrained = False
    if structured == "json_schema" and request.choices and request.json_schema is None:
        text, constrained = read_choice_of(text, request.choices)
    usage = document.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    cached = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    prompt_tokens = count_of(sum(count_of(usage.get(name)) for name in cached))
    completion_tokens = count_of(usage.get("output_tokens"))
    details = usage.get("output_tokens_details")
    details = details if isinstance(details, dict) else {}
    return Answer(
        reasoning_tokens=count_of(details.get("thinking_tokens")),
        text=storable(text),
        finish_reason=storable(reason)[:40],
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        latency_ms=latency_ms,
        cost=prompt_tokens * prices[0] + completion_tokens * prices[1],
        constrained=constrained,
        thought=storable(thought),
        **returned(document),
    )


def _texts(blocks: list[dict[str, Any]], kind: str, name: str) -> list[str]:
    found = [block.get(name) for block in blocks if block.get("type") == kind]
    return [text for text in found if isinstance(text, str) and text]

"""Vendors that speak another protocol, through LiteLLM: an optional extra, imported when the backend is built.

LiteLLM turns a chat or embedding request into the vendor's own and the reply back into OpenAI's form, which is then
read and checked as that of any server. Its retries, its telemetry and the download of its price list are switched off:
whether to ask again is the engine's business, and nothing else is to leave the machine.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from annotation.domain.images import ImageReader
from judges.backends.addresses import check_url
from judges.backends.async_backend import AsyncBackend
from judges.backends.errors import (
    BackendError,
    BackendUnavailableError,
    EndpointError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.images import refuse_images
from judges.backends.openai_protocol import ServerReply, build_body, error_for, read_reply
from judges.backends.openai_vectors import embed_body, read_embedding
from judges.backends.registry import endpoint_identity
from judges.backends.settings import PriceTable, check_choice, check_extra, check_limits, read_key
from judges.backends.token_biases import tiktoken_ids, token_biases
from judges.backends.wire import WireRequest
from judges.strategies.thinking import seconds_for
from judges.strategies.types import Answer

STRUCTURED = ("none", "json_schema")
_OURS = frozenset({"model", "messages", "n", "stream", "api_key", "base_url", "api_base", "timeout"})
_AIDS = ("logprobs", "top_logprobs", "response_format")
"""What helps to read an answer and may be missing: left out for a vendor that has no such thing."""


class LiteLLMBackend(AsyncBackend):
    """Ask a vendor's model, named as LiteLLM names it: ``"anthropic/claude-..."``, ``"gemini/..."``, ``"bedrock/..."``.

    Parameters
    ----------
    base_url : str
        Of a server of one's own or a proxy; empty for the vendor's address.
    api_key_env : str
        Name of the environment variable that holds the key. Empty: the vendor's usual one,
        as LiteLLM reads it, and none for an address of one's own.
    capacity : int
        Requests in flight, >= 1.
    timeout : float
        Seconds for a whole request, > 0, waiting for a free place not counted.
    structured : {"none", "json_schema"}
        Whether the vendor is told by a JSON schema what the answer may be.
    price_prompt, price_completion, prices
        As of the OpenAI backend. Where no price is configured, the cost is LiteLLM's own figure.
    is_local : bool
        Only with a base URL on this machine or in a private network.
    extra_body : mapping
        Further arguments of the call, such as ``{"api_version": "2024-10-21"}``.
    images : callable, optional
        The stored images that messages show, by digest; None: its models take none. LiteLLM makes of OpenAI's parts
        what the vendor has for them.

    Raises
    ------
    BackendUnavailableError
        LiteLLM is not installed.
    EndpointError
        The environment variable is not set, or an option cannot be right.
    """

    def __init__(
        self,
        *,
        base_url: str = "",
        api_key_env: str = "",
        capacity: int = 8,
        timeout: float = 120.0,
        structured: str = "none",
        price_prompt: float = 0.0,
        price_completion: float = 0.0,
        prices: Mapping[str, tuple[float, float]] | None = None,
        is_local: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        images: ImageReader | None = None,
    ) -> None:
        self._images = images
        self._extra = dict(extra_body or {})
        check_limits(capacity, timeout=timeout)
        check_choice("structured", structured, STRUCTURED)
        check_extra(self._extra, _OURS)
        if "os.environ/" in f"{self._extra}{base_url}":
            # To LiteLLM such a text is the name of a variable of any kind, whose value it sends.
            raise EndpointError("extra_body: texts with 'os.environ/' cannot be used.")
        if base_url:
            check_url(base_url, only_own=is_local)
        elif is_local:
            raise EndpointError("is_local: a vendor without an address of your own is not local.")
        self._prices = PriceTable(price_prompt, price_completion, prices)
        self._key = read_key(api_key_env, base_url or "the vendor")
        self._litellm = _load()
        self.is_local = is_local
        self.identity = endpoint_identity(
            "litellm", endpoint=base_url, options={"structured": structured, "extra_body": self._extra}
        )
        self._base_url = base_url
        self._timeout = timeout
        self._structured = structured
        self._supported: dict[str, frozenset[str]] = {}
        super().__init__(capacity=capacity, name="litellm-backend")

    async def _end(self) -> None:
        await self._litellm.close_litellm_async_clients()

    async def _ask(self, request: WireRequest) -> Answer:
        if request.kind not in {"chat", "embed"}:
            raise PermanentBackendError(
                f"LiteLLM answers chat and embedding requests, not '{request.kind}' requests: use an "
                "OpenAI-compatible server or a model in the worker."
            )
        started = time.perf_counter()
        if request.kind == "chat":
            body = build_body(
                request,
                structured=self._structured,
                max_tokens_field="max_tokens",
                extra=self._extra,
                thinking_form="litellm",
                images=self._images,
            )
            if request.biases:
                biases = token_biases(request.biases, tiktoken_ids(request))
                body["logit_bias"] = {str(token): bias for token, bias in biases.items()}
            seconds = seconds_for(request.decoding, self._timeout)
            reply, cost = await self._call(
                self._litellm.acompletion, request.model, self._trimmed(body), seconds
            )
        else:
            refuse_images(request)
            body = embed_body(request) | self._extra
            reply, cost = await self._call(self._litellm.aembedding, request.model, body, self._timeout)
        latency = (time.perf_counter() - started) * 1000.0
        prices = self._prices.of(request.model)
        if request.kind == "chat":
            answer = read_reply(
                reply, request, structured=self._structured, latency_ms=latency, prices=prices
            )
        else:
            answer = read_embedding(reply, latency_ms=latency, price=prices[0])
        return answer if self._prices.knows(request.model) else replace(answer, cost=cost)

    async def _call(
        self, function: Any, model: str, body: dict[str, Any], seconds: float
    ) -> tuple[ServerReply, float]:
        """Return the reply in OpenAI's form and LiteLLM's figure of its cost; raises BackendError."""
        arguments = body | {"timeout": seconds, "max_retries": 0, "num_retries": 0}
        if self._key or self._base_url:
            # Without one, LiteLLM takes the vendor's usual key from the environment, and would send it to any address.
            arguments["api_key"] = self._key or "none"
        if self._base_url:
            arguments["api_base"] = self._base_url
        where = self._base_url or f"LiteLLM, model {model}"
        try:
            async with asyncio.timeout(seconds):
                response = await function(**arguments)
        except TimeoutError as error:
            raise TransientBackendError(f"{where}: no answer within {seconds:g} s.", was_sent=True) from error
        except Exception as error:
            raise self._translated(error, where, seconds) from error
        raw = response.model_dump_json().encode()
        return ServerReply(where, 200, {}, raw, self._key), own_cost(self._litellm, response)

    def _trimmed(self, body: dict[str, Any]) -> dict[str, Any]:
        """Leave out what only helps to read the answer, where the vendor has no such thing."""
        model = body["model"]
        if model not in self._supported:
            try:
                names = self._litellm.get_supported_openai_params(model=model)
            except Exception:  # the model is not known: the call itself will say so
                names = None
            self._supported[model] = frozenset(_AIDS if names is None else names)
        supported = self._supported[model]
        return {name: value for name, value in body.items() if name not in _AIDS or name in supported}

    def _translated(self, error: Exception, where: str, seconds: float) -> BackendError:
        """Return our error for one of LiteLLM's, which are told apart by their class and HTTP status."""
        names = {each.__name__ for each in type(error).__mro__}
        message = self._clean(f"{where}: {' '.join(str(error).split())[:300]}")
        if "Timeout" in names or "APITimeoutError" in names:
            return TransientBackendError(f"{where}: no answer within {seconds:g} s.", was_sent=True)
        if "APIConnectionError" in names:
            return TransientBackendError(message)
        if "LiteLLMUnknownProvider" in names or "LLM Provider NOT provided" in str(error):
            return EndpointError(message)
        status = getattr(error, "status_code", None)
        if not isinstance(status, int) or not 300 <= status < 600:
            return PermanentBackendError(self._clean(f"{where}: {type(error).__name__}: {error}"[:400]))
        # Of an address of one's own only what it said in the protocol's form is told, as by `ServerReply.excerpt`.
        said = _said(error) if self._base_url else str(error)
        body = json.dumps({"error": {"message": said}}).encode("utf-8", "replace")
        return error_for(ServerReply(where, status, _headers(error), body, self._key))


def _headers(error: BaseException | None) -> Mapping[str, str]:
    """Return the vendor's headers with its Retry-After: LiteLLM's errors keep them here or there, or in their cause."""
    while error is not None:
        response = getattr(error, "response", None)
        for held in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
            if held and "retry-after" in held:
                return {"retry-after": str(held["retry-after"])}
        error = error.__context__
    return {}


def _said(error: BaseException | None) -> str:
    """Return the message that the server sent in the protocol's form, which LiteLLM's errors keep in their cause."""
    while error is not None:
        body = getattr(error, "body", None)
        if isinstance(body, dict) and isinstance(body.get("message"), str):
            return str(body["message"])
        error = error.__context__
    return ""


def own_cost(litellm: Any, response: Any) -> float:
    """Return what LiteLLM's own price list says, 0 for a model that is not in it."""
    try:
        return max(float(litellm.completion_cost(completion_response=response)), 0.0)
    except Exception:
        return 0.0


def _load() -> Any:
    # Read when it is imported: the price list that it brings along is used, and none is fetched.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        import litellm
    except ImportError as error:
        missing = error.name or str(error)
        raise BackendUnavailableError.missing(missing, backend="litellm", extra="litellm") from error
    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False  # a setting that is part of a judge is never left out in silence
    litellm.num_retries = 0
    return litellm

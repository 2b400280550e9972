"""Any server that speaks the OpenAI protocol: `vllm serve`, a vendor, the mock server.

Requests run on an event loop in a thread of the backend's own. Nothing is retried here: whether and when to
ask again is the engine's business. What comes back is always checked, since a server may ignore what it does
not know (an old vLLM ignores an unknown constraint and answers HTTP 200 with free text).
"""

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx

from judges.backends.addresses import check_url
from judges.backends.async_backend import AsyncBackend
from judges.backends.errors import (
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.network import CheckedNetwork
from judges.backends.openai_protocol import STRUCTURED, ServerReply, build_body, read_reply
from judges.backends.openai_score import ContinuationScorer, score_answer
from judges.backends.openai_vectors import classes_of_reply, classify_body, embed_body, read_embedding
from judges.backends.registry import endpoint_identity
from judges.backends.settings import PriceTable, check_choice, check_extra, check_limits, proxy_for, read_key
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a reply that are read before the server is taken to be broken."""
MAX_HELD = 4 * MAX_BODY
"""The same of all replies that are read at the same moment."""
_OURS = frozenset({"model", "messages", "n", "stream"})
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class OpenAIBackend(AsyncBackend):
    """Ask a server at ``<base_url>/chat/completions``, ``/completions`` (likelihoods) and ``/embeddings``, and vLLM's
    ``/classify`` and ``/score`` (rewards) and ``/tokenize`` beside the base URL.

    Parameters
    ----------
    base_url : str
        With the version, without the last part: ``"http://127.0.0.1:8000/v1"``.
    api_key_env : str
        Name of the environment variable that holds the key; empty for a server that wants none.
    capacity : int
        Requests in flight, >= 1.
    timeout : float
        Seconds for a whole request, > 0, waiting for a free place not counted.
    connect_timeout : float
        Seconds to reach the server, > 0.
    structured : {"none", "vllm", "json_schema"}
        How the server is told that the answer is one of the request's choices: not at all, by vLLM's
        ``structured_outputs``, or by a JSON schema as vendors do.
    price_prompt, price_completion : float
        Per million tokens, in the currency of the report, >= 0.
    prices : mapping of str to (float, float)
        The same two of single models, in their place.
    max_tokens_field : {"max_tokens", "max_completion_tokens"}
        Some vendors renamed it.
    is_local : bool
        The server is on machines of the operator, so that private items may go there. Refused for an endpoint
        whose host is neither loopback nor in a private network.
    extra_body : mapping
        More fields of a chat request's body, such as ``{"reasoning_effort": "low"}``.

    Raises
    ------
    EndpointError
        The environment variable is not set, or an option cannot be right.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key_env: str = "",
        capacity: int = 8,
        timeout: float = 120.0,
        connect_timeout: float = 10.0,
        structured: str = "none",
        price_prompt: float = 0.0,
        price_completion: float = 0.0,
        prices: Mapping[str, tuple[float, float]] | None = None,
        max_tokens_field: str = "max_tokens",
        is_local: bool = False,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self._base = base_url.rstrip("/")
        self._extra = dict(extra_body or {})
        check_limits(capacity, timeout=timeout, connect_timeout=connect_timeout)
        check_choice("structured", structured, STRUCTURED)
        check_choice("max_tokens_field", max_tokens_field, ("max_tokens", "max_completion_tokens"))
        check_extra(self._extra, _OURS)
        check_url(base_url, only_own=is_local)
        self._prices = PriceTable(price_prompt, price_completion, prices)
        self._key = read_key(api_key_env, base_url)
        self.is_local = is_local
        self.identity = endpoint_identity(
            "openai",
            endpoint=base_url,
            options={
                "structured": structured,
                "max_tokens_field": max_tokens_field,
                "extra_body": self._extra,
            },
        )
        self._timeout = timeout
        self._structured = structured
        self._max_tokens_field = max_tokens_field
        self._headers = self._make_headers()
        # The semaphore bounds what is in flight; the pool must not time out while others are served.
        limits = httpx.Timeout(timeout, connect=connect_timeout, pool=None)
        self._extensions = {"timeout": limits.as_dict()}
        # The transport of `httpx.AsyncClient` without the client, whose cookies, redirects and authentication are
        # not wanted here and cost a tenth of a request's time.
        proxy = None if is_local else proxy_for(base_url)
        self._transport = httpx.AsyncHTTPTransport(
            limits=httpx.Limits(max_connections=capacity, max_keepalive_connections=capacity), proxy=proxy
        )
        if proxy is None:  # a proxy is the operator's, and looks up the rest itself
            # httpx has no parameter for it; a test connects to what is refused, so a change of httpx is noticed.
            self._transport._pool._network_backend = CheckedNetwork(base_url, only_own=is_local)
        self._held = 0
        self._urls: dict[str, httpx.URL] = {}
        self._scorer = ContinuationScorer(
            self._post, completions_url=f"{self._base}/completions", tokenize_url=self._beside("tokenize")
        )
        super().__init__(capacity=capacity, name="openai-backend")

    def _make_headers(self) -> list[tuple[bytes, bytes]]:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            # A few kB of gzip can become gigabytes before a limit is asked; replies are short anyway.
            "Accept-Encoding": "identity",
            "User-Agent": "touchstone",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        return [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]

    def use_key(self, key: str) -> None:
        """Send this key: of a server that this process started, so that no variable names it."""
        self._key = key
        self._headers = self._make_headers()

    async def _end(self) -> None:
        await self._transport.aclose()

    def _beside(self, path: str) -> str:
        """Return the URL of a path that stands beside /v1, as vLLM's own do."""
        return f"{self._base.removesuffix('/v1')}/{path}"

    async def _ask(self, request: WireRequest) -> Answer:
        started = time.perf_counter()
        prices = self._prices.of(request.model)
        if request.kind == "chat":
            body = build_body(
                request,
                structured=self._structured,
                max_tokens_field=self._max_tokens_field,
                extra=self._extra,
            )
            reply = await self._post(f"{self._base}/chat/completions", body)
            latency = (time.perf_counter() - started) * 1000.0
            return read_reply(reply, request, structured=self._structured, latency_ms=latency, prices=prices)
        if request.kind == "score":
            logprob, n_tokens, beside = await self._scorer.score(request)
            latency = (time.perf_counter() - started) * 1000.0
            return score_answer(logprob, n_tokens, beside, latency_ms=latency, prices=prices)
        if request.kind == "embed":
            reply = await self._post(f"{self._base}/embeddings", embed_body(request))
            read = read_embedding
        elif request.kind == "classify":
            path = "score" if request.prefix and not request.messages else "classify"
            reply = await self._post(self._beside(path), classify_body(request))
            read = classes_of_reply
        else:
            raise PermanentBackendError(f"{self._base}: there are no '{request.kind}' requests.")
        return read(reply, latency_ms=(time.perf_counter() - started) * 1000.0, price=prices[0])

    async def _post(self, url: str, body: dict[str, Any]) -> ServerReply:
        """Send a body and return the whole reply, whatever its status; raises BackendError."""
        content = _encode(body).encode("ascii")
        try:
            # httpx times each read; a server that trickles would never end.
            async with asyncio.timeout(self._timeout):
                return await self._exchange(url, content)
        except (TimeoutError, httpx.TimeoutException) as error:
            reached = not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            raise TransientBackendError(
                f"{url}: no answer within {self._timeout:g} s.", was_sent=reached
            ) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise EndpointError(self._clean(f"{url}: {error}")) from error
        except httpx.TransportError as error:
            what = str(error) or type(error).__name__
            raise TransientBackendError(
                self._clean(f"{url}: {what}"), was_sent=not isinstance(error, httpx.ConnectError)
            ) from error

    async def _exchange(self, url: str, content: bytes) -> ServerReply:
        request = httpx.Request(
            "POST", self._parsed(url), headers=self._headers, content=content, extensions=self._extensions
        )
        response = await self._transport.handle_async_request(request)
        body = bytearray()
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise MisbehavingServerError(
                    f"{url}: a compressed reply, which was not asked for.", status=response.status_code
                )
            async for chunk in response.stream:  # type: ignore[union-attr]  # asynchronous, as the transport is
                body += chunk
                self._held += len(chunk)
                if len(body) > MAX_BODY or self._held > MAX_HELD:
                    raise MisbehavingServerError(
                        f"{url}: a reply of more than {MAX_BODY >> 20} MiB, or of more than {MAX_HELD >> 20} MiB with "
                        "those that came at the same moment.",
                        status=response.status_code,
                    )
        finally:
            self._held -= len(body)
            await response.aclose()
        return ServerReply(
            url=url,
            status=response.status_code,
            headers=response.headers,
            body=bytes(body),
            secret=self._key,
        )

    def _parsed(self, url: str) -> httpx.URL:
        """Return the URL taken apart, which is work that each request would do again."""
        if url not in self._urls:
            self._urls[url] = httpx.URL(url)
        return self._urls[url]

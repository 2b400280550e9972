"""Any server that speaks the OpenAI chat protocol: `vllm serve`, a vendor, the mock server.

Requests run on an event loop in a thread of the backend's own. Nothing is retried here: whether and when to
ask again is the engine's business. What comes back is always checked, since a server may ignore what it does
not know (an old vLLM ignores an unknown constraint and answers HTTP 200 with free text).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import queue
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from judges.backends.base import Outcome
from judges.backends.errors import (
    BackendError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.openai_protocol import STRUCTURED, ServerReply, build_body, read_reply
from judges.backends.registry import endpoint_identity
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

MAX_BODY = 32 * 1024 * 1024
"""Bytes of a reply that are read before the server is taken to be broken."""
_OURS = frozenset({"model", "messages", "n", "stream"})


class OpenAIBackend:
    """Send chat requests to ``<base_url>/chat/completions``.

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
        More fields of the request body, such as ``{"reasoning_effort": "low"}``.

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
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._extra = dict(extra_body or {})
        self._check(capacity, timeout, connect_timeout, structured, price_prompt, price_completion)
        if max_tokens_field not in {"max_tokens", "max_completion_tokens"}:
            raise EndpointError(f"max_tokens_field: {max_tokens_field!r} is no field of the protocol.")
        if is_local and not _is_private_host(urlsplit(base_url).hostname or ""):
            raise EndpointError(
                f"is_local: {base_url} is neither this machine nor in a private network, so it is not local."
            )
        self._key = _read_key(api_key_env, base_url)
        self.is_local = is_local
        self.capacity = capacity
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
        self._prices = (price_prompt / 1e6, price_completion / 1e6)
        self._model_prices = {name: (each[0] / 1e6, each[1] / 1e6) for name, each in (prices or {}).items()}
        self._finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closed = False
        self._start(connect_timeout)

    def _check(
        self,
        capacity: int,
        timeout: float,
        connect_timeout: float,
        structured: str,
        price_prompt: float,
        price_completion: float,
    ) -> None:
        if not isinstance(capacity, int) or capacity < 1:
            raise EndpointError(f"capacity: expected a whole number of at least 1, found {capacity!r}.")
        for name, value in (("timeout", timeout), ("connect_timeout", connect_timeout)):
            if not isinstance(value, int | float) or not value > 0:
                raise EndpointError(f"{name}: expected seconds above 0, found {value!r}.")
        for name, value in (("price_prompt", price_prompt), ("price_completion", price_completion)):
            if not isinstance(value, int | float) or not value >= 0:
                raise EndpointError(f"{name}: expected a price of at least 0, found {value!r}.")
        if structured not in STRUCTURED:
            raise EndpointError(f"structured: expected one of {', '.join(STRUCTURED)}, found {structured!r}.")
        if taken := sorted(_OURS & self._extra.keys()):
            raise EndpointError(f"extra_body: {', '.join(taken)} cannot be set here.")

    def _start(self, connect_timeout: float) -> None:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._loop = asyncio.new_event_loop()
        self._places = asyncio.Semaphore(self.capacity)
        self._tasks: set[asyncio.Task[None]] = set()
        self._client = httpx.AsyncClient(
            headers=headers,
            # The semaphore bounds what is in flight; the pool must not time out while others are served.
            timeout=httpx.Timeout(self._timeout, connect=connect_timeout, pool=None),
            limits=httpx.Limits(max_connections=self.capacity, max_keepalive_connections=self.capacity),
            # A proxy from the environment would carry private items off the operator's machines.
            trust_env=not self.is_local,
        )
        self._thread = threading.Thread(target=self._run_loop, name="openai-backend", daemon=True)
        self._thread.start()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def submit(self, token: int, request: WireRequest) -> None:
        """Start a request; returns at once."""
        if self._closed:
            raise RuntimeError("the backend is closed")
        with self._lock:
            self._in_flight += 1
        self._loop.call_soon_threadsafe(self._spawn, token, request)

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has finished, waiting up to `timeout` seconds for the first."""
        with self._lock:
            if not self._in_flight:
                return []
        finished: list[Outcome] = []
        try:
            finished.append(self._finished.get(timeout=max(timeout, 0.0)))
            while True:
                finished.append(self._finished.get_nowait())
        except queue.Empty:
            pass
        with self._lock:
            self._in_flight -= len(finished)
        return finished

    def close(self) -> None:
        """Cancel what is in flight and end the thread."""
        if self._closed:
            return
        self._closed = True
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result(timeout=30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        with self._lock:
            self._in_flight = 0  # what was cancelled never comes, so `drain` must not wait for it

    async def _shut_down(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._client.aclose()

    def _spawn(self, token: int, request: WireRequest) -> None:
        task = self._loop.create_task(self._answer(token, request))
        # The loop keeps only a weak reference to a task.
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, token: int, request: WireRequest) -> None:
        result: Answer | BackendError
        try:
            async with self._places:
                result = await self._ask(request)
        except BackendError as error:
            result = error
        except Exception as error:  # a token that never comes back would hang the engine
            result = PermanentBackendError(self._clean(f"{self._url}: {type(error).__name__}: {error}"))
        self._finished.put((token, result))

    async def _ask(self, request: WireRequest) -> Answer:
        if request.kind != "chat":
            raise PermanentBackendError(f"{self._url} answers chat requests, not '{request.kind}' requests.")
        body = build_body(
            request,
            structured=self._structured,
            max_tokens_field=self._max_tokens_field,
            extra=self._extra,
        )
        content = json.dumps(body, separators=(",", ":")).encode("ascii")
        started = time.perf_counter()
        try:
            # httpx times each read; a server that trickles would never end.
            async with asyncio.timeout(self._timeout):
                reply = await self._post(content)
        except (TimeoutError, httpx.TimeoutException) as error:
            raise TransientBackendError(f"{self._url}: no answer within {self._timeout:g} s.") from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise EndpointError(self._clean(f"{self._url}: {error}")) from error
        except httpx.DecodingError as error:
            raise MisbehavingServerError(f"{self._url}: a reply that cannot be decompressed.") from error
        except httpx.TransportError as error:
            what = str(error) or type(error).__name__
            raise TransientBackendError(self._clean(f"{self._url}: {what}")) from error
        latency = (time.perf_counter() - started) * 1000.0
        return read_reply(
            reply, request, structured=self._structured, latency_ms=latency, prices=self._prices
        )

    async def _post(self, content: bytes) -> ServerReply:
        async with self._client.stream("POST", self._url, content=content) as response:
            chunks, size = [], 0
            async for chunk in response.aiter_bytes():
                chunks.append(chunk)
                size += len(chunk)
                if size > MAX_BODY:
                    raise MisbehavingServerError(
                        f"{self._url}: a reply of more than {MAX_BODY >> 20} MiB.",
                        status=response.status_code,
                    )
            return ServerReply(
                url=self._url,
                status=response.status_code,
                headers=response.headers,
                body=b"".join(chunks),
                secret=self._key,
            )

    def _clean(self, message: str) -> str:
        return message.replace(self._key, "[key]") if self._key else message


def _read_key(variable: str, base_url: str) -> str:
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EndpointError(
            f"The environment variable {variable} is not set; it must hold the key for {base_url}."
        )
    if not key.isascii() or not key.isprintable():
        # httpx would refuse it as a header, and show it in its message.
        raise EndpointError(f"The environment variable {variable} holds characters that no key may have.")
    return key


def _is_private_host(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().rstrip(".")
        # A name without a dot, as in Docker's networks, or under a suffix that public DNS does not serve.
        return bool(name) and (
            "." not in name or name.endswith((".local", ".internal", ".lan", ".localhost"))
        )
    return address.is_loopback or address.is_private

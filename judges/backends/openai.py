"""Any server that speaks the OpenAI protocol: `vllm serve`, a vendor, the mock server.

Requests run on an event loop in a thread of the backend's own. Nothing is retried here: whether and when to
ask again is the engine's business. What comes back is always checked, since a server may ignore what it does
not know (an old vLLM ignores an unknown constraint and answers HTTP 200 with free text).
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from functools import partial
from typing import IO, Any

import httpx

from annotation.domain.images import ImageReader
from judges.backends.addresses import check_url
from judges.backends.async_backend import AsyncBackend
from judges.backends.connections import ONE, Connections
from judges.backends.errors import (
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.images import refuse_images
from judges.backends.network import CheckedNetwork
from judges.backends.openai_protocol import STRUCTURED, ServerReply, build_body, read_reply
from judges.backends.openai_score import ContinuationScorer, score_answer
from judges.backends.openai_vectors import classes_of_reply, classify_body, embed_body, read_embedding
from judges.backends.registry import endpoint_identity
from judges.backends.replicas import Replica, Replicas, check_addresses_alike
from judges.backends.settings import PriceTable, check_choice, check_extra, check_limits, proxy_for, read_key
from judges.backends.token_biases import ServerTokens, tiktoken_ids, token_biases
from judges.backends.wire import WireRequest, json_bytes
from judges.strategies.thinking import FORMS, OFFERED, seconds_for
from judges.strategies.types import Answer

MAX_BODY = 16 * 1024 * 1024
"""Bytes of a reply that are read before the server is taken to be broken."""
MAX_HELD = 4 * MAX_BODY
"""The same of all replies that are read at the same moment."""
_OURS = frozenset({"model", "messages", "n", "stream"})


class OpenAIBackend(AsyncBackend):
    """Ask a server at ``<base_url>/chat/completions``, ``/completions`` (likelihoods) and ``/embeddings``, and vLLM's
    ``/classify`` and ``/score`` (rewards) and ``/tokenize`` beside the base URL.

    Parameters
    ----------
    base_url : str
        With the version, without the last part: ``"http://127.0.0.1:8000/v1"``.
    addresses : sequence of str
        Where it is really asked, in the same form: copies of the server, among which requests are balanced
        (`judges.backends.replicas`). Then `base_url` is its name alone. Empty: at `base_url`.
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
        More fields of a chat request's body, such as ``{"top_k": 20}``.
    thinking_form : str
        How the server is told to think, a name of `judges.strategies.thinking.FORMS`; empty: as OpenAI is.
    images : callable, optional
        The stored images that messages show, by digest; None: its models take none.

    Raises
    ------
    EndpointError
        The environment variable is not set, or an option cannot be right.
    """

    NAME = "openai"

    def __init__(
        self,
        *,
        base_url: str,
        addresses: Sequence[str] = (),
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
        thinking_form: str = "",
        images: ImageReader | None = None,
    ) -> None:
        self._images = images
        self._base = base_url.rstrip("/")
        self._extra = dict(extra_body or {})
        check_limits(capacity, timeout=timeout, connect_timeout=connect_timeout)
        check_choice("structured", structured, STRUCTURED)
        check_choice("max_tokens_field", max_tokens_field, ("max_tokens", "max_completion_tokens"))
        check_choice("thinking_form", thinking_form, ("", *FORMS))
        check_extra(self._extra, _OURS)
        places = list(addresses) or [base_url]
        if addresses and (wrong := check_addresses_alike(base_url, places)):
            raise EndpointError(f"addresses: {wrong}")
        for place in places:
            check_url(place, only_own=is_local)
        self._prices = PriceTable(price_prompt, price_completion, prices)
        self._key = read_key(api_key_env, base_url)
        self.is_local = is_local
        self.identity = endpoint_identity(
            self.NAME,
            endpoint=base_url,
            options={
                "structured": structured,
                "max_tokens_field": max_tokens_field,
                "extra_body": self._extra,
                "thinking_form": thinking_form,
            },
        )
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._thinking_form = thinking_form or OFFERED[0]
        self._structured = structured
        self._max_tokens_field = max_tokens_field
        self._headers = self._make_headers()
        self._replicas = Replicas(places)
        # One for all, and only where there is TLS: to read the certificates takes longer than some answers.
        needed = any(_needs_certificates(place, only_own=is_local) for place in places)
        certificates = httpx.create_ssl_context() if needed else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._connections = {
            replica.address: Connections(partial(_transport, place, certificates, only_own=is_local))
            for replica, place in zip(self._replicas.all, places, strict=True)
        }
        self._held = 0
        self._extensions: dict[float, dict[str, Any]] = {}
        self._urls: dict[str, httpx.URL] = {}
        self._scorer = ContinuationScorer(
            self._post, completions_url=f"{self._base}/completions", tokenize_url=self._beside("tokenize")
        )
        self._tokens = ServerTokens(self._post, self._beside("tokenize"))
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

    @property
    def base(self) -> str:
        """The base URL, without a slash at the end."""
        return self._base

    def body_of(self, request: WireRequest) -> dict[str, Any]:
        """Return the body of a chat request that is not sent by itself, but in a batch.

        Raises
        ------
        PermanentBackendError
            It is no chat request, or has something that needs the server's tokens.
        """
        if request.kind != "chat":
            raise PermanentBackendError(
                f"Batches have chat requests only, and this is a '{request.kind}' one."
            )
        body = self._chat_body(request)
        if request.biases:
            biases = token_biases(request.biases, tiktoken_ids(request))
            body["logit_bias"] = {str(token): bias for token, bias in biases.items()}
        return body

    def answer_of(self, reply: ServerReply, request: WireRequest, *, latency_ms: float = 0.0) -> Answer:
        """Return the answer of a reply to a chat request; raises BackendError as `read_reply`."""
        prices = self._prices.of(request.model)
        return read_reply(reply, request, structured=self._structured, latency_ms=latency_ms, prices=prices)

    def _chat_body(self, request: WireRequest) -> dict[str, Any]:
        return build_body(
            request,
            structured=self._structured,
            max_tokens_field=self._max_tokens_field,
            extra=self._extra,
            thinking_form=self._thinking_form,
            images=self._images,
        )

    def use_key(self, key: str) -> None:
        """Send this key: of a server that this process started, so that no variable names it."""
        self._key = key
        self._headers = self._make_headers()

    async def _end(self) -> None:
        for connections in self._connections.values():
            await connections.aclose()

    def _beside(self, path: str) -> str:
        """Return the URL of a path that stands beside /v1, as vLLM's own do."""
        return f"{self._base.removesuffix('/v1')}/{path}"

    async def _ask(self, request: WireRequest) -> Answer:
        started = time.perf_counter()
        prices = self._prices.of(request.model)
        if request.kind == "chat":
            body = self._chat_body(request)
            if request.biases:
                ids = await self._tokens.ids(request.model, [text for text, _ in request.biases])
                biases = token_biases(request.biases, ids or tiktoken_ids(request))
                body["logit_bias"] = {str(token): bias for token, bias in biases.items()}
            seconds = seconds_for(request.decoding, self._timeout)
            reply = await self._post(f"{self._base}/chat/completions", body, seconds)
            return self.answer_of(reply, request, latency_ms=(time.perf_counter() - started) * 1000.0)
        refuse_images(request)
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

    async def _post(self, url: str, body: dict[str, Any], seconds: float = 0.0) -> ServerReply:
        """Send a body and return the whole reply, whatever its status; raises BackendError.

        What did not reach one address is sent to another at once; what did may be on a bill, and is the engine's to
        send again. `seconds` is how long it may take; 0: as long as any request of the endpoint.
        """
        seconds = seconds or self._timeout
        content = json_bytes(body)
        tried: list[Replica] = []
        while True:
            replica = self._replicas.pick(time.monotonic(), tried)
            assert replica is not None
            replica.in_flight += 1
            try:
                reply = await self._post_to(replica, replica.url(url, self._base), content, seconds)
            except TransientBackendError as error:
                replica.failed(time.monotonic())
                tried.append(replica)
                if error.was_sent or len(tried) == len(self._replicas.all):
                    raise
                continue
            finally:
                replica.in_flight -= 1
            if reply.status in (502, 503, 504):
                replica.failed(time.monotonic())
            else:
                replica.answered()
            return reply

    async def _post_to(self, replica: Replica, url: str, content: bytes, seconds: float) -> ServerReply:
        with self._connections[replica.address].one() as transport:
            return await self._timed(self._exchange(transport, url, content, seconds), url, seconds)

    async def _timed(
        self, exchange: Coroutine[Any, Any, ServerReply], url: str, seconds: float
    ) -> ServerReply:
        try:
            # httpx times each read; a server that trickles would never end.
            async with asyncio.timeout(seconds):
                return await exchange
        except (TimeoutError, httpx.TimeoutException) as error:
            reached = not isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout)
            raise TransientBackendError(
                f"{url}: no answer within {seconds:g} s.", was_sent=reached
            ) from error
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise EndpointError(self._clean(f"{url}: {error}")) from error
        except httpx.TransportError as error:
            what = str(error) or type(error).__name__
            raise TransientBackendError(
                self._clean(f"{url}: {what}"), was_sent=not isinstance(error, httpx.ConnectError)
            ) from error

    def call(
        self,
        method: str,
        url: str,
        *,
        content: bytes | AsyncIterator[bytes] = b"",
        headers: Mapping[str, str] | None = None,
        sink: IO[bytes] | None = None,
        most: int | None = None,
        seconds: float | None = None,
    ) -> ServerReply:
        """Send one request by itself and wait for its reply, whatever its status: of a file, of a batch.

        Parameters
        ----------
        content : bytes or asynchronous iterator of bytes
            With an iterator, `headers` has its Content-Length.
        headers : mapping, optional
            In place of the usual ones of the same names.
        sink : binary file, optional
            Where a body of status 200 is written; `ServerReply.body` is then empty.
        most : int, optional
            Bytes of a body that are read before the server is taken to be broken.
        seconds : float, optional
            For the whole exchange; default: the timeout of a request.

        Raises
        ------
        BackendError
            There is no reply, or it is too large.
        """
        replaced = {name.lower().encode(): (name, value) for name, value in (headers or {}).items()}
        sent = [pair for pair in self._headers if pair[0].lower() not in replaced]
        sent += [(name.encode("ascii"), value.encode("ascii")) for name, value in replaced.values()]
        most_seconds = seconds or self._timeout
        request = httpx.Request(
            method, self._parsed(url), headers=sent, content=content, extensions=self._limits(most_seconds)
        )
        with self._connections[self._replicas.all[0].address].one() as transport:
            waiting = asyncio.run_coroutine_threadsafe(
                self._timed(self._answer_to(transport, request, sink, most), url, most_seconds),
                self._loop,
            )
            return waiting.result()

    async def _exchange(
        self, transport: httpx.AsyncHTTPTransport, url: str, content: bytes, seconds: float
    ) -> ServerReply:
        request = httpx.Request(
            "POST",
            self._parsed(url),
            headers=self._headers,
            content=content,
            extensions=self._limits(seconds),
        )
        return await self._answer_to(transport, request)

    async def _answer_to(
        self,
        transport: httpx.AsyncHTTPTransport,
        request: httpx.Request,
        sink: IO[bytes] | None = None,
        most: int | None = None,
    ) -> ServerReply:
        url, read = str(request.url), 0
        most = MAX_BODY if most is None else most
        response = await transport.handle_async_request(request)
        kept = sink if response.status_code == 200 else None
        body = bytearray()
        try:
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise MisbehavingServerError(
                    f"{url}: a compressed reply, which was not asked for.", status=response.status_code
                )
            async for chunk in response.stream:  # type: ignore[union-attr]  # asynchronous, as the transport is
                read += len(chunk)
                if kept is not None:
                    kept.write(chunk)
                else:
                    body += chunk
                    self._held += len(chunk)
                if read > most or self._held > MAX_HELD:
                    raise MisbehavingServerError(
                        f"{url}: a reply of more than {most >> 20} MiB, or of more than {MAX_HELD >> 20} MiB with "
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

    def _limits(self, seconds: float) -> dict[str, Any]:
        """Return httpx's time limits of a request that may take so long."""
        if seconds not in self._extensions:
            # The semaphore bounds what is in flight; the pool must not time out while others are served.
            limits = httpx.Timeout(seconds, connect=self._connect_timeout, pool=None)
            self._extensions[seconds] = {"timeout": limits.as_dict()}
        return self._extensions[seconds]

    def _parsed(self, url: str) -> httpx.URL:
        """Return the URL taken apart, which is work that each request would do again."""
        if url not in self._urls:
            self._urls[url] = httpx.URL(url)
        return self._urls[url]


def _needs_certificates(place: str, *, only_own: bool) -> bool:
    return not place.lower().startswith("http://") or (not only_own and proxy_for(place) is not None)


def _transport(place: str, certificates: ssl.SSLContext, *, only_own: bool) -> httpx.AsyncHTTPTransport:
    """Return a transport of one connection to an address: that of `httpx.AsyncClient` without the client.

    Its cookies, redirects and authentication are not wanted here and cost a tenth of a request's time.
    """
    proxy = None if only_own else proxy_for(place)
    transport = httpx.AsyncHTTPTransport(verify=certificates, limits=ONE, proxy=proxy)
    if proxy is None:  # a proxy is the operator's, and looks up the rest itself
        # httpx has no parameter for it; a test connects to what is refused, so a change of httpx is noticed.
        transport._pool._network_backend = CheckedNetwork(place, only_own=only_own)
    return transport

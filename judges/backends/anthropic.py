"""Anthropic's API at ``<base_url>/messages``: by the transport, limits and checks of the OpenAI backend."""

import time
from typing import Any

from judges.backends.anthropic_protocol import STRUCTURED, build_message, read_message
from judges.backends.errors import PermanentBackendError
from judges.backends.openai import OpenAIBackend
from judges.backends.openai_protocol import ServerReply
from judges.backends.settings import check_choice
from judges.backends.wire import WireRequest
from judges.strategies.thinking import seconds_for
from judges.strategies.types import Answer

VERSION = "2023-06-01"
"""Of the protocol, sent with each request."""


class AnthropicBackend(OpenAIBackend):
    """Ask a server that speaks Anthropic's Messages protocol; it answers chat requests only.

    Parameters
    ----------
    structured : {"none", "json_schema"}
        Whether the server is told by a JSON schema what the answer may be.

    Other parameters and errors as `OpenAIBackend`.
    """

    NAME = "anthropic"

    def __init__(self, *, structured: str = "none", **options: Any) -> None:
        check_choice("structured", structured, STRUCTURED)
        super().__init__(structured=structured, **options)

    def _make_headers(self) -> list[tuple[bytes, bytes]]:
        headers = [pair for pair in super()._make_headers() if pair[0] != b"Authorization"]
        headers.append((b"anthropic-version", VERSION.encode("ascii")))
        if self._key:
            headers.append((b"x-api-key", self._key.encode("ascii")))
        return headers

    def body_of(self, request: WireRequest) -> dict[str, Any]:
        """Return the body of a chat request; raises PermanentBackendError."""
        if request.kind != "chat":
            raise PermanentBackendError(
                f"Anthropic's API answers chat requests, not '{request.kind}' requests."
            )
        return build_message(request, structured=self._structured, extra=self._extra, images=self._images)

    def answer_of(self, reply: ServerReply, request: WireRequest, *, latency_ms: float = 0.0) -> Answer:
        """Return the answer of a reply to a chat request; raises BackendError as `read_message`."""
        prices = self._prices.of(request.model)
        return read_message(reply, request, structured=self._structured, latency_ms=latency_ms, prices=prices)

    async def _ask(self, request: WireRequest) -> Answer:
        started = time.perf_counter()
        seconds = seconds_for(request.decoding, self._timeout)
        reply = await self._post(f"{self._base}/messages", self.body_of(request), seconds)
        return self.answer_of(reply, request, latency_ms=(time.perf_counter() - started) * 1000.0)

"""Batches of requests that a vendor answers within a day, at half the price: what OpenAI's and Anthropic's share.

Nothing here remembers anything: which requests a batch has, and what its number is, stands in the database
(`judges.engine.batches`). What a server returns is read within limits, line by line, and believed as little as a reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Protocol, TypeAlias

from judges.backends.errors import BackendError, MisbehavingServerError, PermanentBackendError
from judges.backends.openai import OpenAIBackend
from judges.backends.openai_protocol import ServerReply, document_of
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

WINDOW_HOURS = 24
"""Within which a batch is answered; what is not by then has expired."""
MOST_OF_OBJECT = 1024 * 1024
"""Bytes of a reply about a batch or a file."""
MOST_OF_PAGE = 4 * 1024 * 1024
"""Bytes of one page of a list of batches."""
MOST_PAGES = 10
MOST_OF_LINE = 16 * 1024 * 1024
"""Bytes of one line of results: a reply, as large as one that comes by itself."""
MOST_OF_RESULTS = 2 * 1024 * 1024 * 1024
"""Bytes of the results of one batch."""
FILE_SECONDS = 1800.0
"""For an upload or a download."""
PIECE = 1024 * 1024
Form: TypeAlias = Callable[[int, str, dict[str, Any]], bytes]
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What a vendor takes in one batch: requests, and bytes of them."""

    requests: int
    bytes: int


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What a server says of a batch.

    Attributes
    ----------
    is_over : bool
        Nothing of it is answered any more; what was, can be read.
    n_done, n_failed : int
        Requests that were answered, and that failed. Anthropic counts when the batch is over.
    refused : str
        Why the server did not take the batch at all; empty where it did.
    """

    is_over: bool
    n_done: int = 0
    n_failed: int = 0
    refused: str = ""


@dataclass(slots=True)
class Written:
    """What stands in the file of a batch: how many requests, and of those that cannot be sent why, by custom id."""

    n: int = 0
    refused: dict[str, str] = field(default_factory=dict)


class BatchServer(Protocol):
    """A vendor's batches. Each method asks the server and waits for its reply; all raise BackendError."""

    limits: BatchLimits

    def write(self, requests: Iterable[tuple[str, WireRequest]], file: IO[bytes]) -> Written:
        """Write requests, each with its custom id, as the server takes them.

        Raises
        ------
        PermanentBackendError
            They are more, or larger, than a batch takes.
        """

    def create(self, key: str, file: IO[bytes]) -> str:
        """Submit a batch under a key of ours; returns the server's id of it."""

    def find(self, key: str, *, n: int, since: datetime, known: Collection[str]) -> list[str]:
        """Return the ids of batches that may be the one of `n` requests that was submitted under a key, `known` ones
        left out: of which it is not known whether the server got it.
        """

    def look(self, remote: str) -> BatchReport:
        """Return how far a batch is."""

    def cancel(self, remote: str) -> None:
        """Ask the server to answer no more of a batch; what it has answered is kept, and paid for."""

    def fetch(self, remote: str, file: IO[bytes]) -> None:
        """Write the lines of results of a batch that is over."""

    def read(self, line: dict[str, Any], request: WireRequest) -> Answer | BackendError:
        """Return what a line of results says of a request."""

    def close(self) -> None:
        """Free all resources."""


def checked_id(value: object, reply: ServerReply) -> str:
    """Return an id as it may stand in an address; raises MisbehavingServerError."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise MisbehavingServerError(reply.say("an id that cannot be used"), status=reply.status)
    return value


def count_in(values: object, *names: str) -> int:
    """Return the sum of counts of a report, 0 for what is none."""
    found = values if isinstance(values, dict) else {}
    counts = [found.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int) and 0 <= count < 2**31)


def lines_of(file: IO[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the custom id and the object of each line of results; lines that are none of it are passed over."""
    while line := file.readline(MOST_OF_LINE):
        try:
            values = json.loads(line)
            key = values["custom_id"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if isinstance(key, str):
            yield key, values


async def pieces_of(file: IO[bytes], before: bytes = b"", after: bytes = b"") -> AsyncIterator[bytes]:
    """Yield the bytes of a file, with what stands before and after it in a body."""
    if before:
        yield before
    while piece := file.read(PIECE):
        yield piece
    if after:
        yield after


class HTTPBatches:
    """What both vendors' batches need of a backend: its address, key, limits, forms of requests and answers."""

    def __init__(self, backend: OpenAIBackend) -> None:
        self.backend = backend

    def close(self) -> None:
        self.backend.close()

    def document(
        self, method: str, path: str, *, most: int = MOST_OF_OBJECT, body: Any = None
    ) -> ServerReply:
        """Ask for an object; returns the reply, raises BackendError for any status but 200."""
        content = b"" if body is None else json.dumps(body).encode("ascii")
        reply = self.backend.call(
            method,
            f"{self.backend.base}/{path}",
            content=content,
            headers={"Content-Length": str(len(content))},
            most=most,
        )
        document_of(reply)
        return reply

    def upload(self, path: str, content: AsyncIterator[bytes], *, length: int, kind: str) -> ServerReply:
        """Send a file that is too large for memory; returns the reply, raises BackendError."""
        headers = {"Content-Type": kind, "Content-Length": str(length)}
        url = f"{self.backend.base}/{path}"
        reply = self.backend.call(
            "POST", url, content=content, headers=headers, most=MOST_OF_OBJECT, seconds=FILE_SECONDS
        )
        document_of(reply)
        return reply

    def download(self, path: str, file: IO[bytes]) -> None:
        """Write a file of results; raises BackendError."""
        url = f"{self.backend.base}/{path}"
        reply = self.backend.call("GET", url, sink=file, most=MOST_OF_RESULTS, seconds=FILE_SECONDS)
        if reply.status != 200:
            document_of(reply)

    def reply_of(self, status: object, body: object) -> ServerReply:
        """Return a line's part as the reply that it would have been by itself."""
        shown = json.dumps(body).encode("ascii")
        return ServerReply(self.backend.base, status if isinstance(status, int) else 500, {}, shown)

    def answer(self, reply: ServerReply, request: WireRequest) -> Answer | BackendError:
        """Return a line's answer, or the error that says what to do about it."""
        try:
            return self.backend.answer_of(reply, request)
        except BackendError as error:
            return error

    def written(
        self, requests: Iterable[tuple[str, WireRequest]], file: IO[bytes], limits: BatchLimits, form: Form
    ) -> Written:
        """Write requests to a file, each by `form`, which is told its place; as `BatchServer.write`."""
        done = Written()
        for key, request in requests:
            try:
                body = self.backend.body_of(request)
            except PermanentBackendError as error:
                done.refused[key] = str(error)
                continue
            file.write(form(done.n, key, body))
            done.n += 1
            if done.n > limits.requests or file.tell() > limits.bytes:
                raise PermanentBackendError(
                    f"A batch has at most {limits.requests:,} requests and {limits.bytes // 1_000_000} MB."
                )
        return done

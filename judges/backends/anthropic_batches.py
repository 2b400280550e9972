"""Batches of Anthropic's form: all requests in one body at ``/messages/batches``, results as lines of one stream."""

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import IO, Any

from judges.backends.base import storable
from judges.backends.batches import (
    MOST_OF_PAGE,
    MOST_PAGES,
    BatchLimits,
    BatchReport,
    HTTPBatches,
    Written,
    checked_id,
    count_in,
    pieces_of,
)
from judges.backends.errors import BackendError, EndpointError, PermanentBackendError, TransientBackendError
from judges.backends.openai_protocol import document_of
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

LIMITS = BatchLimits(requests=100_000, bytes=256_000_000)
PERMANENT = frozenset({"invalid_request_error", "request_too_large", "not_found_error"})
OF_ENDPOINT = frozenset({"authentication_error", "permission_error", "billing_error"})
CLOCKS = timedelta(minutes=10)
"""By how much the server's clock may differ from ours."""
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class AnthropicBatches(HTTPBatches):
    """`BatchServer` of Anthropic."""

    limits = LIMITS

    def write(self, requests: Iterable[tuple[str, WireRequest]], file: IO[bytes]) -> Written:
        """Write the body of a batch; as `BatchServer.write`."""
        file.write(b'{"requests":[')
        done = self.written(requests, file, LIMITS, _member)
        file.write(b"]}")
        return done

    def create(self, key: str, file: IO[bytes]) -> str:  # noqa: ARG002 (there is no place for it)
        """Submit the batch."""
        size = file.seek(0, 2)
        file.seek(0)
        reply = self.upload("messages/batches", pieces_of(file), length=size, kind="application/json")
        return checked_id(document_of(reply).get("id"), reply)

    def find(self, key: str, *, n: int, since: datetime, known: Collection[str]) -> list[str]:  # noqa: ARG002
        """Return the ids of batches of so many requests that were made since, the oldest first.

        A batch has no place for a key of ours, so only the custom ids of its results tell whether it is ours.
        """
        found: list[str] = []
        after = ""
        for _ in range(MOST_PAGES):
            path = f"messages/batches?limit=100{f'&after_id={after}' if after else ''}"
            reply = self.document("GET", path, most=MOST_OF_PAGE)
            document = document_of(reply)
            rows = document.get("data")
            rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            for row in rows:
                counts = ("processing", "succeeded", "errored", "canceled", "expired")
                number = checked_id(row.get("id"), reply)
                is_new = (made := _moment(row.get("created_at"))) is None or made >= since - CLOCKS
                if is_new and number not in known and count_in(row.get("request_counts"), *counts) == n:
                    found.append(number)
            last = _moment(rows[-1].get("created_at")) if rows else None
            if not rows or document.get("has_more") is not True or (last and last < since - CLOCKS):
                break
            after = checked_id(rows[-1].get("id"), reply)
        return found[::-1]

    def look(self, remote: str) -> BatchReport:
        """Return how far a batch is."""
        document = document_of(self.document("GET", f"messages/batches/{remote}"))
        counts = document.get("request_counts")
        return BatchReport(
            is_over=document.get("processing_status") == "ended",
            n_done=count_in(counts, "succeeded"),
            n_failed=count_in(counts, "errored", "canceled", "expired"),
        )

    def cancel(self, remote: str) -> None:
        """Ask the server to answer no more of it; one that is over already is as good."""
        try:
            self.document("POST", f"messages/batches/{remote}/cancel")
        except PermanentBackendError:
            return

    def fetch(self, remote: str, file: IO[bytes]) -> None:
        """Write the lines of its results: from the address that is known, not from the one in the reply."""
        self.download(f"messages/batches/{remote}/results", file)

    def read(self, line: dict[str, Any], request: WireRequest) -> Answer | BackendError:
        """Return what a line says: succeeded with a message, errored, canceled or expired."""
        result = line.get("result")
        result = result if isinstance(result, dict) else {}
        kind = result.get("type")
        if kind == "succeeded":
            return self.answer(self.reply_of(200, result.get("message")), request)
        said = result.get("error")
        said = said.get("error", said) if isinstance(said, dict) else {}
        said = said if isinstance(said, dict) else {}
        name = said.get("type") if isinstance(said.get("type"), str) else ""
        shown = said.get("message") if isinstance(said.get("message"), str) else f"the request {kind}"
        message = f"{self.backend.base}: {storable(' '.join(str(shown).split())[:200])}"
        if name in PERMANENT:
            return PermanentBackendError(message)
        return EndpointError(message) if name in OF_ENDPOINT else TransientBackendError(message)


def _member(place: int, key: str, body: dict[str, Any]) -> bytes:
    text = _encode({"custom_id": key, "params": body}).encode("ascii")
    return b"," + text if place else text


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment

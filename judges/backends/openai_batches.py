"""Batches of OpenAI's form: a file of requests at ``/files``, a batch of it at ``/batches``, files of results."""

import json
import uuid
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import IO, Any

from judges.backends.base import storable
from judges.backends.batches import (
    MOST_OF_PAGE,
    MOST_PAGES,
    WINDOW_HOURS,
    BatchLimits,
    BatchReport,
    HTTPBatches,
    Written,
    checked_id,
    count_in,
    pieces_of,
)
from judges.backends.errors import BackendError, PermanentBackendError, TransientBackendError
from judges.backends.openai_protocol import document_of
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

LIMITS = BatchLimits(requests=50_000, bytes=200_000_000)
KEY = "touchstone_batch"
"""The name in a batch's metadata under which our key is: by it a batch is found again."""
OVER = frozenset({"completed", "expired", "cancelled", "failed"})
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class OpenAIBatches(HTTPBatches):
    """`BatchServer` of OpenAI and of servers that speak its protocol."""

    limits = LIMITS

    def write(self, requests: Iterable[tuple[str, WireRequest]], file: IO[bytes]) -> Written:
        """Write a JSONL file of requests; as `BatchServer.write`."""
        return self.written(requests, file, LIMITS, _line)

    def create(self, key: str, file: IO[bytes]) -> str:
        """Upload the file and make a batch of it. What is uploaded and never used expires by itself."""
        boundary = uuid.uuid4().hex
        form = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{key}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode("ascii")
        end = f"\r\n--{boundary}--\r\n".encode("ascii")
        size = file.seek(0, 2)
        file.seek(0)
        reply = self.upload(
            "files",
            pieces_of(file, form, end),
            length=len(form) + size + len(end),
            kind=f"multipart/form-data; boundary={boundary}",
        )
        uploaded = checked_id(document_of(reply).get("id"), reply)
        body = {
            "input_file_id": uploaded,
            "endpoint": "/v1/chat/completions",
            "completion_window": f"{WINDOW_HOURS}h",
            "metadata": {KEY: key},
        }
        reply = self.document("POST", "batches", body=body)
        return checked_id(document_of(reply).get("id"), reply)

    def find(self, key: str, *, n: int, since: datetime, known: Collection[str]) -> list[str]:  # noqa: ARG002
        """Return the id of the batch that has our key in its metadata, in a list; the newest come first."""
        after = ""
        for _ in range(MOST_PAGES):
            path = f"batches?limit=100{f'&after={after}' if after else ''}"
            reply = self.document("GET", path, most=MOST_OF_PAGE)
            document = document_of(reply)
            rows = document.get("data")
            rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            for row in rows:
                metadata = row.get("metadata")
                if isinstance(metadata, dict) and metadata.get(KEY) == key:
                    return [checked_id(row.get("id"), reply)]
            created = rows[-1].get("created_at") if rows else None
            old = isinstance(created, int | float) and created < since.timestamp()
            if not rows or old or document.get("has_more") is not True:
                break
            after = checked_id(rows[-1].get("id"), reply)
        return []

    def look(self, remote: str) -> BatchReport:
        """Return how far a batch is."""
        document = document_of(self.document("GET", f"batches/{remote}"))
        status, counts = document.get("status"), document.get("request_counts")
        return BatchReport(
            is_over=status in OVER,
            n_done=count_in(counts, "completed"),
            n_failed=count_in(counts, "failed"),
            refused=_refusal(document) if status == "failed" else "",
        )

    def cancel(self, remote: str) -> None:
        """Ask the server to answer no more of it; one that is over already is as good."""
        try:
            self.document("POST", f"batches/{remote}/cancel")
        except PermanentBackendError:
            return
        except TransientBackendError as error:
            if error.status != 409:
                raise

    def fetch(self, remote: str, file: IO[bytes]) -> None:
        """Write the lines of its output and error files, of those that there are."""
        reply = self.document("GET", f"batches/{remote}")
        document = document_of(reply)
        for name in ("output_file_id", "error_file_id"):
            if document.get(name):
                self.download(f"files/{checked_id(document[name], reply)}/content", file)
                file.write(b"\n")

    def read(self, line: dict[str, Any], request: WireRequest) -> Answer | BackendError:
        """Return what a line says: a reply with its status, or why there was none (expired, cancelled)."""
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict):
            return self.answer(self.reply_of(response.get("status_code"), response.get("body")), request)
        said = error if isinstance(error, dict) else {}
        words = [
            storable(value)[:200] for name in ("code", "message") if isinstance(value := said.get(name), str)
        ]
        return TransientBackendError(f"{self.backend.base}: {': '.join(words) or 'a result without a reply'}")


def _line(_: int, key: str, body: dict[str, Any]) -> bytes:
    line = {"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return _encode(line).encode("ascii") + b"\n"


def _refusal(document: dict[str, Any]) -> str:
    errors = document.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    said = [row.get("message") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    texts = [" ".join(storable(text).split())[:200] for text in said if isinstance(text, str)]
    return "; ".join(texts[:3]) or "no reason given"

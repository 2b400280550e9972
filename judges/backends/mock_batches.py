"""The mock server's batches: OpenAI's files and batches and Anthropic's message batches, in the real protocols' forms.

A batch is answered by the same models as single requests, each by a request of the server to itself. It moves a step on
each time that somebody looks at it, so a test decides how far it is by how often it looks: validating, in progress,
done. The name of a request's model says how that request fails ("mock-500"), `MockBatches.mode` how a batch does.
"""

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

WINDOW = timedelta(hours=24)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Reply = tuple[int, dict[str, Any] | bytes]


@dataclass(slots=True)
class MockBatch:
    """One batch: its requests, what became of each, and where it stands."""

    id: str
    requests: list[dict[str, Any]]
    metadata: dict[str, str] | None = None
    file: str = ""
    status: str = "validating"
    looks: int = 0
    results: dict[str, Reply] = field(default_factory=dict)
    is_cancelled: bool = False


class MockBatches:
    """All batches of one server, of both protocols.

    Attributes
    ----------
    mode : {"", "expire", "refuse", "hold"}
        "expire": only the first half is answered, the rest expires; "refuse": OpenAI's validation fails; "hold": a
        batch is never done by itself.
    stalled : {"", "create", "results"}
        Nothing is replied to a request of this kind while it is set: what it did is done all the same.
    n_stalled : int
        Requests that were not replied to.
    created, cancelled : int
        How many batches were made and cancelled; each made one would be on a bill.
    answered : dict of str to int
        How often each custom id was answered in a batch.
    """

    def __init__(self, ask: Callable[[str, dict[str, Any]], Reply]) -> None:
        self.mode = self.stalled = ""
        self.n_stalled = 0
        self.created = self.cancelled = 0
        self.answered: dict[str, int] = {}
        self._ask = ask
        self._lock = threading.RLock()
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, MockBatch] = {}

    def stall(self, what: str) -> None:
        """Wait for as long as requests of this kind are not replied to."""
        if self.stalled == what:
            self.n_stalled += 1
        while self.stalled == what:
            time.sleep(0.02)

    # --- both -----------------------------------------------------------------------------------------------

    def _made(self, prefix: str, requests: list[dict[str, Any]], **fields: Any) -> MockBatch:
        self.created += 1
        place = len(self._batches) + 1
        batch = MockBatch(f"{prefix}{place:024d}", requests, **fields)
        self._batches[batch.id] = batch
        return batch

    def _listed(self, prefix: str, after: str, limit: int) -> tuple[list[MockBatch], bool]:
        rows = [batch for batch in reversed(self._batches.values()) if batch.id.startswith(prefix)]
        if after:
            places = [row.id for row in rows]
            rows = rows[places.index(after) + 1 :] if after in places else []
        return rows[:limit], len(rows) > limit

    def _run(self, batch: MockBatch, path: str, member: str) -> None:
        expiring = self.mode == "expire"
        last = len(batch.requests) // 2 if expiring else len(batch.requests)
        for request in batch.requests[:last]:
            key = request["custom_id"]
            batch.results[key] = self._ask(path, request[member])
            self.answered[key] = self.answered.get(key, 0) + 1

    # --- OpenAI's form ----------------------------------------------------------------------------------------

    def file_make(self, kind: str, raw: bytes) -> Reply:
        """POST /v1/files: a multipart form with a purpose and a file."""
        boundary = re.search(r"boundary=\"?([^\";]+)", kind)
        parts = raw.split(b"--" + boundary.group(1).encode()) if boundary else []
        found: dict[str, bytes] = {}
        for part in parts[1:-1]:
            head, _, body = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            named = re.search(rb'name="(\w+)"', head)
            if named:
                found[named.group(1).decode()] = body.removesuffix(b"\r\n")
        if found.get("purpose") != b"batch" or "file" not in found:
            return 400, _error("a file with the purpose 'batch' is needed")
        with self._lock:
            number = f"file-{len(self._files) + 1:024d}"
            self._files[number] = found["file"]
        return 200, self._file_object(number, len(found["file"]))

    @staticmethod
    def _file_object(number: str, size: int) -> dict[str, Any]:
        return {
            "id": number,
            "object": "file",
            "bytes": size,
            "created_at": int(EPOCH.timestamp()),
            "filename": "batch.jsonl",
            "purpose": "batch",
            "status": "processed",
        }

    def file_read(self, number: str) -> Reply:
        """GET /v1/files/ID/content."""
        with self._lock:
            content = self._files.get(number)
        return (200, content) if content is not None else (404, _error("no such file"))

    def openai_make(self, raw: bytes) -> Reply:
        """POST /v1/batches."""
        try:
            body = json.loads(raw)
            lines = self._files[body["input_file_id"]].splitlines()
            requests = [json.loads(line) for line in lines if line.strip()]
            assert body["endpoint"] == "/v1/chat/completions"
            assert body["completion_window"] == "24h"
            assert all(row["method"] == "POST" and row["url"] == body["endpoint"] for row in requests)
        except (ValueError, KeyError, TypeError, AssertionError):
            return 400, _error("the batch is not right")
        with self._lock:
            batch = self._made("batch_", requests, metadata=body.get("metadata"), file=body["input_file_id"])
            return 200, self._openai_object(batch)

    def openai_look(self, number: str) -> Reply:
        """GET /v1/batches/ID; each look moves it a step on."""
        with self._lock:
            batch = self._batches.get(number)
            if batch is None:
                return 404, _error("no such batch")
            batch.looks += 1
            ids = [row["custom_id"] for row in batch.requests]
            models = {row["body"].get("model") for row in batch.requests}
            if batch.status == "validating":
                wrong = self.mode == "refuse" or len(set(ids)) < len(ids) or len(models) > 1
                batch.status = "failed" if wrong else "in_progress"
            elif batch.status == "cancelling":
                batch.status = "cancelled"
            elif batch.status == "in_progress" and self.mode != "hold":
                self._run(batch, "/v1/chat/completions", "body")
                batch.status = "expired" if self.mode == "expire" else "completed"
            return 200, self._openai_object(batch)

    def openai_list(self, after: str, limit: int) -> Reply:
        """GET /v1/batches, the newest first."""
        with self._lock:
            rows, more = self._listed("batch_", after, limit)
            data = [self._openai_object(row) for row in rows]
        ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
        return 200, {"object": "list", "data": data, "has_more": more, **ends}

    def openai_cancel(self, number: str) -> Reply:
        """POST /v1/batches/ID/cancel."""
        with self._lock:
            batch = self._batches.get(number)
            if batch is None:
                return 404, _error("no such batch")
            if batch.status not in ("validating", "in_progress"):
                return 409, _error(f"a batch that is {batch.status} cannot be cancelled")
            self.cancelled += 1
            batch.is_cancelled, batch.status = True, "cancelling"
            return 200, self._openai_object(batch)

    def _openai_object(self, batch: MockBatch) -> dict[str, Any]:
        made = int(datetime.now(UTC).timestamp())
        now: dict[str, Any] = {}
        done = {key: reply for key, reply in batch.results.items() if reply[0] == 200}
        over = batch.status in ("completed", "expired", "cancelled")
        if over:
            now = {f"{batch.status}_at": made}
        code = "batch_cancelled" if batch.is_cancelled else "batch_expired"
        output: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for place, row in enumerate(batch.requests):
            key = row["custom_id"]
            line: dict[str, Any] = {
                "id": f"batch_req_{place}",
                "custom_id": key,
                "response": None,
                "error": None,
            }
            if key in batch.results:
                status, body = batch.results[key]
                line["response"] = {"status_code": status, "request_id": f"req_{place}", "body": body}
            else:
                line["error"] = {"code": code, "message": "This request could not be executed."}
            (output if key in done else errors).append(line)
        for name, lines in (("output", output), ("error", errors)):
            if over and lines:
                number = f"file-{name}-{batch.id}"
                self._files[number] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
                now[f"{name}_file_id"] = number
        failed = {"object": "list", "data": [{"code": "mock", "message": "the mock refused it", "line": 1}]}
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": failed if batch.status == "failed" else None,
            "input_file_id": batch.file,
            "completion_window": "24h",
            "status": batch.status,
            "created_at": made,
            "expires_at": made + int(WINDOW.total_seconds()),
            "metadata": batch.metadata,
            "request_counts": {
                "total": len(batch.requests),
                "completed": len(done),
                "failed": len(batch.results) - len(done),
            },
            **now,
        }

    # --- Anthropic's form -------------------------------------------------------------------------------------

    def anthropic_make(self, raw: bytes, base: str) -> Reply:
        """POST /v1/messages/batches."""
        try:
            requests = json.loads(raw)["requests"]
            ids = [row["custom_id"] for row in requests]
            assert ids
            assert len(set(ids)) == len(ids)
            assert all(map(_CUSTOM_ID.fullmatch, ids))
            assert all(isinstance(row["params"], dict) for row in requests)
        except (ValueError, KeyError, TypeError, AssertionError):
            return 400, anthropic_error("invalid_request_error", "the batch is not right")
        with self._lock:
            batch = self._made("msgbatch_", requests, status="in_progress")
            return 200, self._anthropic_object(batch, base)

    def anthropic_look(self, number: str, base: str) -> Reply:
        """GET /v1/messages/batches/ID; the second look ends it."""
        with self._lock:
            batch = self._batches.get(number)
            if batch is None:
                return 404, anthropic_error("not_found_error", "no such batch")
            batch.looks += 1
            if batch.status == "canceling":
                batch.status = "ended"
            elif batch.status == "in_progress" and batch.looks > 1 and self.mode != "hold":
                self._run(batch, "/v1/messages", "params")
                batch.status = "ended"
            return 200, self._anthropic_object(batch, base)

    def anthropic_list(self, after: str, limit: int, base: str) -> Reply:
        """GET /v1/messages/batches, the newest first."""
        with self._lock:
            rows, more = self._listed("msgbatch_", after, limit)
            data = [self._anthropic_object(row, base) for row in rows]
        ends = {"first_id": data[0]["id"] if data else None, "last_id": data[-1]["id"] if data else None}
        return 200, {"data": data, "has_more": more, **ends}

    def anthropic_cancel(self, number: str, base: str) -> Reply:
        """POST /v1/messages/batches/ID/cancel."""
        with self._lock:
            batch = self._batches.get(number)
            if batch is None:
                return 404, anthropic_error("not_found_error", "no such batch")
            if batch.status == "ended":
                return 400, anthropic_error("invalid_request_error", "the batch has ended")
            self.cancelled += 1
            batch.is_cancelled, batch.status = True, "canceling"
            return 200, self._anthropic_object(batch, base)

    def anthropic_results(self, number: str) -> Reply:
        """GET /v1/messages/batches/ID/results: a line for each request, in another order than they were sent."""
        with self._lock:
            batch = self._batches.get(number)
            if batch is None or batch.status != "ended":
                return 404, anthropic_error("not_found_error", "there are no results")
            lines = [self._anthropic_line(batch, row["custom_id"]) for row in reversed(batch.requests)]
        return 200, b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    @staticmethod
    def _anthropic_line(batch: MockBatch, key: str) -> dict[str, Any]:
        if key not in batch.results:
            return {"custom_id": key, "result": {"type": "canceled" if batch.is_cancelled else "expired"}}
        status, body = batch.results[key]
        if status == 200:
            return {"custom_id": key, "result": {"type": "succeeded", "message": body}}
        return {"custom_id": key, "result": {"type": "errored", "error": body}}

    def _anthropic_object(self, batch: MockBatch, base: str) -> dict[str, Any]:
        kinds = [self._anthropic_line(batch, row["custom_id"])["result"]["type"] for row in batch.requests]
        over = batch.status == "ended"
        counts = {
            kind: kinds.count(kind) if over else 0 for kind in ("succeeded", "errored", "canceled", "expired")
        }
        made = datetime.now(UTC)
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": batch.status,
            "request_counts": {"processing": 0 if over else len(kinds), **counts},
            "created_at": made.isoformat(),
            "expires_at": (made + WINDOW).isoformat(),
            "ended_at": made.isoformat() if over else None,
            "archived_at": None,
            "cancel_initiated_at": made.isoformat() if batch.is_cancelled else None,
            "results_url": f"{base}/messages/batches/{batch.id}/results" if over else None,
        }


def asking(url: str, key: str) -> Callable[[str, dict[str, Any]], Reply]:
    """Return a function that asks the server at a URL, without a version, one request by itself."""

    def ask(path: str, body: dict[str, Any]) -> Reply:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", "x-api-key": key}
        request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)  # noqa: S310 (our own)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
                return 200, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    return ask


def anthropic_error(kind: str, message: str) -> dict[str, Any]:
    """Return an error as Anthropic's API says it."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"}


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "mock_error", "param": None, "code": None}}

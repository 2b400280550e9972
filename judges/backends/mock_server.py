"""A deterministic server that speaks the OpenAI protocol, for tests, demonstrations and dry runs.

Run it with ``python -m judges.backends.mock_server --port 0``, which prints its URL, or in a test::

    with running_mock_server() as server:
        backend = OpenAIBackend(base_url=server.url)

It serves ``GET /v1/models`` and ``/stats``, and ``POST /v1/chat/completions`` (one choice, no streaming),
``/v1/completions`` (with ``echo`` and ``logprobs``), ``/v1/embeddings``, and as vLLM does ``/tokenize``, ``/classify``
and ``/score``; as Anthropic does ``/v1/messages``; and the batches of both (`judges.backends.mock_batches`). The
model's name decides how it behaves: see `judges.backends.mock_models`.
"""

import argparse
import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from judges.backends.mock_answers import respond, token_logprobs
from judges.backends.mock_batches import MockBatches, Reply, anthropic_error, asking
from judges.backends.mock_images import seen
from judges.backends.mock_material import called_schema
from judges.backends.mock_messages import KINDS, chat_of, message_of
from judges.backends.mock_models import LISTED, MockModel, fraction_of, parse_model
from judges.backends.mock_thinking import NO_THINKING, Thinking, has_no_room, refusal, thinking_of
from judges.backends.mock_tokens import (
    class_scores,
    completion_logprobs,
    pieces,
    templated,
    text_of,
    token_ids,
    vector,
)

RETRY_AFTER = "0.05"
"""Seconds, so that tests that honour it stay quick."""
_MAX_REQUEST = 16 * 1024 * 1024
_MAX_BATCH = 256 * 1024 * 1024
_CHAT = "/v1/chat/completions"
_MESSAGES = "/v1/messages"
_PATHS = frozenset(
    {_CHAT, _MESSAGES, "/v1/completions", "/v1/embeddings", "/tokenize", "/classify", "/score"}
)


class MockServer(ThreadingHTTPServer):
    """The server; `url` is the base URL for a backend.

    Parameters
    ----------
    port : int
        0 takes a free one.
    api_key : str
        When set, requests must carry it as a bearer token, else they get HTTP 401.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # the default of 5 refuses connections as soon as there is real concurrency

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0, api_key: str = "") -> None:
        super().__init__((host, port), _Handler)
        self.api_key = api_key
        self.batches = MockBatches(asking(self.url.removesuffix("/v1"), api_key))
        self.behind: dict[str, tuple[str, str]] = {}
        """By the name that is asked for, the model that answers in its place and its fingerprint: a silent change."""
        self._lock = threading.Lock()
        self._seen: Counter[str] = Counter()
        self._models: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self._in_flight = self._most_in_flight = 0

    @property
    def url(self) -> str:
        """Base URL with the version, without a slash at the end."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/v1"

    def stats(self) -> dict[str, Any]:
        """Return what was asked so far: in all, by model, by status, distinct and repeated."""
        with self._lock:
            return {
                "requests": self._seen.total(),
                "distinct": len(self._seen),
                "repeated": self._seen.total() - len(self._seen),
                "most_in_flight": self._most_in_flight,
                "by_model": dict(sorted(self._models.items())),
                "by_status": {str(status): count for status, count in sorted(self._statuses.items())},
            }

    def arrived(self, key: str, model: str) -> int:
        """Count a request; returns how often the same one was seen before."""
        with self._lock:
            self._in_flight += 1
            self._most_in_flight = max(self._most_in_flight, self._in_flight)
            before = self._seen[key]
            self._seen[key] += 1
            self._models[model] += 1
            return before

    def left(self) -> None:
        """Count a request that has been dealt with."""
        with self._lock:
            self._in_flight -= 1

    def answered(self, status: int) -> None:
        """Count an answer, before it is sent: whoever has read it finds it counted."""
        with self._lock:
            self._statuses[status] += 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent when a client goes away; anything else is a mistake worth seeing."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave in one packet, flushed by the base class
    disable_nagle_algorithm = True  # else keep-alive connections wait 40 ms for an acknowledgement
    server: MockServer
    fingerprint = ""

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log: the counts are in /stats."""

    def do_GET(self) -> None:
        if self.path == "/stats":
            self._send(200, self.server.stats())
        elif self.path == "/v1/models":
            listed = [{"id": name, "object": "model", "owned_by": "mock"} for name in LISTED]
            self._send(200, {"object": "list", "data": listed})
        elif self._is_refused():
            self._fail(401, "the key is not right")
        elif (found := self._batch_read()) is not None:
            self._send(found[0], found[1])
        else:
            self._fail(404, "no such path")

    def _is_refused(self) -> bool:
        key = self.server.api_key
        sent = (self.headers.get("Authorization"), self.headers.get("x-api-key"))
        return bool(key) and sent[0] != f"Bearer {key}" and sent[1] != key

    def _batch_read(self) -> Reply | None:
        """Answer a GET of files and batches; None for another path."""
        batches, base = self.server.batches, self.server.url
        path, _, query = self.path.partition("?")
        asked = dict(parse_qsl(query))
        limit = int(asked["limit"]) if asked.get("limit", "").isdecimal() else 20
        match path.strip("/").split("/"):
            case ["v1", "files", number, "content"]:
                batches.stall("results")
                return batches.file_read(number)
            case ["v1", "batches"]:
                return batches.openai_list(asked.get("after", ""), limit)
            case ["v1", "batches", number]:
                return batches.openai_look(number)
            case ["v1", "messages", "batches"]:
                return batches.anthropic_list(asked.get("after_id", ""), limit, base)
            case ["v1", "messages", "batches", number]:
                return batches.anthropic_look(number, base)
            case ["v1", "messages", "batches", number, "results"]:
                batches.stall("results")
                return batches.anthropic_results(number)
        return None

    def _batch_write(self, raw: bytes) -> Reply | None:
        """Answer a POST to files and batches; None for another path."""
        batches, base = self.server.batches, self.server.url
        match self.path.partition("?")[0].strip("/").split("/"):
            case ["v1", "files"]:
                return batches.file_make(self.headers.get("Content-Type", ""), raw)
            case ["v1", "batches"]:
                made = batches.openai_make(raw)
                batches.stall("create")
                return made
            case ["v1", "batches", number, "cancel"]:
                return batches.openai_cancel(number)
            case ["v1", "messages", "batches"]:
                made = batches.anthropic_make(raw, base)
                batches.stall("create")
                return made
            case ["v1", "messages", "batches", number, "cancel"]:
                return batches.anthropic_cancel(number, base)
        return None

    def do_POST(self) -> None:
        try:
            length = int(self.headers.get("Content-Length") or 0)
        except ValueError:
            length = -1
        most = _MAX_BATCH if self.path in ("/v1/files", "/v1/messages/batches") else _MAX_REQUEST
        if not 0 <= length <= most:
            self.close_connection = True
            self._fail(413, "the request is too large")
            return
        raw = self.rfile.read(length)
        if self._is_refused():
            self._fail(401, "the key is not right")
        elif (found := self._batch_write(raw)) is not None:
            self._send(found[0], found[1])
        elif self.path not in _PATHS:
            self._fail(404, "no such path")
        else:
            self._complete(raw)

    def _complete(self, raw: bytes) -> None:
        try:
            body = json.loads(raw)
            if self.path == _MESSAGES:
                body = chat_of(body)
            if self.path in (_CHAT, _MESSAGES):
                body["messages"] = [each | {"content": seen(each["content"])} for each in body["messages"]]
            name, text = body["model"], _text_of(self.path, body)
            well_formed = isinstance(name, str)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            well_formed = False
        if not well_formed:
            self._fail(400, "a model and what it is to read are needed")
            return
        name, self.fingerprint = self.server.behind.get(name, (name, ""))
        model = parse_model(name)
        if model is None:
            self._fail(404, f"The model `{name}` does not exist.")
            return
        before = self.server.arrived(sha256(self.path.encode() + raw).hexdigest(), name)
        try:
            if not self._misbehave(model, name, body, len(text), before):
                self._answer(model, name, body, text)
        finally:
            self.server.left()

    def _misbehave(self, model: MockModel, name: str, body: dict[str, Any], size: int, before: int) -> bool:
        """Behave as badly as the model's name says; False if this request is to be answered."""
        kind = model.kind
        if kind == "500" or (kind == "500-once" and not before):
            self._fail(500, "the mock failed, as requested")
        elif kind in {"429", "429-bare"} and not before:
            headers = {"Retry-After": RETRY_AFTER} if kind == "429" else None
            self._fail(429, "too many requests", headers=headers)
        elif kind == "flaky" and not before and fraction_of("flaky", name, body) < model.p:
            self._fail(503, "the mock is busy")
        elif kind == "400-long" and size > model.limit:
            self._fail(400, "This model's maximum context length is exceeded by the prompt.")
        elif kind == "401":
            self._fail(401, "the key is not right")
        elif kind == "html":
            self._send(
                200, b"<!doctype html><title>Welcome</title><p>This is a login page.", kind="text/html"
            )
        elif kind == "null":
            self._send(200, self._envelope(name, body, size, {"role": "assistant", "content": None}))
        elif kind == "no-choices":
            self._send(200, {"object": "chat.completion", "model": name, "choices": []})
        elif kind == "drop":
            self._drop()
        elif (kind == "chat-only" and self.path not in (_CHAT, _MESSAGES)) or (
            kind == "plain" and self.path == "/tokenize"
        ):
            self._fail(404, "no such path")
        elif self.path == _CHAT and (why := refusal(kind, body)):
            self._fail(400, why)
        elif kind == "one-token" and self.path == "/v1/completions" and body.get("max_tokens") == 0:
            self._fail(400, "max_tokens must be at least 1")
        else:
            return False
        return True

    def _answer(self, model: MockModel, name: str, body: dict[str, Any], text: str) -> None:
        if model.delay_ms:
            time.sleep(model.delay_ms / 1000)
        usage = {"prompt_tokens": len(pieces(text)), "total_tokens": len(pieces(text))}
        if self.path == _CHAT:
            self._send(200, self._chat(model, name, body, len(text)))
        elif self.path == _MESSAGES:
            self._send(200, message_of(self._chat(model, name, body, len(text))))
        elif self.path == "/v1/completions":
            self._send(200, self._completion(model, name, body))
        elif self.path == "/tokenize":
            ids = token_ids(text)
            self._send(200, {"count": len(ids), "max_model_len": 1_000_000, "tokens": ids})
        elif self.path == "/v1/embeddings":
            data: list[dict[str, Any]] = [{"object": "embedding", "index": 0, "embedding": vector(text)}]
            self._send(200, {"object": "list", "model": name, "data": data, "usage": usage})
        else:
            scores = class_scores(model, name, text)
            found = {"score": scores[0]} if self.path == "/score" else {"probs": scores}
            data = [{"index": 0, "num_classes": len(scores), **found}]
            self._send(200, {"object": "list", "model": name, "data": data, "usage": usage})

    def _chat(self, model: MockModel, name: str, body: dict[str, Any], size: int) -> dict[str, Any]:
        answer, thinking = respond(model, name, body), thinking_of(model.kind, body)
        finish_reason = answer.finish_reason
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        if called_schema(body) and answer.text.startswith("{"):
            function = {"name": body["tools"][0]["function"].get("name", ""), "arguments": answer.text}
            call = {"id": "call_mock", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        if has_no_room(thinking, body):
            message["content"], finish_reason = "", "length"
        elif thinking.text and model.kind == "thinking":
            message["reasoning_content"] = thinking.text
        elif thinking.text:
            message["content"] = f"<think>\n{thinking.text}\n</think>\n\n{answer.text}"
        reply = self._envelope(name, body, size, message, finish_reason, thinking)
        reply["system_fingerprint"] = self.fingerprint or None
        if body.get("logprobs") and model.kind != "no-logprobs":
            top = min(max(int(body.get("top_logprobs") or 0), 0), 20)
            reply["choices"][0]["logprobs"] = {"content": token_logprobs(answer, top)}
        return reply

    def _completion(self, model: MockModel, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Echo the prompt with its log-probabilities where asked to, and generate a word at most."""
        prompt = body["prompt"]
        tokens = pieces(prompt) if isinstance(prompt, str) else text_of(prompt)
        sent = len(tokens)
        generated = [" mock"] if body.get("max_tokens", 16) else []
        shown = [*(tokens if body.get("echo") else []), *generated]
        choice: dict[str, Any] = {
            "index": 0,
            "text": "".join(shown),
            "finish_reason": "length",
            "logprobs": None,
        }
        if body.get("logprobs") is not None and model.kind != "no-logprobs":
            choice["logprobs"] = completion_logprobs(name, shown)
        usage = {
            "prompt_tokens": sent,
            "completion_tokens": len(generated),
            "total_tokens": sent + len(generated),
        }
        return {"object": "text_completion", "created": 0, "model": name, "choices": [choice], "usage": usage}

    @staticmethod
    def _envelope(
        name: str,
        body: dict[str, Any],
        size: int,
        message: dict[str, Any],
        finish_reason: str = "stop",
        thinking: Thinking = NO_THINKING,
    ) -> dict[str, Any]:
        prompt = size // 4 + 1
        generated = len(message["content"] or "") // 4 + 1
        details = {}
        if thinking.tokens and "<think>" not in (message["content"] or ""):
            generated += thinking.tokens
            details = {"completion_tokens_details": {"reasoning_tokens": thinking.tokens}}
        return {
            "id": f"mock-{int(fraction_of(name, body) * 1e12)}",
            "object": "chat.completion",
            "created": 0,
            "model": name,
            "choices": [{"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": None}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": generated,
                "total_tokens": prompt + generated,
                **details,
            },
        }

    def _fail(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        if self.path.startswith(_MESSAGES):
            self._send(status, anthropic_error(KINDS.get(status, "api_error"), message), headers=headers)
            return
        self._send(status, {"error": {"message": message, "type": "mock_error"}}, headers=headers)

    def _send(
        self,
        status: int,
        content: dict[str, Any] | bytes,
        *,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        raw = content if isinstance(content, bytes) else json.dumps(content).encode("utf-8")
        if self.command == "POST":
            self.server.answered(status)
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(raw)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _drop(self) -> None:
        self.server.answered(0)
        self.close_connection = True
        self.wfile.write(
            b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"choi'
        )


def _text_of(path: str, body: dict[str, Any]) -> str:
    """Return all that the model is to read; raises KeyError or TypeError where it is missing or no text."""
    if path == "/v1/completions":
        prompt = body["prompt"]
        return prompt if isinstance(prompt, str) else "".join(text_of(prompt))
    if path == "/score":
        return f"{_string(body['text_1'])}\n{_string(body['text_2'])}"
    if path != "/v1/embeddings" and "messages" in body:
        messages = body["messages"]
        contents = [_string(each["content"]) for each in messages]
        if not contents:
            raise KeyError("messages")
        if path == "/tokenize":
            return templated(messages, opened=bool(body.get("add_generation_prompt", True)))
        # A reward model scores the last turn.
        return contents[-1] if path == "/classify" else "".join(contents)
    return _string(
        body["messages" if path in (_CHAT, _MESSAGES) else "prompt" if path == "/tokenize" else "input"]
    )


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {value!r}")
    return value


@contextmanager
def running_mock_server(*, port: int = 0, api_key: str = "") -> Iterator[MockServer]:
    """Run a mock server in a thread for as long as the block lasts."""
    server = MockServer(port=port, api_key=api_key)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main(arguments: list[str] | None = None) -> None:
    """Run the server until it is interrupted."""
    parser = argparse.ArgumentParser(prog="python -m judges.backends.mock_server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (default)")
    options = parser.parse_args(arguments)
    server = MockServer(host=options.host, port=options.port)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


if __name__ == "__main__":
    main()

"""The OpenAI backend against a server that runs: good days and all the bad ones."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from judges.backends.base import Backend
from judges.backends.errors import (
    BackendError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.mock_server import running_mock_server
from judges.backends.openai import OpenAIBackend
from judges.backends.wire import build_wire
from judges.strategies.prompts import load_prompt
from judges.strategies.types import Answer, Chat, Classify, Decoding, Embed, Score

pytestmark = pytest.mark.service


@contextmanager
def backend_for(url, **options):
    backend = OpenAIBackend(base_url=url, **options)
    try:
        yield backend
    finally:
        backend.close()


def question(a="hi", b="hello there", prompt="vanilla.v1", **fields) -> Chat:
    values = {"instruction": "Greet.", "output_a": a, "output_b": b}
    return Chat(load_prompt(prompt).render(values), **{"choices": ("A", "B"), **fields})


def collect(backend, count, seconds=90.0):
    finished, limit = {}, time.monotonic() + seconds
    while len(finished) < count and time.monotonic() < limit:
        finished.update(backend.drain(0.5))
    assert len(finished) == count
    return finished


def ask(url, model, request=None, *, decoding=None, **options):
    with backend_for(url, **options) as backend:
        backend.submit(5, build_wire(request or question(), model=model, decoding=decoding or Decoding()))
        return collect(backend, 1)[5]


def test_it_is_a_backend(server):
    with backend_for(server.url, capacity=3) as backend:
        assert isinstance(backend, Backend)
        assert backend.capacity == 3
        assert not backend.is_local
        assert backend.drain(5.0) == []


def test_an_answer_comes_with_its_figures(server):
    answer = ask(server.url, "mock-longer", price_prompt=2.0, price_completion=10.0)

    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish_reason, answer.constrained) == ("B", "stop", False)
    assert answer.prompt_tokens > 50
    assert answer.completion_tokens == 1
    assert answer.cost == pytest.approx((answer.prompt_tokens * 2 + 10) / 1e6)
    assert answer.latency_ms > 0
    assert answer.logprobs is None


@pytest.mark.parametrize("structured", ["none", "vllm", "json_schema"])
def test_choices_are_constrained_as_configured(server, structured):
    answer = ask(server.url, "mock-shorter", structured=structured)

    assert answer.text == "A"
    assert answer.constrained == (structured != "none")


@pytest.mark.parametrize("structured", ["vllm", "json_schema"])
def test_a_server_that_ignores_the_constraint_is_noticed(server, structured):
    answer = ask(server.url, "mock-unparsable", structured=structured)

    assert "merits" in answer.text
    assert not answer.constrained


def test_chain_of_thought_comes_back_whole(server):
    answer = ask(server.url, "mock-longer", question(prompt="cot.v1", choices=()))

    assert answer.text.endswith("\n\nVerdict: B")


def test_log_probabilities(server):
    answer = ask(server.url, "mock-longer-0.8", question(logprobs=True))
    chances = dict(answer.logprobs[0].top)

    assert answer.logprobs[0].token == answer.text
    assert chances == pytest.approx({"B": -0.2231, "A": -1.6094}, abs=1e-3)


def test_the_same_request_gets_the_same_answer_and_samples_differ(server):
    texts = [question(b=f"hello there {n}") for n in range(30)]
    with backend_for(server.url) as backend:
        for token, chat in enumerate(texts * 2):
            backend.submit(token, build_wire(chat, model="mock-random"))
        finished = collect(backend, 60)
        assert [finished[n].text for n in range(30)] == [finished[n + 30].text for n in range(30)]
        for sample in range(30):
            wire = build_wire(question(sample=sample), model="mock-random", decoding=Decoding(seed=1))
            backend.submit(sample, wire)
        assert {answer.text for answer in collect(backend, 30).values()} == {"A", "B"}


@pytest.mark.parametrize(
    ("model", "error", "status", "said"),
    [
        ("mock-500", TransientBackendError, 500, "the mock failed"),
        ("mock-429", TransientBackendError, 429, "too many requests"),
        ("mock-flaky-1", TransientBackendError, 503, "the mock is busy"),
        ("mock-html", MisbehavingServerError, 200, "a reply that is not JSON."),
        ("mock-null", MisbehavingServerError, 200, "a message without text"),
        ("mock-no-choices", MisbehavingServerError, 200, "without choices"),
        ("mock-drop", TransientBackendError, None, "closed connection"),
        ("mock-400-long", PermanentBackendError, 400, "maximum context length"),
        ("mock-401", EndpointError, 401, "access was refused"),
        ("unknown", EndpointError, 404, "`unknown` does not exist"),
    ],
)
def test_failures_are_told_apart(server, model, error, status, said):
    failure = ask(server.url, model)

    assert type(failure) is error
    assert failure.status == status
    assert said in str(failure)
    assert str(failure).startswith(f"{server.url}/chat/completions: ")
    assert len(str(failure)) < 400


def test_a_server_that_asks_for_a_pause_is_heard_and_then_answers(server):
    with backend_for(server.url) as backend:
        wire = build_wire(question(a="once"), model="mock-429")
        backend.submit(1, wire)
        first = collect(backend, 1)[1]
        backend.submit(2, wire)
        second = collect(backend, 1)[2]

    assert first.retry_after == 0.05
    assert second.text == "B"


def test_a_refused_connection_is_transient():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        failure = ask(url, "m")

    assert type(failure) is TransientBackendError
    assert url in str(failure)


def test_a_host_that_does_not_exist_is_transient():
    failure = ask("http://nowhere.invalid/v1", "m", connect_timeout=5.0)

    assert type(failure) is TransientBackendError


def test_a_slow_answer_times_out(server):
    failure = ask(server.url, "mock-slow-3000", timeout=0.2)

    assert type(failure) is TransientBackendError
    assert "no answer within 0.2 s" in str(failure)


@contextmanager
def raw_server(*chunks: bytes, pause: float = 0.0):
    """Accept one connection, read the request and send the chunks with pauses between them."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(10)
            received = b""
            while b"\r\n\r\n" not in received:
                received += connection.recv(65536)
            try:
                for chunk in chunks:
                    connection.sendall(chunk)
                    time.sleep(pause)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        listener.close()
        thread.join(timeout=10)


def test_a_server_that_trickles_times_out_as_a_whole():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with raw_server(head, *[b" "] * 20, pause=0.1) as url:
        failure = ask(url, "m", timeout=0.5)

    assert type(failure) is TransientBackendError
    assert "no answer within 0.5 s" in str(failure)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (b"", TransientBackendError),
        (b"nonsense\r\n\r\n", TransientBackendError),
        (b"HTTP/1.1 204 No Content\r\n\r\n", MisbehavingServerError),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", EndpointError),
        (
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
            MisbehavingServerError,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\xff\xfe\xfd", MisbehavingServerError),
    ],
    ids=["closed", "nonsense", "no content", "moved", "bad gzip", "bad bytes"],
)
def test_what_is_hardly_http(reply, error):
    with raw_server(reply) as url:
        assert type(ask(url, "m")) is error


def test_a_reply_without_end_is_cut(monkeypatch):
    monkeypatch.setattr("judges.backends.openai.MAX_BODY", 1 << 20)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"
    with raw_server(head, *[b" " * 65536] * 100) as url:
        failure = ask(url, "m")

    assert type(failure) is MisbehavingServerError
    assert "more than 1 MiB" in str(failure)


def test_no_more_requests_are_in_flight_than_allowed():
    with running_mock_server() as server, backend_for(server.url, capacity=4) as backend:
        for token in range(24):
            backend.submit(token, build_wire(question(a=str(token)), model="mock-slow-20"))
        collect(backend, 24)
        stats = server.stats()

    assert 2 <= stats["most_in_flight"] <= 4
    assert (stats["requests"], stats["repeated"]) == (24, 0)


def test_waiting_for_a_free_place_does_not_count_towards_the_timeout(server):
    with backend_for(server.url, capacity=1, timeout=3.0) as backend:
        for token in range(6):
            backend.submit(token, build_wire(question(a=f"queue {token}"), model="mock-slow-600"))
        finished = collect(backend, 6)

    assert [type(result) for result in finished.values()] == [Answer] * 6


def test_one_bad_request_fails_alone(server):
    with backend_for(server.url) as backend:
        for token in range(10):
            model = "mock-400-long" if token == 4 else "mock-longer"
            backend.submit(token, build_wire(question(a=str(token)), model=model))
        finished = collect(backend, 10)

    assert [token for token, result in sorted(finished.items()) if isinstance(result, BackendError)] == [4]


def test_what_is_not_unicode_is_sent_and_answered(server):
    assert ask(server.url, "mock-longer", question(a="\ud800\x00")).text == "B"


@pytest.mark.parametrize(
    ("request_", "offers"),
    [
        (Embed("text"), "embeddings"),
        (Classify((), text="text"), "classification"),
        (Score((), "b", prefix="a"), "completions"),
    ],
)
def test_what_a_server_does_not_offer_costs_the_request_and_says_so(server, request_, offers):
    failure = ask(server.url, "mock-chat-only", request_)

    assert type(failure) is PermanentBackendError
    assert offers in str(failure)


def test_closing_ends_everything(server):
    before = set(threading.enumerate())
    backend = OpenAIBackend(base_url=server.url)
    backend.submit(1, build_wire(question(), model="mock-slow-120000"))
    time.sleep(0.1)
    started = time.monotonic()
    backend.close()
    backend.close()

    assert backend.drain(5.0) == []
    assert time.monotonic() - started < 60.0
    assert "openai-backend" not in {thread.name for thread in set(threading.enumerate()) - before}
    with pytest.raises(RuntimeError, match="closed"):
        backend.submit(2, build_wire(question(), model="mock-longer"))

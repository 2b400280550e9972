"""LiteLLM against a server that runs, where the extra is installed; and what is said where it is not."""

from __future__ import annotations

import importlib.util
import sys
import threading
from contextlib import contextmanager

import pytest

from annotation.domain.images import stored_image
from judges.backends.base import Backend
from judges.backends.errors import (
    BackendUnavailableError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.mock_server import running_mock_server
from judges.backends.mock_tokens import vector
from judges.backends.registry import create_backend, endpoint_identity
from judges.backends.wire import build_wire
from judges.strategies.types import Answer, Chat, Decoding, Embed, Score
from tests.annotation.pictures import picture
from tests.judges.backends.test_openai import collect, question

# LiteLLM turns this warning off when it is imported, which lasts only for the test that imports it first.
pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning")

needs_litellm = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="needs the extra 'litellm', which brings 300 MB"
)


@pytest.fixture(scope="module")
def server():
    with running_mock_server(api_key="sk-hunter2") as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "sk-hunter2")


@contextmanager
def backend_for(url, **options):
    options = {"api_key_env": "TEST_KEY", "timeout": 20.0} | options
    backend = create_backend("litellm", endpoint=url, options=options)
    try:
        yield backend
    finally:
        backend.close()


def ask(url, model, request=None, *, decoding=None, **options):
    with backend_for(url, **options) as backend:
        wire = build_wire(request or question(), model=f"openai/{model}", decoding=decoding or Decoding())
        backend.submit(5, wire)
        return collect(backend, 1, seconds=60)[5]


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(BackendUnavailableError, match=r"'litellm'.*touchstone-judge\[litellm\]"):
        create_backend("litellm")


def test_its_identity_is_known_without_it():
    assert endpoint_identity("litellm") == "litellm||"
    assert endpoint_identity("litellm", endpoint="https://proxy/v1/") == "litellm|https://proxy/v1|"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"capacity": 0}, "capacity"),
        ({"timeout": 0}, "timeout"),
        ({"structured": "vllm"}, "structured"),
        ({"extra_body": {"api_key": "sk"}}, "api_key cannot be set"),
        ({"is_local": True}, "is not local"),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set"),
        ({"colour": 1}, "options of the backend 'litellm' are not right"),
    ],
)
def test_options_that_cannot_be_right_are_refused(options, said):
    with pytest.raises(EndpointError, match=said):
        create_backend("litellm", options=options)


@needs_litellm
def test_it_is_a_backend_with_the_registry_s_identity(server):
    options = {"structured": "json_schema", "extra_body": {"top_k": 1}, "is_local": True, "capacity": 3}
    with backend_for(server.url, **options) as backend:
        assert isinstance(backend, Backend)
        assert (backend.capacity, backend.is_local) == (3, True)
        assert backend.identity == endpoint_identity("litellm", endpoint=server.url, options=options)
        assert backend.drain(5.0) == []


@needs_litellm
def test_an_answer_comes_with_its_figures(server):
    answer = ask(server.url, "mock-longer", price_prompt=2.0, price_completion=10.0)

    assert isinstance(answer, Answer)
    assert (answer.text, answer.finish_reason) == ("B", "stop")
    assert answer.cost == pytest.approx((answer.prompt_tokens * 2 + answer.completion_tokens * 10) / 1e6)
    assert answer.latency_ms > 0


@needs_litellm
def test_log_probabilities_constraints_and_vectors(server):
    answer = ask(server.url, "mock-longer-0.8", question(logprobs=True), structured="json_schema")

    assert (answer.text, answer.constrained) == ("B", True)
    assert [token.token for token in answer.logprobs] == ["B"]
    assert ask(server.url, "mock-longer", Embed("Green tea.")).vector == pytest.approx(vector("Green tea."))


@needs_litellm
@pytest.mark.parametrize("model", ["openai/mock-echo", "anthropic/mock-echo"])
def test_images_are_sent_as_the_vendor_has_them(server, model):
    digest = "0" * 64
    shown = Chat((("user", f"Look: {stored_image('a cat', digest)}"),))
    url = server.url if model.startswith("openai") else server.url.removesuffix("/v1")
    with backend_for(url, images={digest: picture()}.get) as backend:
        backend.submit(5, build_wire(shown, model=model, decoding=Decoding(max_tokens=200)))
        backend.submit(6, build_wire(Embed(shown.messages[0][1]), model=model, decoding=Decoding()))
        found = collect(backend, 2, seconds=60)
    assert found[5].text.startswith("Look: [image/png ")
    assert "only chat requests" in str(found[6])


@needs_litellm
def test_without_a_price_the_cost_is_litellm_s_own():
    import litellm

    from judges.backends.litellm import own_cost

    response = litellm.ModelResponse(
        model="gpt-4o-mini", usage=litellm.Usage(prompt_tokens=1000, completion_tokens=100, total_tokens=1100)
    )
    assert own_cost(litellm, response) > 0
    assert own_cost(litellm, object()) == 0.0


@needs_litellm
@pytest.mark.parametrize(
    ("model", "error", "status", "said"),
    [
        ("mock-500", TransientBackendError, 500, "the mock failed"),
        ("mock-429", TransientBackendError, 429, "too many requests"),
        ("mock-flaky-1", TransientBackendError, 503, "the mock is busy"),
        ("mock-html", (TransientBackendError, PermanentBackendError), None, ""),
        ("mock-null", MisbehavingServerError, 200, "without text"),
        ("mock-drop", TransientBackendError, None, ""),
        ("mock-400-long", PermanentBackendError, 400, "maximum context length"),
        ("mock-401", EndpointError, 401, "the key is not right"),
        ("unknown", EndpointError, 404, "does not exist"),
    ],
)
def test_failures_are_told_apart(server, model, error, status, said):
    failure = ask(server.url, model)

    assert type(failure) in (error if isinstance(error, tuple) else (error,))
    assert status is None or failure.status == status
    assert said in str(failure)
    assert "hunter2" not in str(failure)


@needs_litellm
def test_a_server_that_asks_for_a_pause_is_heard(server):
    assert ask(server.url, "mock-429", question(a="a pause")).retry_after == 0.05


@needs_litellm
def test_a_refused_connection_and_a_slow_answer_are_transient(server):
    assert type(ask("http://127.0.0.1:9/v1", "m")) is TransientBackendError
    slow = ask(server.url, "mock-slow-3000", timeout=0.3)

    assert type(slow) is TransientBackendError
    assert "no answer within 0.3 s" in str(slow)


@needs_litellm
def test_a_vendor_that_does_not_exist_stops_the_endpoint():
    with backend_for("", api_key_env="") as backend:
        backend.submit(1, build_wire(question(), model="nobody-knows-me"))
        failure = collect(backend, 1, seconds=60)[1]

    assert type(failure) is EndpointError
    assert "Provider" in str(failure)


@needs_litellm
def test_likelihoods_are_refused_with_the_way_out(server):
    failure = ask(server.url, "mock-longer", Score((), "b", prefix="a"))

    assert type(failure) is PermanentBackendError
    assert "OpenAI-compatible server" in str(failure)


@needs_litellm
def test_no_more_requests_are_in_flight_than_allowed_and_closing_ends_everything(server):
    before = set(threading.enumerate())
    with running_mock_server() as own, backend_for(own.url, capacity=3) as backend:
        for token in range(12):
            backend.submit(token, build_wire(question(a=str(token)), model="openai/mock-slow-20"))
        assert {type(each) for each in collect(backend, 12, seconds=60).values()} == {Answer}
        assert own.stats()["most_in_flight"] <= 3
        assert (own.stats()["requests"], own.stats()["repeated"]) == (12, 0)
    assert "litellm-backend" not in {thread.name for thread in set(threading.enumerate()) - before}


@needs_litellm
def test_what_a_vendor_does_not_know_is_left_out_only_where_it_is_an_aid(server):
    with backend_for("") as backend:
        wire = build_wire(
            Chat((("user", "Which?"),), logprobs=True), model="anthropic/claude-3-haiku-20240307"
        )
        body = {"model": wire.model, "logprobs": True, "top_logprobs": 5, "temperature": 0.0}
        assert backend._trimmed(body) == {"model": wire.model, "temperature": 0.0}

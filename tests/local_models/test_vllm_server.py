"""vLLM's server under the worker, through the OpenAI protocol."""

import os
import signal
import time

import psutil
import pytest

from judges.backends.errors import EndpointError, PermanentBackendError, TransientBackendError
from judges.backends.registry import create_backend
from judges.backends.server_process import COMMAND_VARIABLE
from judges.backends.warm import WARM, shutdown_all
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer
from tests.local_models.asking import (
    CONTEXTS,
    SMALL,
    answer,
    backend_make,
    chat,
    outcomes,
    pairs,
    true_classes,
    true_logprob,
    true_text,
    true_vector,
)

OPTIONS = {"structured": "vllm", "startup_timeout": 240.0, "capacity": 16}


@pytest.fixture(scope="module")
def one_backend(models):
    found = backend_make("vllm_server", models["chat"], **OPTIONS)
    yield found
    found.close()


@pytest.fixture
def backend(models, one_backend):
    """The backend with its server up: a test before may have killed it, of which the next request says so."""
    deadline = time.monotonic() + 150
    while isinstance(outcomes(one_backend, [chat(models["chat"], "Up?")])[0], TransientBackendError):
        assert time.monotonic() < deadline, "the server does not come back"
    return one_backend


def processes(backend) -> list[psutil.Process]:
    """Return the supervisor and all below it."""
    supervisor = psutil.Process(backend._server._process.pid)
    return [supervisor, *supervisor.children(recursive=True)]


def is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(pids: list[int], seconds: float = 90.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(is_running(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def test_every_kind_that_a_chat_model_answers(models, backend):
    model = models["chat"]
    requests = [
        chat(model, CONTEXTS[0]),
        chat(model, "Which?", choices=("A", "B", "tie"), logprobs=20),
        chat(model, "yes " * 2000),
        *pairs(model),
    ]
    text, choice, too_long, *scores = outcomes(backend, requests)
    assert text.text == true_text(requests[0])
    assert choice.constrained
    assert choice.text in {"A", "B", "tie"}
    assert isinstance(too_long, PermanentBackendError)
    for request, found in zip(requests[3:], scores, strict=True):
        if not request.prefix.endswith("\n"):
            assert found.logprob == pytest.approx(true_logprob(request), abs=1e-3)


def test_the_server_is_for_nobody_else(models, backend):
    import httpx

    answer(backend, chat(models["chat"], "Hi"))
    url = backend._server.url
    assert httpx.get(f"{url}/models", trust_env=False).status_code == 401
    commands = [" ".join(each.cmdline()) for each in processes(backend)]
    assert not any(backend._server.key in command for command in commands)
    server = processes(backend)[1]
    listening = [each.laddr.ip for each in server.net_connections("tcp") if each.status == "LISTEN"]
    assert set(listening) == {"127.0.0.1"}


def test_a_killed_server_is_started_again(models, backend):
    answer(backend, chat(models["chat"], "Hi"))
    before = processes(backend)
    os.kill(before[1].pid, signal.SIGKILL)
    assert gone([each.pid for each in before])
    first = outcomes(backend, [chat(models["chat"], "Hi")])[0]
    assert isinstance(first, TransientBackendError)
    assert isinstance(answer(backend, chat(models["chat"], "Hi")), Answer)


def test_vectors_and_classes(models):
    for name, kind in (("encoder", "embed"), ("reward", "classify")):
        model = models[name]
        backend = backend_make("vllm_server", model, **OPTIONS)
        if kind == "embed":
            request = WireRequest("embed", model, (), text=CONTEXTS[0])
            assert answer(backend, request).vector == pytest.approx(true_vector(model, CONTEXTS[0]), abs=1e-3)
        else:
            request = WireRequest("classify", model, (), text=CONTEXTS[0])
            assert answer(backend, request).scores == pytest.approx(true_classes(request), abs=1e-3)
        backend.close()


def test_a_server_that_cannot_start_says_why(models):
    options = {**SMALL, **OPTIONS, "max_model_len": 100_000}
    backend = create_backend("vllm_server", options={"model": models["chat"], **options})
    (found,) = outcomes(backend, [chat(models["chat"], "Hi")])
    backend.close()
    assert isinstance(found, EndpointError)
    assert "ended before it was ready" in str(found)
    assert "max_model_len" in str(found)


def test_a_command_that_is_not_there(models, monkeypatch):
    monkeypatch.setenv(COMMAND_VARIABLE, "/nowhere/vllm serve")
    backend = backend_make("vllm_server", models["chat"], seed=9, **OPTIONS)
    (found,) = outcomes(backend, [chat(models["chat"], "Hi")])
    backend.close()
    assert isinstance(found, EndpointError)
    assert "nowhere" in str(found)


def test_nothing_is_left_behind(models):
    """The last word of this module's servers, whatever the order of the tests."""
    backend = backend_make("vllm_server", models["chat"], **OPTIONS)
    answer(backend, chat(models["chat"], "Hi"))
    pids = [each.pid for each in processes(backend)]
    assert len(pids) >= 3
    backend.close()
    assert WARM.names()
    shutdown_all()
    assert gone(pids)

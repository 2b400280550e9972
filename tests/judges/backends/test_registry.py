"""Backends by name, the instant one, and what importing the pure cores brings in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from judges.backends import registry
from judges.backends.base import Backend
from judges.backends.errors import (
    BackendError,
    BackendUnavailableError,
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.instant import InstantBackend
from judges.backends.registry import BackendInfo, create_backend, endpoint_identity
from judges.backends.wire import build_wire
from judges.strategies.types import Answer, Chat

WIRE = build_wire(Chat((("user", "Which?"),)), model="m")


def test_an_unknown_backend_is_refused_with_the_names_there_are():
    with pytest.raises(BackendUnavailableError, match=r"There is no backend 'x'\. Known backends: .*openai"):
        create_backend("x")


def test_a_missing_package_says_what_to_install(monkeypatch):
    info = BackendInfo("far", "package_that_is_not_there.backend:Backend", "local")
    monkeypatch.setattr(registry, "BACKENDS", {"far": info})
    with pytest.raises(
        BackendUnavailableError, match=r"'package_that_is_not_there'.*touchstone-judge\[local\]"
    ):
        create_backend("far")


def test_a_backend_without_its_endpoint_is_refused():
    with pytest.raises(EndpointError, match="'openai' needs an endpoint"):
        create_backend("openai")


@pytest.mark.service
@pytest.mark.parametrize("name", ["instant", "openai"])
def test_backends_without_an_extra_can_be_built_and_closed(name):
    backend = create_backend(name, endpoint="http://127.0.0.1:1/v1")

    assert isinstance(backend, Backend)
    assert backend.identity == endpoint_identity(name, endpoint="http://127.0.0.1:1/v1")
    backend.close()


def test_the_instant_backend_answers_by_its_function():
    failure = TransientBackendError("busy")

    def respond(request):
        if request.sample == 1:
            return failure
        if request.sample == 2:
            raise failure
        return request.model if request.sample else Answer(text="A", cost=2.0)

    backend = InstantBackend(respond, capacity=5)
    for sample in range(4):
        backend.submit(sample, build_wire(Chat((), sample=sample), model="m"))

    assert backend.drain(0) == [(0, Answer("A", cost=2.0)), (1, failure), (2, failure), (3, Answer("m"))]
    assert backend.drain(0) == []
    assert backend.is_local
    assert backend.capacity == 5


def test_the_instant_backend_can_say_one_thing():
    backend = create_backend("instant", options={"respond": "B"})
    backend.submit(1, WIRE)

    assert backend.drain(1.0) == [(1, Answer("B"))]
    assert backend.identity == endpoint_identity("instant", options={"respond": "B"})
    assert backend.identity != InstantBackend("A").identity != InstantBackend("A", name="x").identity


def test_a_closed_instant_backend_takes_nothing():
    backend = InstantBackend()
    backend.submit(1, WIRE)
    backend.close()

    assert backend.drain(0) == []
    with pytest.raises(RuntimeError, match="closed"):
        backend.submit(2, WIRE)


def test_the_exception_tree():
    assert issubclass(MisbehavingServerError, TransientBackendError)
    assert issubclass(BackendUnavailableError, EndpointError)
    for one in (TransientBackendError, PermanentBackendError, EndpointError):
        assert issubclass(one, BackendError)
    assert not issubclass(PermanentBackendError, EndpointError)
    assert TransientBackendError("x", status=429, retry_after=2.0).retry_after == 2.0


@pytest.mark.service
def test_the_pure_cores_import_neither_django_nor_a_client():
    code = (
        "import sys, judges.backends.registry, judges.backends.instant, judges.backends.mock_server\n"
        "import judges.strategies.spec as s\n"
        "from judges.strategies.registry import STRATEGIES, get_strategy\n"
        "[get_strategy(name) for name in STRATEGIES]\n"
        "print(sorted({'django', 'celery', 'httpx', 'openai', 'torch'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"

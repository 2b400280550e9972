"""The OpenAI backend's key, options and address."""

from __future__ import annotations

import pytest

from judges.backends.errors import EndpointError
from judges.backends.mock_server import running_mock_server
from judges.backends.openai import OpenAIBackend
from judges.backends.registry import create_backend, endpoint_identity
from judges.backends.settings import proxy_for
from tests.judges.backends.test_openai import ask, backend_for, raw_server

pytestmark = pytest.mark.service


def test_the_key_is_read_from_the_environment_and_never_shown(monkeypatch):
    monkeypatch.setenv("TEST_KEY", " sk-hunter2 \n")
    with running_mock_server(api_key="sk-hunter2") as server:
        assert ask(server.url, "mock-longer", api_key_env="TEST_KEY").text == "B"
        failure = ask(server.url, "mock-longer")
        assert type(failure) is EndpointError
    body = b'{"error": {"message": "bad key sk-hunter2"}}'
    head = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: %d\r\n\r\n" % len(body)
    with raw_server(head + body) as url:
        failure = ask(url, "m", api_key_env="TEST_KEY")
    assert type(failure) is EndpointError
    assert "bad key [key]" in str(failure)
    assert "hunter2" not in repr(failure)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_names_the_variable(monkeypatch, value):
    monkeypatch.delenv("TEST_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("TEST_KEY", value)
    with pytest.raises(EndpointError, match="TEST_KEY is not set"):
        OpenAIBackend(base_url="http://127.0.0.1:1/v1", api_key_env="TEST_KEY")


def test_a_key_that_no_header_can_hold_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv("TEST_KEY", "hunter2\nX: y")
    with pytest.raises(EndpointError, match="TEST_KEY") as caught:
        OpenAIBackend(base_url="http://127.0.0.1:1/v1", api_key_env="TEST_KEY")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"capacity": 0}, "capacity"),
        ({"timeout": 0}, "timeout"),
        ({"connect_timeout": -1}, "connect_timeout"),
        ({"price_prompt": -1}, "price_prompt"),
        ({"structured": "guided"}, "structured"),
        ({"max_tokens_field": "tokens"}, "max_tokens_field"),
        ({"extra_body": {"stream": True}}, "stream cannot be set"),
        ({"extra_body": "x"}, "options of the backend 'openai' are not right"),
        ({"colour": 1}, "options of the backend 'openai' are not right"),
    ],
)
def test_options_that_cannot_be_right_are_refused(options, said):
    with pytest.raises(EndpointError, match=said):
        create_backend("openai", endpoint="http://127.0.0.1:1/v1", options=options)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://8.8.8.8/v1", False),
        ("http://[2001:4860:4860::8888]/v1", False),
        # Names that lead nowhere yet: what they lead to is asked at each connection (`test_hostile_servers.py`).
        ("http://vllm.invalid:8000/v1", True),
    ],
)
def test_only_an_endpoint_of_ones_own_can_be_local(url, allowed):
    if allowed:
        with backend_for(url, is_local=True) as backend:
            assert backend.is_local
    else:
        with pytest.raises(
            EndpointError, match=r"is_local: .* which is neither this machine nor in a private"
        ):
            OpenAIBackend(base_url=url, is_local=True)


def test_the_identity_is_that_of_the_registry(server):
    options = {"structured": "vllm", "extra_body": {"top_k": 1}, "capacity": 2, "price_prompt": 1.0}
    for chosen in ({}, {"structured": "none"}, options):
        backend = create_backend("openai", endpoint=f"{server.url}/", options=chosen)
        assert backend.identity == endpoint_identity("openai", endpoint=server.url, options=chosen)
        backend.close()
    assert "capacity" not in endpoint_identity("openai", endpoint="x", options=options)


def test_a_proxy_of_the_environment_is_used_and_never_for_what_is_local(server, monkeypatch):
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "no_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    assert proxy_for("http://api.example.org/v1") is None
    # The mock server stands for a proxy: it does not know the path that a proxy is asked for.
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    failure = ask("http://api.example.org/v1", "mock-longer")
    assert (type(failure), failure.status) == (EndpointError, 404)
    assert ask(server.url, "mock-longer", is_local=True).text == "B"

    monkeypatch.setenv("no_proxy", "example.org")
    assert proxy_for("http://api.example.org/v1") is None
    monkeypatch.setenv("https_proxy", "proxy:3128")
    assert proxy_for("https://api.openai.com/v1") == "http://proxy:3128"

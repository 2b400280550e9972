"""A server at several addresses: requests are balanced, an ill address is left out and tried again, its name stays."""

import time
from collections import Counter

import pytest

from judges.backends.errors import EndpointError, TransientBackendError
from judges.backends.mock_server import running_mock_server
from judges.backends.openai import OpenAIBackend
from judges.backends.registry import endpoint_identity
from judges.backends.replicas import LONGEST_REST, REST, Replicas
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer
from tests.cases import over
from tests.services import free_port

NAME = "http://judges.example/v1"


def wires(n, model="mock-first"):
    return [WireRequest("chat", model, (("user", f"Which is better? {k}"),)) for k in range(n)]


def outcomes(backend, asked):
    for token, wire in enumerate(asked):
        backend.submit(token, wire)
    found = []
    deadline = time.monotonic() + 60
    while len(found) < len(asked) and time.monotonic() < deadline:
        found += [outcome for _, outcome in backend.drain(1.0)]
    return found


def test_the_one_with_the_least_in_flight_is_asked():
    places = Replicas(["http://a/v1", "http://b/v1/"])
    chosen = Counter()
    for _ in range(10):
        replica = places.pick(0.0)
        replica.in_flight += 1
        chosen[replica.address] += 1
    assert chosen == {"http://a/v1": 5, "http://b/v1": 5}


def test_an_ill_one_is_left_out_and_tried_with_one_request_at_a_time():
    places = Replicas(["http://a/v1", "http://b/v1"])
    one, two = places.all
    one.failed(100.0)
    one.failed(100.1)  # was sent together with the first
    assert (one.failures, one.rests_until) == (1, 100.0 + REST)
    assert [places.pick(101.0) for _ in range(3)] == [two] * 3
    assert places.pick(102.0) is one
    one.in_flight = 1
    assert places.pick(102.0) is two
    one.failed(102.5)
    assert one.rests_until == 102.5 + 2 * REST
    for k in range(20):
        one.failed(1_000.0 * (k + 1))
    assert one.rests_until == 20_000.0 + LONGEST_REST
    one.answered()
    one.in_flight, two.in_flight = 0, 1
    assert places.pick(20_001.0) is one


def test_where_none_is_well_the_first_to_be_rested_is_asked():
    places = Replicas(["http://a/v1", "http://b/v1"])
    one, two = places.all
    two.failed(0.0)
    one.failed(1.0)
    assert places.pick(1.5) is two
    assert places.pick(1.5, [two]) is one
    assert places.pick(1.5, [one, two]) is None
    alone = Replicas(["http://a/v1"])
    alone.all[0].failed(0.0)
    assert alone.pick(0.1) is alone.all[0]


def test_what_stands_beside_the_version_is_asked_beside_it():
    (replica,) = Replicas(["http://a:1/x/v1"]).all
    assert replica.url(f"{NAME}/chat/completions", NAME) == "http://a:1/x/v1/chat/completions"
    assert replica.url("http://judges.example/tokenize", NAME) == "http://a:1/x/tokenize"
    assert replica.url("http://judges.example/v1", NAME) == "http://a:1/x/v1"


@pytest.mark.service
def test_requests_are_shared_and_known_by_the_servers_name():
    with running_mock_server() as one, running_mock_server() as two:
        backend = OpenAIBackend(base_url=NAME, addresses=[one.url, two.url], capacity=8, is_local=True)
        try:
            found = outcomes(backend, wires(40, "mock-slow-20"))
        finally:
            backend.close()
        counts = [server.stats()["requests"] for server in (one, two)]
    assert all(isinstance(each, Answer) for each in found)
    assert sum(counts) == 40
    assert min(counts) >= 12
    plain = {"structured": "none", "max_tokens_field": "max_tokens", "extra_body": {}}
    assert backend.identity == endpoint_identity("openai", endpoint=NAME, options=plain)


@pytest.mark.service
def test_nothing_is_lost_where_one_address_does_not_answer():
    with running_mock_server() as server:
        dead = f"http://127.0.0.1:{free_port()}/v1"
        backend = OpenAIBackend(base_url=NAME, addresses=[dead, server.url], capacity=4)
        try:
            found = outcomes(backend, wires(20))
        finally:
            backend.close()
        assert server.stats()["requests"] == 20
    assert [type(each) for each in found] == [Answer] * 20


@pytest.mark.service
def test_all_addresses_down_is_for_the_engine_to_try_again():
    dead = [f"http://127.0.0.1:{free_port()}/v1" for _ in range(2)]
    backend = OpenAIBackend(base_url=NAME, addresses=dead)
    try:
        (error,) = outcomes(backend, wires(1))
    finally:
        backend.close()
    assert isinstance(error, TransientBackendError)
    assert not error.was_sent


@over(
    [
        (["ftp://a/v1"], "expected an http or https address"),
        (["http://a"], "up to and with /v1"),
        (["http://a/v1", "http://a/v1/"], "named twice"),
        (["http://me:secret@a/v1"], "no user name, password"),
        (["http://169.254.169.254/v1"], "no address of a model server"),
    ],
)
def test_addresses_that_cannot_be_right_are_refused(addresses, message):
    with pytest.raises(EndpointError, match=message):
        OpenAIBackend(base_url=NAME, addresses=addresses)

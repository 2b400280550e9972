"""Requests beyond the places of a backend: asked without the engine, given back where one fails."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

from judges.backends.async_backend import AsyncBackend
from judges.backends.base import WaitingBackend
from judges.backends.errors import NotSentError, PermanentBackendError
from judges.backends.wire import WireRequest
from judges.engine.meters import Pace
from judges.engine.options import EngineOptions
from judges.engine.works import Counts, InFlightRequest, Transport
from judges.strategies.types import Answer

LONG = 10.0
WIRE = WireRequest("chat", "m", ())


class Gated(AsyncBackend):
    """Each request waits for a word of the test: "answer" or "fail"."""

    is_local, identity = True, "gated"

    def __init__(self, capacity):
        self.asked = threading.Semaphore(0)
        self.n_asked = 0
        self._words = []
        super().__init__(capacity=capacity, name="gated")

    async def _ask(self, request):
        word = asyncio.get_running_loop().create_future()
        self._words.append(word)
        self.n_asked += 1
        self.asked.release()
        if await word == "fail":
            raise PermanentBackendError("it fails")
        return Answer("A")

    def say(self, word):
        """Let the request that was asked first go on."""
        self._loop.call_soon_threadsafe(lambda: self._words.pop(0).set_result(word))

    def wait_asked(self, n):
        for _ in range(n):
            assert self.asked.acquire(timeout=LONG)


@pytest.fixture
def gated():
    backend = Gated(2)
    yield backend
    backend.close()


def drained(backend, n):
    found = []
    while len(found) < n:
        found += (some := backend.drain(LONG))
        assert some
    return found


def test_what_waits_is_asked_though_nobody_takes_what_came(gated):
    for token in range(4):
        gated.submit(token, WIRE)
    gated.wait_asked(2)
    assert gated.n_asked == 2
    gated.say("answer")
    gated.say("answer")
    gated.wait_asked(2)
    gated.say("answer")
    gated.say("answer")
    assert [token for token, _ in drained(gated, 4)] == [0, 1, 2, 3]


def test_what_waits_comes_back_when_one_fails(gated):
    for token in range(5):
        gated.submit(token, WIRE)
    gated.wait_asked(2)
    gated.say("fail")
    found = drained(gated, 4)
    assert [(token, type(outcome)) for token, outcome in found] == [
        (4, NotSentError),
        (3, NotSentError),
        (2, NotSentError),
        (0, PermanentBackendError),
    ]
    gated.submit(5, WIRE)
    gated.wait_asked(1)
    assert gated.n_asked == 3


def test_what_waits_comes_back_on_request(gated):
    for token in range(4):
        gated.submit(token, WIRE)
    gated.wait_asked(2)
    gated.recall()
    assert [token for token, _ in drained(gated, 2)] == [3, 2]
    assert gated.n_asked == 2


def test_fewer_places_are_kept_to_and_more_are_used(gated):
    gated.places = 1
    for token in range(3):
        gated.submit(token, WIRE)
    gated.wait_asked(1)
    gated.say("answer")
    gated.wait_asked(1)
    assert gated.n_asked == 2
    gated.places = 8  # more than its capacity
    assert gated.places == 2
    gated.wait_asked(1)
    gated.say("answer")
    gated.say("answer")
    assert len(drained(gated, 3)) == 3


def test_close_ends_what_waits():
    backend = Gated(1)
    for token in range(3):
        backend.submit(token, WIRE)
    backend.wait_asked(1)
    backend.close()
    assert backend.drain(LONG) == []
    assert backend.n_asked == 1


def transport_with(backend, n_ready, *, pace=None, meters=()):
    transport = Transport(name="t", backend=backend, options=EngineOptions(), pace=pace)
    run = SimpleNamespace(stopping=False, n_sent=0, meters=meters, counts=Counts())
    work = SimpleNamespace(closed=False, run=run)
    for number in range(n_ready):
        transport.ready.append(InFlightRequest(str(number), WIRE, transport, waiters=[(work, 0)]))
    return transport, run


def one_answered(transport, backend):
    for second in (0.0, 1.0, 2.0):  # a pace lets one through at a time
        transport.dispatch(second)
    backend.wait_asked(2)
    backend.say("answer")
    while not transport.drain(LONG):
        pass
    transport.answered()
    transport.dispatch(3.0)
    transport.dispatch(4.0)


def test_after_an_answer_the_backend_has_as_many_again(gated):
    assert isinstance(gated, WaitingBackend)
    transport, run = transport_with(gated, 9)
    transport.dispatch(0.0)
    assert len(transport.sent) == 2  # whether it answers at all is not known yet
    one_answered(transport, gated)
    gated.wait_asked(1)
    assert len(transport.sent) == 4
    assert gated.n_asked == 3
    transport.recall()
    back = transport.drain(LONG)
    assert [request.hash for request, _ in back] == ["4", "3"]
    assert all(isinstance(error, NotSentError) for _, error in back)
    assert [request.attempts for request, _ in back] == [0, 0]
    assert run.counts.requests == 3 == gated.n_asked
    assert run.n_sent == 2 == len(transport.sent)


class Open:
    """A budget that is never used up."""

    is_money = False

    def is_open(self, asked, amount):
        return True

    def expected(self, asked, amount):
        return amount

    def sent(self, asked, amount):
        """Nothing is counted."""

    ended = sent


@pytest.mark.parametrize("why", ["a pace", "a budget", "a refusal"])
def test_where_each_request_counts_the_backend_has_no_more_than_it_sends(gated, why):
    pace = Pace(requests=6_000_000, tokens=None) if why == "a pace" else None
    transport, _ = transport_with(gated, 9, pace=pace, meters=(Open(),) if why == "a budget" else ())
    if why == "a refusal":
        transport.bound.lower(2)
    if why != "a refusal":
        one_answered(transport, gated)
        gated.wait_asked(1)
        assert len(transport.sent) == 2
    else:
        transport.dispatch(0.0)
        assert len(transport.sent) == 1

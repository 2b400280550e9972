"""How many requests are in flight at a server that bears fewer than it is set up for, on a clock of the test's own."""

import heapq
from itertools import count
from types import SimpleNamespace

import pytest

from judges.backends.errors import TransientBackendError
from judges.backends.wire import WireRequest
from judges.engine.options import EngineOptions
from judges.engine.works import Counts, InFlightRequest, Transport
from judges.strategies.types import Answer

STEP = 0.005
BEARS, LATENCY, SECONDS = 16, 0.1, 60.0


class Server:
    """Bears so many requests at a time, and refuses what is more at once, by its way to say so."""

    capacity = 128
    identity = "server"

    def __init__(self, status, retry_after):
        self.status, self.retry_after = status, retry_after
        self.now = 0.0
        self.n_answered = self.n_refused = self.n_at_work = 0
        self._due, self._order = [], count()

    def submit(self, token, wire):
        if self.n_at_work >= BEARS:
            self.n_refused += 1
            error = TransientBackendError("busy", status=self.status, retry_after=self.retry_after)
            heapq.heappush(self._due, (self.now + STEP, next(self._order), token, error))
        else:
            self.n_at_work += 1
            heapq.heappush(self._due, (self.now + LATENCY, next(self._order), token, Answer("A")))

    def drain(self, timeout):
        while self._due and self._due[0][0] <= self.now:
            _, _, token, outcome = heapq.heappop(self._due)
            if isinstance(outcome, Answer):
                self.n_answered += 1
                self.n_at_work -= 1
            yield token, outcome


@pytest.mark.parametrize(
    ("status", "retry_after", "least_share", "most_refused"),
    [(429, None, 0.9, 0.03), (429, 0.5, 0.7, 0.03), (503, None, 0.9, 0.03)],
)
def test_a_server_that_bears_fewer_is_kept_busy_and_seldom_refuses(
    status, retry_after, least_share, most_refused
):
    """Least share: of the answers that the server could give in the time."""
    server = Server(status, retry_after)
    transport = Transport(name="t", backend=server, options=EngineOptions())
    wire = WireRequest("chat", "m", ())
    work = SimpleNamespace(
        closed=False, run=SimpleNamespace(stopping=False, n_sent=0, meters=(), counts=Counts())
    )
    while server.now < SECONDS:
        server.now += STEP
        for request, outcome in transport.drain(0.0):
            if isinstance(outcome, Answer):
                transport.answered()
            else:
                transport.failed(request, outcome, server.now)
        while len(transport.ready) < 200:
            transport.ready.append(InFlightRequest("hash", wire, transport, waiters=[(work, 0)]))
        transport.dispatch(server.now)
    assert not transport.suspended
    assert server.n_answered >= least_share * BEARS * SECONDS / LATENCY
    assert server.n_refused <= most_refused * server.n_answered

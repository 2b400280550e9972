"""What a backend is: the transport between the engine and a model.

The engine is synchronous and owns the database; a backend does its I/O in threads of its own. The engine
submits a request under a token of its choice and later drains what has finished, in any order.
"""

import math
import queue
import threading
from typing import Protocol, TypeAlias, runtime_checkable

from judges.backends.errors import BackendError
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

Outcome: TypeAlias = tuple[int, Answer | BackendError]


@runtime_checkable
class Backend(Protocol):
    """The transport to one endpoint or engine.

    Attributes
    ----------
    is_local : bool
        Nothing that is submitted leaves the machines under the operator's control. Items of a private dataset
        go to no other backend.
    capacity : int
        How many requests may usefully be in flight, >= 1. `submit` accepts more; they wait.
    identity : str
        Names the endpoint or engine, with the options that can change an answer; goes into `canonical_hash`.
    """

    @property
    def is_local(self) -> bool: ...

    @property
    def capacity(self) -> int: ...

    @property
    def identity(self) -> str: ...

    def submit(self, token: int, request: WireRequest) -> None:
        """Start a request. Never blocks on the network and never raises for what the network does.

        Raises
        ------
        RuntimeError
            After `close`.
        """

    def drain(self, timeout: float) -> list[Outcome]:
        """Return all that has finished since the last call.

        Waits up to `timeout` seconds for the first. Returns an empty list at once when nothing is in flight.
        A failure is returned as a value, never raised.
        """

    def close(self) -> None:
        """Cancel what is in flight and free all resources. May be called twice."""


@runtime_checkable
class WaitingBackend(Backend, Protocol):
    """A backend that keeps requests beyond its places, and asks each as soon as a place is free.

    When a request fails, those that wait are returned by `drain` with `NotSentError`, the last first.

    Attributes
    ----------
    places : int
        How many requests are in flight, 1 to `capacity`; may be set.
    """

    places: int

    def recall(self) -> None:
        """Return all that waits, in the same way."""


LOWEST_LOGPROB = -9999.0
"""In place of minus infinity, which JSON has not: the log-probability of a forbidden token, as servers report it."""


class Mailbox:
    """Where one session's outcomes arrive; safe between threads."""

    def __init__(self) -> None:
        self._finished: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._in_flight = 0
        self._lock = threading.Lock()
        self.closed = False

    def expect(self) -> None:
        """Count one more request on its way."""
        with self._lock:
            self._in_flight += 1

    def put(self, token: int, outcome: Answer | BackendError) -> None:
        """Deliver an outcome; after `close`, nobody reads it."""
        self._finished.put((token, outcome))

    def drain(self, timeout: float) -> list[Outcome]:
        """Return what has arrived, waiting up to `timeout` seconds for the first; at once if nothing is expected."""
        with self._lock:
            if not self._in_flight:
                return []
        finished: list[Outcome] = []
        try:
            finished.append(self._finished.get(timeout=max(timeout, 0.0)))
            while True:
                finished.append(self._finished.get_nowait())
        except queue.Empty:
            pass
        with self._lock:
            self._in_flight -= len(finished)
        return finished

    def close(self) -> None:
        """Expect nothing any more."""
        self.closed = True
        with self._lock:
            self._in_flight = 0


def finite(logprob: float) -> float:
    """Return a log-probability that JSON has; raises TypeError or ValueError for what is no number."""
    number = float(logprob)
    return number if math.isfinite(number) and number > LOWEST_LOGPROB else LOWEST_LOGPROB


def storable(text: str) -> str:
    """Return text that every database takes: without NUL and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")

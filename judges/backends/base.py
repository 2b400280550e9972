"""What a backend is: the transport between the engine and a model.

The engine is synchronous and owns the database; a backend does its I/O in threads of its own. The engine
submits a request under a token of its choice and later drains what has finished, in any order.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

from judges.backends.errors import BackendError
from judges.backends.wire import WireRequest, build_wire, request_hash
from judges.strategies.types import Answer

__all__ = ["Backend", "Outcome", "WireRequest", "build_wire", "request_hash", "storable"]

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
        Names the endpoint or engine, with the options that can change an answer; goes into `request_hash`.
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


def storable(text: str) -> str:
    """Return text that every database takes: without NUL and lone surrogates."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")

"""A backend that answers at once with a given function: for benchmarks, tests and dry runs.

It measures what everything *but* the model costs, and it lets a test say what the model answers. Nothing
leaves the process, so it is local.
"""

from collections.abc import Callable

from judges.backends.base import Outcome
from judges.backends.errors import BackendError
from judges.backends.registry import endpoint_identity
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer

Respond = Callable[[WireRequest], "Answer | str | BackendError"]


class InstantBackend:
    """Answer each request by calling a function, in the thread that submits.

    Parameters
    ----------
    respond : callable or str
        Given the `WireRequest`, returns an `Answer`, a text, or a `BackendError`, or raises the latter.
        A text in its place answers every request.
    capacity : int
        What the engine may keep in flight.
    name : str
        Tells two functions apart in `identity`, since code has no name that survives a restart.
    """

    is_local = True

    def __init__(self, respond: Respond | str = "A", *, capacity: int = 1024, name: str = "") -> None:
        self._respond: Respond = respond if callable(respond) else (lambda _: respond)
        self.capacity = capacity
        options = {"name": name, **({"respond": respond} if isinstance(respond, str) else {})}
        self.identity = endpoint_identity("instant", options=options)
        self._finished: list[Outcome] = []
        self._closed = False

    def submit(self, token: int, request: WireRequest) -> None:
        """Answer now; `drain` hands it out."""
        if self._closed:
            raise RuntimeError("the backend is closed")
        try:
            result = self._respond(request)
        except BackendError as error:
            result = error
        self._finished.append((token, Answer(text=result) if isinstance(result, str) else result))

    def drain(self, timeout: float) -> list[Outcome]:  # noqa: ARG002 (nothing is ever waited for)
        """Return what was answered since the last call."""
        finished, self._finished = self._finished, []
        return finished

    def close(self) -> None:
        """Drop what was not drained."""
        self._closed = True
        self._finished = []

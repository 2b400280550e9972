"""Models that stay loaded between sessions.

A session asks for a model, uses it and gives it back; the next session finds it warm. An idle model is shut down when
another one is to be loaded, since together they may not fit. Models of one session are used together: what they need
has to fit together.
"""

import atexit
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast


class Warm(Protocol):
    """What is kept: a host, or a server."""

    def is_alive(self) -> bool:
        """Whether it is of use."""

    def shutdown(self) -> None:
        """Free all that it holds. May be called twice."""


T = TypeVar("T", bound=Warm)


@dataclass(slots=True)
class _Kept:
    resource: Warm
    users: int


class WarmPool:
    """Keeps what is expensive to start; safe between threads."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._registered = False

    def lease(self, key: str, build: Callable[[], T]) -> T:
        """Return the resource of that key: the warm one, or one that is built after the idle ones were shut down."""
        with self._lock:
            if not self._registered:
                atexit.register(self.shutdown_all)
                self._registered = True
            kept = self._kept.get(key)
            if kept is not None and not kept.resource.is_alive():
                del self._kept[key]
                kept.resource.shutdown()
                kept = None
            if kept is None:
                self._make_room()
                kept = self._kept[key] = _Kept(build(), 0)
            kept.users += 1
            return cast("T", kept.resource)

    def release(self, key: str) -> None:
        """Give a resource back; it stays warm."""
        with self._lock:
            if kept := self._kept.get(key):
                kept.users = max(kept.users - 1, 0)

    def shutdown_all(self) -> None:
        """Shut everything down, also what is in use: for the end of a worker."""
        with self._lock:
            kept, self._kept = self._kept, {}
        for each in kept.values():
            each.resource.shutdown()

    def names(self) -> list[str]:
        """Return the keys of what is warm."""
        with self._lock:
            return list(self._kept)

    def _make_room(self) -> None:
        for key, kept in list(self._kept.items()):
            if not kept.users:
                del self._kept[key]
                kept.resource.shutdown()


WARM = WarmPool()
"""The one of this process."""


def shutdown_all() -> None:
    """Shut down every model of this process; a worker calls it when it ends."""
    WARM.shutdown_all()

"""A value that several ask for at once, and often: made at most once in so many seconds."""

import time
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """Keeps what `make` returned for `seconds`. Others wait while it is made; errors aren't kept."""

    def __init__(self, make: Callable[[], V], *, seconds: float) -> None:
        self._make, self._seconds = make, seconds
        self._lock = Lock()
        self._kept: tuple[float, V] | None = None

    def __call__(self) -> V:
        with self._lock:
            now = time.monotonic()
            if self._kept is None or now - self._kept[0] >= self._seconds:
                self._kept = now, self._make()
            return self._kept[1]

    def forget(self) -> None:
        """Make it anew the next time."""
        with self._lock:
            self._kept = None

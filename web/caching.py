"""A cache of one process that forgets what was least recently used."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_owner: ContextVar[Hashable] = ContextVar("owner", default=None)


@contextmanager
def caches_of(owner: Hashable) -> Iterator[None]:
    """Within it, caches know only what was made for this `owner`; None is everybody.

    What others have looked at is faster than what nobody has, and hidden checks are looked at by everybody: the time
    of an answer would tell a check from work.
    """
    token = _owner.set(owner)
    try:
        yield
    finally:
        _owner.reset(token)


class BoundedCache(Generic[K, V]):
    """Keeps values as long as their weights together stay below `limit`; safe between threads.

    Two threads that miss the same key both make the value: equal values, made twice, do less harm than a lock held
    while a database is asked.

    Examples
    --------
    >>> cache = BoundedCache(limit=10, weight=len)
    >>> cache.get("a", lambda: "12345"), cache.get("a", lambda: "made once")
    ('12345', '12345')
    >>> _ = cache.get("b", lambda: "123456")
    >>> "a" in cache
    False
    """

    def __init__(self, *, limit: int, weight: Callable[[V], int]) -> None:
        self._values: LRUCache[tuple[Hashable, K], V] = LRUCache(limit, getsizeof=weight)
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        return (_owner.get(), key) in self._values

    def get(self, name: K, make: Callable[[], V]) -> V:
        """The value under `name`, made now if it is not here."""
        key = (_owner.get(), name)
        with self._lock, suppress(KeyError):
            return self._values[key]
        value = make()
        with self._lock, suppress(ValueError):  # larger than all that is kept together
            self._values[key] = value
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()

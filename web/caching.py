"""A cache of one process that forgets what was least recently used."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Generic, TypeVar

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
        self._limit = limit
        self._weigh = weight
        self._values: OrderedDict[tuple[Hashable, K], V] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        return (_owner.get(), key) in self._values

    def get(self, name: K, make: Callable[[], V]) -> V:
        """The value under `name`, made now if it is not here."""
        key = (_owner.get(), name)
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        weight = self._weigh(value)
        with self._lock:
            if key not in self._values and weight <= self._limit:
                self._values[key] = value
                self._weight += weight
                while self._weight > self._limit:
                    _, oldest = self._values.popitem(last=False)
                    self._weight -= self._weigh(oldest)
        return value

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._weight = 0

"""A cache of one process that forgets what was least recently used."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
        self._values: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._lock = Lock()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value under `key`, made now if it is not here."""
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

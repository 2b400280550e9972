"""The cache that web processes share; when its Redis does not answer, each process goes on with its own memory."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

logger = logging.getLogger(__name__)

AWAY_SECONDS = 10.0
"""How long Redis is left alone after it did not answer: nobody waits for it meanwhile."""
LOCAL_ENTRIES = 100_000
"""Room for the counters of the rate limits: nobody must push another's out."""
_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 1}


class SharedCache(RedisCache):
    """Django's Redis cache, and local memory while Redis is away. Both moments are logged.

    Limits are then counted by each process alone, so that up to as many times more is let through as there are
    processes; nothing that the site needs is only in the cache.
    """

    _lock = threading.Lock()
    _away_until = 0.0  # of the process, whatever the thread
    _is_away = False

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        # One more attempt, since a Redis that was restarted has closed every connection.
        options = _OPTIONS | {"retry": Retry(NoBackoff(), 1)}
        super().__init__(server, params | {"OPTIONS": options | params.get("OPTIONS", {})})
        local = {name: value for name, value in params.items() if name != "OPTIONS"}
        self._local = LocMemCache(
            f"in place of {server}", local | {"OPTIONS": {"MAX_ENTRIES": LOCAL_ENTRIES}}
        )

    @classmethod
    def is_away(cls) -> bool:
        """Whether this process goes on with its own memory now."""
        return cls._is_away

    def _ask(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if time.monotonic() >= SharedCache._away_until:
            try:
                answer = getattr(super(), name)(*args, **kwargs)
            except (RedisError, OSError) as error:
                self._leave(error)
            else:
                if SharedCache._is_away:
                    self._come_back()
                return answer
        return getattr(self._local, name)(*args, **kwargs)

    @classmethod
    def _leave(cls, error: Exception) -> None:
        with cls._lock:
            cls._away_until = time.monotonic() + AWAY_SECONDS
            if not cls._is_away:
                logger.error("Redis (CACHE_URL) does not answer; each process counts by itself: %s", error)
            cls._is_away = True

    @classmethod
    def _come_back(cls) -> None:
        with cls._lock:
            if cls._is_away:
                logger.warning("Redis (CACHE_URL) answers again.")
            cls._is_away = False


def _asked(name: str) -> Callable[..., Any]:
    def method(self: SharedCache, *args: Any, **kwargs: Any) -> Any:
        return self._ask(name, *args, **kwargs)

    return method


# All that Django's Redis cache does with a server.
for _name in (
    *("add", "get", "set", "touch", "delete", "incr", "has_key"),
    *("get_many", "set_many", "delete_many", "clear"),
):
    setattr(SharedCache, _name, _asked(_name))

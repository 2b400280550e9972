"""Connections to PostgreSQL: they give up on a server that does not answer, are checked without asking it, and plan
prepared statements once. Of a pool's, the one that was used last is the next.

`statement_timeout` is kept by the server, so it does not help when the server itself hangs: there the client stops
waiting, and closes the connection, since nobody knows what is still to come on it.
"""

from collections import deque
from select import POLLIN, poll
from typing import Any, ClassVar

from psycopg import Connection, OperationalError
from psycopg.errors import _WaitTimeout
from psycopg_pool import ConnectionPool

GRACE_SECONDS = 3
"""How much longer than the server's own limit a client waits."""


class PooledConnection(Connection[Any]):
    """A connection of a pool, whose check costs no round trip while the server has said nothing.

    A server that ends, or ends the connection, says so on the socket, where it can be read between two requests. Beyond
    that a check could find a server out of reach, and there its own question would wait as long as the next one.
    """

    @classmethod
    def connect(cls, *args: Any, **options: Any) -> Any:
        """Connect; where statements are prepared, have each planned once.

        They look rows up by keys, so one plan is good for all values. Once its tables have statistics, PostgreSQL would
        plan the largest of them anew at each run, which takes longer than to run it. Said here and not at the start of
        the connection, where PgBouncer refuses what it doesn't know.
        """
        connection = super().connect(*args, **options)
        if options.get("prepare_threshold") is not None:
            connection.execute("SET plan_cache_mode = force_generic_plan")
        return connection

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        """Run a statement; the empty one, which is the pool's check, only where there is something to read."""
        if query == "" and not self._has_something_to_say():
            return self.cursor()
        return super().execute(query, params, **options)

    def _has_something_to_say(self) -> bool:
        if self.closed:
            return True
        socket = poll()
        socket.register(self.pgconn.socket, POLLIN)
        return bool(socket.poll(0))


class BoundedConnection(PooledConnection):
    """A connection on which nothing is awaited for longer than `seconds`."""

    seconds: ClassVar[float] = 0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        """Wait for the server as psycopg does; raises OperationalError when it takes too long."""
        try:
            return super().wait(gen, interval=interval, timeout=self.seconds if timeout is None else timeout)
        except _WaitTimeout:
            if timeout is not None:
                raise
            self.pgconn.finish()
            raise OperationalError(f"PostgreSQL did not answer within {self.seconds} s") from None


def connections_limited(seconds: float) -> type[BoundedConnection]:
    """Return the class of connections with this limit."""
    return type("BoundedConnection", (BoundedConnection,), {"seconds": seconds})


class _LastFirst(deque[Any]):
    """What was appended last is the first on the left."""

    def append(self, value: Any) -> None:
        self.appendleft(value)


def use_last_first(pool: ConnectionPool[Any]) -> None:
    """Have a pool give out the connection that it got back last.

    By itself it gives out the one that has waited longest, so after a rush hour all of its connections take turns.
    Each has a process of the server, which finds the processor's cache full of others' work and plans every statement
    for itself. A pool has no setting for that; the tests fail if its free connections are kept otherwise one day.
    """
    with pool._lock:
        pool._pool = _LastFirst(pool._pool)

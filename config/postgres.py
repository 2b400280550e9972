"""Connections to PostgreSQL that give up on a server that does not answer.

`statement_timeout` is kept by the server, so it does not help when the server itself hangs: there the client stops
waiting, and closes the connection, since nobody knows what is still to come on it.
"""

from typing import Any, ClassVar

from psycopg import Connection, OperationalError
from psycopg.errors import _WaitTimeout

GRACE_SECONDS = 3
"""How much longer than the server's own limit a client waits."""


class BoundedConnection(Connection[Any]):
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

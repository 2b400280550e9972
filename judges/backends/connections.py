"""Connections to one address, each in a transport of its own.

At each request httpx looks through all connections of a pool, and asks the system about each idle one: with 32 of them,
half of what a request takes of the processor. In a pool of one there is nothing to look through.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1)


class Connections:
    """Transports of one connection each, made as they are needed, the last one used first.

    Parameters
    ----------
    make : callable
        Makes a transport with the limits `ONE`.
    """

    def __init__(self, make: Callable[[], httpx.AsyncHTTPTransport]) -> None:
        self._make = make
        self._all: list[httpx.AsyncHTTPTransport] = []
        self._free: list[httpx.AsyncHTTPTransport] = []

    @contextmanager
    def one(self) -> Iterator[httpx.AsyncHTTPTransport]:
        """Take a transport for one request, its reply read to the end or closed within the block."""
        try:  # not first a look whether there is one: another thread may take it
            transport = self._free.pop()
        except IndexError:
            transport = self._make()
            self._all.append(transport)
        try:
            yield transport
        finally:
            self._free.append(transport)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._all:
            await transport.aclose()

"""Connections to addresses that were checked.

What a name leads to can change between two look-ups, so each connection looks it up once, checks it, and goes exactly
there.
"""

import asyncio
import socket

import httpcore

from judges.backends.addresses import check_addresses
from judges.backends.errors import TransientBackendError


class CheckedNetwork(httpcore.AnyIOBackend):
    """Connect to what a name leads to once that is checked, so that it can't lead elsewhere a moment later."""

    def __init__(self, url: str, *, only_own: bool) -> None:
        super().__init__()
        self._url, self._only_own = url, only_own

    async def connect_tcp(  # type: ignore[no-untyped-def]  # httpcore's own types are repeated by nobody
        self, host, port, timeout=None, local_address=None, socket_options=None
    ):
        try:
            async with asyncio.timeout(timeout):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"{host} was not looked up within {timeout:g} s") from None
        except (OSError, UnicodeError) as error:
            raise TransientBackendError(f"{self._url}: {host} cannot be looked up: {error}.") from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        check_addresses(self._url, addresses, only_own=self._only_own)
        last: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        raise last

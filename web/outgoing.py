"""Requests to addresses that users name: only to public addresses, within seconds, and of the answer only its head.

What a name leads to can change between two look-ups, so each connection looks it up once, checks every address, and
goes exactly there. Redirects are not followed.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpcore
from django.conf import settings

SECONDS = 10.0
"""For a whole request, from the look-up of the name to the head of the answer."""


class OutgoingError(Exception):
    """The request could not be sent, or was not answered in time; the message is for people."""


def url_check(url: str) -> None:
    """Refuse what is no address of a public server, as far as the text tells.

    Raises
    ------
    OutgoingError
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise OutgoingError("Expected an address such as https://example.org/hook.") from None
    if (
        parts.scheme not in ("https", "http")
        or not host
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise OutgoingError("Expected an address such as https://example.org/hook.")
    if parts.username is not None or parts.password is not None:
        raise OutgoingError("An address with a password in it isn't accepted: the message is signed instead.")
    if port == 0:
        raise OutgoingError("0 isn't a valid port.")
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith(".localhost"):
            _check("127.0.0.1")
        return
    _check(str(literal))


def post_checked(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a POST, and return the status of the answer.

    Raises
    ------
    OutgoingError
        The address is not public, there was no answer in time, or none that can be read.
    """
    url_check(url)
    try:
        # In a thread of its own: the caller's may have an event loop already.
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(lambda: asyncio.run(_post(url, body, headers))).result()
    except TimeoutError:
        raise OutgoingError(f"No answer within {SECONDS:g} s.") from None
    except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
        raise OutgoingError(f"{type(error).__name__}: {error}"[:300]) from None
    except (OSError, UnicodeError, ValueError) as error:
        raise OutgoingError(f"It can't be reached: {error}"[:300]) from None


async def _post(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    async with (
        asyncio.timeout(SECONDS),
        httpcore.AsyncConnectionPool(network_backend=_PublicNetwork(), max_keepalive_connections=0) as pool,
        pool.stream("POST", url, headers=list(headers.items()), content=body) as answer,
    ):
        return answer.status  # what follows is of no interest, and may have no end


class _PublicNetwork(httpcore.AnyIOBackend):
    """Connects to checked addresses only."""

    async def connect_tcp(  # type: ignore[no-untyped-def]  # httpcore's own types are repeated by nobody
        self, host, port, timeout=None, local_address=None, socket_options=None
    ):
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        for address in addresses:
            _check(address)
        last: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                last = error
        raise last


def _check(text: str) -> None:
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    teredo = getattr(address, "teredo", None)
    plain = inner or (teredo[1] if teredo else address)
    if any(plain in network for network in settings.WEBHOOK_NETWORKS if network.version == plain.version):
        return
    if not plain.is_global or plain.is_multicast or plain in ipaddress.ip_network("64:ff9b::/96"):
        raise OutgoingError(f"{text} is an address of an internal network, so nothing is sent there.")

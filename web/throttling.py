"""How often one may ask: counters in the cache, by address, person or name."""

import contextlib
import ipaddress
import re
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import salted_hmac

_RATE = re.compile(r"(\d+)/(\d*)([smhd])")
SALT = "web.throttling"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
NETWORK = {4: 24, 6: 48}
"""Bits of an address that may be stored, by version of IP."""
_IPV6_PREFIX = 64  # what one customer of a provider has: nobody gets a fresh count for each of its addresses


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left in a window: `used` of `most`, and how many seconds it still has of its `seconds`."""

    used: int
    most: int
    seconds: int
    seconds_left: int

    @property
    def is_over(self) -> bool:
        """Whether it was more than is allowed."""
        return self.used > self.most


def too_often(*, group: str, by: str, rate: str) -> bool:
    """Count one more; True if it is more than the rate allows.

    Parameters
    ----------
    group : what is counted; the same everywhere that counts together.
    by : who asks: an address, a person, a name.
    rate : such as ``"10/5m"``: so many in so many seconds, minutes, hours or days.
    """
    counted = count_one(group=group, by=by, rate=rate)
    return counted is not None and counted.is_over


def count_one(*, group: str, by: str, rate: str) -> Allowance | None:
    """Count one more, as `too_often` does, and say what is left; None where nothing is counted."""
    if not settings.RATELIMIT_ENABLE:
        return None
    most, seconds = _read(rate)
    # Windows of different people begin at different moments, so that the limits do not all end at once.
    place = int(time.time() + zlib.crc32(by.encode()) % seconds)
    window, passed = divmod(place, seconds)
    # Keyed, as a plain hash of an address is guessed by trying all of them.
    key = (
        "throttle:"
        + salted_hmac(SALT, "\0".join((group, rate, str(window), by)), algorithm="sha256").hexdigest()
    )
    cache.add(key, 0, timeout=2 * seconds)
    try:
        used = int(cache.incr(key))
    except ValueError:
        used = 1  # it was dropped in this moment: the cache is full, or came back empty
    return Allowance(used, most, seconds, seconds - passed)


def any_too_often(*counts: tuple[str, str, str]) -> bool:
    """Count each (group, by, rate), whatever the others say; True if one is too often."""
    found = [too_often(group=group, by=by, rate=rate) for group, by, rate in counts]
    return any(found)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """The polite page for who was too fast."""
    response = render(request, "429.html", status=429)
    response.headers["Retry-After"] = "60"
    return response


def _read(rate: str) -> tuple[int, int]:
    found = _RATE.fullmatch(rate)
    if found is None:
        raise ValueError(f"rate: expected something like 10/5m, found {rate!r}")
    return int(found[1]), int(found[2] or 1) * _SECONDS[found[3]]


def address_of(request: HttpRequest) -> str:
    """The client's address, as limits count it: an IPv4 address, or the network of an IPv6 one."""
    address = client_address(request)
    with contextlib.suppress(ValueError):
        parsed = ipaddress.ip_address(address)
        if parsed.version == 6:
            return str(ipaddress.ip_network((parsed, _IPV6_PREFIX), strict=False))
    return address


def client_address(request: HttpRequest) -> str:
    """The client's address: what a trusted proxy says of it (CLIENT_IP_HEADER), else the connection's own.

    Of several addresses the last that is no trusted proxy counts; those before it are whatever the client claimed.
    """
    address = str(request.META["REMOTE_ADDR"])
    if not settings.CLIENT_IP_HEADER or not _is_proxy(address):
        return address
    for claimed in reversed(request.headers.get(settings.CLIENT_IP_HEADER, "").split(",")):
        try:
            address = str(ipaddress.ip_address(claimed.strip()))
        except ValueError:
            break
        if not _is_proxy(address):
            break
    return address


def network_of(address: str) -> str:
    """The network that a client's address is in, which says less than the address: /24 of IPv4, /48 of IPv6.

    Examples
    --------
    >>> network_of("203.0.113.77"), network_of("2001:db8:1:2::3"), network_of("")
    ('203.0.113.0/24', '2001:db8:1::/48', '')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    return str(ipaddress.ip_network((parsed, NETWORK[parsed.version]), strict=False))


def client_network(request: HttpRequest) -> str:
    """What may be stored or logged of where a client is: its network; empty of a request without an address."""
    return network_of(client_address(request)) if "REMOTE_ADDR" in request.META else ""


def _is_proxy(address: str) -> bool:
    networks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network] = settings.TRUSTED_PROXIES
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return not address  # a Unix socket: only processes of this machine reach it
    return any(parsed in network for network in networks)

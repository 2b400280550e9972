"""Which addresses a model server may have. A name says nothing: `models.internal` may lead anywhere."""

import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from judges.backends.errors import EndpointError

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Clouds hand out the credentials of a machine at these, to whoever asks from it.
_METADATA = tuple(map(ipaddress.ip_address, ("169.254.169.254", "100.100.100.200", "fd00:ec2::254")))
_OWN = tuple(
    map(
        ipaddress.ip_network,
        ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"),
    )
)


def check_addresses(url: str, addresses: Iterable[str], *, only_own: bool) -> None:
    """Refuse what no model server has, and, where private items may go there, what is not the operator's network.

    Raises
    ------
    EndpointError
        One of the addresses is link-local (as a cloud's metadata service is), unspecified, multicast or reserved; or,
        with ``only_own``, neither this machine nor in a private network (RFC 1918, RFC 4193).
    """
    for text in addresses:
        address = _plain(text)
        if (
            address.is_link_local
            or address.is_unspecified
            or address.is_multicast
            or (address.is_reserved and not _is_own(address))
            or address in _METADATA
        ):
            raise EndpointError(
                f"{url}: {address} is no address of a model server, so nothing is sent there."
            )
        if only_own and not _is_own(address):
            raise EndpointError(
                f"is_local: {url} leads to {address}, which is neither this machine nor in a private network."
            )


def check_url(url: str, *, only_own: bool) -> None:
    """Check what a URL's host leads to now. A host that can't be looked up is left for the connection to find out."""
    host = urlsplit(url).hostname or ""
    if not host:
        raise EndpointError(f"{url or 'the empty address'}: expected an address with a host.")
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return
    check_addresses(url, (str(each[4][0]) for each in found), only_own=only_own)


def _plain(text: str) -> IPAddress:
    address = ipaddress.ip_address(text.partition("%")[0])
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return inner or address


def _is_own(address: IPAddress) -> bool:
    return any(address in network for network in _OWN if network.version == address.version)

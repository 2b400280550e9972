"""Several addresses at which the same server answers: copies of it, or routers before it. No I/O."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

REST, LONGEST_REST = 2.0, 60.0
"""Seconds that an address is left out after its first failure, doubled after each further one, and the limit."""


@dataclass(slots=True, eq=False)
class Replica:
    """One address.

    Attributes
    ----------
    in_flight : int
        Requests that it has now.
    failures : int
        How often it failed since it last answered; ill until `rests_until`, and then on probation until it answers.
    """

    address: str
    in_flight: int = 0
    failures: int = 0
    rests_until: float = 0.0

    def answered(self) -> None:
        """It is well."""
        self.failures, self.rests_until = 0, 0.0

    def failed(self, now: float) -> None:
        """Send it nothing for a while. Requests that were sent together fail together and count once."""
        if now >= self.rests_until:
            self.failures += 1
            self.rests_until = now + min(REST * 2.0 ** (self.failures - 1), LONGEST_REST)

    def url(self, logical: str, base: str) -> str:
        """Return where a URL that begins with the logical address `base`, or stands beside it, is at this one."""
        if logical.startswith(base):
            return self.address + logical.removeprefix(base)
        return self.address.removesuffix("/v1") + logical.removeprefix(base.removesuffix("/v1"))


class Replicas:
    """Which address a request is sent to: the one with the least in flight.

    One that failed is left out, and then tried with one request at a time until it answers. Where none is well, the one
    whose rest is over first is asked: alone, an address is never left out.
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        self.all = [Replica(each.rstrip("/")) for each in addresses]

    def pick(self, now: float, without: Collection[Replica] = ()) -> Replica | None:
        """Return the one to send to, None if all were tried."""
        left = [each for each in self.all if each not in without]
        tried_again = [
            each for each in left if each.failures and not each.in_flight and now >= each.rests_until
        ]
        if tried_again:
            return tried_again[0]
        well = [each for each in left if not each.failures]
        if well:
            return min(well, key=lambda each: each.in_flight)
        return min(left, key=lambda each: each.rests_until, default=None)


def check_addresses_alike(base_url: str, addresses: Sequence[str]) -> str:
    """Return what is wrong with the addresses of an endpoint, empty if nothing is."""
    ending = urlsplit(base_url).path.rstrip("/").endswith("/v1")
    for each in addresses:
        parts = urlsplit(each)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return f"{each!r}: expected an http or https address."
        if parts.username or parts.password or parts.query or parts.fragment:
            return "An address holds no user name, password, query or fragment."
        if parts.path.rstrip("/").endswith("/v1") != ending:
            return f"{each}: expected an address up to and with /v1, as {base_url} is."
    if len({each.rstrip("/") for each in addresses}) < len(addresses):
        return "An address is named twice."
    return ""

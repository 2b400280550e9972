"""What the options of a backend must be: limits, prices, where the key is, what counts as local."""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judges.backends.errors import EndpointError


def read_key(variable: str, base_url: str) -> str:
    """Return the key from the environment, "" without a variable's name; raises EndpointError."""
    if not variable:
        return ""
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EndpointError(
            f"The environment variable {variable} is not set; it must hold the key for {base_url}."
        )
    if not key.isascii() or not key.isprintable():
        # httpx would refuse it as a header, and show it in its message.
        raise EndpointError(f"The environment variable {variable} holds characters that no key may have.")
    return key


def check_local(base_url: str) -> None:
    """Raise EndpointError for an address that is not under the operator's control."""
    if not _is_private_host(urlsplit(base_url).hostname or ""):
        raise EndpointError(
            f"is_local: {base_url} is neither this machine nor in a private network, so it is not local."
        )


def proxy_for(base_url: str) -> str | None:
    """Return the proxy that the environment names for an address (HTTPS_PROXY, ALL_PROXY, NO_PROXY), or None.

    Not for local addresses: a proxy would carry private items off the operator's machines.
    """
    parts = urlsplit(base_url)
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or (parts.hostname and proxy_bypass(parts.hostname)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _is_private_host(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().rstrip(".")
        # A name without a dot, as in Docker's networks, or under a suffix that public DNS does not serve.
        return bool(name) and (
            "." not in name or name.endswith((".local", ".internal", ".lan", ".localhost"))
        )
    return address.is_loopback or address.is_private


def check_limits(capacity: int, **seconds: float) -> None:
    """Raise EndpointError for a capacity or a time limit that cannot be right."""
    if not isinstance(capacity, int) or capacity < 1:
        raise EndpointError(f"capacity: expected a whole number of at least 1, found {capacity!r}.")
    for name, value in seconds.items():
        if not isinstance(value, int | float) or not value > 0:
            raise EndpointError(f"{name}: expected seconds above 0, found {value!r}.")


class PriceTable:
    """What tokens cost: the endpoint's prices, and those of single models in their place.

    Parameters
    ----------
    price_prompt, price_completion : float
        Per million tokens, >= 0.
    prices : mapping of str to (float, float)
        The same two of single models.
    """

    def __init__(self, price_prompt: float, price_completion: float, prices: object = None) -> None:
        self._default = _pair("price_prompt", price_prompt, "price_completion", price_completion)
        table = prices or {}
        if not isinstance(table, dict):
            raise EndpointError("prices: expected a price table of models.")
        self._models = {}
        for name, each in table.items():
            if not isinstance(each, list | tuple) or len(each) != 2:
                raise EndpointError(f"prices: {name}: expected two prices, found {each!r}.")
            self._models[name] = _pair(f"prices: {name}", each[0], f"prices: {name}", each[1])

    def of(self, model: str) -> tuple[float, float]:
        """Return the price of one prompt token and of one completion token."""
        return self._models.get(model, self._default)

    def knows(self, model: str) -> bool:
        """Return whether a price above nothing is configured for the model."""
        return model in self._models or any(self._default)


def _pair(first: str, prompt: float, second: str, completion: float) -> tuple[float, float]:
    for name, value in ((first, prompt), (second, completion)):
        if not isinstance(value, int | float) or not value >= 0:
            raise EndpointError(f"{name}: expected a price of at least 0, found {value!r}.")
    return prompt / 1e6, completion / 1e6

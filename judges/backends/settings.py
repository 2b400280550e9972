"""What the options of a backend must be: limits, prices, where the key is."""

import os
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from judges.backends.errors import EndpointError

POOLINGS = ("", "mean", "cls", "last")
"""How the vectors of tokens become one; empty: as the model's files say."""
BATCH_PRICE_SHARE = 0.5
"""What a request in a batch costs, of its price by itself: with OpenAI as with Anthropic."""
KEY_VARIABLES = "MODEL_KEY_VARIABLES"
"""The environment variable in which the operator lists those that hold keys of model servers."""


def check_key_variable(variable: str) -> None:
    """Raise EndpointError for a variable that the operator does not list as a key of a model server.

    Whoever may set an endpoint chooses the address, too: without the list they could have any secret of the site,
    such as its database's password, sent to themselves.
    """
    listed = {name.strip() for name in os.environ.get(KEY_VARIABLES, "").split(",")} - {""}
    if variable and variable not in listed:
        raise EndpointError(
            f"The environment variable {variable} is not listed as a key of a model server. The operator of the site "
            f"can add it: {KEY_VARIABLES}={','.join(sorted(listed | {variable}))}"
        )


def read_key(variable: str, base_url: str) -> str:
    """Return the key from the environment, "" without a variable's name; raises EndpointError."""
    if not variable:
        return ""
    check_key_variable(variable)
    key = os.environ.get(variable, "").strip()
    if not key:
        raise EndpointError(
            f"The environment variable {variable} is not set; it must hold the key for {base_url}."
        )
    if not key.isascii() or not key.isprintable():
        # httpx would refuse it as a header, and show it in its message.
        raise EndpointError(f"The environment variable {variable} holds characters that no key may have.")
    return key


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


def check_limits(capacity: int, **seconds: float) -> None:
    """Raise EndpointError for a capacity or a time limit that cannot be right."""
    if not isinstance(capacity, int) or capacity < 1:
        raise EndpointError(f"capacity: expected a whole number of at least 1, found {capacity!r}.")
    for name, value in seconds.items():
        if not isinstance(value, int | float) or not value > 0:
            raise EndpointError(f"{name}: expected seconds above 0, found {value!r}.")


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise EndpointError unless an option is one of those that are allowed."""
    if value not in allowed:
        raise EndpointError(f"{name}: expected one of {', '.join(map(repr, allowed))}, found {value!r}.")


def check_extra(extra: Mapping[str, object], ours: frozenset[str]) -> None:
    """Raise EndpointError if further fields of a request's body set what the backend sets itself."""
    if taken := sorted(ours & extra.keys()):
        raise EndpointError(f"extra_body: {', '.join(taken)} cannot be set here.")


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

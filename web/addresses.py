"""Addresses of pages by their names, kept: `reverse` takes as long as a query, and an answer's page has several."""

from functools import lru_cache

from django.urls import reverse

MOST = 4096


@lru_cache(MOST)
def address(name: str, *arguments: str) -> str:
    """As `reverse`, for what is asked for again and again."""
    return reverse(name, args=arguments)


def row_address(name: str, *arguments: str | int) -> str:
    """The same, where the last argument is the number of a row; what is kept serves all rows."""
    *others, pk = arguments
    before, after = _around(name, *others)
    return f"{before}{pk}{after}"


@lru_cache(MOST)
def _around(name: str, *arguments: str | int) -> tuple[str, str]:
    before, _, after = reverse(name, args=[*arguments, 0]).rpartition("0")
    return before, after

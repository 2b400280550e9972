"""Rows in batches, for statements that take so many at once. (`itertools.batched` comes with Python 3.12.)"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """The rows, `size` at a time.

    Examples
    --------
    >>> list(batched("abc", 2))
    [['a', 'b'], ['c']]
    """
    rest = iter(rows)
    while batch := list(islice(rest, size)):
        yield batch

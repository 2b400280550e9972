"""Ranks from values: levels without gaps, as labels have them, and average ranks, as means need them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

Number = TypeVar("Number", float, Fraction)


def ranked(values: Mapping[str, Number]) -> dict[str, int]:
    """Return levels from 1, the lowest value first; equal values share one.

    >>> ranked({"x": 0.5, "y": 0.1, "z": 0.5})
    {'x': 2, 'y': 1, 'z': 2}
    """
    levels = {value: level for level, value in enumerate(sorted(set(values.values())), start=1)}
    return {name: levels[value] for name, value in values.items()}


def average_ranks(ranks: Mapping[str, int]) -> dict[str, Fraction]:
    """Return the mean of the places that equal ranks share, exactly.

    >>> average_ranks({"x": 1, "y": 2, "z": 2})["y"]
    Fraction(5, 2)
    """
    given = sorted(ranks.values())
    # Places first..last are shared by all that have the rank; their mean is (first + last) / 2.
    return {name: Fraction(2 * given.index(rank) + given.count(rank) + 1, 2) for name, rank in ranks.items()}

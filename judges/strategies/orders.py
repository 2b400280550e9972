"""Orders and ranks.

An order of numbered things is read out of what a model wrote: every one once, the best first. Ranks are made from
values: levels without gaps, as labels have them, and average ranks, as means need them.
"""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any, TypeVar

from judges.strategies.parsing import undressed
from judges.strategies.structured import NAMING, as_integer, closed, number_in, read_json, scalar

_PLAIN = re.compile(r"\d{1,4}(?:\s*[>,=]\s*\d{1,4})*", re.ASCII)
# "Ranking: Answer 2 > Answer 1": words that say what the numbers are, before a sign alone.
_NAMED = re.compile(
    r"(?:(?:(?:my|the)\s+)?(?:final\s+)?(?:ranking|order)\s*(?:is)?\s*:?\s*)"
    r"|(?:answer|aspect|requirement|response|output)\s+(?=\d)",
    re.IGNORECASE,
)
_DRESS = "*_`#\"'“”‘’()[] \t\r\n."
MAX_PLAIN = 2000
NO_ORDER = "holds no order"
Number = TypeVar("Number", float, Fraction)


def order_schema(count: int, *, ties: bool) -> dict[str, Any]:
    """Return a JSON schema of ``{"ranking": [2, 1, 3]}``, with ties of ``{"ranking": [[2], [1, 3]]}``."""
    number = {"type": "integer", "enum": list(range(1, count + 1))}
    if ties:
        place = {"type": "array", "items": number, "minItems": 1, "maxItems": count}
        return closed({"ranking": {"type": "array", "items": place, "minItems": 1, "maxItems": count}})
    return closed({"ranking": {"type": "array", "items": number, "minItems": count, "maxItems": count}})


def read_order(
    text: str,
    names: Sequence[str],
    *,
    ties: bool = False,
    cut_off: bool = False,
    numbers: Mapping[str, str] = MappingProxyType({}),
) -> tuple[list[list[int]] | None, str]:
    """Read an order of the numbers 1 to n.

    Parameters
    ----------
    names : sequence of str
        What the numbers stand for, for the reason.
    ties : bool
        Several may share a place.
    numbers : mapping of str to str
        The numbers of texts that may stand in their place, as `structured.numbers_of` returns them.

    Returns
    -------
    (places, "") or (None, reason)
        The numbers of each place, the best place first.

    >>> read_order('The order is {"ranking": [2, 1]}.', ["form", "length"])
    ([[2], [1]], '')
    >>> read_order("[2, 2]", ["form", "length"])
    (None, 'form is missing; length stands twice')
    """
    found, problem = read_json(text, cut_off=cut_off)
    bare = _NAMED.sub("", undressed(text[:MAX_PLAIN])).strip(_DRESS)
    if not cut_off and len(text) <= MAX_PLAIN and _PLAIN.fullmatch(bare):
        groups: list[Any] = [place.split("=") for place in re.split("[>,]", bare)]
    elif problem:
        return None, problem
    else:
        groups = _groups(found)
    places = [[_number(each, numbers) for each in group] for group in groups]
    problem = _problem(places, names, ties=ties)
    if problem:
        return None, problem
    return [[int(number) for number in sorted(place, key=int)] for place in places], ""


def ranks_of(places: Sequence[Sequence[int]]) -> dict[int, int]:
    """Return each number's rank: levels without gaps from 1, as labels have them.

    >>> ranks_of([[2], [1, 3]])
    {2: 1, 1: 2, 3: 2}
    """
    return {number: rank for rank, place in enumerate(places, start=1) for number in place}


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


def _groups(found: object) -> list[list[Any]]:
    if isinstance(found, Mapping):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else None
    if not isinstance(found, list):
        return []
    if found and all(isinstance(each, dict) and as_integer(each.get("rank")) is not None for each in found):
        return [
            [each for each in found if each["rank"] == rank]
            for rank in sorted({each["rank"] for each in found}, key=int)
        ]
    return [list(each) if isinstance(each, list) else [each] for each in found]


def _number(raw: object, numbers: Mapping[str, str]) -> str:
    """The number as text; what is none stays recognisable."""
    name = next((each for each in NAMING if isinstance(raw, dict) and each in raw), None)
    return number_in(raw[name] if isinstance(raw, dict) and name else scalar(raw), numbers)


def _problem(places: Sequence[Sequence[str]], names: Sequence[str], *, ties: bool) -> str:
    said = [number for place in places for number in place]
    if not said:
        return NO_ORDER
    known = {str(number): name for number, name in enumerate(names, start=1)}
    problems = [f"{name} is missing" for number, name in known.items() if number not in said]
    problems += [f"{name} stands twice" for number, name in known.items() if said.count(number) > 1]
    problems += [
        f"there is no {number or 'empty number'}" for number in dict.fromkeys(said) if number not in known
    ]
    if not problems and not ties and any(len(place) > 1 for place in places):
        return "a tie, which was not allowed"
    return "; ".join(problems)

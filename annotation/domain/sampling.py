"""Which items of a slice are labelled, with which chance, and in what order: pure functions of ids and a seed."""

import heapq
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Drawn:
    """Items in the order in which they were drawn, each with the chance that it had of being drawn."""

    items: tuple[int, ...]
    probability: Mapping[int, float]


def seeded_random(seed: str) -> random.Random:
    """A generator for drawing samples; the seed is text, so that two uses of one number do not move together."""
    return random.Random(seed)  # noqa: S311  (repeatable, not secret)


def allocate(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """Share `total` places among strata in proportion to their sizes, by largest remainders.

    Every stratum that is not empty gets at least one place if there are enough, lest some of the items have no
    chance at all. No stratum gets more than it has.

    Examples
    --------
    >>> allocate({"a": 60, "b": 30, "c": 10}, 10)
    {'a': 6, 'b': 3, 'c': 1}
    >>> allocate({"a": 98, "b": 1, "c": 1}, 10)
    {'a': 8, 'b': 1, 'c': 1}
    """
    if total < 0:
        raise ValueError(f"total must not be negative, got {total}")
    everything = sum(sizes.values())
    if total >= everything:
        return dict(sizes)
    filled = [name for name, size in sizes.items() if size]
    least = 1 if total >= len(filled) else 0
    quota = {name: Fraction(total * size, everything) for name, size in sizes.items()}
    places = {name: max(least if size else 0, int(quota[name])) for name, size in sizes.items()}
    while (missing := total - sum(places.values())) != 0:
        step = 1 if missing > 0 else -1
        able = [name for name in filled if (places[name] < sizes[name] if step > 0 else places[name] > least)]
        # Furthest below (or above) its share; the name decides between equals, so that the result is one.
        name = max(able, key=lambda name: (step * (quota[name] - places[name]), name))
        places[name] += step
    return places


def sample_simple(items: Sequence[int], size: int, *, seed: str) -> Drawn:
    """A simple random sample without replacement: each item has the chance `size / len(items)`."""
    size = min(size, len(items))
    chosen = seeded_random(seed).sample(items, size)
    chance = size / len(items) if items else 1.0
    return Drawn(tuple(chosen), dict.fromkeys(chosen, chance))


def draw_stratified(strata: Mapping[str, Sequence[int]], size: int, *, seed: str) -> Drawn:
    """A random sample of each stratum, in proportion to its size; the chance differs a little by rounding."""
    places = allocate({name: len(items) for name, items in strata.items()}, size)
    parts = [sample_simple(items, places[name], seed=f"{seed}/{name}") for name, items in strata.items()]
    chances = {item: chance for part in parts for item, chance in part.probability.items()}
    return Drawn(tuple(item for part in parts for item in part.items), chances)


@dataclass(frozen=True, slots=True)
class Sides:
    """Pairs of one instruction, by whether the other response is longer or shorter than the baseline's."""

    longer: tuple[int, ...] = ()
    shorter: tuple[int, ...] = ()

    @property
    def each(self) -> int:
        """How many pairs there can be of each side."""
        return min(len(self.longer), len(self.shorter))


def draw_length_balanced(instructions: Iterable[Sides], *, seed: str, size: int | None = None) -> Drawn:
    """For each instruction as many pairs whose other response is longer than the baseline's as are shorter.

    With k the smaller of the two numbers, k pairs are drawn of each side, so that a preference for length cannot
    look like a preference for (or against) the baseline. With `size`, only `size // 2` of all these couples of a
    longer and a shorter pair are drawn, at random over the instructions; the chance of a pair is then
    (couples drawn / couples) * (k / pairs on its side).

    References
    ----------
    X. Lyu et al. (2024), "HREF: Human Response-Guided Evaluation of Instruction Following in Language Models",
    arXiv:2412.15524: the human preferences were collected on pairs that are balanced in this way.
    """
    sides = [one for one in instructions if one.each]
    couples = [place for place, one in enumerate(sides) for _ in range(one.each)]
    wanted = len(couples) if size is None else min(len(couples), size // 2)
    rng = seeded_random(seed)
    taken = [0] * len(sides)
    for place in rng.sample(couples, wanted):
        taken[place] += 1
    share = wanted / len(couples) if couples else 1.0
    chances: dict[int, float] = {}
    for one, count in zip(sides, taken, strict=True):
        for side in (one.longer, one.shorter):
            chances |= dict.fromkeys(rng.sample(side, count), share * one.each / len(side))
    return Drawn(tuple(chances), chances)


def interleave(groups: Mapping[str, Sequence[T]]) -> list[T]:
    """Merge groups so that at any point each has had its share, give or take one item.

    After k items, a group with n of all N items has given between ``k * n / N - 1`` and ``k * n / N + 1``. The order
    inside a group is kept. Each item of a group has a first and a last position at which this holds; giving out,
    of those that may come, the one whose last position is nearest finds such an order whenever there is one, and
    there always is one.

    References
    ----------
    R. Tijdeman (1980), "The chairman assignment problem", Discrete Mathematics 32, 323-330 (there is one);
    G. Steiner and S. Yeomans (1993), "Level schedules for mixed-model, just-in-time processes", Management
    Science 39, 728-735 (earliest deadline first finds it).

    Examples
    --------
    >>> "".join(interleave({"a": "aaaa", "b": "bb"}))
    'aabaab'
    """
    total = sum(len(items) for items in groups.values())
    names = sorted(name for name, items in groups.items() if items)
    # (first position, group, number of its item) and (last position, group, number), positions from 1.
    waiting = [(1, place, 0) for place in range(len(names))]
    ready: list[tuple[int, int, int]] = []
    order: list[T] = []
    for position in range(1, total + 1):
        while waiting and waiting[0][0] <= position:
            _, place, number = heapq.heappop(waiting)
            size = len(groups[names[place]])
            heapq.heappush(ready, (min(total, (number + 1) * total // size + 1), place, number))
            if number + 1 < size:
                heapq.heappush(waiting, (-(-(number + 1) * total // size), place, number + 1))
        _, place, number = heapq.heappop(ready)
        order.append(groups[names[place]][number])
    return order


def shuffled(items: Iterable[T], *, seed: str) -> list[T]:
    """The items in a random order that the seed decides."""
    mixed = list(items)
    seeded_random(seed).shuffle(mixed)
    return mixed


def seeded_hash(seed: int, name: str, purpose: str = "sample") -> bytes:
    """Return a hash that is the same on every machine, and independent of those for other purposes."""
    return sha256(f"{purpose}:{seed}:{name}".encode("utf-8", "surrogatepass")).digest()

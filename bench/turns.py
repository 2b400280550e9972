"""Two ways of doing the same, timed in turns: what else the machine does meanwhile meets both alike."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass
class Spent:
    """What a run took: wall time, and processor time of this process and its children (0 where it is not known)."""

    seconds: float = 0.0
    processor: float = 0.0


@contextmanager
def spent() -> Iterator[Spent]:
    """Measure a block: what is yielded has its figures when the block is left."""
    found = Spent()
    before = processor_seconds()
    started = time.perf_counter()
    yield found
    found.seconds = time.perf_counter() - started
    found.processor = processor_seconds() - before


def processor_seconds() -> float:
    """Return the processor time so far of this process and of all below it that live (Linux; elsewhere 0)."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name, which may have spaces: state, parent, ..., user time (14th field), system time.
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # it has ended meanwhile
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    family = [os.getpid()]
    for pid in family:
        family += [each for each, parent in parents.items() if parent == pid]
    return sum(ticks.get(pid, 0) for pid in family) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Ratio:
    """How many times as quick ours is as theirs.

    Attributes
    ----------
    median, low, high : float
        Of wall times, over the blocks: the middle, the smallest and the largest.
    processor : float
        Theirs over ours of the processor times of all runs: what else the machine does hardly touches it, but it
        counts as a cost what runs beside the model on another core; NaN where the times are not known.
    best : float
        The least wall time of theirs over the least of ours: where the machine is so busy that the blocks say little.
    seconds : float
        The least wall time of a run of ours.
    """

    median: float
    low: float
    high: float
    best: float
    processor: float
    seconds: float

    def figures(self, name: str) -> dict[str, float]:
        """Return the median under the name, and the spread under names that begin with it."""
        return {
            name: self.median,
            f"{name}_low": self.low,
            f"{name}_high": self.high,
            f"{name}_best": self.best,
        }


def in_turns(name: str, ours: Callable[[], Spent], theirs: Callable[[], Spent], *, blocks: int) -> Ratio:
    """Run ours, theirs, theirs, ours in each block, so that a load that grows or falls favours neither.

    Parameters
    ----------
    ours, theirs : callable
        Do the work once; return what it took.
    blocks : int
        At least 1; a block gives one ratio: theirs over ours, of the sums of two runs each.
    """
    found: list[float] = []
    all_ours: list[Spent] = []
    all_theirs: list[Spent] = []
    for number in range(blocks):
        first, second, third, fourth = ours(), theirs(), theirs(), ours()
        all_ours += [first, fourth]
        all_theirs += [second, third]
        found.append((second.seconds + third.seconds) / (first.seconds + fourth.seconds))
        print(
            f"  {name} {number + 1}: ours {first.seconds:.2f} and {fourth.seconds:.2f} s, "
            f"theirs {second.seconds:.2f} and {third.seconds:.2f} s, ratio {found[-1]:.3f}",
            file=sys.stderr,
            flush=True,
        )
    cost = sum(each.processor for each in all_ours)
    least = min(each.seconds for each in all_ours)
    return Ratio(
        median(found),
        min(found),
        max(found),
        min(each.seconds for each in all_theirs) / least,
        sum(each.processor for each in all_theirs) / cost if cost else float("nan"),
        least,
    )

"""Simulations with known truth: do intervals cover, are tests of their size, does a choice hold on new data?

Coverage of the intervals themselves is `python -m bench coverage`; the tables are in docs/statistics.
"""

import importlib
from collections.abc import Sequence

FAMILIES = (
    "agreement",
    "people",
    "published",
    "correlation",
    "win_rates",
    "tests",
    "labels",
    "errors",
    "selection",
    "juries",
    "verdicts",
    "distributions",
    "sequences",
    "planning",
    "plans",
    "drift",
)


def run(quick: bool = False, only: Sequence[str] = ()) -> dict[str, float]:
    """Run all of them, or some; the figures by name."""
    figures: dict[str, float] = {}
    for name in only or FAMILIES:
        print(f"{name}:", flush=True)
        figures |= importlib.import_module(f"bench.simulations_{name}").run(quick=quick)
    return figures

"""Simulations with known truth: do intervals cover, are tests of their size, does a choice hold on new data?

Coverage of the intervals themselves is `python -m bench coverage`; the tables are in docs/statistics.
"""

import importlib

NAMES = ("agreement", "correlation", "win_rates", "tests", "labels", "selection")


def run(quick: bool = False) -> dict[str, float]:
    """Run all of them; the figures by name."""
    figures: dict[str, float] = {}
    for name in NAMES:
        print(f"{name}:", flush=True)
        figures |= importlib.import_module(f"bench.simulations_{name}").run(quick=quick)
    return figures

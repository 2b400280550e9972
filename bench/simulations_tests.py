"""How often the tests of a difference reject: where there is none, and where there is one of a known size.

Two judges are right or wrong. On a share of the items (the discordance) one is right and the other wrong. In clusters
of 1 to 8 items whoever is favoured once is favoured again: a discordant item goes to its cluster's favourite in seven
of ten cases and to either one else. Where the judges are equally good a test at 0.05 may reject in 5% of datasets.
"""

import itertools
import warnings
from collections.abc import Callable

import numpy as np

from metaeval.stats.errors import StatisticsWarning
from metaeval.stats.hypothesis_tests import TestResult, mcnemar_test, paired_permutation_test, paired_t_test
from metaeval.stats.power import labels_needed, power_of_difference

LEVEL = 0.05
LOYALTY = 0.7
LARGEST_CLUSTER = 8
DISCORDANCES = (0.02, 0.1, 0.3)
CLUSTERS = (10, 30, 100, 200)
EFFECTS = ((0.05, 0.06), (0.05, 0.2), (0.1, 0.2), (0.2, 0.3))
PERMUTATIONS = 999


def gaps(
    n_clusters: int, discordance: float, rng: np.random.Generator, *, clustered: bool, difference: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """First minus second of every item, and its cluster."""
    sizes = rng.integers(1, LARGEST_CLUSTER + 1, n_clusters) if clustered else np.ones(n_clusters, dtype=int)
    clusters = np.repeat(np.arange(n_clusters), sizes)
    lean = (1 + difference / discordance) / 2
    favourite = np.where(rng.random(n_clusters) < lean, 1.0, -1.0)[clusters]
    other = np.where(rng.random(len(clusters)) < lean, 1.0, -1.0)
    sign = np.where(rng.random(len(clusters)) < LOYALTY, favourite, other)
    return np.where(rng.random(len(clusters)) < discordance, sign, 0.0), clusters


def tests(gap: np.ndarray, clusters: np.ndarray, *, clustered: bool) -> dict[str, Callable[[], TestResult]]:
    """The tests that are compared, by name."""
    first, second = np.maximum(gap, 0), np.maximum(-gap, 0)
    flips = {"n_permutations": PERMUTATIONS, "rng": 1}
    found: dict[str, Callable[[], TestResult]] = {
        "t, by item": lambda: paired_t_test(first, second),
        "sign flips, by item": lambda: paired_permutation_test(first, second, **flips),  # type: ignore[arg-type]
    }
    if clustered:
        found["t, by cluster"] = lambda: paired_t_test(first, second, clusters=clusters)
        found["sign flips, by cluster"] = lambda: paired_permutation_test(
            first,
            second,
            clusters=clusters,
            **flips,  # type: ignore[arg-type]
        )
    else:
        found["McNemar, mid-p"] = lambda: mcnemar_test(first, second, mid_p=True)
        found["McNemar, chi-square"] = lambda: mcnemar_test(first, second, exact=False)
    return found


def rejections(
    n_clusters: int,
    discordance: float,
    n_datasets: int,
    *,
    clustered: bool,
    difference: float = 0.0,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Share of simulated datasets in which each test rejects; one that has no p-value does not."""
    count: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for _ in range(n_datasets):
            gap, clusters = gaps(n_clusters, discordance, rng, clustered=clustered, difference=difference)
            for name, test in tests(gap, clusters, clustered=clustered).items():
                count[name] = count.get(name, 0) + bool(test().p_value <= LEVEL)
    return {name: found / n_datasets for name, found in count.items()}


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the largest size of each test, and the largest miss of the power."""
    n_datasets = 200 if quick else 2_000
    rng = np.random.default_rng(20)
    figures: dict[str, float] = {}
    for clustered in (False, True):
        print(
            f"\nRejected at 0.05 although there is no difference, {'clustered' if clustered else 'unclustered'}"
        )
        for n_clusters, discordance in itertools.product(CLUSTERS, DISCORDANCES):
            found = rejections(n_clusters, discordance, n_datasets, clustered=clustered, rng=rng)
            _line(f"{n_clusters} {'clusters' if clustered else 'items'}, {discordance:.0%} discordant", found)
            for name, share in found.items():
                key = f"size_{'clustered' if clustered else 'unclustered'}_{name.replace(', ', '_').replace(' ', '_')}"
                figures[key] = max(figures.get(key, 0.0), share)
    print("\nPower at the number of items said to give 80% (sign flips, unclustered)")
    worst = 0.0
    for difference, discordance in EFFECTS:
        n = labels_needed(difference, discordance=discordance)
        found = rejections(n, discordance, n_datasets, clustered=False, difference=difference, rng=rng)
        said = power_of_difference(difference, n, discordance=discordance)
        _line(f"{difference:.0%} of {discordance:.0%} discordant: {n} items, said {said:.1%}", found)
        worst = max(worst, abs(found["sign flips, by item"] - said))
    figures["power_worst_miss"] = worst
    return figures


def _line(label: str, shares: dict[str, float]) -> None:
    cells = "  ".join(f"{name} {share:6.1%}" for name, share in shares.items())
    print(f"  {label:52} {cells}", flush=True)

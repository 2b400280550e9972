"""What few labels an item add to distances from people's label shares, and whether the intervals cover.

The table of docs/statistics/distributions-and-sequences.md.
"""

from typing import Any

import numpy as np

from metaeval.stats import distribution_distance

MEASURES = ("total_variation", "jensen_shannon", "squared", "cross_entropy")
LABELS = (2, 3, 5, 10, 20)
N_CLUSTERS = 60


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; mean figures by measure and labels, and coverage of their own expectation and of the truth."""
    times = 50 if quick else 400
    result = {}
    for measure in MEASURES:
        truth = _shares(np.random.default_rng(9), 10_000, 1)
        options: dict[str, Any] = {"measure": measure, "values": [1, 2, 0], "n_resamples": 1}
        # With people's own shares in place of labels: a thousand labels in exact proportion.
        exact = _many(truth[0])
        limit = distribution_distance(exact, truth[1], corrected=False, **options).value
        print(f"  {measure}: {limit:.3f} with 1,000 labels an item", flush=True)
        for n in LABELS:
            found, covered = list[float](), 0
            rng = np.random.default_rng(n)
            for _ in range(times):
                labels, verdicts, cluster = _draw(rng, n)
                one = distribution_distance(labels, verdicts, clusters=cluster, **options)
                found.append(one.value)
                covered += one.low <= limit <= one.high
            key = f"distance_{measure}_{n}"
            result |= {key: float(np.mean(found)), f"{key}_covers": covered / times}
            print(f"    {n:2} labels: {np.mean(found):.3f}, covers {100 * covered / times:.1f}%", flush=True)
    return result


def _shares(rng: np.random.Generator, n: int, size: int) -> tuple[Any, Any]:
    """People's shares of three values, by instruction, and verdicts in both orders of a judge that follows them."""
    shares = np.repeat(rng.dirichlet([2.0, 1.0, 0.3], n), size, axis=0)
    verdicts = np.stack([_one_each(rng, shares) for _ in range(2)], axis=1)
    return shares, verdicts


def _one_each(rng: np.random.Generator, shares: Any) -> Any:
    return np.array([1.0, 2.0, 0.0])[
        (rng.random((len(shares), 1)) > np.cumsum(shares, axis=1)[:, :2]).sum(axis=1)
    ]


def _many(shares: Any) -> Any:
    """Labels in the proportion of the shares, 1,000 an item."""
    place = (np.arange(1_000) + 0.5) / 1_000
    edges = np.cumsum(shares, axis=1)[:, :2]
    codes = (place[None, :] > edges[:, [0]]).astype(int) + (place[None, :] > edges[:, [1]])
    return np.array([1.0, 2.0, 0.0])[codes]


def _draw(rng: np.random.Generator, n: int) -> tuple[Any, Any, Any]:
    size = rng.integers(1, 6, N_CLUSTERS)
    shares = np.repeat(rng.dirichlet([2.0, 1.0, 0.3], N_CLUSTERS), size, axis=0)
    verdicts = np.stack([_one_each(rng, shares) for _ in range(2)], axis=1)
    labels = np.stack([_one_each(rng, shares) for _ in range(n)], axis=1)
    return labels, verdicts, np.repeat(np.arange(N_CLUSTERS), size)

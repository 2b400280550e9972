"""Do the intervals of agreement cover: kappas, and the accuracies of the label model?

The tables of docs/statistics/agreement.md and docs/statistics/label-models.md.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from metaeval.stats.alpha import krippendorff_alpha
from metaeval.stats.dawid_skene import dawid_skene
from metaeval.stats.errors import StatisticsWarning
from metaeval.stats.estimate import Estimate
from metaeval.stats.gwet import gwet_ac
from metaeval.stats.kappa import cohen_kappa, fleiss_kappa

Figure = Callable[[Any, int], Estimate]

# Name, the figure, people, values, and whether an error is one step rather than any value.
FIGURES: list[tuple[str, Figure, int, int, bool]] = [
    ("cohen", lambda x, r: cohen_kappa(x[:, 0], x[:, 1], n_resamples=r), 2, 3, False),
    (
        "cohen_quadratic",
        lambda x, r: cohen_kappa(x[:, 0], x[:, 1], weights="quadratic", n_resamples=r),
        2,
        5,
        True,
    ),
    ("fleiss", lambda x, r: fleiss_kappa(x, n_resamples=r), 3, 3, False),
    ("ac1", lambda x, r: gwet_ac(x, n_resamples=r), 3, 3, False),
    ("ac2_quadratic", lambda x, r: gwet_ac(x, weights="quadratic", n_resamples=r), 3, 5, True),
    ("alpha_interval", lambda x, r: krippendorff_alpha(x, level="interval", n_resamples=r), 3, 5, True),
]
# Items, people, labels an item, values.
MODELS = [(200, 4, 3, 2), (200, 5, 3, 2), (200, 5, 5, 2), (500, 10, 3, 3), (500, 10, 5, 3)]


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the coverage of each row by name."""
    times = 60 if quick else 500
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        return _beyond_chance(times) | _label_model(max(20, times // 4))


def _labels(rng: np.random.Generator, n: int, width: int, n_values: int, error: float, near: bool) -> Any:
    true = rng.integers(0, n_values, (n, 1))
    if near:
        wrong = np.clip(true + rng.choice([-1, 1], (n, width)), 0, n_values - 1)
    else:
        wrong = rng.integers(0, n_values, (n, width))
    return np.where(rng.random((n, width)) < error, wrong, true) + 1.0


def _beyond_chance(times: int) -> dict[str, float]:
    rng = np.random.default_rng(0)
    result = {}
    for name, figure, width, n_values, near in FIGURES:
        for error in (0.3, 0.1, 0.02):
            truth = figure(_labels(rng, 400_000, width, n_values, error, near), 0).value
            for n in (20, 40, 100):
                covered, widths = 0, list[float]()
                while len(widths) < times:
                    found = figure(_labels(rng, n, width, n_values, error, near), 400)
                    if found.defined:
                        covered += found.low <= truth <= found.high
                        widths.append(found.high - found.low)
                key = f"{name}_{truth:.2f}_n{n}"
                result[key] = covered / times
                print(f"  {key:32} {100 * result[key]:5.1f}%   mean width {np.mean(widths):.2f}", flush=True)
    return result


def _label_model(times: int) -> dict[str, float]:
    rng = np.random.default_rng(2)
    result = {}
    for n, people, each, n_values in MODELS:
        right = np.linspace(0.6, 0.95, people)
        covered = 0
        for _ in range(times):
            truth = rng.integers(0, n_values, (n, 1))
            who = np.argsort(rng.random((n, people)), axis=1)[:, :each]
            slip = rng.integers(1, n_values, (n, each))
            said = (truth + np.where(rng.random((n, each)) < right[who], 0, slip)) % n_values
            long = (np.repeat(np.arange(n), each), who.ravel(), said.ravel())
            found = dawid_skene(long, n_iter=1_000).accuracy()
            covered += sum(e.low <= p <= e.high for e, p in zip(found, right, strict=True))
        key = f"dawid_skene_{n}x{people}_each{each}_values{n_values}"
        result[key] = covered / times / people
        print(f"  {key:44} {100 * result[key]:5.1f}%", flush=True)
    return result

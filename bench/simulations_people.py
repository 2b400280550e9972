"""Do intervals for people like these cover: agreement of people and judges, gaps and differences, with modes and ties.

The table of docs/statistics/agreement.md. An annotator prefers the better response, give or take a taste for length of
their own, noise of a size of their own, and a tie where the two are close. Judges do the same with tastes of theirs.
Everything is computed with the public functions; the truth is the mean of a figure over all datasets of a setting.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metaeval.stats import (
    Estimate,
    StatisticsWarning,
    best_reachable_agreement,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    leave_one_out_agreement,
    leave_one_out_difference,
    pairwise_agreement,
)

Floats: TypeAlias = NDArray[np.float64]
# One seed a setting; the interval depends on no resample.
_ONE: dict[str, Any] = {"n_resamples": 1}
FIGURES: dict[str, Callable[..., Any]] = {
    "people": lambda labels, _, **how: leave_one_out_agreement(labels, **how),
    "judge": lambda labels, judges, **how: leave_one_out_agreement(labels, judges[0], **how),
    "best reachable": lambda labels, _, **how: best_reachable_agreement(labels, **how),
    "judge - people": lambda labels, judges, **how: leave_one_out_difference(
        labels, judges[0], "people", **how
    ),
    "best - judge": lambda labels, judges, **how: leave_one_out_difference(
        labels, "best_reachable", judges[0], **how
    ),
    "judge - judge": lambda labels, judges, **how: leave_one_out_difference(labels, *judges, **how),
}
# Those that resample are taken on fewer datasets.
COEFFICIENTS: dict[str, Callable[..., Any]] = {
    "pairs": lambda labels, _, **how: pairwise_agreement(labels, **how),
    "alpha": lambda labels, _, **how: krippendorff_alpha(labels, **how | _MANY),
    "ordinal alpha": lambda labels, _, **how: krippendorff_alpha(labels, level="ordinal", **how | _MANY),
    "Fleiss": lambda labels, _, **how: fleiss_kappa(labels, **how | _MANY),
    "AC1": lambda labels, _, **how: gwet_ac(labels, values=(0, 1, 2), **how | _MANY),
}
_MANY: dict[str, Any] = {"n_resamples": 400}


@dataclass(frozen=True, slots=True)
class Setting:
    """Items, people, labels an item (0: crowd, 25 of each person), and how far people differ."""

    n_items: int
    n_people: int
    each: int
    taste: float = 0.5
    noise: float = 0.3
    clusters: Literal["single", "of 4", "uneven"] = "single"
    uneven: bool = False
    tie: float = 0.15


@dataclass(frozen=True, slots=True)
class Covered:
    """Shares of datasets whose interval holds the truth."""

    truth: float
    sampled: float
    fixed: float
    width: float


SETTINGS = {
    "5 of 5": Setting(200, 5, 5),
    "5 of 5, all alike": Setting(200, 5, 5, taste=0.0, noise=0.0),
    "5 of 5, clusters of 4": Setting(200, 5, 5, clusters="of 4"),
    "5 of 5, 60 items": Setting(60, 5, 5),
    "7 of 7, clusters of 1 to 12": Setting(200, 7, 7, clusters="uneven"),
    "16 of 16": Setting(200, 16, 16),
    "2 of 5": Setting(300, 5, 2),
    "3 of 5": Setting(300, 5, 3),
    "2 to 4 of 8, uneven workloads": Setting(300, 8, 4, uneven=True),
    "2 to 4 of 20, uneven, clusters of 1 to 12": Setting(300, 20, 4, clusters="uneven", uneven=True),
    "4 of 16": Setting(300, 16, 4),
    "crowd, 3 of 60": Setting(500, 60, 0),
    "crowd, 3 of 60, tastes differ more": Setting(500, 60, 0, taste=1.0),
    "crowd, 2 of 40": Setting(500, 40, 0),
}


def run_coefficients(quick: bool = False, only: tuple[str, ...] = ()) -> dict[str, float]:
    """The same of agreement of pairs, raw and beyond chance."""
    return run(quick, only, COEFFICIENTS, 300)


def run(
    quick: bool = False,
    only: tuple[str, ...] = (),
    figures: dict[str, Callable[..., Any]] = FIGURES,
    times: int = 500,
) -> dict[str, float]:
    """Print the table; the coverage of each figure by setting."""
    result = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for name in only or SETTINGS:
            start = time.process_time()
            found = covers(SETTINGS[name], 60 if quick else times, figures)
            print(f"  {name} ({time.process_time() - start:.0f} s)", flush=True)
            for figure, one in found.items():
                key = f"{figure} {name}".replace(" - ", "-").replace(",", "").replace(" ", "_")
                result[key] = one.sampled
                print(
                    f"    {figure:16} truth {one.truth:6.3f}   people sampled {100 * one.sampled:5.1f}%   "
                    f"people fixed {100 * one.fixed:5.1f}%   mean width {one.width:.3f}",
                    flush=True,
                )
    return result


def covers(
    setting: Setting, times: int, figures: dict[str, Callable[..., Any]] = FIGURES
) -> dict[str, Covered]:
    """Coverage of every figure over simulated datasets."""
    rng = np.random.default_rng(1)
    sampled: dict[str, list[Estimate]] = {figure: [] for figure in figures}
    fixed: dict[str, list[Estimate]] = {figure: [] for figure in figures}
    for _ in range(times):
        labels, judges, clusters = dataset(rng, setting)
        for people, found in (("sampled", sampled), ("fixed", fixed)):
            for name, figure in figures.items():
                found[name].append(figure(labels, judges, people=people, clusters=clusters, **_ONE))
    result = {}
    for figure in figures:
        truth = float(np.mean([one.value for one in fixed[figure]]))
        result[figure] = Covered(
            truth,
            _share(sampled[figure], truth),
            _share(fixed[figure], truth),
            float(np.mean([one.high - one.low for one in sampled[figure]])),
        )
    return result


def _share(found: list[Estimate], truth: float) -> float:
    return float(np.mean([one.low <= truth <= one.high for one in found]))


def dataset(rng: np.random.Generator, setting: Setting) -> tuple[Floats, list[Floats], Any]:
    """(labels, the verdicts of two judges, the clusters)."""
    clusters = clusters_of(rng, setting)
    n, n_people = len(clusters), setting.n_people
    shared = 0.0 if setting.clusters == "single" else 0.6
    n_clusters = int(clusters.max()) + 1
    better = 0.8 * rng.normal(size=n) + shared * rng.normal(size=n_clusters)[clusters]
    longer = 0.7 * rng.normal(size=n) + 0.7 * rng.normal(size=n_clusters)[clusters]
    taste, noise = rng.normal(0.3, setting.taste, n_people), np.exp(rng.normal(0, setting.noise, n_people))
    seen = better[:, np.newaxis] + longer[:, np.newaxis] * taste + rng.normal(size=(n, n_people)) * noise
    labels = np.where(who_labels(rng, setting, n), _choice(seen, setting.tie), np.nan)
    judges = [
        _choice(better + longer * taste + 0.6 * rng.normal(size=n), setting.tie / 3) for taste in (0.8, -0.2)
    ]
    return labels, judges, clusters


def _choice(seen: Floats, tie: float) -> Floats:
    return np.where(np.abs(seen) < tie, 0.0, np.where(seen > 0, 1.0, 2.0))


def clusters_of(rng: np.random.Generator, setting: Setting) -> NDArray[np.intp]:
    n = setting.n_items
    if setting.clusters == "single":
        return np.arange(n)
    sizes = np.full(n, 4) if setting.clusters == "of 4" else rng.integers(1, 13, n)
    return np.repeat(np.arange(n), sizes)[:n]


def who_labels(rng: np.random.Generator, setting: Setting, n: int) -> NDArray[np.bool_]:
    """Who labels what, (n_items, n_people)."""
    n_people, each = setting.n_people, setting.each
    labelled = np.zeros((n, n_people), dtype=bool)
    if (
        not each
    ):  # a crowd: the next 25 items for whoever comes next, in an order drawn anew whenever all are done
        order = np.concatenate([rng.permutation(n) for _ in range(1 + n_people * 25 // n)])
        for person in range(n_people):
            labelled[order[25 * person : 25 * person + 25], person] = True
        return labelled
    wanted = np.log(np.linspace(1, 4, n_people)) if setting.uneven else np.zeros(n_people)
    chosen = np.argsort(-(wanted + rng.gumbel(size=(n, n_people))), axis=1)[:, :each]
    np.put_along_axis(labelled, chosen, True, axis=1)
    if setting.uneven:
        number = rng.integers(2, each + 1, n)
        labelled &= np.cumsum(labelled, axis=1) <= number[:, np.newaxis]
    return labelled

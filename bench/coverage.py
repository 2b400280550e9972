"""How often 95% intervals hold the truth: simulated datasets of which the truth is known.

The grid of proportions is computed with a vectorised twin of `mean_estimate`, and in every cell the two are compared.
Single items need no simulation: each number of right answers has its chance. Everything else is computed with the
functions themselves. With 2,000 datasets a coverage is known to 0.5 points, so the lowest of a hundred cells that all
cover 95% is about 93.7%. The seed is fixed.
"""

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from metaeval.stats import (
    StatisticsWarning,
    correlation,
    krippendorff_alpha,
    leave_one_out_agreement,
    leave_one_out_contributions,
    macro_mean,
    mean_estimate,
    paired_difference,
)

Floats = NDArray[np.float64]

CLUSTERS = (40, 60, 100, 200, 400)
SHARES = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
SIZES = ("1", "4", "1 to 20")
ICCS = (0.0, 0.2, 0.5, 0.7)
DATASETS = 2_000
# Resamples where the function itself runs: enough for a variance, which is what most intervals take from them.
RESAMPLES = 500
_Z = float(special.ndtri(0.975))


def run(quick: bool = False, only: Sequence[str] = ()) -> dict[str, float]:
    """Print the tables, or those of some families; the lowest and the highest coverage of each, in percent."""
    datasets = 300 if quick else DATASETS
    figures: dict[str, float] = {}
    for name in only or FAMILIES:
        figures |= FAMILIES[name](datasets, quick)
    return figures


def _proportions(datasets: int, quick: bool) -> dict[str, float]:
    grid = proportions(datasets, (40, 100) if quick else CLUSTERS)
    figures = {"largest_difference_from_mean_estimate": grid.pop("difference")}
    outside = [name for name, cover in grid.items() if not 93 <= cover <= 97]
    figures |= _extremes("proportions", grid) | {"proportions_cells_outside_93_97": len(outside)}
    for name in outside:
        print(f"    outside 93 to 97%: {name}: {grid[name]:.1f}")
    return figures | _extremes(
        "proportions_rare_whole_clusters", rare_whole_clusters(datasets, (40, 100, 400))
    )


def _paired_difference(datasets: int, quick: bool) -> dict[str, float]:  # noqa: ARG001 (as all families)
    paired = _table("paired difference", paired_cells(), datasets)
    # Where the judges are equal, an interval without 0 is a false alarm of the two-sided test at 5%.
    alarms = [100 - cover for name, cover in paired.items() if "equal" in name]
    figures = _extremes("paired_difference", paired)
    return figures | {"paired_test_size_lowest": min(alarms), "paired_test_size_highest": max(alarms)}


FAMILIES: dict[str, Callable[[int, bool], dict[str, float]]] = {
    "proportions": _proportions,
    "leave_one_out": lambda datasets, _: _extremes(
        "leave_one_out", _table("leave-one-out agreement", leave_one_out_cells(), datasets)
    ),
    "macro_mean": lambda datasets, _: _extremes(
        "macro_mean", _table("macro mean of five groups", macro_cells(), datasets)
    ),
    "paired_difference": _paired_difference,
    "alpha": lambda datasets, _: _extremes(
        "alpha", _table("Krippendorff's alpha", alpha_cells(), datasets // 2)
    ),
    "correlation": lambda datasets, _: _extremes(
        "correlation", _table("correlation", correlation_cells(), datasets // 2)
    ),
}


def _extremes(family: str, cells: dict[str, float]) -> dict[str, float]:
    return {f"{family}_lowest": min(cells.values()), f"{family}_highest": max(cells.values())}


# Proportions


def draw_clusters(
    n_clusters: int, sizes: str, icc: float, share: float, datasets: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Right answers and answers of each cluster, (datasets, n_clusters): beta-binomial with a correlation within."""
    shape = (datasets, n_clusters)
    size = rng.integers(1, 21, shape) if sizes == "1 to 20" else np.full(shape, int(sizes))
    chance = np.full(shape, share)
    if icc:
        scale = 1 / icc - 1
        chance = rng.beta(share * scale, (1 - share) * scale, shape)
    return rng.binomial(size, chance).astype(np.float64), size.astype(np.float64)


def share_intervals(right: Floats, size: Floats) -> tuple[Floats, Floats]:
    """What `mean_estimate` gives of each dataset, were the resamples without number: (low, high)."""
    n_clusters = right.shape[1]
    whole = size.sum(axis=1)
    share = right.sum(axis=1) / whole
    off = (right - share[:, np.newaxis] * size) / whole[:, np.newaxis]
    part = size / whole[:, np.newaxis] - 1 / n_clusters
    squares = off**2
    first, crossed, sizes = squares.sum(axis=1), (off * part).sum(axis=1), (part**2).sum(axis=1)
    fourth = (squares * part**2).sum(axis=1) + (1 - 1 / n_clusters) * (first * sizes + 2 * crossed**2)
    second = first - 2 * (squares * part).sum(axis=1) + 3 * fourth - crossed**2
    variance = np.maximum(first, second) * n_clusters / (n_clusters - 1)
    clusters = whole**2 / (size**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        carriers = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1)
        excess = np.maximum(1 / carriers - 1 / n_clusters, 1 / n_clusters)
        doubt = (special.stdtrit(np.minimum(2 / excess - 1, n_clusters - 1), 0.975) / _Z) ** 2
        most = share * (1 - share)
        n = most / np.maximum(variance, np.minimum(variance * doubt, most / clusters))
    n = np.where(most > 0, n, clusters)
    centre = share + _Z**2 / (2 * n)
    spread = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
    low, high = (centre - spread) / (1 + _Z**2 / n), (centre + spread) / (1 + _Z**2 / n)
    return np.where(share == 0, 0.0, low), np.where(share == 1, 1.0, high)


def proportions(datasets: int, clusters: tuple[int, ...]) -> dict[str, float]:
    """Coverage of a proportion in every cell, and ``difference``: of the twin from the function, in widths."""
    rng = np.random.default_rng(1)
    cells: dict[str, float] = {}
    difference = 0.0
    print(f"  proportion, coverage with {', '.join(map(str, clusters))} clusters")
    for sizes, icc, share in itertools.product(SIZES, ICCS, SHARES):
        if sizes == "1" and icc:
            continue
        row = []
        for n_clusters in clusters:
            right, size = draw_clusters(n_clusters, sizes, icc, share, datasets, rng)
            low, high = share_intervals(right, size)
            difference = max(difference, _off(right[0], size[0], (low[0], high[0])))
            row.append(_exact(n_clusters, share) if sizes == "1" else _percent(low, high, share))
            cells[f"{sizes} items a cluster, correlation {icc}, p {share}, {n_clusters} clusters"] = row[-1]
        print(f"    clusters of {sizes:7} correlation {icc:.1f}  p {share:.2f} ", *(f"{c:6.1f}" for c in row))
    return cells | {"difference": difference}


def _off(right: Floats, size: Floats, expected: tuple[float, float]) -> float:
    """How far the function is from the twin on one dataset, as a share of the interval's width."""
    inside = np.arange(int(size.max())) < size[:, np.newaxis]
    answers = (np.arange(int(size.max())) < right[:, np.newaxis]).astype(np.float64)[inside]
    clusters = np.repeat(np.arange(len(size)), size.astype(int))
    found = mean_estimate(answers, clusters=clusters)
    return float(
        max(abs(found.low - expected[0]), abs(found.high - expected[1])) / (expected[1] - expected[0])
    )


def rare_whole_clusters(datasets: int, clusters: tuple[int, ...]) -> dict[str, float]:
    """The worst kind of clustering: with chance ``icc`` a cluster has one answer throughout, else its items are single.

    Single errors are many and errors of a whole cluster are few and weigh most; a dataset without any of these says
    nothing of them.
    """
    rng = np.random.default_rng(2)
    cells: dict[str, float] = {}
    print(f"  the same, errors single or of a whole cluster, with {', '.join(map(str, clusters))} clusters")
    for sizes, icc, share in itertools.product(
        ("4", "1 to 20"), (0.2, 0.5, 0.7), (0.5, 0.8, 0.9, 0.95, 0.98)
    ):
        row = []
        for n_clusters in clusters:
            right, size = draw_clusters(n_clusters, sizes, 0.0, share, datasets, rng)
            whole = rng.random(right.shape) < icc
            right = np.where(whole, size * (rng.random(right.shape) < share), right)
            row.append(_percent(*share_intervals(right, size), share))
            cells[f"{sizes}, {icc}, {share}, {n_clusters}"] = row[-1]
        print(f"    clusters of {sizes:7} correlation {icc:.1f}  p {share:.2f} ", *(f"{c:6.1f}" for c in row))
    return cells


def _exact(n: int, share: float) -> float:
    """Coverage with single items, without simulation: every number of right answers with its chance."""
    number = np.arange(n + 1)
    right = (np.arange(n) < number[:, np.newaxis]).astype(np.float64)
    low, high = share_intervals(right, np.ones_like(right))
    return 100 * float(stats.binom.pmf(number, n, share)[(low <= share) & (share <= high)].sum())


def _percent(low: Floats, high: Floats, truth: float) -> float:
    return 100 * float(np.mean((low <= truth) & (truth <= high)))


# Everything else: a cell is a truth and a function that draws a dataset and estimates it

Cell = tuple[str, float, Callable[[np.random.Generator], Any]]


def _table(title: str, cells: list[Cell], datasets: int) -> dict[str, float]:
    print(f"  {title}", flush=True)
    return {name: cover(name, truth, estimate, datasets) for name, truth, estimate in cells}


def cover(name: str, truth: float, estimate: Callable[[np.random.Generator], Any], datasets: int) -> float:
    rng = np.random.default_rng(3)
    covered = defined = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        for _ in range(datasets):
            found = estimate(rng)
            defined += found.defined
            covered += bool(found.low <= truth <= found.high)
    print(f"    {name:60} {100 * covered / defined:6.1f}", flush=True)
    return 100 * covered / defined


def leave_one_out_cells() -> list[Cell]:
    """Four people, each of whom says the wrong one of two values with a chance that the cluster's difficulty sets."""
    return [
        (
            f"{n} items, {how}, mistakes {easy} or {hard}",
            _leave_one_out_truth((easy, hard)),
            _leave_one_out(*cell),
        )
        for cell in itertools.product((40, 100, 400), (False, True), (0.01, 0.05), (0.1, 0.3))
        for n, clustered, easy, hard in [cell]
        for how in ["in fours" if clustered else "single"]
    ]


def _leave_one_out(n: int, clustered: bool, easy: float, hard: float) -> Callable[[np.random.Generator], Any]:
    each = 4 if clustered else 1
    clusters = np.arange(n * each) // each

    def estimate(rng: np.random.Generator) -> Any:
        mistake = np.repeat(np.where(rng.random(n) < 0.5, easy, hard), each)
        labels = (rng.random((n * each, 4)) < mistake[:, np.newaxis]).astype(np.float64)
        return leave_one_out_agreement(labels, clusters=clusters, n_resamples=RESAMPLES)

    return estimate


def _leave_one_out_truth(mistakes: tuple[float, float]) -> float:
    labels = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    scores, wrong = leave_one_out_contributions(labels), labels.sum(axis=1)
    return float(np.mean([(scores * m**wrong * (1 - m) ** (4 - wrong)).sum() for m in mistakes]))


def macro_cells() -> list[Cell]:
    """Five groups of one size, the shares around the one that is named; clusters of four items within a group."""
    return [
        (f"{n} clusters a group, {how}, p {share}", share, _macro(n, clustered, share))
        for n, clustered, share in itertools.product((10, 20, 50), (False, True), (0.7, 0.9, 0.95))
        for how in ["of four" if clustered else "single"]
    ]


def _macro(n: int, clustered: bool, share: float) -> Callable[[np.random.Generator], Any]:
    shares = share + np.array([-0.04, -0.02, 0, 0.02, 0.04])
    size = "4" if clustered else "1"
    each = int(size)
    groups = np.repeat(np.arange(5), n * each)
    clusters = np.arange(5 * n * each) // each

    def estimate(rng: np.random.Generator) -> Any:
        right = np.stack([draw_clusters(n, size, 0.5 * clustered, p, 1, rng)[0][0] for p in shares])
        answers = (np.arange(each) < right[:, :, np.newaxis]).astype(np.float64).ravel()
        return macro_mean(answers, groups, clusters=clusters, n_resamples=RESAMPLES)

    return estimate


def paired_cells() -> list[Cell]:
    """Two judges that differ on a share of the items; equal, or four in five times in favour of the first."""
    return [
        (
            f"{n} clusters, {kind}, {differing:.0%} differ, {'equal' if ahead == 0.5 else 'four to one'}",
            differing * (2 * ahead - 1),
            _paired(n, sizes, icc, differing, ahead),
        )
        for n, (kind, sizes, icc), differing, ahead in itertools.product(
            (40, 100, 400),
            (("single", "1", 0.0), ("of 4", "4", 0.5), ("of 1 to 20", "1 to 20", 0.2)),
            (0.01, 0.05, 0.1, 0.3),
            (0.5, 0.8),
        )
    ]


def _paired(
    n: int, sizes: str, icc: float, differing: float, ahead: float
) -> Callable[[np.random.Generator], Any]:
    def estimate(rng: np.random.Generator) -> Any:
        size = rng.integers(1, 21, n) if sizes == "1 to 20" else np.full(n, int(sizes))
        chances = np.tile([differing * ahead, differing * (1 - ahead), 1 - differing], (n, 1))
        if icc:
            drawn = rng.gamma(chances * (1 / icc - 1)) + 1e-300
            chances = drawn / drawn.sum(axis=1, keepdims=True)
        clusters = np.repeat(np.arange(n), size)
        chance, luck = chances[clusters], rng.random(len(clusters))
        first = luck < chance[:, 0]
        second = ~first & (luck < chance[:, 0] + chance[:, 1])
        # The interval is made of the clusters' variance; of the resamples only `share_better` is.
        return paired_difference(first.astype(float), second.astype(float), clusters=clusters, n_resamples=1)

    return estimate


def alpha_cells() -> list[Cell]:
    """Three people, two values that are as frequent, each label flipped with one chance: alpha is (1 - 2 chance)^2."""
    return [
        (f"{n} items, alpha {(1 - 2 * chance) ** 2:.2f}", (1 - 2 * chance) ** 2, _alpha(n, chance))
        for n, chance in itertools.product((40, 100, 400), (0.02, 0.05, 0.12, 0.2))
    ]


def _alpha(n: int, chance: float) -> Callable[[np.random.Generator], Any]:
    def estimate(rng: np.random.Generator) -> Any:
        truth = rng.random((n, 1)) < 0.5
        labels = (truth ^ (rng.random((n, 3)) < chance)).astype(np.float64)
        return krippendorff_alpha(labels, n_resamples=2 * RESAMPLES)

    return estimate


def correlation_cells() -> list[Cell]:
    """Normal pairs; of Spearman's rho the truth is 6 / pi asin(r / 2)."""
    return [
        (
            f"{method}, {n} items, r {r}",
            r if method == "pearson" else float(6 / np.pi * np.arcsin(r / 2)),
            _correlation(n, r, method),
        )
        for n, r, method in itertools.product((40, 100), (0.0, 0.6, 0.9), ("pearson", "spearman"))
    ]


def _correlation(n: int, r: float, method: Any) -> Callable[[np.random.Generator], Any]:
    def estimate(rng: np.random.Generator) -> Any:
        one = rng.standard_normal(n)
        two = r * one + np.sqrt(1 - r * r) * rng.standard_normal(n)
        return correlation(one, two, method=method, n_resamples=RESAMPLES)

    return estimate

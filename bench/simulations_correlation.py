"""How often 95% intervals of correlations hold the truth: of items, inside instructions, and over systems.

Pairs are normal with a known correlation, so Spearman's and Kendall's are known too. Over systems the truth is the
correlation of the true means of the systems at hand, or of all systems that they are drawn from, and the means are
measured with more or less error: two judges see the same responses, so their errors are related, and some instructions
are easier for all systems.
"""

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats.arrays import Floats
from metaeval.stats.correlation import correlation
from metaeval.stats.correlation_by import correlation_by
from metaeval.stats.errors import StatisticsWarning
from metaeval.stats.evaluators import evaluator_correlations
from metaeval.stats.systems import SystemsAre, system_correlation
from metaeval.stats.weighted_correlation import Method

METHODS: tuple[Method, ...] = ("pearson", "spearman", "kendall")
PEERS: dict[Method, Callable[..., object]] = {
    "pearson": pearsonr,
    "spearman": spearmanr,
    "kendall": kendalltau,
}
RESAMPLES = 400


def of_normal(rho: float, method: Method) -> float:
    """The correlation of a normal pair."""
    angle = math.asin(rho) if method == "kendall" else math.asin(rho / 2)
    return {"pearson": rho, "spearman": 6 / math.pi * angle, "kendall": 2 / math.pi * angle}[method]


def pairs(rho: float, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Normal pairs with a correlation."""
    one = rng.normal(size=shape)
    return one, rho * one + math.sqrt(1 - rho**2) * rng.normal(size=shape)


def items(n: int, rho: float, method: Method, rng: np.random.Generator, *, clustered: bool) -> bool:
    """Whether the interval of `correlation` holds the truth; clustered: five items a cluster, half shared."""
    if clustered:
        clusters = np.repeat(np.arange(n // 5), 5)
        level, own = pairs(rho, (n // 5,), rng), pairs(rho, (n,), rng)
        one, two = (math.sqrt(0.5) * (a[clusters] + b) for a, b in zip(level, own, strict=True))
        found = correlation(one, two, method=method, clusters=clusters, n_resamples=RESAMPLES)
    else:
        found = correlation(*pairs(rho, (n,), rng), method=method, n_resamples=RESAMPLES)
    return found.low <= of_normal(rho, method) <= found.high


def instructions(n_groups: int, method: Method, truth: float, rng: np.random.Generator) -> bool:
    """The same of the mean over instructions of the correlation of six systems."""
    found = inside(n_groups, method, rng, RESAMPLES)
    return found[1] <= truth <= found[2]


def inside(
    n_groups: int, method: Method, rng: np.random.Generator, n_resamples: int
) -> tuple[float, float, float]:
    """Correlations that differ from instruction to instruction, six systems each: value and interval."""
    rho = rng.uniform(0.2, 0.9, n_groups)[:, np.newaxis]
    one = rng.normal(size=(n_groups, 6))
    two = rho * one + np.sqrt(1 - rho**2) * rng.normal(size=(n_groups, 6))
    groups = np.repeat(np.arange(n_groups), 6)
    found = correlation_by(one.ravel(), two.ravel(), groups, method=method, n_resamples=n_resamples)
    return found.value, found.low, found.high


def systems(
    n_systems: int,
    rho: float,
    reliability: float,
    method: Method,
    systems_are: SystemsAre,
    rng: np.random.Generator,
) -> bool:
    """Whether the interval of `system_correlation` holds the truth: of these systems' true means, or of all systems."""
    n_instructions = 100
    noise = math.sqrt((1 / reliability - 1) * n_instructions / 2)
    true = pairs(rho, (n_systems,), rng)
    shared = rng.normal(size=(n_instructions, n_systems))
    easy = rng.normal(size=(n_instructions, 1))
    sides = [
        mean + easy + noise * (shared * k + rng.normal(size=shared.shape))
        for mean, k in zip(true, (1, 0.5), strict=True)
    ]
    found = system_correlation(
        sides[0].ravel(),
        sides[1].ravel(),
        np.tile(np.arange(n_systems), n_instructions),
        method=method,
        systems_are=systems_are,
        clusters=np.repeat(np.arange(n_instructions), n_systems),
        n_resamples=100,
    )
    truth = of_normal(rho, method)
    if systems_are == "fixed":
        truth = float(PEERS[method](*true).statistic)  # type: ignore[attr-defined]
    return found.low - 1e-9 <= truth <= found.high + 1e-9


def scenarios(n: int, rng: np.random.Generator) -> bool:
    """The same of the mean over seven scenarios of `evaluator_correlations`: n items each, one twice as many."""
    rho = np.linspace(0.3, 0.9, 7)
    codes = np.repeat(np.arange(7), [n] * 6 + [2 * n])
    one, own = rng.normal(size=len(codes)), rng.normal(size=len(codes))
    two = rho[codes] * one + np.sqrt(1 - rho[codes] ** 2) * own
    found = evaluator_correlations({"a": one, "b": two}, scenarios=codes, n_resamples=RESAMPLES)
    return bool(found.low[0, 1] <= rho.mean() <= found.high[0, 1])


def systems_table(method: Method, systems_are: SystemsAre, times: int) -> float:
    """Print the coverage of one method and population; the lowest."""
    rng, lowest = np.random.default_rng(20_261_123), 1.0
    for n_systems, reliability in itertools.product((8, 12, 20, 40), (0.9, 0.98)):
        row = [
            float(
                np.mean(
                    [systems(n_systems, rho, reliability, method, systems_are, rng) for _ in range(times)]
                )
            )
            for rho in (0.0, 0.5, 0.8, 0.95)
        ]
        lowest = min(lowest, *row)
        label = (
            f"{n_systems} systems ({systems_are}), reliability {reliability}, {method}, r 0, 0.5, 0.8, 0.95"
        )
        print(f"  {label}:", *map(_percent, row), flush=True)
    return lowest


def run(quick: bool = False) -> dict[str, float]:
    """Print the tables; the lowest coverage of each."""
    warnings.simplefilter("ignore", StatisticsWarning)
    rng = np.random.default_rng(20_240_901)
    many = 20 if quick else 200
    lowest = {"items": 1.0, "instructions": 1.0, "systems": 1.0}
    for clustered, n, method in itertools.product((False, True), (20, 40, 100, 400), METHODS):
        if clustered and n < 100:
            continue
        row = [
            np.mean([items(n, rho, method, rng, clustered=clustered) for _ in range(many)])
            for rho in (0.0, 0.5, 0.8, 0.95)
        ]
        lowest["items"] = min(lowest["items"], *map(float, row))
        print(
            f"  {n} items{', 5 a cluster' if clustered else ''}, {method}, r 0, 0.5, 0.8, 0.95:",
            *map(_percent, row),
        )
    for method in METHODS:
        truth = inside(100_000, method, rng, 0)[0]
        row = [np.mean([instructions(n, method, truth, rng) for _ in range(many)]) for n in (20, 40, 100)]
        lowest["instructions"] = min(lowest["instructions"], *map(float, row))
        print(f"  mean over 20, 40, 100 instructions of 6 systems, {method}:", *map(_percent, row))
    row = [np.mean([scenarios(n, rng) for _ in range(2 * many)]) for n in (20, 50, 100)]
    print("  mean over seven scenarios of 20, 50, 100 items, one of twice as many:", *map(_percent, row))
    for method in METHODS:
        for systems_are, times in (("fixed", 100), ("sampled", 400)):
            found = systems_table(method, systems_are, times // 10 if quick else times)
            lowest["systems"] = min(lowest["systems"], found)
    return {f"coverage_lowest_correlation_{name}": value for name, value in lowest.items()}


def _percent(share: float) -> str:
    return f"{100 * share:.0f}"

"""Sign flips of sums of differences: the distribution of their total, counted where it can be and drawn else."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

# All sign flips are counted, not drawn, where their distinct totals are at most so many: 2 ** 14 for fourteen
# clusters that all differ, and far more clusters where many differ by the same.
_EXACT_OUTCOMES = 2**18
# One binomial draw costs about as much as this many single flips (measured, numpy 2.4).
_FLIPS_PER_BINOMIAL = 200
# With more distinct sums than this (no right or wrong, no rating) they are rounded to a fraction of their root mean
# square, the observed ones too. The test stays valid whatever its statistic, and this one is out by less than a
# thousandth of a standard error.
_MANY_VALUES = 20_000
_GRAINS = 500
_DECIMALS = 12
_GRAIN = 1e-10


def sign_flip_p_value(
    gaps: Floats, *, n_permutations: int, alternative: Alternative, rng: np.random.Generator
) -> tuple[float, bool]:
    """The p-value of clusters' sums of differences under sign flips, and whether it is exact.

    Examples
    --------
    >>> sign_flip_p_value(np.array([1.0, 2.0, 3.0]), n_permutations=9, alternative="greater",
    ...                   rng=np.random.default_rng(0))
    (0.125, True)
    """
    largest = float(np.abs(gaps).max(initial=0.0))
    gaps = np.round(gaps / largest, _DECIMALS) if largest else gaps
    values, counts = np.unique(np.abs(gaps[gaps != 0]), return_counts=True)
    if len(values) > _MANY_VALUES:
        grain = math.sqrt(float(gaps @ gaps) / len(gaps)) / _GRAINS
        gaps = np.round(gaps / grain)
        values, counts = np.unique(np.abs(gaps[gaps != 0]), return_counts=True)
    observed = float(gaps.sum())
    # Totals that differ by rounding only are equal.
    observed = {"two-sided": abs(observed), "greater": observed, "less": -observed}[alternative]
    threshold = observed - _GRAIN * max(float(values @ counts), 1e-300)
    exact = bool(np.log2(counts + 1.0).sum() <= math.log2(_EXACT_OUTCOMES))
    if exact:
        totals, chances = _all_totals(values, counts)
    else:
        totals = _drawn_totals(values, counts, n_permutations, rng)
    # The distribution is symmetric, so the one-sided test of either side looks at the same tail.
    extreme = (np.abs(totals) if alternative == "two-sided" else totals) >= threshold
    if exact:
        return min(1.0, float(chances[extreme].sum())), True
    return (int(np.count_nonzero(extreme)) + 1) / (n_permutations + 1), False


def _all_totals(values: Floats, counts: np.ndarray[Any, Any]) -> tuple[Floats, Floats]:
    """Every total that flips can give and its chance: of each value any number may be flipped."""
    totals, chances = np.zeros(1), np.ones(1)
    for value, count in zip(values, counts, strict=True):
        flipped = np.arange(count + 1.0)
        logs = -special.betaln(flipped + 1, count - flipped + 1) - math.log(count + 1) - count * math.log(2)
        chance = np.exp(logs)
        totals = np.add.outer(totals, value * (count - 2 * flipped)).ravel()
        chances = np.multiply.outer(chances, chance / chance.sum()).ravel()
    return totals, chances


def _drawn_totals(
    values: Floats, counts: np.ndarray[Any, Any], n_permutations: int, rng: np.random.Generator
) -> Floats:
    """Totals of random flips: of values that many clusters share by number flipped, of others eight at a time."""
    totals = np.zeros(n_permutations)
    common = counts >= _FLIPS_PER_BINOMIAL
    for value, count in zip(values[common], counts[common], strict=True):
        totals += value * (2.0 * rng.binomial(count, 0.5, n_permutations) - count)
    rare = np.repeat(values[~common], counts[~common])
    rare = np.r_[rare, np.zeros(-len(rare) % 8)].reshape(-1, 8)
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1) - 1
    # A byte is eight signs; the total of each of its 256 values is looked up.
    for table in rare @ signs.T:
        totals += table[rng.integers(0, 256, n_permutations)]
    return totals

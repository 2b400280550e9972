"""How well an evaluation set of a given size tells models apart: HREF's capacity curves."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    Integers,
    Seed,
    as_floats,
    as_items,
    as_list,
    as_mask,
    check_option,
    generator,
)
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_count, as_level, as_number
from metaeval.stats.results import Result
from metaeval.stats.sign_flips import sign_flip_p_value

CapacityTest: TypeAlias = Literal["t", "permutation"]

_QUANTILES = (0.5, 0.8, 0.95)
_SMALLEST, _DEFAULT_SIZES = 10, 12
_GRAIN = 1e-10
_NO_PAIR = "no two models share two clusters in some of the evaluation sets drawn"
# Pairs of models at once, which bounds the memory.
_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class CapacityCurve(Result):
    """P-values of pairs of models against the size of the evaluation set.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Clusters (instructions) drawn.
    quantiles : ndarray of shape (n_quantiles,)
    p_values : ndarray of shape (n_sizes, n_quantiles)
        The quantile over pairs of models, averaged over the draws.
    spread : ndarray of shape (n_sizes, n_quantiles)
        Its standard deviation over the draws: of one evaluation set of this size.
    mean_p_values : ndarray of shape (n_sizes,)
        The mean over pairs of models in place of a quantile, averaged over the draws.
    share_significant : ndarray of shape (n_sizes,)
        Share of the pairs with a p-value of at most ``alpha``, averaged over the draws.
    capacity : float
        The smallest size from which on the quantile named ``capacity_quantile`` is below ``alpha``; NaN if none.
    capacity_quantile, alpha : float
    n_pairs, n_clusters, n_draws : int
    reason : str or None
        Why sizes have no figures.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "p_values": ("sizes", "quantiles"),
        "spread": ("sizes", "quantiles"),
        "mean_p_values": ("sizes",),
        "share_significant": ("sizes",),
    }
    _chart: ClassVar[str] = "capacity_plot"

    sizes: Integers
    quantiles: Floats
    p_values: Floats
    spread: Floats
    share_significant: Floats
    capacity: float
    capacity_quantile: float
    alpha: float
    n_pairs: int
    n_clusters: int
    n_draws: int
    mean_p_values: Floats
    reason: str | None = None


@aligned(apart=("sizes", "quantiles"))
def capacity_curve(
    scores: Mapping[str, ArrayLike] | ArrayLike,
    *,
    sizes: Sequence[int] | None = None,
    n_draws: int = 100,
    quantiles: Sequence[float] = _QUANTILES,
    test: CapacityTest = "t",
    capacity_quantile: float = 0.8,
    alpha: float = 0.05,
    clusters: Any = None,
    where: ArrayLike | None = None,
    n_permutations: int = 1_000,
    rng: Seed = None,
) -> CapacityCurve:
    """How many instructions it takes until most pairs of models can be told apart.

    For each size, draw that many instructions without replacement, test every two models on them, and take quantiles
    of the p-values over the pairs; average over the draws. An evaluation set that tells four of five pairs apart has
    the 80th percentile below 0.05.

    Parameters
    ----------
    scores : mapping of str to array_like of shape (n_items,), or array_like of shape (n_items, n_models)
        What each item contributes to each model's mean: its win against the baseline, say. A pair is tested on the
        items that both have.
    sizes : sequence of int, optional
        Numbers of instructions. Default: twelve from 10 to all, evenly spaced in the logarithm.
    n_draws : int, default 100
        Evaluation sets drawn of each size.
    quantiles : sequence of float, default (0.5, 0.8, 0.95)
        Of the p-values over pairs.
    test : {"t", "permutation"}
        The paired t test, clustered, or sign flips (`paired_permutation_test`), which takes minutes for many models.
    capacity_quantile, alpha : float, default 0.8 and 0.05
        What ``capacity`` asks for.
    clusters : array_like of shape (n_items,), optional
        The instruction of each item. Default: each item by itself.
    where : array_like of bool, optional
        The items that count.
    n_permutations : int, default 1_000
        Of ``test="permutation"``.
    rng : int, numpy.random.Generator or None
        Seed; None is a fixed seed.

    Returns
    -------
    CapacityCurve
        NaN, with a warning, at sizes of which a draw has no pair with two clusters in common. The largest sizes are
        drawn from a dataset hardly larger: ``spread`` tells how evaluation sets drawn from *this* dataset differ, and
        is 0 for all of it.

    Raises
    ------
    InvalidInputError
        With fewer than two models, a size below 2 or above the clusters, or an option out of range.

    References
    ----------
    X. Lyu et al., "HREF: Human Response-Guided Evaluation of Instruction Following in Language Models", 2024, on the
    size of the evaluation set.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> models = rng.random((400, 5)) < [0.3, 0.4, 0.5, 0.6, 0.7]
    >>> curve = capacity_curve(models, sizes=[25, 100, 400], n_draws=20)
    >>> curve.n_pairs, bool(curve.p_values[0, 1] > curve.p_values[1, 1] > curve.p_values[2, 1])
    (10, True)
    """
    check_option(test, ("t", "permutation"), "test")
    columns = _columns(scores)
    levels = _levels(quantiles, capacity_quantile, alpha)
    n_draws = as_count(n_draws, "n_draws", 1)
    n_permutations = as_count(n_permutations, "n_permutations", 1)
    codes = np.arange(len(columns)) if clusters is None else as_codes(clusters, "clusters", len(columns))[0]
    mask = as_mask(where, len(columns))
    if mask is not None:
        columns, codes = columns[mask], codes[mask]
    codes = np.unique(codes, return_inverse=True)[1]
    n_clusters = int(codes.max()) + 1 if len(codes) else 0
    chosen = _sizes(sizes, n_clusters)
    draws = _draws(n_clusters, chosen, n_draws, generator(rng))
    p_values = _all_p_values(columns, codes, draws, test, n_permutations, generator(rng, 1))
    shape = (len(chosen), n_draws)
    undefined: Booleans = np.asarray(np.isnan(p_values).all(axis=1))
    if undefined.any():
        warn(_NO_PAIR)
    known = np.where(undefined[:, np.newaxis], 1.0, p_values)
    found = np.nanquantile(known, levels, axis=1).T
    share = np.nanmean(np.where(np.isnan(known), np.nan, known <= alpha), axis=1)
    average = np.nanmean(known, axis=1)
    found[undefined], share[undefined], average[undefined] = np.nan, np.nan, np.nan
    found, share = found.reshape(*shape, -1), share.reshape(shape)
    means = found.mean(axis=1)
    enough = means[:, -1] < alpha
    # The curve falls but for noise; a size counts if all larger ones do too.
    first = len(chosen) - int(np.argmin(np.r_[enough[::-1], False]))
    return CapacityCurve(
        sizes=chosen,
        quantiles=levels[:-1],
        p_values=means[:, :-1],
        spread=found.std(axis=1)[:, :-1],
        share_significant=share.mean(axis=1),
        capacity=float(chosen[first]) if first < len(chosen) else math.nan,
        capacity_quantile=capacity_quantile,
        alpha=alpha,
        n_pairs=columns.shape[1] * (columns.shape[1] - 1) // 2,
        n_clusters=n_clusters,
        n_draws=n_draws,
        mean_p_values=average.reshape(shape).mean(axis=1),
        reason=_NO_PAIR if undefined.any() else None,
    )


def _columns(scores: Mapping[str, ArrayLike] | ArrayLike) -> Floats:
    if isinstance(scores, Mapping):
        named = [as_items(values, f"scores[{name!r}]") for name, values in scores.items()]
        if len({len(column) for column in named}) > 1:
            raise InvalidInputError("scores: models with different numbers of items")
        columns = np.stack(named, axis=1) if named else np.zeros((0, 0))
    else:
        columns = as_floats(scores, "scores")
    if columns.ndim != 2 or columns.shape[1] < 2:
        raise InvalidInputError(f"scores: expected (n_items, 2 or more models), got {columns.shape}")
    return columns


def _levels(quantiles: Sequence[float], capacity_quantile: float, alpha: float) -> Floats:
    """The quantiles, that of the capacity last."""
    as_level(alpha, "alpha")
    asked = as_items(quantiles, "quantiles")
    if not ((asked >= 0) & (asked <= 1)).all():
        raise InvalidInputError("quantiles: expected numbers between 0 and 1")
    return np.append(asked, as_number(capacity_quantile, "capacity_quantile", 0, 1))


def _sizes(sizes: Sequence[int] | None, n_clusters: int) -> Integers:
    if sizes is None:
        if n_clusters < 2:
            raise InvalidInputError("scores: expected two clusters or more")
        smallest = min(_SMALLEST, n_clusters)
        return np.unique(np.geomspace(smallest, n_clusters, _DEFAULT_SIZES).round().astype(np.intp))
    asked = [as_count(size, "sizes", 2) for size in as_list(sizes, "sizes")]
    if not asked or max(asked) > n_clusters:
        raise InvalidInputError(f"sizes: expected numbers from 2 to the {n_clusters} clusters")
    return np.unique(asked).astype(np.intp)


def _draws(n_clusters: int, sizes: Integers, n_draws: int, rng: np.random.Generator) -> Floats:
    """Which clusters are in each evaluation set: (n_sizes * n_draws, n_clusters) of 0 and 1, size by size."""
    drawn = np.zeros((len(sizes), n_draws, n_clusters))
    for draw in range(n_draws):
        order = rng.permutation(n_clusters)
        for index, size in enumerate(sizes):
            drawn[index, draw, order[:size]] = 1.0
    return drawn.reshape(-1, n_clusters)


def _all_p_values(
    columns: Floats,
    codes: Integers,
    draws: Floats,
    test: CapacityTest,
    n_permutations: int,
    rng: np.random.Generator,
) -> Floats:
    """P-value of every pair of models in every evaluation set, (n_sets, n_pairs)."""
    pairs = list(combinations(range(columns.shape[1]), 2))
    n_clusters = draws.shape[1]
    step = max(1, _CHUNK // max(1, len(codes)))
    parts = []
    for start in range(0, len(pairs), step):
        chunk = pairs[start : start + step]
        gap = np.stack([columns[:, one] - columns[:, two] for one, two in chunk], axis=1)
        counted = ~np.isnan(gap)
        gaps = _by_cluster(np.where(counted, gap, 0.0), codes, n_clusters)
        items = _by_cluster(counted.astype(np.float64), codes, n_clusters)
        if test == "t":
            parts.append(_t_p_values(gaps, items, draws))
        else:
            parts.append(_flip_p_values(gaps, items, draws, n_permutations, rng))
    return np.concatenate(parts, axis=1)


def _by_cluster(values: Floats, codes: Integers, n_clusters: int) -> Floats:
    if len(codes) == n_clusters:  # each by itself
        return values[np.argsort(codes)]
    return np.stack([np.bincount(codes, weights=column, minlength=n_clusters) for column in values.T], axis=1)


def _t_p_values(gaps: Floats, items: Floats, draws: Floats) -> Floats:
    """`paired_t_test` of every pair in every set, from sums over the drawn clusters."""
    single = bool((items <= 1).all())  # items that are each a cluster: several of these sums are the same
    whole, total, raw = draws @ items, draws @ gaps, draws @ (gaps * gaps)
    clusters = whole if single else draws @ (items > 0)
    crossed, counts = (total, whole) if single else (draws @ (gaps * items), draws @ (items * items))
    size = np.maximum(whole, 1.0)
    mean = total / size
    squares = raw - 2 * mean * crossed + mean * mean * counts
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.maximum(squares, 0.0) * clusters / (clusters - 1)) / size
        p_values: Floats = 2 * special.stdtr(clusters - 1, -np.abs(mean) / error)
    constant = squares <= _GRAIN * raw
    # All differ by the same: no spread, so what sign flips say. No difference at all is no evidence of one.
    p_values = np.where(constant, np.exp2(1 - clusters), p_values)
    p_values = np.where(raw == 0, 1.0, p_values)
    return np.where(clusters < 2, np.nan, p_values)


def _flip_p_values(
    gaps: Floats, items: Floats, draws: Floats, n_permutations: int, rng: np.random.Generator
) -> Floats:
    result = np.full((len(draws), gaps.shape[1]), np.nan)
    for row, draw in enumerate(draws > 0):
        for pair in range(gaps.shape[1]):
            if np.count_nonzero(items[draw, pair]) >= 2:
                result[row, pair], _ = sign_flip_p_value(
                    gaps[draw, pair], n_permutations=n_permutations, alternative="two-sided", rng=rng
                )
    return result

"""Resampled counts of pairwise comparisons: which outcome of which pair, how often, in every resample.

A fit needs the counts of the cells (pair, outcome) alone: a few thousand numbers however many rows there are.
Three ways to resample them, by what is cheapest:

- rows that are each their own cluster: the cells' counts are multinomial;
- up to 64 million draws: clusters are drawn with replacement, as everywhere else;
- beyond: every cluster is taken a Poisson(1) number of times. With tens of thousands of clusters the fixed size of
  a resample does not matter to strengths, which do not change when all counts are multiplied (J. A. Hanley and
  B. MacGibbon, "Creating non-parametric bootstrap samples using Poisson frequencies", Comput. Methods Programs
  Biomed. 83 (2006)). The chances are rounded to 1/65,536.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse, special

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.bradley_terry_fit import Design, derivatives_at, differences_at
from metaeval.stats.resampling import Resamples
from metaeval.stats.tie_models import WITH_PARAMETER, slopes

MOST_DRAWS = 64_000_000
# Numbers in memory at once: of draws, and of resampled counts.
_DRAWS_AT_ONCE = 8_000_000
_COUNTS_AT_ONCE = 4_000_000
# Numbers drawn at once: what the processor's own memory holds.
_BLOCK = 2**18
# A cell's multinomial draw costs about as much as this many rows' draws.
_ROWS_PER_CELL = 4
# float32 counts exactly up to 2 ** 24; a row is drawn 8 times at most in the Poisson way, on average once.
_EXACT_IN_SINGLE = 2**22

_LEVELS = np.round(65536 * special.pdtrc(np.arange(9), 1.0)).astype(np.int64)
_THRESHOLDS = _LEVELS[_LEVELS > 0].astype(np.uint16)


def resampled_counts(
    cell: Integers, amount: Floats | None, rows: Integers, n_cells: int, resamples: Resamples
) -> Iterator[Floats]:
    """Yield the cells' counts, some resamples at a time, each of shape (some, n_cells).

    Parameters
    ----------
    cell : ndarray of shape (n_rows,)
        The cell of each row that counts.
    amount : ndarray of shape (n_rows,) or None
        What each row counts; None for 1.
    rows : ndarray of shape (n_rows,)
        Which of the resamples' items each row is.
    """
    single = resamples.codes is None and not resamples.is_shared and amount is None
    if single and n_cells * _ROWS_PER_CELL <= resamples.n_items:
        counts = np.bincount(cell, minlength=n_cells)
        chances = np.r_[counts, resamples.n_items - len(cell)] / resamples.n_items
        rng = np.random.default_rng(resamples._seed)
        for width in _widths(resamples.n_resamples, _COUNTS_AT_ONCE // (n_cells + 1)):
            drawn = rng.multinomial(resamples.n_items, chances, size=width)
            yield drawn[:, :-1].astype(np.float64)
        return
    dtype = np.float32 if amount is None and len(cell) < _EXACT_IN_SINGLE else np.float64
    cluster = rows if resamples.codes is None else resamples.codes[rows]
    entries: Any = np.ones(len(cell), dtype) if amount is None else amount
    table = sparse.csc_array((entries, (cell, cluster)), shape=(n_cells, resamples.n_clusters))
    yield from resampled_totals(table, resamples)


def resampled_totals(table: Any, resamples: Resamples) -> Iterator[Floats]:
    """Yield totals over the drawn clusters of a sparse (n_columns, n_clusters) table, each (some, n_columns)."""
    waiting: list[Floats] = []
    for drawn in _cluster_draws(resamples, table.dtype):
        waiting.append((table @ drawn).T.astype(np.float64))
        if sum(part.size for part in waiting) >= _COUNTS_AT_ONCE:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _cluster_draws(resamples: Resamples, dtype: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield how often each cluster is drawn, (n_clusters, some resamples)."""
    n_clusters, n_resamples = resamples.n_clusters, resamples.n_resamples
    if resamples.is_shared or n_clusters * n_resamples <= MOST_DRAWS:
        # The same draws, of clusters as items: those of shared resamples are what others see too.
        clusters = Resamples(n_clusters, n_resamples, shared=resamples.is_shared)
        clusters._seed = resamples._seed
        for draws in clusters.item_draws():
            yield np.ascontiguousarray(draws.T, dtype=dtype)
        return
    rng = np.random.default_rng(resamples._seed)
    for width in _widths(n_resamples, _DRAWS_AT_ONCE // n_clusters):
        yield poisson_draws(rng, (n_clusters, width), dtype)


def poisson_draws(
    rng: np.random.Generator, shape: tuple[int, int], dtype: Any = np.uint8
) -> np.ndarray[Any, Any]:
    """Poisson numbers with mean 1: ten times as fast as numpy's, from 16 random bits each."""
    size = shape[0] * shape[1]
    draws = np.empty(size, dtype)
    for start in range(0, size, _BLOCK):
        bits = rng.bit_generator.random_raw(_BLOCK // 4).view(np.uint16)
        counts = (bits < _THRESHOLDS[0]).view(np.uint8)
        for threshold in _THRESHOLDS[1:]:
            counts += bits < threshold
        draws[start : start + _BLOCK] = counts[: size - start]
    return draws.reshape(shape)


def _widths(whole: int, most: int) -> Iterator[int]:
    step = max(1, most)
    for start in range(0, whole, step):
        yield min(step, whole - start)


# --- rows that are all different -----------------------------------------------------------------------------------
#
# Those with covariates. At the estimate every row pulls the parameters by its score. A resample's parameters are the
# estimate plus the inverse of the information times the sum of its rows' scores: the first step of Newton's method,
# with the information of the whole data. Its variance is the cluster-robust ("sandwich") variance. What a full fit of
# each resample would add is of the order of one over the number of clusters.


def one_step_parameters(
    design: Design, counts: Floats, point: Floats, cluster: Integers, resamples: Resamples
) -> Floats:
    """Parameters in each resample, (n_resamples, n_parameters).

    Parameters
    ----------
    design : Design
        One pair a row.
    counts : ndarray of shape (3, n_rows)
    point : ndarray of shape (n_parameters,)
        The estimate.
    cluster : ndarray of shape (n_rows,)
        Cluster number of each row in the resamples.
    """
    table = _scores(design, counts, point, cluster, resamples.n_clusters)
    gradient, information = derivatives_at(design, counts, point)
    # At the estimate the rows' scores and the prior's pull cancel: a resample starts from the prior's part.
    prior = gradient - np.asarray(table.sum(axis=1)).ravel()
    parts = [
        point + np.linalg.solve(information, (totals + prior).T).T
        for totals in resampled_totals(table, resamples)
    ]
    return np.concatenate(parts)


def _scores(
    design: Design, counts: Floats, point: Floats, cluster: Integers, n_clusters: int
) -> sparse.csc_array:
    """Sum of the scores of each cluster, (n_parameters, n_clusters)."""
    size, n_extra = design.n_systems, design.extra.shape[1]
    k = point[-1:] if design.model in WITH_PARAMETER else np.zeros(1)
    by_row = slopes(design.model, differences_at(design, point)[np.newaxis], k[:, np.newaxis], *counts)
    pull = by_row.d[0]
    values = [pull, -pull]
    parameters = [design.first, design.second]
    for place in range(n_extra):
        values.append(pull * design.extra[:, place])
        parameters.append(np.full(len(pull), size + place))
    if by_row.k is not None and counts[2].any():
        values.append(by_row.k[0])
        parameters.append(np.full(len(pull), size + n_extra))
    entries = (np.concatenate(values), (np.concatenate(parameters), np.tile(cluster, len(values))))
    return sparse.csc_array(entries, shape=(len(point), n_clusters))

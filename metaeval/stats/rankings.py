"""Agreement of people who rank the parts of an item: aspects by importance, answers by quality."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_floats, as_list
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.results import Result

_NO_PAIR = "no item has two rankings that are not constant"


@dataclass(frozen=True, slots=True)
class RankPairs(Result):
    """Spearman's rho of every pair of people on every item.

    Attributes
    ----------
    item : ndarray of int, shape (n_pairs,)
        Index of the item in what was passed.
    first, second : ndarray of int, shape (n_pairs,)
        Rows of the item's matrix that are compared.
    rho : ndarray of float, shape (n_pairs,)
        In [-1, 1]; NaN where one of the two says that all parts are equal, or an item has one part.
    """

    item: Integers
    first: Integers
    second: Integers
    rho: Floats


def rank_pairs(rankings: Sequence[ArrayLike]) -> RankPairs:
    """Compare all pairs of rankings of each item, with average ranks for ties.

    Parameters
    ----------
    rankings : sequence of array_like of shape (n_people, n_parts)
        One matrix an item; numbers that order its parts, lower is better. Every entry must be there.

    Returns
    -------
    RankPairs
        A row a pair of people and item.

    Notes
    -----
    Spearman's rho with ties is Pearson's correlation of average ranks. Items of one shape are computed together.

    Examples
    --------
    >>> rank_pairs([[[1, 2, 3], [1, 2, 3], [3, 2, 1]]]).rho.round(6).tolist()
    [1.0, -1.0, -1.0]
    """
    matrices = [_matrix(ranks, place) for place, ranks in enumerate(as_list(rankings, "rankings"))]
    shapes: dict[tuple[int, ...], list[int]] = {}
    for place, matrix in enumerate(matrices):
        if matrix.shape[0] >= 2:
            shapes.setdefault(matrix.shape, []).append(place)
    items, firsts, seconds, rhos = [], [], [], []
    for (n_people, _), places in shapes.items():
        first, second = np.triu_indices(n_people, k=1)
        rho = _correlations(np.stack([matrices[place] for place in places]))[:, first, second]
        items.append(np.repeat(places, len(first)))
        firsts.append(np.tile(first, len(places)))
        seconds.append(np.tile(second, len(places)))
        rhos.append(rho.ravel())
    if not items:
        none = np.zeros(0, dtype=np.intp)
        return RankPairs(none, none, none, np.zeros(0))
    item = np.concatenate(items)
    order = np.argsort(item, kind="stable")
    return RankPairs(
        item[order],
        np.concatenate(firsts)[order],
        np.concatenate(seconds)[order],
        np.concatenate(rhos)[order],
    )


@aligned(parts=("rankings",))
def rank_agreement(rankings: Sequence[ArrayLike], **options: Unpack[Sampling]) -> Estimate:
    """Mean pairwise Spearman's rho: per item over its pairs of people, then over items.

    A pair in which someone ranks all parts equal has no rho and takes no part; an item without any such pair has
    none either (`rank_agreement_contributions` tells which).

    Parameters
    ----------
    rankings : sequence of array_like of shape (n_people, n_parts)
        One matrix an item, as in `rank_pairs`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; NaN with a `StatisticsWarning` when no pair has a rho.

    References
    ----------
    Importance agreement of TOWER (with average ranks for ties instead of the paper's printed formula).

    Examples
    --------
    >>> round(rank_agreement([[[1, 2, 3], [1, 2, 3]], [[1, 2, 3], [1, 3, 2]]]).value, 6)
    0.75
    """
    return mean_estimate(
        rank_agreement_contributions(rankings), reason=_NO_PAIR, bounds=(-1.0, 1.0), **options
    )


@contributions_of("rank_agreement")
def rank_agreement_contributions(rankings: Sequence[ArrayLike]) -> Floats:
    """What each item contributes to `rank_agreement`: shape (n_items,), NaN where it has none.

    Examples
    --------
    >>> rank_agreement_contributions([[[1, 2], [2, 1]], [[1, 1], [1, 2]], [[1, 2]]]).tolist()
    [-1.0, nan, nan]
    """
    pairs = rank_pairs(rankings)
    known = ~np.isnan(pairs.rho)
    n_items = len(rankings)
    total = np.bincount(pairs.item[known], weights=pairs.rho[known], minlength=n_items)
    count = np.bincount(pairs.item[known], minlength=n_items)
    means: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means


def _matrix(ranks: ArrayLike, place: int) -> Floats:
    name = f"rankings[{place}]"
    matrix = as_floats(ranks, name)
    if matrix.ndim != 2:
        raise InvalidInputError(f"{name}: expected shape (n_people, n_parts), got {matrix.shape}")
    if np.isnan(matrix).any():
        raise InvalidInputError(f"{name}: a part without a rank (NaN); leave that ranking out")
    return matrix


def _correlations(ranks: Floats) -> Floats:
    """Rho of all rows with all rows of each item: (n, people, parts) to (n, people, people)."""
    centred = scipy.stats.rankdata(ranks, axis=-1)
    centred = centred - centred.mean(axis=-1, keepdims=True)
    squares = (centred**2).sum(axis=-1)
    product = np.einsum("nap,nbp->nab", centred, centred)
    # One root of the product, so that equal rankings give exactly 1.
    scale = np.sqrt(squares[:, :, np.newaxis] * squares[:, np.newaxis, :])
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.where(scale > 0, product / scale, np.nan)
    result: Floats = np.clip(rho, -1.0, 1.0)
    return result

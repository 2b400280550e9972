"""May the chosen judge replace an annotator? The alternative annotator test, on data that it was not chosen on."""

from collections.abc import Mapping

import numpy as np

from metaeval.selection.types import Booleans, Floats
from metaeval.stats import AlternativeAnnotatorTest, Resamples, alternative_annotator_test
from metaeval.stats.arrays import Integers, Seed, generator
from metaeval.stats.counts import LongLabels

EPSILON = 0.1
"""How much worse than an annotator a judge may be. The authors advise 0.1 in place of crowdworkers, 0.15 of skilled
annotators and 0.2 of experts: who does not say who the annotators are gets the strictest."""

N_FOLDS = 5


def chosen_elsewhere(
    scores: Floats, cluster: Integers, *, n_folds: int = N_FOLDS, rng: Seed = None
) -> tuple[Integers, int]:
    """For each item the judge with the highest mean on the other folds, and how many folds there are.

    Parameters
    ----------
    scores : ndarray of shape (n_items, n_judges)
        NaN where an item does not count.
    cluster : ndarray of int, shape (n_items,)
        What is held out together.

    Returns
    -------
    ndarray of int, shape (n_items,)
        Place of the judge; -1 where there is none to choose, or nothing to hold out.

    Examples
    --------
    >>> best, folds = chosen_elsewhere(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), np.arange(3))
    >>> best.tolist(), folds
    ([0, 0, 0], 3)
    """
    n_items, n_judges = scores.shape
    codes, code = np.unique(cluster, return_inverse=True)
    folds = min(n_folds, len(codes))
    if folds < 2 or not n_judges:
        return np.full(n_items, -1, dtype=np.intp), 0
    fold = generator(rng).permutation(np.arange(len(codes)) % folds)[code]
    there = ~np.isnan(scores)
    sums, counts = np.zeros((2, folds, n_judges))
    np.add.at(sums, fold, np.where(there, scores, 0.0))
    np.add.at(counts, fold, there)
    sums, counts = sums.sum(axis=0) - sums, counts.sum(axis=0) - counts
    means = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
    best = np.where(np.isfinite(means.max(axis=1)), np.round(means, 12).argmax(axis=1), -1)
    return best[fold], folds


def replacement_test(
    labels: Floats | LongLabels,
    verdicts: Mapping[int, tuple[Floats, Booleans]],
    chosen: Integers,
    *,
    clusters: Resamples,
    epsilon: float = EPSILON,
    confidence: float = 0.95,
) -> AlternativeAnnotatorTest:
    """The test of whichever judge was chosen for each item.

    With both presentation orders an item counts where it was judged in both; where most were judged in one, whichever
    it was. What could not be read loses against the annotator.

    Parameters
    ----------
    labels : ndarray of shape (n_items, n_annotators), or LongLabels
        NaN where missing.
    verdicts : mapping of int to (ndarray, ndarray), shape (n_items, 2)
        By place of a judge its verdicts, and whether it judged.
    chosen : ndarray of int, shape (n_items,)
        The judge of each item; -1 leaves the item out. One judge for all tests that judge.
    """
    said, judged = np.full((len(chosen), 2), np.nan), np.zeros((len(chosen), 2), dtype=np.bool_)
    for place in np.unique(chosen[chosen >= 0]).tolist():
        own = chosen == place
        said[own], judged[own] = verdicts[place][0][own], verdicts[place][1][own]
    said, where = orders_judged(said, judged)
    return alternative_annotator_test(
        labels, said, epsilon=epsilon, where=where, resamples=clusters, confidence=confidence
    )


def orders_judged(said: Floats, judged: Booleans) -> tuple[Floats, Booleans]:
    """Verdicts by item and the items that count: those judged in both orders, or in any where most were in one.

    Parameters
    ----------
    said, judged : ndarray of shape (n_items, 2)

    Returns
    -------
    (ndarray, ndarray of bool)
        Of shape (n_items, 2) or (n_items,), and (n_items,).
    """
    where, once = np.asarray(judged.all(axis=1)), np.asarray(judged.any(axis=1))
    if 2 * where.sum() < once.sum():
        return np.where(judged[:, :1], said[:, :1], said[:, -1:])[:, 0], once
    return said, where

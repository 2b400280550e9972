"""Agreement on categories: of sets of them, and of a judge on every category alike.

A label is a row of categories that are chosen or not. One that chooses a single category is nominal; one that may
choose several is a set, and two sets can be near without being equal.
"""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alpha import krippendorff_alpha
from metaeval.stats.arrays import Booleans, Floats, Integers
from metaeval.stats.crossed import People
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, finish, item_weights, resolve
from metaeval.stats.results import Result
from metaeval.stats.spread import spread_of_totals

NOTHING_COMPARED = "no item has a right answer to compare with"
_SUBSET, _OVERLAP = 2 / 3, 1 / 3


def masi_distances(sets: ArrayLike) -> Floats:
    """MASI distance of each two sets: one minus the Jaccard index times how they overlap.

    Parameters
    ----------
    sets : array_like of shape (n_sets, n_categories)
        Whether each set has each category.

    Returns
    -------
    ndarray of shape (n_sets, n_sets)
        In [0, 1]. The overlap counts 1 where the sets are equal, 2/3 where one holds the other, 1/3 where they share
        some categories, 0 where none. Two empty sets are equal; an empty set is 1 from any other.

    References
    ----------
    R. Passonneau, "Measuring Agreement on Set-valued Items (MASI) for Semantic and Pragmatic Annotation", LREC 2006.

    Examples
    --------
    >>> masi_distances([[1, 1, 0], [1, 0, 0], [0, 1, 1]]).round(3).tolist()
    [[0.0, 0.667, 0.889], [0.667, 0.0, 1.0], [0.889, 1.0, 0.0]]
    """
    has = _as_sets(sets, "sets").astype(np.float64)
    size = has.sum(axis=1)
    shared = has @ has.T
    union = size[:, np.newaxis] + size - shared
    is_equal = shared == union
    one, two = shared == size[:, np.newaxis], shared == size
    overlap = np.where(is_equal, 1.0, np.where(one | two, _SUBSET, _OVERLAP))
    jaccard = np.where(is_equal, 1.0, shared / np.maximum(union, 1.0))
    result: Floats = 1.0 - jaccard * overlap
    return result


def set_codes(sets: ArrayLike) -> tuple[Integers, Booleans]:
    """Return the number of each set, (n_labels,), and the distinct sets, (n_sets, n_categories), in a fixed order.

    Examples
    --------
    >>> code, distinct = set_codes([[0, 1], [1, 1], [0, 1]])
    >>> code.tolist(), distinct.tolist()
    ([0, 1, 0], [[False, True], [True, True]])
    """
    has = _as_sets(sets, "sets")
    if not has.shape[1]:
        return np.zeros(len(has), dtype=np.intp), has[:1]
    distinct, code = np.unique(has, axis=0, return_inverse=True)
    return code.reshape(-1).astype(np.intp), distinct


def set_alpha(
    labels: Any, *, people: People = "fixed", distances: Floats | None = None, **options: Unpack[Sampling]
) -> Estimate:
    """Krippendorff's alpha of labels that are sets of categories, by the MASI distance.

    Parameters
    ----------
    labels : tuple of (item, annotator, sets)
        Two arrays of shape (n_labels,), and whether each label has each category, (n_labels, n_categories).
    people : {"fixed", "sampled"}
        See `krippendorff_alpha`.
    distances : ndarray of shape (n_sets, n_sets), optional
        Of the distinct sets in the order of `set_codes`; MASI's by default.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        As of `krippendorff_alpha`: NaN where no item has two labels, or all labels are one set.

    References
    ----------
    R. Passonneau, "Measuring Agreement on Set-valued Items (MASI) for Semantic and Pragmatic Annotation", LREC 2006.

    Examples
    --------
    >>> item, annotator = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1]
    >>> sets = [[1, 0], [1, 0], [0, 1], [1, 1], [0, 1], [0, 1]]
    >>> round(set_alpha((item, annotator, sets), n_resamples=0).value, 6)
    0.642857
    """
    item, annotator, sets = labels
    code, distinct = set_codes(sets)
    between = masi_distances(distinct) if distances is None else distances

    def apart(one: Floats, two: Floats) -> Floats:
        return between[one.astype(np.intp), two.astype(np.intp)]

    return krippendorff_alpha((item, annotator, code), level=apart, people=people, **options)


@dataclass(frozen=True, slots=True)
class MacroScores(Result):
    """Precision, recall and F1 of a judge by category, and their means over categories.

    Attributes
    ----------
    precision, recall, f1 : Estimate
        Means over the categories that occur in the right answers or in what the judge says.
    by_category : ndarray of shape (n_categories, 4)
        Precision, recall, F1 and the number of items whose right answer has the category; NaN where there is none.
    """

    precision: Estimate
    recall: Estimate
    f1: Estimate
    by_category: Floats

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {name: getattr(self, name).as_dict() for name in ("precision", "recall", "f1")}


def macro_scores(said: ArrayLike, truth: ArrayLike, **options: Unpack[Sampling]) -> MacroScores:
    """Precision, recall and F1 of each category, averaged over categories, each counting the same.

    Parameters
    ----------
    said : array_like of shape (n_items, n_categories)
        1 where the judge chose the category, 0 where it didn't; NaN where its answer was unparsed, which is a miss of
        each right category.
    truth : array_like of shape (n_items, n_categories)
        1 where it is right, 0 where it isn't; NaN where that is not known, which takes no part.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    MacroScores
        NaN with a warning where nothing is compared. A category that the judge never chose has precision 0, one that
        is never right recall 0, as scikit-learn has it with ``zero_division=0``; one that occurs on neither side takes
        no part.

    Notes
    -----
    F1 of a category is 2 TP / (2 TP + FP + FN), and the macro F1 is the mean of these, not the harmonic mean of the
    macro precision and recall. The interval resamples clusters of items, and every resample averages over the
    categories that occur in it.

    References
    ----------
    J. Opitz and S. Burst, "Macro F1 and Macro F1", arXiv:1911.03347, 2019: of the two macro F1, the first.

    Examples
    --------
    >>> truth = [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> said = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]]
    >>> found = macro_scores(said, truth, n_resamples=0)
    >>> [round(each.value, 3) for each in (found.precision, found.recall, found.f1)]
    [0.444, 0.5, 0.389]
    """
    right, chosen = np.asarray(truth, dtype=np.float64), np.asarray(said, dtype=np.float64)
    if right.ndim != 2 or right.shape != chosen.shape:
        raise InvalidInputError(
            f"said and truth: expected two arrays of one shape (n_items, n_categories), got {chosen.shape} and "
            f"{right.shape}"
        )
    resamples, mask, confidence = resolve(len(right), options, weighted=True)
    weights = item_weights(len(right), options)
    known = ~np.isnan(right)
    counted = np.asarray(known.any(axis=1))
    if mask is not None:
        counted = counted & mask
    if weights is not None:
        counted = counted & np.asarray(weights > 0)
    weight = np.where(counted, 1.0 if weights is None else weights, 0.0)[:, np.newaxis]
    is_right, is_chosen = known & (right == 1), known & (chosen == 1)
    cells = (is_right & is_chosen, is_chosen & ~is_right, is_right & ~is_chosen)
    columns = np.concatenate([weight * cell for cell in cells], axis=1)
    totals = columns.sum(axis=0)[np.newaxis]
    if not totals.any():
        nothing = undefined(NOTHING_COMPARED)
        return MacroScores(nothing, nothing, nothing, np.full((right.shape[1], 4), np.nan))
    found = []
    for place in range(3):

        def macro(sums: Floats, place: int = place) -> Floats:
            return _mean_of_categories(_scores(sums)[place])

        value = float(macro(totals)[0])
        resampled = macro(resamples.totals(columns)) if resamples.n_resamples else np.zeros(0)
        spread = spread_of_totals(columns, macro, counted, resamples) if resamples.n_resamples else None
        found.append(finish(value, resampled, counted, resamples, confidence, (0.0, 1.0), spread))
    table = np.concatenate(
        [*_scores(totals), (weight * is_right).sum(axis=0)[np.newaxis]], axis=0
    ).T  # (n_categories, 4)
    precision, recall, f1 = found
    return MacroScores(precision, recall, f1, table)


def _scores(totals: Floats) -> list[Floats]:
    """Precision, recall and F1, each (m, n_categories), of totals (m, 3 n_categories); NaN of what does not occur."""
    hit, extra, missed = np.split(totals, 3, axis=1)
    occurs = (hit + extra + missed) > 0
    found = []
    for bottom, factor in ((hit + extra, 1.0), (hit + missed, 1.0), (2 * hit + extra + missed, 2.0)):
        score = np.divide(factor * hit, bottom, out=np.zeros_like(hit), where=bottom > 0)
        found.append(np.where(occurs, score, np.nan))
    return found


def _mean_of_categories(scores: Floats) -> Floats:
    known = ~np.isnan(scores)
    n = known.sum(axis=1)
    result: Floats = np.where(n > 0, np.where(known, scores, 0.0).sum(axis=1) / np.maximum(n, 1), np.nan)
    return result


def _as_sets(sets: ArrayLike, name: str) -> Booleans:
    has = np.asarray(sets)
    if has.ndim != 2:
        raise InvalidInputError(f"{name}: expected an array of shape (n_sets, n_categories), got {has.shape}")
    if has.dtype != np.bool_ and not np.isin(has, (0, 1)).all():
        raise InvalidInputError(f"{name}: expected 0 and 1, or True and False")
    return has.astype(np.bool_)

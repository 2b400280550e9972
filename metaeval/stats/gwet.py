"""Gwet's AC1 and AC2: agreement beyond chance that stays meaningful where one value is very common."""

from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_items, as_mask, as_weights, check_option
from metaeval.stats.counts import LabelCounts
from metaeval.stats.crossed import People
from metaeval.stats.crossed_pairs import labels_for, with_values
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, why_none
from metaeval.stats.kappa import Resampling, chance_corrected, with_sampling_weights

AgreementWeights: TypeAlias = Literal[
    "identity", "ordinal", "linear", "quadratic", "radical", "ratio", "circular", "bipolar"
]

_WEIGHTS = ("identity", "ordinal", "linear", "quadratic", "radical", "ratio", "circular", "bipolar")


@aligned(apart=("values",))
def gwet_ac(
    labels: Any,
    *,
    weights: AgreementWeights = "identity",
    values: ArrayLike | None = None,
    sampling_weights: ArrayLike | None = None,
    people: People = "fixed",
    **options: Unpack[Resampling],
) -> Estimate:
    """Gwet's agreement coefficient, AC1 with identity weights and AC2 with any other.

    ``(a - e) / (1 - e)``: *a* is the mean over items of the weighted agreement of pairs of labels; *e* assumes that
    only some labels are guesses, ``T / (q (q - 1)) * sum(p (1 - p))`` over the *q* values with shares *p*, *T* being
    the sum of all weights.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value). Items may have unequal numbers.
    weights : {"identity", "ordinal", "linear", "quadratic", "radical", "ratio", "circular", "bipolar"}
        What two different values count for, see `agreement_weights`.
    values : array_like of shape (n_values,), optional
        All values that could have been given. Default: those that were. A value that nobody gave matters, since
        chance agreement depends on how many there are.
    sampling_weights : array_like of shape (n_items,), optional
        What `metaeval.stats.intervals.Sampling` calls ``weights``: one over the chance with which each item was
        picked. An item of weight 0 does not count, nor does a value that only such items have.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. From fewer
        than five people there is no interval of others.
    **options
        See `metaeval.stats.kappa.Resampling`.

    Returns
    -------
    Estimate
        At most 1; 0 is chance. NaN when no item has two labels, or when there is one value only. ``n`` counts items
        with two labels or more; an item with one label counts for the shares.

    References
    ----------
    K. L. Gwet, "Computing inter-rater reliability and its variance in the presence of high agreement", Br. J. Math.
    Stat. Psychol. 61 (2008); "Handbook of Inter-Rater Reliability", 4th ed., 2014, ch. 2, 3 and 5.

    Examples
    --------
    >>> labels = [[1, 1]] * 9 + [[1, 2]]     # a = 0.9, e = 2 * 0.95 * 0.05
    >>> round(gwet_ac(labels).value, 6)
    0.889503
    >>> from metaeval.stats.kappa import fleiss_kappa
    >>> round(fleiss_kappa(labels).value, 6)
    -0.052632
    """
    check_option(weights, _WEIGHTS, "weights")
    read, counts = labels_for(labels, people)
    counts = _among(counts, values)
    sampling = with_sampling_weights(options, sampling_weights, counts.n_items)
    if values is None:
        counts = _used(counts, _counted(sampling, counts.n_items))
    if len(counts.values) < 2:
        reason = (
            "no item has two labels" if not len(counts.values) else "there is one value only: pass `values`"
        )
        return undefined(why_none(reason, sampling.get("weights")))
    q = len(counts.values)
    agreement = agreement_weights(counts.values, weights)
    scale = float(agreement.sum()) / (q * (q - 1))

    def chance(shares: Floats) -> Floats:
        expected: Floats = 1 - scale * (shares * (1 - shares)).sum(axis=-1)
        return expected

    read = None if read is None else with_values(read, counts.values)
    return chance_corrected(counts, 1 - agreement, chance, sampling, read)


def agreement_weights(values: ArrayLike, weights: AgreementWeights = "identity") -> Floats:
    """How much two values agree, 1 on the diagonal and 0 for the two that are furthest apart.

    Parameters
    ----------
    values : array_like of shape (n_values,)
        Two or more different values, ascending.
    weights : str
        1 minus a distance that is scaled to be at most 1: ``"identity"`` any difference is 1; ``"linear"`` the
        difference, ``"quadratic"`` its square, ``"radical"`` its root; ``"ordinal"`` *k (k - 1) / 2* for values that
        span *k* places, whatever the numbers; ``"ratio"`` the squared difference over the sum; ``"circular"`` the
        squared sine on a circle on which the largest is next to the smallest; ``"bipolar"`` larger towards the ends
        of the scale.

    Returns
    -------
    ndarray of shape (n_values, n_values)

    Raises
    ------
    InvalidInputError
        For values that do not ascend, or fewer than two.

    References
    ----------
    K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th ed., 2014, ch. 3.

    Examples
    --------
    >>> agreement_weights([1, 2, 3], "ordinal").round(3).tolist()
    [[1.0, 0.667, 0.0], [0.667, 1.0, 0.667], [0.0, 0.667, 1.0]]
    """
    check_option(weights, _WEIGHTS, "weights")
    known = as_items(values, "values")
    if len(known) < 2 or not (np.diff(known) > 0).all():
        raise InvalidInputError("values: expected two or more different values, ascending")
    distance = _distance(known, weights)
    scaled: Floats = 1 - distance / distance.max()
    return scaled


def _distance(values: Floats, weights: AgreementWeights) -> Floats:
    gaps = np.abs(np.subtract.outer(values, values))
    sums = np.add.outer(values, values)
    different = gaps > 0
    if weights == "identity":
        distance = different.astype(np.float64)
    elif weights == "ordinal":
        places = np.arange(len(values), dtype=np.float64)
        span = np.abs(np.subtract.outer(places, places))
        distance = span * (span + 1) / 2
    elif weights == "circular":
        distance = np.sin(np.pi * gaps / (values[-1] - values[0] + 1)) ** 2
    elif weights == "bipolar":
        ends = (sums - 2 * values[0]) * (2 * values[-1] - sums)
        distance = np.divide(gaps**2, ends, out=np.zeros_like(gaps), where=different)
    elif weights == "ratio":
        if (sums[different] == 0).any():
            raise InvalidInputError("weights='ratio': values that add up to 0 have no ratio")
        distance = np.divide(gaps, sums, out=np.zeros_like(gaps), where=different) ** 2
    else:
        distance = gaps ** {"linear": 1.0, "quadratic": 2.0, "radical": 0.5}[weights]
    return distance


def _among(counts: LabelCounts, values: ArrayLike | None) -> LabelCounts:
    """The counts with one column for each of the given values; refuses a label that is none of them."""
    if values is None:
        return counts
    known = np.unique(as_items(values, "values"))
    if np.isnan(known).any():
        raise InvalidInputError("values: a value is missing (NaN)")
    used = counts.matrix[np.unique(counts.row)].any(axis=0)
    strange = counts.values[used & ~np.isin(counts.values, known)]
    if len(strange):
        raise InvalidInputError(f"labels: {strange[0]:g} is none of the values")
    matrix = np.zeros((len(counts.matrix), len(known)), dtype=np.intp)
    here = np.isin(counts.values, known)
    matrix[:, np.searchsorted(known, counts.values[here])] = counts.matrix[:, here]
    return LabelCounts(known, counts.row, matrix, counts.item, counts.code)


def _counted(sampling: Sampling, n_items: int) -> Booleans | None:
    """The items that count; None for all."""
    mask, weights = as_mask(sampling.get("where"), n_items), as_weights(sampling.get("weights"), n_items)
    if weights is None:
        return mask
    return weights > 0 if mask is None else mask & (weights > 0)


def _used(counts: LabelCounts, mask: Booleans | None) -> LabelCounts:
    """The counts without the values that the items that count do not have."""
    rows = np.unique(counts.row if mask is None else counts.row[mask])
    used = counts.matrix[rows].any(axis=0)
    return LabelCounts(counts.values[used], counts.row, counts.matrix[:, used], counts.item, counts.code)

"""Agreement beyond chance of two people (Cohen) and of any number (Fleiss).

All are 1 minus observed over expected disagreement, a function of totals over items: how much the labels of an item
disagree, and how often each value was given. So a resample only needs the totals.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Seed, as_items, as_weights, check_option
from metaeval.stats.counts import LabelCounts, LongLabels
from metaeval.stats.crossed import People
from metaeval.stats.crossed_pairs import PairTerms, coefficient_of_others, labels_for
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, finish, item_weights, resolve, why_none
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import slopes_of_totals, spread_by_slopes, spread_of_totals

KappaWeights: TypeAlias = Literal["linear", "quadratic"] | None
# (shares of the values, of shape (..., n_values)) to the expected disagreement.
Chance: TypeAlias = Callable[[Floats], Floats]

_NO_PAIR = "no item has two labels"
_ONE_VALUE = "all labels are one value: chance agreement is complete"


class Resampling(TypedDict, total=False):
    """The options of `metaeval.stats.intervals.Sampling` of figures whose ``weights`` are those of agreement."""

    clusters: Any
    resamples: Resamples | None
    where: ArrayLike | None
    confidence: float
    n_resamples: int
    rng: Seed


@aligned()
def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    weights: KappaWeights = None,
    sampling_weights: ArrayLike | None = None,
    **options: Unpack[Resampling],
) -> Estimate:
    """Agreement of two people, or of a judge and a person, beyond what their own habits would give by chance.

    ``1 - sum(d * o) / sum(d * e)`` over pairs of values: *o* is the share of items with that pair, *e* the product of
    how often the one gave the first value and the other the second, *d* how far apart the two are.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Any numeric values. An item with NaN (missing, unparsed) in either takes no part.
    weights : {None, "linear", "quadratic"}
        Distance of two different values: 1 (any difference is as bad), their difference, or its square.
    sampling_weights : array_like of shape (n_items,), optional
        What `metaeval.stats.intervals.Sampling` calls ``weights``: one over the chance with which each item was
        picked. All shares are then those of the items picked from.
    **options
        See `Resampling`.

    Returns
    -------
    Estimate
        At most 1; 0 is chance. NaN when no item has both, or when both gave the same one value throughout. If each
        gave one value and these differ it is 0: they disagree as they would by chance.

    Notes
    -----
    Weighted distances are differences of the *values*. scikit-learn and statsmodels take the places of the values
    that occur: if nobody said 3, then 2 and 4 are neighbors to them.

    References
    ----------
    J. Cohen, "A coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20 (1960); "Weighted kappa",
    Psychological Bulletin 70 (1968).

    Examples
    --------
    >>> round(cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1]).value, 6)     # observed 3/4, by chance 1/2
    0.5
    >>> round(cohen_kappa([1, 2, 3, 5], [1, 3, 3, 4], weights="quadratic").value, 6)
    0.851852
    """
    if weights is not None:
        check_option(weights, ("linear", "quadratic"), "weights")
    one = as_items(first, "first")
    two = as_items(second, "second", len(one))
    sampling = with_sampling_weights(options, sampling_weights, len(one))
    resamples, mask, confidence = resolve(len(one), sampling, weighted=True)
    of_items = item_weights(len(one), sampling)
    counted = ~np.isnan(one) & ~np.isnan(two)
    if mask is not None:
        counted &= mask
    if of_items is not None:
        counted &= of_items > 0
    if not counted.any():
        return undefined(why_none("no item has both labels", of_items))
    values, codes = np.unique(np.stack([one, two], axis=1)[counted], return_inverse=True)
    codes = codes.reshape(-1, 2)
    distance = _kappa_distance(values, weights)
    k = len(values)
    columns = np.zeros((len(one), 2 + 2 * k))
    rows = np.flatnonzero(counted)
    columns[rows, 0] = distance[codes[:, 0], codes[:, 1]]
    columns[rows, 1] = 1.0
    columns[rows, 2 + codes[:, 0]] = 1.0
    columns[rows, 2 + k + codes[:, 1]] = 1.0
    if of_items is not None:
        columns *= of_items[:, np.newaxis]

    def kappa(totals: Floats) -> tuple[Floats, Floats]:
        observed, n = totals[:, 0], totals[:, 1]
        expected = ((totals[:, 2 : 2 + k] @ distance) * totals[:, 2 + k :]).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return 1 - observed * n / expected, expected / n**2

    value, expected = kappa(columns.sum(axis=0)[np.newaxis])
    if expected[0] == 0:
        return undefined(_ONE_VALUE)
    resampled = kappa(resamples.totals(columns))[0] if resamples.n_resamples else np.zeros(0)
    bounds = 1 - float(distance.max()) / float(expected[0]), 1.0
    spread = spread_of_totals(columns, lambda totals: kappa(totals)[0], counted, resamples)
    return finish(float(value[0]), resampled, counted, resamples, confidence, bounds, spread)


def with_sampling_weights(options: Resampling, weights: ArrayLike | None, n_items: int) -> Sampling:
    """The options of `Sampling`, where ``weights`` are those of the items and not of agreement."""
    return cast("Sampling", {**options, "weights": as_weights(weights, n_items, "sampling_weights")})


@aligned()
def fleiss_kappa(labels: Any, *, people: People = "fixed", **options: Unpack[Sampling]) -> Estimate:
    """Agreement of any number of people beyond chance, all drawing from one distribution of values.

    Observed agreement is the mean over items of the share of pairs of labels that are equal; by chance two labels
    are equal with the sum of squared shares of the values.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value).
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. From fewer
        than five people there is no interval of others.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        At most 1; 0 is chance. NaN when no item has two labels or all labels are one value. ``n`` counts items with
        two labels or more.

    Notes
    -----
    With equally many labels an item this is Fleiss' kappa. With unequal numbers it is Gwet's generalisation: items
    weigh the same, observed agreement is taken over items with two labels or more, and the share of a value is the
    mean over all labeled items (those with one label too) of its share there.

    References
    ----------
    J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76 (1971); K. L. Gwet,
    "Handbook of Inter-Rater Reliability", 4th ed., 2014, ch. 2.

    Examples
    --------
    >>> round(fleiss_kappa([[1, 1, 1], [1, 1, 2], [2, 2, 2], [2, 2, 1]]).value, 6)     # 2/3 against 1/2
    0.333333
    """
    read, counts = labels_for(labels, people)
    distance = 1.0 - np.eye(len(counts.values))

    def chance(shares: Floats) -> Floats:
        expected: Floats = ((shares @ distance) * shares).sum(axis=-1)
        return expected

    return chance_corrected(counts, distance, chance, options, read)


def chance_corrected(
    counts: LabelCounts,
    distance: Floats,
    chance: Chance,
    options: Sampling,
    read: LongLabels | None = None,
) -> Estimate:
    """One minus observed over expected disagreement of any number of people, with its interval.

    Parameters
    ----------
    counts : LabelCounts
        The labels.
    distance : ndarray of shape (n_values, n_values)
        How far apart two values are: symmetric, in [0, 1], 0 on the diagonal.
    chance : callable
        Expected disagreement from the shares of the values, (..., n_values) to (...).
    read : LongLabels, optional
        Who gave which label, with the values of `counts`, for an interval of people like these.
    """
    resamples, mask, confidence = resolve(counts.n_items, options, weighted=True)
    weights = item_weights(counts.n_items, options)
    columns = _table(counts.matrix, distance)[counts.row]
    taking_part = columns[:, 2] > 0
    if mask is not None:
        taking_part &= mask
    if weights is not None:
        taking_part &= weights > 0
        columns *= weights[:, np.newaxis]
    columns[~taking_part] = 0.0
    pairable = columns[:, 1] > 0
    if not pairable.any():
        return undefined(why_none(_NO_PAIR, weights))

    def kappa(totals: Floats) -> tuple[Floats, Floats]:
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = chance(totals[:, 3:] / totals[:, 2:3])
            return 1 - totals[:, 0] / totals[:, 1] / expected, expected

    value, expected = kappa(columns.sum(axis=0)[np.newaxis])
    if not expected[0] > 0:
        return undefined(_ONE_VALUE)
    resampled = kappa(resamples.totals(columns))[0] if resamples.n_resamples else np.zeros(0)
    bounds = 1 - float(distance.max()) / float(expected[0]), 1.0
    slopes = slopes_of_totals(columns, lambda totals: kappa(totals)[0], pairable)
    spread = spread_by_slopes(columns, slopes, pairable, resamples)
    fixed = finish(float(value[0]), resampled, pairable, resamples, confidence, bounds, spread)
    if read is None:
        return fixed
    return coefficient_of_others(
        fixed,
        resampled,
        read,
        PairTerms(
            slopes[0] * distance, slopes[3:], pairable.astype(np.float64), taking_part.astype(np.float64)
        ),
        np.where(taking_part, 1.0 if weights is None else weights, 0.0),
        bounds=bounds,
        spread=spread,
        resamples=resamples,
        confidence=confidence,
    )


def _table(matrix: Any, distance: Floats) -> Floats:
    """What an item with these counts adds up to, (n_rows, 3 + n_values).

    Mean distance of its pairs of labels, 1 if it has a pair, 1 if it has a label, the share of each value.
    """
    counts = matrix.astype(np.float64)
    size = counts.sum(axis=1)
    pairs = size * (size - 1)
    disagreement = ((counts @ distance) * counts).sum(axis=1) / np.where(pairs > 0, pairs, 1.0)
    shares = counts / np.maximum(size, 1.0)[:, np.newaxis]
    return np.column_stack([np.where(pairs > 0, disagreement, 0.0), pairs > 0, size > 0, shares])


def _kappa_distance(values: Floats, weights: KappaWeights) -> Floats:
    gaps = np.abs(np.subtract.outer(values, values))
    if weights is None:
        return (gaps > 0).astype(np.float64)
    power: Floats = gaps if weights == "linear" else gaps**2
    return power

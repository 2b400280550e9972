"""Agreement of pairs of people on ratings: exactly, or within a distance."""

from typing import Any, Unpack

import numpy as np

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, check_option
from metaeval.stats.contributions import contributions_of
from metaeval.stats.counts import count_labels, read_labels
from metaeval.stats.crossed import PEOPLE, Crossing, People
from metaeval.stats.crossed_pairs import pair_sums
from metaeval.stats.crossed_sums import sums_estimate
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.options import as_number


@aligned()
def pairwise_agreement(
    labels: Any, *, tolerance: float = 0.0, people: People = "fixed", **options: Unpack[Sampling]
) -> Estimate:
    """How often two people who labeled the same item are within ``tolerance`` of each other.

    For each item the share of its pairs of labels that differ by at most ``tolerance``; the mean over items, so
    that an item with many labels weighs no more than one with two.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Numeric values, NaN where missing; or a tuple (item, annotator, value).
    tolerance : float, default 0
        In the units of the values; 0 asks for the same value. Must not be negative.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. From fewer
        than five people there is no interval of others.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has two labels.

    References
    ----------
    With ``tolerance=1`` on five points, the "agreement within one" of rubric studies; Y. Zhang et al., "HELM
    Instruct", 2024, use the same distance for qualification.

    Examples
    --------
    >>> pairwise_agreement([[1, 1, 2], [5, 3, 1]], n_resamples=0).value     # (1/3 + 0/3) / 2
    0.16666666666666666
    >>> pairwise_agreement([[1, 1, 2], [5, 3, 1]], tolerance=1, n_resamples=0).value
    0.5
    """
    reason = "no item has two labels"
    check_option(people, PEOPLE, "people")
    if people == "fixed":
        return mean_estimate(
            pairwise_agreement_contributions(labels, tolerance=tolerance), reason=reason, **options
        )
    read = read_labels(labels)
    crossing = Crossing.of(read.item, read.annotator)
    sums = pair_sums(read, crossing, as_number(tolerance, "tolerance", 0))
    return sums_estimate(sums, crossing, reason=reason, **options)


@aligned()
@contributions_of("pairwise_agreement")
def pairwise_agreement_contributions(labels: Any, *, tolerance: float = 0.0) -> Floats:
    """What each item contributes to `pairwise_agreement`: shape (n_items,), NaN where it has no pair.

    Examples
    --------
    >>> pairwise_agreement_contributions([[1, 1, 2], [3, float("nan"), float("nan")]]).round(3).tolist()
    [0.333, nan]
    """
    tolerance = as_number(tolerance, "tolerance", 0)
    counts = count_labels(labels)
    matrix = counts.matrix.astype(np.float64)
    # Ratings such as 1.1 and 0.1 are a distance of 1 apart, whatever their last binary digit says.
    near = np.abs(counts.values[:, np.newaxis] - counts.values) <= tolerance + 1e-9
    total = matrix.sum(axis=1)
    # Ordered pairs that are near, less each label paired with itself.
    agreeing = np.einsum("ia,ab,ib->i", matrix, near.astype(np.float64), matrix) - total
    pairs = total * (total - 1)
    shares: Floats = np.where(pairs > 0, agreeing / np.maximum(pairs, 1), np.nan)
    return shares[counts.row]

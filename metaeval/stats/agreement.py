"""Agreement that is not corrected for chance: of people, of a judge with gold ratings, of a judge with itself."""

from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, as_matrix, as_verdicts, check_option, mean_of_orders
from metaeval.stats.contributions import contributions_of
from metaeval.stats.counts import count_labels, read_labels
from metaeval.stats.crossed import PEOPLE, Crossing, People
from metaeval.stats.crossed_pairs import pair_sums
from metaeval.stats.crossed_sums import sums_estimate
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate, ratio_estimate
from metaeval.stats.leave_one_out_scores import Unparsed
from metaeval.stats.options import as_number
from metaeval.stats.pairs import pairwise_agreement, pairwise_agreement_contributions

AgreementMean: TypeAlias = Literal["items", "pairs"]

# Ratings such as 1.1 and 0.1 are a distance of 1 apart, whatever their last binary digit says.
_GRAIN = 1e-9


@aligned()
def percent_agreement(
    labels: Any,
    *,
    average: AgreementMean = "items",
    people: People = "fixed",
    **options: Unpack[Sampling],
) -> Estimate:
    """How often two people who labeled the same item said the same.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value).
    average : {"items", "pairs"}
        ``"items"``: the share of equal pairs of each item, then the mean over items. It is the observed agreement of
        Fleiss' kappa and Gwet's AC1, and `pairwise_agreement` with tolerance 0. ``"pairs"``: all pairs together, so
        that an item with many labels weighs more.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. From fewer
        than five people there is no interval of others.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has two labels. Not corrected for chance.

    References
    ----------
    J. L. Fleiss, "Measuring nominal scale agreement among many raters", Psychological Bulletin 76 (1971).

    Examples
    --------
    >>> labels = [[1, 1, 1, 2], [1, 1, float("nan"), float("nan")]]
    >>> percent_agreement(labels).value     # (3/6 + 1/1) / 2
    0.75
    >>> round(percent_agreement(labels, average="pairs").value, 6)     # (3 + 1) / (6 + 1)
    0.571429
    """
    check_option(average, ("items", "pairs"), "average")
    if average == "items":
        return pairwise_agreement(labels, people=people, **options)
    check_option(people, PEOPLE, "people")
    reason = "no item has two labels"
    if people == "sampled":
        read = read_labels(labels)
        crossing = Crossing.of(read.item, read.annotator)
        sums = pair_sums(read, crossing)
        size = np.bincount(read.item, minlength=read.n_items)
        return sums_estimate(sums.times(size * (size - 1) / 2, crossing), crossing, reason=reason, **options)
    shares = pairwise_agreement_contributions(labels)
    counts = count_labels(labels)
    size = counts.matrix.sum(axis=1)[counts.row]
    pairs = np.where(np.isnan(shares), 0.0, size * (size - 1) / 2)
    return ratio_estimate(np.where(pairs > 0, shares, 0.0) * pairs, pairs, reason=reason, **options)


@aligned()
def tolerant_accuracy(
    verdicts: ArrayLike,
    gold: ArrayLike,
    *,
    tolerance: float = 1.0,
    unparsed: Unparsed = "wrong",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share of ratings that are at most ``tolerance`` from the gold rating.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        Ratings; NaN is unparsed. Of two columns (two orders, two runs) the mean is taken.
    gold : array_like of shape (n_items,)
        The right rating, people's mean for example; an item with NaN is not counted.
    tolerance : float, default 1
        In the units of the ratings; 0 is plain accuracy.
    unparsed : {"wrong", "omit"}
        An unparsed rating is wrong, or left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has a gold rating.

    References
    ----------
    Y. Zhang et al., "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with Absolute
    Ratings", 2024: annotators qualify by being within one point of the gold rating.

    Examples
    --------
    >>> tolerant_accuracy([5, 3, 1, float("nan")], [4, 3, 4, 2]).value
    0.5
    """
    contributions = tolerant_accuracy_contributions(verdicts, gold, tolerance=tolerance, unparsed=unparsed)
    return mean_estimate(contributions, reason="no item with a gold answer", **options)


@aligned()
@contributions_of("tolerant_accuracy")
def tolerant_accuracy_contributions(
    verdicts: ArrayLike, gold: ArrayLike, *, tolerance: float = 1.0, unparsed: Unparsed = "wrong"
) -> Floats:
    """What each item contributes to `tolerant_accuracy`, (n_items,); NaN where it does not count.

    Examples
    --------
    >>> tolerant_accuracy_contributions([[5, 3], [1, 1]], [5, float("nan")]).tolist()
    [0.5, nan]
    """
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    tolerance = as_number(tolerance, "tolerance", 0)
    judged = as_verdicts(verdicts)
    right = as_items(gold, "gold", len(judged))
    with np.errstate(invalid="ignore"):
        scores = (np.abs(judged - right[:, np.newaxis]) <= tolerance + _GRAIN).astype(np.float64)
    if unparsed == "omit":
        scores[np.isnan(judged)] = np.nan
    scores[np.isnan(right)] = np.nan
    return mean_of_orders(scores)


@aligned()
def self_consistency(
    samples: ArrayLike, *, unparsed: Unparsed = "wrong", **options: Unpack[Sampling]
) -> Estimate:
    """How often a judge that is asked the same twice says the same.

    The share of pairs of an item's samples that are equal, averaged over items. Samples are repeated runs in *one*
    presentation order; agreement between the two orders is `positional_agreement`.

    Parameters
    ----------
    samples : array_like of shape (n_items, n_samples)
        Repeated verdicts of one judge, any numeric values; NaN is unparsed.
    unparsed : {"wrong", "omit"}
        A pair with an unparsed sample is one that disagrees, two unparsed ones too; or such pairs are left out.
        Where items have unequal numbers of samples, NaN fills up the row and only ``"omit"`` is right.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has two samples.

    Notes
    -----
    `pairwise_agreement` with the judge's own samples in place of people, and unparsed ones counted.

    Examples
    --------
    >>> self_consistency([[1, 1, 2], [2, 2, 2]]).value     # (1/3 + 1) / 2
    0.6666666666666666
    >>> self_consistency([[1, 1, float("nan")], [2, 2, 2]], unparsed="omit").value
    1.0
    """
    contributions = self_consistency_contributions(samples, unparsed=unparsed)
    return mean_estimate(contributions, reason="no item has two samples", **options)


@aligned()
@contributions_of("self_consistency")
def self_consistency_contributions(samples: ArrayLike, *, unparsed: Unparsed = "wrong") -> Floats:
    """What each item contributes to `self_consistency`, (n_items,); NaN where it has no two samples.

    Examples
    --------
    >>> self_consistency_contributions([[1, 1, float("nan")]]).round(3).tolist()
    [0.333]
    """
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    said = as_matrix(samples, "samples")
    shares = pairwise_agreement_contributions(said)
    if unparsed == "omit":
        return shares
    n_samples = said.shape[1]
    if n_samples < 2:
        return shares
    parsed = (~np.isnan(said)).sum(axis=1)
    pairs = np.where(np.isnan(shares), 0.0, shares) * parsed * (parsed - 1)
    wrong: Floats = pairs / (n_samples * (n_samples - 1))
    return wrong

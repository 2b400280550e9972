"""The share that people would pass, from a judge's verdicts on all items and its error rates on those with labels.

Misclassification correction: a judge that passes some of the bad and fails some of the good answers reports a share
that is off by a known amount, once its true positive and true negative rates are known.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_floats, as_matrix, check_option, mean_of_orders
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, fields_of, undefined
from metaeval.stats.options import as_level, as_number
from metaeval.stats.shares import Frame, Share, check_shares, read_frame

Calibration: TypeAlias = Literal["sample", "elsewhere"]

FEW_CARRY = "a few labeled items carry most of the sampling weight: the interval may cover too little"
NO_BETTER = "the judge is not better than chance on the labeled items, so nothing can be corrected"
BARELY_BETTER = "no interval: the judge is not shown to be better than chance on the labeled items"
# Labels that count as less than this share of their number (Kish) have weights under which intervals are too short.
_UNEVEN = 0.25


@dataclass(frozen=True, slots=True)
class CorrectedRate(Estimate):
    """A share corrected for a judge's errors; ``n`` and ``n_clusters`` count labeled items and their clusters.

    Attributes
    ----------
    judged : Estimate or None
        What the judge reports: the share that it passes, uncorrected.
    true_positive_rate, true_negative_rate : Estimate or None
        Its rates on the labeled items.
    n_judged : int
        Items that its share is over.
    """

    judged: Estimate | None = None
    true_positive_rate: Estimate | None = None
    true_negative_rate: Estimate | None = None
    n_judged: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        parts = ("judged", "true_positive_rate", "true_negative_rate")
        found = {name: getattr(self, name) for name in parts}
        return {
            **Estimate.as_dict(self),
            "n_judged": self.n_judged,
            **{name: None if one is None else one.as_dict() for name, one in found.items()},
        }


@aligned(apart=("verdicts_unlabelled",))
def corrected_rate(
    labels: ArrayLike,
    verdicts: ArrayLike,
    verdicts_unlabelled: ArrayLike | None = None,
    *,
    calibration: Calibration = "sample",
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CorrectedRate:
    """Share of items that people would pass, from a judge's verdicts on all and people's labels of some.

    Parameters
    ----------
    labels : array_like of shape (n_items,) or (n_items, n_annotators)
        1 (pass), 0 (fail), NaN where missing; an item's label is the share of its people who pass it.
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's, 1, 0 or a number between; several are averaged. An item without a verdict takes no part.
    verdicts_unlabelled : array_like of shape (n_more,) or (n_more, n_answers), optional
        Verdicts on more items, without labels, which follow the others in all that is aligned with items.
    calibration : {"sample", "elsewhere"}
        Labeled items are a sample of those whose share is wanted; or they are others (an earlier benchmark, items
        picked until there were enough of either kind), and only unlabeled items count for the share.
    weights : array_like of shape (n_items,), optional
        Inverse of the chance with which each item was picked for labeling, for the labeled ones at least.
    clusters : array_like of shape (n_items,), optional
        Items that share an instruction are one piece of evidence. Default: each item by itself.
    where : array_like of shape (n_items,), optional
        Booleans, the items that the share is over. Default: all.
    confidence : float

    Returns
    -------
    CorrectedRate
        NaN if there is no label of either kind, or the judge is no better than chance.

    Notes
    -----
    With the judge's share p, its true positive rate q1 and true negative rate q0, the estimate of Rogan and Gladen is
    (p + q0 - 1) / (q0 + q1 - 1), kept within [0, 1]. The interval is that of Lang and Reiczigel, which adds z^2
    verdicts and a right and a wrong one of either kind, and shifts its middle; n, m0 and m1 are effective sample sizes
    (clusters, weights), and the variance is lowered by what labeled items that count for p, too, tell twice. Where
    q0 + q1 - 1 is not significantly above 0 the interval is all of [0, 1].

    It rests on one assumption: the judge's error rates are the same on the labeled items as on those whose share is
    wanted. That holds where the former are a sample of the latter, and then `ppi_mean` is as right and mostly shorter.
    Where labeled items come from elsewhere, with other shares of good answers, `ppi_mean` is biased and this is not.

    References
    ----------
    W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening test", American Journal of
    Epidemiology 107 (1978); Z. Lang and J. Reiczigel, "Confidence limits for prevalence of disease adjusted for
    estimated sensitivity and specificity", Preventive Veterinary Medicine 113 (2014); C. Lee et al., "How to Correctly
    Report LLM-as-a-Judge Evaluations", arXiv 2511.21140, 2025.

    Examples
    --------
    >>> labels = [1] * 70 + [0] * 30 + [float("nan")] * 400
    >>> verdicts = [1] * 63 + [0] * 7 + [1] * 6 + [0] * 24 + [1] * 230 + [0] * 170
    >>> found = corrected_rate(labels, verdicts)
    >>> found.judged.value, round(found.value, 3)       # (0.598 + 0.8 - 1) / (0.9 + 0.8 - 1)
    (0.598, 0.569)
    """
    check_option(calibration, ("sample", "elsewhere"), "calibration")
    confidence = as_level(confidence, "confidence")
    data = _read(labels, verdicts, verdicts_unlabelled, weights, clusters, where, calibration, confidence)
    passed, failed = data.weighted * data.label, data.weighted * (1 - data.label)
    if not data.counted.any():
        return CorrectedRate(**fields_of(undefined("no item has a verdict that counts")))
    if not (passed.any() and failed.any()):
        reason = "no labeled item" if not (passed.any() or failed.any()) else "all labeled items are alike"
        return CorrectedRate(**fields_of(undefined(reason)))
    frame = data.frame
    judged = frame.share(data.verdict, data.counted.astype(np.float64))
    sensitivity = frame.share(data.verdict, passed)
    specificity = frame.share(1 - data.verdict, failed)
    parts: dict[str, Any] = {
        "judged": judged.estimate,
        "true_positive_rate": sensitivity.estimate,
        "true_negative_rate": specificity.estimate,
        "n_judged": int(data.counted.sum()),
    }
    n = int(np.count_nonzero(data.weighted))
    if float(data.weighted.sum()) ** 2 < _UNEVEN * n * float(data.weighted @ data.weighted):
        warn(FEW_CARRY)
    n_clusters = frame.n_clusters(data.weighted > 0)
    youden = sensitivity.value + specificity.value - 1
    if youden <= 0:
        found = undefined(NO_BETTER)
        return CorrectedRate(**fields_of(found), **parts)
    share = min(1.0, max(0.0, (judged.value + specificity.value - 1) / youden))
    z = float(special.ndtri((1 + confidence) / 2))
    doubt = math.sqrt(_variance(sensitivity) + _variance(specificity))
    if youden <= z * doubt:
        warn(BARELY_BETTER)
        found = Estimate(share, 0.0, 1.0, n, n_clusters, "none", BARELY_BETTER)
        return CorrectedRate(**fields_of(found), **parts)
    low, high = rogan_gladen_interval(
        judged.value,
        specificity.value,
        sensitivity.value,
        judged.size,
        specificity.size,
        sensitivity.size,
        confidence=confidence,
        told_twice=_told_twice(share, judged, specificity, sensitivity),
    )
    found = Estimate(share, min(share, low), max(share, high), n, n_clusters, "rogan-gladen")
    return CorrectedRate(**fields_of(found), **parts)


def rogan_gladen_interval(
    judged: float,
    true_negative_rate: float,
    true_positive_rate: float,
    n: float,
    n_negative: float,
    n_positive: float,
    *,
    confidence: float = 0.95,
    told_twice: float = 0.0,
) -> tuple[float, float]:
    """Lang and Reiczigel's interval of a share corrected for errors, from counts.

    Parameters
    ----------
    judged : float
        Share that the judge passes, of ``n`` items.
    true_negative_rate, true_positive_rate : float
        Of ``n_negative`` items that people fail and ``n_positive`` that they pass.
    n, n_negative, n_positive : float
        Sample sizes; effective, hence fractional ones are fine.
    confidence : float, default 0.95
        Level of the interval.
    told_twice : float, default 0
        The share of the variance that goes where labeled items count for ``judged``, too.

    Returns
    -------
    (float, float)
        Its ends, in [0, 1].

    References
    ----------
    Z. Lang and J. Reiczigel, Preventive Veterinary Medicine 113 (2014); C. Lee et al., arXiv 2511.21140, section 3.

    Examples
    --------
    >>> [round(end, 4) for end in rogan_gladen_interval(0.4, 0.7, 0.9, 1000, 200, 200)]
    [0.0564, 0.2627]
    """
    z = float(special.ndtri((1 + as_level(confidence, "confidence")) / 2))
    sizes = [
        as_number(size, name, 0)
        for size, name in ((n, "n"), (n_negative, "n_negative"), (n_positive, "n_positive"))
    ]
    as_number(told_twice, "told_twice", 0, 1)
    p = (sizes[0] * as_number(judged, "judged", 0, 1) + z * z / 2) / (sizes[0] + z * z)
    q0 = (sizes[1] * as_number(true_negative_rate, "true_negative_rate", 0, 1) + 1) / (sizes[1] + 2)
    q1 = (sizes[2] * as_number(true_positive_rate, "true_positive_rate", 0, 1) + 1) / (sizes[2] + 2)
    youden = q0 + q1 - 1
    if youden <= 0:
        return 0.0, 1.0
    share = (p + q0 - 1) / youden
    of_negative = q0 * (1 - q0) / (sizes[1] + 2)
    of_positive = q1 * (1 - q1) / (sizes[2] + 2)
    shift = 2 * z * z * (share * of_positive - (1 - share) * of_negative)
    variance = p * (1 - p) / (sizes[0] + z * z) + (1 - share) ** 2 * of_negative + share**2 * of_positive
    reach = z * math.sqrt(variance * (1 - told_twice)) / youden
    return min(1.0, max(0.0, share + shift - reach)), min(1.0, max(0.0, share + shift + reach))


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """All items: ``weighted`` is 0 but for labeled ones, ``counted`` says which the judge's share is over."""

    label: Floats
    verdict: Floats
    weighted: Floats
    counted: Booleans
    frame: Frame


def _read(
    labels: ArrayLike,
    verdicts: ArrayLike,
    more: ArrayLike | None,
    weights: ArrayLike | None,
    clusters: Any,
    where: ArrayLike | None,
    calibration: Calibration,
    confidence: float,
) -> _Data:
    label = _means(labels, "labels")
    verdict = _means(verdicts, "verdicts")
    if len(label) != len(verdict):
        raise InvalidInputError(f"verdicts: expected {len(label)} items, got {len(verdict)}")
    if more is not None:
        others = _means(more, "verdicts_unlabelled")
        label = np.concatenate([label, np.full(len(others), np.nan)])
        verdict = np.concatenate([verdict, others])
    n = len(label)
    inverse = np.ones(n) if weights is None else as_floats(weights, "weights")
    if inverse.shape != (n,):
        raise InvalidInputError(f"weights: expected shape ({n},), got {inverse.shape}")
    frame = read_frame(n, None, clusters, where, confidence)
    known = ~np.isnan(verdict) & frame.counted
    labelled = known & ~np.isnan(label)
    if not (inverse[labelled] > 0).all():
        raise InvalidInputError("weights: expected a number above 0 for every labeled item")
    return _Data(
        label=np.where(labelled, label, 0.0),
        verdict=np.where(known, verdict, 0.0),
        weighted=np.where(labelled, inverse, 0.0),
        counted=known if calibration == "sample" else known & ~labelled,
        frame=frame,
    )


def _means(values: ArrayLike, name: str) -> Floats:
    """An item's share of passes."""
    array = as_matrix(values, name)
    check_shares(array, name)
    return mean_of_orders(array)


def _variance(part: Share) -> float:
    return part.value * (1 - part.value) / part.size


def _told_twice(share: float, judged: Share, specificity: Share, sensitivity: Share) -> float:
    """The part of the variance that is not there because labeled items count for the judge's share, too."""
    sides = (judged.deviations, (1 - share) * specificity.deviations, -share * sensitivity.deviations)
    apart = sum(float(one @ one) for one in sides)
    together = sides[0] + sides[1] + sides[2]
    return min(1.0, max(0.0, 1 - float(together @ together) / apart)) if apart > 0 else 0.0

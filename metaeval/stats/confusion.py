"""Right and wrong are not alike: what a judge passes that people would not, and what it fails that they would pass.

An agreement of 90% may hide that half of the bad answers are passed. Each rate here is a ratio of sums over items, so
its interval is that of every other figure: clusters move together, sampling weights count.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, as_matrix, check_option, dot, row_sums
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, item_weights, mean_estimate, ratio_estimate, resolve
from metaeval.stats.options import as_number
from metaeval.stats.results import Result

UnparsedAnswer: TypeAlias = Literal["wrong", "omit"]

RATES = ("true_positive_rate", "true_negative_rate", "precision", "f1")
NO_POSITIVE = "no item whose right answer is positive"
NO_NEGATIVE = "no item whose right answer is negative"
NO_VERDICT = "no verdict on an item with a right answer"


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What each item adds to the four cells, (n_items,) each; with several answers of the judge, their mean.

    ``missed`` is what a positive item lacks (no positive verdict), ``passed`` what a negative one does; an answer that
    is neither positive nor negative is wrong on both.
    """

    true_positive: Floats
    missed: Floats
    true_negative: Floats
    passed: Floats
    said_positive: Floats

    def costs(self, false_positive: float, false_negative: float) -> Floats:
        """Of the errors of each item; NaN where it does not count."""
        whole = self.true_positive + self.missed + self.true_negative + self.passed
        costs = false_positive * self.passed + false_negative * self.missed
        found: Floats = np.divide(costs, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        return found

    def ratio(self, name: str) -> tuple[Floats, Floats]:
        """Numerators and denominators of one of `RATES`."""
        if name == "true_positive_rate":
            return self.true_positive, self.true_positive + self.missed
        if name == "true_negative_rate":
            return self.true_negative, self.true_negative + self.passed
        if name == "precision":
            return self.true_positive, self.said_positive
        return 2 * self.true_positive, self.true_positive + self.missed + self.said_positive


@dataclass(frozen=True, slots=True)
class Confusion(Result):
    """A judge's verdicts beside the right answers.

    Attributes
    ----------
    true_positive_rate : Estimate
        Of the items that are positive, the share that it calls positive (sensitivity, recall).
    true_negative_rate : Estimate
        Of the items that are negative, the share that it calls negative (specificity).
    precision : Estimate
        Of the items that it calls positive, the share that is.
    f1 : Estimate
        Harmonic mean of precision and true positive rate.
    true_positives, false_negatives, true_negatives, false_positives : float
        Items, each by its sampling weight where there are weights; halves where two orders differ.
    """

    true_positive_rate: Estimate
    true_negative_rate: Estimate
    precision: Estimate
    f1: Estimate
    true_positives: float
    false_negatives: float
    true_negatives: float
    false_positives: float

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        counts = ("true_positives", "false_negatives", "true_negatives", "false_positives")
        return {name: getattr(self, name).as_dict() for name in RATES} | {
            name: getattr(self, name) for name in counts
        }


@aligned()
def confusion(
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    positive: float = 1.0,
    negative: float = 0.0,
    unparsed: UnparsedAnswer = "wrong",
    **options: Unpack[Sampling],
) -> Confusion:
    """True positive and true negative rate, precision and F1 of a judge.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's; several answers of an item (both presentation orders) count as parts of one. NaN is unparsed.
        An answer that is neither positive nor negative (a tie, cannot tell) is wrong on either kind of item.
    truth : array_like of shape (n_items,)
        The right answer: gold, or people's majority. Items with NaN or another value take no part.
    positive, negative : float, default 1 and 0
        What pass and fail are called. Of pairs: 1 and 2, the true positive rate being that of pairs whose first
        response is better.
    unparsed : {"wrong", "omit"}
        An unparsed verdict is wrong, or left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Confusion
        A rate without any item in its denominator is NaN, with a warning.

    Notes
    -----
    Each rate is a ratio of sums over items with Wilson's interval at the effective sample size, as `ratio_estimate`
    has it; F1 is 2 TP / (2 TP + FP + FN), a ratio of sums too.

    References
    ----------
    C. J. van Rijsbergen, "Information Retrieval", 2nd ed., 1979, chapter 7; E. L. Korn and B. I. Graubard, Survey
    Methodology 24 (1998), for the interval.

    Examples
    --------
    >>> found = confusion([1, 1, 0, 1, 0, 0], [1, 1, 1, 0, 0, 0])
    >>> [round(one.value, 3) for one in (found.true_positive_rate, found.true_negative_rate, found.precision, found.f1)]
    [0.667, 0.667, 0.667, 0.667]
    """
    cells = outcomes(verdicts, truth, positive=positive, negative=negative, unparsed=unparsed)
    return confusion_of(cells, **options)


def confusion_of(cells: Outcomes, **options: Unpack[Sampling]) -> Confusion:
    """`confusion` of cells that are there already."""
    n = len(cells.true_positive)
    resamples, where, _ = resolve(n, options, weighted=True)
    shared: Sampling = {**options, "resamples": resamples}
    shared.pop("clusters", None)
    reasons = {
        "true_positive_rate": NO_POSITIVE,
        "true_negative_rate": NO_NEGATIVE,
        "precision": "the judge calls no such item positive",
        "f1": "neither the judge nor the right answers call any item positive",
    }
    rates = {
        name: ratio_estimate(*cells.ratio(name), reason=reason, **shared) for name, reason in reasons.items()
    }
    weights = item_weights(n, options)
    counted = np.ones(n) if weights is None else weights
    if where is not None:
        counted = np.where(where, counted, 0.0)
    return Confusion(
        **rates,
        true_positives=dot(counted, cells.true_positive),
        false_negatives=dot(counted, cells.missed),
        true_negatives=dot(counted, cells.true_negative),
        false_positives=dot(counted, cells.passed),
    )


@aligned()
def error_cost(
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    false_positive: float = 1.0,
    false_negative: float = 1.0,
    positive: float = 1.0,
    negative: float = 0.0,
    unparsed: UnparsedAnswer = "wrong",
    **options: Unpack[Sampling],
) -> Estimate:
    """What a judge's errors cost, per item with a right answer.

    Parameters
    ----------
    verdicts, truth
        See `confusion`.
    false_positive, false_negative : float, default 1
        The price of passing what should fail, and of failing what should pass, in any unit.
    positive, negative, unparsed
        See `confusion`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In the unit of the prices; NaN with a `StatisticsWarning` where no item has a right answer.

    Notes
    -----
    Two judges are compared on the same items by `paired_difference` of their `error_cost_contributions`. With both
    prices 1 the cost is one minus accuracy.

    References
    ----------
    C. Elkan, "The Foundations of Cost-Sensitive Learning", IJCAI 2001.

    Examples
    --------
    >>> error_cost([1, 1, 0, 1], [1, 0, 1, 1], false_positive=5).value      # (5 + 1) / 4
    1.5
    """
    costs = error_cost_contributions(
        verdicts,
        truth,
        false_positive=false_positive,
        false_negative=false_negative,
        positive=positive,
        negative=negative,
        unparsed=unparsed,
    )
    most = max(false_positive, false_negative)
    bounds = (0.0, float(most)) if most > 0 else None
    return mean_estimate(costs, bounds=bounds, reason=NO_VERDICT, **options)


@aligned()
@contributions_of("error_cost")
def error_cost_contributions(
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    false_positive: float = 1.0,
    false_negative: float = 1.0,
    positive: float = 1.0,
    negative: float = 0.0,
    unparsed: UnparsedAnswer = "wrong",
) -> Floats:
    """What each item contributes to `error_cost`, (n_items,); NaN where it does not count.

    Examples
    --------
    >>> error_cost_contributions([1, 0, 1], [0, 1, float("nan")], false_positive=5).tolist()
    [5.0, 1.0, nan]
    """
    wrong_pass = as_number(false_positive, "false_positive", 0)
    wrong_fail = as_number(false_negative, "false_negative", 0)
    cells = outcomes(verdicts, truth, positive=positive, negative=negative, unparsed=unparsed)
    return cells.costs(wrong_pass, wrong_fail)


def outcomes(
    verdicts: ArrayLike,
    truth: ArrayLike,
    *,
    positive: float = 1.0,
    negative: float = 0.0,
    unparsed: UnparsedAnswer = "wrong",
    asked: ArrayLike | None = None,
) -> Outcomes:
    """The cells of `confusion`, by item. ``asked`` says which answers were asked for; the others take no part."""
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    positive, negative = as_number(positive, "positive"), as_number(negative, "negative")
    if positive == negative:
        raise InvalidInputError(f"negative: expected another number than positive, got {negative:g}")
    said = as_matrix(verdicts, "verdicts")
    right = as_items(truth, "truth", len(said))[:, np.newaxis]
    counted = np.ones(said.shape, dtype=np.bool_) if unparsed == "wrong" else ~np.isnan(said)
    if asked is not None:
        counted = counted & np.asarray(asked, dtype=np.bool_)
    counted = counted & ((right == positive) | (right == negative))
    n = row_sums(counted)

    def share(cell: Any) -> Floats:
        return row_sums(cell & counted) / np.maximum(n, 1)

    return Outcomes(
        true_positive=share((right == positive) & (said == positive)),
        missed=share((right == positive) & (said != positive)),
        true_negative=share((right == negative) & (said == negative)),
        passed=share((right == negative) & (said != negative)),
        said_positive=share(said == positive),
    )

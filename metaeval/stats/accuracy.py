"""Judges against a known answer: accuracy, positional agreement, and the rates of saying nothing useful."""

from typing import Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, as_verdicts, check_choices, check_option, mean_of_orders
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate, ratio_estimate
from metaeval.stats.options import as_number, as_switch

UnparsedVerdict: TypeAlias = Literal["wrong", "hedge", "omit"]
UnparsedRating: TypeAlias = Literal["other", "hedge", "omit"]
Orders: TypeAlias = Literal["mean", "net"]


@aligned()
def accuracy(
    verdicts: ArrayLike,
    gold: ArrayLike,
    *,
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
    orders: Orders = "mean",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share of verdicts that are the gold answer; with both presentation orders the mean of the two, or of their net.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        1, 2, 0 (tie, or equal ratings) or NaN (unparsed).
    gold : array_like of shape (n_items,)
        1 or 2, or 0 where the right answer is a tie; an item with NaN is not counted.
    hedge : float, default 0.5
        What a tie counts where the gold answer is none; 0 makes it plainly wrong.
    unparsed : {"wrong", "hedge", "omit"}
        An unparsed verdict is wrong, counts as a hedge (LLMBar's rating tables), or is left out.
    orders : {"mean", "net"}
        Of two presentation orders, the mean of what each counts; or they are one verdict, that which more of them
        give than the opposite (a tie if as many), in which a tie or an unparsed one says nothing beside a choice.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item has a gold answer.

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024. The net of both
    orders: S. Tan et al., "JudgeBench: A Benchmark for Evaluating LLM-based Judges", ICLR 2025.

    Examples
    --------
    >>> accuracy([[1, 1], [1, 2], [2, float("nan")]], [1, 1, 2]).value     # (1 + 1/2 + 1/2) / 3
    0.6666666666666666
    >>> accuracy([[1, 0], [1, 2], [2, 0]], [1, 1, 1], orders="net", hedge=0).value     # right, a tie, wrong
    0.3333333333333333
    """
    contributions = accuracy_contributions(verdicts, gold, hedge=hedge, unparsed=unparsed, orders=orders)
    return mean_estimate(contributions, reason="no item with a gold answer", **options)


@aligned()
@contributions_of("accuracy")
def accuracy_contributions(
    verdicts: ArrayLike,
    gold: ArrayLike,
    *,
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
    orders: Orders = "mean",
) -> Floats:
    """What each item contributes to `accuracy`, (n_items,); NaN where it does not count.

    Examples
    --------
    >>> accuracy_contributions([[1, 2], [0, 2]], [1, 2]).tolist()
    [0.5, 0.75]
    """
    check_option(unparsed, ("wrong", "hedge", "omit"), "unparsed")
    hedge = as_number(hedge, "hedge", 0, 1)
    judged = as_verdicts(verdicts)
    right = as_items(gold, "gold", len(judged))[:, np.newaxis]
    check_choices(judged, "verdicts")
    check_choices(right, "gold")
    check_option(orders, ("mean", "net"), "orders")
    if orders == "net":
        judged = _net(judged)
    scores = (judged == right).astype(np.float64)
    scores[(judged == 0) & (right != 0)] = hedge
    scores[np.isnan(judged)] = {"wrong": 0.0, "hedge": hedge, "omit": np.nan}[unparsed]
    scores[np.isnan(right[:, 0])] = np.nan
    return mean_of_orders(scores)


def _net(judged: Floats) -> Floats:
    """The verdict that more orders give than the opposite: (n_items, 1), 0 if as many, NaN if none was read."""
    ahead = (judged == 1).sum(axis=1) - (judged == 2).sum(axis=1)
    verdict = np.select([ahead > 0, ahead < 0], [1.0, 2.0], 0.0)
    return np.where(np.isnan(judged).all(axis=1), np.nan, verdict)[:, np.newaxis]


@aligned()
def positional_agreement(
    verdicts: ArrayLike, *, unparsed_agree: bool = False, **options: Unpack[Sampling]
) -> Estimate:
    """Share of items whose verdict is the same response in both presentation orders.

    Parameters
    ----------
    verdicts : array_like of shape (n_items, 2)
        Both in the original order of the responses; NaN is unparsed.
    unparsed_agree : bool, default False
        Whether two unparsed verdicts agree, as in LLMBar's published tables. One unparsed verdict never does.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024: "Agr.".

    Examples
    --------
    >>> positional_agreement([[1, 1], [1, 2], [0, 0], [2, float("nan")]]).value
    0.5
    """
    contributions = positional_agreement_contributions(verdicts, unparsed_agree=unparsed_agree)
    return mean_estimate(contributions, reason="no item is judged in both orders", **options)


@aligned()
@contributions_of("positional_agreement")
def positional_agreement_contributions(verdicts: ArrayLike, *, unparsed_agree: bool = False) -> Floats:
    """Whether the two orders of each item agree: 1 or 0, shape (n_items,).

    Raises
    ------
    InvalidInputError
        For verdicts in one order.

    Examples
    --------
    >>> positional_agreement_contributions([[1, 1], [1, 2]]).tolist()
    [1.0, 0.0]
    """
    judged = as_verdicts(verdicts)
    if judged.shape[1] != 2:
        raise InvalidInputError("verdicts: positional agreement needs both orders, shape (n_items, 2)")
    check_choices(judged, "verdicts")
    agree = judged[:, 0] == judged[:, 1]
    if as_switch(unparsed_agree, "unparsed_agree"):
        agree |= np.isnan(judged).all(axis=1)
    result: Floats = agree.astype(np.float64)
    return result


@aligned()
def unparsed_rate(verdicts: ArrayLike, **options: Unpack[Sampling]) -> Estimate:
    """Share of verdicts, over items and orders, that could not be read.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        NaN is unparsed; of what was never asked leave out the item.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    Notes
    -----
    A share of verdicts, pooled over items and orders.

    Examples
    --------
    >>> unparsed_rate([[1, float("nan")], [2, 2]]).value
    0.25
    """
    missing = np.isnan(as_verdicts(verdicts))
    return ratio_estimate(
        missing.sum(axis=1), np.full(len(missing), missing.shape[1]), reason="no verdicts", **options
    )


@aligned()
def rating_verdicts(score_1: ArrayLike, score_2: ArrayLike) -> Floats:
    """Verdicts that two ratings amount to: 1, 2, 0 where they are equal (a hedge), NaN where one is missing.

    Parameters
    ----------
    score_1, score_2 : array_like of shape (n_items,)
        Ratings of either response; NaN where missing.

    Returns
    -------
    ndarray of shape (n_items,)

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024: rating judges.

    Examples
    --------
    >>> rating_verdicts([5, 3, 4], [2, 3, float("nan")]).tolist()
    [1.0, 0.0, nan]
    """
    one = as_items(score_1, "score_1")
    two = as_items(score_2, "score_2", len(one))
    verdict = np.select([one > two, one < two], [1.0, 2.0], 0.0)
    return np.where(np.isnan(one) | np.isnan(two), np.nan, verdict)


@aligned()
def hedging_rate(
    verdicts: ArrayLike, *, unparsed: UnparsedRating = "other", **options: Unpack[Sampling]
) -> Estimate:
    """Share of items that a rating judge does not decide because both ratings are equal.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        As of `rating_verdicts`: 0 is a hedge.
    unparsed : {"other", "hedge", "omit"}
        A missing rating is no hedge but stays in the denominator, is a hedge (one minus this rate is then
        LLMBar's "Dif."), or is left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024: rating judges
    ("Dif." is one minus this rate).

    Examples
    --------
    >>> hedging_rate(rating_verdicts([5, 3, 4, 4], [2, 3, 4, 1])).value
    0.5
    """
    contributions = hedging_contributions(verdicts, unparsed=unparsed)
    return mean_estimate(contributions, reason="no verdicts", **options)


@aligned()
@contributions_of("hedging_rate")
def hedging_contributions(verdicts: ArrayLike, *, unparsed: UnparsedRating = "other") -> Floats:
    """What each item contributes to `hedging_rate`, (n_items,).

    Examples
    --------
    >>> hedging_contributions([0, 1]).tolist()
    [1.0, 0.0]
    """
    check_option(unparsed, ("other", "hedge", "omit"), "unparsed")
    judged = as_verdicts(verdicts)
    check_choices(judged, "verdicts")
    scores = (judged == 0).astype(np.float64)
    scores[np.isnan(judged)] = {"other": 0.0, "hedge": 1.0, "omit": np.nan}[unparsed]
    return mean_of_orders(scores)

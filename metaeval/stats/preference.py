"""What labels or verdicts lean to: ties, a side, a winner, the longer response."""

from typing import Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    as_items,
    check_option,
    mean_of_orders,
)
from metaeval.stats.biases import lean_contributions, read_answers
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate, ratio_estimate
from metaeval.stats.options import as_number

Ties: TypeAlias = Literal["half", "win", "loss", "omit"]
UnparsedLength: TypeAlias = Literal["neither", "omit"]

_NOTHING = "no label or parsed verdict"
_NO_LENGTHS = "no answer to an item whose responses differ in length by more than min_difference"


@aligned()
def tie_rate(verdicts: ArrayLike, **options: Unpack[Sampling]) -> Estimate:
    """Share of ties among the answers that there are.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        Labels or verdicts: 1, 2, 0 (tie), NaN (missing or unparsed: left out).
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    Notes
    -----
    A share of answers, pooled over items: an item with more answers weighs more.

    Examples
    --------
    >>> tie_rate([[0, 1], [2, float("nan")], [0, 0]]).value
    0.6
    """
    answers = read_answers(verdicts)
    return _pooled(answers == 0, ~np.isnan(answers), _NOTHING, options)


@aligned()
def preference_share(
    verdicts: ArrayLike, *, response: Literal[1, 2] = 1, ties: Ties = "half", **options: Unpack[Sampling]
) -> Estimate:
    """Share of all answers that prefer one response, pooled over items.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        Labels or verdicts: 1, 2, 0 (tie), NaN (left out).
    response : {1, 2}
        Whose share.
    ties : {"half", "win", "loss", "omit"}
        What a tie counts; ``"half"`` is AlpacaEval's "Proba. prefer 1".
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm", NeurIPS 2023, and the AlpacaEval repository ("Proba. prefer 1").

    Examples
    --------
    >>> preference_share([[1, 2], [1, 1], [0, 2]]).value
    0.5833333333333334
    """
    credit = _credit(read_answers(verdicts), response, ties)
    return _pooled(np.nan_to_num(credit), ~np.isnan(credit), _NOTHING, options)


@aligned()
def expected_win_rate(
    verdicts: ArrayLike, *, response: Literal[1, 2] = 1, ties: Ties = "half", **options: Unpack[Sampling]
) -> Estimate:
    """Wins plus half of the ties, as a mean over items.

    Unlike `preference_share` every item weighs the same, however many answers it has; unparsed answers are
    left out, and so is an item that has none.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        1, 2, 0 (tie), NaN.
    response : {1, 2}
        Whose wins.
    ties : {"half", "win", "loss", "omit"}
        What a tie counts. HREF counts one half, and its paper also speaks of a tie as a win.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    X. Lyu et al., "HREF: Human Response-Guided Evaluation of Instruction Following in Language Models", 2024.

    Examples
    --------
    >>> expected_win_rate([1, 2, 0, 0, float("nan")]).value
    0.5
    >>> expected_win_rate([1, 2, 0, 0, float("nan")], ties="win").value
    0.75
    """
    contributions = expected_win_contributions(verdicts, response=response, ties=ties)
    return mean_estimate(contributions, reason=_NOTHING, **options)


def expected_win_contributions(
    verdicts: ArrayLike, *, response: Literal[1, 2] = 1, ties: Ties = "half"
) -> Floats:
    """What each item contributes to `expected_win_rate`, (n_items,); NaN where no answer could be read.

    Examples
    --------
    >>> expected_win_contributions([[1, 0], [2, float("nan")]]).tolist()
    [0.75, 0.0]
    """
    return mean_of_orders(_credit(read_answers(verdicts), response, ties))


@aligned()
def longer_preference_share(
    verdicts: ArrayLike,
    length_1: ArrayLike,
    length_2: ArrayLike,
    *,
    min_difference: float = 0,
    ties: Ties = "loss",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share of answers that prefer the longer response, where one is longer by more than ``min_difference``.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        1, 2, 0 (tie), NaN (left out).
    length_1, length_2 : array_like of shape (n_items,)
        Lengths in whatever unit, characters usually; an item with NaN is not counted.
    min_difference : float, default 0
        A difference must exceed it; AlpacaEval's "Proba. prefer longer" takes 30 characters.
    ties : {"loss", "half", "win", "omit"}
        What a tie counts; by default it does not prefer the longer.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm", NeurIPS 2023, and the AlpacaEval repository ("Proba. prefer longer").

    Examples
    --------
    >>> longer_preference_share([1, 2, 1], [90, 90, 12], [10, 10, 10], min_difference=30).value
    0.5
    """
    answers = read_answers(verdicts)
    longer, counted = _longer(length_1, length_2, len(answers), min_difference)
    as_longer = np.where(answers == 0, 0.0, np.where(answers == longer[:, np.newaxis], 1.0, 2.0))
    as_longer[np.isnan(answers) | ~counted[:, np.newaxis]] = np.nan
    credit = _credit(as_longer, 1, ties)
    return _pooled(np.nan_to_num(credit), ~np.isnan(credit), _NO_LENGTHS, options)


@aligned()
def length_bias_rate(
    verdicts: ArrayLike,
    length_1: ArrayLike,
    length_2: ArrayLike,
    min_difference: float = 0,
    *,
    unparsed: UnparsedLength = "neither",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share that prefers the longer response minus share that prefers the shorter.

    Over the items whose responses differ in length.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        1, 2, 0 (a tie prefers neither), NaN. Several answers of an item are averaged.
    length_1, length_2 : array_like of shape (n_items,)
        Lengths of the two responses; an item with NaN is not counted.
    min_difference : float, default 0
        The difference in length must exceed it.
    unparsed : {"neither", "omit"}
        An unparsed verdict prefers neither and stays in the denominator, or is left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]; 0 is no lean.

    Notes
    -----
    `feature_preference` of lengths, exactly. A tie stays in the denominator, so a judge that ties a lot leans less;
    `longer_preference_share` is the published share.

    Examples
    --------
    >>> length_bias_rate([1, 1, 2, 0], [9, 9, 9, 9], [5, 5, 5, 5]).value     # (2 - 1) / 4
    0.25
    """
    check_option(unparsed, ("neither", "omit"), "unparsed")
    answers = read_answers(verdicts)
    longer, counted = _longer(length_1, length_2, len(answers), min_difference)
    towards = np.where(counted, longer, np.nan)[:, np.newaxis]
    lean = lean_contributions(answers, towards, "neither", unparsed)
    return mean_estimate(lean, bounds=(-1.0, 1.0), reason=_NO_LENGTHS, **options)


def _credit(answers: Floats, response: int, ties: Ties) -> Floats:
    """1 for the response, 0 against it, the tie's credit for a tie, NaN for what is left out."""
    check_option(ties, ("half", "win", "loss", "omit"), "ties")
    if response not in (1, 2):
        raise InvalidInputError(f"response: expected 1 or 2, got {response!r}")
    tie = {"half": 0.5, "win": 1.0, "loss": 0.0, "omit": np.nan}[ties]
    credit = np.where(answers == 0, tie, (answers == response).astype(np.float64))
    return np.where(np.isnan(answers), np.nan, credit)


def _longer(
    length_1: ArrayLike, length_2: ArrayLike, n_items: int, min_difference: float
) -> tuple[Floats, Booleans]:
    """Which response is longer (1 or 2), and whether by enough."""
    min_difference = as_number(min_difference, "min_difference", 0)
    difference = as_items(length_1, "length_1", n_items) - as_items(length_2, "length_2", n_items)
    return np.where(difference > 0, 1.0, 2.0), np.abs(difference) > min_difference


def _pooled(top: Floats | Booleans, counted: Booleans, reason: str, options: Sampling) -> Estimate:
    return ratio_estimate(top.sum(axis=1), counted.sum(axis=1), reason=reason, **options)

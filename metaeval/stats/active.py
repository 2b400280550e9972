"""Which items to label next: the judge's doubtful ones more often, each with a known chance.

Labels of items that a judge is unsure of say the most about where it is wrong. Picking only these would bias the
figure; picking them with known chances does not, because estimates weight by the inverse (`ppi_mean`).
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    Integers,
    Seed,
    as_floats,
    as_items,
    as_matrix,
    check_choices,
    check_option,
    generator,
    mean_of_orders,
)
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.options import as_count, as_level, as_number, as_positive, as_range
from metaeval.stats.prediction_powered import ppi_mean
from metaeval.stats.rectified import Target
from metaeval.stats.results import Result

Method: TypeAlias = Literal["fixed", "independent"]

# Without labels to tune it by: half by doubt, half evenly.
_TAU = 0.5
_TAUS = np.linspace(0.05, 1.0, 20)
_ENOUGH_TO_TUNE = 30
_ROUNDS = 100
# An item that there is no doubt of at all comes last, and not never.
_LEAST = 1e-9


@aligned()
def judge_uncertainty(
    answers: ArrayLike | None = None,
    *,
    probability: ArrayLike | None = None,
    scale: tuple[float, float] | None = None,
) -> Floats:
    """How unsure a judge is of each item, from 0 to 1: twice the standard deviation of its answer.

    Parameters
    ----------
    answers : array_like of shape (n_items, n_answers), optional
        Several answers to each item: both presentation orders, several judges, several samples. Without ``scale``
        they are choices 1, 2, 0 (tie); NaN is unparsed. An item with fewer than two parsed answers is as
        uncertain as can be.
    probability : array_like of shape (n_items,), optional
        In place of answers: the probability that the judge gives to its answer (or to response 1).
    scale : (float, float), optional
        Ends of the scale, if the answers are ratings.

    Returns
    -------
    ndarray of shape (n_items,)

    Raises
    ------
    InvalidInputError
        For answers together with a probability or neither, one answer an item, a number outside of its scale.

    Notes
    -----
    The best chances are proportional to the root mean squared error of the judge on items like this one (Zrnic and
    Candes, section 3). For a probability p that is right, that is sqrt(p (1 - p)).

    References
    ----------
    T. Zrnic and E. J. Candes, "Active Statistical Inference", ICML 2024, section 3.

    Examples
    --------
    >>> judge_uncertainty([[1, 1], [1, 2], [1, 0]]).tolist()    # both orders
    [0.0, 1.0, 0.5]
    >>> judge_uncertainty(probability=[0.5, 0.9, 1.0]).round(3).tolist()
    [1.0, 0.6, 0.0]
    """
    if (answers is None) == (probability is None):
        raise InvalidInputError("answers: expected either answers or probability")
    if probability is not None:
        chances = as_items(probability, "probability")
        if ((chances < 0) | (chances > 1)).any():
            raise InvalidInputError("probability: expected numbers between 0 and 1")
        doubt = 2 * np.sqrt(chances * (1 - chances))
        return np.where(np.isnan(doubt), 1.0, doubt)
    array = as_matrix(answers if answers is not None else [], "answers")
    if array.shape[1] < 2:
        raise InvalidInputError("answers: one answer an item says nothing of how sure the judge is")
    if scale is None:
        check_choices(array, "answers")
        array = np.where(array == 0, 0.5, np.where(array == 2, 0.0, array))
    else:
        low, high = as_range(scale, "scale")
        array = (array - low) / (high - low)
        if ((array < 0) | (array > 1)).any():
            raise InvalidInputError(f"answers: outside of the scale {scale}")
    mean = mean_of_orders(array)
    deviation = np.sqrt(mean_of_orders((array - mean[:, np.newaxis]) ** 2))
    return np.where((~np.isnan(array)).sum(axis=1) < 2, 1.0, 2 * deviation)


def active_probabilities(
    uncertainty: ArrayLike, *, budget: float, tau: float = _TAU, floor: float = 0.1
) -> Floats:
    """The chance with which to label each item: in part by the judge's uncertainty, in part even.

    Proportional to ``(1 - tau) u / mean(u) + tau``, never above 1 nor below ``floor`` times the even chance, and
    adding up to the budget exactly.

    Parameters
    ----------
    uncertainty : array_like of shape (n_items,)
        0 or more, see `judge_uncertainty`.
    budget : float
        How many items to label, at most ``n_items``.
    tau : float in [0, 1]
        1 is even chances. Doubt that says nothing of errors makes the interval longer than even chances do, by at
        most ``1 / sqrt(tau)``.
    floor : float in [0, 1]
        Of the even chance: no weight is then above ``1 / floor`` times the even one.

    Returns
    -------
    ndarray of shape (n_items,)
        In (0, 1]; their inverses are the ``weights`` of `ppi_mean`.

    Raises
    ------
    InvalidInputError
        Where some items could never be labeled, and for a budget that is not above 0 or exceeds the items.

    References
    ----------
    T. Zrnic and E. J. Candes, "Active Statistical Inference", ICML 2024, sections 3 and 5.

    Examples
    --------
    >>> active_probabilities([0, 1, 1, 2], budget=2).round(3).tolist()
    [0.25, 0.5, 0.5, 0.75]
    """
    doubt = _checked(uncertainty)
    tau, floor, budget = (
        as_number(tau, "tau", 0, 1),
        as_number(floor, "floor", 0, 1),
        as_positive(budget, "budget"),
    )
    if tau == 0 and floor == 0:
        raise InvalidInputError("tau, floor: one must be above 0, or some items could never be labeled")
    if budget > len(doubt):
        raise InvalidInputError(f"budget: expected more than 0 and at most {len(doubt)} items, got {budget}")
    return _spread(_mixture(doubt, tau), np.ones(len(doubt), dtype=np.bool_), budget, floor)


def draw_items(probabilities: ArrayLike, rng: Seed = None, *, method: Method = "fixed") -> Booleans:
    """Draw items, each with its own chance exactly.

    Parameters
    ----------
    probabilities : array_like of shape (n_items,)
        In [0, 1].
    rng : int, numpy.random.Generator or None
        None is a fixed seed.
    method : {"fixed", "independent"}
        ``"fixed"``: as many items as the chances add up to, give or take one where that is no whole number
        (systematic sampling of the items in random order). ``"independent"``: a coin for each item, so that the
        number varies.

    Returns
    -------
    ndarray of bool, shape (n_items,)

    Raises
    ------
    InvalidInputError
        For what is no probability.

    References
    ----------
    R. Goodman and L. Kish, "Controlled selection", JASA 45 (1950); H. O. Hartley and J. N. K. Rao, Ann. Math. Stat. 33
    (1962).

    Examples
    --------
    >>> drawn = draw_items([0.5] * 100, rng=1)
    >>> int(drawn.sum())
    50
    """
    check_option(method, ("fixed", "independent"), "method")
    chances = as_items(probabilities, "probabilities")
    if np.isnan(chances).any() or ((chances < 0) | (chances > 1)).any():
        raise InvalidInputError("probabilities: expected numbers between 0 and 1")
    random = generator(rng)
    if method == "independent":
        return np.asarray(random.random(len(chances)) < chances)
    # Lay the chances end to end from a random start: an item is drawn if a whole number falls into its stretch.
    order = random.permutation(len(chances))
    ends = np.round(random.random() + np.concatenate([[0.0], np.cumsum(chances[order])]), 9)
    drawn = np.zeros(len(chances), dtype=np.bool_)
    drawn[order] = np.floor(ends[1:]) > np.floor(ends[:-1])
    return drawn


@dataclass(frozen=True, slots=True, eq=False)
class LabelPlan(Result):
    """Items to label next, and what that is worth.

    Attributes
    ----------
    items : ndarray of int
        The rows drawn; none of them is labeled yet.
    probabilities : ndarray of shape (n_items,)
        The chance of each item to be labeled by the end, earlier rounds included. Keep it with the label: its
        inverse is the ``weights`` of `ppi_mean`, for old labels and new.
    chances : ndarray of shape (n_items,)
        The chance of each item in this draw alone; 0 for what is labeled already.
    tau : float
        The even part of the chances.
    width_now, width_after, width_even : float
        Width of the interval of the mean: now (NaN without labels), expected after these labels, and expected after
        as many that are drawn evenly. Items count as independent here.
    """

    items: Integers
    probabilities: Floats
    chances: Floats
    tau: float
    width_now: float
    width_after: float
    width_even: float


@aligned()
def items_to_label_next(
    judgments: ArrayLike,
    uncertainty: ArrayLike,
    *,
    budget: int,
    labels: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    tau: float | None = None,
    floor: float = 0.1,
    scale: tuple[float, float] = (0.0, 1.0),
    target: Target = "population",
    confidence: float = 0.95,
    rng: Seed = None,
) -> LabelPlan:
    """Draw the items whose labels shorten the interval of a mean the most.

    Parameters
    ----------
    judgments : array_like of shape (n_items,)
        The judge's, as numbers: ratings, or wins as 1, 0.5 and 0.
    uncertainty : array_like of shape (n_items,)
        See `judge_uncertainty`. It must not depend on the labels.
    budget : int
        How many items to label.
    labels : array_like of shape (n_items,), optional
        What is labeled already, on the scale of the judgments; NaN elsewhere.
    weights : array_like of shape (n_items,), optional
        Inverse of each item's chance so far, of all items. Default: all the same.
    tau : float, optional
        See `active_probabilities`. By default the one that would have been best for the labels so far, if these are
        30 or more, else 0.5.
    floor
        See `active_probabilities`.
    scale : (float, float)
        Ends of the scale. Without labels the expected widths take the judge at its word: that its error is what its
        uncertainty says.
    target, confidence
        See `ppi_mean`.
    rng : int, numpy.random.Generator or None
        Seed of the draw; None is a fixed seed.

    Returns
    -------
    LabelPlan

    Raises
    ------
    InvalidInputError
        For an uncertainty of another shape, and a budget of more items than have no label.

    References
    ----------
    As of `active_probabilities`.

    Examples
    --------
    >>> chance = np.linspace(0.02, 0.98, 400)                # the judge's probability of a win
    >>> plan = items_to_label_next(chance, judge_uncertainty(probability=chance), budget=40)
    >>> len(plan.items), plan.width_after < plan.width_even
    (40, True)
    """
    judged, doubt = as_items(judgments, "judgments"), _checked(uncertainty)
    n = len(judged)
    if len(doubt) != n:
        raise InvalidInputError(f"uncertainty: expected shape ({n},), got {doubt.shape}")
    judged = np.where(np.isnan(judged), mean_of_orders(judged[np.newaxis])[0], judged)
    answers = np.full(n, np.nan) if labels is None else as_items(labels, "labels", n)
    free = np.isnan(answers)
    budget, floor = as_count(budget, "budget", 1), as_number(floor, "floor", 0, 1)
    confidence, scale = as_level(confidence, "confidence"), as_range(scale, "scale")
    if budget > np.count_nonzero(free):
        raise InvalidInputError(f"budget: {np.count_nonzero(free)} items have no label, got {budget}")
    before = _chances_so_far(weights, free)
    if tau is None:
        tau = _best_tau(judged, doubt, answers, before, budget, floor)
    else:
        tau = as_number(tau, "tau", 0, 1)

    def by_the_end(even: float) -> tuple[Floats, Floats]:
        chances = _spread(_mixture(doubt, even), free, budget, floor)
        return chances, before + (1 - before) * chances

    chances, after = by_the_end(tau)
    drawn = draw_items(np.where(free, chances, 0.0), rng)
    error = doubt / 2 * (scale[1] - scale[0])
    normal = 2 * float(special.ndtri((1 + confidence) / 2))
    now = math.nan
    if np.count_nonzero(~free) > 1:
        found = ppi_mean(answers, judged, weights=1 / before, target=target, confidence=confidence)
        now = found.high - found.low
    return LabelPlan(
        items=np.flatnonzero(drawn),
        probabilities=after,
        chances=np.where(free, chances, 0.0),
        tau=tau,
        width_now=now,
        width_after=normal * _expected_error(judged, answers, before, after, error, target),
        width_even=normal * _expected_error(judged, answers, before, by_the_end(1.0)[1], error, target),
    )


def _checked(uncertainty: ArrayLike) -> Floats:
    doubt = as_items(uncertainty, "uncertainty")
    if np.isnan(doubt).any() or (doubt < 0).any():
        raise InvalidInputError("uncertainty: expected numbers of 0 or more")
    return doubt


def _mixture(doubt: Floats, tau: float) -> Floats:
    mean = float(doubt.mean()) if len(doubt) else 0.0
    mixed: Floats = np.ones(len(doubt)) if mean == 0 else (1 - tau) * doubt / mean + tau
    return mixed


def _spread(mixture: Floats, free: Booleans, budget: float, floor: float) -> Floats:
    """``mixture`` times what makes the free items' chances add up to the budget, within [floor x even, 1].

    The chances of the others follow the same rule, as they would have been had they been free.
    """
    least = floor * budget / max(1, int(np.count_nonzero(free)))
    mixture = np.maximum(mixture, _LEAST * mixture.max(initial=0.0))
    low, high = 0.0, 1.0
    while np.clip(high * mixture[free], least, 1).sum() < budget - 1e-9 and high < 1e15:
        high *= 2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if np.clip(middle * mixture[free], least, 1).sum() < budget else (low, middle)
        )
    return np.clip(high * mixture, least, 1)


def _chances_so_far(weights: ArrayLike | None, free: Booleans) -> Floats:
    if weights is None:
        return np.full(len(free), np.count_nonzero(~free) / len(free))
    inverse = as_floats(weights, "weights")
    if inverse.shape != free.shape or not (inverse >= 1).all():
        raise InvalidInputError(
            "weights: expected the inverse of each item's chance, 1 or more, for all items"
        )
    return 1 / inverse


def _best_tau(
    judged: Floats, doubt: Floats, answers: Floats, before: Floats, budget: float, floor: float
) -> float:
    """The even part with which the labels so far would have had the least error."""
    known = ~np.isnan(answers)
    if np.count_nonzero(known) < _ENOUGH_TO_TUNE:
        return _TAU
    errors = [
        _expected_error(judged, answers, before, before + (1 - before) * chances, doubt, "items")
        for tau in _TAUS
        for chances in [_spread(_mixture(doubt, float(tau)), ~known, budget, floor)]
    ]
    return float(_TAUS[int(np.argmin(errors))])


def _expected_error(
    judged: Floats, answers: Floats, before: Floats, after: Floats, error: Floats, target: Target
) -> float:
    """Standard error of the mean once each item is labeled with the chance ``after``."""
    n = len(judged)
    known = ~np.isnan(answers)
    odds = 1 / after - 1
    if np.count_nonzero(known) < 2:
        missed = float(np.mean(error**2 * odds))
        spread = float(judged.var() + np.mean(error**2))
    else:
        share = 1 / before[known] / np.sum(1 / before[known])
        label = answers[known] - share @ answers[known]
        judgment = judged[known] - share @ judged[known]
        odds = odds[known]
        whole = float(share @ (judgment**2 * odds))
        tuning = float(share @ (label * judgment * odds)) / whole if whole > 0 else 0.0
        residual = label - min(1.0, max(0.0, tuning)) * judgment
        missed, spread = float(share @ (residual**2 * odds)), float(share @ label**2)
    return math.sqrt((missed + (spread if target == "population" else 0.0)) / n)

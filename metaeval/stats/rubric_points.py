"""Rubrics whose criteria have points, some of them below 0: the share of the points that a response earns."""

from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.following import Unsure, followed_by_item
from metaeval.stats.intervals import Sampling, mean_estimate


@aligned(rows=("items", "answers", "points"))
def rubric_points_score(
    answers: ArrayLike,
    items: Any,
    points: ArrayLike,
    *,
    unsure: Unsure = "not_followed",
    **options: Unpack[Sampling],
) -> Estimate:
    """Mean over items of the points earned over the points that can be earned, not below 0.

    Parameters
    ----------
    answers : array_like of shape (n_criteria,)
        1 (met), 0 (not met), NaN (cannot tell).
    items : array_like of shape (n_criteria,)
        The item of each criterion, numbers or strings.
    points : array_like of shape (n_criteria,)
        What meeting a criterion adds; below 0 for what a response should not do.
    unsure : {"not_followed", "omit"}
        "Cannot tell" is not met, or the criterion is left out, with its points.
    **options
        See `metaeval.stats.intervals.Sampling`; items are resampled, by cluster.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts items. An item's share may be below 0, and only their mean is cut off there. An item
        without points to be earned does not count.

    References
    ----------
    R. K. Arora et al., "HealthBench: Evaluating Large Language Models Towards Improved Human Health", 2025, section 3.

    Examples
    --------
    >>> answers, items, points = [1, 0, 1, 1, 1], ["a", "a", "a", "b", "b"], [5, 5, -2, 4, 4]
    >>> rubric_points_score(answers, items, points).value     # ((5 - 2) / 10 + 8 / 8) / 2
    0.65
    """
    given, worth = as_items(answers, "answers"), _points(points, answers)
    shares = rubric_points_contributions(given, items, worth, unsure=unsure)
    # What an item scores at least: all that a response should not do.
    lost, possible = (followed_by_item(given, items, part, unsure).total for part in _signed(worth))
    least = float((lost[possible > 0] / possible[possible > 0]).min(initial=0.0))
    return mean_of_points(shares, least, **options)


def mean_of_points(shares: Floats, least: float, **options: Unpack[Sampling]) -> Estimate:
    """The mean of shares of points, (n_items,), cut off at 0; ``least`` is what an item can have at least."""
    found = mean_estimate(shares, bounds=(least, 1.0), reason="no item has points to be earned", **options)
    if not found.low < 0:
        return found
    value, low, high = (max(0.0, end) for end in (found.value, found.low, found.high))
    return replace(found, value=value, low=low, high=high)


@aligned(rows=("items", "answers", "points"))
@contributions_of("rubric_points_score")
def rubric_points_contributions(
    answers: ArrayLike, items: Any, points: ArrayLike, *, unsure: Unsure = "not_followed"
) -> Floats:
    """What each item contributes to `rubric_points_score`, at most 1; NaN where there are no points to be earned.

    Raises
    ------
    InvalidInputError
        For missing points.

    Examples
    --------
    >>> rubric_points_contributions([1, 0, 1, 1], ["a", "a", "a", "b"], [5, 5, -10, -1]).tolist()
    [-0.5, nan]
    """
    given, worth = as_items(answers, "answers"), _points(points, answers)
    earned = followed_by_item(given, items, worth, unsure).followed
    possible = followed_by_item(given, items, _signed(worth)[1], unsure).total
    shares: Floats = np.divide(earned, possible, out=np.full(len(possible), np.nan), where=possible > 0)
    return shares


def _points(points: ArrayLike, answers: ArrayLike) -> Floats:
    worth = as_items(points, "points", len(as_items(answers, "answers")))
    if np.isnan(worth).any():
        raise InvalidInputError("points: expected a number for every criterion, found NaN")
    return worth


def _signed(worth: Floats) -> tuple[Floats, Floats]:
    """The points that can be lost, and those that can be earned."""
    return np.minimum(worth, 0.0), np.maximum(worth, 0.0)

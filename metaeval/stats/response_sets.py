"""Response sets: people say every answer that they find reasonable, not the one that they would pick.

Where an item has more than one reasonable answer, people and judges settle on one of them in different ways, and
agreement with forced choices can rank the worse judge first. Sets are a mapping from each answer that there is to who
includes it: ``{1: included, 2: included, 0: included}``, each (n_items, n_people) of 1, 0 and NaN (gave no set).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_floats, as_mapping, as_matrix, check_option
from metaeval.stats.contributions import contributions_of
from metaeval.stats.distributions import Unparsed
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.options import as_number, as_switch
from metaeval.stats.results import Result

NO_SET = "no judged item has a response set"
NO_TWO = "no judged item has two response sets, without which the squared distance cannot be corrected"


@dataclass(frozen=True, slots=True, eq=False)
class ResponseSetDecisions(Result):
    """What comes of a judge when items are called positive from response sets.

    Attributes
    ----------
    consistency : Estimate
        Share of the items on which judge and people come to the same call.
    bias : Estimate
        Share that the judge calls positive minus the share that people do.
    """

    consistency: Estimate
    bias: Estimate


@aligned()
def response_set_shares(sets: Mapping[Any, ArrayLike]) -> Floats:
    """The share of people who include each answer: (n_items, n_answers), a column for each key, in its order.

    Parameters
    ----------
    sets : mapping from answers to array_like of shape (n_items, n_people)
        1 where the person includes the answer, 0 where not, NaN where the person gave no set. A share in place of
        people, one column, is taken as it is.

    Returns
    -------
    ndarray of shape (n_items, n_answers)
        Each from 0 to 1; rows need not add up to 1. NaN where nobody gave a set.

    References
    ----------
    L. Guerdan et al., "Validating LLM-as-a-Judge systems under rating indeterminacy", NeurIPS 2025, section 3 (the
    multi-label vector).

    Examples
    --------
    >>> response_set_shares({1: [[1, 1], [0, 1]], 2: [[1, 0], [1, 1]]}).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    return _read(sets, "sets").shares


@aligned()
def response_set_coverage(
    sets: Mapping[Any, ArrayLike],
    verdicts: ArrayLike,
    *,
    threshold: float | None = None,
    unparsed: Unparsed = "wrong",
    **options: Unpack[Sampling],
) -> Estimate:
    """How often a judge's verdict is an answer that people find reasonable.

    Parameters
    ----------
    sets : mapping from answers to array_like of shape (n_items, n_people)
        See `response_set_shares`. The answers are numbers, as verdicts are.
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        Forced choices of the judge; several of an item (two orders, say) are averaged. NaN is unparsed.
    threshold : float, optional
        An answer is reasonable if at least this share of people include it. Default: the share itself counts.
    unparsed : {"wrong", "omit"}
        An unparsed verdict is in nobody's set, or is left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` where no judged item has a response set.

    References
    ----------
    L. Guerdan et al., NeurIPS 2025 (coverage of hard and soft response sets).

    Examples
    --------
    >>> sets = {1: [[1, 1], [0, 1]], 2: [[1, 0], [1, 1]]}
    >>> response_set_coverage(sets, [2, 2]).value, response_set_coverage(sets, [2, 1], threshold=0.5).value
    (0.75, 1.0)
    """
    contributions = response_set_coverage_contributions(
        sets, verdicts, threshold=threshold, unparsed=unparsed
    )
    return mean_estimate(contributions, reason=NO_SET, **options)


@aligned()
@contributions_of("response_set_coverage")
def response_set_coverage_contributions(
    sets: Mapping[Any, ArrayLike],
    verdicts: ArrayLike,
    *,
    threshold: float | None = None,
    unparsed: Unparsed = "wrong",
) -> Floats:
    """What each item contributes to `response_set_coverage`, (n_items,); NaN where it does not count.

    Raises
    ------
    InvalidInputError
        For a verdict that is none of the answers of the sets.

    Examples
    --------
    >>> response_set_coverage_contributions({1: [[1, 1]], 2: [[1, 0]]}, [[1, 2]]).tolist()
    [0.75]
    """
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    read = _read(sets, "sets")
    answers = as_matrix(verdicts, "verdicts")
    _same_items(read, len(answers), "verdicts")
    keys = _as_numbers(read.answers)
    strange = answers[~np.isnan(answers) & ~np.isin(answers, keys)]
    if len(strange):
        raise InvalidInputError(f"verdicts: {strange[0]:g} is none of the answers of the sets")
    credit = read.shares
    if threshold is not None:
        least = as_number(threshold, "threshold", 0, 1)
        credit = np.where(np.isnan(credit), np.nan, credit >= least)
    counted = ~np.isnan(answers) if unparsed == "omit" else np.ones(answers.shape, dtype=np.bool_)
    n = counted.sum(axis=1)
    chosen = (answers[:, :, np.newaxis] == keys).sum(axis=1)
    with np.errstate(invalid="ignore"):
        found: Floats = np.where(n > 0, (chosen * credit).sum(axis=1) / np.maximum(n, 1), np.nan)
    return found


@aligned()
def response_set_distance(
    sets: Mapping[Any, ArrayLike],
    judge: Mapping[Any, ArrayLike],
    *,
    corrected: bool = True,
    **options: Unpack[Sampling],
) -> Estimate:
    """Squared distance between the shares that include each answer, of a judge and of people, summed over answers.

    By this figure judges were chosen best in the experiments of Guerdan et al.

    Parameters
    ----------
    sets : mapping from answers to array_like of shape (n_items, n_people)
        People's; see `response_set_shares`.
    judge : mapping from answers to array_like of shape (n_items,) or (n_items, n_answers)
        The judge's sets, one or several of an item, or one column of shares. The same answers as of ``sets``.
    corrected : bool, default True
        Without the part that few people add; items with one set are then left out. Shares in place of people have no
        number of people, so pass False with them.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        At least 0 but for the correction; NaN with a `StatisticsWarning` where no item counts.

    References
    ----------
    L. Guerdan et al., NeurIPS 2025 (MSE of soft response sets, "srs/srs").

    Examples
    --------
    >>> sets = {1: [[1, 1], [0, 1]], 2: [[1, 0], [1, 1]]}
    >>> response_set_distance(sets, {1: [1, 0], 2: [0, 1]}, corrected=False).value
    0.25
    """
    contributions = response_set_distance_contributions(sets, judge, corrected=corrected)
    most = float(max(1, len(as_mapping(sets, "sets"))))
    bounds = (-most / 4, most) if corrected else (0.0, most)
    return mean_estimate(contributions, bounds=bounds, reason=NO_TWO if corrected else NO_SET, **options)


@aligned()
@contributions_of("response_set_distance")
def response_set_distance_contributions(
    sets: Mapping[Any, ArrayLike], judge: Mapping[Any, ArrayLike], *, corrected: bool = True
) -> Floats:
    """What each item contributes to `response_set_distance`, (n_items,); NaN where it does not count.

    Examples
    --------
    >>> response_set_distance_contributions({1: [[1, 0]]}, {1: [0.5]}).tolist()     # half of people, and half
    [-0.25]
    """
    corrected = as_switch(corrected, "corrected")
    people, other = _pair(sets, judge)
    found: Floats = ((people.shares - other.shares) ** 2).sum(axis=1)
    if not corrected:
        return found
    n = people.n_sets
    noise = (people.shares * (1 - people.shares)).sum(axis=1) / np.maximum(n - 1, 1)
    return np.where(n > 1, found - noise, np.nan)


@aligned(apart=("positive",))
def response_set_decisions(
    sets: Mapping[Any, ArrayLike],
    judge: Mapping[Any, ArrayLike],
    *,
    positive: Any,
    threshold: float = 0.5,
    **options: Unpack[Sampling],
) -> ResponseSetDecisions:
    """The calls that a judge and people come to: an item is positive if more than a share include one answer.

    Parameters
    ----------
    sets, judge
        See `response_set_distance`.
    positive : a key of both
        The answer that is asked for.
    threshold : float, default 0.5
        An item is positive where more than this share include it.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    ResponseSetDecisions

    Raises
    ------
    InvalidInputError
        For a positive answer that is none of the sets'.

    References
    ----------
    L. Guerdan et al., NeurIPS 2025 (consistency and prevalence bias of downstream tasks).

    Examples
    --------
    >>> found = response_set_decisions({"toxic": [[1, 1, 0], [0, 0, 1]]}, {"toxic": [1, 1]}, positive="toxic")
    >>> found.consistency.value, found.bias.value
    (0.5, 0.5)
    """
    least = as_number(threshold, "threshold", 0, 1)
    people, other = _pair(sets, judge)
    if not isinstance(positive, Hashable) or positive not in people.answers:
        raise InvalidInputError(f"positive: expected one of {people.answers!r}, got {positive!r}")
    place = people.answers.index(positive)
    missing = np.isnan(people.shares[:, place]) | np.isnan(other.shares[:, place])
    ours, theirs = ((side.shares[:, place] > least).astype(np.float64) for side in (other, people))
    same = np.where(missing, np.nan, ours == theirs)
    gap = np.where(missing, np.nan, ours - theirs)
    return ResponseSetDecisions(
        mean_estimate(same, reason=NO_SET, **options),
        mean_estimate(gap, bounds=(-1.0, 1.0), reason=NO_SET, **options),
    )


@aligned()
def sets_given_choices(choices: ArrayLike, sets: Mapping[Any, ArrayLike]) -> Floats:
    """How often a person who picks one answer also finds another reasonable: (n_answers, n_answers).

    From a small sample in which the same people gave both. ``soft_labels(labels, values) @ found`` then estimates the
    multi-label shares of items with forced choices alone.

    Parameters
    ----------
    choices : array_like of shape (n_items, n_people)
        Forced choices, NaN where missing.
    sets : mapping from answers to array_like of shape (n_items, n_people)
        What the same people find reasonable.

    Returns
    -------
    ndarray of shape (n_answers, n_answers)
        Row: the answer that was picked; column: the share of those people's sets that include it. NaN, with a
        warning, in the row of an answer that nobody picked.

    Raises
    ------
    InvalidInputError
        For choices of another shape than the sets, or that are none of their answers.

    References
    ----------
    L. Guerdan et al., NeurIPS 2025 (the translation from forced choices to response sets, pooled over items).

    Examples
    --------
    >>> sets_given_choices([[1, 2], [1, 1]], {1: [[1, 0], [1, 1]], 2: [[1, 1], [0, 0]]}).round(2).tolist()
    [[1.0, 0.33], [0.0, 1.0]]
    """
    read = _read(sets, "sets")
    picked = as_matrix(choices, "choices")
    if picked.shape != read.given.shape:
        raise InvalidInputError(f"choices: expected shape {read.given.shape}, got {picked.shape}")
    keys = _as_numbers(read.answers)
    strange = picked[~np.isnan(picked) & ~np.isin(picked, keys)]
    if len(strange):
        raise InvalidInputError(f"choices: {strange[0]:g} is none of the answers of the sets")
    chose = (picked == keys[:, np.newaxis, np.newaxis]) & read.given
    n = chose.sum(axis=(1, 2))
    nobody = keys[n == 0]
    if len(nobody):
        warn(f"nobody who gave a set picked {nobody[0]:g}")
    included = np.nan_to_num(read.included)
    together = np.einsum("kip,lip->kl", chose.astype(np.float64), included)
    return np.where(n[:, np.newaxis] > 0, together / np.maximum(n, 1)[:, np.newaxis], np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    """Sets as arrays: the answers, who includes what (n_answers, n_items, n_people), who gave a set, and the shares."""

    answers: list[Any]
    included: Floats
    given: Booleans
    shares: Floats
    n_sets: Integers


def _read(sets: Any, name: str) -> _Sets:
    found = {key: as_matrix(value, f"{name}[{key!r}]") for key, value in as_mapping(sets, name).items()}
    if not found:
        raise InvalidInputError(f"{name}: expected at least one answer")
    shapes = {array.shape for array in found.values()}
    if len(shapes) > 1:
        raise InvalidInputError(f"{name}: expected one shape, got {sorted(shapes)}")
    included = np.stack(list(found.values()))
    given = ~np.isnan(included)
    if (given.any(axis=0) != given.all(axis=0)).any():
        raise InvalidInputError(f"{name}: a set says nothing of some of the answers")
    inside = (included >= 0) & (included <= 1) if included.shape[2] == 1 else np.isin(included, (0, 1))
    if not (inside | ~given).all():
        wrong = included[given & ~inside][0]
        raise InvalidInputError(f"{name}: expected 1 (included), 0 or NaN, found {wrong:g}")
    n = given[0].sum(axis=1)
    total = np.where(given, included, 0.0).sum(axis=2).T
    shares = np.where(n[:, np.newaxis] > 0, total / np.maximum(n, 1)[:, np.newaxis], np.nan)
    return _Sets(list(found), included, given[0], shares, n)


def _pair(sets: Any, judge: Any) -> tuple[_Sets, _Sets]:
    people, other = _read(sets, "sets"), _read(judge, "judge")
    _same_items(people, len(other.shares), "judge")
    if set(people.answers) != set(other.answers):
        raise InvalidInputError(f"judge: expected the answers {people.answers!r}, got {other.answers!r}")
    order = [other.answers.index(key) for key in people.answers]
    return people, _Sets(
        people.answers, other.included[order], other.given, other.shares[:, order], other.n_sets
    )


def _same_items(read: _Sets, n_items: int, name: str) -> None:
    if len(read.shares) != n_items:
        raise InvalidInputError(f"{name}: expected {len(read.shares)} items, got {n_items}")


def _as_numbers(answers: list[Any]) -> Floats:
    return as_floats(answers, "sets (answers)")

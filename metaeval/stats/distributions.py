"""A judge beside the distribution of people's labels: labels are not only a vote.

Where people disagree, the mode hides how many did. Here a judge's distribution over the values of an item (one verdict,
two orders, the shares of several answers, or probabilities) is compared with the shares of people's labels.
"""

from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_items, as_matrix, check_option, row_sums
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.label_models import LabelShares, label_shares
from metaeval.stats.options import as_number, as_switch

Distance: TypeAlias = Literal[
    "total_variation", "jensen_shannon", "jensen_shannon_distance", "squared", "cross_entropy"
]
Unparsed: TypeAlias = Literal["wrong", "omit"]

DISTANCES = ("total_variation", "jensen_shannon", "jensen_shannon_distance", "squared", "cross_entropy")
SMOOTHING = 0.01
NO_JUDGED = "no judged item has a label"
NO_PAIR = "no judged item has two labels, without which the squared distance cannot be corrected"
# Shares that add up to a little more than 1 do so by rounding.
_GRAIN = 1e-6


@aligned(apart=("values",))
def distribution_distance(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    measure: Distance = "total_variation",
    values: ArrayLike | None = None,
    unparsed: Unparsed = "wrong",
    corrected: bool = True,
    smoothing: float = SMOOTHING,
    **options: Unpack[Sampling],
) -> Estimate:
    """How far a judge's distribution is from the shares of people's labels, averaged over items; 0 is the same.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value). People's, never judges'.
    verdicts : array_like of shape (n_items,) or (n_items, n_answers)
        The judge's: one verdict, one in each presentation order, or several answers. Their shares are the judge's
        distribution. NaN is an unparsed answer.
    probabilities : array_like of shape (n_items, n_values)
        In place of verdicts: what the judge gives each of ``values``, which must be passed. What a row lacks to 1
        went to no value, as an unparsed answer does.
    measure : {"total_variation", "jensen_shannon", "jensen_shannon_distance", "squared", "cross_entropy"}
        Total variation (0 to 1: the share that would have to move); Jensen-Shannon divergence in bits (0 to 1), or its
        square root; squared (Brier) distance, summed over values (0 to 2); cross-entropy in nats.
    values : array_like of shape (n_values,), optional
        All values there could be. Default: those that a person or the judge gave.
    unparsed : {"wrong", "omit"}
        An unparsed answer is a value of its own, which nobody gave, or is left out.
    corrected : bool, default True
        Of the squared distance: without the part that few labels add (items with one label are then left out).
        The other measures have no unbiased estimate from few labels, but for cross-entropy, which needs none.
    smoothing : float, default 0.01
        Of the cross-entropy: the share of the judge's distribution that is spread evenly over the values, since one
        verdict gives all others the probability 0.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate

    References
    ----------
    J. C. Peterson et al., "Human uncertainty makes classification more robust", ICCV 2019, section 4 (cross-entropy).
    L. Guerdan et al., "Validating LLM-as-a-Judge systems under rating indeterminacy", NeurIPS 2025 (table of metrics).
    J. Lin, "Divergence measures based on the Shannon entropy", IEEE Trans. Inf. Theory 37 (1991).

    Examples
    --------
    >>> labels = [[1, 1, 2, 2], [2, 2, 2, 2]]
    >>> distribution_distance(labels, [[1, 2], [2, 2]]).value     # the first, by order, as people do
    0.0
    >>> distribution_distance(labels, [1, 2]).value               # half of the first item's people say otherwise
    0.25
    """
    contributions = distribution_contributions(
        labels,
        verdicts,
        probabilities=probabilities,
        measure=measure,
        values=values,
        unparsed=unparsed,
        corrected=corrected,
        smoothing=smoothing,
    )
    n_values = len(contributions_values(labels, verdicts, values)) if measure == "cross_entropy" else 0
    return mean_estimate(
        contributions,
        bounds=distance_bounds(measure, n_values=n_values, corrected=corrected, smoothing=smoothing),
        reason=NO_PAIR if measure == "squared" and corrected else NO_JUDGED,
        **options,
    )


@aligned(apart=("values",))
@contributions_of("distribution_distance")
def distribution_contributions(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    probabilities: ArrayLike | None = None,
    measure: Distance = "total_variation",
    values: ArrayLike | None = None,
    unparsed: Unparsed = "wrong",
    corrected: bool = True,
    smoothing: float = SMOOTHING,
) -> Floats:
    """What each item contributes to `distribution_distance`, (n_items,); NaN where it does not count.

    Subtract those of two judges, or pass them to `paired_difference`, to choose a judge by its distribution.

    Raises
    ------
    InvalidInputError
        For verdicts together with probabilities, or neither, and for probabilities without the values of their
        columns.

    Examples
    --------
    >>> distribution_contributions([[1, 1, 2, 2], [2, 2, 2, 2]], [1, 2]).tolist()
    [0.5, 0.0]
    >>> distribution_contributions([[1, 2]], probabilities=[[0.5, 0.5]], values=[1, 2]).tolist()
    [0.0]
    """
    check_option(measure, DISTANCES, "measure")
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    corrected, smoothing = as_switch(corrected, "corrected"), as_number(smoothing, "smoothing", 0, 1)
    known = contributions_values(labels, verdicts, values)
    if (verdicts is None) == (probabilities is None):
        raise InvalidInputError("verdicts: pass either verdicts or probabilities")
    if probabilities is not None:
        if values is None:
            raise InvalidInputError("values: probabilities need the values of their columns")
        judge = _as_probabilities(probabilities, len(known))
    else:
        answers = as_matrix(verdicts, "verdicts")  # type: ignore[arg-type]
        judge = answer_shares(answers, known, np.ones(answers.shape, dtype=np.bool_))
    people = label_shares(labels, known, len(judge))
    return distances(
        people, judge, measure=measure, unparsed=unparsed, corrected=corrected, smoothing=smoothing
    )


def contributions_values(labels: Any, verdicts: ArrayLike | None, values: ArrayLike | None) -> Floats:
    """The values there could be: those that are passed, or all that a person or the judge gave."""
    if values is not None:
        return as_items(values, "values")
    found = label_shares(labels).values
    if verdicts is None:
        return found
    answers = as_matrix(verdicts, "verdicts")
    return np.union1d(found, answers[~np.isnan(answers)])


def answer_shares(answers: Floats, values: Floats, counted: Booleans) -> Floats:
    """The share of each value among the answers of an item, (n_items, n_values).

    Unparsed answers count below the line, so a row adds up to the share that could be read. NaN where no answer
    counts.

    Examples
    --------
    >>> one = np.array([[1.0, 2.0], [1.0, np.nan]])
    >>> answer_shares(one, np.array([1.0, 2.0]), np.ones((2, 2), dtype=bool)).tolist()
    [[0.5, 0.5], [0.5, 0.0]]
    """
    strange = answers[counted & ~np.isnan(answers) & ~np.isin(answers, values)]
    if len(strange):
        raise InvalidInputError(f"verdicts: {strange[0]:g} is none of the values")
    n = row_sums(counted)[:, np.newaxis]
    given = ((answers[:, :, np.newaxis] == values) & counted[:, :, np.newaxis]).sum(axis=1)
    return np.where(n > 0, given / np.maximum(n, 1), np.nan)


def distances(
    people: LabelShares,
    judge: Floats,
    *,
    measure: Distance,
    unparsed: Unparsed = "wrong",
    corrected: bool = True,
    smoothing: float = SMOOTHING,
) -> Floats:
    """The distance of each row of the judge's shares, which may add up to less than 1, from people's: (n_items,)."""
    if unparsed == "omit":
        whole = judge.sum(axis=1, keepdims=True)
        judge = np.where(whole > 0, judge / np.where(whole > 0, whole, 1.0), np.nan)
    shares, n = people.shares, people.n_labels
    if measure == "cross_entropy":
        n_values = max(1, judge.shape[1])
        smoothed = (1 - smoothing) * judge + smoothing / n_values
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.where(shares > 0, shares * np.log(smoothed), np.where(np.isnan(shares), np.nan, 0.0))
        if np.isinf(found).any():
            raise InvalidInputError("smoothing: without it a value that people gave has the probability 0")
        entropy: Floats = np.where(np.isnan(judge).any(axis=1), np.nan, found.sum(axis=1))
        return entropy if judge.shape[1] else np.full(len(n), np.nan)
    # What could not be read went to a value that nobody gave.
    rest = np.clip(1.0 - judge.sum(axis=1, keepdims=True), 0.0, 1.0)
    ours, theirs = np.hstack([judge, rest]), np.hstack([shares, np.zeros((len(n), 1))])
    if not judge.shape[1]:
        return np.full(len(n), np.nan)
    if measure == "total_variation":
        return row_sums(np.abs(ours - theirs)) / 2
    if measure == "squared":
        squared = row_sums((ours - theirs) ** 2)
        if not corrected:
            return squared
        # E(share - p)² is p(1 - p)/n, of which share (1 - share)/(n - 1) is an unbiased estimate.
        noise = row_sums(shares * (1 - shares)) / np.maximum(n - 1, 1)
        return np.where(n > 1, squared - noise, np.nan)
    middle = (ours + theirs) / 2
    divergence = np.clip((_relative(ours, middle) + _relative(theirs, middle)) / 2, 0.0, 1.0)
    return divergence if measure == "jensen_shannon" else np.sqrt(divergence)


def distance_bounds(
    measure: Distance, *, n_values: int = 0, corrected: bool = True, smoothing: float = SMOOTHING
) -> tuple[float, float] | None:
    """The range of a measure; None for a cross-entropy without an upper end."""
    if measure == "squared":
        # Of two labels that differ half of a square is taken off: the least that an item can have.
        return (-0.5, 2.0) if corrected else (0.0, 2.0)
    if measure != "cross_entropy":
        return 0.0, 1.0
    if n_values < 2 or smoothing == 0:
        return None
    return 0.0, float(-np.log(smoothing / n_values))


def _relative(one: Floats, middle: Floats) -> Floats:
    """Kullback-Leibler divergence of each row from the middle, in bits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(one > 0, one * np.log2(one / middle), np.where(np.isnan(one), np.nan, 0.0))
    total: Floats = parts.sum(axis=1)
    return total


def _as_probabilities(values: ArrayLike, n_values: int) -> Floats:
    array = as_matrix(values, "probabilities")
    if array.shape[1] != n_values:
        raise InvalidInputError(f"probabilities: expected {n_values} columns, got {array.shape[1]}")
    missing = np.isnan(array)
    some = missing.any(axis=1, keepdims=True)
    if (some & ~missing.all(axis=1, keepdims=True)).any():
        raise InvalidInputError("probabilities: a row has some that are missing; a judge gives all or none")
    if not ((array >= 0) | some).all() or (array.sum(axis=1) > 1 + _GRAIN).any():
        raise InvalidInputError("probabilities: expected numbers of at least 0 that add up to at most 1")
    return np.where(some, 0.0, array)

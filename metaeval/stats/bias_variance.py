"""AlpacaEval's bias and variance of a judge: how far its majority is from people's, and it from its own majority."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_matrix, check_option
from metaeval.stats.counts import LabelCounts, count_labels
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.leave_one_out_scores import Unparsed, leave_one_out_contributions
from metaeval.stats.modes import alpaca_scale, alpaca_target
from metaeval.stats.results import Result

VoteTieBreak: TypeAlias = Literal["expected", "alpaca_eval"]


@dataclass(frozen=True, slots=True)
class BiasAndVariance(Result):
    """How a judge errs: always in the same way, or now one way and now another.

    Attributes
    ----------
    bias : Estimate
        How often the majority of the judge's answers is not the majority of people's labels.
    variance : Estimate
        How often one answer of the judge is not the majority of its other answers.
    """

    bias: Estimate
    variance: Estimate


@aligned()
def bias_and_variance(
    labels: Any,
    samples: ArrayLike | None = None,
    *,
    tie_break: VoteTieBreak = "expected",
    unparsed: Unparsed = "wrong",
    **options: Unpack[Sampling],
) -> BiasAndVariance:
    """AlpacaEval's bias and variance of a judge that was asked several times, or of people.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        People's, NaN where missing; or a tuple (item, annotator, value).
    samples : array_like of shape (n_items, n_samples), optional
        The judge's answers to each item; NaN is unparsed. Without samples the figures are people's own: no bias by
        definition, and one minus their leave-one-out agreement.
    tie_break : {"expected", "alpaca_eval"}
        Where several values are a majority: the expectation over all of them; or the published convention (labels 0,
        1, 2 with a tie half way; two level values go to the larger and three to 1; the median if the judge's answers
        are graded between 1 and 2; an error is a distance).
    unparsed : {"wrong", "omit"}
        An unparsed answer agrees with nothing, or is left out (as published). With all answers of an item unparsed
        the judge's majority is wrong, or the item is left out.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    BiasAndVariance
        Both in [0, 1]. The variance is NaN where the judge was asked once.

    Notes
    -----
    Both are overestimates, of few labels: the majority of four people is not the majority of all. A judge is compared
    with the majority of *all* people here, so its bias and people's agreement do not add up to 1.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm: A simulation framework for methods that learn from human feedback", NeurIPS 2023,
    appendix; the AlpacaEval repository, ``estimate_bias`` and ``estimate_variance``.

    Examples
    --------
    >>> found = bias_and_variance([[1, 1, 2], [2, 2, 2]], [[1, 1, 1, 1], [2, 1, 1, 1]], n_resamples=0)
    >>> found.bias.value, found.variance.value     # wrong on one item of two; there 1/4 is unlike the rest
    (0.5, 0.125)
    """
    check_option(tie_break, ("expected", "alpaca_eval"), "tie_break")
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    if samples is None:
        agreement = leave_one_out_contributions(labels, tie_break=tie_break)
        people = mean_estimate(1 - agreement, reason="no item has two labels", **options)
        reason = "people are what bias is measured against: 0 by definition"
        nothing = Estimate(0.0, np.nan, np.nan, people.n, people.n_clusters, reason=reason)
        return BiasAndVariance(nothing, people)
    said = as_matrix(samples, "samples")
    counts = count_labels(labels, len(said))
    if tie_break == "alpaca_eval":
        agreement, own = _published(counts, said)
    else:
        agreement, own = _majorities_agree(counts, said), leave_one_out_contributions(said)
    labelled = (counts.matrix.sum(axis=1) > 0)[counts.row]
    parsed = (~np.isnan(said)).sum(axis=1)
    if unparsed == "wrong":
        agreement = np.where(labelled & (parsed == 0), 0.0, agreement)
        if said.shape[1] > 1:
            own = np.where(np.isnan(own), 0.0, own) * parsed / said.shape[1]
    return BiasAndVariance(
        mean_estimate(1 - agreement, reason="no item has labels of people and an answer", **options),
        mean_estimate(1 - own, reason="no item has two answers of the judge", **options),
    )


def _modes(matrix: Floats) -> Floats:
    """The modes of each row of counts, sharing a weight of 1; zeros where there is no label."""
    top = (matrix == matrix.max(axis=1, initial=0, keepdims=True)) & (matrix > 0)
    shared: Floats = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    return shared


def _majorities_agree(counts: LabelCounts, said: Floats) -> Floats:
    """The chance that a mode of the judge and a mode of people, each drawn at random, are the same."""
    of_judge = count_labels(said)
    values = np.union1d(counts.values, of_judge.values)
    people, judge = (np.zeros((len(said), len(values))) for _ in range(2))
    people[:, np.searchsorted(values, counts.values)] = _modes(counts.matrix.astype(np.float64))[counts.row]
    judge[:, np.searchsorted(values, of_judge.values)] = _modes(of_judge.matrix.astype(np.float64))[
        of_judge.row
    ]
    both = people.any(axis=1) & judge.any(axis=1)
    return np.where(both, (people * judge).sum(axis=1), np.nan)


def _published(counts: LabelCounts, said: Floats) -> tuple[Floats, Floats]:
    """(agreement of the majorities, mean agreement of an answer with the majority of the others), by item."""
    matrix = counts.matrix
    used = matrix[np.unique(counts.row)].any(axis=0)
    scale = alpaca_scale(counts.values[used], graded=False)
    target = np.where(matrix.any(axis=1), alpaca_target(matrix[:, used], scale), np.nan)[counts.row]
    graded = alpaca_scale(said.ravel(), graded=True).reshape(said.shape)
    agreement = 1 - np.abs(target - _published_vote(graded))
    own = np.zeros(len(said))
    compared = np.zeros(len(said))
    for place in range(said.shape[1] if said.shape[1] > 1 else 0):
        distance = np.abs(_published_vote(np.delete(graded, place, axis=1)) - graded[:, place])
        known = ~np.isnan(distance)
        own += np.where(known, 1 - distance, 0.0)
        compared += known
    return agreement, np.where(compared > 0, own / np.maximum(compared, 1), np.nan)


def _published_vote(graded: Floats) -> Floats:
    """The mode of answers 1, 1.5 and 2; the median where an answer lies elsewhere between 1 and 2."""
    scale = np.array([1.0, 1.5, 2.0])
    matrix = np.stack([(graded == value).sum(axis=1) for value in scale], axis=1)
    vote = np.where(matrix.any(axis=1), alpaca_target(matrix, scale), np.nan)
    between = matrix.sum(axis=1) < (~np.isnan(graded)).sum(axis=1)
    if between.any():
        vote[between] = np.nanmedian(graded[between], axis=1)
    return vote

"""One label an item from several people's: by votes, or by a model of who errs how.

These are for labels of *people*. A judge whose verdicts were among the labels would vote itself right, and agreement
with a label that it had a part in says nothing about it.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, Seed, as_items, check_option, generator
from metaeval.stats.counts import LabelCounts, count_labels
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.results import Result

VoteTies: TypeAlias = Literal["none", "random", "first", "last"]
Aggregate: TypeAlias = Literal["mode", "mean", "median"]

_TIES = ("none", "random", "first", "last")


@dataclass(frozen=True, slots=True, eq=False)
class MajorityVote(Result):
    """What most people say of each item.

    Attributes
    ----------
    labels : ndarray of shape (n_items,)
        The value given most often; NaN where there is no label, and where several are level (unless a way to break
        ties was asked for).
    share : ndarray of shape (n_items,)
        Share of the item's labels that are the most frequent value; NaN where there is no label.
    n_labels : ndarray of shape (n_items,)
        How many labels the item has.
    tied : ndarray of shape (n_items,)
        Whether several values are level.
    """

    labels: Floats
    share: Floats
    n_labels: Integers
    tied: Booleans


@aligned()
def majority_vote(labels: Any, *, ties: VoteTies = "none", rng: Seed = None) -> MajorityVote:
    """The value that most people gave to each item.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value). People's, never judges'.
    ties : {"none", "random", "first", "last"}
        Of values that are level: none of them (NaN); one drawn from ``rng``; the smallest; the largest. The last two
        always break ties the same way, which favors judges that prefer that value; they are there to match
        published figures.
    rng : int, numpy.random.Generator or None
        Seed of ``ties="random"``; None is a fixed seed.

    Returns
    -------
    MajorityVote

    Notes
    -----
    A count, without a model of people; `dawid_skene` has one.

    Examples
    --------
    >>> vote = majority_vote([[1, 1, 2], [1, 2, float("nan")]])
    >>> vote.labels.tolist(), vote.share.round(3).tolist(), vote.tied.tolist()
    ([1.0, nan], [0.667, 0.5], [False, True])
    """
    check_option(ties, _TIES, "ties")
    dice = generator(rng, 1)
    counts = count_labels(labels)
    if not len(counts.values):
        nothing = np.full(counts.n_items, np.nan)
        empty = np.zeros(counts.n_items, dtype=np.intp)
        return MajorityVote(nothing, nothing.copy(), empty, empty.astype(bool))
    matrix = counts.matrix
    size = matrix.sum(axis=1)
    top = matrix.max(axis=1)
    is_top = matrix == top[:, np.newaxis]
    n_top = is_top.sum(axis=1)
    with np.errstate(invalid="ignore"):
        share = np.where(size > 0, top / np.maximum(size, 1), np.nan)[counts.row]
    tied = ((n_top > 1) & (size > 0))[counts.row]
    first = counts.values[is_top.argmax(axis=1)]
    if ties == "last":
        first = counts.values[is_top.shape[1] - 1 - is_top[:, ::-1].argmax(axis=1)]
    chosen = np.where(size > 0, first, np.nan)[counts.row]
    if ties == "none":
        chosen[tied] = np.nan
    elif ties == "random" and tied.any():
        rows = counts.row[tied]
        place = dice.integers(0, n_top[rows])
        # The column in which the running count of modes reaches the place drawn.
        column = (np.cumsum(is_top[rows], axis=1) > place[:, np.newaxis]).argmax(axis=1)
        chosen[tied] = counts.values[column]
    return MajorityVote(chosen, share, size[counts.row], tied)


@aligned()
def aggregate_labels(
    labels: Any, *, how: Aggregate = "mode", ties: VoteTies = "none", rng: Seed = None
) -> Floats:
    """One number an item from several people's: what papers differ on, as an argument.

    Parameters
    ----------
    labels
        As of `majority_vote`.
    how : {"mode", "mean", "median"}
        What most say, for choices; the mean, for ratings (HELM Instruct); the median, for ratings of which only the
        order counts. The median of an even number is the mean of the two in the middle.
    ties, rng
        As of `majority_vote`; ``ties`` is for the mode.

    Returns
    -------
    ndarray of shape (n_items,)
        NaN where there is no label, and no mode.

    References
    ----------
    Of the mean: Y. Zhang et al., "HELM Instruct: A Multidimensional Instruction Following Evaluation Framework with
    Absolute Ratings", 2024.

    Examples
    --------
    >>> ratings = [[5, 4, 4], [1, float("nan"), 2]]
    >>> [aggregate_labels(ratings, how=how).round(2).tolist() for how in ("mode", "mean", "median")]
    [[4.0, nan], [4.33, 1.5], [4.0, 1.5]]
    """
    check_option(how, ("mode", "mean", "median"), "how")
    check_option(ties, _TIES, "ties")
    generator(rng)  # an error for what is no seed, whether or not it is used
    if how == "mode":
        return majority_vote(labels, ties=ties, rng=rng).labels
    counts = count_labels(labels)
    matrix = counts.matrix
    size = matrix.sum(axis=1)
    if not len(counts.values):
        return np.full(counts.n_items, np.nan)
    if how == "mean":
        found = matrix @ counts.values / np.maximum(size, 1)
    else:
        running = matrix.cumsum(axis=1)
        low = (running >= np.ceil(size / 2)[:, np.newaxis]).argmax(axis=1)
        high = (running >= (size // 2 + 1)[:, np.newaxis]).argmax(axis=1)
        found = (counts.values[low] + counts.values[high]) / 2
    result: Floats = np.where(size > 0, found, np.nan)[counts.row]
    return result


@aligned(apart=("values",))
def soft_labels(labels: Any, values: ArrayLike | None = None) -> Floats:
    """The share of an item's labels that each value has.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value). People's, never judges'.
    values : array_like of shape (n_values,), optional
        The values of the columns, in this order. Default: all that were given, ascending.

    Returns
    -------
    ndarray of shape (n_items, n_values)
        Rows add up to 1; NaN for an item without a label.

    References
    ----------
    J. C. Peterson et al., "Human uncertainty makes classification more robust", ICCV 2019.

    Examples
    --------
    >>> soft_labels([[1, 1, 2, 2], [2, 2, 2, float("nan")]], values=[1, 2]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    return label_shares(labels, values).shares


@dataclass(frozen=True, slots=True, eq=False)
class LabelShares:
    """The shares of the values among the labels of each item: `soft_labels`, with what they are shares of.

    Attributes
    ----------
    values : ndarray of shape (n_values,)
        The values of the columns.
    shares : ndarray of shape (n_items, n_values)
        NaN for an item without a label.
    n_labels : ndarray of shape (n_items,)
        How many labels the item has.
    """

    values: Floats
    shares: Floats
    n_labels: Integers


def label_shares(labels: Any, values: ArrayLike | None = None, n_items: int | None = None) -> LabelShares:
    """The shares that `soft_labels` gives, with the values and the numbers of labels.

    Examples
    --------
    >>> found = label_shares([[1, 1, 2, 2], [2, 2, 2, float("nan")]])
    >>> found.values.tolist(), found.n_labels.tolist()
    ([1.0, 2.0], [4, 3])
    """
    counts = count_labels(labels, n_items)
    size = counts.matrix.sum(axis=1)
    if values is None:
        used = counts.matrix[np.unique(counts.row)].any(axis=0)
        asked, given = counts.values[used], counts.matrix[:, used]
    else:
        asked = as_items(values, "values")
        given = _columns_of(counts, asked)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Floats = given / size[:, np.newaxis]
    return LabelShares(asked, shares[counts.row], size[counts.row])


def _columns_of(counts: LabelCounts, values: Floats) -> Integers:
    if len(np.unique(values)) != len(values) or np.isnan(values).any():
        raise InvalidInputError("values: expected different numbers")
    used = counts.matrix[np.unique(counts.row)].any(axis=0)
    strange = counts.values[used & ~np.isin(counts.values, values)]
    if len(strange):
        raise InvalidInputError(f"labels: {strange[0]:g} is none of the values")
    padded = np.concatenate([counts.matrix, np.zeros((len(counts.matrix), 1), dtype=np.intp)], axis=1)
    columns: Integers = padded[:, counts.columns(values)]
    return columns

"""Adversarial sets: accuracy by subset path, the gap to natural items, and which way the order pulls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.accuracy import (
    Orders,
    UnparsedRating,
    UnparsedVerdict,
    accuracy_contributions,
    hedging_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Integers, as_mask, as_verdicts, check_choices, check_option
from metaeval.stats.biases import LeaningUnparsed, first_shown_preference, lean_contributions
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.options import as_switch
from metaeval.stats.results import Result
from metaeval.stats.sharing import with_resamples
from metaeval.stats.subset_totals import SubsetTotals

SubsetMean: TypeAlias = Literal["macro", "micro"]

_NO_GOLD = "no item with a gold answer"
_NO_GOLD_IN_ONE = "no item with a gold answer in one of the subsets"
_SAME = "the two orders never differ"


@dataclass(frozen=True, slots=True)
class SubsetRow(Result):
    """The figures of one subset path and all below it.

    ``..._macro`` is the unweighted mean of the subsets under the path, its fellow the mean over their items.

    Attributes
    ----------
    path : str
        ``"Adversarial/Neighbor"``; ``""`` for all items.
    n_subsets : int
        Subsets (paths that items have) under it, itself included.
    accuracy, accuracy_macro : Estimate
    agreement, agreement_macro : Estimate or None
        Positional agreement; None of verdicts in one order.
    hedging, hedging_macro : Estimate
    """

    _named_by: ClassVar[str] = "path"

    path: str
    n_subsets: int
    accuracy: Estimate
    accuracy_macro: Estimate
    agreement: Estimate | None
    agreement_macro: Estimate | None
    hedging: Estimate
    hedging_macro: Estimate


@dataclass(frozen=True, slots=True)
class SubsetTable(Result):
    """Figures by subset path, all on the same resamples.

    Attributes
    ----------
    rows : tuple of SubsetRow
        All items first, then each path after its ancestors.
    adversarial_gap : Estimate or None
        See `adversarial_gap`; None where there are not both kinds of items.
    """

    _drawn: ClassVar[tuple[str, ...]] = ("rows.accuracy",)

    rows: tuple[SubsetRow, ...]
    adversarial_gap: Estimate | None

    def row(self, path: str) -> SubsetRow:
        """The row of a path."""
        for row in self.rows:
            if row.path == path:
                return row
        raise KeyError(path)


@dataclass(frozen=True, slots=True)
class PositionalBias(Result):
    """Which way the presentation order pulls a judge.

    Attributes
    ----------
    conflicting : Estimate
        Of the items on which the two orders differ: how far the first shown is preferred minus the second, in
        [-1, 1]. 1: whenever the judge contradicts itself, it has said "the first" twice.
    overall : Estimate
        Share of all judgments that prefer the first shown minus share that prefer the second.
    agreement : Estimate
        Positional agreement, beside which the other two are read.
    """

    conflicting: Estimate
    overall: Estimate
    agreement: Estimate


@aligned()
def subset_accuracy(
    verdicts: ArrayLike,
    gold: ArrayLike,
    subsets: Sequence[str],
    *,
    adversarial: str = "Adversarial",
    natural: str | None = None,
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
    orders: Orders = "mean",
    unparsed_agree: bool = False,
    unparsed_hedging: UnparsedRating = "other",
    **options: Unpack[Sampling],
) -> SubsetTable:
    """Accuracy, positional agreement and hedging rate by subset path, weighted and unweighted.

    Parameters
    ----------
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        1, 2, 0 (tie, or equal ratings) or NaN (unparsed).
    gold : array_like of shape (n_items,)
        1 or 2, or 0 where the right answer is a tie; an item with NaN counts for agreement and hedging only.
    subsets : sequence of str, length n_items
        The subset path of each item, with ``/`` between a subset and what it is part of.
    adversarial, natural : str
        For the gap, see `adversarial_gap`.
    hedge, unparsed, orders
        As in `accuracy`.
    unparsed_agree
        As in `positional_agreement`.
    unparsed_hedging
        ``unparsed`` of `hedging_rate`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    SubsetTable

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024, tables 2 to 10.

    Examples
    --------
    >>> table = subset_accuracy([1, 1, 2, 1], [1, 1, 1, 1], ["Natural", "Natural", "Adversarial/A", "Adversarial/B"])
    >>> [(row.path, row.n_subsets, row.accuracy.value, round(row.accuracy_macro.value, 3)) for row in table.rows]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('', 3, 0.75, 0.667), ('Adversarial', 2, 0.5, 0.5), ('Adversarial/A', 1, 0.0, 0.0),
     ('Adversarial/B', 1, 1.0, 1.0), ('Natural', 1, 1.0, 1.0)]
    >>> table.adversarial_gap.value
    0.5
    """
    judged = as_verdicts(verdicts)
    unparsed_agree = as_switch(unparsed_agree, "unparsed_agree")
    check_option(unparsed_hedging, ("other", "hedge", "omit"), "unparsed_hedging")
    right = accuracy_contributions(judged, gold, hedge=hedge, unparsed=unparsed, orders=orders)
    hedges = hedging_contributions(judged, unparsed=unparsed_hedging)
    shared = with_resamples(options, len(judged))
    leaves, codes = _leaves(subsets, len(judged), options)
    sums, hedge_sums = (SubsetTotals(each, codes, len(leaves), shared) for each in (right, hedges))
    agreement_sums = None
    if judged.shape[1] == 2:
        agree = positional_agreement_contributions(judged, unparsed_agree=unparsed_agree)
        agreement_sums = SubsetTotals(agree, codes, len(leaves), shared)
    rows = []
    for path in _with_ancestors(leaves):
        below = _under(leaves, path)
        rows.append(
            SubsetRow(
                path=path,
                n_subsets=len(below),
                accuracy=sums.mean(below, _NO_GOLD),
                accuracy_macro=sums.macro_mean(below, _NO_GOLD_IN_ONE),
                agreement=None if agreement_sums is None else agreement_sums.mean(below),
                agreement_macro=None if agreement_sums is None else agreement_sums.macro_mean(below),
                hedging=hedge_sums.mean(below),
                hedging_macro=hedge_sums.macro_mean(below),
            )
        )
    sides = _sides(leaves, adversarial, natural)
    return SubsetTable(tuple(rows), _gap(sums, *sides, "macro") if all(sides) else None)


@aligned()
def adversarial_gap(
    verdicts: ArrayLike,
    gold: ArrayLike,
    subsets: Sequence[str],
    *,
    adversarial: str = "Adversarial",
    natural: str | None = None,
    mean: SubsetMean = "macro",
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
    **options: Unpack[Sampling],
) -> Estimate:
    """Accuracy on natural items minus accuracy on adversarial ones: what a judge loses when it is to be fooled.

    Parameters
    ----------
    verdicts, gold, subsets
        As in `subset_accuracy`.
    adversarial : str, default "Adversarial"
        The path that the adversarial subsets are under.
    natural : str, optional
        The path of the natural ones. Default: all items that are not adversarial.
    mean : {"macro", "micro"}
        Of either side the unweighted mean of its subsets, or the mean over its items.
    hedge, unparsed
        As in `subset_accuracy`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]. Undefined if a side has no item with a gold answer.

    References
    ----------
    Z. Zeng et al., "Evaluating Large Language Models at Evaluating Instruction Following", ICLR 2024: natural and
    adversarial sets, whose mean is of subsets. The difference with its interval is ours.

    Examples
    --------
    >>> paths = ["Natural"] * 4 + ["Adversarial/A"] * 3 + ["Adversarial/B"]
    >>> verdicts = [1, 1, 1, 2, 1, 1, 1, 2]
    >>> adversarial_gap(verdicts, [1] * 8, paths).value                          # 3/4 - (3/3 + 0/1) / 2
    0.25
    >>> adversarial_gap(verdicts, [1] * 8, paths, mean="micro").value            # 3/4 - 3/4
    0.0
    """
    check_option(mean, ("macro", "micro"), "mean")
    right = accuracy_contributions(verdicts, gold, hedge=hedge, unparsed=unparsed)
    leaves, codes = _leaves(subsets, len(right), options)
    sums = SubsetTotals(right, codes, len(leaves), options)
    return _gap(sums, *_sides(leaves, adversarial, natural), mean)


@aligned()
def positional_bias(
    verdicts: ArrayLike, *, unparsed: LeaningUnparsed = "neither", **options: Unpack[Sampling]
) -> PositionalBias:
    """Whether a judge that contradicts itself between the two orders prefers what is shown first or second.

    Parameters
    ----------
    verdicts : array_like of shape (n_items, 2)
        In the original order of the responses: first where response 1 was shown first, then where response 2 was.
    unparsed : {"neither", "omit"}
        Of ``overall``: an unparsed verdict prefers neither and stays in the denominator, or is left out. An item
        with one is never conflicting.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    PositionalBias
        A verdict and a tie in the other order differ by half of what two opposite verdicts do.

    Raises
    ------
    InvalidInputError
        For verdicts in one order.

    References
    ----------
    Of the bias: P. Wang et al., "Large Language Models are not Fair Evaluators", ACL 2024. The figures are ours:
    `first_shown_preference`, of all items and of those on which the orders differ.

    Examples
    --------
    >>> found = positional_bias([[1, 2], [1, 2], [2, 1], [1, 1], [0, 2]])
    >>> found.conflicting.value, found.overall.value, found.agreement.value          # (1 + 1 - 1 + 1/2) / 4 and / 5
    (0.375, 0.3, 0.2)
    """
    judged = as_verdicts(verdicts)
    if judged.shape[1] != 2:
        raise InvalidInputError("verdicts: positional bias needs both orders, shape (n_items, 2)")
    check_choices(judged, "verdicts")
    shared = with_resamples(options, len(judged))
    lean = lean_contributions(judged, np.array([[1.0, 2.0]]), "neither", "neither")
    differ = (judged[:, 0] != judged[:, 1]) & ~np.isnan(judged).any(axis=1)
    return PositionalBias(
        mean_estimate(np.where(differ, lean, np.nan), bounds=(-1.0, 1.0), reason=_SAME, **shared),
        first_shown_preference(judged, unparsed=unparsed, **shared),
        mean_estimate(positional_agreement_contributions(judged), **shared),
    )


def _leaves(subsets: Sequence[str], n_items: int, options: Sampling) -> tuple[list[str], Integers]:
    """The paths that items have, and which of them each item has; of items left out by ``where``, any."""
    distinct, codes = as_ids(subsets, "subsets", n_items)
    mask = as_mask(options.get("where"), n_items)
    if mask is not None and not mask.any():
        mask = None  # every path is there, and undefined
    used, codes = np.unique(codes if mask is None else codes[mask], return_inverse=True)
    names = distinct[used].tolist()
    # Equal but for a slash at an end.
    leaves = sorted({str(name).strip("/") for name in names})
    places = np.array([leaves.index(str(name).strip("/")) for name in names], dtype=np.intp)
    found = np.zeros(n_items, dtype=np.intp)
    found[slice(None) if mask is None else mask] = places[codes]
    return leaves, found


def _with_ancestors(leaves: Sequence[str]) -> list[str]:
    """Every path that occurs and every path above it, all items first."""
    found = {""}
    for leaf in leaves:
        parts = leaf.split("/")
        found |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return sorted(found)


def _under(leaves: Sequence[str], path: str) -> list[int]:
    """Which of the leaves are the path or below it."""
    return [
        place for place, leaf in enumerate(leaves) if not path or leaf == path or leaf.startswith(path + "/")
    ]


def _sides(leaves: Sequence[str], adversarial: str, natural: str | None) -> tuple[list[int], list[int]]:
    """The natural leaves and the adversarial ones."""
    hostile = _under(leaves, adversarial)
    return [place for place in _under(leaves, natural or "") if place not in hostile], hostile


def _gap(sums: SubsetTotals, tame: list[int], hostile: list[int], mean: SubsetMean) -> Estimate:
    """Mean of the natural groups' means minus mean of the adversarial groups' means."""
    groups: list[list[int]] = []
    factors: list[float] = []
    for side, sign in ((tame, 1.0), (hostile, -1.0)):
        parts = [[one] for one in side] if mean == "macro" else [side]
        if not side:
            return undefined(f"no {'natural' if sign > 0 else 'adversarial'} items")
        groups += parts
        factors += [sign / len(parts)] * len(parts)
    return sums.combination(groups, factors, _NO_GOLD_IN_ONE, bounds=(-1.0, 1.0))

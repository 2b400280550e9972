"""Adversarial sets: accuracy by subset path, the gap to natural items, and which way the order pulls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.accuracy import (
    UnparsedRating,
    UnparsedVerdict,
    accuracy_contributions,
    hedging_contributions,
    positional_agreement_contributions,
)
from metaeval.stats.arrays import Booleans, Floats, as_mask, as_verdicts, check_choices, check_option
from metaeval.stats.biases import LeaningUnparsed, first_shown_preference, lean_contributions
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, finish, item_weights, macro_mean, mean_estimate, resolve
from metaeval.stats.sharing import with_resamples
from metaeval.stats.spread import spread_of

SubsetMean: TypeAlias = Literal["macro", "micro"]

_NO_GOLD = "no item with a gold answer"
_SAME = "the two orders never differ"


@dataclass(frozen=True, slots=True)
class SubsetRow:
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

    path: str
    n_subsets: int
    accuracy: Estimate
    accuracy_macro: Estimate
    agreement: Estimate | None
    agreement_macro: Estimate | None
    hedging: Estimate
    hedging_macro: Estimate


@dataclass(frozen=True, slots=True)
class SubsetTable:
    """Figures by subset path, all on the same resamples.

    Attributes
    ----------
    rows : tuple of SubsetRow
        All items first, then each path after its ancestors.
    adversarial_gap : Estimate or None
        See `adversarial_gap`; None where there are not both kinds of items.
    """

    rows: tuple[SubsetRow, ...]
    adversarial_gap: Estimate | None

    def row(self, path: str) -> SubsetRow:
        """The row of a path."""
        for row in self.rows:
            if row.path == path:
                return row
        raise KeyError(path)


@dataclass(frozen=True, slots=True)
class PositionalBias:
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


def subset_accuracy(
    verdicts: ArrayLike,
    gold: ArrayLike,
    subsets: Sequence[str],
    *,
    adversarial: str = "Adversarial",
    natural: str | None = None,
    hedge: float = 0.5,
    unparsed: UnparsedVerdict = "wrong",
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
    hedge, unparsed
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
    paths = _paths(subsets, len(judged))
    shared = with_resamples(options, len(judged))
    mask = as_mask(options.get("where"), len(judged))
    right = accuracy_contributions(judged, gold, hedge=hedge, unparsed=unparsed)
    hedges = hedging_contributions(judged, unparsed=unparsed_hedging)
    agree = (
        positional_agreement_contributions(judged, unparsed_agree=unparsed_agree)
        if judged.shape[1] == 2
        else None
    )

    def means(contributions: Floats, below: Booleans) -> tuple[Estimate, Estimate]:
        here: Sampling = {**shared, "where": below}
        return mean_estimate(contributions, reason=_NO_GOLD, **here), macro_mean(contributions, paths, **here)

    rows = []
    for path in _with_ancestors(paths if mask is None else paths[mask]):
        below = _under(paths, path) if mask is None else _under(paths, path) & mask
        pooled, macro = means(right, below)
        agreement, agreement_macro = (None, None) if agree is None else means(agree, below)
        hedging, hedging_macro = means(hedges, below)
        rows.append(
            SubsetRow(
                path=path,
                n_subsets=len(np.unique(paths[below])),
                accuracy=pooled,
                accuracy_macro=macro,
                agreement=agreement,
                agreement_macro=agreement_macro,
                hedging=hedging,
                hedging_macro=hedging_macro,
            )
        )
    hostile, tame = _sides(paths, adversarial, natural)
    if mask is not None:
        hostile, tame = hostile & mask, tame & mask
    gap = _gap(right, paths, hostile, tame, "macro", shared) if hostile.any() and tame.any() else None
    return SubsetTable(tuple(rows), gap)


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
    verdicts, gold, subsets, hedge, unparsed
        As in `subset_accuracy`.
    adversarial : str, default "Adversarial"
        The path that the adversarial subsets are under.
    natural : str, optional
        The path of the natural ones. Default: all items that are not adversarial.
    mean : {"macro", "micro"}
        Of either side the unweighted mean of its subsets, or the mean over its items.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [-1, 1]. Undefined if a side has no item with a gold answer.

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
    paths = _paths(subsets, len(right))
    return _gap(right, paths, *_sides(paths, adversarial, natural), mean, options)


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


def _paths(subsets: Sequence[str], n_items: int) -> Any:
    paths = np.asarray(subsets).astype(str)
    if paths.shape != (n_items,):
        raise InvalidInputError(f"subsets: expected shape ({n_items},), got {paths.shape}")
    return np.array([path.strip("/") for path in paths], dtype=paths.dtype if len(paths) else str)


def _with_ancestors(paths: Any) -> list[str]:
    """Every path that occurs and every path above it, all items first."""
    found = {""}
    for path in np.unique(paths):
        parts = str(path).split("/")
        found |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return sorted(found)


def _under(paths: Any, path: str) -> Booleans:
    if not path:
        return np.ones(len(paths), dtype=np.bool_)
    below: Booleans = (paths == path) | np.char.startswith(paths, path + "/")
    return below


def _sides(paths: Any, adversarial: str, natural: str | None) -> tuple[Booleans, Booleans]:
    hostile = _under(paths, adversarial)
    return hostile, ~hostile if natural is None else _under(paths, natural) & ~hostile


def _gap(
    right: Floats, paths: Any, hostile: Booleans, tame: Booleans, mean: SubsetMean, options: Sampling
) -> Estimate:
    """Mean of the natural groups' means minus mean of the adversarial groups' means, from totals of all groups."""
    resamples, mask, confidence = resolve(len(right), options, weighted=True)
    weights = item_weights(len(right), options)
    counted = ~np.isnan(right) & (hostile | tame)
    for part in (mask, None if weights is None else weights > 0):
        if part is not None:
            counted &= part
    members, signs = [], []
    for kind, side, sign in (("natural", tame, 1.0), ("adversarial", hostile, -1.0)):
        # A subset none of whose items counts is not left out in silence.
        inside = side if mask is None else side & mask
        groups = [paths == name for name in np.unique(paths[inside])] if mean == "macro" else [side]
        groups = [group & side & counted for group in groups]
        if not groups or not all(group.any() for group in groups):
            return undefined(f"no {kind} item with a gold answer, or none in one of the subsets")
        members += groups
        signs += [sign / len(groups)] * len(groups)
    size = np.where(counted, 1.0 if weights is None else weights, 0.0)
    columns = np.stack(
        [np.where(group, right, 0.0) * size for group in members] + [group * size for group in members],
        axis=1,
    )
    k, signed = len(members), np.array(signs)
    tops, bottoms = np.split(columns.sum(axis=0), 2)
    means = tops / bottoms
    totals = resamples.totals(columns) if resamples.n_resamples else np.zeros((0, 2 * k))
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = (totals[:, :k] / totals[:, k:]) @ signed
    in_groups, sizes = np.split(resamples.cluster_totals(columns), 2, axis=1)
    spread = spread_of((in_groups - means * sizes) / bottoms @ signed, sizes / bottoms @ np.abs(signed))
    return finish(float(means @ signed), resampled, counted, resamples, confidence, (-1.0, 1.0), spread)

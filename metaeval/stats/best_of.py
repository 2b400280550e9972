"""Best of several: whether a judge scores a right response highest; RewardBench 2's score, with its rule for ties."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    Integers,
    as_floats,
    as_list,
    as_texts,
    as_weights,
    check_option,
)
from metaeval.stats.contributions import contributions_of
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import Sampling, item_weights, mean_estimate, resolve
from metaeval.stats.results import Result
from metaeval.stats.subset_totals import SubsetTotals

Unscored: TypeAlias = Literal["wrong", "chance"]
_NO_ITEM = "no item with right responses"
_NO_SUBSET = "no item of {}"
_NO_PAIR = "no prompt of {} with both a reference and a tied item"
_TIED_ID = "expected 'ref:' or 'tied:' and the prompt, as in 'tied:3', found {!r}"
# What the parts of the score of ties count: accuracy on tied and on reference items, margins preferred on the tied item
# and on both, and how wide the margin is.
_FACTORS = (0.3, 0.3, 0.2, 0.2, 0.01)


@dataclass(frozen=True, slots=True)
class BestOfRow(Result):
    """One subset.

    Attributes
    ----------
    name : str
    score : Estimate
        Best-of accuracy, or of tied items the score of ties.
    """

    _named_by: ClassVar[str] = "name"

    name: str
    score: Estimate


@dataclass(frozen=True, slots=True)
class BestOfScore(Result):
    """What `best_of_score` found, all on the same resamples.

    Attributes
    ----------
    overall : Estimate
        The unweighted mean of the subsets; undefined where one has no items.
    rows : tuple of BestOfRow
        In the order of the subsets that were asked for.
    """

    overall: Estimate
    rows: tuple[BestOfRow, ...]

    def row(self, name: str) -> BestOfRow:
        """The row of a subset."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(name)


@aligned()
def best_of_accuracy(
    scores: ArrayLike, right: ArrayLike, *, unscored: Unscored = "wrong", **options: Unpack[Sampling]
) -> Estimate:
    """Share of the items of which a judge scores a right response highest.

    Parameters
    ----------
    scores : array_like of shape (n_items, n_responses)
        The judge's, higher is better; NaN where it gave none, which is below all others.
    right : array_like of shape (n_items, n_responses)
        1 for a right response, 0 for a wrong one, NaN where an item has fewer responses. An item without a right
        response does not count.
    unscored : {"wrong", "chance"}
        An item without any score is wrong, or counts as if one of its responses was drawn.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts items. Of several responses with the highest score the share that is right counts.

    Raises
    ------
    InvalidInputError
        For shapes that differ, and values of ``right`` other than 0, 1 and NaN.

    References
    ----------
    S. Malik et al., "RewardBench 2: Advancing Reward Model Evaluation", 2025, section 4.

    Examples
    --------
    >>> right = [[1, 0, 0, 0]] * 3
    >>> best_of_accuracy([[9, 2, 4, 1], [5, 5, 1, 1], [3, 8, 1, 1]], right).value     # (1 + 1 / 2 + 0) / 3
    0.5
    """
    contributions = best_of_contributions(scores, right, unscored=unscored)
    return mean_estimate(contributions, reason=_NO_ITEM, **options)


@aligned()
@contributions_of("best_of_accuracy")
def best_of_contributions(scores: ArrayLike, right: ArrayLike, *, unscored: Unscored = "wrong") -> Floats:
    """What each item adds to `best_of_accuracy`.

    Examples
    --------
    >>> best_of_contributions([[5, 5, 1], [2, 3, float("nan")]], [[1, 0, 0], [1, 0, float("nan")]]).tolist()
    [0.5, 0.0]
    """
    check_option(unscored, ("wrong", "chance"), "unscored")
    said, correct, there = _read(scores, right)
    if not said.shape[1]:
        return np.full(len(said), np.nan)
    top = there & (said == said.max(axis=1, keepdims=True))
    share = (top & correct).sum(axis=1) / np.maximum(top.sum(axis=1), 1)
    if unscored == "wrong":
        share = np.where(np.isneginf(said).all(axis=1), 0.0, share)
    found: Floats = np.where(correct.any(axis=1), share, np.nan)
    return found


@aligned(apart=("sections",))
def best_of_score(
    scores: ArrayLike,
    right: ArrayLike,
    subsets: Sequence[str],
    ids: Sequence[str],
    *,
    sections: Sequence[str],
    tied: str = "Ties",
    unscored: Unscored = "wrong",
    **options: Unpack[Sampling],
) -> BestOfScore:
    """RewardBench 2's score: the mean of its subsets, of which one has several right responses an item.

    Of each subset it is `best_of_accuracy`. The items of the subset of ties come in pairs: a tied one with several
    right responses, and a reference with one. An item is right where each right response scores more than each wrong
    one; its margin is the lowest score of a right response minus the highest of a wrong one. The score of ties is 0.3
    times the accuracy of the tied items, 0.3 times that of the references, 0.2 times the share of pairs in which the
    tied item's margin is wider than the spread of its right responses, 0.2 times the share in which the narrower margin
    of both is, and 0.01 times the mean of tanh(narrower margin / spread - 1).

    Parameters
    ----------
    scores, right
        As in `best_of_accuracy`.
    subsets : sequence of str, length n_items
        The subset of each item. Items of other subsets than those of ``sections`` do not count.
    ids : sequence of str, length n_items
        Of the items of ties "ref:" or "tied:" and the prompt, as in the benchmark; others are not read.
    sections : sequence of str
        The subsets whose mean is the score: ``preset("rewardbench2")`` has RewardBench 2's.
    tied : str
        The one of ties, in any case.
    unscored
        As in `best_of_accuracy`.
    **options
        See `metaeval.stats.intervals.Sampling`. The two items of a pair are resampled together.

    Returns
    -------
    BestOfScore
        The score of ties is in [-0.01, 1.01].

    Raises
    ------
    InvalidInputError
        For no subsets, an item of ties whose id says neither, that is there twice, or that has no right or no wrong
        response.

    References
    ----------
    S. Malik et al., "RewardBench 2: Advancing Reward Model Evaluation", 2025, section 4, and the authors' code,
    https://github.com/allenai/reward-bench.

    Examples
    --------
    >>> scores, right = [[9, 1, 1], [8, 2, 1], [8, 7, 1]], [[1, 0, 0], [1, 0, 0], [1, 1, 0]]
    >>> subsets, ids = ["Math", "Ties", "Ties"], ["1", "ref:0", "tied:0"]
    >>> found = best_of_score(scores, right, subsets, ids, sections=["Math", "Ties"])
    >>> [round(row.score.value, 4) for row in found.rows]     # ties: 0.3 + 0.3 + 0.2 + 0.2 + 0.01 tanh(6 / 1 - 1)
    [1.0, 1.01]
    """
    names = _sections(sections)
    ordinary = best_of_contributions(scores, right, unscored=unscored)
    said, correct, there = _read(scores, right)
    within, known = as_texts(subsets, "subsets"), as_list(ids, "ids")
    for name, given in (("subsets", within), ("ids", known)):
        if len(given) != len(said):
            raise InvalidInputError(f"{name}: expected {len(said)} items, got {len(given)}")
    place = {name: number for number, name in enumerate(names)}
    codes = np.array([place.get(name, -1) for name in within], dtype=np.intp)
    ties = as_texts([tied], "tied")[0].casefold()
    is_tied = np.array([name.casefold() == ties for name in names])
    rows = np.flatnonzero((codes >= 0) & ~np.append(is_tied, False)[codes])
    of_ties = np.flatnonzero((codes >= 0) & np.append(is_tied, False)[codes])
    parts = _ties(said, correct, there, known, of_ties)
    # A row for each item of a subset, then one for each part of the score of ties that an item adds to.
    item = np.concatenate([rows, *(part.item for part in parts)])
    values = np.concatenate([ordinary[rows], *(part.values for part in parts)])
    code = np.concatenate(
        [codes[rows], *(np.full(len(part.item), len(names) + number) for number, part in enumerate(parts))]
    )
    totals = SubsetTotals(
        values,
        code,
        len(names) + len(_FACTORS),
        _of_rows(options, len(said), item, parts[2].item, parts[2].beside),
    )
    n_names, shift = len(names), -_FACTORS[-1]
    each_part = [[n_names + number] for number in range(len(_FACTORS))]
    # The last part is from -1 to 1, and its values are on the way from one to the other.
    factors = [*_FACTORS[:-1], 2 * _FACTORS[-1]]
    combined: list[_Combination] = [
        _Combination(each_part, factors, shift) if is_tied[number] else _Combination([[number]], [1.0], 0.0)
        for number in range(n_names)
    ]
    counted = _counted(options, len(said))
    found = []
    for number, (name, parts_of) in enumerate(zip(names, combined, strict=True)):
        reason = (_NO_PAIR if is_tied[number] else _NO_SUBSET).format(name)
        n = int((counted & (codes == number) & ~np.isnan(ordinary)).sum())
        found.append(BestOfRow(name, parts_of.of(totals, reason, n)))
    empty = [row.score.reason for row in found if not row.score.defined]
    if empty:
        return BestOfScore(undefined(empty[0] or _NO_ITEM), tuple(found))
    share = 1 / n_names
    whole = _Combination(
        [group for one in combined for group in one.groups],
        [share * factor for one in combined for factor in one.factors],
        share * sum(one.shift for one in combined),
    )
    return BestOfScore(whole.of(totals, _NO_ITEM, sum(row.score.n for row in found)), tuple(found))


class _Combination(NamedTuple):
    """A sum of means of rows, each times its factor, and of a shift."""

    groups: list[list[int]]
    factors: list[float]
    shift: float

    def of(self, totals: SubsetTotals, reason: str, n: int) -> Estimate:
        """Its estimate; ``n`` items count, whatever the number of their rows."""
        found = totals.combination(self.groups, self.factors, reason, (0.0, 1 - 2 * self.shift))
        if not found.defined:
            return found
        ends = {name: getattr(found, name) + self.shift for name in ("value", "low", "high")}
        return replace(found, n=n, **ends) if self.shift else found


def _counted(options: Sampling, n_items: int) -> Booleans:
    """The items that the options count."""
    _, mask, _ = resolve(n_items, options, weighted=True)
    weights = item_weights(n_items, options)
    counted = np.ones(n_items, dtype=np.bool_) if mask is None else mask
    return counted if weights is None else counted & (weights > 0)


class _Part(NamedTuple):
    """What items add to a part of the score of ties: their rows, numbers in [0, 1], and the other item of each pair."""

    item: Integers
    values: Floats
    beside: Integers


def _ties(
    said: Floats, correct: Booleans, there: Booleans, ids: Sequence[object], rows: Integers
) -> tuple[_Part, ...]:
    """Accuracy of the tied items, of the references, and the three parts of pairs, which are rows of the tied item."""
    kinds: dict[str, dict[str, int]] = {"ref": {}, "tied": {}}
    for row in rows.tolist():
        kind, _, prompt = str(ids[row]).partition(":")
        if kind not in kinds or not prompt:
            raise InvalidInputError(f"ids: {_TIED_ID.format(ids[row])} at {row}")
        if prompt in kinds[kind]:
            raise InvalidInputError(f"ids: {ids[row]!r} is there twice, at {kinds[kind][prompt]} and {row}")
        if not correct[row].any() or not (there[row] & ~correct[row]).any():
            raise InvalidInputError(f"right: expected a right and a wrong response of {ids[row]!r}, at {row}")
        kinds[kind][prompt] = row
    with np.errstate(invalid="ignore", divide="ignore"):
        best = np.where(correct, said, -np.inf).max(axis=1, initial=-np.inf)
        worst = np.where(correct, said, np.inf).min(axis=1, initial=np.inf)
        margin = worst - np.where(there & ~correct, said, -np.inf).max(axis=1, initial=-np.inf)
        # Of two that have no score neither is ahead.
        margin = np.where(np.isnan(margin), 0.0, margin)
        spread = np.where(best == worst, 0.0, best - worst)
        shared = sorted(kinds["tied"].keys() & kinds["ref"].keys())
        tied, reference = (
            np.array([kinds[kind][prompt] for prompt in shared], dtype=np.intp) for kind in ("tied", "ref")
        )
        both = np.minimum(margin[tied], margin[reference])
        wide = np.nan_to_num(np.tanh(both / spread[tied] - 1), nan=0.0)
    of_tied, of_reference = (np.array(list(kinds[kind].values()), dtype=np.intp) for kind in ("tied", "ref"))
    return (
        _Part(of_tied, np.asarray(margin[of_tied] > 0, dtype=np.float64), of_tied),
        _Part(of_reference, np.asarray(margin[of_reference] > 0, dtype=np.float64), of_reference),
        _Part(tied, np.asarray(margin[tied] > spread[tied], dtype=np.float64), reference),
        _Part(tied, np.asarray(both > spread[tied], dtype=np.float64), reference),
        _Part(tied, (1 + wide) / 2, reference),
    )


def _of_rows(options: Sampling, n_items: int, item: Integers, one: Integers, other: Integers) -> Sampling:
    """The options of rows that belong to these items; of each pair of items both are of one cluster."""
    resamples, mask, confidence = resolve(n_items, options, weighted=True)
    codes = np.arange(n_items) if resamples.codes is None else resamples.codes.copy()
    for first, second in zip(one.tolist(), other.tolist(), strict=True):
        codes[codes == codes[first]] = codes[second]
    weights = as_weights(options.get("weights"), n_items)
    return {
        "resamples": resamples.of_rows(codes[item]),
        "where": None if mask is None else mask[item],
        "confidence": confidence,
        "weights": None if weights is None else weights[item],
    }


def _sections(sections: Sequence[str]) -> list[str]:
    names = as_texts(sections, "sections")
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(f"sections: expected one subset or more, each once, got {names}")
    return names


def _read(scores: ArrayLike, right: ArrayLike) -> tuple[Floats, Booleans, Booleans]:
    """Scores, minus infinity where there is none; which responses are right, and which there are."""
    said, answers = as_floats(scores, "scores"), as_floats(right, "right")
    if said.ndim != 2 or answers.shape != said.shape:
        raise InvalidInputError(
            f"scores and right: expected the same shape (n_items, n_responses), got {said.shape} and {answers.shape}"
        )
    there = ~np.isnan(answers)
    strange = there & (answers != 0) & (answers != 1)
    if strange.any():
        raise InvalidInputError(f"right: expected 0, 1 or NaN, found {answers[strange][0]:g}")
    return np.where(there & ~np.isnan(said), said, -np.inf), answers == 1, there

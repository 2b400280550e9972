"""How much of what instructions asked for was followed: DRFR, TOWER, by level of the aspect tree.

Everything is flat: one entry an aspect, with the item that it belongs to. Items are the distinct values of ``items``
in sorted order, and what is aligned with items (``clusters``, ``where``) follows that order; row numbers are the plain
way.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, as_mapping, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import as_codes, as_ids, is_missing
from metaeval.stats.intervals import Sampling, mean_estimate, ratio_estimate
from metaeval.stats.options import as_count
from metaeval.stats.results import Result

Average: TypeAlias = Literal["macro", "micro"]
Unsure: TypeAlias = Literal["not_followed", "omit"]

_NOTHING = "no aspect was answered"


@aligned(rows=("items", "answers"))
def drfr(
    answers: ArrayLike,
    items: Any,
    *,
    average: Average = "micro",
    unsure: Unsure = "not_followed",
    **options: Unpack[Sampling],
) -> Estimate:
    """Decomposed requirements following ratio: the share of aspects followed.

    Parameters
    ----------
    answers : array_like of shape (n_aspects,)
        1 (followed), 0 (not), NaN (cannot tell).
    items : array_like of shape (n_aspects,)
        The item of each aspect, numbers or strings.
    average : {"micro", "macro"}
        Pool all aspects, as the paper does, or take the mean of the items' shares.
    unsure : {"not_followed", "omit"}
        What "cannot tell" counts; InFoBench counts it as not followed.
    **options
        See `metaeval.stats.intervals.Sampling`; items are resampled, by cluster.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts items.

    References
    ----------
    Y. Qin et al., "InFoBench: Evaluating Instruction Following Ability in Large Language Models", Findings of ACL
    2024.

    Examples
    --------
    >>> drfr([1, 1, 0, 1, 0], ["a", "a", "a", "b", "b"]).value     # 3 of 5
    0.6
    >>> round(drfr([1, 1, 0, 1, 0], ["a", "a", "a", "b", "b"], average="macro").value, 6)     # (2/3 + 1/2) / 2
    0.583333
    """
    given = as_items(answers, "answers")
    return _estimate(followed_by_item(given, items, np.ones(len(given)), unsure), average, options)


@aligned(rows=("items", "answers", "levels"))
def tower_score(
    answers: ArrayLike,
    items: Any,
    levels: ArrayLike,
    *,
    average: Average = "macro",
    unsure: Unsure = "not_followed",
    **options: Unpack[Sampling],
) -> Estimate:
    """Share of aspects followed, each weighing 1 / its level in the aspect tree.

    Parameters
    ----------
    answers, items
        As of `drfr`.
    levels : array_like of shape (n_aspects,)
        1 for a root, 2 for what depends on a root, and so on; see `aspect_levels`.
    average, unsure
        As of `drfr`; TOWER's score of a model is the mean over instructions, ``"macro"``.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts items.

    References
    ----------
    N. Ziems, Z. Zhang and M. Jiang, "TOWER: Tree Organized Weighting for Evaluating Complex Instructions", Findings of
    EMNLP 2024.

    Examples
    --------
    >>> answers, items, levels = [1, 0, 0, 1], [0, 0, 0, 1], [1, 2, 2, 1]
    >>> tower_score(answers, items, levels).value     # (1 / (1 + 1/2 + 1/2) + 1) / 2
    0.75
    """
    given = as_items(answers, "answers")
    weights = 1.0 / _levels(levels, len(given))
    return _estimate(followed_by_item(given, items, weights, unsure), average, options)


@aligned(rows=("items", "answers", "levels"))
def follow_rate_by_level(
    answers: ArrayLike,
    items: Any,
    levels: ArrayLike,
    *,
    unsure: Unsure = "not_followed",
    **options: Unpack[Sampling],
) -> dict[int, Estimate]:
    """Share of the aspects followed at each level of the tree, pooled: is what matters most followed most?

    Parameters
    ----------
    answers, items, levels, unsure
        As of `tower_score`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    dict
        Level to `Estimate`, from the root on; all on the same resamples.

    Notes
    -----
    An own figure: `drfr` of the aspects of one level, which says whether what TOWER weighs most is followed most.

    Examples
    --------
    >>> rates = follow_rate_by_level([1, 0, 0, 1], [0, 0, 0, 1], [1, 2, 2, 1])
    >>> {level: rate.value for level, rate in rates.items()}
    {1: 1.0, 2: 0.0}
    """
    answers = as_items(answers, "answers")
    level = _levels(levels, len(answers))
    found = {}
    for one in np.unique(level):
        read = followed_by_item(answers, items, (level == one).astype(np.float64), unsure)
        found[int(one)] = ratio_estimate(read.followed, read.total, reason=_NOTHING, **options)
    return found


@dataclass(frozen=True, slots=True)
class ScoreDifferences(Result):
    """Items on which TOWER and DRFR differ, the largest difference first.

    Attributes
    ----------
    item : tuple
        The items, as they were named.
    drfr, tower, difference : ndarray of shape (n,)
        Both scores in [0, 1], and TOWER minus DRFR: below 0 where what matters most was not followed.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "drfr": ("item",),
        "tower": ("item",),
        "difference": ("item",),
    }

    item: tuple[Any, ...]
    drfr: Floats
    tower: Floats
    difference: Floats

    def __len__(self) -> int:
        return len(self.item)


@aligned(rows=("items", "answers", "levels"))
def tower_drfr_differences(
    answers: ArrayLike,
    items: Any,
    levels: ArrayLike,
    *,
    n: int = 20,
    unsure: Unsure = "not_followed",
) -> ScoreDifferences:
    """Find the items on which weighing by importance changes the score most: what to send to people.

    Parameters
    ----------
    answers, items, levels
        As of `tower_score`.
    n : int, default 20
        At most this many; items on which both agree are never among them. Equal differences keep the order of items.
    unsure
        As of `drfr`.

    Returns
    -------
    ScoreDifferences
        The largest difference first.

    References
    ----------
    As of `tower_score` and `drfr`; that the two are compared is ours.

    Examples
    --------
    >>> found = tower_drfr_differences([1, 0, 0, 1], ["a", "a", "a", "b"], [1, 2, 2, 1])
    >>> found.item, found.difference.round(6).tolist()     # 1/2 - 1/3
    (('a',), [0.166667])
    """
    n = as_count(n, "n")
    answers = as_items(answers, "answers")
    level = _levels(levels, len(answers))
    plain, weighted = (
        followed_by_item(answers, items, np.ones(len(level)), unsure),
        followed_by_item(answers, items, 1.0 / level, unsure),
    )
    gap = weighted.share - plain.share
    order = np.argsort(-np.abs(np.nan_to_num(gap)), kind="stable")
    order = order[np.abs(np.nan_to_num(gap[order])) > 1e-12][:n]
    names = as_ids(items, "items")[0].tolist()
    return ScoreDifferences(
        tuple(names[place] for place in order), plain.share[order], weighted.share[order], gap[order]
    )


def aspect_levels(parents: Mapping[Any, Any]) -> dict[Any, int]:
    """Level of each aspect of one tree from its parent, which is None or "" for a root.

    Parameters
    ----------
    parents : mapping from aspects to aspects
        The parent of each aspect; None or "" for a root.

    Returns
    -------
    dict
        Aspect to level: 1 for a root, 2 for what depends on a root, and so on.

    Raises
    ------
    InvalidInputError
        A parent is not among the aspects, or they depend on one another in a circle.

    References
    ----------
    As of `tower_score`.

    Examples
    --------
    >>> aspect_levels({"poem": None, "lines": "poem", "rhyme": "lines"})
    {'poem': 1, 'lines': 2, 'rhyme': 3}
    """
    parents = {
        name: None if is_missing(parent) else parent
        for name, parent in as_mapping(parents, "parents").items()
    }
    for name, parent in parents.items():
        if not isinstance(parent, Hashable):
            raise InvalidInputError(f"parents: {parent!r} of {name!r} is the name of no aspect")
    found: dict[Any, int] = {}
    for start in parents:
        path: dict[Any, None] = {}
        node = start
        while node not in (None, "") and node not in found:
            if node not in parents:
                raise InvalidInputError(f"parents: unknown parent {node}")
            if node in path:
                names = list(path)
                circle = " -> ".join(map(str, [*names[names.index(node) :], node]))
                raise InvalidInputError(f"parents: cycle {circle}")
            path[node] = None
            node = parents[node]
        level = found.get(node, 0)
        for name in reversed(path):
            level += 1
            found[name] = level
    return {name: found[name] for name in parents}


@dataclass(frozen=True, slots=True, eq=False)
class Followed:
    """Weight of the aspects followed, and of all that count, by item: (n_items,) each."""

    followed: Floats
    total: Floats

    @property
    def share(self) -> Floats:
        """The share of each item; NaN where nothing counts."""
        whole = self.total > 0
        share: Floats = np.divide(
            self.followed, self.total, out=np.full(len(self.total), np.nan), where=whole
        )
        return share


def followed_by_item(given: Floats, items: Any, weights: Floats, unsure: Unsure = "not_followed") -> Followed:
    """What DRFR (every weight 1) and TOWER (1 / level) are ratios of, item by item.

    Examples
    --------
    >>> found = followed_by_item(np.array([1.0, 0.0, np.nan]), [0, 0, 1], np.array([1.0, 0.5, 1.0]))
    >>> found.followed.tolist(), found.total.tolist(), found.share.round(3).tolist()
    ([1.0, 0.0], [1.5, 1.0], [0.667, 0.0])
    """
    check_option(unsure, ("not_followed", "omit"), "unsure")
    known: Booleans = (given == 0) | (given == 1)
    if not (known | np.isnan(given)).all():
        wrong = given[~known & ~np.isnan(given)][0]
        raise InvalidInputError(f"answers: expected 1, 0 or NaN, found {wrong:g}")
    codes, n_items = as_codes(items, "items", len(given))
    counted = weights if unsure == "not_followed" else np.where(np.isnan(given), 0.0, weights)
    return Followed(_sums(codes, np.where(given == 1, weights, 0.0), n_items), _sums(codes, counted, n_items))


def _sums(codes: Integers, weights: Floats, n_items: int) -> Floats:
    sums: Floats = np.bincount(codes, weights=weights, minlength=n_items).astype(np.float64, copy=False)
    return sums


def _levels(levels: ArrayLike, n: int) -> Floats:
    level = as_items(levels, "levels", n)
    if np.isnan(level).any() or (level < 1).any() or (level != np.floor(level)).any():
        raise InvalidInputError("levels: expected whole numbers from 1, the level of a root")
    return level


def _estimate(read: Followed, average: Average, options: Sampling) -> Estimate:
    check_option(average, ("macro", "micro"), "average")
    if average == "micro":
        return ratio_estimate(read.followed, read.total, reason=_NOTHING, **options)
    return mean_estimate(read.share, reason=_NOTHING, **options)

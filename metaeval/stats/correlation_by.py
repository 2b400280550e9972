"""Correlation inside groups: per instruction, per criterion, per scenario, per system."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, Integers, as_items, check_option
from metaeval.stats.correlation import FEWEST, finish_correlation, mean_of_known
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.grouped_correlation import sums_within_groups
from metaeval.stats.ids import as_ids
from metaeval.stats.intervals import Sampling, item_weights, ratio_estimate, resolve, why_none
from metaeval.stats.options import as_count
from metaeval.stats.resampling import Resamples
from metaeval.stats.sharing import with_resamples
from metaeval.stats.weighted_correlation import (
    METHODS,
    Columns,
    Method,
    correlation_of,
    resampled_sums,
    weighted_sums,
)

Aggregate: TypeAlias = Literal["mean", "pooled"]
GroupsAre: TypeAlias = Literal["sampled", "fixed"]

_NO_GROUP = "no group has a correlation"


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, slots=True)
class GroupedCorrelation(Estimate):
    """A correlation inside groups, over all groups; ``n`` counts groups where they are sampled, else items.

    Attributes
    ----------
    names : tuple
        The groups that have an item, sorted.
    values, group_low, group_high : ndarray of float, shape (n_groups,)
        Correlation inside each group; NaN where a side is one value or the items are too few. Intervals of single
        groups only where groups are fixed.
    sizes : ndarray of int, shape (n_groups,)
        Items of each group.
    n_undefined : int
        Groups without a correlation.
    """

    _intervals: ClassVar[Mapping[str, tuple[str, str]]] = {"values": ("group_low", "group_high")}

    names: tuple[Any, ...] = field(default=(), repr=False)
    values: Floats = field(default_factory=_nothing, compare=False, repr=False)
    group_low: Floats = field(default_factory=_nothing, compare=False, repr=False)
    group_high: Floats = field(default_factory=_nothing, compare=False, repr=False)
    sizes: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.intp), compare=False, repr=False)
    n_undefined: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, with the number of groups that have no correlation."""
        return {**Estimate.as_dict(self), "n_undefined": self.n_undefined}


@aligned()
def correlation_by(
    first: ArrayLike,
    second: ArrayLike,
    groups: Any,
    *,
    method: Method = "pearson",
    aggregate: Aggregate = "mean",
    groups_are: GroupsAre = "sampled",
    fewest: int = FEWEST,
    **options: Unpack[Sampling],
) -> GroupedCorrelation:
    """Correlation inside each group, and over the groups.

    Differences between groups take no part in it: that some instructions are easy for all systems makes the
    correlation over all items higher, and this one not.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        An item with NaN in either takes no part.
    groups : array_like of shape (n_items,)
        What each item belongs to: its instruction, criterion, scenario, or system.
    method : {"pearson", "spearman", "kendall"}
    aggregate : {"mean", "pooled"}
        The mean of the groups' correlations, each counting the same; or one correlation from the sums over groups of
        what each is made of: products and squares of deviations from the group's mean (Pearson), of deviations of
        ranks within the group (Spearman), of pairs within groups (Kendall). A large group then counts more, and a
        group with a constant side is in it with the variation of the other.
    groups_are : {"sampled", "fixed"}
        Whether there could have been other groups (instructions) or not (criteria). Sampled groups are resampled
        whole, with their clusters. Of fixed groups the items are resampled, by cluster, and every group's
        correlation is taken anew.
    fewest : int, default 3
        Items that a group must have to have a correlation. Of two items it is -1 or 1.
    **options
        See `metaeval.stats.intervals.Sampling`. Clusters of sampled groups hold whole groups; default: each group by
        itself. Sampling weights of sampled groups are one number a group.

    Returns
    -------
    GroupedCorrelation
        In [-1, 1]; NaN where no group has a correlation.

    Raises
    ------
    InvalidInputError
        For columns of different shapes.

    References
    ----------
    D. Deutsch, G. Foster and M. Freitag, "Ties matter: meta-evaluating modern metrics with pairwise accuracy and tie
    calibration", EMNLP 2023 (correlations by item, by system and without grouping).

    Examples
    --------
    >>> found = correlation_by([1, 2, 3, 1, 2, 3], [1, 2, 3, 2, 1, 3], ["a"] * 3 + ["b"] * 3, n_resamples=200)
    >>> found.value, found.values.tolist(), found.n
    (0.75, [1.0, 0.5], 2)
    """
    check_option(method, METHODS, "method")
    check_option(aggregate, ("mean", "pooled"), "aggregate")
    check_option(groups_are, ("sampled", "fixed"), "groups_are")
    fewest = as_count(fewest, "fewest", 2)
    one, two = as_items(first, "first"), as_items(second, "second")
    if one.shape != two.shape:
        raise InvalidInputError(f"second: expected shape {one.shape}, got {two.shape}")
    distinct, codes = as_ids(groups, "groups", len(one))
    names, n_groups = distinct.tolist(), len(distinct)
    shared = with_resamples(
        options, codes if groups_are == "sampled" else len(one), shared=groups_are == "fixed"
    )
    resamples, mask, confidence = resolve(len(one), shared, weighted=True)
    weights = item_weights(len(one), options)
    weights = np.ones(len(one)) if weights is None else weights
    counted = ~np.isnan(one) & ~np.isnan(two) & (weights > 0)
    if mask is not None:
        counted &= mask
    parts = _Parts(
        one,
        two,
        codes,
        np.where(counted, weights, 0.0),
        n_groups,
        method,
        fewest,
        why_none(_NO_GROUP, options.get("weights")),
    )
    found = (_of_sampled if groups_are == "sampled" else _of_fixed)(parts, aggregate, resamples, confidence)
    return replace(found, names=tuple(names[place] for place in found.names))


@dataclass(frozen=True, slots=True)
class _Parts:
    first: Floats
    second: Floats
    codes: Integers
    weights: Floats
    n_groups: int
    method: Method
    fewest: int
    without: str

    @property
    def counted(self) -> Booleans:
        return self.weights > 0

    @property
    def sizes(self) -> Integers:
        return np.bincount(self.codes[self.counted], minlength=self.n_groups)


def _of_sampled(parts: _Parts, aggregate: str, resamples: Resamples, confidence: float) -> GroupedCorrelation:
    """Groups are drawn whole, so each keeps its correlation: what a group adds stands on its first item."""
    counted = parts.counted
    rows = np.flatnonzero(counted)
    members, codes = (
        parts.codes[rows],
        np.arange(len(counted)) if resamples.codes is None else resamples.codes,
    )
    heads = rows[np.unique(members, return_index=True)[1]]
    head_of = np.zeros(parts.n_groups, dtype=np.intp)
    head_of[parts.codes[heads]] = heads
    if (codes[rows] != codes[head_of[members]]).any():
        raise InvalidInputError("groups: a group lies in several clusters; pass groups_are='fixed'")
    if (parts.weights[rows] != parts.weights[head_of[members]]).any():
        raise InvalidInputError("weights: expected one weight for all items of a sampled group")
    sums = sums_within_groups(parts.first[rows], parts.second[rows], members, parts.n_groups, parts.method)
    values = np.where(parts.sizes >= parts.fewest, correlation_of(sums), np.nan)
    mine = np.zeros(parts.n_groups, dtype=np.bool_)
    mine[members] = True
    known = mine & ~np.isnan(values)
    weights = parts.weights
    if aggregate == "mean":
        top, bottom = np.zeros(len(counted)), np.zeros(len(counted))
        bottom[head_of[known]] = weights[head_of[known]]
        top[head_of[known]] = values[known] * weights[head_of[known]]
        whole: Estimate = ratio_estimate(
            top, bottom, bounds=(-1.0, 1.0), reason=parts.without, resamples=resamples, confidence=confidence
        )
    else:
        columns = np.zeros((len(counted), 3))
        columns[head_of[mine]] = sums[mine] * weights[head_of[mine], np.newaxis]
        there = np.zeros(len(counted), dtype=np.bool_)
        there[head_of[mine]] = True
        totals = resamples.totals(columns) if resamples.n_resamples else np.zeros((0, 3))
        whole = _pooled(columns.sum(axis=0), totals, there, resamples, confidence, parts.without)
    none = np.full(parts.n_groups, np.nan)
    return _result(whole, mine, values, none, none, parts.sizes)


def _of_fixed(parts: _Parts, aggregate: str, resamples: Resamples, confidence: float) -> GroupedCorrelation:
    """Items are drawn, and every group's correlation is taken anew, all groups in the same resamples."""
    asked = [
        Columns(parts.first, parts.second, np.where(parts.codes == group, parts.weights, 0.0))
        for group in range(parts.n_groups)
    ]
    mine = parts.sizes > 0
    sums = np.zeros((parts.n_groups, 3))
    for group in np.flatnonzero(mine):
        sums[group] = weighted_sums(asked[group], parts.method)
    values = np.where(parts.sizes >= parts.fewest, correlation_of(sums), np.nan)
    known = ~np.isnan(values)
    draws = resampled_sums(asked, resamples, parts.method)
    single = correlation_of(draws)
    low, high = np.full(parts.n_groups, np.nan), np.full(parts.n_groups, np.nan)
    for group in np.flatnonzero(known):
        each = finish_correlation(
            float(values[group]), single[:, group], asked[group].weights > 0, resamples, confidence
        )
        low[group], high[group] = each.low, each.high
    if aggregate == "pooled":
        whole = _pooled(
            sums.sum(axis=0), draws.sum(axis=1), parts.counted, resamples, confidence, parts.without
        )
    elif known.any():
        there = parts.counted & known[parts.codes]
        means = mean_of_known(single[:, known].T)
        whole = finish_correlation(float(values[known].mean()), means, there, resamples, confidence)
    else:
        whole = undefined(parts.without)
    return _result(whole, mine, values, low, high, parts.sizes)


def _pooled(
    sums: Floats, totals: Floats, counted: Booleans, resamples: Resamples, confidence: float, without: str
) -> Estimate:
    value = float(correlation_of(sums))
    if np.isnan(value):
        return undefined(without)
    return finish_correlation(value, correlation_of(totals), counted, resamples, confidence)


def _result(
    whole: Estimate, mine: Booleans, values: Floats, low: Floats, high: Floats, sizes: Integers
) -> GroupedCorrelation:
    plain = {each.name: getattr(whole, each.name) for each in fields(Estimate)}
    return GroupedCorrelation(
        **plain,
        names=tuple(np.flatnonzero(mine).tolist()),
        values=values[mine],
        group_low=low[mine],
        group_high=high[mine],
        sizes=sizes[mine],
        n_undefined=int(np.isnan(values[mine]).sum()),
    )

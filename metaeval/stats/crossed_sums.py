"""Figures of labels that are means of one number an item, for other items *and* people like these.

As `metaeval.stats.crossed`, for figures whose score of an item is not a share of modes: a distance from people's mean
rating, a rank correlation with each of them, a match with their majority, a correlation over items. What a label does
to its item is told by putting the labels of the others of the item in its place, one after another; a label that is
alone on its item is compared with those that are alone on others.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from scipy import special

from metaeval.stats.arrays import Floats, Integers
from metaeval.stats.correlation import correlation
from metaeval.stats.crossed import (
    METHOD,
    CrossedScores,
    Crossing,
    between_clusters,
    corrected_effects,
    people_variance,
    two_way_ends,
)
from metaeval.stats.differences import difference_of
from metaeval.stats.errors import warn
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.intervals import Sampling, item_weights, ratio_estimate, resolve, wilson_interval
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import PeopleVariance
from metaeval.stats.weighted_correlation import codes_in_order

# Others whose labels are put in the place of one; of more, the next so many tell enough.
_MOST_OTHERS = 8
Linear: TypeAlias = Literal["pearson", "spearman"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossedSums:
    """A ratio of two sums over items, and what each label does to either.

    Attributes
    ----------
    top, bottom : ndarray of shape (n_items,)
        What each item adds; bottom is 0 where it does not count.
    top_effects : ndarray of shape (n_labels,)
        What a label does to the top of its item (`replaced_effects`).
    bottom_effects : ndarray of shape (n_labels,) or None
        The same of the bottom; None where labels do nothing to it.
    is_curved : bool
        Whether the figure is no mean over labels, but a curve of one: of a distance from a mean, of a majority. With a
        handful of people that costs a degree of freedom.
    """

    top: Floats
    bottom: Floats
    top_effects: Floats
    bottom_effects: Floats | None = None
    is_curved: bool = False

    @property
    def mean(self) -> Floats:
        """Of each item, NaN where it does not count."""
        return np.where(self.bottom > 0, self.top / np.where(self.bottom > 0, self.bottom, 1.0), np.nan)

    def scaled(self, factor: float, shift: float = 0.0) -> "CrossedSums":
        """Of the figure times a factor, plus a shift."""
        below = self.bottom_effects
        top_effects = factor * self.top_effects + (0.0 if below is None else shift * below)
        return replace(self, top=factor * self.top + shift * self.bottom, top_effects=top_effects)

    def times(self, weights: Floats, crossing: Crossing) -> "CrossedSums":
        """Of the same figure where an item counts as often as its weight says."""
        of_labels = weights[crossing.item]
        below = None if self.bottom_effects is None else of_labels * self.bottom_effects
        top, bottom = weights * self.top, weights * self.bottom
        return replace(
            self, top=top, bottom=bottom, top_effects=of_labels * self.top_effects, bottom_effects=below
        )

    def among(self, items: Integers, labels: Integers) -> "CrossedSums":
        """Those of some items, and of the labels of these."""
        below = None if self.bottom_effects is None else self.bottom_effects[labels]
        return replace(
            self,
            top=self.top[items],
            bottom=self.bottom[items],
            top_effects=self.top_effects[labels],
            bottom_effects=below,
        )

    def effects_at(self, value: float) -> Floats:
        """What each label does to top minus the figure times bottom, of its item."""
        if self.bottom_effects is None:
            return self.top_effects
        return self.top_effects - value * self.bottom_effects


def others_of(item: Integers, most: int | None = None) -> Iterator[tuple[Integers, Integers]]:
    """(labels, another label of the same item each), until every label has met all others, or so many.

    Examples
    --------
    >>> [(one.tolist(), two.tolist()) for one, two in others_of(np.array([0, 1, 0, 0]))]
    [([0, 2, 3], [2, 3, 0]), ([0, 2, 3], [3, 0, 2])]
    """
    order = np.argsort(item, kind="stable")
    size = np.bincount(item)[item[order]] if len(item) else np.zeros(0, dtype=np.intp)
    start = np.searchsorted(item[order], item[order])
    place = np.arange(len(item)) - start
    last = int(size.max(initial=1)) - 1
    for step in range(1, (last if most is None else min(last, most)) + 1):
        rows = np.flatnonzero(size > step)
        yield order[rows], order[start[rows] + (place[rows] + step) % size[rows]]


def mean_with_others(item: Integers, kernel: Callable[[Integers, Integers], Floats]) -> Floats:
    """The mean of a kernel of each label and every other of its item, NaN taking no part: (n_labels,)."""
    total, count = np.zeros((2, len(item)))
    for one, two in others_of(item):
        found = kernel(one, two)
        known = ~np.isnan(found)
        total[one] += np.where(known, found, 0.0)
        count[one] += known
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def replaced_effects(
    score: Floats, crossing: Crossing, after: Callable[[Integers, Integers], Floats]
) -> Floats:
    """What each label does to the score of its item: the score minus its mean with others' labels in its place.

    Parameters
    ----------
    score : ndarray of shape (n_items,)
    crossing : Crossing
        Who gave which label.
    after : callable
        ``after(labels, others)``: the score of the items of some labels if each of these were as another of its item.
    """
    item = crossing.item
    total, count = np.zeros((2, len(item)))
    for one, two in others_of(item, _MOST_OTHERS):
        total[one] += after(one, two)
        count[one] += 1
    effects = score[item] - total / np.maximum(count, 1)
    # They add up to 0 within an item, so each is measured against the others.
    return corrected_effects(effects, np.where(count > 0, -1.0, 0.0), crossing)


def mean_effects(values: Floats, crossing: Crossing, n_items: int) -> tuple[Floats, Floats]:
    """(mean of each item, effect of each label) of a score that each label has by itself; NaN takes no part.

    Examples
    --------
    >>> crossing = Crossing.of(np.array([0, 0, 1]), np.array([0, 1, 0]))
    >>> mean_effects(np.array([1.0, 0.0, 1.0]), crossing, 2)[0].tolist()
    [0.5, 1.0]
    """
    item, known = crossing.item, ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    count = np.bincount(item, weights=known, minlength=n_items)[item]
    total = np.bincount(item, weights=filled, minlength=n_items)
    others = (total[item] - filled) / np.maximum(count - 1, 1)
    effects = np.where(known, np.where(count > 1, filled - others, filled) / np.maximum(count, 1), 0.0)
    number = np.bincount(item, weights=known, minlength=n_items)
    mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean, corrected_effects(effects, np.where(count > 1, -1.0, 0.0), crossing)


def pair_effects(with_others: Floats, crossing: Crossing, n_items: int) -> tuple[Floats, Floats]:
    """(mean of each item, effect of each label) of a mean over pairs of labels, from each label's mean with the others.

    A pair is of two people, so what one does moves the others' means too. Of three and more labels that cancels
    within the item; of two labels both have the whole of the pair.
    """
    item, known = crossing.item, ~np.isnan(with_others)
    filled = np.where(known, with_others, 0.0)
    total = np.bincount(item, weights=filled, minlength=n_items)
    number = np.bincount(item, weights=known, minlength=n_items)
    count = number[item]
    others = (total[item] - filled) / np.maximum(count - 1, 1)
    many = (count - 1) / np.maximum(count - 2, 1) * (filled - others)
    effects = np.where(known, 2 / np.maximum(count, 1) * np.where(count > 2, many, filled), 0.0)
    mean = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return mean, corrected_effects(effects, np.where(count > 2, -1.0, 1.0), crossing)


def others_mean_effects(
    values: Floats, crossing: Crossing, n_items: int, score: Callable[[Floats], Floats]
) -> tuple[Floats, Floats]:
    """(mean of each item, effect of each label) of a score of how far a rating is from the mean of the others.

    A label that is replaced moves what the others of its item are compared with too.

    Examples
    --------
    >>> crossing = Crossing.of(np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]))
    >>> others_mean_effects(np.array([1.0, 1.0, 4.0, 2.0]), crossing, 2, np.asarray)[0].tolist()
    [2.0, nan]
    """
    known = ~np.isnan(values)
    known &= np.bincount(crossing.item, weights=known, minlength=n_items)[crossing.item] > 1
    item, value = crossing.item[known], values[known]
    total, count = (np.bincount(item, weights=w, minlength=n_items) for w in (value, np.ones(len(item))))
    of_others = np.maximum(count - 1, 1)[item]
    each = score(np.abs(value - (total[item] - value) / of_others))
    mean = np.bincount(item, weights=each, minlength=n_items) / np.where(count > 0, count, np.nan)
    peers = [_peer(len(item), *pair) for pair in others_of(item)]

    def after(one: Integers, two: Integers) -> Floats:
        moved, n = total[item[one]] - value[one] + value[two], of_others[one]
        found = score(np.abs(value[two] - (moved - value[two]) / n))
        for peer in peers:
            other = value[peer[one]]
            found = found + np.where(peer[one] >= 0, score(np.abs(other - (moved - other) / n)), 0.0)
        mean_after: Floats = found / (n + 1)
        return mean_after

    effects = np.zeros(len(values))
    effects[known] = replaced_effects(mean, Crossing.of(item, crossing.person[known]), after)
    return mean, effects


def _peer(n_labels: int, one: Integers, two: Integers) -> Integers:
    """Another label of the item of each; -1 for none."""
    found = np.full(n_labels, -1, dtype=np.intp)
    found[one] = two
    return found


def sums_variance(
    sums: CrossedSums, value: float, crossing: Crossing, weights: Floats, resamples: Resamples
) -> PeopleVariance:
    """The variance that a ratio of sums has because these people labeled and not others like them."""
    effects = sums.effects_at(value)
    whole = float((weights * sums.bottom).sum())
    moved = np.bincount(crossing.item, weights=np.abs(effects), minlength=len(weights)) > 0
    labelled = np.bincount(crossing.item, minlength=len(weights)) > 0
    each = np.where(labelled & (moved | (sums.bottom > 0)), weights, 0.0)
    # Effects on the sums, as those on the mean of scores that weigh `each`.
    scores = CrossedScores(sums.top, effects * (each.sum() / whole))
    found = people_variance(scores, crossing, each, resamples)
    return curved(found) if sums.is_curved else found


def curved(people: PeopleVariance) -> PeopleVariance:
    """Of a figure that is no mean over labels."""
    return replace(people, freedom=max(1.0, min(people.freedom, people.worth - 2)))


def sums_estimate(
    sums: CrossedSums,
    crossing: Crossing,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    reason: str = "no item counts",
    **options: Unpack[Sampling],
) -> Estimate:
    """A ratio of sums with an interval for other items *and* people like these.

    Parameters
    ----------
    sums, crossing
        The figure's, and who gave which label.
    bounds : (float, float)
        Its range.
    reason : str
        Said when no item counts.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        As of `metaeval.stats.crossed.crossed_estimate`.

    References
    ----------
    As of `metaeval.stats.crossed.crossed_estimate`.

    Examples
    --------
    >>> item, person = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    >>> crossing = Crossing.of(item, person)
    >>> mean, effects = mean_effects(((item + person) % 3 > 0).astype(float), crossing, 60)
    >>> found = sums_estimate(CrossedSums(mean, np.ones(60), effects), crossing)
    >>> round(found.value, 3), found.method
    (0.667, 'two-way')
    """
    fixed = ratio_estimate(sums.top, sums.bottom, bounds=bounds, reason=reason, **options)
    if not fixed.defined or fixed.method == "none":
        return fixed
    n_items = len(sums.top)
    resamples, mask, confidence = resolve(n_items, options, weighted=True)
    given = item_weights(n_items, options)
    weights = np.ones(n_items) if given is None else given
    weights = weights if mask is None else np.where(mask, weights, 0.0)
    people = sums_variance(sums, fixed.value, crossing, weights, resamples)
    if people.reason is not None:
        return of_others_unknown(fixed, people.reason)
    width = bounds[1] - bounds[0]
    of_items = between_clusters(fixed.value, sums.mean, weights * sums.bottom, resamples)
    variance, freedom = people.total(*of_items)
    share = (fixed.value - bounds[0]) / width
    low, high = two_way_ends(share, variance / width**2, freedom, fixed.n_clusters, people, confidence)
    return Estimate(
        fixed.value,
        min(bounds[0] + width * low, fixed.low),
        max(bounds[0] + width * high, fixed.high),
        fixed.n,
        fixed.n_clusters,
        METHOD,
    )


def difference_sums(first: CrossedSums, second: CrossedSums, crossing: Crossing) -> CrossedSums:
    """The sums of a difference on the items that both count, which weigh what the bottom of the first says.

    Examples
    --------
    >>> one, two = (CrossedSums(np.array([top, 0.0]), np.array([2.0, 0.0]), np.zeros(1)) for top in (2.0, 1.0))
    >>> difference_sums(one, two, Crossing.of(np.array([0]), np.array([0]))).mean.tolist()
    [0.5, nan]
    """
    both = (first.bottom > 0) & (second.bottom > 0)
    size = np.where(both, first.bottom, 0.0)
    top = np.where(both, np.nan_to_num(first.mean - second.mean), 0.0) * size
    below = first.bottom_effects
    # Of a divided question neither judge has a score; a label that decides it moves both. An item that counts for one
    # side only takes no part: a label that is alone there compares with no other.
    alone = ((first.bottom > 0) != (second.bottom > 0))[crossing.item]
    effects = np.where(alone, 0.0, first.top_effects - second.top_effects)
    below = None if below is None else np.where(alone, 0.0, below)
    return CrossedSums(top, size, effects, below, first.is_curved or second.is_curved)


def sums_difference(
    first: CrossedSums,
    second: CrossedSums,
    crossing: Crossing,
    *,
    people: Literal["fixed", "sampled"] = "sampled",
    bounds: tuple[float, float] = (0.0, 1.0),
    critical: float | None = None,
    **options: Unpack[Sampling],
) -> PairedDifference:
    """The difference of two figures of the same labels on the items that both count.

    Parameters
    ----------
    first, second : CrossedSums
        Items weigh what the bottom of the first says.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items.
    bounds, crossing, **options
        As of `sums_estimate`; the bounds are those of each figure.
    critical : float, optional
        As of `metaeval.stats.differences.paired_difference`.

    Returns
    -------
    PairedDifference
        NaN ends with fewer than five people where these are sampled.
    """
    sums = difference_sums(first, second, crossing)
    size = sums.bottom
    given = item_weights(len(size), options)
    options["weights"] = size if given is None else size * given
    _, mask, _ = resolve(len(size), options, weighted=True)
    plain = np.ones(len(size)) if given is None else given
    plain = plain if mask is None else np.where(mask, plain, 0.0)
    one, two = first.mean, second.mean

    def between_people(weights: Floats, found: Resamples) -> PeopleVariance:
        value = float((weights * np.nan_to_num(one - two)).sum() / weights.sum())
        spread = sums_variance(sums, value, crossing, plain, found)
        width = bounds[1] - bounds[0]
        return spread if spread.reason is not None else spread.scaled(1 / width**2)

    return difference_of(
        one,
        two,
        bounds=bounds,
        critical=critical,
        people=between_people if people == "sampled" else None,
        **options,
    )


def crossed_correlation(
    ratings: Floats,
    target: Floats,
    after: Callable[[Integers, Integers], Floats],
    crossing: Crossing,
    *,
    method: Linear = "pearson",
    fixed: Estimate | None = None,
    **options: Unpack[Sampling],
) -> Estimate:
    """The correlation of a judge's ratings with people's means, for other items *and* people like these.

    Parameters
    ----------
    ratings, target : ndarray of shape (n_items,)
        The judge's ratings, and people's means; NaN in either takes no part.
    after : callable
        ``after(labels, others)``: the target of the items of some labels if each were as another of its item.
    crossing : Crossing
        Who gave which label.
    method : {"pearson", "spearman"}
    fixed : Estimate, optional
        The same correlation for these people, where it is known already.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        On Fisher's scale, as `metaeval.stats.correlation`, with the variance between people added; never narrower.

    Notes
    -----
    A label moves the correlation by the derivative with respect to its item's target (Pearson), or to all items' ranks
    if it takes another place among them (Spearman).
    """
    if fixed is None:
        fixed = correlation(ratings, target, method=method, **options)
    if not fixed.defined or math.isnan(fixed.low):
        return fixed
    resamples, mask, confidence = resolve(len(ratings), options, weighted=True)
    given = item_weights(len(ratings), options)
    counted = ~np.isnan(ratings) & ~np.isnan(target)
    counted = counted if mask is None else counted & mask
    weights = np.where(counted, 1.0 if given is None else given, 0.0)
    score = influence(ratings, target, weights, fixed.value, method)
    effects = replaced_effects(
        score(np.arange(len(target)), target),
        crossing,
        lambda one, two: score(crossing.item[one], after(one, two)),
    )
    effects = np.where(weights[crossing.item] > 0, np.nan_to_num(effects), 0.0)
    people = people_variance(
        CrossedScores(target, effects * float(weights.sum())), crossing, weights, resamples
    )
    if people.reason is not None:
        return of_others_unknown(fixed, people.reason)
    people = curved(people)
    if fixed.method != "fisher":
        ends = wilson_interval((1 + fixed.value) / 2, min(fixed.n_clusters or 1, people.n_people), confidence)
        low, high = 2 * ends[0] - 1, 2 * ends[1] - 1
    elif fixed.high >= 1:  # so few clusters that the interval ends where floats do
        low, high = fixed.low, fixed.high
    else:
        centre, clusters = math.atanh(fixed.value), float(max(1, (fixed.n_clusters or 2) - 1))
        tail = (1 + confidence) / 2
        error = (math.atanh(fixed.high) - centre) / float(special.stdtrit(clusters, tail))
        slope = 1 / (1 - fixed.value**2)
        variance, freedom = people.scaled(slope**2).total(error**2, clusters)
        reach = float(special.stdtrit(freedom, tail)) * math.sqrt(variance)
        low, high = math.tanh(centre - reach), math.tanh(centre + reach)
    return Estimate(
        fixed.value, min(low, fixed.low), max(high, fixed.high), fixed.n, fixed.n_clusters, METHOD
    )


def influence(
    ratings: Floats, target: Floats, weights: Floats, value: float, method: Linear
) -> Callable[[Integers, Floats], Floats]:
    """What a correlation has of items whose targets are some numbers, up to a constant an item, per unit of weight."""
    counted = weights > 0
    size = weights[counted]
    sides = ratings[counted], target[counted]
    if method == "spearman":
        sides = _ranks(sides[0], size), _ranks(sides[1], size)
    one, two = (side - (size * side).sum() / size.sum() for side in sides)
    first, second = float((size * one**2).sum()), float((size * two**2).sum())
    pull = np.zeros(len(ratings))
    pull[counted] = one / math.sqrt(first * second) - value * two / second
    if method == "pearson":
        return lambda items, moved: pull[items] * moved
    # Values that differ in their last bits are equal, wherever they were added up.
    grain = 1e-9 * max(1.0, float(np.abs(target[counted]).max()))
    order = np.argsort(target[counted], kind="stable")
    ordered = target[counted][order]
    below = np.r_[0.0, np.cumsum(size[order])]
    pulled = np.r_[0.0, np.cumsum((size * pull[counted])[order])]

    def score(items: Integers, moved: Floats) -> Floats:
        ends = (
            np.searchsorted(ordered, moved - grain, side="left"),
            np.searchsorted(ordered, moved + grain, side="right"),
        )
        rank, drawn = (sum(sums[end] for end in ends) / 2 for sums in (below, pulled))
        found: Any = pull[items] * rank - drawn
        return np.asarray(found, dtype=np.float64)

    return score


def _ranks(values: Floats, weights: Floats) -> Floats:
    """Average ranks of weighted values, up to a constant."""
    code = codes_in_order(values)
    sizes = np.bincount(code, weights=weights)
    ranks: Floats = (np.cumsum(sizes) - sizes / 2)[code]
    return ranks


def of_others_unknown(fixed: Estimate, reason: str) -> Estimate:
    warn(reason)
    return Estimate(fixed.value, math.nan, math.nan, fixed.n, fixed.n_clusters, reason=reason)

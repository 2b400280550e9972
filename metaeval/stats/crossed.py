"""Intervals that speak of other people as well as of other items: people are crossed with items, and both are a sample.

An interval that resamples items only speaks of *these* people on other items. To speak of people like these it needs
the variance between people too: how far each moves the figure (`metaeval.stats.label_effects`), summed over the items
that this person labeled. What a person does on one item only is in the variance between items already, and is counted
once: V = V(items) + V(people) - V(items and people).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_floats, as_items, as_rows
from metaeval.stats.differences import difference_of
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import Sampling, item_weights, ratio_estimate, resolve, wilson_interval
from metaeval.stats.options import as_count
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import NOTHING_VARIES, PeopleVariance, ratio_spread, variance_freedom

METHOD = "two-way"
People: TypeAlias = Literal["fixed", "sampled"]
PEOPLE = ("fixed", "sampled")
# The fewest people, and the fewest people of equal workload that theirs are worth, from whom others can be spoken of.
FEWEST_PEOPLE = 5
_FEWEST_WORTH = 4.0
# The largest table of people by clusters worth having.
MOST_CELLS = 20_000_000
TOO_FEW = "too few annotators to speak of others: {n}, and {least} are needed"
TOO_UNEVEN = (
    "too few annotators to speak of others: {n}, whose workloads are worth {worth:.1f} of equal workload"
)
NO_EFFECTS = "not known for others: this convention has no exact scores of labels"


@dataclass(frozen=True, eq=False)
class Crossing:
    """Who gave which label.

    Attributes
    ----------
    item, person : ndarray of shape (n_labels,)
        Numbers from 0 on.
    portion : ndarray of shape (n_labels,)
        The share of a label in its item; one over the number of the item's labels unless labels have weights.
    worth : float
        How many people of equal workload they are worth (Kish).
    """

    item: Integers
    person: Integers
    portion: Floats
    worth: float

    @classmethod
    def of(cls, item: Integers, person: Integers, portion: Floats | None = None) -> "Crossing":
        """Of labels, which by default weigh the same within an item."""
        if portion is None:
            portion = 1.0 / np.bincount(item)[item] if len(item) else np.zeros(0)
        return cls(item, person, portion, _worth(np.bincount(person, weights=portion)))

    @cached_property
    def is_once(self) -> bool:
        """Whether nobody labelled an item twice."""
        width = int(self.person.max(initial=0)) + 1
        pairs = self.item * width + self.person
        if (int(self.item.max(initial=0)) + 1) * width <= MOST_CELLS // 10:
            return int(np.bincount(pairs).max(initial=0)) <= 1
        return len(np.unique(pairs)) == len(pairs)

    def among(self, labels: Integers, item: Integers) -> "Crossing":
        """Some of the labels, whose items have these numbers there; what they are worth is said of all."""
        return Crossing(item, self.person[labels], self.portion[labels], self.worth)


@dataclass(frozen=True, slots=True, eq=False)
class CrossedScores:
    """A figure's score of each item, and what each label does to it. Subtract two for the scores of a difference.

    Attributes
    ----------
    items : ndarray of shape (n_items,)
        NaN where an item does not count.
    labels : ndarray of shape (n_labels,)
        What a label does to its item's score, corrected for what the others of the item do to that; NaN where the
        figure does not tell.
    """

    items: Floats
    labels: Floats

    def __sub__(self, other: "CrossedScores") -> "CrossedScores":
        return CrossedScores(self.items - other.items, self.labels - other.labels)

    def among(self, items: Integers, labels: Integers) -> "CrossedScores":
        """Those of some items, and of the labels of these."""
        return CrossedScores(self.items[items], self.labels[labels])


def corrected_effects(effects: Floats, others: Floats, crossing: Crossing) -> Floats:
    """Effects of labels, corrected for the part that the others of the item have in them.

    The same people meet again and again. Where the effect of one is measured against the others, as it is where the
    effects of an item add up to 0, everyone's sum is too large by one over the number of the others.

    Parameters
    ----------
    effects : ndarray of shape (n_labels,)
        A label's effect on the score of its item, as replacing it shows it (`metaeval.stats.label_effects`).
    others : ndarray of shape (n_labels,)
        What all others of the item together do to that effect, per unit of what the person does: -1 where it is
        measured against them.
    """
    corrected: Floats = effects / (1.0 - others / max(2.0, crossing.worth - 1))
    return corrected


def people_variance(
    scores: CrossedScores, crossing: Crossing, weights: Floats, resamples: Resamples
) -> PeopleVariance:
    """The variance that a figure has because these people labeled and not others like them.

    Parameters
    ----------
    scores, crossing
        The figure's, and who gave which label.
    weights : ndarray of shape (n_items,)
        What each item weighs, 0 where it does not count.
    resamples : Resamples
        Whose clusters are those of the items.
    """
    each = (weights / weights.sum())[crossing.item]
    used = each > 0
    item, person, portion, labels = crossing.item, crossing.person, crossing.portion, scores.labels
    if not used.all():
        item, person, portion, labels, each = (part[used] for part in (item, person, portion, labels, each))
    load = np.bincount(person, weights=each * portion)
    n, worth = int(np.count_nonzero(load)), _worth(load)
    if n < FEWEST_PEOPLE:
        return PeopleVariance(math.nan, n, reason=TOO_FEW.format(n=n, least=FEWEST_PEOPLE))
    if worth < _FEWEST_WORTH:
        return PeopleVariance(math.nan, n, reason=TOO_UNEVEN.format(n=n, worth=worth))
    if np.isnan(labels).any():
        return PeopleVariance(math.nan, n, reason=NO_EFFECTS)
    effects = each * _centred(labels, each, np.bincount(item)[item])
    whole = np.bincount(person, weights=effects)
    # What all people together do is no difference between them: each is compared with their share of it.
    squares = (whole - load * whole.sum()) ** 2
    cluster = item if resamples.codes is None else resamples.codes[item]
    cells, in_cluster = _cells(
        effects, cluster, person, resamples.n_clusters, once=resamples.codes is None and crossing.is_once
    )
    shared = np.bincount(cluster, weights=effects * load[person], minlength=resamples.n_clusters)
    within = cells - 2 * in_cluster * shared + in_cluster**2 * float((load**2).sum())
    # What the comparison with their share leaves of people who vary: (n - 1) / n where all have labelled as much.
    second, third = float((load**2).sum()), float((load**3).sum())
    factor = second / (second - 2 * third + second**2)
    return PeopleVariance(
        max(0.0, factor * float(squares.sum() - within.sum())),
        n,
        factor * float(squares.sum()),
        factor * float(within.sum()),
        min(variance_freedom(_worth(squares), n), worth - 1),
        max(1.0, _worth(within)),
        worth=worth,
    )


def _worth(parts: Any) -> float:
    """How many equal parts these are worth."""
    squares = float((parts**2).sum())
    return float(parts.sum()) ** 2 / squares if squares > 0 else 0.0


def _cells(
    effects: Floats, cluster: Integers, person: Integers, n_clusters: int, *, once: bool
) -> tuple[Any, Any]:
    """By cluster: (the sum over people of their squared effects in it, the sum of all effects in it).

    ``once``: nobody has two labels in a cluster.
    """
    if once:
        squares = np.bincount(cluster, weights=effects * effects, minlength=n_clusters)
        return squares, np.bincount(cluster, weights=effects, minlength=n_clusters)
    width = int(person.max()) + 1
    keys = cluster * width + person
    if n_clusters * width <= MOST_CELLS:
        cells = np.bincount(keys, weights=effects, minlength=n_clusters * width).reshape(n_clusters, width)
        return (cells**2).sum(axis=1), cells.sum(axis=1)
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, weights=effects)
    of = distinct // width
    return np.bincount(of, weights=sums**2, minlength=n_clusters), np.bincount(
        of, weights=sums, minlength=n_clusters
    )


def _centred(effects: Floats, each: Floats, size: Integers) -> Floats:
    """Minus their mean among items of as many labels: it says nothing of people."""
    whole = np.bincount(size, weights=each)
    mean = np.bincount(size, weights=each * effects) / np.maximum(whole, 1e-300)
    centred: Floats = effects - mean[size]
    return centred


def crossed_estimate(
    scores: CrossedScores, crossing: Crossing, *, reason: str = "no item counts", **options: Unpack[Sampling]
) -> Estimate:
    """The mean of the items' scores, in [0, 1], with an interval for other items *and* people like these.

    Parameters
    ----------
    scores : CrossedScores
        What `metaeval.stats.leave_one_out.LeaveOneOut` gives, say.
    crossing : Crossing
        Who gave which label.
    reason : str
        Said when no item counts.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        ``method`` is ``"two-way"``: Wilson's interval with the sample size that the variance is worth and Student's
        quantile with Satterthwaite's degrees of freedom, never narrower than that of these people. Where nothing
        varies each person is one piece of evidence. With fewer than five people there is no interval.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust inference with multiway clustering", J. Bus. Econ. Stat. 29
    (2011); B. Efron and C. Stein, "The jackknife estimate of variance", Ann. Statist. 9 (1981); F. E. Satterthwaite,
    Biometrics Bulletin 2 (1946).
    """
    counted = ~np.isnan(scores.items)
    fixed = ratio_estimate(
        np.where(counted, scores.items, 0.0), counted.astype(np.float64), reason=reason, **options
    )
    if not fixed.defined or fixed.method == "none":
        return fixed
    resamples, mask, confidence = resolve(len(counted), options, weighted=True)
    given = item_weights(len(counted), options)
    weights = np.where(counted if mask is None else counted & mask, 1.0 if given is None else given, 0.0)
    people = people_variance(scores, crossing, weights, resamples)
    if people.reason is not None:
        warn(people.reason)
        return Estimate(fixed.value, math.nan, math.nan, fixed.n, fixed.n_clusters, reason=people.reason)
    share = min(1.0, max(0.0, fixed.value))
    variance, freedom = people.total(*between_clusters(share, scores.items, weights, resamples))
    low, high = two_way_ends(share, variance, freedom, fixed.n_clusters, people, confidence)
    return Estimate(
        fixed.value, min(low, fixed.low), max(high, fixed.high), fixed.n, fixed.n_clusters, METHOD
    )


def two_way_ends(
    share: float,
    variance: float,
    freedom: float,
    n_clusters: int | None,
    people: PeopleVariance,
    confidence: float,
) -> tuple[float, float]:
    """Wilson's interval of a share with the sample size that its variance is worth, by Student's quantile.

    Where nothing varies each person is one piece of evidence.
    """
    if variance <= NOTHING_VARIES or share in (0.0, 1.0):
        size = float(min(n_clusters or 1, people.n_people))
    else:
        tail = (1 + confidence) / 2
        doubt = float(special.stdtrit(freedom, tail) / special.ndtri(tail)) ** 2
        size = max(1.0, share * (1 - share) / (variance * doubt))
    return wilson_interval(share, size, confidence)


def between_clusters(
    value: float, items: Floats, weights: Floats, resamples: Resamples
) -> tuple[float, float]:
    """(variance of a weighted mean between clusters of items, its degrees of freedom)."""
    share = weights / weights.sum()
    off = np.where(share > 0, items - value, 0.0) * share
    rows = resamples.cluster_totals(np.stack([off, share], axis=1))
    spread = ratio_spread(rows[:, 0], rows[:, 1])
    return spread.variance, variance_freedom(spread.carriers, int(np.count_nonzero(rows[:, 1])))


def crossed_difference(
    first: CrossedScores,
    second: CrossedScores,
    crossing: Crossing,
    *,
    critical: float | None = None,
    **options: Unpack[Sampling],
) -> PairedDifference:
    """The difference of two figures of the same labels, with an interval for other items *and* people like these.

    Parameters
    ----------
    first, second : CrossedScores
        Scores in [0, 1]; an item with NaN in either takes no part.
    crossing, **options
        As of `crossed_estimate`.
    critical : float, optional
        As of `metaeval.stats.differences.paired_difference`.

    Returns
    -------
    PairedDifference
        That of `paired_difference` with the variance between people added; NaN ends with fewer than five people.
    """
    scores = first - second

    def between_people(weights: Floats, resamples: Resamples) -> PeopleVariance:
        return people_variance(scores, crossing, weights, resamples)

    return difference_of(
        first.items, second.items, bounds=(0.0, 1.0), critical=critical, people=between_people, **options
    )


@aligned(rows=("item", "scores", "annotator", "shares"))
def crossed_mean_estimate(
    scores: ArrayLike,
    item: ArrayLike,
    annotator: ArrayLike,
    *,
    n_items: int | None = None,
    shares: ArrayLike | None = None,
    reason: str = "no label counts",
    **options: Unpack[Sampling],
) -> Estimate:
    """Mean of a score in [0, 1] over labels, with an interval for other items *and* other people.

    The score of a label must not depend on other people's labels. Leave-one-out agreement does, and has functions of
    its own: `leave_one_out_agreement` with ``people="sampled"``.

    Parameters
    ----------
    scores : array_like of shape (n_labels,)
        NaN takes no part.
    item, annotator : array_like of shape (n_labels,)
        Row numbers of the items from 0 on, and any ids of the people.
    n_items : int, optional
        How many items there are, those without a label included. Default: the largest row number and one.
    shares : array_like of shape (n_labels,), optional
        What a label weighs; one over the number of its item's labels makes the figure a mean over items. Default 1.
    reason : str
        Said when no label counts.
    **options
        See `metaeval.stats.intervals.Sampling`; ``clusters``, ``where`` and ``weights`` are those of the items.

    Returns
    -------
    Estimate
        As of `crossed_estimate`. ``n`` counts items.

    Raises
    ------
    InvalidInputError
        For scores outside of 0 to 1, and row numbers beyond the items.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust inference with multiway clustering", J. Bus. Econ. Stat. 29
    (2011); B. Efron and C. Stein, "The jackknife estimate of variance", Ann. Statist. 9 (1981); F. E. Satterthwaite,
    Biometrics Bulletin 2 (1946).

    Examples
    --------
    >>> item, annotator = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
    >>> found = crossed_mean_estimate((item + annotator) % 3 > 0, item, annotator)
    >>> round(found.value, 3), found.method, found.low < 0.65 < 0.68 < found.high
    (0.667, 'two-way', True)
    """
    score = as_floats(scores, "scores")
    if score.ndim != 1 or ((score < 0) | (score > 1)).any():
        raise InvalidInputError("scores: expected one number a label between 0 and 1, or NaN")
    items, people = as_rows(item, "item", len(score)), as_codes(annotator, "annotator", len(score))[0]
    size = int(items.max(initial=-1)) + 1 if n_items is None else as_count(n_items, "n_items")
    if len(items) and items.max() >= size:
        raise InvalidInputError(f"item: expected row numbers below {size} (n_items), got {items.max()}")
    label = np.ones(len(score)) if shares is None else as_items(shares, "shares", len(score))
    counted = ~np.isnan(score) & (label > 0)
    items, people, score, label = items[counted], people[counted], score[counted], label[counted]
    bottom = np.bincount(items, weights=label, minlength=size)
    # Items weigh what their labels do, so a label's part in its item is its share of that.
    mean = np.where(
        bottom > 0,
        np.bincount(items, weights=label * score, minlength=size) / np.maximum(bottom, 1e-300),
        np.nan,
    )
    given = options.get("weights")
    options["weights"] = bottom if given is None else bottom * as_items(given, "weights", size)
    portion = label / bottom[items]
    overall = float((label * score).sum() / label.sum()) if len(score) else math.nan
    found = CrossedScores(mean, portion * (score - overall))
    return crossed_estimate(found, Crossing.of(items, people, portion), reason=reason, **options)

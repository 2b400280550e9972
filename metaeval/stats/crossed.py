"""Means over labels when people are a sample too: items and people are crossed, and both are resampled.

An interval that resamples items only speaks of *these* people on other items. To speak of other people as well, each
resample draws items and people independently of one another, and a label counts as often as its item was drawn times
as often as its person was: Owen's pigeonhole bootstrap. No bootstrap is exact for crossed data; this one errs on the
wide side, as what items and people do jointly is counted up to three times.
"""

import math
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_floats, as_items, as_rows, generator
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import (
    Sampling,
    clusters_counted,
    item_weights,
    resolve,
    why_none,
    wilson_interval,
)
from metaeval.stats.options import as_count
from metaeval.stats.resampling import Resamples

METHOD = "pigeonhole"
_NOTHING_VARIES = 1e-14


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
        ``method`` is ``"pigeonhole"``. ``n`` counts items. The interval is Wilson's with the sample size that
        the resampled variance is worth, and Student's quantile with Satterthwaite's degrees of freedom, since a
        handful of people say little about how much people vary. With one person there is no interval.

    References
    ----------
    A. B. Owen, "The pigeonhole bootstrap", Ann. Appl. Stat. 1 (2007); A. B. Owen and D. Eckles, "Bootstrapping data
    arrays of arbitrary order", Ann. Appl. Stat. 6 (2012).

    Examples
    --------
    >>> item, annotator = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    >>> found = crossed_mean_estimate((item + annotator) % 3 > 0, item, annotator)
    >>> round(found.value, 3), found.method, found.low < 0.65 < 0.68 < found.high
    (0.667, 'pigeonhole', True)
    """
    score = as_floats(scores, "scores")
    if score.ndim != 1 or ((score < 0) | (score > 1)).any():
        raise InvalidInputError("scores: expected one number a label between 0 and 1, or NaN")
    items, people = as_rows(item, "item", len(score)), as_codes(annotator, "annotator", len(score))[0]
    size = int(items.max(initial=-1)) + 1 if n_items is None else as_count(n_items, "n_items")
    if len(items) and items.max() >= size:
        raise InvalidInputError(f"item: expected row numbers below {size} (n_items), got {items.max()}")
    resamples, mask, confidence = resolve(size, options, weighted=True)
    weights = item_weights(size, options)
    label = np.ones(len(score)) if shares is None else as_items(shares, "shares", len(score)).copy()
    if weights is not None:
        label *= weights[items]
    counted = ~np.isnan(score) & (label > 0)
    if mask is not None:
        counted &= mask[items]
    if not counted.any():
        return undefined(why_none(reason, weights))
    items, people, score, label = items[counted], people[counted], score[counted], label[counted]
    people = np.unique(people, return_inverse=True)[1]
    shape = (size, int(people.max()) + 1)
    bottom = sparse.csr_array((label, (items, people)), shape=shape)
    top = sparse.csr_array((label * score, (items, people)), shape=shape)
    value = float(top.sum() / bottom.sum())
    taking_part = np.bincount(items, minlength=size) > 0
    n, n_clusters = int(taking_part.sum()), clusters_counted(taking_part, resamples)
    if not resamples.n_resamples:
        return Estimate(value, math.nan, math.nan, n, n_clusters)
    if shape[1] == 1:
        why = "no interval: one person says nothing about others"
        warn(why)
        return Estimate(value, math.nan, math.nan, n, n_clusters, reason=why)
    drawn = resampled(top, bottom, resamples, generator(options.get("rng"), 7))
    variance = float(np.nanvar(drawn))
    low, high = _interval(value, variance, _Parts.of(value, top, bottom, taking_part, resamples), confidence)
    return Estimate(value, low, high, n, n_clusters, METHOD)


def resampled(
    top: sparse.csr_array, bottom: sparse.csr_array, resamples: Resamples, rng: np.random.Generator
) -> Floats:
    """The mean in every resample of items and, independently, of people."""
    n_people = top.shape[1]
    tops, bottoms = top.T.tocsr(), bottom.T.tocsr()
    parts = []
    for draws in resamples.item_draws():
        people = rng.multinomial(n_people, np.full(n_people, 1 / n_people), size=len(draws)).T
        with np.errstate(invalid="ignore", divide="ignore"):
            parts.append((people * (tops @ draws.T)).sum(axis=0) / (people * (bottoms @ draws.T)).sum(axis=0))
    return np.concatenate(parts)


class _Parts:
    """How much of the variance comes from items and from people, each with its degrees of freedom."""

    def __init__(self, of_items: float, n_clusters: int, of_people: float, n_people: int) -> None:
        self.of_items, self.n_clusters = of_items, n_clusters
        self.of_people, self.n_people = of_people, n_people

    @classmethod
    def of(
        cls,
        value: float,
        top: sparse.csr_array,
        bottom: sparse.csr_array,
        taking_part: Booleans,
        resamples: Resamples,
    ) -> "_Parts":
        deviations = top - value * bottom
        whole = float(bottom.sum())
        by_item = np.asarray(deviations.sum(axis=1))[:, np.newaxis] / whole
        by_cluster = resamples.cluster_totals(by_item)[:, 0]
        by_person = np.asarray(deviations.sum(axis=0)) / whole
        return cls(
            float((by_cluster**2).sum()),
            clusters_counted(taking_part, resamples),
            float((by_person**2).sum()),
            len(by_person),
        )

    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the sum of the two."""
        whole = self.of_items + self.of_people
        parts = self.of_items**2 / max(1, self.n_clusters - 1) + self.of_people**2 / (self.n_people - 1)
        return max(1.0, whole**2 / parts) if parts > 0 else float(min(self.n_clusters, self.n_people))

    def correction(self) -> float:
        """What the bootstrap's variance is short of, as it divides by the numbers and not by one less."""
        whole = self.of_items + self.of_people
        if whole <= 0:
            return 1.0
        items = self.n_clusters / max(1, self.n_clusters - 1)
        people = self.n_people / (self.n_people - 1)
        return (self.of_items * items + self.of_people * people) / whole


def _interval(value: float, variance: float, parts: _Parts, confidence: float) -> tuple[float, float]:
    least = float(min(parts.n_clusters, parts.n_people))
    if variance <= _NOTHING_VARIES or value in (0.0, 1.0):
        return wilson_interval(min(1.0, max(0.0, value)), least, confidence)
    tail = (1 + confidence) / 2
    doubt = float(special.stdtrit(parts.freedom(), tail) / special.ndtri(tail)) ** 2
    size = value * (1 - value) / (variance * parts.correction() * doubt)
    return wilson_interval(value, max(1.0, size), confidence)

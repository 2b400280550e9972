"""Intervals that stay valid however often one looks: confidence sequences for means, while labels arrive.

A 95% interval of a fixed number of labels, looked at after every label until it says what one hoped for, is wrong far
more often than in 5%. A confidence sequence covers the truth at all times at once with 95%, so a study may be stopped
as soon as it is settled. An observation is a *cluster*: all items of one instruction, when they are finished.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, as_weights, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate
from metaeval.stats.ids import as_ids
from metaeval.stats.options import as_count, as_level, as_number, as_positive, as_range
from metaeval.stats.results import Result

SequenceMethod: TypeAlias = Literal["betting", "asymptotic"]
Answer: TypeAlias = Literal["above", "below", "within", "precise", "not at this budget", "open"]

# Candidate means; the ends of an interval are out by at most one step, to the safe side.
_STEPS = 2_000
# No bet risks more than this share of the capital (Waudby-Smith and Ramdas advise 1/2 or 3/4).
_RISK = 0.5
_CHUNK = 128
# Clusters of equal size that those so far must be worth before the asymptotic sequence says anything.
FIRST = 30
# A forecast below this says that a budget is too small.
_HOPELESS = 0.05
NOTHING = "no item counts yet"
NONE_LEFT = "no mean is left: the labels drift, or the order in which they came depends on the answers"


@dataclass(frozen=True, slots=True)
class SequenceDecision(Result):
    """What a confidence sequence has settled.

    Attributes
    ----------
    answer : {"above", "below", "within", "precise", "not at this budget", "open"}
        The mean is above or below the reference; it lies within the margin of it (equivalent); it is known to within
        the margin; it will not be settled by the end of the budget, as things look now; none of these yet.
    estimate : Estimate
        The mean so far with its interval, valid at any time.
    chance : float
        Forecast: how probable it is that the rest of the budget settles it; 1 where it is settled, NaN without a
        budget. It rests on the variance so far and guarantees nothing.
    half_width : float
        Half of the width that the interval is expected to have at the end of the budget; NaN without one.
    """

    answer: Answer
    estimate: Estimate
    chance: float = math.nan
    half_width: float = math.nan

    @property
    def settled(self) -> bool:
        """Whether the question is answered, so that labeling may stop."""
        return self.answer in ("above", "below", "within", "precise")


class ConfidenceSequence:
    """The mean of bounded values with an interval that is valid at every moment, updated as clusters are finished.

    Parameters
    ----------
    bounds : (float, float), default (0, 1)
        The range of a value: (0, 1) for agreement, (-1, 1) for the difference of two judges.
    confidence : float, default 0.95
        The chance with which the intervals of *all* times cover the mean.
    method : {"betting", "asymptotic"}
        Betting (hedged capital) holds its level for any number of clusters; it must know the ``largest`` of them.
        The asymptotic sequence needs no such bound, for sampling weights and very uneven clusters, says nothing
        before clusters are worth 30 of equal size, and holds its level approximately.
    largest : float, default 1
        Of betting: the most that a cluster may weigh: its items, or the sum of their weights. Stated in advance; a
        larger one is refused.
    tightest_at : int, default 300
        Of the asymptotic sequence: the number of clusters at which it is to be narrowest.

    Notes
    -----
    The mean is that of all items, sum over sum, whatever the sizes of the clusters: under the mean *m*, the sum of a
    cluster minus *m* times its size has expectation 0, and a bettor against *m* cannot get rich on it. A mean is left
    out for good when the larger of two capitals, bet on more and on less, reaches 2/alpha. Clusters must arrive in an
    order that does not depend on their answers, and each at once, with all of its items.

    References
    ----------
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024),
    sections 4.2 and 4.4 (hedged capital, equations 24 to 26).
    I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy and A. Ramdas, "Time-uniform central limit theory and
    asymptotic confidence sequences", Ann. Statist. 52 (2024), theorem 2.2.

    Examples
    --------
    >>> sequence = ConfidenceSequence(bounds=(-1, 1))
    >>> gaps = np.tile([1.0, 0.0, 0.0, 1.0, -1.0], 40)                 # first judge right minus second, by item
    >>> for gap in gaps:
    ...     found = sequence.update([gap])
    >>> bool(found.low > 0), sequence.decide(margin=0.02, reference=0).answer
    (True, 'above')
    """

    def __init__(
        self,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
        confidence: float = 0.95,
        method: SequenceMethod = "betting",
        largest: float = 1.0,
        tightest_at: int = 300,
    ) -> None:
        self.bounds = as_range(bounds, "bounds")
        self.confidence = as_level(confidence, "confidence")
        check_option(method, ("betting", "asymptotic"), "method")
        self.method = method
        self.largest = as_positive(largest, "largest") if method == "betting" else 1.0
        self._alpha = 1.0 - self.confidence
        self._rho2 = best_rho2(self._alpha, as_count(tightest_at, "tightest_at", 1))
        self.n = self.n_clusters = 0
        # Sums over clusters of their totals x, of their sizes v (both by the largest), and of their products.
        self._x = self._v = self._xx = self._xv = self._vv = self._squares = 0.0
        self._most = 0.0  # of the sizes v
        # What was staked so far, and what that costs where a bet is on the true mean: for forecasts.
        self._staked = self._spent = 0.0
        self._seen: set[Any] = set()
        self._grid = np.linspace(0.0, 1.0, _STEPS + 1)
        self._more, self._less = np.zeros(_STEPS + 1), np.zeros(_STEPS + 1)
        self._left = np.ones(_STEPS + 1, dtype=np.bool_)

    @aligned()
    def update(
        self, values: ArrayLike, *, clusters: Any = None, weights: ArrayLike | None = None
    ) -> Estimate:
        """Count more clusters, in the order in which they first appear, and give the estimate.

        Parameters
        ----------
        values : array_like of shape (n_items,)
            Contributions of items (`leave_one_out_contributions`, say), or differences of two; NaN takes no part.
        clusters : array_like of shape (n_items,), optional
            Whole clusters: one that was counted before is refused. Default: each item by itself.
        weights : array_like of shape (n_items,), optional
            Sampling weights of the items.

        Returns
        -------
        Estimate
            The same as `estimate`.

        Examples
        --------
        >>> sequence = ConfidenceSequence(largest=2)
        >>> sequence.update([1, 1, 0], clusters=["a", "a", "b"]).value
        0.6666666666666666
        """
        given = as_items(values, "values")
        low, high = self.bounds
        known = ~np.isnan(given)
        if ((given[known] < low) | (given[known] > high)).any():
            raise InvalidInputError(f"values: expected numbers from {low:g} to {high:g}")
        each = as_weights(weights, len(given))
        size = np.where(known, 1.0 if each is None else each, 0.0)
        total = np.where(known, (given - low) / (high - low), 0.0) * size
        n = int(np.count_nonzero(size))
        if clusters is not None:
            total, size, names = _by_cluster(total, size, clusters)
            repeated = next((name for name in names if name in self._seen), None)
            if repeated is not None:
                raise InvalidInputError(
                    f"clusters: {repeated!r} was counted before; a cluster comes all at once"
                )
        counted = size > 0
        total, size = total[counted], size[counted]
        if self.method == "betting" and (size > self.largest * (1 + 1e-9)).any():
            raise InvalidInputError(
                f"largest: a cluster weighs {size.max():g}, and at most {self.largest:g} was stated in advance"
            )
        if clusters is not None:
            self._seen.update(names)
        self.n += n
        for start in range(0, len(size), _CHUNK):
            part = slice(start, start + _CHUNK)
            self._count(total[part] / self.largest, size[part] / self.largest)
        return self.estimate

    @property
    def estimate(self) -> Estimate:
        """The mean of all items so far, with the interval that is valid at any time."""
        if not self.n_clusters:
            return Estimate(math.nan, math.nan, math.nan, n=0, reason=NOTHING)
        low, width = self.bounds[0], self.bounds[1] - self.bounds[0]
        share = self._x / self._v
        ends = self._ends(share)
        if ends is None:
            reason = NONE_LEFT
            return Estimate(low + width * share, math.nan, math.nan, self.n, self.n_clusters, "none", reason)
        # A mean that was excluded once stays so; the interval still shows the mean so far.
        first, last = min(ends[0], share), max(ends[1], share)
        value, lowest, highest = (low + width * part for part in (share, first, last))
        return Estimate(value, lowest, highest, self.n, self.n_clusters, self.method)

    def decide(
        self, *, margin: float, reference: float | None = None, budget: int | None = None
    ) -> SequenceDecision:
        """Whether labeling may stop: because it is settled, or because the budget will not settle it.

        Parameters
        ----------
        margin : float
            The difference from the reference that makes none in practice; without a reference, how precisely the mean
            is to be known (half of the interval).
        reference : float, optional
            What the mean is held against: 0 for the difference of two judges.
        budget : int, optional
            Clusters that can be paid for, those so far included.

        Returns
        -------
        SequenceDecision

        Examples
        --------
        >>> sequence = ConfidenceSequence(bounds=(-1, 1))
        >>> _ = sequence.update(np.tile([1.0, -1.0], 60))               # two judges that are equally good
        >>> found = sequence.decide(margin=0.02, reference=0, budget=200)
        >>> found.answer, found.settled
        ('not at this budget', False)
        """
        as_positive(margin, "margin")
        if reference is not None:
            as_number(reference, "reference", *self.bounds)
        most = None if budget is None else as_count(budget, "budget", 1)
        found = self.estimate
        answer = _answer(found, margin, reference)
        if most is None:
            return SequenceDecision(answer, found, 1.0 if answer != "open" else math.nan)
        half = self._expected_half_width(most)
        if answer != "open":
            return SequenceDecision(answer, found, 1.0, half)
        chance = self._chance(found, margin, reference, most, half)
        return SequenceDecision("not at this budget" if chance < _HOPELESS else "open", found, chance, half)

    def _count(self, x: Floats, v: Floats) -> None:
        """Count clusters of totals ``x`` and sizes ``v``, as shares of the largest."""
        t = self.n_clusters + np.arange(1, len(x) + 1)
        sum_x, sum_v = self._x + np.cumsum(x), self._v + np.cumsum(v)
        # As if one cluster of the usual size, half of it right, had come before: the paper's prior.
        usual = (1.0 + sum_v) / (t + 1)
        mean = (usual / 2 + sum_x) / (usual + sum_v)
        squares = self._squares + np.cumsum((x - mean * v) ** 2)
        variance = (usual**2 / 4 + squares) / (t + 1)
        if self.method == "betting":
            # Each bet knows what came before it, and nothing else.
            before = np.concatenate([[self._variance], variance[:-1]])
            stakes = self._stakes(t, before)
            self._bet(x, v, stakes)
            risked = np.minimum(stakes, _RISK)
            self._staked += float(risked @ v)
            self._spent += float((risked * (x - mean * v)) @ (risked * (x - mean * v))) / 2
        self.n_clusters = int(t[-1])
        self._x, self._v, self._squares = float(sum_x[-1]), float(sum_v[-1]), float(squares[-1])
        self._xx += float(x @ x)
        self._xv += float(x @ v)
        self._vv += float(v @ v)
        self._most = max(self._most, float(v.max()))

    @property
    def _variance(self) -> float:
        """Of what a cluster adds, as the next bet sees it."""
        usual = (1.0 + self._v) / (self.n_clusters + 1)
        return (usual**2 / 4 + self._squares) / (self.n_clusters + 1)

    def _stakes(self, t: Any, variance: Any) -> Floats:
        stakes: Floats = np.sqrt(2 * math.log(2 / self._alpha) / (variance * t * np.log1p(t)))
        return stakes

    def _bet(self, x: Floats, v: Floats, stakes: Floats) -> None:
        """Bet on more and on less than each mean that is left; a mean is out once either capital is large enough."""
        grid, stake = self._grid, stakes[:, np.newaxis]
        gain = x[:, np.newaxis] - grid * v[:, np.newaxis]
        with np.errstate(divide="ignore"):
            more = np.log1p(np.minimum(stake, _RISK / grid) * gain)
            less = np.log1p(-np.minimum(stake, _RISK / (1 - grid)) * gain)
        more, less = self._more + np.cumsum(more, axis=0), self._less + np.cumsum(less, axis=0)
        top = np.maximum(more, less).max(axis=0)
        self._left &= top < math.log(2 / self._alpha)
        self._more, self._less = more[-1], less[-1]
        places = np.flatnonzero(self._left)
        kept = slice(places[0], places[-1] + 1) if len(places) else slice(0, 0)
        self._grid, self._left = self._grid[kept], self._left[kept]
        self._more, self._less = self._more[kept], self._less[kept]

    def _ends(self, share: float) -> tuple[float, float] | None:
        if self.method == "betting":
            if not len(self._grid):
                return None
            step = 1.0 / _STEPS
            return max(0.0, float(self._grid[0]) - step), min(1.0, float(self._grid[-1]) + step)
        # Clusters of uneven sizes are worth fewer of equal size (Kish).
        if self._v**2 < FIRST * self._vv * (1 - 1e-9):
            return 0.0, 1.0
        reach = self._spread(share) * mixture_boundary(self.n_clusters, self._rho2, self._alpha)
        return max(0.0, share - reach), min(1.0, share + reach)

    def _spread(self, share: float) -> float:
        """Standard deviation of what one cluster does to the mean.

        One imaginary cluster, of the largest size and half right beside a mean of 0 or 1, keeps it from 0.
        """
        usual = self._v / self.n_clusters
        squares = max(0.0, self._xx - 2 * share * self._xv + share**2 * self._vv)
        return math.sqrt((self._most**2 / 4 + squares) / (self.n_clusters + 1)) / usual

    def _expected_half_width(self, budget: int) -> float:
        """Half of the width at the end of the budget, if the variance stays what it is."""
        found = self.estimate
        if not found.defined or math.isnan(found.low):
            return math.nan
        low, high = self.bounds
        times = max(budget, self.n_clusters)
        if self.method == "asymptotic":
            spread = self._spread((found.value - low) / (high - low))
            half = spread * mixture_boundary(times, self._rho2, self._alpha)
        else:
            t = np.arange(self.n_clusters + 1.0, times + 1)
            risked = np.minimum(self._stakes(t, self._variance), _RISK)
            spent = self._spent + float((risked**2).sum()) * self._variance / 2
            staked = self._staked + float(risked.sum()) * self._v / self.n_clusters
            half = (math.log(2 / self._alpha) + spent) / staked
        return min((high - low) * half, (found.high - found.low) / 2)

    def _chance(
        self, found: Estimate, margin: float, reference: float | None, budget: int, half: float
    ) -> float:
        """How probable it is that the rest of the budget settles it."""
        rest = budget - self.n_clusters
        if rest <= 0 or math.isnan(half):
            return 0.0 if rest <= 0 else 1.0
        if reference is None:
            return float(half <= margin)
        low, high = self.bounds
        width = high - low
        # The mean at the end, given the mean now and the same variance for what is to come.
        spread = width * self._spread((found.value - low) / width)
        error = spread * math.sqrt(rest / (budget * self.n_clusters))
        centre = found.value - reference
        above = float(special.ndtr((centre - half) / error))
        below = float(special.ndtr((-centre - half) / error))
        room = margin - half
        within = 0.0
        if room > 0:
            within = float(special.ndtr((room - centre) / error) - special.ndtr((-room - centre) / error))
        return min(1.0, above + below + within)


def _by_cluster(total: Floats, size: Floats, clusters: Any) -> tuple[Floats, Floats, list[Any]]:
    """Sums by cluster, in the order in which clusters first appear, and their ids."""
    distinct, codes = as_ids(clusters, "clusters", len(total))
    _, first = np.unique(codes, return_index=True)
    order = np.argsort(first, kind="stable")
    n_clusters = len(distinct)
    totals, sizes = (
        np.bincount(codes, weights=part, minlength=n_clusters)[order].astype(np.float64)
        for part in (total, size)
    )
    return totals, sizes, distinct[order].tolist()


def _answer(found: Estimate, margin: float, reference: float | None) -> Answer:
    if math.isnan(found.low):
        return "open"
    if reference is None:
        return "precise" if (found.high - found.low) / 2 <= margin else "open"
    if found.low > reference:
        return "above"
    if found.high < reference:
        return "below"
    inside = reference - margin <= found.low and found.high <= reference + margin
    return "within" if inside else "open"


def best_rho2(alpha: float, times: int) -> float:
    """The tuning parameter that makes the boundary lowest at a number of clusters, by Lambert's W.

    Examples
    --------
    >>> round(best_rho2(0.05, 1), 3)
    8.212
    """
    return float(-special.lambertw(-(alpha**2) / math.e, -1).real - 1.0) / times


def mixture_boundary(times: int, rho2: float, alpha: float) -> float:
    """How many standard deviations of one cluster the mean of so many may be off, at all times at once."""
    growth = times * rho2 + 1.0
    return math.sqrt(2 * growth / (times**2 * rho2) * math.log(math.sqrt(growth) / alpha))

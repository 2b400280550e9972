"""Is this judge still the one that was chosen? Tests that stay valid however often one looks, for years if need be.

A frozen set of items, the *anchors*, is judged again now and then. Nothing but the judge can move the anchors, so a
figure that falls on new items while they stay still tells of the systems or the items, not of the judge.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_floats, as_items, check_option
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.options import as_count, as_level, as_number, as_range
from metaeval.stats.results import Result

Direction: TypeAlias = Literal["above", "below", "both"]
Moved: TypeAlias = Literal["neither", "judge", "systems", "both", "open"]

# Bets, as shares of the capital that is lost where a value is at the far end: for small changes and for large ones.
_BETS = np.geomspace(0.005, 0.9, 16)
# The part of the level that goes into the bound of what stood at freezing.
_FIRST = 0.2
NO_REPEATS = "no repeated verdict counts: the judge's own noise is unknown"
NO_VALUES = "no value counts: there is nothing to compare later ones with"


@dataclass(frozen=True, slots=True)
class RepeatNoise(Result):
    """How often a judge that has not moved says something else when it is asked again.

    Attributes
    ----------
    share : float
        Repeated verdicts that differ from the frozen ones.
    bound : float
        The upper end of a one-sided interval for what that share is in the long run, on these anchors.
    n : int
        Repeated verdicts.
    """

    share: float
    bound: float
    n: int


@dataclass(frozen=True, slots=True)
class DriftState(Result):
    """What a monitor knows after its looks.

    Attributes
    ----------
    e_value : float
        The evidence now: what a bettor against "nothing has moved" has made of one unit. NaN where there is nothing to
        compare with.
    highest : float
        The highest that it has been.
    p_value : float
        One over the highest; valid at any time.
    moved : bool
        The highest has reached one over the level. That is never taken back.
    alarm : int or None
        The look at which it did, from 1.
    since : int or None
        Where something has moved: the look from which on that is seen best, a guess without a level.
    n_looks, n : int
        Looks so far, and the values that they had.
    mean : float
        Of all values so far.
    last : float
        Mean of the last look.
    reference : (float, float)
        Where the mean is, as long as nothing has moved.
    reason : str or None
        Why there is no evidence.
    """

    e_value: float
    highest: float
    p_value: float
    moved: bool
    alarm: int | None
    since: int | None
    n_looks: int
    n: int
    mean: float
    last: float
    reference: tuple[float, float]
    reason: str | None = None


@aligned()
def verdict_changes(frozen: ArrayLike, now: ArrayLike, *, tolerance: float = 0.0) -> Floats:
    """Whether each verdict is another one than the frozen one.

    Parameters
    ----------
    frozen, now : array_like of shape (n_items,)
        NaN is missing and takes no part. Give an unparsed verdict a number of its own: a judge that is no longer
        understood has moved.
    tolerance : float, default 0
        Ratings that differ by no more count as the same.

    Returns
    -------
    numpy.ndarray of shape (n_items,)
        1, 0 or NaN.

    Notes
    -----
    What a `DriftMonitor` of anchors watches. No test is made here.

    Examples
    --------
    >>> verdict_changes([1, 2, 0, 1], [1, 1, 0, np.nan])
    array([ 0.,  1.,  0., nan])
    """
    as_number(tolerance, "tolerance", 0)
    first = as_items(frozen, "frozen")
    second = as_items(now, "now", len(first))
    far = (np.abs(first - second) > tolerance * (1 + 1e-9)).astype(float)
    return np.where(np.isnan(first) | np.isnan(second), np.nan, far)


@aligned()
def repeat_noise(changes: ArrayLike, *, confidence: float = 0.99) -> RepeatNoise:
    """How often the judge contradicts itself without having moved, from verdicts repeated when they were frozen.

    Parameters
    ----------
    changes : array_like of shape (n_anchors,) or (n_anchors, n_repeats)
        `verdict_changes` of each repetition, or shares in [0, 1]; NaN is missing.
    confidence : float, default 0.99
        Of the bound.

    Returns
    -------
    RepeatNoise

    Raises
    ------
    InvalidInputError
        For what is no table of anchors by repetitions.

    Notes
    -----
    The bound *b* solves n KL(share, b) = log(1 / (1 - confidence)). It holds for independent values in [0, 1] whose
    means all differ, as those of easy and hard anchors do.

    References
    ----------
    W. Hoeffding, "Probability inequalities for sums of bounded random variables", JASA 58 (1963), theorem 1.

    Examples
    --------
    >>> noise = repeat_noise(np.zeros((100, 2)))                      # 100 anchors, asked twice more
    >>> noise.share, round(noise.bound, 4)
    (0.0, 0.0228)
    """
    level = 1.0 - as_level(confidence, "confidence")
    given = as_floats(changes, "changes")
    if given.ndim > 2:
        raise InvalidInputError("changes: expected a row for each anchor, and a column for each repetition")
    values = _shares(given.ravel(), "changes")
    if not len(values):
        warn(NO_REPEATS)
        return RepeatNoise(math.nan, math.nan, 0)
    share = float(values.mean())
    return RepeatNoise(share, _upper(share, len(values), level), len(values))


class DriftMonitor:
    """Watches whether a mean has moved away from where it was, look after look, with one level for all looks.

    Parameters
    ----------
    reference : float or (float, float)
        Where the mean is in [0, 1] as long as nothing has moved: a number, or an interval that holds it.
    direction : {"above", "below", "both"}
        Which way it may move.
    confidence : float, default 0.95
        One minus the chance of ever saying that it moved although it did not, over all looks.

    Notes
    -----
    At each look a bettor stakes on values above (or below) the reference. Within a look the stake is fixed and the
    values are independent, so the capital is expected to shrink as long as their *mean over the look* is within the
    reference, whatever the single means are: the product of the single expectations is at most that of equal ones. So
    an anchor that is a coin toss is no trouble as long as the anchors together are no noisier than when they were
    frozen.

    The capital is shared between 16 stakes, for small and large changes, and between all moments from which on the
    mean may have moved, the j-th look getting 1 / (j (j + 1)): a judge that stood still for a hundred looks is found
    nearly as soon as a new one. An update costs the same at every look. By Ville's inequality the capital ever reaches
    1 / alpha with a chance of at most alpha.

    References
    ----------
    A. Ramdas, P. Grünwald, V. Vovk and G. Shafer, "Game-theoretic statistics and safe anytime-valid inference",
    Statistical Science 38 (2023), sections 2 and 4.
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024).
    J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", New
    England Journal of Statistics in Data Science 2 (2024), for the sum over the moments of change; here it is weighted,
    so that the chance of any false alarm is bounded, and not their rate.
    Y. Li, "Who drifted: the system or the judge?", arXiv 2606.15474 (2026), for the anchors and the second stream.

    Examples
    --------
    >>> monitor = DriftMonitor(0.02, direction="above")              # at most 2% of anchors change by themselves
    >>> monitor.update(np.zeros(100)).moved
    False
    >>> changed = np.repeat([1.0, 0.0], [12, 88])                    # now 12 of 100 verdicts are other ones
    >>> [monitor.update(changed).moved for _ in range(2)]
    [True, True]
    """

    def __init__(
        self,
        reference: float | tuple[float, float],
        *,
        direction: Direction = "both",
        confidence: float = 0.95,
    ) -> None:
        check_option(direction, ("above", "below", "both"), "direction")
        self.reference = _reference(reference)
        self.direction = direction
        self.confidence = as_level(confidence, "confidence")
        low, high = self.reference
        sides = []
        if direction != "below" and not math.isnan(high):
            sides.append(_Side(high, "reference"))
        if direction != "above" and not math.isnan(low):
            sides.append(_Side(1.0 - low, "reference", mirrored=True))
        self._sides = tuple(sides)
        self.n_looks = self.n = 0
        self._sum, self._last = 0.0, math.nan
        self._now = self._highest = 1.0
        self._alarm: int | None = None
        self._since: int | None = None

    @classmethod
    def of_anchors(
        cls, repeats: ArrayLike, *, tolerance: float = 0.0, confidence: float = 0.95
    ) -> "DriftMonitor":
        """Watch the changes of anchors, given those of the repetitions when they were frozen.

        Parameters
        ----------
        repeats : array_like of shape (n_anchors,) or (n_anchors, n_repeats)
            As for `repeat_noise`. A fifth of the level goes into its bound, the rest into the test.
        tolerance : float, default 0
            Share of anchors that may change without its being called a move.
        confidence : float, default 0.95

        Returns
        -------
        DriftMonitor
            Its updates take `verdict_changes` of all anchors.

        Examples
        --------
        >>> monitor = DriftMonitor.of_anchors(np.zeros((100, 2)))
        >>> round(monitor.reference[1], 4)
        0.0228
        """
        alpha = 1.0 - as_level(confidence, "confidence")
        least = as_number(tolerance, "tolerance", 0, 1)
        noise = repeat_noise(repeats, confidence=1.0 - _FIRST * alpha)
        # NaN stays: what is not known is not replaced by what is tolerated.
        bound = noise.bound if math.isnan(noise.bound) else max(noise.bound, least)
        return cls((0.0, bound), direction="above", confidence=1.0 - (1.0 - _FIRST) * alpha)

    @classmethod
    def of_values(
        cls,
        values: ArrayLike,
        *,
        direction: Direction = "both",
        margin: float = 0.0,
        confidence: float = 0.95,
    ) -> "DriftMonitor":
        """Watch a figure on new items, given its values when the judge was chosen.

        Parameters
        ----------
        values : array_like of shape (n_items,)
            In [0, 1] and independent: contributions to agreement with people, or wins of a system; the mean of a
            cluster where items come in clusters. NaN is missing.
        direction : {"above", "below", "both"}
        margin : float, default 0
            A change that makes no difference in practice.
        confidence : float, default 0.95
            A fifth of the level goes into where the mean was, the rest into the test.

        Returns
        -------
        DriftMonitor

        Examples
        --------
        >>> monitor = DriftMonitor.of_values(np.tile([1.0, 1.0, 1.0, 0.0], 100))
        >>> monitor.update(np.tile([1.0, 0.0], 300)).moved               # 75% then, 50% now
        True
        """
        alpha = 1.0 - as_level(confidence, "confidence")
        margin = as_number(margin, "margin", 0, 1)
        known = _shares(as_items(values, "values"), "values")
        reference = math.nan, math.nan
        if len(known):
            mean, side = float(known.mean()), _FIRST * alpha / 2
            low, high = 1.0 - _upper(1.0 - mean, len(known), side), _upper(mean, len(known), side)
            reference = max(0.0, low - margin), min(1.0, high + margin)
        else:
            warn(NO_VALUES)
        return cls(reference, direction=direction, confidence=1.0 - (1.0 - _FIRST) * alpha)

    def update(self, values: ArrayLike) -> DriftState:
        """Take one look.

        Parameters
        ----------
        values : array_like of shape (n_items,)
            In [0, 1], independent of each other given the looks before; NaN is missing. A look without values is none.

        Returns
        -------
        DriftState

        Examples
        --------
        >>> DriftMonitor(0.5).update([1, 0, np.nan]).n
        2
        """
        known = _shares(as_items(values, "values"), "values")
        if len(known):
            self.n_looks += 1
            self.n += len(known)
            self._sum += float(known.sum())
            self._last = float(known.mean())
        if len(known) and self._sides:
            for side in self._sides:
                side.bet(known, self.n_looks)
            self._now = e_value = sum(side.capital(self.n_looks) for side in self._sides) / len(self._sides)
            if e_value > self._highest:
                self._highest = e_value
                self._since = max(self._sides, key=lambda side: side.best()[0]).best()[1]
            if self._alarm is None and e_value >= 1.0 / (1.0 - self.confidence):
                self._alarm = self.n_looks
        return self.state

    @property
    def state(self) -> DriftState:
        """What is known so far."""
        unknown = not self._sides
        reason = "it is not known where the mean was: nothing can be compared" if unknown else None
        if reason is not None:
            warn(reason)
        moved = self._alarm is not None
        return DriftState(
            e_value=math.nan if unknown else self._now,
            highest=math.nan if unknown else self._highest,
            p_value=math.nan if unknown else 1.0 / self._highest,
            moved=moved,
            alarm=self._alarm,
            since=self._since if moved else None,
            n_looks=self.n_looks,
            n=self.n,
            mean=self._sum / self.n if self.n else math.nan,
            last=self._last,
            reference=self.reference,
            reason=reason,
        )


class _Side:
    """A bettor on values above ``mean``, with all stakes and all moments of change."""

    def __init__(self, mean: float, name: str, *, mirrored: bool = False) -> None:
        if mean == 0.0:
            raise InvalidInputError(
                f"{name}: nothing can be bet on a mean at the end of the scale; state a tolerance"
            )
        self.mean, self.mirrored = mean, mirrored
        self._stakes = _BETS / mean
        self._wealth = np.full(len(_BETS), -np.inf)  # logarithms, weighted by the moment of change
        self._best, self._start = np.full(len(_BETS), -np.inf), np.zeros(len(_BETS), dtype=int)

    def bet(self, values: Floats, look: int) -> None:
        # Verdicts have few values, most of them many times.
        x, times = np.unique(1.0 - values if self.mirrored else values, return_counts=True)
        gain = np.log1p(self._stakes[:, np.newaxis] * (x - self.mean)) @ times
        weight = -math.log(look * (look + 1))
        self._wealth = np.logaddexp(self._wealth, weight) + gain
        begins = weight >= self._best
        self._start[begins] = look
        self._best = np.maximum(self._best, weight) + gain

    def capital(self, looks: int) -> float:
        """The capital of all stakes, and what is kept for later moments."""
        together = float(np.logaddexp.reduce(self._wealth)) - math.log(len(_BETS))
        return math.exp(min(together, 700.0)) + 1.0 / (looks + 1)

    def best(self) -> tuple[float, int]:
        place = int(np.argmax(self._best))
        return float(self._best[place]), int(self._start[place])


def attribute_drift(
    judge: DriftState, systems: DriftState, *, guard: int = 1, looks_since: int | None = None
) -> Moved:
    """Whether the judge moved, or the systems (or items) that it judges.

    Parameters
    ----------
    judge : DriftState
        Of the anchors.
    systems : DriftState
        Of the second stream: agreement with people on newly labeled items, or the win rate of a system.
    guard : int, default 1
        Looks at the anchors, after the second stream moved, before it is put down to the systems: a judge that moved
        may show on many new items before the anchors are asked again.
    looks_since : int, optional
        How many such looks there were; by default enough.

    Returns
    -------
    {"neither", "judge", "systems", "both", "open"}
        ``"systems"``: the second stream moved while the anchors stood still. ``"both"``: both streams moved; as the
        judge that measures the systems is another one now, that does not show that the systems moved. ``"open"``: the
        second stream moved, and the anchors have to be asked again first; also where either is unknown.

    Raises
    ------
    InvalidInputError
        For what is no state of a monitor.

    Notes
    -----
    Each stream is wrong with its own level; give each 97.5% for 95% together.

    References
    ----------
    Y. Li, "Who drifted: the system or the judge?", arXiv 2606.15474 (2026).

    Examples
    --------
    >>> anchors, agreement = DriftMonitor(0.02, direction="above"), DriftMonitor(0.8)
    >>> attribute_drift(anchors.update(np.zeros(50)), agreement.update(np.zeros(50)))
    'systems'
    """
    as_count(guard, "guard", 0)
    since = guard if looks_since is None else as_count(looks_since, "looks_since", 0)
    if not isinstance(judge, DriftState) or not isinstance(systems, DriftState):
        raise InvalidInputError("judge, systems: expected the states of two monitors")
    if math.isnan(judge.e_value) or math.isnan(systems.e_value):
        warn("one of the two streams has nothing to compare with")
        return "open"
    if judge.moved:
        return "both" if systems.moved else "judge"
    if not systems.moved:
        return "neither"
    return "systems" if judge.n_looks and since >= guard else "open"


def _reference(value: float | tuple[float, float]) -> tuple[float, float]:
    if isinstance(value, tuple) and len(value) == 2 and value[0] == value[1]:
        value = value[0]
    if isinstance(value, tuple | list | np.ndarray):
        if len(value) == 2 and any(isinstance(end, float) and math.isnan(end) for end in value):
            return math.nan, math.nan
        low, high = as_range(value, "reference")
        as_number(low, "reference", 0, 1)
        as_number(high, "reference", 0, 1)
        return low, high
    number = as_number(value, "reference", 0, 1)
    return number, number


def _shares(values: Floats, name: str) -> Floats:
    """The values that are known."""
    known = values[~np.isnan(values)]
    if ((known < 0) | (known > 1)).any():
        raise InvalidInputError(f"{name}: expected numbers from 0 to 1")
    return known


def _upper(share: float, n: int, level: float) -> float:
    """The highest mean that so low a share of n values is not too unlikely under."""
    if share >= 1.0:
        return 1.0
    target = -math.log(level) / n

    def excess(mean: float) -> float:
        return float(special.kl_div(share, mean) + special.kl_div(1 - share, 1 - mean)) - target

    return float(optimize.brentq(excess, share, 1.0 - 1e-15, xtol=1e-12)) if excess(1.0 - 1e-15) > 0 else 1.0

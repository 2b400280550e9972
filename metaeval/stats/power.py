"""How large a difference can be seen with so many items, and how many items it takes to see a given one."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Seed, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.options import as_count, as_level, as_number, as_positive
from metaeval.stats.paired import paired_scores, ratio_variance
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.sign_flips import Alternative

_ALTERNATIVES = ("two-sided", "greater", "less")
_MOST_ITEMS = 10**12
# With more discordant items than this the exact test and the t test have the same power.
_MANY_DISCORDANT = 10_000
_PILOT_RESAMPLES = 2_000
_GRAIN = 1e-10


@dataclass(frozen=True, slots=True)
class _Effect:
    difference: float
    discordance: float | None
    variance: float
    design_effect: float
    alpha: float
    alternative: Alternative


def power_of_difference(
    difference: float,
    n: float,
    *,
    discordance: float | None = None,
    variance: float | None = None,
    design_effect: float = 1.0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> float:
    """Chance that a paired test finds a true difference of two judges' means.

    With ``discordance`` it is the power of the exact test of right and wrong answers, which
    `paired_permutation_test` then is: the discordant items are binomial, and so are those among them that favor
    the first. With ``variance`` it is that of the paired t test, which sign flips of anything finer than right and
    wrong equal: Student's t with ``n / design_effect - 1`` degrees of freedom, not central by
    ``difference / sqrt(variance design_effect / n)``.

    Parameters
    ----------
    difference : float
        True mean of first minus second: 0.03 for three points.
    n : float
        Items that both are scored on.
    discordance : float, optional
        Of judges that are right or wrong: the share of items on which one is right and the other wrong.
    variance : float, optional
        Of an item's difference. Give this or ``discordance``.
    design_effect : float, default 1
        Variance of the mean over what it would be if the items were independent: ``1 + (m - 1) rho`` for clusters of
        *m* items with intraclass correlation *rho*.
    alpha : float, default 0.05
        Level of the test.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"``: the test looks for a positive difference only.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InvalidInputError
        If not exactly one of ``discordance`` and ``variance`` is given, or a number is out of range.

    References
    ----------
    J. Cohen, "Statistical Power Analysis", 2nd ed. (1988), ch. 2; S. W. Duffy, "Asymptotic and exact power for the
    McNemar test and its analogue with R controls per case", Biometrics 40 (1984); D. Card et al., "With Little
    Power Comes Great Responsibility", EMNLP 2020; L. Kish, "Survey Sampling" (1965), for the design effect.

    Examples
    --------
    >>> round(power_of_difference(0.05, 500, discordance=0.2), 3)
    0.676
    >>> round(power_of_difference(0.5, 30, variance=1), 3)
    0.754
    """
    effect = _effect(difference, discordance, variance, design_effect, alpha, alternative)
    return _power(effect, as_positive(n, "n"))


def labels_needed(
    difference: float,
    *,
    power: float = 0.8,
    discordance: float | None = None,
    variance: float | None = None,
    design_effect: float = 1.0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> int:
    """Items with labels that it takes until a difference shows with a given chance.

    Parameters
    ----------
    difference : float
        True mean of first minus second that shall be found; not 0.
    power : float, default 0.8
        The chance to find it.
    discordance, variance, design_effect, alpha, alternative
        As in `power_of_difference`.

    Returns
    -------
    int
        Items with at least that `power_of_difference`, where one fewer has less. (Of right and wrong answers the
        power goes up and down a little as items are added, so a somewhat smaller number may do as well.)

    Raises
    ------
    InvalidInputError
        If there is no such number (a difference of 0, or in the other direction than the alternative).

    References
    ----------
    As of `power_of_difference`.

    Examples
    --------
    >>> labels_needed(0.05, discordance=0.2)
    658
    >>> labels_needed(0.5, variance=1)
    34
    """
    return _items(_effect(difference, discordance, variance, design_effect, alpha, alternative), power)


def _items(effect: _Effect, power: float) -> int:
    difference, alternative = effect.difference, effect.alternative
    if not effect.alpha < as_level(power, "power"):
        raise InvalidInputError(f"power: expected a chance between alpha and 1, got {power}")
    wrong_way = (alternative == "greater" and difference < 0) or (alternative == "less" and difference > 0)
    if difference == 0 or wrong_way:
        raise InvalidInputError(f"difference: no number of items shows {difference} ({alternative})")
    high = 2
    while _power(effect, high) < power:
        high *= 2
        if high > _MOST_ITEMS:
            raise InvalidInputError(f"difference: {difference} is too small to be shown by any dataset")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(effect, middle) >= power else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class LabelsNeeded(Result):
    """What a pilot says of the number of labeled items that a difference takes.

    Attributes
    ----------
    items : Estimate
        The number, with the interval that the pilot's uncertain variance gives it.
    clusters : float
        The same in clusters (instructions), at the pilot's items per cluster.
    difference : float
        That shall be found.
    variance : float
        Of an item's difference in the pilot.
    design_effect : float
        Of its clusters.
    power_now : float
        The chance to find the difference in as many items as the pilot has.
    """

    items: Estimate
    clusters: float
    difference: float
    variance: float
    design_effect: float
    power_now: float


@aligned()
def labels_needed_from(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Any = None,
    difference: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    where: ArrayLike | None = None,
    confidence: float = 0.95,
    n_resamples: int = _PILOT_RESAMPLES,
    rng: Seed = None,
) -> LabelsNeeded:
    """`labels_needed` with the variance and the design effect of pilot data.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Scores of two judges on the pilot's items; an item with NaN in either takes no part.
    clusters : array_like of shape (n_items,), optional
        The instruction of each item. Default: each item by itself.
    difference : float, optional
        That shall be found. Default: the pilot's own, which is as uncertain as the pilot is small, and too large if
        the judges were picked for it: better name the smallest difference that would matter.
    power, alpha, alternative
        As in `labels_needed`.
    where : array_like of bool, optional
        The items that count.
    confidence : float, default 0.95
        Level of the interval.
    n_resamples : int, default 2_000
        Of clusters, for the interval of the variance.
    rng : int, numpy.random.Generator or None
        Seed; None is a fixed seed.

    Returns
    -------
    LabelsNeeded
        Undefined with fewer than two clusters, if nothing varies, or if the pilot's difference is 0.

    References
    ----------
    As of `power_of_difference`.

    Examples
    --------
    >>> pilot = labels_needed_from([1, 1, 0, 1, 1, 0] * 20, [1, 0, 0, 1, 1, 1] * 20, difference=0.05)
    >>> round(pilot.variance, 3), pilot.items.value, pilot.items.low < pilot.items.value < pilot.items.high
    (0.336, 1080.0, True)
    """
    n_resamples, power, alpha = (
        as_count(n_resamples, "n_resamples"),
        as_level(power, "power"),
        as_level(alpha, "alpha"),
    )
    check_option(alternative, _ALTERNATIVES, "alternative")
    if difference is not None:
        difference = as_number(difference, "difference")
    pairs = paired_scores(first, second, clusters, where, confidence)
    if pairs is None or len(pairs.gaps) < 2:
        return _no_number("no item is scored for both" if pairs is None else "the pilot is one cluster")
    target = pairs.mean if difference is None else difference
    gaps = pairs.first - pairs.second
    spread = float(gaps.var(ddof=1))
    per_item = ratio_variance(pairs.gaps, pairs.sizes) * pairs.n
    if target == 0 or per_item == 0 or spread == 0:
        reason = "the pilot shows no difference" if target == 0 else "nothing varies in the pilot"
        return _no_number(reason, target)
    # Right and wrong: the exact test, and how often the two differ.
    binary = bool(np.isin(gaps, (-1, 0, 1)).all())
    discordance = max(abs(target), float(np.mean(gaps != 0))) if binary else None

    def effect(variance_per_item: float) -> _Effect:
        ratio = variance_per_item / spread
        return _effect(target, discordance, None if binary else spread, ratio, alpha, alternative)

    ends = _variance_interval(pairs.gaps, pairs.sizes, n_resamples, confidence, rng)
    needed, low, high = (
        math.nan if math.isnan(variance) else float(_items(effect(variance), power))
        for variance in (per_item, *ends)
    )
    method = "none" if math.isnan(low) else "percentile"
    return LabelsNeeded(
        Estimate(needed, min(low, needed), max(high, needed), pairs.n, len(pairs.gaps), method),
        clusters=float(math.ceil(needed * len(pairs.gaps) / pairs.n)),
        difference=target,
        variance=spread,
        design_effect=per_item / spread,
        power_now=_power(effect(per_item), pairs.n),
    )


def _variance_interval(
    gaps: Floats, sizes: Floats, n_resamples: int, confidence: float, rng: Seed
) -> tuple[float, float]:
    """Percentiles of the mean's variance times the items, over resampled clusters; a function of five totals."""
    if not n_resamples:
        return math.nan, math.nan
    clusters = len(gaps)
    columns = np.stack([gaps, sizes, gaps * gaps, gaps * sizes, sizes * sizes], axis=1)
    total = Resamples(clusters, n_resamples, rng, shared=False).totals(columns)
    gap, size, gap_gap, gap_size, size_size = total.T
    mean = gap / size
    squares = np.maximum(gap_gap - 2 * mean * gap_size + mean * mean * size_size, 0.0)
    variance = squares * clusters / (clusters - 1) / size
    # A resample in which nothing varies would say that any number is enough: it counts as the least of the others.
    some = variance[variance > _GRAIN * variance.max()]
    if not len(some):
        return math.nan, math.nan
    low, high = np.quantile(np.maximum(variance, some.min()), [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _power(effect: _Effect, n: float) -> float:
    independent = n / effect.design_effect
    if effect.discordance is not None and independent * effect.discordance <= _MANY_DISCORDANT:
        # A design effect of 1 is that to the last digit: one item less would be the order of the rows speaking.
        return _exact_power(effect, effect.discordance, math.floor(independent * (1 + _GRAIN)))
    return _t_power(effect, independent)


def _exact_power(effect: _Effect, discordance: float, n: int) -> float:
    """Power of the exact test of right and wrong answers, over how many items may be discordant."""
    if discordance == 0:
        return 0.0
    mean = n * discordance
    reach = 10 * math.sqrt(mean) + 10
    whole = np.arange(max(0, math.floor(mean - reach)), min(n, math.ceil(mean + reach)) + 1.0)
    level = effect.alpha / (2 if effect.alternative == "two-sided" else 1)
    most = _most_losses(whole, level)
    rejects, most = most >= 0, np.maximum(most, 0.0)
    favour = (discordance + effect.difference) / (2 * discordance)
    power, numbers = np.zeros(len(whole)), whole.astype(np.int64)
    if effect.alternative != "less":
        power += special.bdtr(most, numbers, 1 - favour)
    if effect.alternative != "greater":
        power += special.bdtr(most, numbers, favour)
    return min(1.0, float(_binomial(whole, n, discordance) @ (power * rejects)))


def _most_losses(whole: Floats, level: float) -> Floats:
    """The most of so many discordant items that may favor the worse judge if a test is to reject; -1 if none may.

    Sought downwards from the normal distribution's, which is below by less than two.
    """
    most: Floats = np.ceil((whole + float(special.ndtri(level)) * np.sqrt(whole)) / 2) + 2
    most = np.clip(most, -1, whole)
    numbers = whole.astype(np.int64)
    while True:
        too_many = (most >= 0) & (special.bdtr(np.maximum(most, 0), numbers, 0.5) > level * (1 + _GRAIN))
        if not too_many.any():
            return most
        most -= too_many


def _binomial(counts: Floats, n: int, share: float) -> Floats:
    """Chances of so many of n."""
    logs = -special.betaln(counts + 1, n - counts + 1) - math.log(n + 1)
    chances: Floats = np.exp(logs + special.xlogy(counts, share) + special.xlog1py(n - counts, -share))
    return chances


def _t_power(effect: _Effect, n: float) -> float:
    """Power of the paired t test."""
    freedom = n - 1
    if freedom <= 0:
        return 0.0
    difference = -effect.difference if effect.alternative == "less" else effect.difference
    if effect.variance == 0:
        return float(difference > 0 or (effect.alternative == "two-sided" and difference != 0))
    shift = difference / math.sqrt(effect.variance / n)
    if effect.alternative != "two-sided":
        return _tail(float(special.stdtrit(freedom, 1 - effect.alpha)), freedom, shift)
    critical = float(special.stdtrit(freedom, 1 - effect.alpha / 2))
    return min(1.0, _tail(critical, freedom, shift) + _tail(critical, freedom, -shift))


def _tail(critical: float, freedom: float, shift: float) -> float:
    """Chance that a noncentral t exceeds the critical value."""
    below = float(special.nctdtr(freedom, shift, critical))
    if math.isnan(below):  # far out, where the normal distribution is as good
        below = float(special.ndtr(critical - shift))
    return min(1.0, max(0.0, 1.0 - below))


def _effect(
    difference: float,
    discordance: float | None,
    variance: float | None,
    design_effect: float,
    alpha: float,
    alternative: Alternative,
) -> _Effect:
    """The effect that a caller describes, checked."""
    difference = as_number(difference, "difference")
    if (discordance is None) == (variance is None):
        raise InvalidInputError("discordance, variance: expected one of the two")
    if discordance is not None and not abs(difference) <= as_number(discordance, "discordance", 0, 1):
        raise InvalidInputError(
            f"discordance: expected a share of at least the difference, got {discordance}"
        )
    if variance is None:
        variance = (discordance or 0.0) - difference**2
    else:
        variance = as_number(variance, "variance", 0)
    design_effect, alpha = as_positive(design_effect, "design_effect"), as_level(alpha, "alpha")
    check_option(alternative, _ALTERNATIVES, "alternative")
    return _Effect(difference, discordance, variance, design_effect, alpha, alternative)


def _no_number(reason: str, difference: float = math.nan) -> LabelsNeeded:
    return LabelsNeeded(undefined(reason), math.nan, difference, math.nan, math.nan, math.nan)

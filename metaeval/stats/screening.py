"""Which of many units (people, mostly) differ from what is usual among them, by p-values that some may spoil.

A few people who work in another way mustn't decide what is usual, or they'd hide themselves: `outlier_p_values` takes
medians of the others; `excess_p_values` fits what is usual with a share of people for whom anything is as likely.
"""

from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from metaeval.stats.arrays import Floats, as_items, check_option
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.sign_flips import Alternative

_ALTERNATIVES = ("two-sided", "greater", "less")
_FEWEST = 6
# Of the median absolute deviation of a normal distribution: its standard deviation, and its efficiency beside the
# standard deviation's, which is the share of the degrees of freedom that is left.
_NORMAL = 1.482602218505602
_EFFICIENCY = 0.3675
# What is tried for the usual share, its correlation within a person, and the share of unusual people.
_SHARES = (1e-4, 1 - 1e-4)
_CORRELATIONS = (0.01, 0.35)
_UNUSUAL = (1e-4, 0.3)
_GRID_SHARES = (0.02, 0.14, 0.26, 0.38, 0.5, 0.62, 0.74, 0.86, 0.98)
_GRID_CORRELATIONS = (0.01, 0.05, 0.2, 0.35)
_GRID_UNUSUAL = (1e-4, 0.1, 0.3)
TOO_FEW = "no test: fewer than six others are known"
NO_SPREAD = "no test: the others don't differ from each other"


def outlier_p_values(values: ArrayLike, *, alternative: Alternative = "two-sided") -> Floats:
    """How unusual each value is among the others, where most of them are normally distributed.

    Each value is compared with the median of the others, in units of their median absolute deviation, by Student's
    distribution with the degrees of freedom that this measure of spread has. Up to half of the others may be anything.

    Parameters
    ----------
    values : array_like of shape (n_units,)
        One number a unit, on a scale on which the usual ones are about normal (times: their logarithms); a unit with
        NaN takes no part and stays NaN.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"``: only values above the others are unusual.

    Returns
    -------
    ndarray of shape (n_units,)
        In (0, 1]; NaN, with a `StatisticsWarning`, where fewer than six others are known or these don't differ. They're
        p-values of single units: `adjust_p_values` allows for their number.

    Raises
    ------
    InvalidInputError
        Of a wrong shape or option.

    References
    ----------
    B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle Outliers" (1993); P. J. Rousseeuw and C. Croux, J. Am.
    Stat. Assoc. 88 (1993), for the efficiency.

    Examples
    --------
    >>> outlier_p_values([10, 11, 12, 13, 14, 15, 16, 60]).round(4).tolist()
    [0.3371, 0.4492, 0.5991, 0.7869, 0.7869, 0.5991, 0.4492, 0.0032]
    """
    check_option(alternative, _ALTERNATIVES, "alternative")
    array = as_items(values, "values")
    known = np.flatnonzero(~np.isnan(array))
    result: Floats = np.full(len(array), np.nan)
    n = len(known) - 1
    if n < _FEWEST:
        warn(f"outlier_p_values: {TOO_FEW}")
        return result
    # The others of each, ordered: without one of an ordered row, all behind it move up.
    ordered = np.sort(array[known])
    for place in known:
        others = np.delete(ordered, np.searchsorted(ordered, array[place]))
        middle = np.median(others)
        spread = _NORMAL * np.median(np.abs(others - middle))
        if not spread > 0:
            continue
        # The median of the others is uncertain, too: its variance is that of a mean times half of pi.
        distance = (array[place] - middle) / (spread * np.sqrt(1 + np.pi / (2 * n)))
        result[place] = _student(distance, _EFFICIENCY * (n - 1), alternative)
    if np.isnan(result[known]).any():
        warn(f"outlier_p_values: {NO_SPREAD}")
    return result


def _student(distance: float, freedom: float, alternative: Alternative) -> float:
    if alternative == "two-sided":
        return min(1.0, 2 * float(special.stdtr(freedom, -abs(distance))))
    return float(special.stdtr(freedom, distance if alternative == "less" else -distance))


def excess_p_values(events: ArrayLike, trials: ArrayLike) -> Floats:
    """How unusual it is that each unit has so many events or more, where the chance of one differs between units.

    What is usual is a beta-binomial distribution, fitted by maximum likelihood as the one part of a mixture; in the
    other, of at most 30% of the units, any number of events is as likely. So units that differ altogether don't pass
    as usual because there are several of them.

    Parameters
    ----------
    events : array_like of shape (n_units,)
        Events of each unit, whole numbers from 0 to its trials; NaN takes no part.
    trials : array_like of shape (n_units,)
        Occasions for one. A unit with none, or with NaN, takes no part.

    Returns
    -------
    ndarray of shape (n_units,)
        The chance of so many events or more by the usual part, in (0, 1]. NaN of a unit that takes no part; of all,
        with a `StatisticsWarning`, where fewer than seven do.

    Raises
    ------
    InvalidInputError
        Of a wrong shape, of what is no whole number, and of more events than trials.

    Notes
    -----
    The share ``m`` of the usual part lies within [0.0001, 0.9999], and its correlation within a unit ``r`` within
    [0.01, 0.35]: people are never quite alike, so no binomial is fitted, and usual people aren't of two kinds, those
    with no event and those with nothing else. The parameters of the beta distribution are
    ``m (1 - r) / r`` and ``(1 - m) (1 - r) / r``.

    References
    ----------
    J. G. Skellam, J. R. Stat. Soc. B 10 (1948), for the distribution; J. D. Banfield and A. E. Raftery, Biometrics 49
    (1993), for a uniform part that takes the outliers.

    Examples
    --------
    >>> excess_p_values([0, 1, 0, 2, 1, 0, 1, 20], [20] * 8).round(4).tolist()
    [1.0, 0.4961, 1.0, 0.1749, 0.4961, 1.0, 0.4961, 0.0]
    """
    array, whole = as_items(events, "events"), as_items(trials, "trials")
    if len(array) != len(whole):
        raise InvalidInputError(f"trials: expected {len(array)}, one a unit, got {len(whole)}")
    for name, each in (("events", array), ("trials", whole)):
        seen = each[~np.isnan(each)]
        if ((seen < 0) | (seen != np.floor(seen))).any():
            raise InvalidInputError(f"{name}: expected whole numbers from 0 on")
    known = ~np.isnan(array) & (whole > 0)
    if (array[known] > whole[known]).any():
        raise InvalidInputError("events: more than trials")
    result: Floats = np.full(len(array), np.nan)
    if known.sum() <= _FEWEST:
        warn(f"excess_p_values: {TOO_FEW}")
        return result
    # The same numbers in the same order, so that the order of the units changes nothing.
    pairs, place, counts = np.unique(
        np.stack([array[known], whole[known]], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    first, second = usual_beta(pairs[:, 0], pairs[:, 1], counts.astype(np.float64))
    tails = np.array([beta_binomial_tail(int(k), int(n), first, second) for k, n in pairs])
    result[known] = tails[np.ravel(place)]
    return result


def usual_beta(events: Floats, trials: Floats, counts: Floats) -> tuple[float, float]:
    """The parameters of the beta distribution that most units have."""
    lows, highs = (
        special.logit(np.array(ends)) for ends in zip(_SHARES, _CORRELATIONS, _UNUSUAL, strict=True)
    )
    uniform = -np.log1p(trials)

    def loss(given: Floats) -> float:
        share, correlation, unusual = special.expit(given)
        usual = _log_chance(events, trials, *_beta(share, correlation)) + np.log1p(-unusual)
        return -float(np.sum(counts * np.logaddexp(usual, uniform + np.log(unusual))))

    # The likelihood has more than one hill: begin on the highest points of a grid, too.
    grid = [
        special.logit(np.array(point)) for point in product(_GRID_SHARES, _GRID_CORRELATIONS, _GRID_UNUSUAL)
    ]
    rates = np.sort(np.repeat(events / trials, counts.astype(int)))
    starts = [
        special.logit(np.array([np.clip(share, 1e-3, 1 - 1e-3), correlation, 0.05]))
        for share, correlation in ((rates[: max(1, 3 * len(rates) // 4)].mean(), 0.05), (rates.mean(), 0.3))
    ]
    starts += sorted(grid, key=loss)[:2]
    # Without BLAS, whose threads take longer to begin than three parameters to fit.
    found = [
        optimize.minimize(
            loss,
            np.clip(start, lows, highs),
            method="Nelder-Mead",
            bounds=optimize.Bounds(lows, highs),
            options={"xatol": 1e-4, "fatol": 1e-7, "maxiter": 400},
        )
        for start in starts
    ]
    share, correlation, _ = special.expit(min(found, key=lambda each: float(each.fun)).x)
    return _beta(share, correlation)


def _beta(share: float, correlation: float) -> tuple[float, float]:
    size = (1 - correlation) / correlation
    return share * size, (1 - share) * size


def _log_chance(events: Floats, trials: Floats, first: float, second: float) -> Floats:
    ways = -special.betaln(events + 1, trials - events + 1) - np.log1p(trials)
    chance: Floats = (
        ways + special.betaln(events + first, trials - events + second) - special.betaln(first, second)
    )
    return chance


def beta_binomial_tail(events: int, trials: int, first: float, second: float) -> float:
    """The chance of so many events or more."""
    counts = np.arange(events, trials + 1, dtype=np.float64)
    log_chances = _log_chance(counts, np.full(len(counts), float(trials)), first, second)
    return 1.0 if events == 0 else min(1.0, float(np.exp(special.logsumexp(log_chances))))

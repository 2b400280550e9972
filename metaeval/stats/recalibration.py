"""Probabilities that say what they mean: temperature scaling and isotonic regression, fitted out of sample."""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, Seed, as_weights, check_option, generator
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import why_none
from metaeval.stats.options import as_count
from metaeval.stats.results import Result
from metaeval.stats.shares import as_shares

CalibrationMethod: TypeAlias = Literal["temperature", "isotonic"]

# What a probability of 0 or 1 is read as: no logarithm of these exists, and no judge is that sure.
_EDGE = 1e-6
_COLDEST, _HOTTEST = math.log(0.02), math.log(50)
TOO_FEW = "fewer clusters with an outcome than folds: probabilities are left as they are"


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationMap(Result):
    """A fitted map from probabilities to calibrated ones; call it.

    Attributes
    ----------
    method : {"temperature", "isotonic"}
    temperature : float
        What log odds are divided by: above 1 the judge was too sure. NaN of an isotonic map.
    knots : tuple of (float, float)
        Of an isotonic map: probabilities and what they become, straight lines between.
    """

    method: CalibrationMethod
    temperature: float = math.nan
    knots: tuple[tuple[float, float], ...] = ()

    def __call__(self, probabilities: ArrayLike) -> Floats:
        """Calibrated probabilities, NaN where NaN."""
        said = np.asarray(probabilities, dtype=np.float64)
        if self.method == "temperature":
            return _cooled(said, self.temperature)
        if not self.knots:
            return said
        left, right = zip(*self.knots, strict=True)
        return np.where(np.isnan(said), np.nan, np.interp(said, left, right))


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration(Result):
    """Calibrated probabilities, each by a map that was fitted without the item's cluster.

    Attributes
    ----------
    probabilities : ndarray of shape (n_items,)
        NaN where none was given. Items without an outcome have those of the map of all.
    map : CalibrationMap
        Fitted to all items with an outcome: for new items.
    n, n_clusters : int
        Items with an outcome, and their clusters.
    """

    probabilities: Floats
    map: CalibrationMap
    n: int
    n_clusters: int


@aligned()
def recalibrate(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    *,
    method: CalibrationMethod = "temperature",
    n_folds: int = 10,
    clusters: Any = None,
    weights: ArrayLike | None = None,
    rng: Seed = None,
) -> Recalibration:
    """Calibrate a judge's probabilities with folds, so that what is measured after it is out of sample.

    Parameters
    ----------
    probabilities : array_like of shape (n_items,)
        In [0, 1], NaN where none is known.
    outcomes : array_like of shape (n_items,)
        1, 0 or the share of people who say so; NaN where nobody knows.
    method : {"temperature", "isotonic"}
        One number that log odds are divided by, which needs few labels and keeps the order; or the best rising
        function, which needs hundreds.
    n_folds : int, default 10
        Folds of whole clusters.
    clusters : array_like of shape (n_items,), optional
        Items that share an instruction are never on both sides. Default: each item by itself.
    weights : array_like of shape (n_items,), optional
        Inverse of the chance with which each item was picked for labeling.
    rng : int, Generator or None
        Of the folds.

    Returns
    -------
    Recalibration

    References
    ----------
    C. Guo et al., "On Calibration of Modern Neural Networks", ICML 2017; B. Zadrozny and C. Elkan, "Transforming
    classifier scores into accurate multiclass probability estimates", KDD 2002.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> odds = rng.normal(1, 1, 3000)
    >>> right = rng.random(3000) < 1 / (1 + np.exp(-odds))
    >>> found = recalibrate(1 / (1 + np.exp(-3 * odds)), right)       # three times as sure as it should be
    >>> round(found.map.temperature)
    3
    """
    check_option(method, ("temperature", "isotonic"), "method")
    said = as_shares(probabilities, "probabilities")
    seen = as_shares(outcomes, "outcomes", len(said))
    n_folds = as_count(n_folds, "n_folds", 2)
    given = as_weights(weights, len(said))
    own = np.ones(len(said)) if given is None else given
    codes = np.arange(len(said)) if clusters is None else as_codes(clusters, "clusters", len(said))[0]
    rows = np.flatnonzero(~np.isnan(said) & ~np.isnan(seen) & (own > 0))
    distinct, inside = np.unique(codes[rows], return_inverse=True)
    if len(distinct) < n_folds:
        warn(why_none(TOO_FEW, weights))
        same = CalibrationMap(method, 1.0 if method == "temperature" else math.nan)
        return Recalibration(said, same, len(rows), len(distinct))
    fold: Integers = generator(rng).permutation(len(distinct))[inside] % n_folds
    whole = fit(said[rows], seen[rows], own[rows], method)
    found = whole(said)
    for one in range(n_folds):
        rest, part = rows[fold != one], rows[fold == one]
        found[part] = fit(said[rest], seen[rest], own[rest], method)(said[part])
    return Recalibration(found, whole, len(rows), len(distinct))


def fit(said: Floats, seen: Floats, weights: Floats, method: CalibrationMethod) -> CalibrationMap:
    """Fit a map to items that all have a probability and an outcome.

    Examples
    --------
    >>> fit(np.array([0.2, 0.4, 0.6]), np.array([0.0, 1.0, 0.0]), np.ones(3), "isotonic").knots
    ((0.2, 0.0), (0.4, 0.5), (0.6, 0.5))
    """
    if not len(said):
        raise InvalidInputError("outcomes: expected at least one")
    if method == "temperature":

        def loss(cooling: float) -> float:
            chance = _cooled(said, math.exp(cooling))
            return -float(weights @ (seen * np.log(chance) + (1 - seen) * np.log1p(-chance)))

        found = optimize.minimize_scalar(loss, bounds=(_COLDEST, _HOTTEST), method="bounded")
        return CalibrationMap("temperature", math.exp(float(found.x)))
    # Equal probabilities are one point: they cannot become different ones.
    distinct, place = np.unique(said, return_inverse=True)
    whole = np.bincount(place, weights=weights)
    means = np.bincount(place, weights=weights * seen) / whole
    rising = optimize.isotonic_regression(means, weights=whole).x
    return CalibrationMap(
        "isotonic", knots=tuple(zip(distinct.tolist(), np.clip(rising, 0, 1).tolist(), strict=True))
    )


def _cooled(said: Floats, temperature: float) -> Floats:
    edged = np.clip(said, _EDGE, 1 - _EDGE)
    odds = np.log(edged) - np.log1p(-edged)
    found: Floats = 1 / (1 + np.exp(-odds / temperature))
    return np.clip(found, _EDGE, 1 - _EDGE)

"""Is a judge's confidence worth something: Brier score and its parts, calibration error, reliability diagram."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, dot
from metaeval.stats.errors import warn
from metaeval.stats.estimate import Estimate, fields_of, undefined
from metaeval.stats.intervals import why_none
from metaeval.stats.options import as_count
from metaeval.stats.results import Result
from metaeval.stats.shares import Frame, as_shares, read_frame

DEFAULT_BINS = 10
NO_PROBABILITY = "no item has a probability and an outcome"
NO_PAIRS = "undefined: no bin has items of two clusters"


@dataclass(frozen=True, slots=True)
class ReliabilityBin(Result):
    """Items of about one probability.

    Attributes
    ----------
    low, high : float
        Least and largest probability in it.
    probability : float
        Their mean.
    outcome : Estimate
        How often the outcome was there, with its interval.
    share : float
        Of all items.
    """

    low: float
    high: float
    probability: float
    outcome: Estimate
    share: float


@dataclass(frozen=True, slots=True)
class BrierScore(Estimate):
    """Mean squared difference of probability and outcome, and what it is made of (0 is best, 0.25 knows nothing).

    Attributes
    ----------
    reliability : float
        How far outcomes are from the probabilities said, by bin, squared: 0 is calibrated. Freed of the part that
        chance adds, so it may be below 0 where a judge is calibrated.
    resolution : float
        How far outcomes of the bins are from their mean, squared: 0 is a confidence that tells nothing. Freed too.
    uncertainty : float
        What always saying the mean outcome would score.
    within : float
        What the probabilities vary inside of bins: value = reliability - resolution + uncertainty + within.
    skill : float
        One minus value over uncertainty: 0 is no better than always saying the mean outcome, 1 is perfect.
    """

    reliability: float = math.nan
    resolution: float = math.nan
    uncertainty: float = math.nan
    within: float = math.nan
    skill: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        names = ("reliability", "resolution", "uncertainty", "within", "skill")
        parts = {name: getattr(self, name) for name in names}
        return Estimate.as_dict(self) | {
            name: None if math.isnan(value) else value for name, value in parts.items()
        }


@dataclass(frozen=True, slots=True)
class CalibrationError(Estimate):
    """How far probabilities are from outcomes: root of the mean squared gap of bins, freed of what chance adds.

    Attributes
    ----------
    plain : float
        The expected calibration error as it is mostly reported: the mean absolute gap of bins. Chance alone makes it
        larger than 0, the more the fewer the items.
    plain_squared : float
        Root of the mean squared gap, as it is mostly reported.
    bins : tuple of ReliabilityBin
        The reliability diagram.
    """

    _chart: ClassVar[str] = "reliability_diagram"

    plain: float = math.nan
    plain_squared: float = math.nan
    bins: tuple[ReliabilityBin, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        return Estimate.as_dict(self) | {
            "plain": None if math.isnan(self.plain) else self.plain,
            "bins": [
                {
                    "low": one.low,
                    "high": one.high,
                    "probability": one.probability,
                    "share": one.share,
                    "outcome": one.outcome.as_dict(),
                }
                for one in self.bins
            ],
        }


@aligned()
def brier_score(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    *,
    n_bins: int = DEFAULT_BINS,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> BrierScore:
    """Brier score of a judge's probabilities, with Murphy's parts.

    Parameters
    ----------
    probabilities : array_like of shape (n_items,)
        In [0, 1]: of a pass, or that a verdict is right. NaN where none is known.
    outcomes : array_like of shape (n_items,)
        1 where it was so, 0 where not, or a share of outcomes that were so, each of which counts by itself: a
        probability of one half scores 0.25 whatever the share is. NaN where nobody knows.
    n_bins : int, default 10
        Bins of about as many items each, for the parts; equal probabilities are never parted.
    weights : array_like of shape (n_items,), optional
        Inverse of the chance with which each item was picked for labeling; 0 does not count.
    clusters : array_like of shape (n_items,), optional
        Items that share an instruction are one piece of evidence. Default: each item by itself.
    where : array_like of shape (n_items,), optional
        Booleans, the items that count. Default: all.
    confidence : float

    Returns
    -------
    BrierScore

    Notes
    -----
    The parts are those of Murphy, with the variance within bins kept apart (Stephenson et al.), and freed of their
    bias by what each bin's mean outcome varies between clusters (Ferro and Fricker). The value itself needs no bins.

    References
    ----------
    G. W. Brier, Monthly Weather Review 78 (1950); A. H. Murphy, "A New Vector Partition of the Probability Score",
    Journal of Applied Meteorology 12 (1973); D. B. Stephenson et al., Weather and Forecasting 23 (2008); C. A. T. Ferro
    and T. E. Fricker, "A bias-corrected decomposition of the Brier score", QJRMS 138 (2012).

    Examples
    --------
    >>> found = brier_score([0.9, 0.9, 0.9, 0.9, 0.2, 0.2, 0.2, 0.2, 0.2], [1, 1, 1, 0, 0, 0, 0, 1, 0])
    >>> round(found.value, 4), found.skill > 0
    (0.1822, True)
    """
    data = _read(probabilities, outcomes, n_bins, weights, clusters, where, confidence)
    if not len(data.outcome):
        return BrierScore(**fields_of(undefined(why_none(NO_PROBABILITY, weights))))
    # A share is the mean of outcomes of 0 or 1: these vary around it, which no probability could have known.
    spread = data.outcome * (1 - data.outcome)
    found = data.frame.share((data.probability - data.outcome) ** 2 + spread, data.share).estimate
    fields = fields_of(found)
    share = data.share
    mean = float(share @ data.outcome)
    gaps = data.means(data.outcome) - data.means(data.probability)
    sizes = data.sizes
    noise = data.noise()
    whole_noise = data.variance(data.outcome, share)
    reliability = float(sizes @ (gaps**2 - noise))
    resolution = float(sizes @ ((data.means(data.outcome) - mean) ** 2 - noise)) + whole_noise
    uncertainty = float(share @ ((data.outcome - mean) ** 2 + spread)) + whole_noise
    return BrierScore(
        **fields,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        within=found.value - (reliability - resolution + uncertainty),
        skill=1 - found.value / uncertainty if uncertainty > 0 else math.nan,
    )


@aligned()
def calibration_error(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    *,
    n_bins: int = DEFAULT_BINS,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> CalibrationError:
    """Expected calibration error of a judge's probabilities, freed of what chance adds, with an interval.

    Parameters
    ----------
    probabilities, outcomes, n_bins, weights, clusters, where, confidence
        See `brier_score`.

    Returns
    -------
    CalibrationError
        The root of the mean squared gap of bins, at least 0.

    Notes
    -----
    The squared gap of a bin is estimated from pairs of items of different clusters, so that the errors of the two do
    not add up (Kumar et al.; Sun et al.): its mean is that of the true gap, 0 for a calibrated judge, where the plain
    one is as large as the noise. The interval inverts the distribution of the plain mean squared gap, a sum of
    squared normal variables that is approximated by a scaled non-central chi-squared one, so that it begins at 0
    where a calibrated judge would look like this. A bin whose outcomes are all the same counts as if half an error
    more were there.

    What is estimated is the error between bins of this many items; what cancels inside of a bin is not seen, here as
    in every binned calibration error.

    References
    ----------
    C. Guo et al., "On Calibration of Modern Neural Networks", ICML 2017; A. Kumar, P. Liang and T. Ma, "Verified
    Uncertainty Calibration", NeurIPS 2019, section 4; Y. Sun et al., "Confidence Intervals for Evaluation of
    Calibration Error", arXiv 2408.08998, 2024.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.uniform(0.5, 1, 2000)
    >>> right = rng.random(2000) < truth
    >>> calibrated, bold = calibration_error(truth, right), calibration_error(truth**0.25, right)
    >>> calibrated.low, round(bold.value, 2)
    (0.0, 0.2)
    """
    data = _read(probabilities, outcomes, n_bins, weights, clusters, where, confidence)
    found = _error(data, weights)
    return replace(found, bins=data.bins()) if found.n else found


def calibration_estimate(
    probabilities: Floats,
    outcomes: Floats,
    *,
    weights: Floats | None = None,
    clusters: Any = None,
    confidence: float = 0.95,
) -> Estimate:
    """`calibration_error` without its reliability diagram, which takes as long again: for many groups of items.

    Examples
    --------
    >>> round(calibration_estimate(np.repeat([0.2, 0.8], 50), np.repeat([0.0, 1.0], 50)).value, 6)
    0.2
    """
    data = _read(probabilities, outcomes, DEFAULT_BINS, weights, clusters, None, confidence)
    return Estimate(**fields_of(_error(data, weights)))


def _error(data: "_Data", weights: ArrayLike | None) -> CalibrationError:
    n, n_clusters = len(data.outcome), data.frame.n_clusters(data.frame.counted)
    if not n:
        return CalibrationError(**fields_of(undefined(why_none(NO_PROBABILITY, weights))))
    gaps = data.means(data.outcome) - data.means(data.probability)
    noise, sizes = data.noise(), data.sizes
    plain = float(sizes @ np.abs(gaps))
    squared = float(sizes @ gaps**2)
    more: dict[str, Any] = {"plain": plain, "plain_squared": math.sqrt(squared)}
    if np.isnan(noise).any():
        warn(NO_PAIRS)
        return CalibrationError(math.nan, math.nan, math.nan, n, n_clusters, "none", NO_PAIRS, **more)
    value = math.sqrt(max(0.0, squared - float(sizes @ noise)))
    low, high = _ends(squared, sizes * np.maximum(noise, data.least_noise()), data.frame.confidence)
    return CalibrationError(
        value, min(low, value), max(high, value), n, n_clusters, "chi-squared", None, **more
    )


def _ends(squared: float, noise: Floats, confidence: float) -> tuple[float, float]:
    """Ends of the root mean squared gap whose plain estimate was ``squared``; ``noise`` is what each bin adds."""
    total, spread = float(noise.sum()), float((noise**2).sum())
    scale, freedom = spread / total, total**2 / spread

    def end(seen: float, level: float) -> float:
        """The true squared gap under which what was seen lies at this quantile."""

        def above(gap: float) -> float:
            return float(special.chndtr(seen / scale, freedom, gap / scale)) - level

        if above(0.0) <= 0:
            return 0.0
        most = seen + total
        while above(most) > 0:
            most *= 2
        return float(optimize.brentq(above, 0.0, most, xtol=1e-12))

    tail = (1 - confidence) / 2
    # Less than chance adds by itself is luck, and no sign of less than nothing.
    return math.sqrt(end(squared, 1 - tail)), min(1.0, math.sqrt(end(max(squared, total), tail)))


# --- items and bins ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """The items that count: their share of the whole (adds up to 1), bin and clusters."""

    probability: Floats
    outcome: Floats
    share: Floats
    bin: Integers
    frame: Frame

    @property
    def sizes(self) -> Floats:
        """The share of each bin."""
        return np.bincount(self.bin, weights=self.share).astype(np.float64, copy=False)

    def means(self, values: Floats) -> Floats:
        """Of the values in each bin."""
        found: Floats = np.bincount(self.bin, weights=self.share * values) / self.sizes
        return found

    def variance(self, values: Floats, weights: Floats) -> float:
        """Of a weighted mean, between clusters; NaN of one cluster."""
        mean = dot(weights, values)
        parts = self.frame.by_cluster(weights * (values - mean))
        n = self.frame.n_clusters(weights > 0)
        return dot(parts, parts) * n / (n - 1) if n > 1 else math.nan

    def noise(self) -> Floats:
        """What chance adds to the squared gap of each bin."""
        gaps = self.outcome - self.probability
        return np.array(
            [
                self.variance(gaps, np.where(self.bin == place, self.share / size, 0.0))
                for place, size in enumerate(self.sizes.tolist())
            ]
        )

    def least_noise(self) -> Floats:
        """What chance may add where all outcomes of a bin are the same: as of half an error more."""
        found = []
        for place in range(len(self.sizes)):
            weights = self.frame.by_cluster(np.where(self.bin == place, self.share, 0.0))
            n = float(weights.sum()) ** 2 / dot(weights, weights)
            found.append(0.5 * (n + 0.5) / (n + 1) ** 2 / n)
        return np.array(found)

    def bins(self) -> tuple[ReliabilityBin, ...]:
        """The reliability diagram."""
        means, sizes = self.means(self.probability), self.sizes
        found = []
        for place, size in enumerate(sizes.tolist()):
            inside = self.bin == place
            ends = self.probability[inside]
            outcome = self.frame.share(self.outcome, np.where(inside, self.share, 0.0)).estimate
            found.append(
                ReliabilityBin(float(ends.min()), float(ends.max()), float(means[place]), outcome, size)
            )
        return tuple(found)


def _read(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    n_bins: int,
    weights: ArrayLike | None,
    clusters: Any,
    where: ArrayLike | None,
    confidence: float,
) -> _Data:
    said = as_shares(probabilities, "probabilities")
    seen = as_shares(outcomes, "outcomes", len(said))
    n_bins = as_count(n_bins, "n_bins", 1)
    whole = read_frame(len(said), weights, clusters, where, confidence)
    rows = np.flatnonzero(whole.counted & ~np.isnan(said) & ~np.isnan(seen))
    codes = np.unique(whole.codes[rows], return_inverse=True)[1]
    own = whole.weights[rows]
    return _Data(
        said[rows],
        seen[rows],
        own / own.sum() if len(rows) else own,
        _binned(said[rows], codes, n_bins),
        Frame(codes, own, whole.weighted, whole.confidence),
    )


def _binned(values: Floats, codes: Integers, n_bins: int) -> Integers:
    """The bin of each value: about as many in each, equal values in one, and items of two clusters or more in all."""
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    bins = np.zeros(len(distinct), dtype=np.intp)
    members = _two_of_each(place, codes, len(distinct))
    aim, filled, current, inside = len(values) / n_bins, 0, 0, set[int]()
    for where, (count, pair) in enumerate(zip(counts.tolist(), members.tolist(), strict=True)):
        # A value that alone fills a bin begins one of its own.
        if len(inside) > 1 and (filled >= aim or filled + count / 2 > aim):
            current, filled, inside = current + 1, 0, set()
        bins[where] = current
        filled += count
        inside |= set(pair)
    if current and len(inside) < 2:
        bins[bins == current] = current - 1
    return np.asarray(bins[place])


def _two_of_each(place: Integers, codes: Integers, n_places: int) -> Integers:
    """Two different codes of each place, (n_places, 2), which tell whether it has two; the same twice where it has one.

    Examples
    --------
    >>> _two_of_each(np.array([0, 0, 1]), np.array([5, 7, 5]), 2).tolist()
    [[5, 7], [5, 5]]
    """
    found = np.zeros((n_places, 2), dtype=np.intp)
    found[place[::-1]] = codes[::-1, np.newaxis]
    others = np.flatnonzero(codes != found[place, 0])[::-1]
    found[place[others], 1] = codes[others]
    return found

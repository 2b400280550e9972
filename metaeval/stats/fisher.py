"""Intervals of correlations: on Fisher's scale, where their spread does not depend on their size."""

import math

import numpy as np
from scipy import special

from metaeval.stats.arrays import Booleans, Floats
from metaeval.stats.errors import warn
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import clusters_counted, wilson_interval
from metaeval.stats.resampling import Resamples

# 1 - r^2 below this is a correlation of 1.
_PERFECT = 1e-12
_NO_INTERVAL = "no interval: undefined in every resample"


def fisher_interval(
    value: float, resampled: Floats, *, n_clusters: int, confidence: float = 0.95
) -> tuple[float, float, str]:
    """(low, high, method) of a correlation, from its values in the resamples.

    Fisher's z of the value, give or take Student's quantile (one degree of freedom less than clusters) times the
    standard deviation over the resamples, divided by 1 - r^2: the slope of z is one over that. Resampled
    correlations near 1 are skewed and most lie lower, where z is less steep, so 1 - r^2 is that of the value or the
    mean of the resamples, whichever is larger. (The standard deviation of the resampled z would be infinite where
    one of them is 1.) Resamples without a value are left out. A correlation of 1 or -1, or one that no resample
    changes, has Wilson's interval of as many successes as there are clusters, so that it is never a point.

    References
    ----------
    R. A. Fisher, "On the 'probable error' of a coefficient of correlation deduced from a small sample", Metron 1
    (1921); A. C. Davison and D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 5.2.

    Examples
    --------
    >>> [round(end, 3) for end in fisher_interval(0.5, np.array([0.4, 0.6] * 50), n_clusters=50)[:2]]
    [0.272, 0.675]
    >>> skewed = np.repeat([0.999, 0.99, 0.9], 100)
    >>> [round(end, 3) for end in fisher_interval(0.998, skewed, n_clusters=50)[:2]]
    [0.974, 1.0]
    """
    if len(resampled) == 0:
        return math.nan, math.nan, "none"
    finite = resampled[np.isfinite(resampled)]
    if not len(finite):
        return math.nan, math.nan, "none"
    spread, unexplained = float(finite.std()), 1 - value**2
    if n_clusters <= 1 or unexplained < _PERFECT or spread < _PERFECT:
        ends = wilson_interval((1 + value) / 2, max(n_clusters, 1), confidence)
        return 2 * ends[0] - 1, 2 * ends[1] - 1, "wilson"
    unexplained = max(unexplained, float(np.mean(1 - finite**2)))
    error = spread * math.sqrt(n_clusters / (n_clusters - 1)) / unexplained
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    centre = math.atanh(value)
    return math.tanh(centre - reach), math.tanh(centre + reach), "fisher"


def finish_correlation(
    value: float, resampled: Floats, counted: Booleans, resamples: Resamples, confidence: float
) -> Estimate:
    """The estimate of a correlation that is defined; ``counted`` says which items it is computed from."""
    n, n_clusters = int(np.count_nonzero(counted)), clusters_counted(counted, resamples)
    low, high, method = fisher_interval(value, resampled, n_clusters=n_clusters, confidence=confidence)
    reason = _NO_INTERVAL if math.isnan(low) and len(resampled) else None
    if reason is not None:
        warn(reason)
    return Estimate(value, low, high, n, n_clusters, method, reason)

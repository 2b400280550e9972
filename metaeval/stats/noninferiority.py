"""Is a mean difference below a margin? One-sided tests for differences that lie between -1 and 1."""

import math
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_items, check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.ids import as_codes
from metaeval.stats.options import as_number

Test: TypeAlias = Literal["score", "t"]

# A mean this close to the margin is the margin.
_GRAIN = 1e-12


@aligned()
def noninferiority_test(
    differences: ArrayLike, *, margin: float, clusters: Any = None, test: Test = "score"
) -> float:
    """P value of "the mean difference is ``margin`` or more", against "it is less".

    Parameters
    ----------
    differences : array_like of shape (n_items,)
        Within [-1, 1]: 1 where the established one is better, -1 where the newcomer is, 0 where they are equal.
    margin : float in [0, 1)
    clusters : array_like of shape (n_items,), optional
        Items of one cluster are one piece of evidence.
    test : {"score", "t"}
        ``"t"``: Student's t with the variance of the differences, as if they were normal. Where the newcomer is
        hardly ever better they are skewed: few losses come with a small variance, and the test rejects too often.
        ``"score"``: the variance of the likeliest distribution whose mean is the margin. Both with one degree of
        freedom less than clusters.

    Returns
    -------
    float

    Raises
    ------
    InvalidInputError
        For differences outside of -1 to 1.

    References
    ----------
    T. Tango, Statistics in Medicine 17 (1998), for differences that are -1, 0 or 1 and independent.

    Examples
    --------
    >>> losses = [1] * 3 + [0] * 27
    >>> noninferiority_test(losses, margin=0.2, test="t") < 0.05
    True
    >>> noninferiority_test(losses, margin=0.2) < 0.05      # 3 of 30 where 6 are allowed is no proof
    False
    """
    check_option(test, ("score", "t"), "test")
    margin, values = as_number(margin, "margin", 0, 1), as_items(differences, "differences")
    if np.isnan(values).any() or (np.abs(values) > 1).any():
        raise InvalidInputError("differences: expected numbers between -1 and 1")
    n = len(values)
    codes, n_clusters = (np.arange(n), n) if clusters is None else as_codes(clusters, "clusters", n)
    if n_clusters < 2:
        return math.nan
    mean = float(values.mean())
    spread = float(values.var()) / n
    sums = np.bincount(codes, weights=values - mean, minlength=n_clusters)
    between = float(np.sum(sums**2)) / n**2
    if test == "t":
        variance = between * n_clusters / (n_clusters - 1)
    else:
        # What clustering does to the variance; where nothing varies, each cluster is one observation.
        inflation = max(1.0, between / spread) if spread > 0 else n / n_clusters
        variance = _variance_at(values, margin) / n * inflation
    if variance <= 0:
        return 0.0 if mean < margin else 1.0
    return float(special.stdtr(n_clusters - 1, (mean - margin) / math.sqrt(variance)))


def _variance_at(values: Floats, margin: float) -> float:
    """Variance of the likeliest distribution with mean ``margin``, on the values seen and on 1.

    Its weights are proportional to counts / (1 + tilt * (value - margin)). With no tilt that makes the mean as
    large as the margin, the rest of the mass is on 1, the largest value there is.
    """
    distinct, counts = np.unique(values, return_counts=True)
    gaps, shares = distinct - margin, counts / len(values)
    if shares @ gaps >= -_GRAIN:
        return float(shares @ (distinct - shares @ distinct) ** 2)
    steepest = -1 / (1 - margin)
    seen_at_top = distinct[-1] == 1

    def excess(tilt: float) -> float:
        return float(np.sum(shares * gaps / (1 + tilt * gaps)))

    if seen_at_top:
        tilt = scipy.optimize.brentq(excess, steepest * (1 - 1e-12), 0.0)
    elif excess(steepest) <= 0:
        tilt = steepest
    else:
        tilt = scipy.optimize.brentq(excess, steepest, 0.0)
    weights = shares / (1 + tilt * gaps)
    return float(weights @ gaps**2 + max(0.0, 1 - weights.sum()) * (1 - margin) ** 2)

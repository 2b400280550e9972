"""Tests of a difference between two judges: paired t, McNemar, and sign flips of whole clusters."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Seed, as_items, check_option, generator
from metaeval.stats.differences import paired_difference
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import why_none
from metaeval.stats.options import as_count, as_switch
from metaeval.stats.paired import PairedScores, paired_scores, ratio_variance
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.sign_flips import Alternative, sign_flip_p_value

_ALTERNATIVES = ("two-sided", "greater", "less")
_NO_PAIR = "no item is scored for both"
_ONE_CLUSTER = "no test: the items are one cluster"
_NO_SPREAD = "no test: every cluster differs by the same"

# McNemar's chi-square from so many discordant pairs on, the usual rule.
_FEW_DISCORDANT = 25
_GRAIN = 1e-10


@dataclass(frozen=True, slots=True)
class TestResult(Result):
    """The outcome of a test of a difference between two judges.

    Attributes
    ----------
    statistic : float
        Student's t; the discordant items of the rarer kind or chi-square (McNemar); the mean difference (sign
        flips).
    p_value : float
        In (0, 1]; NaN where there is no test.
    estimate : Estimate
        The mean of first minus second, with an interval.
    n, n_clusters : int
        Items that both are scored on, and the clusters that they belong to.
    method : str
        What was done, in a few words.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"``: the first is better.
    reason : str or None
        Why there is no p-value.

    Examples
    --------
    >>> paired_t_test([3, 4, 5, 4], [2, 2, 4, 4]).as_dict()["n"]
    4
    """

    __test__: ClassVar[bool] = False  # its name begins as those of test classes do

    statistic: float
    p_value: float
    estimate: Estimate
    n: int
    n_clusters: int
    method: str
    alternative: Alternative = "two-sided"
    reason: str | None = None

    @property
    def defined(self) -> bool:
        """Whether there is a p-value at all."""
        return not math.isnan(self.p_value)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        result: dict[str, Any] = {
            "statistic": None if math.isnan(self.statistic) else self.statistic,
            "p_value": None if math.isnan(self.p_value) else self.p_value,
            "estimate": self.estimate.as_dict(),
            "n": self.n,
            "n_clusters": self.n_clusters,
            "method": self.method,
            "alternative": self.alternative,
        }
        if self.reason is not None:
            result["reason"] = self.reason
        return result


@aligned()
def paired_t_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Any = None,
    alternative: Alternative = "two-sided",
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> TestResult:
    """Student's test that the mean difference of two judges is zero, clustered by instruction.

    With clusters the standard error is that of the ratio of two cluster sums and the degrees of freedom are the
    clusters less one; without, this is the textbook's paired t test.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Scores of the two judges, on any scale; an item with NaN in either takes no part.
    clusters : array_like of shape (n_items,), optional
        The instruction of each item. Default: each item by itself.
    alternative : {"two-sided", "greater", "less"}
        ``"greater"``: the first is better.
    where : array_like of bool, optional
        The items that count.
    weights : array_like of shape (n_items,), optional
        One over the probability with which each item was picked, up to a factor. Default: all weigh the same.
    confidence : float, default 0.95
        Level of the (two-sided) interval of the difference.

    Returns
    -------
    TestResult
        Undefined with fewer than two clusters, or if all differ by the same.

    Raises
    ------
    InvalidInputError
        Of a wrong shape or option.

    References
    ----------
    W. G. Cochran, "Sampling Techniques", 3rd ed. (1977), sections 2.11 and 6.4, for the ratio's variance.

    Examples
    --------
    >>> result = paired_t_test([3, 4, 5, 4], [2, 2, 4, 4])
    >>> round(result.statistic, 4), round(result.p_value, 4)
    (2.4495, 0.0917)
    """
    check_option(alternative, _ALTERNATIVES, "alternative")
    pairs = paired_scores(first, second, clusters, where, confidence, weights)
    if pairs is None:
        reason = why_none(_NO_PAIR, weights)
        return _no_test(undefined(reason), 0, "paired t", alternative, reason)
    freedom = len(pairs.gaps) - 1
    error = math.sqrt(ratio_variance(pairs.gaps, pairs.sizes)) if freedom else 0.0
    # What remains of a constant difference after rounding is no spread.
    if error <= _GRAIN * max(abs(pairs.mean), np.finfo(float).tiny):
        reason = _NO_SPREAD if freedom else _ONE_CLUSTER
        warn(reason)
        nothing = Estimate(pairs.mean, math.nan, math.nan, pairs.n, len(pairs.gaps), "none", reason)
        return _no_test(nothing, len(pairs.gaps), "paired t", alternative, reason)
    statistic = pairs.mean / error
    if alternative == "two-sided":
        p_value = 2 * float(special.stdtr(freedom, -abs(statistic)))
    else:
        p_value = float(special.stdtr(freedom, -statistic if alternative == "greater" else statistic))
    method = "paired t" if clusters is None else "paired t, clustered"
    estimate = _t_estimate(pairs, error, confidence)
    return TestResult(statistic, _positive(p_value), estimate, pairs.n, len(pairs.gaps), method, alternative)


@aligned()
def mcnemar_test(
    first_right: ArrayLike,
    second_right: ArrayLike,
    *,
    exact: bool | None = None,
    mid_p: bool = False,
    clusters: Any = None,
    alternative: Alternative = "two-sided",
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> TestResult:
    """McNemar's test of two judges that are right or wrong on the same independent items.

    Only items on which one is right and the other wrong count, *b* in favor of the first and *c* of the second;
    without a difference *b* is binomial of *b + c* with one half.

    Parameters
    ----------
    first_right, second_right : array_like of shape (n_items,)
        1 or True where right, 0 or False where wrong, NaN where not known: such an item takes no part.
    exact : bool, optional
        The binomial distribution, or chi-square without a continuity correction. Default: the former below 25
        discordant items.
    mid_p : bool, default False
        Count half of the chance of what was observed (implies ``exact``): the exact test rejects too seldom, and
        this one hardly ever too often.
    clusters : array_like of shape (n_items,), optional
        Refused if two items share one, because the test would then reject too often: use
        `paired_permutation_test`.
    alternative, where, confidence
        As in `paired_t_test`.

    Returns
    -------
    TestResult
        ``statistic`` is the smaller of *b* and *c*, or chi-square. With no discordant item the two-sided p-value is 1.

    Raises
    ------
    InvalidInputError
        Of scores other than 0 and 1, of clusters of several items, of a wrong shape or option.

    References
    ----------
    Q. McNemar, Psychometrika 12 (1947); M. W. Fagerland, S. Lydersen and P. Laake, "The McNemar test for binary
    matched-pairs data: mid-p and asymptotic are better than exact conditional", BMC Med. Res. Methodol. 13 (2013).

    Examples
    --------
    >>> first, second = [1] * 9 + [0] * 2 + [1] * 20, [0] * 9 + [1] * 2 + [1] * 20
    >>> round(mcnemar_test(first, second).p_value, 4)                            # 2 (1 + 11 + 55) / 2 ** 11
    0.0654
    """
    check_option(alternative, _ALTERNATIVES, "alternative")
    mid_p = as_switch(mid_p, "mid_p")
    if exact is not None:
        exact = as_switch(exact, "exact")
    if mid_p and exact is False:
        raise InvalidInputError("mid_p: only with the exact distribution")
    first = as_items(first_right, "first_right")
    right = first, as_items(second_right, "second_right", len(first))
    pairs = paired_scores(*right, clusters, where, confidence)
    if pairs is None:
        return _no_test(undefined(_NO_PAIR), 0, "McNemar", alternative, _NO_PAIR)
    if not (np.isin(pairs.first, (0, 1)).all() and np.isin(pairs.second, (0, 1)).all()):
        raise InvalidInputError("first_right, second_right: expected 0 (wrong), 1 (right) or NaN")
    if (pairs.sizes > 1).any():
        raise InvalidInputError(
            "clusters: McNemar's test is for independent items, and several share a cluster;"
            " use paired_permutation_test"
        )
    wins, losses = int((pairs.gaps > 0).sum()), int((pairs.gaps < 0).sum())
    whole = wins + losses
    if mid_p or exact or (exact is None and whole < _FEW_DISCORDANT):
        statistic = float(min(wins, losses))
        p_value = _binomial_p(wins, losses, mid_p, alternative)
        method = "McNemar, exact, mid-p" if mid_p else "McNemar, exact"
    else:
        z = (wins - losses) / math.sqrt(whole) if whole else 0.0
        statistic = z * z
        tail = {"two-sided": -abs(z), "greater": -z, "less": z}[alternative]
        p_value = float(special.ndtr(tail)) * (2 if alternative == "two-sided" else 1)
        method = "McNemar, chi-square"
    estimate = _bounded_estimate(pairs, confidence)
    return TestResult(
        statistic, _positive(min(1.0, p_value)), estimate, pairs.n, len(pairs.gaps), method, alternative
    )


@aligned()
def paired_permutation_test(
    first: ArrayLike,
    second: ArrayLike,
    *,
    clusters: Any = None,
    n_permutations: int = 10_000,
    alternative: Alternative = "two-sided",
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
    rng: Seed = None,
) -> TestResult:
    """Test that two judges are equally good by swapping them: sign flips of whole clusters.

    If the judges are equally good, it is a matter of chance which of the two an instruction's differences favor,
    so the sum of a cluster's differences may as well have the other sign. The p-value is the share of all ways to
    choose the signs whose total is at least as far out as the one observed.

    Flips of clusters with equal sums are interchangeable, so only the number flipped of each distinct sum matters
    and it is binomial. Where the totals that can result are few, all are counted with their chances and the p-value
    is exact (fourteen clusters that all differ, or any number of right-or-wrong items: then it is McNemar's exact
    test); else they are drawn, and the p-value is (b + 1) / (m + 1), never 0.

    Parameters
    ----------
    first, second : array_like of shape (n_items,)
        Scores of the two judges, on any scale; an item with NaN in either takes no part.
    clusters : array_like of shape (n_items,), optional
        The instruction of each item. Default: each item by itself.
    n_permutations : int, default 10_000
        How many to draw where they cannot all be counted.
    alternative, where, weights, confidence
        As in `paired_t_test`.
    rng : int, numpy.random.Generator or None
        Seed of the draws; None is a fixed seed.

    Returns
    -------
    TestResult
        ``statistic`` is the mean difference. If no cluster differs the p-value is 1. Of scores within [0, 1] the
        interval is that of `paired_difference`, of others Student's.

    Raises
    ------
    InvalidInputError
        Of a wrong shape or option.

    References
    ----------
    A. M. Winkler et al., "Permutation inference for the general linear model", NeuroImage 92 (2014); I. A. Canay,
    J. P. Romano and A. M. Shaikh, "Randomization tests under an approximate symmetry assumption", Econometrica 85
    (2017), for clusters; B. Phipson and G. K. Smyth, "Permutation p-values should never be zero", Stat. Appl.
    Genet. Mol. Biol. 9 (2010).

    Examples
    --------
    >>> paired_permutation_test([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]).p_value        # 2 of the 2 ** 5 ways
    0.0625
    >>> paired_permutation_test([1, 1, 1, 1, 1], [0, 0, 0, 0, 0], clusters=list("aabbc")).p_value
    0.25
    """
    check_option(alternative, _ALTERNATIVES, "alternative")
    n_permutations = as_count(n_permutations, "n_permutations", 1)
    pairs = paired_scores(first, second, clusters, where, confidence, weights)
    if pairs is None:
        reason = why_none(_NO_PAIR, weights)
        return _no_test(undefined(reason), 0, "sign flips", alternative, reason)
    p_value, exact = sign_flip_p_value(
        pairs.gaps, n_permutations=n_permutations, alternative=alternative, rng=generator(rng)
    )
    scores = np.concatenate([pairs.first, pairs.second])
    if scores.min() >= 0 and scores.max() <= 1:
        estimate = _bounded_estimate(pairs, confidence)
    else:
        error = math.sqrt(ratio_variance(pairs.gaps, pairs.sizes)) if len(pairs.gaps) > 1 else 0.0
        estimate = _t_estimate(pairs, error, confidence)
    method = "sign flips, exact" if exact else f"sign flips, {n_permutations} drawn"
    return TestResult(pairs.mean, _positive(p_value), estimate, pairs.n, len(pairs.gaps), method, alternative)


def _binomial_p(wins: int, losses: int, mid_p: bool, alternative: Alternative) -> float:
    whole = wins + losses
    rarer = {"two-sided": min(wins, losses), "greater": losses, "less": wins}[alternative]
    tail = float(special.bdtr(rarer, whole, 0.5)) if whole else 1.0
    if mid_p:
        tail -= (tail - (float(special.bdtr(rarer - 1, whole, 0.5)) if rarer else 0.0)) / 2
    if alternative != "two-sided":
        return tail
    # With as many wins as losses both tails hold the middle: nothing is further in.
    return 1.0 if wins == losses and not mid_p else min(1.0, 2 * tail)


def _t_estimate(pairs: PairedScores, error: float, confidence: float) -> Estimate:
    n_clusters = len(pairs.gaps)
    if error == 0:
        reason = "no interval: nothing varies" if n_clusters > 1 else "no interval: the items are one cluster"
        warn(reason)
        return Estimate(pairs.mean, math.nan, math.nan, pairs.n, n_clusters, "none", reason)
    reach = float(special.stdtrit(n_clusters - 1, (1 + confidence) / 2)) * error
    return Estimate(pairs.mean, pairs.mean - reach, pairs.mean + reach, pairs.n, n_clusters, "t")


def _bounded_estimate(pairs: PairedScores, confidence: float) -> Estimate:
    """The difference of scores within [0, 1] with the interval of `paired_difference`, which is never empty."""
    # It needs a resample for nothing but the share of resamples that the first leads in, which is not used here.
    resamples = Resamples(pairs.n if pairs.codes is None else pairs.codes, n_resamples=1, shared=False)
    found = paired_difference(
        pairs.first, pairs.second, resamples=resamples, weights=pairs.weights, confidence=confidence
    )
    return Estimate(found.value, found.low, found.high, found.n, found.n_clusters, found.method, found.reason)


def _no_test(
    estimate: Estimate, n_clusters: int, method: str, alternative: Alternative, reason: str
) -> TestResult:
    return TestResult(math.nan, math.nan, estimate, estimate.n, n_clusters, method, alternative, reason)


def _positive(p_value: float) -> float:
    """No p-value is 0: what is smaller than a number can be is the smallest number."""
    return max(p_value, float(np.finfo(np.float64).tiny))

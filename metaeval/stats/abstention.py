"""Judge until unsure, then people: how many errors are left where a judge only answers when it is sure enough."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Booleans, Floats, as_floats, as_mask, check_option
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate
from metaeval.stats.intervals import why_none
from metaeval.stats.options import as_level
from metaeval.stats.results import Result
from metaeval.stats.shares import Frame, as_shares, read_frame

AbstentionMethod: TypeAlias = Literal["fixed_sequence", "linear_expectation", "conformal_risk"]

METHODS: tuple[AbstentionMethod, ...] = ("fixed_sequence", "linear_expectation", "conformal_risk")
# Thresholds that may be chosen: fixed before any label is seen.
GRID = np.round(np.linspace(0.0, 1.0, 201), 3)
# Stakes of the betting test, as shares of the largest that cannot lose everything.
_STAKES = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99])
_POINTS = 100
NO_OUTCOME = "no item has a certainty and a known outcome"
TOO_FEW = "too few labeled items to show this risk, even without an error"
TOO_RISKY = "no threshold is shown to hold this risk"


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage(Result):
    """Errors left among the verdicts that are kept, by how many are kept; from the most certain on.

    Attributes
    ----------
    thresholds, coverage, risk, low, high : ndarray of shape (n_points,)
        Keeping what is at least this certain: the share kept, of which so many are wrong, with an interval that holds
        at each point by itself.
    area : float
        Area under the curve (AURC): the mean risk over all coverages. 0 is best.
    n, n_clusters : int
        Items with a certainty and an outcome, and their clusters.
    """

    _axes: ClassVar[Mapping[str, tuple[str, ...]]] = {"coverage": ("thresholds",), "risk": ("thresholds",)}
    _intervals: ClassVar[Mapping[str, tuple[str, str]]] = {"risk": ("low", "high")}
    _chart: ClassVar[str] = "risk_coverage_curve"

    thresholds: Floats
    coverage: Floats
    risk: Floats
    low: Floats
    high: Floats
    area: float
    n: int
    n_clusters: int

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        names = ("thresholds", "coverage", "risk", "low", "high")
        lists = {name: getattr(self, name).tolist() for name in names}
        area = None if math.isnan(self.area) else self.area
        return {**lists, "area": area, "n": self.n, "n_clusters": self.n_clusters}


@dataclass(frozen=True, slots=True)
class AbstentionThreshold(Result):
    """How sure a judge has to be to decide by itself.

    Attributes
    ----------
    threshold : float
        Verdicts of at least this certainty are kept, all others go to people; NaN where no threshold holds the risk.
    coverage : Estimate
        Share of all items, labeled or not, that is kept.
    risk : Estimate
        Observed share of errors among those kept, on the labeled items that chose the threshold.
    bound : float
        Below this is the risk among those kept with the level asked for, by the test of this one threshold; NaN of the
        methods that hold on average.
    target : float
        The risk asked for.
    method : str
    confidence : float
        The level asked for.
    n, n_clusters : int
        Labeled items and their clusters.
    reason : str or None
        Why there is no threshold.
    """

    threshold: float
    coverage: Estimate
    risk: Estimate
    bound: float
    target: float
    method: AbstentionMethod
    confidence: float
    n: int
    n_clusters: int
    reason: str | None = None

    @property
    def defined(self) -> bool:
        """Whether any threshold holds the risk."""
        return not math.isnan(self.threshold)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        found: dict[str, Any] = {
            name: None if math.isnan(getattr(self, name)) else getattr(self, name)
            for name in ("threshold", "bound", "target")
        }
        found |= {name: getattr(self, name).as_dict() for name in ("coverage", "risk")}
        found |= {name: getattr(self, name) for name in ("method", "confidence", "n", "n_clusters")}
        return found if self.reason is None else found | {"reason": self.reason}


@aligned()
def risk_coverage(
    certainty: ArrayLike,
    wrong: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> RiskCoverage:
    """The risk-coverage curve of a judge that answers only where it is sure enough.

    Parameters
    ----------
    certainty : array_like of shape (n_items,)
        How sure the judge is, in [0, 1]; NaN where it gave no verdict, which is never kept.
    wrong : array_like of shape (n_items,)
        1 where its verdict is wrong, 0 where right, a share where people are divided; NaN where nobody knows.
    weights : array_like of shape (n_items,), optional
        Inverse of the chance with which each item was picked for labeling; 0 does not count.
    clusters : array_like of shape (n_items,), optional
        Items that share an instruction are one piece of evidence. Default: each item by itself.
    where : array_like of shape (n_items,), optional
        Booleans, the items that count. Default: all.
    confidence : float

    Returns
    -------
    RiskCoverage

    Notes
    -----
    At most 100 points, at quantiles of the certainty. Items of equal certainty come in together.

    References
    ----------
    R. El-Yaniv and Y. Wiener, "On the Foundations of Noise-free Selective Classification", JMLR 11 (2010); Y. Geifman
    and R. El-Yaniv, "Selective Classification for Deep Neural Networks", NeurIPS 2017.

    Examples
    --------
    >>> found = risk_coverage([0.9, 0.8, 0.7, 0.6], [0, 0, 1, 1])
    >>> found.coverage.tolist(), found.risk.round(2).tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.33, 0.5])
    """
    data = _read(certainty, wrong, weights, clusters, where, confidence)
    nothing = np.zeros(0)
    if not data.known.any():
        warn(why_none(NO_OUTCOME, weights))
        return RiskCoverage(nothing, nothing, nothing, nothing, nothing, math.nan, 0, 0)
    levels = np.unique(data.certainty[data.known])[::-1]
    if len(levels) > _POINTS:
        levels = levels[np.unique(np.linspace(0, len(levels) - 1, _POINTS).round().astype(np.intp))]
    whole = float(data.frame.weights[data.known].sum())
    found = [_risk_at(data, level) for level in levels.tolist()]
    coverage = np.array(
        [data.frame.weights[data.kept(level) & data.known].sum() / whole for level in levels.tolist()]
    )
    risk = np.array([one.value for one in found])
    # Between two points the risk is that of the later one: the items that come in together are one lot.
    area = float(np.diff(coverage, prepend=0.0) @ risk)
    low, high = (np.array([getattr(one, end) for one in found]) for end in ("low", "high"))
    n = int(data.known.sum())
    return RiskCoverage(levels, coverage, risk, low, high, area, n, data.frame.n_clusters(data.known))


@aligned(apart=("grid",))
def abstention_threshold(
    certainty: ArrayLike,
    wrong: ArrayLike,
    *,
    risk: float = 0.1,
    method: AbstentionMethod = "fixed_sequence",
    grid: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    clusters: Any = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> AbstentionThreshold:
    """The least certainty at which a judge may decide by itself, with a guarantee for finite samples.

    Parameters
    ----------
    certainty : array_like of shape (n_items,)
        How sure the judge is, in [0, 1]; NaN where it gave no verdict, which is never kept.
    wrong : array_like of shape (n_items,)
        1 where its verdict is wrong, 0 where right, a share where people are divided; NaN where nobody knows: these
        count for the coverage alone.
    risk : float, default 0.1
        How many errors are allowed.
    method : {"fixed_sequence", "linear_expectation", "conformal_risk"}
        ``"fixed_sequence"``: with the probability of ``confidence`` over the labeled items, the share of errors among
        the verdicts kept is at most ``risk``. ``"linear_expectation"``: it is so on average over such samples.
        ``"conformal_risk"``: on average, the share of *all* items that are kept and wrong is at most ``risk``.
    grid : array_like, optional
        Thresholds that may be chosen, fixed before labels are seen. Default: 0, 0.005, ..., 1.
    weights, clusters, where
        See `risk_coverage`. Weights count where an outcome is known; the coverage is of all items alike.
    confidence : float
        Level of the guarantee of ``"fixed_sequence"``, and of the intervals.

    Returns
    -------
    AbstentionThreshold

    Raises
    ------
    InvalidInputError
        For a grid without thresholds, and for sampling weights with conformal risk control, which has no weighted
        form here.

    Notes
    -----
    Labeled items have to be drawn by chance from the items that the judge will decide on (with other chances: through
    ``weights``); new items have to be of the same kind.

    *Fixed sequence.* Thresholds are tested one after another down the grid and the first failure ends it, so that
    no correction for their number is needed. Two sequences share the level: from the largest threshold that keeps
    enough labeled items to show the risk without an error, and from that with half as many errors as allowed. The
    test of one is the exact binomial one where each item is a cluster of its own and either right or wrong.
    Otherwise it is a bet against the clusters' sums of ``kept * (wrong - risk)``, which may not be positive on
    average: the mean wealth of eleven constant stakes is an e-value. It holds for any sizes of clusters up to the
    largest seen, and pays for it. Where to begin depends on certainties alone; that costs nothing as long as less
    certain verdicts are not wrong less often.

    *Linear expectation.* The lowest threshold at which these sums, with one more error of the size of the largest
    cluster, are not positive. *Conformal risk.* The lowest at which the mean of kept and wrong, with one more such
    cluster that is all wrong, is at most ``risk``; the mean is over clusters, and weights are refused.

    References
    ----------
    J. Jung, F. Brahman and Y. Choi, "Trust or Escalate: LLM Judges with Provable Guarantees for Human Agreement", ICLR
    2025, section 2; S. Badshah, A. Emami and H. Sajjad, "SCOPE: Selective Conformal Optimized Pairwise LLM Judging",
    arXiv 2602.13110, 2026; A. N. Angelopoulos et al., "Conformal Risk Control", ICLR 2024; A. N. Angelopoulos et al.,
    "Learn then Test", 2021; I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting",
    JRSS B 86 (2024).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> certainty = rng.uniform(0.5, 1, 500)
    >>> wrong = rng.random(500) < 1 - certainty
    >>> found = abstention_threshold(certainty, wrong, risk=0.2)
    >>> found.threshold, round(found.coverage.value, 2), found.bound <= 0.2
    (0.715, 0.61, True)
    """
    check_option(method, METHODS, "method")
    risk = as_level(risk, "risk")
    data = _read(certainty, wrong, weights, clusters, where, confidence)
    levels = GRID if grid is None else np.unique(as_floats(grid, "grid"))
    if levels.ndim != 1 or not len(levels) or np.isnan(levels).any():
        raise InvalidInputError("grid: expected thresholds")
    if method == "conformal_risk" and data.frame.weighted:
        raise InvalidInputError(
            "weights: conformal risk control cannot be weighted by sampling probabilities"
        )
    n, n_clusters = int(data.known.sum()), data.frame.n_clusters(data.known)
    if not n:
        return _none(why_none(NO_OUTCOME, weights), data, risk, method, n, n_clusters)
    finder = {
        "fixed_sequence": _fixed_sequence,
        "linear_expectation": _linear_expectation,
        "conformal_risk": _conformal_risk,
    }[method]
    chosen, reason = finder(data, levels[::-1].tolist(), risk)
    if chosen is None:
        return _none(reason, data, risk, method, n, n_clusters)
    bound = _bound(data, chosen, risk) if method == "fixed_sequence" else math.nan
    kept = _risk_at(data, chosen)
    return AbstentionThreshold(
        chosen, _coverage(data, chosen), kept, bound, risk, method, data.frame.confidence, n, n_clusters
    )


def _none(
    reason: str, data: "_Data", risk: float, method: AbstentionMethod, n: int, n_clusters: int
) -> AbstentionThreshold:
    warn(reason)
    nothing = Estimate(math.nan, math.nan, math.nan, 0, reason=reason)
    return AbstentionThreshold(
        math.nan, nothing, nothing, math.nan, risk, method, data.frame.confidence, n, n_clusters, reason
    )


# --- thresholds ----------------------------------------------------------------------------------------------------


def _fixed_sequence(data: "_Data", levels: list[float], risk: float) -> tuple[float | None, str]:
    """The last threshold from above before the first that is not shown to hold the risk.

    Two sequences share the level: one begins where errors of half the risk would show it, which few early errors do
    not end; the other where no error would, which a threshold too low to begin with does not.
    """
    alpha = (1 - data.frame.confidence) / 2
    lots = _lots(data, levels)
    begins = {_begin(data, lots, risk, errors, alpha) for errors in (risk / 2, 0.0)} - {None}
    if not begins:
        return None, TOO_FEW
    alpha = alpha if len(begins) > 1 else 2 * alpha
    p_value = cache(lambda lot: _p_value(data, lot, risk))
    found: list[float] = []
    for begin in begins:
        for level, lot in zip(levels[begin:], lots[begin:], strict=True):
            if p_value(lot) > alpha:
                break
            found.append(level)
    return min(found, default=None), TOO_RISKY


def _lots(data: "_Data", levels: list[float]) -> list[float]:
    """By threshold, the least certainty of a known outcome that it keeps: with the same one it has the same test."""
    seen = np.unique(np.nan_to_num(data.certainty[data.known], nan=-1.0))
    found: list[float] = np.append(seen, math.inf)[np.searchsorted(seen, levels)].tolist()
    return found


def _begin(data: "_Data", lots: list[float], risk: float, errors: float, alpha: float) -> int | None:
    """The first threshold that keeps enough to show the risk, were so many wrong: certainties alone say so."""
    p_value = cache(lambda lot: _p_value(data, lot, risk, errors))
    return next((k for k, lot in enumerate(lots) if p_value(lot) <= alpha), None)


def _p_value(data: "_Data", level: float, risk: float, errors: float | None = None) -> float:
    """Of the hypothesis that more than this share is wrong among what is kept; were so many wrong in their place."""
    kept = data.kept(level) & data.known
    n = int(kept.sum())
    if not n:
        return 1.0
    if data.exact:
        seen = float(data.wrong[kept].sum()) if errors is None else math.ceil(errors * n)
        return float(special.bdtr(seen, n, risk))
    wrong = data.wrong if errors is None else np.full(len(data.wrong), errors)
    weights = np.where(kept, data.frame.weights, 0.0)
    largest = float(data.frame.by_cluster(weights).max())
    sums = data.frame.by_cluster(weights * (wrong - risk)) / largest
    # Each stake's wealth is a product over clusters, so the order of items says nothing.
    wealth = np.log1p(-np.outer(_STAKES / (1 - risk), sums[sums != 0])).sum(axis=1)
    return math.exp(-max(0.0, float(special.logsumexp(wealth)) - math.log(len(_STAKES))))


def _bound(data: "_Data", level: float, risk: float) -> float:
    """The least risk that the same test rejects at the level."""
    alpha = 1 - data.frame.confidence
    kept = data.kept(level) & data.known
    if data.exact:
        k, n = float(data.wrong[kept].sum()), int(kept.sum())
        return 1.0 if k == n else float(special.betaincinv(k + 1, n - k, data.frame.confidence))
    low, high = 0.0, risk
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if _p_value(data, level, middle) <= alpha else (middle, high)
    return high


def _linear_expectation(data: "_Data", levels: list[float], risk: float) -> tuple[float | None, str]:
    found = None
    for level in levels:
        kept = data.kept(level) & data.known
        total = float((data.frame.weights * (data.wrong - risk))[kept].sum()) / data.largest
        if total + 1 - risk <= 0:
            found = level
    return found, TOO_RISKY


def _conformal_risk(data: "_Data", levels: list[float], risk: float) -> tuple[float | None, str]:
    sizes = data.frame.by_cluster(data.known.astype(np.float64))
    n, found = int(np.count_nonzero(sizes)), None
    for level in levels:
        lost = data.frame.by_cluster(np.where(data.kept(level) & data.known, data.wrong, 0.0))
        if (float((lost[sizes > 0] / sizes[sizes > 0]).sum()) + 1) / (n + 1) > risk:
            break
        found = level
    return found, TOO_FEW if 1 / (n + 1) > risk else TOO_RISKY


# --- items ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Data:
    """All items. ``counted`` are those that the judge is to decide on, ``known`` those of them with a known outcome."""

    certainty: Floats
    wrong: Floats
    counted: Booleans
    known: Booleans
    frame: Frame
    exact: bool
    largest: float

    def kept(self, level: float) -> Booleans:
        """What is certain enough."""
        found: Booleans = np.nan_to_num(self.certainty, nan=-1.0) >= level
        return found


def _read(
    certainty: ArrayLike,
    wrong: ArrayLike,
    weights: ArrayLike | None,
    clusters: Any,
    where: ArrayLike | None,
    confidence: float,
) -> _Data:
    sure = as_shares(certainty, "certainty")
    off = as_shares(wrong, "wrong", len(sure))
    frame = read_frame(len(sure), weights, clusters, where, confidence)
    mask = as_mask(where, len(sure))
    known = frame.counted & ~np.isnan(off)
    sums = frame.by_cluster(np.where(known, frame.weights, 0.0))
    single = float(frame.by_cluster(known.astype(np.float64)).max(initial=0.0)) <= 1
    whole = bool(np.isin(off[known], (0.0, 1.0)).all())
    return _Data(
        sure,
        np.where(np.isnan(off), 0.0, off),
        np.ones(len(sure), dtype=np.bool_) if mask is None else mask,
        known,
        frame,
        single and whole and not frame.weighted,
        float(sums.max(initial=0.0)),
    )


def _risk_at(data: _Data, level: float) -> Estimate:
    """Errors among the labeled items that are kept."""
    weights = np.where(data.kept(level) & data.known, data.frame.weights, 0.0)
    if not weights.any():
        return Estimate(math.nan, math.nan, math.nan, 0, reason=NO_OUTCOME)
    return data.frame.share(data.wrong, weights).estimate


def _coverage(data: _Data, level: float) -> Estimate:
    """Of all items that count, labeled or not: they are the items that the judge is to decide on."""
    kept = data.kept(level).astype(np.float64)
    return data.frame.share(kept, data.counted.astype(np.float64)).estimate

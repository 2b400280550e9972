"""May this judge replace a person? The alternative annotator test.

Each person is left out in turn. Where that person and someone else labeled an item, the judge and the person
are both compared with the others: who speaks for them better? A person is *won over* if the judge is shown to be
less than epsilon worse than that person, and the judge passes if it wins over at least half of the people.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    Integers,
    as_mask,
    as_verdicts,
    check_option,
)
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.estimate import Estimate, undefined
from metaeval.stats.intervals import clusters_counted
from metaeval.stats.multiple_testing import Adjustment, adjust_p_values
from metaeval.stats.noninferiority import Test, noninferiority_test
from metaeval.stats.options import as_count, as_level, as_number
from metaeval.stats.rectified import bounded
from metaeval.stats.representation import Score, advantages
from metaeval.stats.resampling import Resamples, as_resamples
from metaeval.stats.results import Result

Correction: TypeAlias = Adjustment | Literal["none"]
Unparsed: TypeAlias = Literal["wrong", "omit"]
MIN_ITEMS = 30
"""The fewest items of a person who is tested, by default."""


@dataclass(frozen=True, slots=True)
class AnnotatorComparison(Result):
    """The judge against one person, both measured by the others.

    Attributes
    ----------
    annotator : object
        The column of ``labels``, or the identifier in long format.
    n, n_clusters : int
        Items that this person and at least one other labeled, and the clusters they belong to.
    judge_advantage, person_advantage : float
        Share of items on which the judge (the person) represents the others at least as well as the person
        (the judge). Both count where they do so equally, so the two add up to 1 or more.
    difference : float
        ``judge_advantage - person_advantage``, in [-1, 1]; the test asks whether it is above ``-epsilon``.
    p_value, adjusted_p_value : float
        Of "the judge is worse by epsilon or more"; adjusted for the number of people tested.
    rejected : bool
        Whether that was rejected: the judge wins this person over.
    reason : str or None
        Why this person was left out; then the figures that were not computed are NaN.
    """

    _named_by: ClassVar[str] = "annotator"

    annotator: Any
    n: int
    n_clusters: int
    judge_advantage: float
    person_advantage: float
    difference: float
    p_value: float
    adjusted_p_value: float
    rejected: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AlternativeAnnotatorTest(Result):
    """What `alternative_annotator_test` found.

    Attributes
    ----------
    passed : bool or None
        Whether ``winning_rate`` reached the threshold; None if there is no test.
    winning_rate : float
        Share of the people tested whom the judge won over; NaN if there is no test.
    advantage_probability : Estimate
        Mean over the people tested of ``judge_advantage``: the figure by which judges are compared. Its interval
        speaks of other items, not of other people.
    annotators : tuple of AnnotatorComparison
        One for every person with a label, those left out included.
    n_tested, n_won : int
        People tested, and people won over.
    epsilon, alpha, threshold : float
    correction, test : str
        As asked for.
    reason : str or None
        Why there is no test.
    p_value : float
        Of "the judge is worse by epsilon or more than so many of the people tested that it must not pass": a partial
        conjunction of their tests, for the comparison of a judge with the level, or of several judges together
        (`adjust_p_values`). NaN if there is no test.
    """

    passed: bool | None
    winning_rate: float
    advantage_probability: Estimate
    annotators: tuple[AnnotatorComparison, ...]
    n_tested: int
    n_won: int
    epsilon: float
    alpha: float
    threshold: float
    correction: str
    test: str
    reason: str | None = None
    p_value: float = math.nan

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values: NaN becomes None."""
        rows = [{key: _plain(value) for key, value in asdict(row).items()} for row in self.annotators]
        names = ("passed", "winning_rate", "p_value", "n_tested", "n_won", "epsilon", "alpha", "threshold")
        result = {name: _plain(getattr(self, name)) for name in (*names, "correction", "test", "reason")}
        return {**result, "advantage_probability": self.advantage_probability.as_dict(), "annotators": rows}


@aligned()
def alternative_annotator_test(
    labels: Any,
    verdicts: ArrayLike,
    *,
    epsilon: float = 0.2,
    alpha: float = 0.05,
    threshold: float = 0.5,
    correction: Correction = "benjamini_yekutieli",
    score: Score = "match",
    test: Test = "score",
    unparsed: Unparsed = "wrong",
    min_annotators: int = 3,
    min_items: int = MIN_ITEMS,
    min_labels: int = 2,
    clusters: Any = None,
    resamples: Resamples | None = None,
    where: ArrayLike | None = None,
    confidence: float = 0.95,
) -> AlternativeAnnotatorTest:
    """The alternative annotator test: is this judge shown to be less than epsilon worse than half of these people?

    The null hypothesis, person by person, is that the judge is worse by epsilon or more. A judge that passes is shown
    not to be; one that fails is not shown to be worse. A judge that was chosen as the best of several must be tested
    on other items, or its p value corrected for all of them.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        NaN where missing; or a tuple (item, annotator, value). A column is a person: who said what matters here.
    verdicts : array_like of shape (n_items,) or (n_items, 2)
        The judge's; NaN is unparsed. With two presentation orders each is compared by itself and an item
        contributes the mean of the two: the judge is one that is asked in a random order.
    epsilon : float in [0, 1)
        How much worse than a person the judge may be, for being cheaper: 0.2 in place of experts, 0.15 of skilled
        annotators, 0.1 of crowdworkers, as the authors advise.
    alpha : float
        Level of the tests, after ``correction`` over the people.
    threshold : float
        The least winning rate that passes.
    correction : {"benjamini_yekutieli", "holm", "benjamini_hochberg", "bonferroni", "none"}
        See `adjust_p_values`. The first bounds the expected share of false wins among the wins, whatever the
        dependence.
    score : {"match", "negative_rmse"} or callable
        How well an answer represents the labels of others: the share that equal it, minus the root mean squared
        distance, or ``score(answer, others) -> float``, higher is better (called label by label: slow).
    test : {"score", "t"}
        ``"t"`` is the authors' t test. It rejects too much where the judge is hardly ever the better one of the two
        (up to 18% at a nominal 5%); ``"score"`` takes the variance that the null hypothesis implies and holds
        its level.
    unparsed : {"wrong", "omit"}
        An unparsed verdict loses against the person, or the item is left out.
    min_annotators : int
        The fewest people to test; with two there is no consensus to represent.
    min_items : int
        A person with fewer items is left out.
    min_labels : int
        An item with fewer labels is left out; 2 at least.
    clusters, resamples, where, confidence
        See `metaeval.stats.intervals.Sampling`. With clusters the tests and the interval use the variance between
        clusters and their number for the degrees of freedom. ``resamples`` stand in for their clusters: nothing is
        resampled here.

    Returns
    -------
    AlternativeAnnotatorTest

    Raises
    ------
    InvalidInputError
        For an epsilon of 1 or more, for clusters and resamples together, and for other numbers of items.

    References
    ----------
    N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge: How to Statistically
    Justify Replacing Human Annotators with LLMs", ACL 2025. The score test is that of T. Tango, "Equivalence test
    and confidence interval for the difference in proportions for the paired-sample design", Statistics in
    Medicine 17 (1998), for more than three values; with clusters its variance is multiplied by the design effect.
    ``p_value``: Y. Benjamini and R. Heller, "Screening for partial conjunction hypotheses", Biometrics 64 (2008).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(1, 3, 100)
    >>> people = [np.where(rng.random(100) < 0.8, truth, 3 - truth) for _ in range(3)]
    >>> found = alternative_annotator_test(np.stack(people, axis=1), truth)
    >>> found.passed, found.winning_rate
    (True, 1.0)
    """
    epsilon, threshold = as_number(epsilon, "epsilon", 0, 1), as_number(threshold, "threshold", 0, 1)
    alpha, confidence = as_level(alpha, "alpha"), as_level(confidence, "confidence")
    if epsilon == 1:
        raise InvalidInputError("epsilon: a judge that may be worse by 1 may be anything")
    min_annotators = as_count(min_annotators, "min_annotators", 1)
    # A test needs two items, and a person is compared with at least one other.
    min_items, min_labels = as_count(min_items, "min_items", 2), as_count(min_labels, "min_labels", 2)
    check_option(correction, (*get_args(Adjustment), "none"), "correction")
    check_option(test, ("score", "t"), "test")
    check_option(unparsed, ("wrong", "omit"), "unparsed")
    if not callable(score):
        check_option(score, ("match", "negative_rmse"), "score")
    judged = as_verdicts(verdicts)
    n_items = len(judged)
    if resamples is None:
        resamples = Resamples(n_items if clusters is None else clusters, 0)
    elif as_resamples(resamples) and clusters is not None:
        raise InvalidInputError("clusters: the resamples bring their own; pass one or the other")
    if resamples.n_items != n_items:
        raise InvalidInputError(f"clusters or resamples: expected {n_items} items, got {resamples.n_items}")
    read = labels if isinstance(labels, LongLabels) else read_labels(labels, n_items)
    item, person, value, names = read.item, read.annotator, read.values[read.code], read.annotators.tolist()
    mask = as_mask(where, n_items)
    kept = np.bincount(item, minlength=n_items)[item] >= min_labels
    if mask is not None:
        kept &= mask[item]
    judge, rival = advantages(item, value, judged, score, unparsed_loses=unparsed == "wrong")
    kept &= ~np.isnan(judge)
    cluster = item if resamples.codes is None else resamples.codes[item]
    groups = _by_person(person, kept, len(names))
    compared = [
        _compare(name, judge[own], rival[own], cluster[own], epsilon, test, min_items)
        for name, own in zip(names, groups, strict=True)
    ]
    tested = [place for place, row in enumerate(compared) if row.reason is None]
    adjusted = np.array([compared[place].p_value for place in tested])
    if correction != "none":
        adjusted = adjust_p_values(adjusted, method=correction)
    for place, p_value in zip(tested, adjusted, strict=True):
        compared[place] = _decided(compared[place], float(p_value), alpha)
    reason = None
    if len(tested) < min_annotators:
        reason = f"{len(tested)} people with {min_items} items or more, and the test needs {min_annotators}"
        warn(reason)
    n_won = sum(row.rejected for row in compared)
    rate = n_won / len(tested) if reason is None and tested else math.nan
    return AlternativeAnnotatorTest(
        passed=None if math.isnan(rate) else rate >= threshold,
        winning_rate=rate,
        advantage_probability=_average(
            judge, item, [groups[place] for place in tested], resamples, confidence
        ),
        annotators=tuple(compared),
        n_tested=len(tested),
        n_won=n_won,
        epsilon=epsilon,
        alpha=alpha,
        threshold=threshold,
        correction=correction,
        test=test,
        reason=reason,
        p_value=math.nan
        if math.isnan(rate)
        else _of_enough([compared[place].p_value for place in tested], threshold),
    )


def _of_enough(p_values: list[float], threshold: float) -> float:
    """P value of "fewer than the threshold's share of the hypotheses are false", whatever their dependence."""
    needed = max(1, math.ceil(threshold * len(p_values) - 1e-9))
    return min(1.0, (len(p_values) - needed + 1) * sorted(p_values)[needed - 1])


def _by_person(person: Integers, kept: Booleans, n_people: int) -> list[Integers]:
    """The labels of each person that take part."""
    places = np.flatnonzero(kept)
    places = places[np.argsort(person[places], kind="stable")]
    return np.split(places, np.searchsorted(person[places], np.arange(1, n_people)))[:n_people]


def _compare(
    name: Any, judge: Floats, rival: Floats, cluster: Integers, epsilon: float, test: Test, min_items: int
) -> AnnotatorComparison:
    """The judge against one person: advantages of both on each item, and the test before any correction."""
    n, n_clusters = len(judge), int(np.count_nonzero(np.bincount(cluster)))
    ahead, behind = (float(judge.mean()), float(rival.mean())) if n else (math.nan, math.nan)
    nothing = AnnotatorComparison(
        name, n, n_clusters, ahead, behind, ahead - behind, math.nan, math.nan, False
    )
    if n < min_items:
        return replace(nothing, reason=f"{n} items shared with others, fewer than {min_items}")
    if n_clusters < 2:
        return replace(nothing, reason="the items are one cluster")
    p_value = noninferiority_test(rival - judge, margin=epsilon, clusters=cluster, test=test)
    return replace(nothing, p_value=p_value)


def _decided(row: AnnotatorComparison, adjusted: float, alpha: float) -> AnnotatorComparison:
    return replace(row, adjusted_p_value=adjusted, rejected=adjusted <= alpha)


def _average(
    judge: Floats, item: Integers, groups: list[Integers], resamples: Resamples, confidence: float
) -> Estimate:
    """Mean over people of the judge's advantage, with Wilson's interval.

    Each person's share is a ratio. An item adds (advantage - share) / (people x items of that person) to the mean
    for each person who labeled it; the variance is that of these sums between clusters.
    """
    if not groups:
        return undefined("nobody was tested")
    shares = [float(judge[own].mean()) for own in groups]
    added = np.zeros((resamples.n_items, 1))
    counted = np.zeros(resamples.n_items, dtype=np.bool_)
    for own, share in zip(groups, shares, strict=True):
        added[item[own], 0] += (judge[own] - share) / (len(groups) * len(own))
        counted[item[own]] = True
    n_clusters = clusters_counted(counted, resamples)
    variance = float(np.sum(resamples.cluster_totals(added) ** 2)) * n_clusters / max(1, n_clusters - 1)
    found = Estimate(float(np.mean(shares)), math.nan, math.nan, int(np.count_nonzero(counted)), n_clusters)
    critical = float(special.stdtrit(max(1, n_clusters - 1), (1 + confidence) / 2))
    return bounded(found, critical, variance, (0.0, 1.0), confidence)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value

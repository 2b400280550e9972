"""Which judge leads on one dataset, and whether it is significantly better than the others.

The rule is that of a choice over several datasets (`confidence_set`), and so are the intervals: a comparison and a
decision on the same scores say the same.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from metaeval.selection.confidence_set import confidence_set
from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import table_of_scores
from metaeval.selection.verdict import (
    ANNOTATORS,
    Alike,
    Annotators,
    Lead,
    VerdictKind,
    as_margin,
    verdict_of_leads,
)
from metaeval.stats import PairedDifference, Resamples, paired_difference
from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import as_items, as_mapping, as_weights, check_option
from metaeval.stats.differences import check_scores
from metaeval.stats.errors import quiet
from metaeval.stats.resampling import as_resamples
from metaeval.stats.results import Result

Scores = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class LeaderComparison(Result):
    """Judges against the best of them, on the items that both were scored on.

    Attributes
    ----------
    leader : str or None
        The judge with the highest mean; None when there is none to compare.
    ranking : tuple of str
        All judges that have a mean, best first; equal means in the order given.
    differences : mapping of str to PairedDifference
        The leader's mean minus each other judge's. The intervals allow for the leader having been chosen.
    tied : tuple of str
        Judges that are not significantly different from the leader: the interval of the difference holds 0, or there
        is none. With the leader they are a model confidence set: all judges that are equally best are in it with the
        confidence.
    floor : str or None
        Of the floors that the leader is not significantly better than, the best; of all, where it is better than each.
        None when there is no leader or no floor.
    above_floor : PairedDifference or None
        The leader's mean minus that floor's, allowing for the choice of the leader likewise.
    leads : mapping of str to Lead
        The differences with what else a verdict rests on: the two one-sided tests, and annotators like these.
    verdict : str
        What may be said of the leader, as `verdict_of_leads` explains; "none" where there is none.
    """

    _drawn: ClassVar[tuple[str, ...]] = ("differences",)
    _reference: ClassVar[float | None] = 0.0

    leader: str | None = None
    ranking: tuple[str, ...] = ()
    differences: Mapping[str, PairedDifference] = field(default_factory=dict)
    tied: tuple[str, ...] = ()
    floor: str | None = None
    above_floor: PairedDifference | None = None
    leads: Mapping[str, Lead] = field(default_factory=dict)
    verdict: VerdictKind = "none"


@aligned()
def compare(
    scores: Scores,
    *,
    resamples: Resamples,
    confidence: float = 0.95,
    floors: Scores | None = None,
    weights: NDArray[np.float64] | None = None,
    margin: float = 0.0,
    annotators: Annotators = "alike",
    alike: Alike | None = None,
    rules: Collection[str] = (),
) -> LeaderComparison:
    """Find the judge with the highest mean and compare every other one with it, paired.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_items,)
        What each item contributes to the judge's mean, in [0, 1]; NaN where it does not count.
    resamples : Resamples
        The same for all, so that differences are paired.
    confidence : float
        Level of the intervals, which allow for the leader having been chosen as the best (`confidence_set`). Its
        own figure is not corrected for that: on new items it will be a little lower.
    floors : mapping, optional
        Scores of judges that are no candidates, each compared with the leader.
    weights : ndarray of shape (n_items,), optional
        One over the chance with which each item was drawn. Default: all the same.
    margin : float, default 0
        How much better is better in practice: a winner is better than each by more, and judges whose two one-sided
        tests show a difference within it are equivalent.
    annotators : {"alike", "these"}
        Whether a winner must win with new annotators like these as well.
    alike : callable, optional
        ``alike(first, second, confidence)``: that difference, where labels of people play a part.
    rules : collection of str
        Judges among ``scores`` that take no LLM: what the others must beat, like a floor.

    Returns
    -------
    LeaderComparison
        Without a leader where nobody has a mean.

    References
    ----------
    P. R. Hansen, A. Lunde and J. M. Nason, "The model confidence set", Econometrica 79 (2011); J. C. Hsu, "Multiple
    Comparisons: Theory and Methods", 1996, ch. 4 (comparison with the best); D. J. Schuirmann, "A comparison of the two
    one-sided tests procedure and the power approach", J. Pharmacokinet. Biopharm. 15 (1987), for equivalence.

    Examples
    --------
    >>> right, wrong = np.ones(40), np.zeros(40)
    >>> found = compare({"a": wrong, "b": right}, resamples=Resamples(40, 1000))
    >>> found.leader, found.verdict, found.differences["a"].value
    ('b', 'clear', 1.0)
    >>> compare({"a": right, "b": right.copy()}, resamples=Resamples(40, 1000)).tied
    ('b',)
    """
    margin, weights = as_margin(margin), as_weights(weights, as_resamples(resamples).n_items)
    check_option(annotators, ANNOTATORS, "annotators")
    scores = _read(scores, "scores", resamples)
    below = {} if floors is None else _read(floors, "floors", resamples)
    ranking = _ranked(scores, weights)
    if not ranking:
        return LeaderComparison()
    leader = ranking[0]
    codes = np.arange(resamples.n_items) if resamples.codes is None else resamples.codes
    table = table_of_scores(np.stack([scores[name] for name in ranking], axis=1), codes, weights)
    found = confidence_set(Objective(table, Draws(table.n_clusters, 0), confidence), range(len(ranking)))

    def ahead_of(column: NDArray[np.float64], critical: float) -> PairedDifference:
        return paired_difference(
            scores[leader],
            column,
            resamples=resamples,
            confidence=confidence,
            critical=critical,
            weights=weights,
        )

    def lead(place: int, name: str) -> Lead:
        gap = ahead_of(scores[name], found.critical[place])
        freedom = max(1, (gap.n_clusters or 1) - 1)
        each = float(special.stdtrit(freedom, confidence))
        practical = ahead_of(scores[name], each) if margin else None
        if alike is None:
            return Lead(gap, practical)
        # As wide as the interval beside it: the leader was chosen by these labels.
        level = 2 * float(special.stdtr(freedom, found.critical[place])) - 1
        both = alike(leader, name, level)
        return Lead(gap, practical, both, alike(leader, name, 2 * confidence - 1) if margin else None)

    with quiet():  # the reason is kept with the estimate
        leads = {name: lead(place, name) for place, name in enumerate(ranking) if place}
        above = {name: ahead_of(below[name], found.widest) for name in _ranked(below, weights)}
    differences = {name: one.difference for name, one in leads.items()}
    tied = tuple(name for name, difference in differences.items() if not difference.low > 0)
    binding = [name for name, difference in above.items() if not difference.low > 0]
    floor = next(iter([*binding, *above]), None)
    verdict = verdict_of_leads(
        leads, above.values(), leader=leader, margin=margin, annotators=annotators, rules=rules
    )
    return LeaderComparison(
        leader, ranking, differences, tied, floor, None if floor is None else above[floor], leads, verdict
    )


def _read(scores: Scores, name: str, resamples: Resamples) -> Scores:
    """The scores by judge, each checked to be one share an item."""
    read = {
        key: as_items(column, f"{name}[{key!r}]", resamples.n_items)
        for key, column in as_mapping(scores, name).items()
    }
    for key, column in read.items():
        check_scores(column, (0.0, 1.0), f"{name}[{key!r}]")
    return read


def _ranked(scores: Scores, weights: NDArray[np.float64] | None) -> tuple[str, ...]:
    """Names by mean, best first; equal means in the order given, those without a mean left out."""
    means = {}
    for name, column in scores.items():
        counted = ~np.isnan(column) if weights is None else ~np.isnan(column) & (weights > 0)
        if counted.any():
            share = None if weights is None else weights[counted]
            means[name] = float(np.average(column[counted], weights=share))
    return tuple(sorted(means, key=lambda name: -means[name]))

"""Leave-one-out agreement of people, of a judge, and of the best judge there could be, and their differences.

Of these people on other items, or of people like these: see `metaeval.stats.crossed`.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import (
    Booleans,
    Floats,
    Seed,
    as_verdicts,
    check_option,
    generator,
    mean_of_orders,
    row_sums,
)
from metaeval.stats.counts import LongLabels, read_labels
from metaeval.stats.crossed import (
    PEOPLE,
    CrossedScores,
    Crossing,
    People,
    corrected_effects,
    crossed_difference,
    crossed_estimate,
)
from metaeval.stats.differences import paired_difference
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.estimate import Estimate, PairedDifference
from metaeval.stats.intervals import Sampling, mean_estimate
from metaeval.stats.label_effects import LabelEffects, others_part
from metaeval.stats.leave_one_out_scores import TieBreak, Unparsed, leave_one_out_contributions
from metaeval.stats.options import as_count
from metaeval.stats.resampling import DEFAULT_RESAMPLES, Resamples

Side: TypeAlias = ArrayLike | Literal["people", "best_reachable"]

_TIE_BREAKS = ("expected", "random", "alpaca_eval")
_NO_LABELS = "no item has two labels"
_FEWEST = 2


class LeaveOneOut:
    """Leave-one-out scores of the same labels: people's, judges', the best judge's, for intervals of both populations.

    What `leave_one_out_agreement` and `leave_one_out_difference` are made of, for many judges: labels are read once.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        As of `leave_one_out_agreement`.
    n_items : int, optional
        How many items there must be.
    tie_break, unparsed, rng, n_labels
        As of `leave_one_out_agreement`.

    Examples
    --------
    >>> labels = np.repeat([[1, 1, 1, 2, 2], [2, 2, 2, 2, 1]], 30, axis=0)
    >>> sample = LeaveOneOut(labels)
    >>> one, two = sample.judge(np.repeat([1, 2], 30)), sample.judge(np.repeat([1, 1], 30))
    >>> found = sample.difference(one, two, people="sampled")
    >>> round(found.value, 3), found.low > 0
    (0.5, True)
    """

    def __init__(
        self,
        labels: Any,
        n_items: int | None = None,
        *,
        tie_break: TieBreak = "expected",
        unparsed: Unparsed = "wrong",
        rng: Seed = None,
        n_labels: int | None = None,
    ) -> None:
        check_option(tie_break, _TIE_BREAKS, "tie_break")
        check_option(unparsed, ("wrong", "omit"), "unparsed")
        if n_labels is not None:
            n_labels = as_count(n_labels, "n_labels", _FEWEST)
            if tie_break != "expected":
                raise InvalidInputError("n_labels: has exact expectations only, with tie_break='expected'")
        self.read: LongLabels = read_labels(labels, n_items)
        self.n_labels = n_labels
        self._tie_break: TieBreak = tie_break
        self._unparsed: Unparsed = unparsed
        self._rng: Seed = rng
        self._effects = LabelEffects(self.read, n_labels)

    @property
    def n_items(self) -> int:
        """Items, those without a label included."""
        return self.read.n_items

    @property
    def known_for_others(self) -> bool:
        """Whether the convention says what each label does; AlpacaEval's published one does not."""
        return self._tie_break != "alpaca_eval"

    @cached_property
    def crossing(self) -> Crossing:
        """Who labeled which item."""
        return Crossing.of(self.read.item, self.read.annotator)

    @cached_property
    def _table(self) -> tuple[Any, Any, Any]:
        read = self.read
        return read.item, read.annotator, read.values[read.code]

    def people(self) -> CrossedScores:
        """People's own."""
        return self._scores(None)

    def judge(self, verdicts: ArrayLike, judged: Booleans | None = None) -> CrossedScores:
        """A judge's; where ``judged``, (n_items, n_orders), is False it was not asked, which is not the same as NaN."""
        columns = as_verdicts(verdicts, self.n_items)
        parts = []
        for order, column in enumerate(columns.T):
            found = self._scores(column, order)
            left_out = np.isnan(column) if self._unparsed == "omit" else np.zeros(len(column), dtype=bool)
            if judged is not None:
                left_out |= ~judged[:, order]
            if left_out.any():
                found = CrossedScores(np.where(left_out, np.nan, found.items), found.labels)
            parts.append(found)
        if len(parts) == 1:
            return parts[0]
        items = np.stack([part.items for part in parts], axis=1)
        counted = ~np.isnan(items)[self.read.item]
        labels = row_sums(np.where(counted, np.stack([part.labels for part in parts], axis=1), 0.0))
        return CrossedScores(mean_of_orders(items), labels / np.maximum(row_sums(counted), 1))

    def best_reachable(self) -> CrossedScores:
        """That of the best verdict on every item; with random tie-breaks, of the one that is best in expectation."""
        if self.known_for_others:
            items, effects = self._effects.best()
            return self._corrected(items, effects, "best")
        verdicts = (np.full(self.n_items, value) for value in self.read.values)
        scores = [
            leave_one_out_contributions(self._dense, one, tie_break=self._tie_break) for one in verdicts
        ]
        items = np.stack(scores).max(axis=0) if scores else np.full(self.n_items, np.nan)
        return CrossedScores(items, np.full(len(self.read.item), np.nan))

    def estimate(
        self,
        scores: CrossedScores,
        *,
        people: People = "fixed",
        crossing: Crossing | None = None,
        **options: Unpack[Sampling],
    ) -> Estimate:
        """The mean of scores over items, with an interval of either population.

        ``crossing`` is that of the scores where these are of some of the items alone (`CrossedScores.among`).
        """
        check_option(people, PEOPLE, "people")
        reason = _NO_LABELS if self.n_labels is None else f"no item has {self.n_labels} labels"
        if people == "fixed":
            return mean_estimate(scores.items, reason=reason, **options)
        return crossed_estimate(scores, crossing or self.crossing, reason=reason, **options)

    def difference(
        self,
        first: CrossedScores,
        second: CrossedScores,
        *,
        people: People = "fixed",
        critical: float | None = None,
        crossing: Crossing | None = None,
        **options: Unpack[Sampling],
    ) -> PairedDifference:
        """The mean of the first minus that of the second, paired by item, with an interval of either population.

        ``crossing`` as of `estimate`.
        """
        check_option(people, PEOPLE, "people")
        if people == "fixed":
            return paired_difference(first.items, second.items, critical=critical, **options)
        return crossed_difference(first, second, crossing or self.crossing, critical=critical, **options)

    @property
    def _dense(self) -> Any:
        item, annotator, value = self._table
        # Items without a label keep their place by an id of their own, which is their row.
        return (
            np.r_[item, np.arange(self.n_items)],
            np.r_[annotator, np.full(self.n_items, -1)],
            np.r_[value, np.full(self.n_items, np.nan)],
        )

    def _scores(self, verdict: Floats | None, order: int = 0) -> CrossedScores:
        if self.known_for_others:
            items, effects = self._effects.people() if verdict is None else self._effects.judge(verdict)
            found = self._corrected(items, effects, "people" if verdict is None else "judge")
        else:
            found = CrossedScores(np.zeros(0), np.full(len(self.read.item), np.nan))
        if self._tie_break == "expected":
            return found
        rng = generator(self._rng, order + 1)
        items = leave_one_out_contributions(self._dense, verdict, tie_break=self._tie_break, rng=rng)
        return CrossedScores(items, found.labels)

    def _corrected(self, items: Floats, effects: Floats, of: str) -> CrossedScores:
        size = self._effects.size[self.read.item]
        return CrossedScores(
            items, corrected_effects(effects, others_part(size, self.n_labels, of), self.crossing)
        )


@aligned()
def leave_one_out_agreement(
    labels: Any,
    verdicts: ArrayLike | None = None,
    *,
    clusters: Any = None,
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    people: People = "fixed",
    n_labels: int | None = None,
    rng: Seed = None,
    confidence: float = 0.95,
    n_resamples: int = DEFAULT_RESAMPLES,
    resamples: Resamples | None = None,
    where: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Estimate:
    """Agreement with the mode of the other people's labels.

    For item *i* with labels ``y1..ym`` leave out each label in turn and take the modes *M* of the others.
    People score ``1[yj in M] / |M|``, the exact expectation when ties are broken at random; a judge scores
    the same with its verdict in place of ``yj``. Mean over *j*, then over the items that have two labels or
    more.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        Any numeric values, NaN where missing; or a tuple (item, annotator, value), see `count_labels`.
    verdicts : array_like of shape (n_items,) or (n_items, 2), optional
        The judge's; NaN is unparsed. Two columns are two presentation orders, and their mean is taken.
        Without verdicts the figure is people's own.
    clusters : array_like of shape (n_items,), optional
        Items of one cluster are resampled together. Default: each item by itself.
    tie_break : {"expected", "random", "alpaca_eval"}
        ``"random"`` draws one mode for every label left out, from ``rng``. ``"alpaca_eval"`` is the published
        convention: labels 0, 1, 2 with a tie (0) halfway between 1 and 2, score 1 - distance, a judge
        compared with the mode of *all* labels, two tied modes broken towards the larger and three towards 1.
    unparsed : {"wrong", "omit"}
        An unparsed verdict never matches and stays in the denominator, or is left out.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items. The figure
        is the same. From fewer than five people there is no interval of others.
    n_labels : int, optional
        Agreement *at this many labels an item*: the exact expectation over all ways to keep so many, of the items that
        have them. Two people agree less often with one other than with the mode of nine, so figures of different
        overlap are to be compared at one number.
    rng : int, numpy.random.Generator or None
        Seed of the interval and of ``tie_break="random"``. None is a fixed seed.
    confidence, n_resamples, resamples, where, weights
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1]; NaN with a `StatisticsWarning` when no item has two labels.

    References
    ----------
    Y. Dubois et al., "AlpacaFarm", NeurIPS 2023, and the AlpacaEval repository; X. Lyu et al., "HREF: Human
    Response-Guided Evaluation of Instruction Following in Language Models", 2024. Of the interval for others:
    A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust inference with multiway clustering", J. Bus. Econ. Stat. 29
    (2011), section 2; B. Efron and C. Stein, "The jackknife estimate of variance", Ann. Statist. 9 (1981).

    Examples
    --------
    >>> labels = [[1, 1, 2], [2, 2, 2]]
    >>> round(leave_one_out_agreement(labels).value, 6)     # (1/3 + 1) / 2
    0.666667
    >>> round(leave_one_out_agreement(labels, [1, 2]).value, 6)     # (2/3 + 1) / 2
    0.833333
    >>> round(leave_one_out_agreement(labels, n_labels=2).value, 6)     # one pair of three agrees; all do
    0.666667
    """
    check_option(people, PEOPLE, "people")
    options: Sampling = {
        "clusters": clusters,
        "resamples": resamples,
        "where": where,
        "confidence": confidence,
        "n_resamples": n_resamples,
        "rng": rng,
        "weights": weights,
    }
    if people == "fixed" and n_labels is None:
        contributions = leave_one_out_contributions(
            labels, verdicts, tie_break=tie_break, unparsed=unparsed, rng=rng
        )
        return mean_estimate(contributions, reason=_NO_LABELS, **options)
    sample = LeaveOneOut(
        labels,
        None if verdicts is None else len(as_verdicts(verdicts)),
        tie_break=tie_break,
        unparsed=unparsed,
        rng=rng,
        n_labels=n_labels,
    )
    scores = sample.people() if verdicts is None else sample.judge(verdicts)
    return sample.estimate(scores, people=people, **options)


@aligned()
def best_reachable_agreement(
    labels: Any,
    *,
    people: People = "fixed",
    n_labels: int | None = None,
    **options: Unpack[Sampling],
) -> Estimate:
    """The leave-one-out agreement of a judge that always predicts the mode of all labels.

    No verdict scores more on any item, so no judge scores more; people score less, as each of them is
    compared with a mode that their own label had no part in. Which of several modes is predicted makes no
    difference.

    Parameters
    ----------
    labels, people, n_labels
        As of `leave_one_out_agreement`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    Estimate
        In [0, 1].

    References
    ----------
    As of `leave_one_out_agreement`.

    Examples
    --------
    >>> round(best_reachable_agreement([[1, 1, 2], [2, 2, 2]]).value, 6)
    0.833333
    """
    sample = LeaveOneOut(labels, n_labels=n_labels)
    return sample.estimate(sample.best_reachable(), people=people, **options)


@aligned()
def leave_one_out_difference(
    labels: Any,
    first: Side,
    second: Side = "people",
    *,
    people: People = "fixed",
    tie_break: TieBreak = "expected",
    unparsed: Unparsed = "wrong",
    n_labels: int | None = None,
    critical: float | None = None,
    **options: Unpack[Sampling],
) -> PairedDifference:
    """Leave-one-out agreement of one minus another's: of a judge minus people's, or minus another judge's.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        As of `leave_one_out_agreement`.
    first, second : array_like of shape (n_items,) or (n_items, 2), "people" or "best_reachable"
        Verdicts of a judge; or people's own figure, or that of the best judge that there could be.
    people : {"fixed", "sampled"}
        Whether the interval speaks of these people on other items, or of people like these on other items.
    tie_break, unparsed, n_labels
        As of `leave_one_out_agreement`.
    critical : float, optional
        As of `paired_difference`.
    **options
        See `metaeval.stats.intervals.Sampling`.

    Returns
    -------
    PairedDifference
        On the items that both have a score on; in [-1, 1].

    References
    ----------
    X. Lyu et al., "HREF: Human Response-Guided Evaluation of Instruction Following in Language Models", 2024, table 2:
    a judge beside human agreement. Of the interval: as of `leave_one_out_agreement`.

    Examples
    --------
    >>> labels = np.array([[1, 1, 1, 2, 1], [2, 2, 2, 2, 2]] * 20)
    >>> found = leave_one_out_difference(labels, [1, 2] * 20, people="sampled")
    >>> round(found.value, 3), found.low < 0
    (0.1, True)
    """
    given = {
        name: as_verdicts(side, None, name)
        for side, name in ((first, "first"), (second, "second"))
        if not isinstance(side, str)
    }
    n_items = next((len(verdicts) for verdicts in given.values()), None)
    sample = LeaveOneOut(
        labels, n_items, tie_break=tie_break, unparsed=unparsed, rng=options.get("rng"), n_labels=n_labels
    )
    people_or_best: dict[Any, Callable[[], CrossedScores]] = {
        "people": sample.people,
        "best_reachable": sample.best_reachable,
    }
    sides = []
    for side, name in ((first, "first"), (second, "second")):
        if name in given:
            sides.append(sample.judge(as_verdicts(given[name], sample.n_items, name)))
        else:
            check_option(side, tuple(people_or_best), name)  # type: ignore[arg-type]
            sides.append(people_or_best[side]())
    return sample.difference(*sides, people=people, critical=critical, **options)

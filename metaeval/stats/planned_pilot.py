"""What a pilot says of the studies to come: the labels of people, and verdicts of one judge or of two."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, Integers, as_verdicts
from metaeval.stats.crossed import CrossedScores, people_variance
from metaeval.stats.crossed_sums import others_of
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.leave_one_out import LeaveOneOut
from metaeval.stats.planned_intervals import pairs_part
from metaeval.stats.planned_scores import MOST_LABELS, PlannedFigure, Shares, planned_item_scores
from metaeval.stats.planning import AgreementModel, FigureModel, grown
from metaeval.stats.resampling import Resamples
from metaeval.stats.spread import ratio_spread

NO_PAIRS = "no item has two labels and the verdicts asked about"
NO_DIFFERENCE = "the pilot's two judges never differ"


@aligned()
def agreement_model_from(
    labels: Any, first: ArrayLike | None = None, second: ArrayLike | None = None, *, clusters: Any = None
) -> AgreementModel:
    """What is assumed before a study, from a pilot: labels of people, and verdicts of one judge or of two.

    Parameters
    ----------
    labels : array_like of shape (n_items, n_annotators), or tuple of three arrays of shape (n_labels,)
        As of `metaeval.stats.leave_one_out_agreement`.
    first, second : array_like of shape (n_items,) or (n_items, 2), optional
        Verdicts of the judge, and of another that it is compared with.
    clusters : array_like of shape (n_items,), optional
        The instruction of each item.

    Returns
    -------
    AgreementModel
        At the pilot's own number of labels it has the pilot's value, variance and design effect; at others these are
        carried over by the beta distribution that has the pilot's moments. From fewer than five people the variance
        between people is NaN: put a guess into its place with `dataclasses.replace`. A figure that the pilot cannot
        tell is left out, with a `StatisticsWarning`.

    Raises
    ------
    InvalidInputError
        For a second judge without a first.

    References
    ----------
    R. L. Brennan, "Generalizability theory", Springer 2001, chapter 4 (decision studies); J. G. Skellam, "A
    probability distribution derived from the binomial distribution ...", JRSS B 10 (1948) (beta-binomial moments).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> share = rng.beta(2, 1, (80, 1))
    >>> pilot = agreement_model_from((rng.random((80, 5)) < share) * 1.0, np.ones(80))
    >>> from metaeval.stats import StudyDesign
    >>> found = pilot.interval("judge", StudyDesign(320, 5, 5))
    >>> 0.6 < found.value < 0.8, 0.02 < found.half_width < 0.05
    (True, True)
    """
    sides = [
        as_verdicts(side, None, name)
        for side, name in ((first, "first"), (second, "second"))
        if side is not None
    ]
    if second is not None and first is None:
        raise InvalidInputError("second: expected together with first")
    n_items = len(sides[0]) if sides else None
    if n_items is None and clusters is not None and isinstance(labels, tuple):
        # Labels one by one don't say how many items there are; the clusters do.
        n_items = len(as_codes(clusters, "clusters")[0])
    sample = LeaveOneOut(labels, n_items)
    codes = None if clusters is None else as_codes(clusters, "clusters", sample.n_items)[0]
    resamples = Resamples(sample.n_items if codes is None else codes, 0)
    pilot = Pilot(sample, resamples)
    people = sample.people()
    figures: dict[PlannedFigure, FigureModel] = {}
    usual = pilot.shares(*pilot.usual())
    if sides:
        usual = pilot.judge_shares(sides[0]) or usual
    alone = pilot.fitted("people", people, usual)
    if alone is None:
        warn(NO_PAIRS)
        return AgreementModel({}, 1.0)
    figures["people"] = alone
    if sides:
        own = sample.judge(as_verdicts(sides[0], sample.n_items, "first"))
        shares = pilot.judge_shares(sides[0])
        compared: dict[PlannedFigure, CrossedScores] = {"judge": own, "judge_minus_people": own - people}
        for figure, scores in compared.items():
            found = pilot.fitted(figure, scores, shares)
            if found is not None:
                figures[figure] = found
        if "judge" in figures and "judge_minus_people" in figures:
            figures["judge_minus_people"] = pilot.parted(figures)
        if len(sides) > 1:
            other = sample.judge(as_verdicts(sides[1], sample.n_items, "second"))
            shares, discordance = pilot.discordant_shares(*sides)
            if not discordance:
                warn(NO_DIFFERENCE)
            else:
                found = pilot.fitted("judge_minus_judge", own - other, shares, discordance)
                if found is not None:
                    figures["judge_minus_judge"] = found
    return AgreementModel(figures, pilot.cluster_size)


@dataclass(frozen=True, eq=False)
class Pilot:
    sample: LeaveOneOut
    resamples: Resamples

    @property
    def size(self) -> Any:
        """Labels of each item."""
        return np.bincount(self.sample.read.item, minlength=self.sample.n_items)

    @property
    def cluster_size(self) -> float:
        counted = self.size >= 2
        codes = self.resamples.codes
        return 1.0 if codes is None else float(counted.sum() / len(np.unique(codes[counted])))

    def _matching(self, verdict: Floats) -> Floats:
        read = self.sample.read
        same = read.values[read.code] == verdict[read.item]
        return np.bincount(read.item, weights=same, minlength=self.sample.n_items).astype(np.float64)

    def shares(self, first: Floats, second: Floats, *, among: Any = None) -> Shares | None:
        """Of people who say what comes first, what comes second, and neither."""
        size = self.size
        counted = (size >= 2) if among is None else among & (size >= 2)
        if not counted.any():
            return None
        n = np.stack([self._matching(first), self._matching(second)], axis=1)[counted]
        m = size[counted]
        n = np.c_[n, m - n.sum(axis=1)]
        means = (n / m[:, np.newaxis]).mean(axis=0)
        same = float(((n * (n - 1)).sum(axis=1) / (m * (m - 1))).mean())
        return Shares.of(float(means[0]), float(means[1]), same)

    def other(self, verdict: Floats) -> Floats:
        """The most frequent of the answers that are not the verdict, over all items with this verdict."""
        read, result = self.sample.read, np.full(self.sample.n_items, np.nan)
        given = read.values[read.code]
        for value in np.unique(verdict[~np.isnan(verdict)]):
            here = given[(verdict[read.item] == value) & (given != value)]
            if len(here):
                values, times = np.unique(here, return_counts=True)
                result[verdict == value] = values[times.argmax()]
        return result

    def usual(self) -> tuple[Floats, Floats]:
        """The two answers that people give most often, as if judges always gave them."""
        read = self.sample.read
        order = np.argsort(-np.bincount(read.code, minlength=2), kind="stable")[:2]
        values = np.r_[read.values, np.nan, np.nan][order]
        return np.full(self.sample.n_items, values[0]), np.full(self.sample.n_items, values[1])

    def judge_shares(self, verdicts: Floats) -> Shares | None:
        """Of people who say what the judge says, with what it says in the first order."""
        return self.shares(verdicts[:, 0], self.other(verdicts[:, 0]), among=~np.isnan(verdicts[:, 0]))

    def discordant_shares(self, first: Floats, second: Floats) -> tuple[Shares | None, float]:
        """(the same where two judges differ, how often they do)."""
        one, two = first[:, 0], second[:, 0]
        counted = (self.size >= 2) & ~(np.isnan(one) & np.isnan(two))
        differ = counted & (one != two)
        return self.shares(one, two, among=differ), float(differ.sum() / max(1, counted.sum()))

    def fitted(
        self, figure: PlannedFigure, scores: CrossedScores, shares: Shares | None, discordance: float = 1.0
    ) -> FigureModel | None:
        """The model that has the pilot's value and variance at the pilot's labels; None where they are not known."""
        counted = ~np.isnan(scores.items)
        if counted.sum() < 2 or shares is None:
            return None
        weights = counted.astype(np.float64)
        items = np.where(counted, scores.items, 0.0)
        value = float(items.sum() / counted.sum())
        each = np.where(counted, scores.items - value, 0.0)
        plain = float((each**2).sum() / (counted.sum() - 1))
        rows = self.resamples.cluster_totals(np.stack([each, weights], axis=1))
        effect = 1.0
        if plain > 0 and np.count_nonzero(rows[:, 1]) > 1:
            effect = ratio_spread(rows[:, 0], rows[:, 1]).variance * float(counted.sum()) / plain
        people = people_variance(scores, self.sample.crossing, weights, self.resamples)
        sizes, times = np.unique(np.minimum(self.size[counted], MOST_LABELS), return_counts=True)
        parts = [planned_item_scores(figure, shares, int(size), discordance) for size in sizes]
        share = times / times.sum()
        mean = float(share @ [part.value for part in parts])
        variance = float(share @ [part.moment(2, mean) for part in parts])
        worth, pairs = self.sample.crossing.worth, 0.0
        person = people.variance * worth
        if figure in ("people", "judge_minus_people"):
            # What is of pairs is estimated from few of them: it takes no more than half away.
            part = 4 * float(share @ [pairs_part(int(size), worth) for size in sizes])
            pairs = min(self.pairs, person / (2 * part)) if person > 0 else 0.0
            person -= part * pairs
        else:
            person /= self.growth(shares, figure, counted) ** 2
        model = FigureModel(shares, discordance, person, max(effect, 1e-9), value - mean, pairs=pairs)
        return replace(model, scale=plain / variance if variance > 0 and plain > 0 else 1.0)

    def growth(self, shares: Shares, figure: PlannedFigure, counted: Any = None) -> float:
        """By how much the pilot's labels of an item enlarge what a person does to a judge, beside two of them."""
        size = self.size[self.size >= 2] if counted is None else self.size[counted]
        sizes, times = np.unique(np.minimum(size, MOST_LABELS), return_counts=True)
        return float((times / times.sum()) @ [grown(figure, shares, int(size)) for size in sizes])

    def parted(self, figures: Mapping[PlannedFigure, FigureModel]) -> FigureModel:
        """A judge minus people, with what of its variance between people is of either and of both."""
        model, lean = figures["judge_minus_people"], figures["judge"].person
        own, times = figures["people"].person, self.growth(model.shares, "judge")
        if math.isnan(model.person + lean + own):
            return replace(model, person=math.nan)
        most = math.sqrt(lean * own)
        shared = min(most, max(-most, (times**2 * lean + own - model.person) / (2 * times)))
        alone = model.person - (times**2 - 1) * lean + 2 * (times - 1) * shared
        return replace(model, person=max(0.0, alone), lean=lean, shared=shared)

    @cached_property
    def pairs(self) -> float:
        """Variance between pairs of people of how often they agree, beyond what either does with everyone.

        Products of the agreement of two pairs of labels of different clusters: of the same two people, of pairs that
        share one person, and of pairs that share none.
        """
        read, crossing = self.sample.read, self.sample.crossing
        item = crossing.item
        steps = list(others_of(item, MOST_LABELS))
        if not steps:
            return 0.0
        one, two = (np.concatenate([step[place] for step in steps]) for place in (0, 1))
        first, second = crossing.person[one], crossing.person[two]
        cluster = item[one] if self.resamples.codes is None else self.resamples.codes[item[one]]
        agree = (read.code[one] == read.code[two]).astype(np.float64)
        off, width = agree - agree.mean(), int(crossing.person.max()) + 1
        same = _across(off, np.minimum(first, second) * width + np.maximum(first, second), cluster)
        # Each pair of labels stands there in both orders, so half of the same two people have the same first.
        shared = 4 * (_across(off, first, cluster) - same / 2)
        apart = _across(off, np.zeros(len(off), dtype=np.intp), cluster) - same - shared
        if min(same[1], shared[1], apart[1]) <= 0:
            return 0.0
        means = [float(top / bottom) for top, bottom in (same, shared, apart)]
        return max(0.0, means[0] - 2 * means[1] + means[2])


def _across(off: Floats, key: Integers, cluster: Integers) -> Floats:
    """(the sum, the number) of products of rows with the same key of different clusters."""
    _, row = np.unique(key, return_inverse=True)
    _, cell = np.unique(row * (int(cluster.max()) + 1) + cluster, return_inverse=True)
    return np.array(
        [
            (np.bincount(row, values) ** 2).sum() - (np.bincount(cell, values) ** 2).sum()
            for values in (off, np.ones(len(off)))
        ]
    )

"""Before a study: how wide will its intervals be, and what will it be able to show, for so many items, labels, people?

The interval that a study will have is worked out from the distribution of the scores that its items will have
(`metaeval.stats.planned_scores`), with the same formulas as the interval of the study itself: Wilson's with a
cluster-adjusted sample size for agreement, the adjusted t for differences, and the variance between people beside it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second
from numpy.typing import ArrayLike
from scipy import special

from metaeval.stats.alignment import aligned
from metaeval.stats.arrays import Floats, as_verdicts, check_option
from metaeval.stats.crossed import FEWEST_PEOPLE, CrossedScores, people_variance
from metaeval.stats.differences import adjusted_variance, carriers_doubt, shrinkage
from metaeval.stats.errors import InvalidInputError, warn
from metaeval.stats.ids import as_codes
from metaeval.stats.intervals import wilson_interval
from metaeval.stats.label_effects import others_part
from metaeval.stats.leave_one_out import LeaveOneOut
from metaeval.stats.options import as_count, as_level, as_number
from metaeval.stats.planned_scores import (
    FIGURES,
    MOST_LABELS,
    PlannedFigure,
    PlannedScores,
    Shares,
    planned_item_scores,
)
from metaeval.stats.resampling import Resamples
from metaeval.stats.results import Result
from metaeval.stats.spread import (
    PeopleVariance,
    Spread,
    effective_sample_size,
    ratio_spread,
    variance_freedom,
)

Question: TypeAlias = Literal["superior", "not_inferior", "equivalent"]
_QUESTIONS: tuple[Question, ...] = ("superior", "not_inferior", "equivalent")
# An estimated variance between people is uncertain; expectations are over this many of its quantiles.
_QUANTILES = (np.arange(24) + 0.5) / 24
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
NO_PAIRS = "no item has two labels and the verdicts asked about"
NO_DIFFERENCE = "the pilot's two judges never differ"


@dataclass(frozen=True, slots=True)
class StudyDesign:
    """How large a study is.

    Attributes
    ----------
    n_items : int
    labels_per_item : int
        From 2 to 50, each by another person.
    n_people : int
        Annotators who share the labels evenly; at least as many as labels of an item.
    n_judges : int, default 2
        Judges that are compared with one another: the lead over each is corrected for the number of them.

    Examples
    --------
    >>> StudyDesign(400, 3, 12).n_labels
    1200
    """

    n_items: int
    labels_per_item: int
    n_people: int
    n_judges: int = 2

    def __post_init__(self) -> None:
        as_count(self.n_items, "n_items", 2)
        as_count(self.labels_per_item, "labels_per_item", 2)
        as_count(self.n_people, "n_people", 2)
        as_count(self.n_judges, "n_judges", 1)
        if self.labels_per_item > MOST_LABELS:
            raise InvalidInputError(
                f"labels_per_item: expected 2 to {MOST_LABELS}, got {self.labels_per_item}"
            )
        if self.labels_per_item > self.n_people:
            raise InvalidInputError(
                f"n_people: expected {self.labels_per_item} or more, as many as labels of an item, got {self.n_people}"
            )

    @property
    def n_labels(self) -> int:
        """Labels of all items."""
        return self.n_items * self.labels_per_item


@dataclass(frozen=True, slots=True)
class PlannedInterval(Result):
    """What a study will know of a figure, on average.

    Attributes
    ----------
    value : float
        The figure that is expected: more labels of an item make a clearer majority, so it depends on them.
    half_width, half_width_alike : float
        Half of the mean width of the interval, for these annotators and for annotators like these; NaN where nothing
        can be said of others.
    standard_error, standard_error_alike : float
    """

    value: float
    half_width: float
    half_width_alike: float
    standard_error: float
    standard_error_alike: float


@dataclass(frozen=True, slots=True)
class PlannedPower(Result):
    """The chance that a study shows what is asked.

    Attributes
    ----------
    these, alike : float
        With these annotators, and with annotators like these as well; NaN where nothing can be said of others.
    """

    these: float
    alike: float


@dataclass(frozen=True, slots=True)
class FigureModel:
    """What is assumed of one figure.

    Attributes
    ----------
    shares, discordance
        See `metaeval.stats.planned_scores.planned_item_scores`.
    person : float
        Variance between people of what one of them alone would make of the figure, at two labels an item.
    design_effect : float
        By how much clusters raise the variance.
    offset, scale : float
        What a pilot adds to the value, and multiplies the variance with, that the distribution has by itself.
    """

    shares: Shares
    discordance: float = 1.0
    person: float = 0.0
    design_effect: float = 1.0
    offset: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class AgreementModel:
    """What is assumed of people and judges before a study: guesses (`agreement_model`) or a pilot's figures.

    Attributes
    ----------
    figures : mapping of str to FigureModel
        ``"people"``, and where judges are spoken of ``"judge"``, ``"judge_minus_people"`` and
        ``"judge_minus_judge"``.
    cluster_size : float
        Items of an instruction, on average.
    """

    figures: Mapping[PlannedFigure, FigureModel]
    cluster_size: float = 1.0

    def interval(
        self, figure: PlannedFigure, design: StudyDesign, *, confidence: float = 0.95
    ) -> PlannedInterval:
        """How wide the interval of a figure will be.

        Parameters
        ----------
        figure : {"people", "judge", "judge_minus_people", "judge_minus_judge"}
            Leave-one-out agreement of people or of a judge, or a difference of two of these.
        design : StudyDesign
        confidence : float, default 0.95

        Returns
        -------
        PlannedInterval

        Examples
        --------
        >>> model = agreement_model(judge=0.7, people=0.68, person_sd=0.05)
        >>> [round(model.interval("judge", StudyDesign(n, 2, 10)).half_width, 3) for n in (100, 400)]
        [0.071, 0.035]
        """
        plan = self._plan(figure, design)
        level = as_level(confidence, "confidence")
        error, error_alike = plan.errors
        these = plan.ends(level, None)
        if math.isnan(error_alike):
            return PlannedInterval(plan.value, _half(these), math.nan, error, math.nan)
        halves = []
        for people in plan.people_seen():
            low, high = plan.ends(level, people)
            halves.append(_half((min(low, these[0]), max(high, these[1])) if plan.is_share else (low, high)))
        return PlannedInterval(plan.value, _half(these), float(np.mean(halves)), error, error_alike)

    def power(
        self,
        figure: PlannedFigure,
        design: StudyDesign,
        *,
        question: Question = "superior",
        difference: float | None = None,
        margin: float = 0.0,
        confidence: float = 0.95,
    ) -> PlannedPower:
        """The chance that the interval of a difference shows what is asked.

        Parameters
        ----------
        figure : {"judge_minus_people", "judge_minus_judge"}
        design : StudyDesign
            With more than two judges, the lead over each is corrected for having chosen the best.
        question : {"superior", "not_inferior", "equivalent"}
            Better by more than the margin; not worse by more than the margin; neither, by two one-sided tests (the
            interval of level ``2 confidence - 1`` lies within the margin).
        difference : float, optional
            The true difference. Default: what the model expects.
        margin : float, default 0
        confidence : float, default 0.95

        Returns
        -------
        PlannedPower

        References
        ----------
        D. J. Schuirmann, "A comparison of the two one-sided tests procedure", J. Pharmacokinet. Biopharm. 15 (1987); C.
        W. Dunnett, JASA 50 (1955), for more than two judges.

        Examples
        --------
        >>> model = agreement_model(judge=0.7, people=0.68, difference=0.05, discordance=0.2)
        >>> found = model.power("judge_minus_judge", StudyDesign(800, 3, 12))
        >>> round(found.these, 2)
        0.92
        """
        check_option(figure, FIGURES, "figure")
        if not figure.startswith("judge_minus"):
            raise InvalidInputError(f"figure: power is of a difference, got {figure!r}")
        check_option(question, _QUESTIONS, "question")
        limit = as_number(margin, "margin", 0, 1)
        level = as_level(confidence, "confidence")
        plan = self._plan(figure, design)
        true = plan.value if difference is None else as_number(difference, "difference", -1, 1)
        n_judges = design.n_judges if figure == "judge_minus_judge" and question == "superior" else 2
        asked = _Asked(question, true, limit, level, n_judges)
        these = plan.chance(asked, None)
        if math.isnan(plan.errors[1]):
            return PlannedPower(these, math.nan)
        alike = float(np.mean([plan.chance(asked, people) for people in plan.people_seen()]))
        return PlannedPower(these, alike)

    def _plan(self, figure: PlannedFigure, design: StudyDesign) -> "_Plan":
        check_option(figure, FIGURES, "figure")
        if figure not in self.figures:
            raise InvalidInputError(
                f"figure: nothing is assumed of {figure!r}; known: {', '.join(self.figures)}"
            )
        model = self.figures[figure]
        scores = planned_item_scores(figure, model.shares, design.labels_per_item, model.discordance)
        return _Plan(figure, model, scores, design, self.cluster_size)


@dataclass(frozen=True, slots=True)
class _Asked:
    question: Question
    true: float
    margin: float
    confidence: float
    n_judges: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """A figure in a design."""

    figure: PlannedFigure
    model: FigureModel
    scores: PlannedScores
    design: StudyDesign
    cluster_size: float

    @property
    def is_share(self) -> bool:
        return self.figure in ("people", "judge")

    @property
    def value(self) -> float:
        least = 0.0 if self.is_share else -1.0
        return min(1.0, max(least, self.scores.value + self.model.offset))

    @property
    def n_clusters(self) -> int:
        return max(2, round(self.design.n_items / self.cluster_size))

    @property
    def of_items(self) -> float:
        """Variance between clusters of items."""
        variance = self.scores.moment(2, self.scores.value) * self.model.scale
        return variance * self.model.design_effect / self.design.n_items

    @property
    def of_people(self) -> float:
        """Variance between people; NaN where there are too few to speak of others."""
        if self.design.n_people < FEWEST_PEOPLE or math.isnan(self.model.person):
            return math.nan
        grown = _grown(self.figure, self.model.shares, self.design.labels_per_item) ** 2
        return self.model.person * grown / self.design.n_people

    @property
    def errors(self) -> tuple[float, float]:
        """Standard errors with these annotators, and with others like them."""
        return math.sqrt(self.of_items), math.sqrt(self.of_items + self.of_people)

    @property
    def carriers(self) -> float:
        """Over how many clusters the variance is spread (`metaeval.stats.spread`)."""
        second = self.scores.moment(2, self.scores.value)
        if second <= 0:
            return 1.0
        kurtosis = 3 + (self.scores.moment(4, self.scores.value) / second**2 - 3) / self.cluster_size
        return self.n_clusters / max(1.0, kurtosis)

    def people_seen(self) -> list[PeopleVariance]:
        """The variances between people that studies of this design will estimate, each with the same chance."""
        design = self.design
        of = "people" if self.figure == "people" else "judge"
        part = float(others_part(np.array([design.labels_per_item]), None, of)[0])
        correction = 1.0 - part / max(2.0, design.n_people - 1)
        scores = self.scores
        single = max(0.0, scores.within - scores.shared / design.n_people)
        within = single * self.model.scale / correction**2 / design.n_items
        freedom = design.n_people - 1
        known = scores.within**2 / scores.within_squares if scores.within_squares > 0 else 1.0
        between = self.of_people + within
        return [
            PeopleVariance(
                max(0.0, between * times - within),
                design.n_people,
                between * times,
                within,
                freedom,
                max(1.0, self.n_clusters * known),
            )
            for times in 2 * special.gammaincinv(freedom / 2, _QUANTILES) / freedom
        ]

    def ends(self, confidence: float, people: PeopleVariance | None) -> tuple[float, float]:
        """The ends of the interval that is expected, with an estimate of the variance between people or without."""
        if not self.is_share:
            centre = shrinkage(self.n_clusters) * self.value
            error, critical = self._error(confidence, people)
            return max(-1.0, centre - critical * error), min(1.0, centre + critical * error)
        share, n = self.value, self.n_clusters
        if people is None:
            size = effective_sample_size(share, self.of_items, n, Spread(n, self.carriers), confidence)
            return wilson_interval(share, size, confidence)
        variance, freedom = people.total(self.of_items, variance_freedom(self.carriers, n))
        if variance <= 0 or share in (0.0, 1.0):
            return wilson_interval(share, min(n, people.n_people), confidence)
        tail = (1 + confidence) / 2
        doubt = float(special.stdtrit(freedom, tail) / special.ndtri(tail)) ** 2
        return wilson_interval(share, max(1.0, share * (1 - share) / (variance * doubt)), confidence)

    def chance(self, asked: _Asked, people: PeopleVariance | None) -> float:
        """The chance that the interval shows what is asked."""
        two_sided = asked.confidence if asked.question != "equivalent" else 2 * asked.confidence - 1
        if two_sided <= 0:
            raise InvalidInputError("confidence: two one-sided tests take more than 0.5")
        error, critical = self._error(two_sided, people)
        if asked.n_judges > 2:
            critical *= corrected_quantile(asked.n_judges, self.n_clusters - 1, two_sided) / float(
                special.stdtrit(self.n_clusters - 1, (1 + two_sided) / 2)
            )
        shrunk = shrinkage(self.n_clusters)
        # The annotators are still to come, so theirs is part of what the figure may turn out to be.
        these, alike = self.errors
        centre, spread = shrunk * asked.true, shrunk * (these if math.isnan(alike) else alike)
        if asked.question == "equivalent":
            room = asked.margin - critical * error
            if room <= 0:
                return 0.0
            if spread <= 0:
                return float(abs(centre) < room)
            return float(special.ndtr((room - centre) / spread) - special.ndtr((-room - centre) / spread))
        limit = asked.margin if asked.question == "superior" else -asked.margin
        beyond = centre - limit - critical * error
        return float(special.ndtr(beyond / spread)) if spread > 0 else float(beyond > 0)

    def _error(self, confidence: float, people: PeopleVariance | None) -> tuple[float, float]:
        """(the standard error of the adjusted difference as it is expected to be estimated, its quantile)."""
        scores, n = self.scores, self.n_clusters
        each = self.cluster_size / self.design.n_items
        other = 1 - (1 - scores.other_than_zero) ** self.cluster_size
        # Two clusters are added that differ as much as those that do (`metaeval.stats.differences.stratum_variance`).
        squares = self.of_items * n + scores.value**2
        typical = squares / other if other > 0 else 1.0
        squared = self.of_items + 2 * typical * each**2
        second = scores.moment(2)
        kurtosis = 3 + (scores.moment(4) / second**2 - 3) / self.cluster_size if second > 0 else 1.0
        doubt = carriers_doubt(1.0, max(1.0, kurtosis) / n, n, confidence)
        most = (scores.size + 2 * each) * each
        variance = float(adjusted_variance(squared, doubt, most, n))
        freedom = float(n - 1)
        if people is not None:
            variance, freedom = people.total(variance, freedom)
        return math.sqrt(variance), float(special.stdtrit(freedom, (1 + confidence) / 2))


def _half(ends: tuple[float, float]) -> float:
    return (ends[1] - ends[0]) / 2


def _grown(figure: PlannedFigure, shares: Shares, n_labels: int) -> float:
    """By how much more labels of an item enlarge what one person does to the figure, beside two of them.

    A clearer majority makes more of a small lean of everybody. People's own agreement does not lean to a side.
    """
    if figure == "people":
        return 1.0
    of: PlannedFigure = "judge_minus_judge" if figure == "judge_minus_judge" else "judge"
    return planned_item_scores(of, shares, n_labels).slope / planned_item_scores(of, shares, 2).slope


@lru_cache(maxsize=512)
def corrected_quantile(n_judges: int, freedom: int, confidence: float) -> float:
    """How many standard errors the lead of one of several judges that are alike has to be: Dunnett's two-sided test.

    Examples
    --------
    >>> round(corrected_quantile(5, 10_000, 0.95), 2)               # Dunnett's table: 4 comparisons, no end of freedom
    2.44
    """
    chi = np.sqrt(2 * special.gammaincinv(freedom / 2, _QUANTILES) / freedom)[:, np.newaxis]
    weights = _WEIGHTS / _WEIGHTS.sum()

    def missing(critical: float) -> float:
        reach = math.sqrt(2) * critical * chi
        inside = special.ndtr(reach + _NODES) - special.ndtr(-reach + _NODES)
        return float((inside ** (n_judges - 1) @ weights).mean()) - confidence

    return float(scipy.optimize.brentq(missing, 0.01, 200.0))


def agreement_model(
    *,
    people: float,
    judge: float | None = None,
    difference: float | None = None,
    discordance: float | None = None,
    person_sd: float = 0.05,
    cluster_size: float = 1.0,
    intraclass: float = 0.0,
) -> AgreementModel:
    """What is assumed before a study, from guesses.

    Parameters
    ----------
    people : float
        The chance that two people give an item the same label.
    judge : float, optional
        The chance that a judge says what one person says.
    difference, discordance : float, optional
        Of two judges: how much more often the first says what one person says, and how often the two differ.
    person_sd : float, default 0.05
        How far apart people are: standard deviation of what one of them alone would make of a figure. AlpacaEval's 16
        annotators have 0.06 in agreement with others and with "the longer one", 0.03 in a judge minus people.
    cluster_size : float, default 1
        Items of an instruction.
    intraclass : float, default 0
        Correlation of the scores of two items of one instruction.

    Returns
    -------
    AgreementModel

    Raises
    ------
    InvalidInputError
        If the guesses contradict each other: two judges that differ less often than their agreement does.

    Notes
    -----
    An own combination: the shares of people who side with a judge have the Dirichlet distribution that agrees with the
    guesses, and intervals are those that a study of this size will have.

    Examples
    --------
    >>> model = agreement_model(people=0.66, judge=0.7)
    >>> found = model.interval("judge_minus_people", StudyDesign(500, 4, 16))
    >>> round(found.value, 3), round(found.half_width, 3), round(found.half_width_alike, 3)
    (0.052, 0.036, 0.054)
    """
    same = as_number(people, "people", 0, 1)
    sd = as_number(person_sd, "person_sd", 0, 0.5)
    size = as_number(cluster_size, "cluster_size", 1)
    effect = 1 + (size - 1) * as_number(intraclass, "intraclass", 0, 1)

    def model(mean: float, share: float = 1.0) -> FigureModel:
        return FigureModel(Shares.of(mean, 1 - mean, same), share, sd**2, effect)

    figures: dict[PlannedFigure, FigureModel] = {
        "people": model(0.5 if judge is None or not _possible(judge, same) else judge)
    }
    if judge is not None:
        figures["judge"] = figures["judge_minus_people"] = model(as_number(judge, "judge", 0, 1))
    if (difference is None) != (discordance is None):
        raise InvalidInputError("discordance: expected together with difference")
    if difference is not None:
        ahead = as_number(difference, "difference", -1, 1)
        apart = as_number(discordance, "discordance", 0, 1)
        if abs(ahead) > apart:
            raise InvalidInputError(
                f"discordance: two judges that differ on {apart:g} of the items cannot be {abs(ahead):g} apart"
            )
        figures["judge_minus_judge"] = model(0.5 if not apart else (1 + ahead / apart) / 2, apart)
    return AgreementModel(figures, size)


def _possible(judge: float, same: float) -> bool:
    """Whether people can be as divided as they are said to be where so many side with the judge."""
    mean = as_number(judge, "judge", 0, 1)
    return mean**2 + (1 - mean) ** 2 < same


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
    pilot = _Pilot(sample, resamples)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Pilot:
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
        grown = float(share @ [_grown(figure, shares, int(size)) for size in sizes])
        person = people.variance * self.sample.crossing.worth / grown**2
        model = FigureModel(shares, discordance, person, max(effect, 1e-9), value - mean)
        return replace(model, scale=plain / variance if variance > 0 and plain > 0 else 1.0)

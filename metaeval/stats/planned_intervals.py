"""The interval that a study will have, and what it will show, from what its items' scores are expected to be.

With the same formulas as the interval of the study itself: Wilson's with a cluster-adjusted sample size for a mean, the
adjusted t for differences, and the variance between people beside it, as it will be estimated.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are first used: `scipy.stats` takes half a second
from scipy import special

from metaeval.stats.crossed import FEWEST_PEOPLE
from metaeval.stats.differences import adjusted_variance, carriers_doubt, shrinkage
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.intervals import wilson_interval
from metaeval.stats.options import as_count
from metaeval.stats.planned_scores import MOST_LABELS, PlannedFigure
from metaeval.stats.results import Result
from metaeval.stats.spread import PeopleVariance, Spread, effective_sample_size, variance_freedom

Question: TypeAlias = Literal["superior", "not_inferior", "equivalent"]
QUESTIONS: tuple[Question, ...] = ("superior", "not_inferior", "equivalent")
# An estimated variance between people is uncertain; expectations are over this many of its quantiles.
_QUANTILES = (np.arange(24) + 0.5) / 24
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
# How often the interval for others is as narrow, and as wide, as the range that is said.
_RANGE = (0.1, 0.9)


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
    low_alike, high_alike : float
        The half width for annotators like these varies between studies, since theirs is a variance of few: in four of
        five it is within these.
    """

    value: float
    half_width: float
    half_width_alike: float
    standard_error: float
    standard_error_alike: float
    low_alike: float = math.nan
    high_alike: float = math.nan


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
class PowerQuestion:
    """What power is computed of: see `metaeval.stats.AgreementModel.power`."""

    question: Question
    true: float
    margin: float
    confidence: float
    n_judges: int


@dataclass(frozen=True, slots=True)
class ExpectedScores:
    """What the scores of a figure's items will be like in a design, as shares of the figure's range.

    Attributes
    ----------
    value : float
        Their mean: the figure.
    variance : float
        Of one item; clusters' design effect is part of it.
    kurtosis, kurtosis_at_zero : float
        Of an item's score about the mean, and about 0.
    size, other_than_zero : float
        The mean of the absolute scores, and the share of scores that are not 0: of differences.
    person, pairs : float
        Variance between people of what one of them alone would make of the figure, and between pairs of people beyond
        that: two may agree more than what either does with everyone. NaN: not known.
    within : float
        Variance of what labels of one item do to its score, as people's effects are estimated.
    within_spread : float
        The mean of its square over the square of its mean.
    curved : bool
        Whether a label's effect is no part of a mean: that costs a degree of freedom.
    """

    value: float
    variance: float
    kurtosis: float = 3.0
    kurtosis_at_zero: float = 3.0
    size: float = 0.0
    other_than_zero: float = 1.0
    person: float = math.nan
    pairs: float = 0.0
    within: float = 0.0
    within_spread: float = 1.0
    curved: bool = False


def pairs_part(n_labels: float, n_people: float) -> float:
    """What pairs of people add to the variance between people as it is estimated, per unit of theirs.

    Of the mean over pairs of labels each person's sum has the mean of what is of their pairs, in which every other
    person meets them again. With a handful of people that is several times what pairs do to the figure itself, which
    is ``1 / (2 (n_people - 1))`` in these units.

    Examples
    --------
    >>> round(pairs_part(5, 5), 3), round(pairs_part(3, 300), 4)
    (0.422, 0.0034)
    """
    if n_people <= 2:
        return 1.0
    again = 2 * (n_labels - 2) / ((n_labels - 1) * (n_people - 2)) if n_labels > 2 else 0.0
    return (n_people - 2) / (n_people - 1) ** 2 * (1 + again) ** 2


@dataclass(frozen=True, slots=True)
class Planned:
    """A figure in a design."""

    figure: PlannedFigure
    scores: ExpectedScores
    design: StudyDesign
    cluster_size: float

    @property
    def is_share(self) -> bool:
        """Whether it is a mean, and no difference of two."""
        return self.figure in ("people", "judge")

    @property
    def value(self) -> float:
        """The figure that is expected."""
        return min(1.0, max(0.0 if self.is_share else -1.0, self.scores.value))

    @property
    def n_clusters(self) -> int:
        """Of items."""
        return max(2, round(self.design.n_items / self.cluster_size))

    @property
    def of_items(self) -> float:
        """Variance between clusters of items."""
        return self.scores.variance / self.design.n_items

    @property
    def of_people(self) -> float:
        """Variance between people; NaN where there are too few to speak of others."""
        n = self.design.n_people
        if n < FEWEST_PEOPLE or math.isnan(self.scores.person):
            return math.nan
        return self.scores.person / n + 2 * self.scores.pairs / (n * (n - 1))

    @property
    def errors(self) -> tuple[float, float]:
        """Standard errors with these annotators, and with others like them."""
        return math.sqrt(self.of_items), math.sqrt(self.of_items + self.of_people)

    @property
    def carriers(self) -> float:
        """Over how many clusters the variance is spread (`metaeval.stats.spread`)."""
        return self.n_clusters / max(1.0, 3 + (self.scores.kurtosis - 3) / self.cluster_size)

    def people_seen(self, quantiles: tuple[float, ...] | None = None) -> list[PeopleVariance]:
        """The variances between people that studies of this design will estimate, each with the same chance."""
        scores, n = self.scores, self.design.n_people
        freedom = max(1, n - 2 if scores.curved else n - 1)
        within = scores.within / self.design.n_items
        seen = (scores.person + 4 * pairs_part(self.design.labels_per_item, n) * scores.pairs) / n
        between = seen + within
        chances = _QUANTILES if quantiles is None else np.array(quantiles)
        return [
            PeopleVariance(
                max(0.0, between * times - within),
                n,
                between * times,
                within,
                freedom,
                max(1.0, self.n_clusters / scores.within_spread),
            )
            for times in 2 * special.gammaincinv(freedom / 2, chances) / freedom
        ]

    def interval(self, confidence: float) -> PlannedInterval:
        """How wide it will be."""
        error, error_alike = self.errors
        these = self.ends(confidence, None)
        if math.isnan(error_alike):
            return PlannedInterval(self.value, _half(these), math.nan, error, math.nan)

        def half(people: PeopleVariance) -> float:
            low, high = self.ends(confidence, people)
            return _half((min(low, these[0]), max(high, these[1])) if self.is_share else (low, high))

        mean = float(np.mean([half(people) for people in self.people_seen()]))
        low, high = (half(people) for people in self.people_seen(_RANGE))
        return PlannedInterval(self.value, _half(these), mean, error, error_alike, low, high)

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

    def chance(self, asked: PowerQuestion, people: PeopleVariance | None) -> float:
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
        other = 1 - (1 - min(1.0, scores.other_than_zero)) ** self.cluster_size
        # Two clusters are added that differ as much as those that do (`metaeval.stats.differences.stratum_variance`).
        squares = self.of_items * n + scores.value**2
        typical = squares / other if other > 0 else 1.0
        squared = self.of_items + 2 * typical * each**2
        kurtosis = 3 + (scores.kurtosis_at_zero - 3) / self.cluster_size
        doubt = carriers_doubt(1.0, max(1.0, kurtosis) / n, n, confidence)
        most = (scores.size + 2 * each) * each
        variance = float(adjusted_variance(squared, doubt, most, n))
        freedom = float(n - 1)
        if people is not None:
            variance, freedom = people.total(variance, freedom)
        return math.sqrt(variance), float(special.stdtrit(freedom, (1 + confidence) / 2))


def _half(ends: tuple[float, float]) -> float:
    return (ends[1] - ends[0]) / 2


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

"""Before a study: how wide will its intervals be, and what will it be able to show, for so many items, labels, people?

The interval that a study will have is worked out from the distribution of the scores that its items will have
(`metaeval.stats.planned_scores`), with the same formulas as the interval of the study itself: Wilson's with a
cluster-adjusted sample size for agreement, the adjusted t for differences, and the variance between people beside it.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Protocol

import numpy as np

from metaeval.stats.arrays import check_option
from metaeval.stats.errors import InvalidInputError
from metaeval.stats.label_effects import others_part
from metaeval.stats.options import as_level, as_number
from metaeval.stats.planned_intervals import (
    QUESTIONS,
    ExpectedScores,
    Planned,
    PlannedInterval,
    PlannedPower,
    PowerQuestion,
    Question,
    StudyDesign,
)
from metaeval.stats.planned_scores import FIGURES, PlannedFigure, Shares, planned_item_scores


class AnyFigure(Protocol):
    """What is assumed of one figure: `FigureModel` of labels of pairs, `ScoreModel` of items' scores of any kind."""

    @property
    def low(self) -> float:
        """The lower end of its range."""

    @property
    def width(self) -> float:
        """How wide that is."""

    @property
    def stated(self) -> dict[str, float]:
        """What is assumed, as a preregistration states it; NaN where it is not known."""

    def expected(self, figure: PlannedFigure, design: StudyDesign) -> ExpectedScores:
        """What items will score in a design."""


# Variance between pairs of people, beside that between people, where nothing is known of it.
PAIRS = 0.25


@dataclass(frozen=True, slots=True)
class FigureModel:
    """What is assumed of one figure.

    Attributes
    ----------
    shares, discordance
        See `metaeval.stats.planned_scores.planned_item_scores`.
    person : float
        Variance between people of what one of them alone would make of the figure, at two labels an item.
    pairs : float
        Of people's own agreement: variance between pairs of people beyond that.
    lean, shared : float
        Of a judge minus people: the part of ``person`` that is of agreement with the judge, which more labels enlarge,
        and its covariance with people's own, which they don't.
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
    pairs: float = 0.0
    lean: float = 0.0
    shared: float = 0.0

    @property
    def low(self) -> float:
        """An agreement is a share."""
        return 0.0

    @property
    def width(self) -> float:
        """An agreement is a share."""
        return 1.0

    @property
    def stated(self) -> dict[str, float]:
        """What is assumed, as a preregistration states it; NaN where it is not known."""
        return asdict(self.shares) | {
            "discordance": self.discordance,
            "person_sd": math.sqrt(self.person),
            "design_effect": self.design_effect,
        }

    def expected(self, figure: PlannedFigure, design: StudyDesign) -> ExpectedScores:
        """What items will score in a design."""
        labels, n_people = design.labels_per_item, design.n_people
        scores = planned_item_scores(figure, self.shares, labels, self.discordance)
        second, at_zero = scores.moment(2, scores.value), scores.moment(2)
        return ExpectedScores(
            value=scores.value + self.offset,
            variance=second * self.scale * self.design_effect,
            kurtosis=scores.moment(4, scores.value) / second**2 if second > 0 else math.inf,
            kurtosis_at_zero=scores.moment(4) / at_zero**2 if at_zero > 0 else 1.0,
            size=scores.size,
            other_than_zero=scores.other_than_zero,
            person=self.person_at(figure, labels),
            pairs=self.pairs,
            within=self.scale * _within(figure, self.shares, labels, self.discordance, n_people),
            within_spread=scores.within_squares / scores.within**2 if scores.within > 0 else 1.0,
        )

    def person_at(self, figure: PlannedFigure, n_labels: int) -> float:
        """The variance between people with so many labels: a clearer majority enlarges what they do to a judge."""
        times = grown(figure, self.shares, n_labels)
        if figure == "judge_minus_people" and not math.isnan(self.person):
            return max(0.0, self.person + (times**2 - 1) * self.lean - 2 * (times - 1) * self.shared)
        return self.person * times**2


@dataclass(frozen=True, slots=True)
class AgreementModel:
    """What is assumed of people and judges before a study: guesses (`agreement_model`) or a pilot's figures.

    Attributes
    ----------
    figures : mapping of str to FigureModel or ScoreModel
        ``"people"``, and where judges are spoken of ``"judge"``, ``"judge_minus_people"`` and
        ``"judge_minus_judge"``.
    cluster_size : float
        Items of an instruction, on average.
    """

    figures: Mapping[PlannedFigure, AnyFigure]
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
        found = self._plan(figure, design).interval(as_level(confidence, "confidence"))
        model = self.figures[figure]
        parts = {name: model.width * number for name, number in asdict(found).items()}
        low = 0.0 if figure.startswith("judge_minus") else model.low
        return PlannedInterval(**parts | {"value": low + parts["value"]})

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
        check_option(question, QUESTIONS, "question")
        width = self.figures[figure].width if figure in self.figures else 1.0
        limit = as_number(margin, "margin", 0, width) / width
        level = as_level(confidence, "confidence")
        plan = self._plan(figure, design)
        true = (
            plan.value if difference is None else as_number(difference, "difference", -width, width) / width
        )
        n_judges = design.n_judges if figure == "judge_minus_judge" and question == "superior" else 2
        asked = PowerQuestion(question, true, limit, level, n_judges)
        these = plan.chance(asked, None)
        if math.isnan(plan.errors[1]):
            return PlannedPower(these, math.nan)
        alike = float(np.mean([plan.chance(asked, people) for people in plan.people_seen()]))
        return PlannedPower(these, alike)

    def _plan(self, figure: PlannedFigure, design: StudyDesign) -> Planned:
        check_option(figure, FIGURES, "figure")
        if figure not in self.figures:
            raise InvalidInputError(
                f"figure: nothing is assumed of {figure!r}; known: {', '.join(self.figures)}"
            )
        return Planned(figure, self.figures[figure].expected(figure, design), design, self.cluster_size)


def _within(figure: PlannedFigure, shares: Shares, n_labels: int, discordance: float, n_people: int) -> float:
    """What labels of one item do to its score, as people's effects are corrected for others' part in them."""

    def single(of: PlannedFigure) -> float:
        scores = planned_item_scores(of, shares, n_labels, discordance)
        return max(0.0, scores.within - scores.shared / n_people)

    own, judge = (
        1.0 - float(others_part(np.array([n_labels]), None, of)[0]) / max(2.0, n_people - 1)
        for of in ("people", "judge")
    )
    if figure == "people":
        return single("people") / own**2
    if figure != "judge_minus_people":
        return single(figure) / judge**2
    # Either side of the difference is corrected by itself.
    one, two, both = single("judge"), single("people"), single("judge_minus_people")
    return max(0.0, one / judge**2 + two / own**2 - (one + two - both) / (judge * own))


def grown(figure: PlannedFigure, shares: Shares, n_labels: int) -> float:
    """By how much more labels of an item enlarge what one person does to the figure, beside two of them.

    A clearer majority makes more of a small lean of everyone. People's own agreement does not lean to a side.
    """
    if figure == "people":
        return 1.0
    of: PlannedFigure = "judge_minus_judge" if figure == "judge_minus_judge" else "judge"
    return planned_item_scores(of, shares, n_labels).slope / planned_item_scores(of, shares, 2).slope


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

    def model(mean: float, share: float = 1.0, **more: float) -> FigureModel:
        return FigureModel(Shares.of(mean, 1 - mean, same), share, sd**2, effect, **more)

    pairs = PAIRS * sd**2

    figures: dict[PlannedFigure, FigureModel] = {
        "people": model(0.5 if judge is None or not _possible(judge, same) else judge, pairs=pairs)
    }
    if judge is not None:
        figures["judge"] = model(as_number(judge, "judge", 0, 1))
        # One spread for the judge's, people's own and their difference: they correlate by a half.
        figures["judge_minus_people"] = replace(figures["judge"], pairs=pairs, lean=sd**2, shared=sd**2 / 2)
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

"""The planning page: what studies of several sizes would know and cost, and what money buys next in a running one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

from annotation.domain.scales import Scale
from annotation.kinds import DEFAULT_KIND, kind_of
from metaeval.figures import FIGURES
from metaeval.figures.planned import planned_figures
from metaeval.inputs import Inputs
from metaeval.reports.errors import ReportError
from metaeval.stats import (
    AgreementModel,
    GeneralizabilityStudy,
    NextStep,
    PlannedInterval,
    PlannedPower,
    StudyDesign,
    agreement_model_from,
    generalizability_study,
)
from metaeval.stats.errors import quiet
from metaeval.stats.planned_intervals import Question
from metaeval.stats.planned_scores import PlannedFigure


@dataclass(frozen=True, slots=True)
class PlanWords:
    """What can be planned of a kind: labels and estimands by figure, and what one point is."""

    figures: dict[str, str]
    estimands: dict[str, str]
    point: str = ""
    caution: str = ""


_PAIRS = PlanWords(
    {
        "judge_minus_people": "Judge minus annotators",
        "judge_minus_judge": "One judge minus another",
        "judge": "Agreement of a judge",
        "people": "Inter-annotator agreement",
    },
    {
        "judge_minus_people": (
            "Leave-one-out agreement of the judge minus that of the human annotators, on the same items."
        ),
        "judge_minus_judge": "Leave-one-out agreement of one judge minus that of another, on the same items.",
        "judge": (
            "Leave-one-out agreement of the judge: how often its verdict is the mode of the other annotators' labels."
        ),
        "people": (
            "Leave-one-out agreement: how often an annotator's label is the mode of the other annotators' labels."
        ),
    },
)
_POINT = "One point is 1% of the range of a correlation, 0.02, as in the margins of reports."


_CAUTION = (
    "From a pilot with fewer labels per item than the design, intervals of a judge minus annotators may come out up to "
    "60% wider than planned: how a larger majority decides cannot be read from a smaller one."
)


def plan_words(kind: str, scales: Sequence[Scale] = ()) -> PlanWords:
    """The figures that choose a judge of a kind, and what they are compared with; of rubrics on these scales."""
    if kind_of(kind).presented:
        return _PAIRS
    figures = FIGURES[kind].on(scales)
    own, beside = figures.of_judges(figures.primaries[0]), figures.of_judges("minus_people")
    return PlanWords(
        {
            "judge_minus_people": _PAIRS.figures["judge_minus_people"],
            "judge_minus_judge": _PAIRS.figures["judge_minus_judge"],
            "judge": f"{own.label} of a judge",
            "people": _PAIRS.figures["people"],
        },
        {
            "judge_minus_people": beside.estimand,
            "judge_minus_judge": f"{own.label} of one judge minus that of another, on the same items. {own.estimand}",
            "judge": own.estimand,
            "people": f"That of human annotators with one another, in this difference: {beside.estimand}",
        },
        _POINT if own.unit == "number" else "",
        _CAUTION if figures.majority else "",
    )


QUESTION_WORDS: dict[str, str] = {
    "precise": "How large it is",
    "superior": "Better by more than the margin",
    "not_inferior": "Not worse than the margin",
    "equivalent": "Equivalent within the margin",
}
POPULATION_WORDS: dict[str, str] = {
    "alike": "These annotators and others like them, new items",
    "these": "These annotators, new items",
}


@dataclass(frozen=True, slots=True)
class PlanAsked:
    """What is asked of a plan; shares are between 0 and 1.

    Attributes
    ----------
    target : float
        The power that a design should have, or half of the width of its interval where the question is how large.
    difference : float or None
        The true difference that power is computed for; None: what the model expects.
    """

    figure: PlannedFigure
    question: str
    population: str
    margin: float
    target: float
    difference: float | None
    confidence: float
    items: tuple[int, ...]
    labels: tuple[int, ...]
    people: tuple[int, ...]
    n_judges: int
    label_price: float
    verdict_price: float
    orders: int
    currency: str = "$"
    kind: str = DEFAULT_KIND
    scales: tuple[Scale, ...] = ()

    @property
    def words(self) -> PlanWords:
        """What the figures are called, and what they mean."""
        return plan_words(self.kind, self.scales)

    @property
    def level(self) -> str:
        """The confidence in words."""
        return f"{100 * self.confidence:.0f}%"

    @property
    def target_text(self) -> str:
        """What is to be reached."""
        return f"{100 * self.target:g}%" if self.asks_power else f"{100 * self.target:.3g} points"

    @property
    def asks_power(self) -> bool:
        """Whether it is the power that counts, and not the width alone."""
        return self.question != "precise"


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A design, what it would know, and what it costs."""

    design: StudyDesign
    interval: PlannedInterval
    power: PlannedPower | None
    cost: float
    reaches: bool
    cheapest: bool = False

    @property
    def key(self) -> str:
        """As a form names it."""
        return f"{self.design.n_items}-{self.design.labels_per_item}-{self.design.n_people}"


@dataclass(frozen=True, slots=True)
class PlanPage:
    """All that the page shows."""

    asked: PlanAsked
    rows: tuple[PlannedRow, ...]

    @property
    def best(self) -> PlannedRow | None:
        """The cheapest design that reaches the target."""
        return next((row for row in self.rows if row.cheapest), None)

    @property
    def unknown_others(self) -> bool:
        """Whether nothing is known of other annotators in any row."""
        return all(math.isnan(row.interval.half_width_alike) for row in self.rows)


def plan_page(model: AgreementModel, asked: PlanAsked) -> PlanPage:
    """Every design that was asked about.

    Raises
    ------
    ReportError
        The model doesn't know the figure, or no design is possible.
    """
    if asked.figure not in model.figures:
        raise ReportError(f"Nothing is assumed of this figure: {asked.words.figures[asked.figure]}.")
    rows = []
    for items, labels, people in product(asked.items, asked.labels, asked.people):
        if labels <= people:
            rows.append(planned_row(model, asked, StudyDesign(items, labels, people, asked.n_judges)))
    if not rows:
        raise ReportError("Every design has more labels per item than annotators. Add annotators.")
    cheapest = min((row.cost for row in rows if row.reaches), default=None)
    marked: list[PlannedRow] = []
    for row in rows:
        best = row.reaches and row.cost == cheapest and not any(one.cheapest for one in marked)
        marked.append(PlannedRow(row.design, row.interval, row.power, row.cost, row.reaches, best))
    return PlanPage(asked, tuple(marked))


def planned_row(model: AgreementModel, asked: PlanAsked, design: StudyDesign) -> PlannedRow:
    """One design."""
    # Widths, margins and differences are points of the figure's range, as elsewhere; its value is in its own unit.
    width = model.figures[asked.figure].width
    found = model.interval(asked.figure, design, confidence=asked.confidence)
    interval = PlannedInterval(
        **{name: number if name == "value" else number / width for name, number in asdict(found).items()}
    )
    power = None
    if asked.asks_power:
        question: Question = asked.question  # type: ignore[assignment]  # the form's choices
        power = model.power(
            asked.figure,
            design,
            question=question,
            difference=None if asked.difference is None else asked.difference * width,
            margin=asked.margin * width,
            confidence=asked.confidence,
        )
    known = reached(asked, interval, power)
    reaches = known >= asked.target if asked.asks_power else known <= asked.target
    return PlannedRow(design, interval, power, plan_cost(asked, design), reaches)


def reached(asked: PlanAsked, interval: PlannedInterval, power: PlannedPower | None) -> float:
    """The power, or the half width, of the population that was asked about; NaN where it is not known."""
    alike = asked.population == "alike"
    if power is not None:
        return power.alike if alike else power.these
    return interval.half_width_alike if alike else interval.half_width


def plan_cost(asked: PlanAsked, design: StudyDesign) -> float:
    """What labels and verdicts cost."""
    judges = 0 if asked.figure == "people" else max(1, design.n_judges)
    return design.n_labels * asked.label_price + design.n_items * judges * asked.orders * asked.verdict_price


# --- a pilot -------------------------------------------------------------------------------------------------------


def pilot_model(inputs: Inputs, judge: str = "", rival: str = "") -> AgreementModel:
    """What a pilot's labels, and its judges by fingerprint, say of a study to come.

    Raises
    ------
    ReportError
        It has too few labels.
    """
    # What is not known is said on the page.
    with quiet():
        if kind_of(inputs.kind).presented:
            verdicts = {one.fingerprint: one.verdicts for one in inputs.judges}
            chosen = [verdicts[key] for key in (judge, rival) if key in verdicts]
            model = agreement_model_from(_labels(inputs), *chosen, clusters=list(inputs.items.cluster))
        else:
            model = planned_figures(inputs, judge, rival)
    if not model.figures:
        raise ReportError("The pilot has no item with two labels yet. Enter assumptions instead.")
    return model


@dataclass(frozen=True, slots=True)
class MoneyNext:
    """What the same money buys next in a running study, as labels or as items."""

    money: float
    step: NextStep
    study: GeneralizabilityStudy

    @property
    def is_people(self) -> bool:
        """Whether more annotators are the better buy."""
        return self.step.answer == "people"


def money_next(
    inputs: Inputs, judge: str, *, money: float, label_price: float, item_price: float
) -> MoneyNext | None:
    """What to buy with money: more annotators on the same items, or more items; None where labels cannot tell.

    A label's score is whether it is what the judge said, of pairs.
    """
    labels = inputs.labels
    if money <= 0 or label_price <= 0 or not len(labels) or not kind_of(inputs.kind).presented:
        return None
    verdicts = next((one.verdicts[:, 0] for one in inputs.judges if one.fingerprint == judge), None)
    if verdicts is None:
        return None
    said = verdicts[labels.item]
    asked = ~np.isnan(said)
    scores = (labels.choice == said)[asked]
    with quiet():
        study = generalizability_study(scores, labels.item[asked], labels.annotator[asked])
    if study.reason is not None:
        return None
    step = study.next_step(money=money, label_cost=label_price, item_cost=item_price)
    return MoneyNext(money, step, study)


def _labels(inputs: Inputs) -> object:
    labels = inputs.labels
    return labels.item, labels.annotator, labels.choice


def design_words(design: StudyDesign) -> str:
    """A design in a line."""
    return f"{design.n_items:,} items, {design.labels_per_item} labels each, {design.n_people:,} annotators"

"""The planning page: what studies of several sizes would know and cost, and what money buys next in a running one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import numpy as np

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
_POINT = "One point is a hundredth of the range of a correlation, 0.02, as in the margins of reports."


_CAUTION = (
    "From a pilot with fewer labels per item than the design, intervals of a judge minus annotators may come out up to "
    "60% wider than planned: how a larger majority decides cannot be read from a smaller one."
)


def plan_words(kind: str) -> PlanWords:
    """The figures that choose a judge of a kind, as the registry has them, and what they are compared with."""
    if kind_of(kind).presented:
        return _PAIRS
    figures = FIGURES[kind]
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
# A curve for each number of labels: this many can be told apart in black and white.
SHAPES = ("circle", "square", "diamond", "triangle")
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 600.0, 16.0, 256.0


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
class PlanMark:
    """A point, a tick or a label of the picture; coordinates as text, as SVG takes them."""

    x: str
    y: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PlanCurve:
    """A curve for one number of labels per item."""

    shape: str
    path: str
    points: tuple[PlanMark, ...]
    label: PlanMark


@dataclass(frozen=True, slots=True)
class PlanPicture:
    """Width or power against cost."""

    curves: tuple[PlanCurve, ...]
    x_ticks: tuple[PlanMark, ...]
    y_ticks: tuple[PlanMark, ...]
    guide: str
    what: str
    axis: str


@dataclass(frozen=True, slots=True)
class PlanPage:
    """All that the page shows."""

    asked: PlanAsked
    rows: tuple[PlannedRow, ...]
    picture: PlanPicture | None

    @property
    def best(self) -> PlannedRow | None:
        """The cheapest design that reaches the target."""
        return next((row for row in self.rows if row.cheapest), None)

    @property
    def most_people(self) -> int:
        """The annotators of the picture."""
        return max(row.design.n_people for row in self.rows)

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
        raise ReportError(
            f"Nothing is assumed of this figure: {plan_words(asked.kind).figures[asked.figure]}."
        )
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
    return PlanPage(asked, tuple(marked), _picture(marked, asked))


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
        raise ReportError("The pilot has no two labels of one item yet. Enter guesses instead.")
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


# --- the picture ---------------------------------------------------------------------------------------------------


def _picture(rows: Sequence[PlannedRow], asked: PlanAsked) -> PlanPicture | None:
    """Power, or half width, against cost (against items where nothing costs anything), of the most annotators."""
    people = max(row.design.n_people for row in rows)
    found = {
        labels: [
            (row, reached(asked, row.interval, row.power))
            for row in sorted(rows, key=lambda row: row.design.n_items)
            if row.design.labels_per_item == labels and row.design.n_people == people
        ]
        for labels in asked.labels
    }
    known = [(row, y) for each in found.values() for row, y in each if not math.isnan(y)]
    if len(known) < 2:
        return None
    by_cost = any(row.cost > 0 for row, _ in known)

    def x_value(row: PlannedRow) -> float:
        return row.cost if by_cost else float(row.design.n_items)

    ticks = _round_ticks(max(x_value(row) for row, _ in known))
    most_x = ticks[-1]
    most_y = 1.0 if asked.asks_power else _round_up(max(max(y for _, y in known), asked.target))

    def x_of(value: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * value / most_x

    def y_of(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * min(1.0, value / most_y)

    curves = []
    for place, (labels, each) in enumerate(found.items()):
        points = [(x_of(x_value(row)), y_of(y), row, y) for row, y in each if not math.isnan(y)]
        if not points:
            continue
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in points) if len(points) > 1 else ""
        marks = tuple(
            PlanMark(f"{x:.1f}", f"{y:.1f}", f"{design_words(row.design)}: {_text(value, asked)}")
            for x, y, row, value in points
        )
        last = points[-1]
        curves.append(
            PlanCurve(
                SHAPES[place % len(SHAPES)],
                path,
                marks,
                PlanMark(f"{last[0] + 8:.1f}", f"{last[1]:.1f}", f"{labels} labels"),
            )
        )
    steps = [k / 4 for k in range(5)]
    unit = asked.currency if by_cost else ""
    return PlanPicture(
        tuple(curves),
        tuple(PlanMark(f"{x_of(tick):.1f}", "", f"{unit}{_short(tick)}") for tick in ticks),
        tuple(PlanMark("", f"{y_of(most_y * k):.1f}", _text(most_y * k, asked)) for k in steps),
        f"M{_LEFT} {y_of(asked.target):.1f}H{_RIGHT}",
        "Power" if asked.asks_power else "Half width of the interval",
        "Cost" if by_cost else "Items",
    )


def design_words(design: StudyDesign) -> str:
    """A design in a line."""
    return f"{design.n_items:,} items, {design.labels_per_item} labels each, {design.n_people:,} annotators"


def _text(value: float, asked: PlanAsked) -> str:
    return f"{100 * value:.0f}%" if asked.asks_power else f"{100 * value:.1f}"


def _short(value: float) -> str:
    """A number of an axis."""
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    if value >= 1e4:
        return f"{value / 1e3:.3g}k"
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def _round_ticks(most: float) -> list[float]:
    """Ticks from 0 to beyond the largest value, at round distances.

    Examples
    --------
    >>> _round_ticks(4_013)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]
    """
    power: float = 10 ** math.floor(math.log10(most / 4))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= most / 5)
    return [step * k for k in range(math.ceil(most / step) + 1)]


def _round_up(value: float) -> float:
    """The next round number of hundredths for an axis."""
    return next(step for step in (0.02, 0.04, 0.08, 0.2, 0.4, 1.0) if value <= step or step == 1.0)

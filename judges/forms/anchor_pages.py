"""The page of a judge in time: its forms, its chart, and what it says."""

import math
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django import forms
from django.db.models import QuerySet

from annotation.models import Dataset
from judges.forms.sweeps import STATE_CHIPS
from judges.models import SweepState
from judges.selectors.anchors import AnchorCheck, InTime
from judges.selectors.new_labels import MARGIN, NewLabels
from judges.services.anchors import FEWEST, MOST
from web.numbers import estimate_interval, estimate_value, percent

LEFT, RIGHT, TOP, BOTTOM = 56.0, 616.0, 16.0, 256.0
MOST_TICKS = 12
MOST_SHOWN = 8.0
"""Powers of ten: evidence beyond that is drawn at the upper end."""
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class ScheduleForm(forms.Form):
    every_days = forms.IntegerField(
        label="Check every (days)",
        min_value=1,
        max_value=365,
        required=False,
        help_text="Workers start the checks. Empty: by hand only.",
    )
    budget = forms.DecimalField(
        label="Budget of a check (US$)",
        min_value=0,
        max_digits=10,
        decimal_places=2,
        required=False,
        help_text="A check pauses there.",
    )


class FreezeForm(ScheduleForm):
    dataset: Any = forms.ModelChoiceField(None, to_field_name="name", empty_label=None)
    n = forms.IntegerField(
        label="Items",
        min_value=FEWEST,
        max_value=MOST,
        initial=100,
        help_text="Drawn at random from each subset and verdict in proportion; more items show smaller drift.",
    )
    repeats = forms.IntegerField(
        label="Repetitions now",
        min_value=1,
        max_value=20,
        initial=3,
        help_text="How often the judge is asked again at once, to measure its own noise.",
    )
    tolerance = forms.DecimalField(
        label="Tolerated changes (%)",
        min_value=0,
        max_value=50,
        decimal_places=1,
        initial=0,
        help_text="Share of verdicts that may change without being called drift.",
    )
    field_order = ("dataset", "n", "repeats", "tolerance", "every_days", "budget")

    def __init__(self, data: Any = None, *, datasets: QuerySet[Dataset]) -> None:
        super().__init__(data)
        field: Any = self.fields["dataset"]
        field.queryset = datasets
        field.label_from_instance = attrgetter("title")


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A place on an axis, and what stands there."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """One check in the chart."""

    x: str
    y: str
    text: str


@dataclass(frozen=True, slots=True)
class EvidenceChart:
    """The e-value over the checks, on a logarithmic scale; `alarm` is the height of the alarm level."""

    line: str
    dots: tuple[Dot, ...]
    x_ticks: tuple[AxisMark, ...]
    y_ticks: tuple[AxisMark, ...]
    alarm: str


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check in the table."""

    check: AnchorCheck
    name: str
    changed: str
    evidence: str
    chip: str


def check_rows(found: InTime) -> list[CheckRow]:
    """The checks, the newest first."""
    return [
        CheckRow(
            check=check,
            name=f"Repetition {check.number}" if check.is_repetition else f"Check {check.number}",
            changed=_share(check),
            evidence="" if check.state is None else evidence_text(check.state.e_value),
            chip=STATE_CHIPS[SweepState(check.sweep.state)],
        )
        for check in reversed(found.checks)
    ]


def _share(check: AnchorCheck) -> str:
    if not check.n:
        return "–"
    figures = check.changed.as_dict()
    interval = estimate_interval(figures)
    return f"{estimate_value(figures)} {interval}".strip()


def evidence_text(value: float) -> str:
    """An e-value in a few digits.

    >>> evidence_text(0.0421), evidence_text(37.04), evidence_text(1234567.0), evidence_text(3.2e40)
    ('0.042', '37', 'over 1 million', 'over 1 million')
    """
    if value >= 1e6:
        return "over 1 million"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def verdict_words(found: InTime) -> str:
    """What the checks say of the judge, with its level."""
    judge = found.anchors.judge.name
    if found.noise is None:
        if found.is_active:
            return (
                "The repetitions that measure the judge's own noise are running. Checks can start afterwards."
            )
        return "The repetitions that measure the judge's own noise have not finished, so nothing can be compared yet."
    own = f"at most {percent(found.noise.bound)} of its verdicts on these anchors change by themselves (99% bound)"
    if found.reference > found.noise.bound:
        own = f"changes of up to {percent(found.reference)} of the verdicts are tolerated"
    if found.state is None:
        return f"Not checked yet. As the anchors were frozen, {own}."
    level = (
        f"e-value {evidence_text(found.state.e_value)}, highest {evidence_text(found.state.highest)}, alarm at "
        f"{evidence_text(found.alarm)}: at most 5% false alarms over all checks together"
    )
    if found.state.moved:
        when = f"probably since check {found.state.since}" if found.state.since else "since it was frozen"
        return (
            f"{judge} has drifted, {when}: more of its verdicts on these anchors changed than its own noise explains "
            f"({level}). What was measured before may not hold now: compare it with human labels again."
        )
    checks = "1 check" if found.state.n_looks == 1 else f"{found.state.n_looks} checks"
    return f"No drift of {judge} was found in {checks} ({level}). A small drift can still be hidden: {own}."


def new_labels_words(found: InTime, new: NewLabels | None) -> str:
    """What the labels since the anchors were frozen say, beside the anchors; nothing where there is nothing to say."""
    if new is None or not new.n_since:
        return ""
    if new.state is None:
        return (
            "No item was labeled before the anchors were frozen, so agreement on later ones has nothing to be "
            "compared with."
        )
    judge = found.anchors.judge.name
    figures = (
        f"{percent(new.before)} on {_instructions(new.n_before)} before, {percent(new.since)} on "
        f"{_instructions(new.n_since)} since"
    )
    level = (
        f"a change of more than {MARGIN * 100:.0f} points is looked for, with at most 5% false alarms over all checks "
        "together"
    )
    if new.moved == "systems":
        return (
            f"The systems, the items or the annotators changed, not the judge: the anchors stand still, but {judge} "
            f"agrees with people on newly labeled items otherwise than before ({figures}; {level})."
        )
    if new.moved == "both":
        return (
            f"Agreement with people on newly labeled items changed too ({figures}; {level}). As the judge has drifted, "
            "this doesn't show that the systems changed."
        )
    if new.moved == "open":
        return f"Agreement with people on newly labeled items counts from the next check on ({figures})."
    which = "What drifted is the judge: agreement" if new.moved == "judge" else "Agreement"
    return f"{which} with people on newly labeled items shows no change ({figures}; {level})."


def _instructions(n: int) -> str:
    return "1 instruction" if n == 1 else f"{n:,} instructions"


def _power(number: int) -> str:
    return str(10**number) if 0 <= number <= 3 else "10" + str(number).translate(SUPERSCRIPT)


def evidence_chart(found: InTime) -> EvidenceChart | None:
    """The chart of the checks that say something; None where there is none."""
    seen = [(check.number, check.state) for check in found.looks if check.state is not None]
    if not seen:
        return None
    logs = [min(math.log10(max(state.e_value, 1e-6)), MOST_SHOWN) for _, state in seen]
    low, high = min(-1.0, *map(math.floor, logs)), max(2.0, *map(math.ceil, logs))
    step = max(1, math.ceil((high - low) / 6))
    last = max(number for number, _ in seen)

    def x_of(number: float) -> float:
        return LEFT + (RIGHT - LEFT) * number / last

    def y_of(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (value - low) / (high - low)

    places = [
        (LEFT, y_of(0.0)),
        *((x_of(number), y_of(value)) for (number, _), value in zip(seen, logs, strict=True)),
    ]
    every = max(1, math.ceil(last / MOST_TICKS))
    return EvidenceChart(
        line="M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places),
        dots=tuple(
            Dot(f"{x:.1f}", f"{y:.1f}", f"Check {number}: e-value {evidence_text(state.e_value)}")
            for (x, y), (number, state) in zip(places[1:], seen, strict=True)
        ),
        x_ticks=tuple(
            AxisMark(f"{x_of(number):.1f}", str(number)) for number in range(every, last + 1, every)
        ),
        y_ticks=tuple(
            AxisMark(f"{y_of(power):.1f}", _power(power)) for power in range(int(low), int(high) + 1, step)
        ),
        alarm=f"{y_of(math.log10(found.alarm)):.1f}",
    )

"""The page of a judge in time: its forms, its table, and what it says."""

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


class ScheduleForm(forms.Form):
    every_days = forms.IntegerField(
        label="Check every (days)",
        min_value=1,
        max_value=365,
        required=False,
        help_text="Workers start the checks. If empty, only by hand.",
    )
    budget = forms.DecimalField(
        label="Budget of a check (US$)",
        min_value=0,
        max_digits=10,
        decimal_places=2,
        required=False,
        help_text="A check pauses at this amount.",
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
        help_text="How often the judge is asked again at once, to measure its noise.",
    )
    tolerance = forms.DecimalField(
        label="Tolerated changes (%)",
        min_value=0,
        max_value=50,
        decimal_places=1,
        initial=0,
        help_text="Share of verdicts that may change without counting as drift.",
    )
    field_order = ("dataset", "n", "repeats", "tolerance", "every_days", "budget")

    def __init__(self, data: Any = None, *, datasets: QuerySet[Dataset]) -> None:
        super().__init__(data)
        field: Any = self.fields["dataset"]
        field.queryset = datasets
        field.label_from_instance = attrgetter("title")


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
            return "The repetitions that measure the judge's noise are running. Checks can start afterwards."
        return (
            "The repetitions that measure the judge's noise haven't finished, so nothing can be compared yet."
        )
    own = f"at most {percent(found.noise.bound)} of its verdicts on these anchors change by noise alone (99% bound)"
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
            f"{judge} has drifted, {when}: more of its verdicts on these anchors changed than its noise explains "
            f"({level}). Earlier figures may no longer hold: compare it with human labels again."
        )
    checks = "1 check" if found.state.n_looks == 1 else f"{found.state.n_looks} checks"
    return f"No drift of {judge} was found in {checks} ({level}). A small drift can still be hidden: {own}."


def new_labels_words(found: InTime, new: NewLabels | None) -> str:
    """What the labels since the anchors were frozen say, beside the anchors; nothing where there is nothing to say."""
    if new is None or not new.n_since:
        return ""
    if new.state is None:
        return "No item was labeled before the anchors were frozen, so there is no earlier agreement to compare with."
    judge = found.anchors.judge.name
    figures = (
        f"{percent(new.before)} on {_instructions(new.n_before)} before, {percent(new.since)} on "
        f"{_instructions(new.n_since)} since"
    )
    level = (
        f"a change of more than {MARGIN * 100:.0f} points can be detected, with at most 5% false alarms over all "
        "checks "
        "together"
    )
    if new.moved == "systems":
        return (
            "The systems, the items or the annotators changed, not the judge: verdicts on the anchors are stable, "
            f"but agreement of {judge} "
            f"with human annotators changed on newly labeled items ({figures}; {level})."
        )
    if new.moved == "both":
        return (
            f"Agreement with human annotators on newly labeled items changed too ({figures}; {level}). As the judge "
            "has drifted, "
            "this doesn't show that the systems changed."
        )
    if new.moved == "open":
        return f"Agreement with human annotators on newly labeled items counts from the next check on ({figures})."
    which = "The judge drifted, not the data: agreement" if new.moved == "judge" else "Agreement"
    return f"{which} with human annotators on newly labeled items shows no change ({figures}; {level})."


def _instructions(n: int) -> str:
    return "1 instruction" if n == 1 else f"{n:,} instructions"

"""The people of a study, a row each: how they work and how far they are to be trusted.

The arithmetic is in `selectors.annotator_figures`; here are the rows, and what stands out of them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Max

from annotation.domain.pseudonyms import pseudonym
from annotation.domain.scales import Scale
from annotation.kinds import kind_of
from annotation.models import (
    Assignment,
    Enrollment,
    Intervention,
    Label,
    Stage,
    Study,
    WorkRole,
)
from annotation.selectors.agreement import LabelStamp, agreement_so_far, label_stamp, seconds_of
from annotation.selectors.annotator_figures import (
    FEW,
    AnnotatorAnswer,
    Figures,
    StudyFigures,
    figures_compute,
)
from annotation.selectors.costly import counted_once, is_counted, study_key
from annotation.selectors.datasets import aspect_keys
from metaeval.figures import FIGURES, Figure
from metaeval.stats import Estimate

VERSION = 4  # of the cached figures

FAST_FLAG = 0.2
PASTED_FLAG = 40  # characters
CHECKS_FLAG = 0.5  # where the study has no line of its own


@dataclass(frozen=True, slots=True)
class Flag:
    key: str
    words: str
    why: str


FLAGS = {
    "fast": "fast",
    "run": "same answer",
    "disagrees": "disagrees",
    "checks": "fails checks",
    "pasted": "pasted text",
}


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A person of a study, for the table and for their own page."""

    enrollment: Enrollment
    figures: Figures
    agreement: Estimate | None
    last_seen: datetime | None
    flags: tuple[Flag, ...] = field(default=())

    @property
    def short_id(self) -> str:
        return self.enrollment.short_pseudonym

    @property
    def pseudonym(self) -> str:
        return self.enrollment.pseudonym


@dataclass(frozen=True, slots=True)
class StudyPeople:
    rows: tuple[PersonRow, ...]
    everybody: Figures
    agreement: float | None  # mean over everybody's labels
    figure: Figure | None  # what the agreement of each is


def people_stamp(study: Study, labels: LabelStamp) -> str:
    """Changes whenever the table might: labels, stages, suspensions, anything done, the study opened or closed.

    Two queries.
    """
    stages = (
        Enrollment.objects.filter(study=study)
        .order_by("stage")
        .values_list("stage")
        .annotate(n=Count("pk"), held=Count("suspended_at"))
    )
    latest = _latest_intervention(study)
    people = "-".join(f"{stage}{n}.{held}" for stage, n, held in stages)
    return f"{study.state}.{labels}.{latest}.{people}"


def _latest_intervention(study: Study) -> int:
    found = Intervention.objects.filter(enrollment__study=study).aggregate(latest=Max("pk"))
    return found["latest"] or 0


def annotators_of(study: Study, stamp: LabelStamp | None = None) -> StudyPeople:
    """Everybody of a study, most labels first.

    Five queries where the figures are known, whatever the number of people; reading the labels for them comes on
    top when there is anything new.
    """
    stamp = stamp or label_stamp(study)
    key = _key(study, _latest_intervention(study))
    figures, agreements, scales = counted_once(
        key, stamp, lambda: _figures(study, stamp), may_lag=stamp.is_of_many
    )
    figure = FIGURES[study.kind].on(scales).of_one_person if study.kind in FIGURES else None
    mean = _mean_of(agreements.values())
    seen = _last_seen(study)
    rows = []
    for enrollment in Enrollment.objects.filter(study=study).select_related("annotator"):
        enrollment.study = study
        own = figures.people.get(enrollment.annotator_id, Figures())
        agreement_row = agreements.get(enrollment.annotator_id)
        flags = flags_of(study, own, agreement_row, mean)
        rows.append(PersonRow(enrollment, own, agreement_row, seen.get(enrollment.pk), flags))
    rows.sort(key=lambda row: (-row.figures.labels, row.short_id))
    return StudyPeople(tuple(rows), figures.everybody, mean, figure)


def are_annotators_counted(study: Study, stamp: LabelStamp) -> bool:
    """Whether `annotators_of` would answer at once: its figures are known, or there are few labels."""
    if not stamp.is_of_many:
        return True
    return is_counted(_key(study, _latest_intervention(study)), stamp, may_lag=True)


def _key(study: Study, intervention: int) -> str:
    return f"{study_key(study, 'annotators')}:{VERSION}:{intervention}"


def _figures(study: Study, stamp: LabelStamp) -> tuple[StudyFigures, dict[int, Estimate], tuple[Scale, ...]]:
    so_far = agreement_so_far(study, stamp)
    agreement = {row.annotator: row.agreement for row in so_far.by_annotator}
    return figures_compute(study.kind, answers_of(study)), agreement, so_far.scales


def _last_seen(study: Study) -> dict[int, datetime]:
    """When each person was last given something or answered something."""
    rows = (
        Assignment.objects.filter(enrollment__study=study)
        .order_by()
        .values_list("enrollment")
        .annotate(given=Max("leased_at"), answered=Max("submitted_at"))
    )
    return {pk: max(given, answered) if answered else given for pk, given, answered in rows}


def _mean_of(estimates: Iterable[Estimate]) -> float | None:
    """The mean over all labels of all people."""
    known = [estimate for estimate in estimates if estimate.defined]
    total = sum(estimate.n for estimate in known)
    return sum(estimate.value * estimate.n for estimate in known) / total if total else None


def answers_of(study: Study) -> list[AnnotatorAnswer]:
    """The answers that no later one of the same person supersedes, in the order of time. One query, or two."""
    kind, aspects = kind_of(study.kind), _aspect_keys(study)
    rows = (
        Label.objects.standing()
        .filter(study=study)
        .order_by("pk")
        .values_list(
            "annotator_id",
            "item_id",
            "role",
            kind.column,
            "shown_order",
            "item__instruction_id" if aspects else "pk",
            "active_ms",
            "supersedes_id",
            "pasted_chars",
            "is_surplus",
            "is_set_aside",
            "check_score",
        )
    )
    answers = []
    row: tuple[Any, ...]
    for row in rows.iterator(chunk_size=5_000):
        annotator, item, role, stored, order, instruction, ms, earlier, pasted, surplus, aside, score = row
        value = kind.of_column(stored)
        seconds = seconds_of(ms, earlier)
        counts = role == WorkRole.WORK and not surplus and not aside
        seen = kind.as_shown(value, order, aspects.get(instruction, [])) if order else None
        answers.append(
            AnnotatorAnswer(
                annotator, item, role, value, seen, seconds, pasted, counts, surplus, aside, score
            )
        )
    return answers


def _aspect_keys(study: Study) -> dict[int, list[str]]:
    """The keys of the aspects of each instruction, where people see them in an order of their own."""
    if kind_of(study.kind).ordered != "aspects":
        return {}
    # Hidden checks may come from another dataset.
    return aspect_keys([pk for pk in (study.dataset_id, study.check_dataset_id) if pk is not None])


def flags_of(
    study: Study, figures: Figures, agreement: Estimate | None, mean: float | None
) -> tuple[Flag, ...]:
    """What stands out of a person's figures: reasons to look, not verdicts."""
    found = {
        "fast": (
            figures.timed >= FEW and figures.fast is not None and figures.fast >= FAST_FLAG,
            "many answers much faster than usual for the item",
        ),
        "run": (figures.run_is_long, f"{figures.run} times the same answer in a row"),
        "disagrees": (
            agreement is not None
            and agreement.defined
            and mean is not None
            and agreement.n >= FEW
            and agreement.high < mean,
            "agrees with the others less than annotators of this study usually do",
        ),
        "checks": (_fails_checks(study, figures), "too many hidden checks wrong"),
        "pasted": (figures.pasted >= PASTED_FLAG, f"{figures.pasted} characters pasted into comments"),
    }
    return tuple(Flag(key, FLAGS[key], why) for key, (holds, why) in found.items() if holds)


def _fails_checks(study: Study, figures: Figures) -> bool:
    lines = [line for line in (study.check_warn_below, study.check_suspend_below) if line is not None]
    line = max(lines, default=CHECKS_FLAG)
    checks = figures.checks
    return checks is not None and checks.n >= min(study.check_minimum, FEW) and checks.value < line


def enrollment_by_pseudonym(study: Study, public_id: str) -> Enrollment:
    """A person of this study (fetched for the user) by their pseudonym, or `Enrollment.DoesNotExist`."""
    people = Enrollment.objects.filter(study=study).values_list("pk", "annotator__public_id")
    pk = next((pk for pk, one in people if str(pseudonym(one, study=study.pk)) == public_id), 0)
    found = Enrollment.objects.select_related("annotator").get(pk=pk)
    found.study = study
    return found


def interventions_of(enrollment: Enrollment) -> list[Intervention]:
    """What was done about a person, latest first."""
    return list(enrollment.interventions.select_related("by").order_by("-created_at", "-pk"))


LATEST = 30


@dataclass(frozen=True, slots=True)
class LatestAnswer:
    """An answer of a person with its times in seconds."""

    label: Label
    active: float | None
    wall: float | None


def answers_latest(enrollment: Enrollment) -> list[LatestAnswer]:
    """The person's latest answers with their items."""
    labels = Label.objects.standing().filter(
        study_id=enrollment.study_id, annotator_id=enrollment.annotator_id
    )
    return [
        LatestAnswer(label, _seconds(label.active_ms), _seconds(label.wall_ms))
        for label in labels.select_related("item").order_by("-pk")[:LATEST]
    ]


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def people_filtered(rows: Sequence[PersonRow], show: str) -> list[PersonRow]:
    """The rows of a filter: flagged, working, suspended, done; everybody for any other word."""
    tests: dict[str, Callable[[PersonRow], bool]] = {
        "flagged": lambda row: bool(row.flags),
        "working": lambda row: row.enrollment.stage == Stage.WORK and row.enrollment.suspended_at is None,
        "suspended": lambda row: row.enrollment.suspended_at is not None,
        "done": lambda row: row.enrollment.stage == Stage.DONE,
    }
    return [row for row in rows if show not in tests or tests[show](row)]

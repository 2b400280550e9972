"""Labels: written once, corrected by a further one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from django.db import transaction
from django.utils import timezone

from annotation.compiled import CompiledInsert, CompiledUpdate, Parameter, Write, run_together
from annotation.domain.errors import StageError, SuspendedError
from annotation.domain.scales import Scales
from annotation.domain.signals import Signals
from annotation.kinds import kind_of, to_canonical, validate_value
from annotation.kinds.evidence import Mark, Marked, marks_checked, marks_stored
from annotation.models import (
    AnswerSignals,
    Assignment,
    AssignmentState,
    Enrollment,
    EvidenceRule,
    Item,
    Label,
    QualificationRule,
    Stage,
    Study,
    WorkRole,
)
from annotation.selectors.shown import evidence_reasons, texts_markable, value_rules
from annotation.selectors.work import own_label
from annotation.services.claims import open_check

LABEL = CompiledInsert(Label)
SIGNALS = CompiledInsert(AnswerSignals)
ANSWERED = CompiledUpdate(
    lambda: (
        Assignment.objects.filter(
            pk=Parameter.of(Assignment, "id"),
            enrollment=Parameter.of(Enrollment, "id", "enrollment"),
            state=Parameter.of(Assignment, "state", "was"),
        ),
        {
            "state": AssignmentState.SUBMITTED,
            "submitted_at": Parameter.of(Assignment, "submitted_at"),
            "draft": None,
        },
    )
)


def label_write(
    *,
    assignment: Assignment,
    value: Mapping[str, Any],
    is_surplus: bool = False,
    is_set_aside: bool = False,
    supersedes: Label | None = None,
    evidence: Sequence[Marked] | None = None,
    comment: str = "",
    pasted_chars: int = 0,
    active_ms: int | None = None,
    wall_ms: int | None = None,
) -> Write:
    """The statement that inserts a label with all that is needed to read it later, of a hidden check also how right it
    is. `value` and `evidence` are canonical and validated.

    The assignment has its study item, item, enrollment and study fetched. The caller holds its lock, or finds out
    beside the insert that nobody has answered it meanwhile.
    """
    study, place = assignment.enrollment.study, assignment.study_item
    gold = place.item.gold if assignment.role == WorkRole.CHECK else None
    # Fetched for work too: the time that a label takes must not tell whether it is one of a check.
    rules = study.test_study if study.check_rate or gold else study
    return LABEL.write(
        item_id=place.item_id,
        annotator_id=assignment.enrollment.annotator_id,
        study=study,
        assignment=assignment,
        supersedes=supersedes,
        role=assignment.role,
        kind=study.kind,
        value=value,
        choice=kind_of(study.kind).choice(value),
        shown_order=assignment.shown_order,
        is_surplus=is_surplus,
        is_set_aside=is_set_aside,
        evidence=evidence,
        comment=comment,
        pasted_chars=pasted_chars,
        check_score=None
        if gold is None
        else _check_score(rules, study.kind, value, gold, value_rules(study, place.item).scales),
        guidelines_version=study.guidelines_version,
        probability=place.probability,
        active_ms=active_ms,
        wall_ms=wall_ms,
    )


def answer_writes(
    *, assignment: Assignment, submitted_at: datetime, signals: Signals | None, **label: Any
) -> list[Write]:
    """The statements of an answer: the assignment is answered, its label inserted (`label_write`), and the signals if
    there are any, in this order. The first changes no row where the assignment isn't any more as it was read.
    """
    answered = ANSWERED.write(
        id=assignment.pk,
        enrollment=assignment.enrollment_id,
        was=assignment.state,
        submitted_at=submitted_at,
    )
    beside = [] if signals is None else [SIGNALS.write(assignment=assignment, **asdict(signals))]
    return [answered, label_write(assignment=assignment, **label), *beside]


def evidence_checked(
    study: Study, item: Item, shown_marks: Sequence[Mark], order: Sequence[int]
) -> list[Marked] | None:
    """Marks of a page, in canonical order and as they are stored; None where the study doesn't ask for any.

    Raises `LabelValueError` for a mark that doesn't fit the item.
    """
    if study.evidence == EvidenceRule.OFF:
        return None
    canonical = marks_stored(shown_marks, order if study.kind_info.ordered == "responses" else None)
    return marks_checked(canonical, texts_markable(study, item), evidence_reasons(study, item))


def _check_score(
    rules: Study, kind: str, value: Mapping[str, Any], gold: Mapping[str, Any], scales: Scales
) -> float | None:
    """By the rule of the study's test: who qualifies within a distance of gold is held to no more than that."""
    tolerant = rules.qualification_rule == QualificationRule.TOLERANT
    tolerance = rules.qualification_tolerance if tolerant else 0.0
    return kind_of(kind).score(value, gold, tolerance=tolerance, scales=scales)


def label_change(
    *,
    assignment: Assignment,
    shown_value: Mapping[str, Any],
    shown_marks: Sequence[Mark] = (),
    comment: str = "",
    pasted_chars: int = 0,
    active_ms: int | None = None,
    wall_ms: int | None = None,
    now: datetime | None = None,
) -> Label:
    """Supersede the answer to an assignment. Saying the same again changes nothing; whether the answer counts stays.

    Raises `StudyNotOpenError` when the study is not open (any more), `SuspendedError` for who is suspended,
    `StageError` when there is no answer to change or the study does not let people change theirs, and
    `LabelValueError` when the value does not fit.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = (
            Assignment.objects.select_for_update(of=("self",), no_key=True)
            .select_related("enrollment__study", "study_item__item__dataset")
            .get(pk=assignment.pk, enrollment_id=assignment.enrollment_id)
        )
        study, person = locked.enrollment.study, locked.enrollment
        _change_check(study, person, now)
        standing = own_label(locked)
        if locked.state != AssignmentState.SUBMITTED or standing is None:
            raise StageError(person.stage)
        checked = validate_value(shown_value, value_rules(study, locked.study_item.item))
        value = to_canonical(study.kind, checked, locked.shown_order)
        evidence = evidence_checked(study, locked.study_item.item, shown_marks, locked.shown_order)
        if (value, comment, evidence) == (standing.value, standing.comment, standing.evidence):
            return standing
        write = label_write(
            assignment=locked,
            value=value,
            is_surplus=standing.is_surplus,
            is_set_aside=standing.is_set_aside,
            supersedes=standing,
            evidence=evidence,
            comment=comment,
            pasted_chars=pasted_chars,
            active_ms=active_ms,
            wall_ms=wall_ms,
        )
        return cast("Label", run_together(write)[0])


def _change_check(study: Study, person: Enrollment, now: datetime) -> None:
    open_check(study, now)
    if person.suspended_at is not None:
        raise SuspendedError(person.suspended_because)
    if not study.allow_changes or person.stage == Stage.LEFT:
        raise StageError(person.stage)

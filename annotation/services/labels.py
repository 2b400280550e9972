"""Labels: written once, corrected by a further one."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from annotation.domain.errors import StageError, StudyNotOpenError
from annotation.domain.values import to_canonical, validate_value
from annotation.models import Assignment, AssignmentState, Kind, Label, StudyState
from annotation.selectors.shown import value_rules
from annotation.selectors.work import own_label


def label_record(
    *,
    assignment: Assignment,
    value: Mapping[str, Any],
    is_surplus: bool = False,
    supersedes: Label | None = None,
    active_ms: int | None = None,
    wall_ms: int | None = None,
) -> Label:
    """Insert a label with all that is needed to read it later. `value` is canonical and validated.

    The caller holds the lock of the assignment, with its study item, item, enrollment and study fetched.
    """
    study, place = assignment.enrollment.study, assignment.study_item
    return Label.objects.create(
        item_id=place.item_id,
        annotator_id=assignment.enrollment.annotator_id,
        study=study,
        assignment=assignment,
        supersedes=supersedes,
        kind=study.kind,
        value=value,
        choice=value["choice"] if study.kind == Kind.PAIRWISE else None,
        shown_order=assignment.shown_order,
        is_surplus=is_surplus,
        guidelines_version=study.guidelines_version,
        probability=place.probability,
        active_ms=active_ms,
        wall_ms=wall_ms,
    )


def label_change(
    *,
    assignment: Assignment,
    shown_value: Mapping[str, Any],
    active_ms: int | None = None,
    wall_ms: int | None = None,
) -> Label:
    """Supersede the answer to an assignment. Saying the same again changes nothing.

    Raises `StudyNotOpenError` when the study is not open, `StageError` when there is no answer to change, and
    `LabelValueError` when the value does not fit.
    """
    with transaction.atomic():
        locked = (
            Assignment.objects.select_for_update(of=("self",), no_key=True)
            .select_related("enrollment__study", "study_item__item")
            .get(pk=assignment.pk, enrollment_id=assignment.enrollment_id)
        )
        study = locked.enrollment.study
        if study.state != StudyState.OPEN:
            raise StudyNotOpenError(study.state)
        standing = own_label(locked)
        if locked.state != AssignmentState.SUBMITTED or standing is None:
            raise StageError(locked.enrollment.stage)
        checked = validate_value(shown_value, value_rules(study, locked.study_item.item))
        value = to_canonical(study.kind, checked, locked.shown_order)
        if value == standing.value:
            return standing
        return label_record(
            assignment=locked,
            value=value,
            is_surplus=standing.is_surplus,
            supersedes=standing,
            active_ms=active_ms,
            wall_ms=wall_ms,
        )

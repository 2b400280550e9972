"""Labels of annotators who do not exist, marked as such: for the demo and for trying a study out."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from secrets import token_urlsafe

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.domain.presentation import shown_order
from annotation.domain.simulation import SimulatedAnnotator, plan_labels
from annotation.kinds import ValueRules, kind_of
from annotation.kinds.values import NO_SCALES
from annotation.models import (
    Annotator,
    Assignment,
    AssignmentState,
    Enrollment,
    Item,
    ItemRole,
    Label,
    Stage,
    Study,
    StudyItem,
)
from annotation.selectors.datasets import scales_of
from annotation.selectors.shown import parts_count


class NotSimulatedStudyError(Exception):
    """Simulated labels are written into studies that are marked as simulated, and into no others."""


@transaction.atomic
def labels_simulate(
    *, study: Study, people: Sequence[SimulatedAnnotator], labels_per_item: int, open_items: int, seed: int
) -> int:
    """Let simulated annotators label a study once; a second call does nothing.

    What they see of an item is in its `metadata`: see `annotation.kinds.ItemKind.draw`.

    Returns
    -------
    How many labels were written.

    Raises
    ------
    NotSimulatedStudyError
        The study is not marked as simulated.
    """
    if not study.is_simulated:
        raise NotSimulatedStudyError(f"{study.slug} is a study with real annotators")
    Study.objects.select_for_update().get(pk=study.pk)
    if Label.objects.filter(study=study).exists():
        return 0
    enrollments = [_enroll(study, person) for person in people]
    work = study.study_items.filter(role=ItemRole.WORK)
    study_items = list(work.select_related("item__instruction").order_by("position"))
    lengths = _lengths(study)
    has_criteria = kind_of(study.kind).parts == "criteria"
    scales = scales_of(study.dataset_id) if has_criteria else NO_SCALES
    rules = ValueRules(
        study.kind,
        strengths=study.strengths,
        scales=scales,
        response_sets=study.response_sets,
        dimensions=tuple(each.key for each in study.dimensions_asked if not each.overall),
    )
    plan = plan_labels(
        [row.item.instruction.category for row in study_items],
        len(people),
        labels_per_item=min(labels_per_item, study.overlap),
        open_items=open_items,
        seed=seed,
    )
    labels = [
        _label(study, row, enrollments[index], people[index], lengths.get(row.item_id, []), rules)
        for row, indices in zip(study_items, plan, strict=True)
        for index in indices
    ]
    Assignment.objects.bulk_create([label.assignment for label in labels if label.assignment])
    Label.objects.bulk_create(labels)
    for row, indices in zip(study_items, plan, strict=True):
        row.n_accepted = F("n_accepted") + len(indices)
    StudyItem.objects.bulk_update(study_items, ["n_accepted"])
    for index, enrollment in enumerate(enrollments):
        enrollment.n_accepted = sum(index in indices for indices in plan)
    Enrollment.objects.bulk_update(enrollments, ["n_accepted"])
    return len(labels)


def _enroll(study: Study, person: SimulatedAnnotator) -> Enrollment:
    annotator, _created = Annotator.objects.get_or_create(
        source="simulated", external_id=f"{study.slug}/{person.name}", defaults={"is_simulated": True}
    )
    return Enrollment.objects.create(
        study=study,
        annotator=annotator,
        stage=Stage.DONE,
        resume_token=token_urlsafe(24),
        qualification_score=study.qualification_size or None,
        finished_at=timezone.now(),
    )


def _lengths(study: Study) -> Mapping[int, list[int]]:
    rows = (
        Item.objects.filter(study_items__study=study, item_responses__isnull=False)
        .order_by("pk", "item_responses__position")
        .values_list("pk", "item_responses__response__text")
    )
    lengths: dict[int, list[int]] = {}
    for item_id, text in rows:
        lengths.setdefault(item_id, []).append(len(text))
    return lengths


def _label(
    study: Study,
    study_item: StudyItem,
    enrollment: Enrollment,
    person: SimulatedAnnotator,
    lengths: Sequence[int],
    rules: ValueRules,
) -> Label:
    item = study_item.item
    kind = kind_of(study.kind)
    value, seconds = kind.draw(
        person,
        item=item.external_id,
        metadata=item.metadata,
        lengths=lengths,
        rules=rules,
    )
    now = timezone.now()
    order = shown_order(enrollment.annotator.public_id, item.pk, parts_count(study, item.pk))
    assignment = Assignment(
        study_item=study_item,
        enrollment=enrollment,
        state=AssignmentState.SUBMITTED,
        shown_order=order,
        leased_at=now - timedelta(seconds=seconds),
        expires_at=now,
        submitted_at=now,
    )
    return Label(
        item=item,
        annotator=enrollment.annotator,
        study=study,
        assignment=assignment,
        kind=study.kind,
        value=value,
        choice=kind.choice(value),
        shown_order=order,
        source="simulated",
        guidelines_version=study.guidelines_version,
        probability=study_item.probability,
        active_ms=round(seconds * 1000),
        wall_ms=round(seconds * 1000),
    )

"""Datasets, studies and labels of every kind, made directly."""

from itertools import count
from typing import Any

from annotation.kinds import kind_of
from annotation.models import (
    Annotator,
    Aspect,
    Assignment,
    AssignmentState,
    Criterion,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Kind,
    Label,
    Response,
    Study,
    StudyItem,
)
from tests.annotation.cast import label_make
from tests.annotation.factories import dataset_make, enrollment_make, study_make

_numbers = count(1)
CRITERIA = ("helpful", "clear")
ASPECTS = ("format", "length", "tone")
RESPONSES = {
    Kind.RUBRIC: 1,
    Kind.CHECKLIST: 1,
    Kind.IMPORTANCE: 0,
    Kind.ANSWER_RANKING: 3,
    Kind.CLASSIFICATION: 1,
}
VALUES: dict[str, dict[str, Any]] = {
    Kind.PAIRWISE: {"choice": 1},
    Kind.RUBRIC: {"ratings": {"helpful": 4, "clear": 5}},
    Kind.CHECKLIST: {"answers": {"format": True, "length": False, "tone": None}},
    Kind.IMPORTANCE: {"ranks": {"format": 1, "length": 2, "tone": 3}},
    Kind.ANSWER_RANKING: {"ranks": {"0": 1, "1": 2, "2": 3}},
    Kind.CLASSIFICATION: {"categories": {"format": True, "length": False, "tone": False}},
}


def kind_dataset_make(kind: str, *, items: int = 3, gold: Any = None, **fields: Any) -> Dataset:
    """A dataset of ``items`` items of a kind, each with an instruction of its own."""
    if kind == Kind.PAIRWISE:
        return dataset_make(pairs=items, **fields)
    name = f"{kind.replace('_', '-')}-{next(_numbers)}"
    dataset = Dataset.objects.create(**({"name": name, "title": name} | fields))
    if kind == Kind.RUBRIC:
        Criterion.objects.bulk_create(
            Criterion(
                dataset=dataset,
                key=key,
                question=f"How {key} is it?",
                options={str(k): f"{key} {k}" for k in range(1, 6)},
                position=place,
            )
            for place, key in enumerate(CRITERIA)
        )
    for k in range(items):
        instruction = Instruction.objects.create(
            dataset=dataset,
            external_id=f"i{k}",
            text=f"Write text {k}.",
            category="Rewrite" if k % 2 else "Brainstorm",
        )
        if kind_of(kind).parts == "aspects":
            Aspect.objects.bulk_create(
                Aspect(instruction=instruction, key=key, text=f"The {key} is right.", position=place)
                for place, key in enumerate(ASPECTS)
            )
        item = Item.objects.create(
            dataset=dataset, instruction=instruction, external_id=f"x{k}", kind=kind, position=k, gold=gold
        )
        for position in range(RESPONSES[Kind(kind)]):
            response = Response.objects.create(
                instruction=instruction,
                external_id=f"x{k}-{position}",
                system=f"secret-system-{position}",
                text=f"Answer {position} to text {k}.",
            )
            ItemResponse.objects.create(item=item, response=response, position=position)
    return dataset


def kind_study_make(kind: str, *, items: int = 3, gold: Any = None, **fields: Any) -> Study:
    """An open study of a kind, without a test."""
    return study_make(dataset=kind_dataset_make(kind, items=items, gold=gold), kind=kind, **fields)


def kind_label_make(
    study: Study, item: Item, value: dict[str, Any], *, annotator: Annotator | None = None, **fields: Any
) -> Label:
    """A label of any kind through an assignment, with the counters of its place and its person."""
    if study.kind == Kind.PAIRWISE:
        return label_make(
            study=study, item=item, choice=value["choice"], value=value, annotator=annotator, **fields
        )

    people = {"annotator": annotator} if annotator else {}
    enrollment = study.enrollments.filter(**people).first() if annotator else None
    enrollment = enrollment or enrollment_make(study=study, **people)
    place = StudyItem.objects.get(study=study, item=item)
    order = list(range(RESPONSES[Kind(study.kind)])) or list(range(len(ASPECTS)))
    assignment = Assignment.objects.create(
        study_item=place,
        enrollment=enrollment,
        state=AssignmentState.SUBMITTED,
        shown_order=order,
        leased_at=study.created_at,
        expires_at=study.created_at,
        submitted_at=study.created_at,
    )
    rules: dict[str, Any] = {
        "guidelines_version": 1,
        "active_ms": 20_000,
        "wall_ms": 60_000,
        "shown_order": order,
    }
    label = Label.objects.create(
        item=item,
        annotator=enrollment.annotator,
        study=study,
        assignment=assignment,
        kind=study.kind,
        value=value,
        **(rules | fields),
    )
    place.n_accepted += 1
    place.save()
    enrollment.n_accepted += 1
    enrollment.save()
    return label

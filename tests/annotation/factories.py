"""The props of the tests: users, a dataset of pairs, a study with its items and test, annotators.

Rows are made directly, without the services, so that a test of one service does not lean on another.
"""

import secrets
from itertools import count
from typing import Any

from annotation.models import (
    Annotator,
    Dataset,
    Enrollment,
    Instruction,
    Invitation,
    Item,
    ItemResponse,
    QualificationQuestion,
    Response,
    Role,
    Stage,
    Study,
    StudyItem,
    StudyState,
    User,
)

PASSWORD = "correct horse battery staple"
_numbers = count(1)


def user_make(*, username: str | None = None, role: str = Role.RESEARCHER, **fields: Any) -> User:
    return User.objects.create_user(
        username=username or f"{role}-{next(_numbers)}",
        password=PASSWORD,
        role=role,
        **fields,
    )


def dataset_make(
    *, pairs: int = 4, gold: bool = True, name: str | None = None, per_instruction: int = 1, **fields: Any
) -> Dataset:
    """A dataset of pairs. With `gold`, item k prefers response 1 when k is even, else response 2."""
    name = name or f"dataset-{next(_numbers)}"
    dataset = Dataset.objects.create(name=name, title=name.title(), **fields)
    instructions = Instruction.objects.bulk_create(
        Instruction(
            dataset=dataset,
            external_id=f"i{k}",
            text=f"Write sentence number {k}.",
            category="Rewrite" if k % 2 else "Brainstorm",
        )
        for k in range(-(-pairs // per_instruction))
    )
    items = Item.objects.bulk_create(
        Item(
            dataset=dataset,
            instruction=instructions[k // per_instruction],
            external_id=f"p{k}",
            kind="pairwise",
            position=k,
            gold={"choice": k % 2 + 1} if gold else None,
        )
        for k in range(pairs)
    )
    responses = Response.objects.bulk_create(
        Response(
            instruction=item.instruction,
            external_id=f"{item.external_id}-{side}",
            system=f"secret-system-{side}",
            text=f"Response {side} to pair {item.position}.",
        )
        for item in items
        for side in (0, 1)
    )
    ItemResponse.objects.bulk_create(
        ItemResponse(item=items[k // 2], response=response, position=k % 2)
        for k, response in enumerate(responses)
    )
    return dataset


def study_make(
    *,
    dataset: Dataset | None = None,
    pairs: int = 4,
    qualification: int = 0,
    passing: int | None = None,
    **fields: Any,
) -> Study:
    """An open study of `pairs` items; `qualification` more items of the dataset, its first, are the test."""
    dataset = dataset or dataset_make(pairs=pairs + qualification)
    rules: dict[str, Any] = {
        "slug": f"study-{next(_numbers)}",
        "title": "Which is better?",
        "state": StudyState.OPEN,
        "consent": "You agree to have your answers stored.",
        "guidelines": "Prefer the answer that **follows** the instruction.",
        "overlap": 2,
        "qualification_size": qualification,
        "qualification_pass": qualification if passing is None else passing,
    }
    rules |= fields
    if rules["state"] != StudyState.DRAFT:
        rules = {"dataset_version": dataset.version} | rules
    study = Study.objects.create(dataset=dataset, **rules)
    items = list(dataset.items.current().order_by("position"))
    QualificationQuestion.objects.bulk_create(
        QualificationQuestion(study=study, item=item, position=k)
        for k, item in enumerate(items[:qualification])
    )
    StudyItem.objects.bulk_create(
        StudyItem(study=study, item=item, position=k, overlap=study.overlap)
        for k, item in enumerate(items[qualification:])
    )
    return study


def invitation_make(*, study: Study, **fields: Any) -> Invitation:
    return Invitation.objects.create(study=study, token=secrets.token_urlsafe(12), **fields)


def annotator_make(**fields: Any) -> Annotator:
    return Annotator.objects.create(**({"source": "test", "external_id": f"a{next(_numbers)}"} | fields))


def enrollment_make(*, study: Study, stage: str = Stage.WORK, **fields: Any) -> Enrollment:
    return Enrollment.objects.create(
        study=study,
        stage=stage,
        resume_token=secrets.token_urlsafe(12),
        **({"annotator": fields.pop("annotator", None) or annotator_make()} | fields),
    )

"""The fixed cast of the researcher's tests, and labels for them to look at."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Annotator,
    Assignment,
    AssignmentState,
    Dataset,
    Enrollment,
    Item,
    Label,
    Role,
    Stage,
    Study,
    StudyItem,
    User,
)
from tests.annotation.factories import enrollment_make, user_make


@dataclass
class Cast:
    """Alice owns the study, Bob is another researcher, Ann administers, Carl may only annotate."""

    alice: User
    bob: User
    ann: User
    carl: User

    @classmethod
    def make(cls) -> "Cast":
        return cls(
            alice=user_make(username="alice"),
            bob=user_make(username="bob"),
            ann=user_make(username="ann", role=Role.ADMINISTRATOR),
            carl=user_make(username="carl", role=Role.ANNOTATOR),
        )


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def label_make(
    *, study: Study, item: Item, choice: int, annotator: Annotator | None = None, **fields: Any
) -> Label:
    """A label through an assignment, with the counters of its place and its person."""
    enrollment = Enrollment.objects.filter(study=study, annotator=annotator).first() or enrollment_make(
        study=study, stage=Stage.WORK, **({"annotator": annotator} if annotator else {})
    )
    place = StudyItem.objects.get(study=study, item=item)
    now = timezone.now()
    assignment = Assignment.objects.create(
        study_item=place,
        enrollment=enrollment,
        state=AssignmentState.SUBMITTED,
        shown_order=fields.get("shown_order", [0, 1]),
        leased_at=now - timedelta(minutes=1),
        expires_at=now,
        submitted_at=now,
    )
    rules: dict[str, Any] = {
        "shown_order": [0, 1],
        "guidelines_version": study.guidelines_version,
        "active_ms": 20_000,
        "wall_ms": 60_000,
        "value": {"choice": choice},
    }
    label = Label.objects.create(
        item=item,
        annotator=enrollment.annotator,
        study=study,
        assignment=assignment,
        kind="pairwise",
        choice=choice,
        **(rules | fields),
    )
    place.n_accepted += 1
    place.save()
    enrollment.n_accepted += 1
    enrollment.save()
    return label


def labels_make(study: Study, table: list[list[int | None]]) -> list[Annotator]:
    """Labels from a table of items (in the order of the source) by annotators; None is no label."""
    people = [enrollment_make(study=study).annotator for _ in table[0]]
    items = [place.item for place in study.study_items.select_related("item").order_by("position")]
    for item, choices in zip(items, table, strict=False):
        for annotator, choice in zip(people, choices, strict=True):
            if choice is not None:
                label_make(study=study, item=item, choice=choice, annotator=annotator)
    return people


def url(name: str, *args: object) -> str:
    return reverse(f"annotation:{name}", args=args)


def text_of(response: HttpResponse) -> str:
    """The words of a page, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode().replace("<wbr>", "")))


def study_fields(dataset: Dataset, **changed: Any) -> dict[str, Any]:
    """What a researcher types into the form of a study."""
    return {
        "nonce": "a1b2c3",
        "title": "Which is better?",
        "dataset": dataset.pk,
        "question": "Which answer is better?",
        "guidelines": "Prefer the **better** one.",
        "consent": "You agree.",
        "overlap": 3,
        "tie_policy": "tie",
        "items_per_annotator": "",
        "lease_minutes": 30,
        "qualification_size": 2,
        "qualification_pass": 2,
        "pay_per_item": "0.12",
        "pay_currency": "EUR",
        "completion_code": "",
    } | changed

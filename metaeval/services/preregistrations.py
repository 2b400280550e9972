"""Freeze a plan."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from annotation.models import Dataset, User
from annotation.selectors.overview import labels_visible_to
from metaeval.models import Preregistration
from metaeval.reports.planning import PlanAsked
from metaeval.reports.preregistration import preregistration_document, preregistration_hash
from metaeval.selectors.inputs import dataset_facts


def preregister(*, user: User, dataset: Dataset, asked: PlanAsked, **planned: Any) -> Preregistration:
    """Store what is planned (`preregistration_document`); the same plan of the same person is stored once."""
    # Those that this person may see: a count of all would tell of other people's studies.
    labels = labels_visible_to(user).filter(item__dataset=dataset, kind=asked.kind)
    document = preregistration_document(
        dataset=dataset_facts(dataset), labels_before=labels.current().count(), asked=asked, **planned
    )
    same = {"dataset": dataset, "created_by": user, "sha256": preregistration_hash(document)}
    found = Preregistration.objects.filter(**same).first()
    if found is not None:
        return found
    try:
        with transaction.atomic():
            return Preregistration.objects.create(**same, title=document["title"], content=document)
    except IntegrityError:  # sent twice at once: the other one has it
        return Preregistration.objects.get(**same)

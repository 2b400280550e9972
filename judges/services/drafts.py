"""Drafts of sweeps as a form sends them: the same form sent twice makes one sweep."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.models import Dataset, User
from annotation.services.users import user_lock
from judges.models import Judge, Sweep, SweepState
from judges.services.sweep_settings import SweepSettings
from judges.services.sweeps import SweepError, sweep_create

SAME_CLICK = timedelta(minutes=1)
"""Within this time, the same content from the same person is the same form sent again."""


@transaction.atomic
def draft_create(
    *, name: str, judges: Iterable[Judge], datasets: Iterable[Dataset], created_by: User, **fields: Any
) -> Sweep:
    """Make a draft, or return the one that the first of two clicks made a moment ago.

    Parameters
    ----------
    **fields
        Those of `SweepSettings`.

    Raises
    ------
    ValidationError
        A field is not valid.
    """
    judges, datasets = list(judges), list(datasets)
    settings = SweepSettings(**fields)
    # Two clicks of a person are taken one after the other, so that the second finds what the first made.
    user_lock(created_by)
    twins = Sweep.objects.filter(
        name=name, created_by=created_by, created_at__gt=timezone.now() - SAME_CLICK
    ).order_by("-pk")
    content = ({judge.pk for judge in judges}, {dataset.pk for dataset in datasets})
    for twin in twins:
        if settings == SweepSettings.of(twin) and content == (_keys(twin.judges), _keys(twin.datasets)):
            return twin
    return sweep_create(name=name, judges=judges, datasets=datasets, created_by=created_by, **fields)


@transaction.atomic
def draft_update(
    *, sweep: Sweep, name: str, judges: Iterable[Judge], datasets: Iterable[Dataset], **fields: Any
) -> Sweep:
    """Change a draft; of `SweepSettings`, the fields that are given.

    Raises
    ------
    SweepError
        It was launched in the meantime.
    ValidationError
        A field is not valid.
    """
    locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
    if locked.state != SweepState.DRAFT:
        raise SweepError([f"'{locked}' was launched in the meantime, so it was not changed."])
    locked.name = name
    SweepSettings.of(locked).changed(**fields).write(locked)
    locked.save()
    locked.judges.set(judges)
    locked.datasets.set(datasets)
    return locked


def _keys(rows: object) -> set[int]:
    return set(rows.values_list("pk", flat=True))  # type: ignore[attr-defined]

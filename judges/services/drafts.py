"""Drafts of sweeps as a form sends them: the same form sent twice makes one sweep."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from annotation.models import Dataset, User
from judges.models import Judge, Sweep, SweepState
from judges.services.sweeps import SweepError, sweep_create

SAME_CLICK = timedelta(minutes=1)
"""Within this time, the same content from the same person is the same form sent again."""


@transaction.atomic
def draft_create(
    *,
    name: str,
    judges: Iterable[Judge],
    datasets: Iterable[Dataset],
    orders: str,
    budget: Decimal | None,
    created_by: User,
) -> Sweep:
    """Make a draft, or return the one that the first of two clicks made a moment ago."""
    judges, datasets = list(judges), list(datasets)
    # Two clicks of a person are taken one after the other, so that the second finds what the first made.
    User.objects.select_for_update().get(pk=created_by.pk)
    twins = Sweep.objects.filter(
        name=name,
        created_by=created_by,
        orders=orders,
        budget=budget,
        created_at__gt=timezone.now() - SAME_CLICK,
    ).order_by("-pk")
    content = ({judge.pk for judge in judges}, {dataset.pk for dataset in datasets})
    for twin in twins:
        if content == (_keys(twin.judges), _keys(twin.datasets)):
            return twin
    return sweep_create(
        name=name, judges=judges, datasets=datasets, orders=orders, budget=budget, created_by=created_by
    )


@transaction.atomic
def draft_update(
    *,
    sweep: Sweep,
    name: str,
    judges: Iterable[Judge],
    datasets: Iterable[Dataset],
    orders: str,
    budget: Decimal | None,
) -> Sweep:
    """Change a draft.

    Raises
    ------
    SweepError
        It was launched in the meantime.
    """
    locked = Sweep.objects.select_for_update().get(pk=sweep.pk)
    if locked.state != SweepState.DRAFT:
        raise SweepError([f"'{locked}' was launched in the meantime, so it was not changed."])
    locked.name, locked.orders, locked.budget = name, orders, budget
    locked.save(update_fields=["name", "orders", "budget"])
    locked.judges.set(judges)
    locked.datasets.set(datasets)
    return locked


def _keys(rows: object) -> set[int]:
    return set(rows.values_list("pk", flat=True))  # type: ignore[attr-defined]

"""What the tests of sweeps in the admin send, and where to."""

from typing import Any

from django.urls import reverse

from annotation.models import Dataset
from judges.models import Judge, Sweep


def sweep_form(judges: list[Judge], *datasets: Dataset, **fields: Any) -> dict[str, Any]:
    return {
        "name": "Which is best?",
        "judges": [judge.pk for judge in judges],
        "datasets": [dataset.pk for dataset in datasets],
        "orders": "both",
        "budget": "",
    } | fields


def url_of(name: str, sweep: Sweep) -> str:
    return reverse(f"admin:judges_sweep_{name}", args=[sweep.pk])


def state_of(sweep: Sweep) -> str:
    return Sweep.objects.get(pk=sweep.pk).state

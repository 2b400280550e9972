"""What the tests of the admin send, where to, and what is answered."""

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


def judge_form(**fields: Any) -> dict[str, Any]:
    return {"name": "A judge", "strategy": "vanilla", "temperature": "0", "max_tokens": "1024"} | fields


def errors(response: Any) -> dict[str, list[str]]:
    """What is said beside the fields of a form that was refused."""
    return {field: list(map(str, found)) for field, found in response.context["form"].errors.items()}

"""A sweep as its comparison needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.http import Http404

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_visible_to
from judges.models import Sweep
from judges.selectors.sweeps import SweepProgress, sweep_progress


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep, its judges, and the datasets of it that the reader may see."""

    pk: int
    name: str
    orders: str
    judge_ids: frozenset[int]
    datasets: tuple[Dataset, ...]
    progress: SweepProgress


def sweep_view(sweep_id: int, visible: Iterable[Dataset] | None = None) -> SweepView:
    """Read a sweep; `visible` bounds the datasets. Raises Sweep.DoesNotExist."""
    sweep = Sweep.objects.prefetch_related("datasets", "judges").get(pk=sweep_id)
    allowed = None if visible is None else {dataset.pk for dataset in visible}
    datasets = [row for row in sweep.datasets.all() if allowed is None or row.pk in allowed]
    return SweepView(
        pk=sweep.pk,
        name=sweep.name,
        orders=sweep.orders,
        judge_ids=frozenset(judge.pk for judge in sweep.judges.all()),
        datasets=tuple(Dataset.objects.filter(pk__in=[row.pk for row in datasets]).order_by("name")),
        progress=sweep_progress(sweep.pk),
    )


def sweep_get_for(user: User, sweep_id: int) -> SweepView:
    """The one way from a page to a sweep: nobody sees one of which they may see no dataset.

    Raises
    ------
    Http404
        There is no such sweep for this person.
    """
    try:
        found = sweep_view(sweep_id, datasets_visible_to(user))
    except Sweep.DoesNotExist:
        raise Http404("There is no such sweep.") from None
    if not found.datasets:
        raise Http404("There is no such sweep.")
    return found


def dataset_of(sweep: SweepView, name: str | None) -> Dataset:
    """The dataset of the sweep with this name, or its first. Raises Http404."""
    for dataset in sweep.datasets:
        if name in (None, "", dataset.name):
            return dataset
    raise Http404("This sweep has no such dataset.")

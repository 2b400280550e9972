"""A sweep as its comparison needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import Http404

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_visible_to
from judges.models import Orders, Sweep
from judges.selectors.items import GENERATION, WHOLE, ItemSlice, judge_kind, sweep_slice
from judges.selectors.sweeps import SweepProgress, sweep_progress


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep, its judges, and the datasets of it that the reader may see.

    Attributes
    ----------
    judge_ids : frozenset of int
        Contestants are none of them: they write responses and judge nothing.
    n_contestants : int
    part : ItemSlice
        The part of each dataset that was to be judged.
    seed : int
        Of random orders.
    """

    pk: int
    name: str
    orders: str
    judge_ids: frozenset[int]
    datasets: tuple[Dataset, ...]
    progress: SweepProgress
    n_contestants: int = 0
    part: ItemSlice = WHOLE
    seed: int = 0

    def facts(self) -> dict[str, Any]:
        """What a report says of it: which orders, and which part of the datasets where it is not the whole."""
        found: dict[str, Any] = {"name": self.name, "orders": self.orders}
        if self.orders == Orders.RANDOM:
            found["seed"] = self.seed
        if self.is_part:
            found["part"] = {
                "categories": list(self.part.categories),
                "subsets": list(self.part.subsets),
                "sample_size": self.part.sample_size,
                "seed": self.part.seed,
            }
        return found

    @property
    def is_part(self) -> bool:
        """Whether some items of a dataset may have been left out on purpose."""
        part = self.part
        return bool(part.categories or part.subsets or part.sample_size is not None)


def sweep_view(sweep_id: int, visible: Iterable[Dataset] | None = None) -> SweepView:
    """Read a sweep; `visible` bounds the datasets. Raises Sweep.DoesNotExist."""
    sweep = Sweep.objects.prefetch_related("datasets", "judges").get(pk=sweep_id)
    allowed = None if visible is None else {dataset.pk for dataset in visible}
    datasets = [row for row in sweep.datasets.all() if allowed is None or row.pk in allowed]
    judges = list(sweep.judges.all())
    contestants = {judge.pk for judge in judges if judge_kind(judge) == GENERATION}
    return SweepView(
        pk=sweep.pk,
        name=sweep.name,
        orders=sweep.orders,
        judge_ids=frozenset(judge.pk for judge in judges) - contestants,
        datasets=tuple(Dataset.objects.filter(pk__in=[row.pk for row in datasets]).order_by("name")),
        progress=sweep_progress(sweep.pk),
        n_contestants=len(contestants),
        part=sweep_slice(sweep),
        seed=sweep.seed,
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

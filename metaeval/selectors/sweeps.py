"""What is compared: a sweep, or all judgments of a dataset, imported or run."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404

from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_by_name, datasets_visible_to
from annotation.selectors.judging import GENERATION, WHOLE, ItemSlice
from annotation.selectors.overview import labels_are_hidden, reader_of
from judges.models import Judge, Orders, Sweep
from judges.selectors.items import judge_kind, sweep_slice
from judges.selectors.reading import judges_of_dataset
from judges.selectors.stored import sweep_whole
from judges.selectors.sweeps import SweepProgress, sweep_progress

# What stands in an address between the name of a dataset and the numbers of the judges that were asked for.
JUDGES = "/judges/"


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep, its judges, and the datasets of it that the reader may see; or all judgments of one dataset.

    Attributes
    ----------
    pk : int or None
        None where it is no sweep: then `judge_ids` are all judges that have judged the one dataset.
    progress : SweepProgress or None
        None where it is no sweep.
    judge_ids : frozenset of int
        Contestants are none of them: they write responses and judge nothing.
    n_contestants : int
    part : ItemSlice
        The part of each dataset that was to be judged.
    seed : int
        Of random orders.
    offered : tuple of Judge
        Where it is no sweep: all judges that have judged the dataset, of which `judge_ids` may be a part.
    reader : User or None
        Whose right to see labels bounds what is counted; None: all labels count.
    """

    pk: int | None
    name: str
    orders: str
    judge_ids: frozenset[int]
    datasets: tuple[Dataset, ...]
    progress: SweepProgress | None
    n_contestants: int = 0
    part: ItemSlice = WHOLE
    seed: int = 0
    reader: User | None = None
    offered: tuple[Judge, ...] = ()

    @property
    def is_choice(self) -> bool:
        """Whether only some of the judges that there are were asked for."""
        return bool(self.offered) and len(self.judge_ids) < len(self.offered)

    @property
    def source(self) -> str:
        """Where it is no sweep, what an address names it by: ``llmbar``, or ``llmbar/judges/3,7``; else empty."""
        if self.pk is not None:
            return ""
        chosen = JUDGES + ",".join(map(str, sorted(self.judge_ids))) if self.is_choice else ""
        return self.datasets[0].name + chosen

    @property
    def leaves_out_labels(self) -> bool:
        """Whether there are labels that its reader may not see: those of other researchers' studies."""
        return labels_are_hidden(self.reader, self.datasets)

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
    sweep = sweep_whole(sweep_id)
    allowed = None if visible is None else {dataset.pk for dataset in visible}
    datasets = [row for row in sweep.datasets.all() if allowed is None or row.pk in allowed]
    judges = list(sweep.judges.all())
    contestants = {judge.pk for judge in judges if judge_kind(judge) == GENERATION}
    return SweepView(
        pk=sweep.pk,
        name=sweep.name,
        orders=sweep.orders,
        judge_ids=frozenset(judge.pk for judge in judges) - contestants,
        datasets=tuple(datasets_by_name().filter(pk__in=[row.pk for row in datasets])),
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
    return replace(found, reader=reader_of(user))


def dataset_view_get_for(user: User, name: str) -> SweepView:
    """All judgments of a dataset that this person may see, to be compared as those of a sweep are; else Http404.

    With ``/judges/3,7`` after the name, those of these judges only.
    """
    name, _, asked = name.partition(JUDGES)
    found = dataset_view(get_object_or_404(datasets_visible_to(user), name=name), user)
    return judges_chosen_of(found, asked.split(",")) if asked else found


def dataset_view(dataset: Dataset, user: User | None) -> SweepView:
    """All judgments of a dataset, with the labels that this person may see; None: with all."""
    offered = tuple(judges_of_dataset(dataset))
    return SweepView(
        pk=None,
        name=f"All judgments of {dataset.name}",
        orders=Orders.BOTH,
        judge_ids=frozenset(judge.pk for judge in offered),
        datasets=(dataset,),
        progress=None,
        reader=None if user is None else reader_of(user),
        offered=offered,
    )


def judges_chosen_of(view: SweepView, asked: Iterable[str]) -> SweepView:
    """The same of some of the judges of a dataset, by their numbers. Raises Http404 for one that is none of them."""
    try:
        chosen = frozenset(int(pk) for pk in asked)
    except ValueError:
        raise Http404("There is no such judge.") from None
    every, dataset = frozenset(judge.pk for judge in view.offered), view.datasets[0].name
    if not chosen <= every:
        raise Http404("No such judge has judged this dataset.")
    if not chosen or chosen == every:
        return replace(view, judge_ids=every, name=f"All judgments of {dataset}")
    name = f"{len(chosen)} of {len(every)} judges of {dataset}"
    return replace(view, judge_ids=chosen, name=name)


def source_get_for(user: User, pk: int | None = None, name: str | None = None) -> SweepView:
    """The sweep of this number, or all judgments of the dataset of this name; else Http404."""
    return sweep_get_for(user, pk) if pk is not None else dataset_view_get_for(user, name or "")


def dataset_of(sweep: SweepView, name: str | None) -> Dataset:
    """The dataset of the sweep with this name, or its first. Raises Http404."""
    for dataset in sweep.datasets:
        if name in (None, "", dataset.name):
            return dataset
    raise Http404("This sweep has no such dataset.")

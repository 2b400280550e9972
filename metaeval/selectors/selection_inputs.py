"""From rows to what a choice of a judge is computed from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256

from django.db.models import Count, Exists, OuterRef

from annotation.models import Dataset, Instruction, Item, Label
from judges.models import BackendKind, Judge, Judgment
from metaeval.models import Decision
from metaeval.reports.errors import NothingJudgedError, UnknownNameError
from metaeval.reports.inputs import ReportInputs
from metaeval.reports.selection_inputs import Choice, Part, PartInputs, SelectionInputs
from metaeval.selection.types import Candidate, Role
from metaeval.selectors.inputs import PAIRWISE, report_inputs
from metaeval.selectors.sweeps import SweepView


@dataclass(frozen=True, slots=True)
class SweptDataset:
    """A dataset of a sweep with pairs, and in which roles it could take part in a choice.

    Attributes
    ----------
    n_two_labels : int
        Items with labels of two people or more: agreement is a matter of two.
    is_judged : bool
        Whether a judge of the sweep has judged any pair of it.
    """

    pk: int
    name: str
    title: str
    n_pairs: int
    n_gold: int
    n_two_labels: int
    is_judged: bool

    @property
    def is_full(self) -> bool:
        """Whether people have labelled every pair, so that none is left to draw."""
        return self.n_two_labels >= self.n_pairs

    @property
    def roles(self) -> tuple[Role, ...]:
        """The roles that it could have, the likelier first; none where no judge has judged it."""
        found: list[Role] = []
        if self.is_judged and self.n_two_labels:
            found.append("people")
        if self.is_judged and self.n_gold:
            # What more items have comes first, as in reports.
            found.insert(0 if self.n_gold > self.n_two_labels else 1, "gold")
        return tuple(found)


def swept_datasets(sweep: SweepView) -> list[SweptDataset]:
    """The datasets of the sweep with pairs, by name; two queries, and one more for each dataset."""
    judged = Judgment.objects.filter(
        item__dataset=OuterRef("pk"), item__kind=PAIRWISE, judge_id__in=sweep.judge_ids
    )
    items = Item.objects.filter(dataset__in=sweep.datasets, kind=PAIRWISE).order_by("dataset")
    sizes = {
        pk: (n, gold)
        for pk, n, gold in items.values_list("dataset").annotate(n=Count("pk"), gold=Count("gold"))
    }
    datasets = Dataset.objects.filter(pk__in=list(sizes)).annotate(is_judged=Exists(judged)).order_by("name")
    return [
        SweptDataset(
            row.pk, row.name, row.title, *sizes[row.pk], _items_with_two_labels(row.pk), row.is_judged
        )
        for row in datasets
    ]


def _items_with_two_labels(dataset_id: int) -> int:
    labels = Label.objects.current().filter(kind=PAIRWISE, item__dataset_id=dataset_id).order_by()
    people = labels.values("item").annotate(n=Count("annotator", distinct=True))
    return people.filter(n__gte=2).count()


def preset(datasets: Iterable[SweptDataset]) -> tuple[Part, ...]:
    """How datasets take part unless somebody says otherwise: agreement with people decides, where there is any."""
    roles = [(row, row.roles[0]) for row in datasets if row.roles]
    people = any(role == "people" for _, role in roles)
    return tuple(Part(row.name, role, float(role == "people" or not people)) for row, role in roles)


def selection_inputs(*, sweep: SweepView, choice: Choice) -> SelectionInputs:
    """Read everything that a choice depends on; a fixed number of queries for each dataset, whatever the size.

    Raises
    ------
    UnknownNameError
        The sweep has no such dataset, or none that this person may see.
    NothingJudgedError
        No judge of the sweep has judged any of them.
    ReportError
        A dataset has no pairwise items.
    """
    datasets = {dataset.name: dataset for dataset in sweep.datasets}
    for part in choice.parts:
        if part.dataset not in datasets:
            raise UnknownNameError(f"This sweep has no dataset {part.dataset!r}.")
    read = [
        _part(part, datasets[part.dataset], report_inputs(dataset=datasets[part.dataset], sweep=sweep))
        for part in choice.parts
    ]
    if all(judge.baseline for part in read for judge in part.inputs.judges):
        raise NothingJudgedError("No judge of this sweep has judged these datasets yet.")
    read = _same_baselines(read)
    return SelectionInputs(sweep.facts(), tuple(read), tuple(_candidates(read)), choice)


def _same_baselines(read: list[PartInputs]) -> list[PartInputs]:
    """Rules without a model are compared with only where every dataset has them."""
    known = [{judge.fingerprint for judge in part.inputs.judges if judge.baseline} for part in read]
    common = set.intersection(*known) if known else set()
    return [
        replace(
            part,
            inputs=replace(
                part.inputs,
                judges=tuple(
                    judge for judge in part.inputs.judges if not judge.baseline or judge.fingerprint in common
                ),
            ),
        )
        for part in read
    ]


def _candidates(read: list[PartInputs]) -> list[Candidate]:
    """All judges of the datasets, by name, baselines last."""
    judges = {judge.fingerprint: judge for part in read for judge in part.inputs.judges}
    rows = Judge.objects.filter(fingerprint__in=list(judges)).prefetch_related("models__endpoint")
    known = {judge.fingerprint: _where(judge) for judge in rows}
    ordered = sorted(judges.values(), key=lambda judge: (judge.baseline, judge.name, judge.fingerprint))
    return [
        # A rule runs anywhere, and there are no weights to publish.
        Candidate(
            judge.fingerprint,
            judge.name,
            *((True, True) if judge.baseline else known[judge.fingerprint]),
            is_baseline=judge.baseline,
        )
        for judge in ordered
    ]


def _where(judge: Judge) -> tuple[bool | None, bool | None]:
    """Whether the weights of all its models are public, and whether all run under our own control."""
    endpoints = [row.endpoint for row in judge.models.all()]
    if not endpoints:
        return (True, True) if judge.backend == BackendKind.HEURISTIC else (None, None)
    weights = [endpoint.has_open_weights for endpoint in endpoints]
    public = False if False in weights else None if None in weights else True
    return public, all(endpoint.keeps_private for endpoint in endpoints)


def _part(part: Part, dataset: Dataset, inputs: ReportInputs) -> PartInputs:
    names = _instruction_names(dataset)
    weights = inputs.weights if part.role == "people" else None
    return PartInputs(
        part, inputs, tuple(names[external_id] for external_id in inputs.items.external_id), weights
    )


def _instruction_names(dataset: Dataset) -> dict[str, str]:
    """By external id of an item, a name of its instruction: the hash of what is asked, text and context.

    Two rows that ask the same are one instruction, in one dataset or in two, so that they are held out together.
    Where nothing is written, each row is its own.
    """
    names: dict[int, str] = {}
    rows = Instruction.objects.filter(dataset=dataset).values_list(
        "pk", "external_id", "text", "context", "conversation"
    )
    for pk, external_id, *asked in rows.iterator(chunk_size=2_000):
        content = asked if any(asked) else [dataset.name, external_id]
        names[pk] = sha256(json.dumps(content, sort_keys=True).encode("ascii")).hexdigest()[:20]
    items = Item.objects.filter(dataset=dataset, kind=PAIRWISE).values_list("external_id", "instruction_id")
    return {external_id: names[instruction_id] for external_id, instruction_id in items}


def decisions_in_force(sweep: SweepView, kind: str = PAIRWISE) -> dict[int, Decision]:
    """The decision in force on each dataset's items of a kind, by primary key of the dataset; one query."""
    rows = Decision.objects.filter(dataset__in=sweep.datasets, kind=kind, replaced_by__isnull=True)
    rows = rows.select_related("judge", "dataset", "decided_by").defer("selection", "evidence")
    return {row.dataset_id: row for row in rows}

"""From rows to the arrays that a report is computed from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from annotation.models import Dataset, Study, TiePolicy, User
from annotation.selectors.datasets import ItemFacts, dataset_counts, item_facts, items_for_judging
from annotation.selectors.judging import slice_names
from annotation.selectors.labels import pairwise_labels
from annotation.selectors.overview import labels_visible_to
from annotation.selectors.reporting import simulated_annotators
from judges.models import BackendKind, Judge, ParseStatus
from judges.selectors.items import orders_of
from judges.selectors.judgments import PairwiseVerdicts, pairwise_verdicts
from judges.selectors.reading import judges_of_dataset
from metaeval.reports.baselines import baselines
from metaeval.reports.errors import ReportError, UnknownNameError
from metaeval.reports.inputs import (
    Booleans,
    Floats,
    Integers,
    ItemColumns,
    JudgeColumns,
    LabelColumns,
    ReportInputs,
)
from metaeval.reports.names import near_names
from metaeval.selectors.sweeps import SweepView

PAIRWISE = "pairwise"


def report_inputs(
    *,
    dataset: Dataset,
    study: Study | None = None,
    sweep: SweepView | None = None,
    judge_names: Collection[str] | None = None,
    reader: User | None = None,
) -> ReportInputs:
    """Read everything that a report depends on; a fixed number of queries, whatever the size.

    Parameters
    ----------
    study : Study, optional
        Count only the labels of this study; without it imported labels and those of all studies.
    sweep : SweepView, optional
        Only its judges, the items of its slice, and the orders that it asked for: what else was judged, in other
        sweeps, is no part of it.
    judge_names : optional
        Only these judges; without them all that judged any pair of the dataset.
    reader : User, optional
        Count only the labels that this person may see: of a dataset that all may read, not those of others' studies.
        Of a sweep its own reader.

    Raises
    ------
    ReportError
        There are no pairwise items, or no such judge.
    """
    reader = reader if sweep is None else sweep.reader
    facts = _pairwise_facts(dataset)
    if not facts:
        raise ReportError(
            f"Dataset {dataset.name!r} has no pairwise items, and reports are about pairwise items."
        )
    if sweep is not None and sweep.is_part:
        facts = _in_slice(dataset, facts, sweep)
    place = {row.item_id: k for k, row in enumerate(facts)}
    items = _items(facts)
    judges = judges_chosen(dataset, PAIRWISE, None if sweep is None else sweep.judge_ids, judge_names)
    verdicts = pairwise_verdicts(dataset.pk, [judge.pk for judge in judges])
    asked = None if sweep is None else _asked(facts, sweep)
    columns = _judges(verdicts, place, len(items), judges, asked)
    return ReportInputs(
        name=dataset.name if study is None else study.slug,
        facts={
            "dataset": dataset_facts(dataset),
            "study": study_facts(study),
            "sweep": sweep and sweep.facts(),
        },
        items=items,
        labels=_labels(dataset, study, place, reader),
        weights=sampling_weights(dataset, study, items.external_id, reader),
        judges=(*columns, *baselines(items, {judge.strategy for judge in columns})),
    )


def _pairwise_facts(dataset: Dataset) -> list[ItemFacts]:
    facts = item_facts(dataset.pk)
    if set(dataset_counts(dataset.pk).by_kind) <= {PAIRWISE}:
        return facts
    pairs = {row.item_id for row in items_for_judging(dataset.pk) if row.kind == PAIRWISE}
    return [row for row in facts if row.item_id in pairs]


def _in_slice(dataset: Dataset, facts: list[ItemFacts], sweep: SweepView) -> list[ItemFacts]:
    wanted = {pk for pk, _ in slice_names(dataset_id=dataset.pk, kind=PAIRWISE, part=sweep.part)}
    found = [row for row in facts if row.item_id in wanted]
    if not found:
        raise ReportError(
            f"The part of dataset {dataset.name!r} that this sweep judges has no pairwise items."
        )
    return found


def _asked(facts: list[ItemFacts], sweep: SweepView) -> Booleans:
    """Whether the sweep asks for an item in an order: (n_items, 2)."""
    asked = np.zeros((len(facts), 2), dtype=np.bool_)
    for place, row in enumerate(facts):
        asked[place, list(orders_of(sweep.orders, PAIRWISE, sweep.seed, row.external_id))] = True
    return asked


def _items(facts: list[ItemFacts]) -> ItemColumns:
    # Instructions are numbered by first appearance: a name that any database gives them.
    numbers: dict[int, str] = {}
    for row in facts:
        numbers.setdefault(row.instruction_id, str(len(numbers)))
    return ItemColumns(
        external_id=tuple(row.external_id for row in facts),
        cluster=tuple(numbers[row.instruction_id] for row in facts),
        category=tuple(row.category for row in facts),
        subset=tuple(row.subset for row in facts),
        gold=np.array(
            [np.nan if row.gold_choice is None else row.gold_choice for row in facts], dtype=np.float64
        ),
        lengths=np.array([row.lengths for row in facts], dtype=np.intp).reshape(len(facts), 2),
    )


def _labels(
    dataset: Dataset, study: Study | None, place: Mapping[int, int], reader: User | None
) -> LabelColumns:
    found = pairwise_labels(dataset.pk, None if study is None else study.pk, reader)
    simulated = simulated_annotators(dataset.pk) if len(found) else set()
    numbers: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    rows = []
    for item_id, annotator_id, choice in zip(
        found.item_id.tolist(), found.annotator_id.tolist(), found.choice.tolist(), strict=True
    ):
        # Somebody who labelled an item in two studies has one opinion, the first.
        if item_id not in place or (item_id, annotator_id) in seen:
            continue
        seen.add((item_id, annotator_id))
        number = numbers.setdefault(annotator_id, len(numbers))
        rows.append((place[item_id], number, choice, annotator_id in simulated))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return LabelColumns(
        item=table[:, 0].astype(np.intp),
        annotator=table[:, 1].astype(np.intp),
        choice=table[:, 2],
        simulated=table[:, 3].astype(np.bool_),
        n_repeated=len(found) - len(rows),
        ties_allowed=_ties_allowed(dataset, study, reader),
    )


def _ties_allowed(dataset: Dataset, study: Study | None, reader: User | None) -> bool:
    """Whether any study whose labels count lets people say that two responses tie."""
    if study is not None:
        return study.tie_policy != TiePolicy.OFF
    visible = labels_visible_to(reader)
    labels = visible.current().filter(kind=PAIRWISE, item__dataset=dataset, study__isnull=False)
    return labels.exclude(study__tie_policy=TiePolicy.OFF).exists()


def sampling_weights(
    dataset: Dataset,
    study: Study | None,
    names: Sequence[str],
    reader: User | None = None,
    kind: str = PAIRWISE,
) -> Floats | None:
    """One over the chance with which each item was drawn for labelling; None where all were certain.

    An item that several studies drew by chance was labelled with the chance that any of them drew it; a label that
    nobody drew lots for (an import, a study of all its items) makes it certain.
    """
    visible = labels_visible_to(reader)
    labels = visible.current().filter(kind=kind, item__dataset=dataset).order_by("pk")
    if study is not None:
        labels = labels.filter(study=study)
    drawn = labels.filter(item_id__in=labels.order_by().filter(probability__lt=1).values("item_id"))
    missed: dict[str, dict[int | None, float]] = defaultdict(dict)
    for external_id, study_id, chance in drawn.values_list("item__external_id", "study", "probability"):
        missed[external_id].setdefault(study_id, 1.0 - min(1.0, chance))
    if not missed:
        return None
    never = {external_id: math.prod(chances.values()) for external_id, chances in missed.items()}
    return np.array([1.0 / (1.0 - never.get(name, 0.0)) for name in names])


def judges_chosen(
    dataset: Dataset, kind: str, judge_ids: Collection[int] | None, judge_names: Collection[str] | None = None
) -> list[Judge]:
    """The judges that judged any item of a kind, or those of them with these ids or names; one query."""
    found = judges_of_dataset(dataset, kind)
    judges = [judge for judge in found if judge_ids is None or judge.pk in judge_ids]
    # By code point: databases order letters each in their own way. Names need not be unique, fingerprints are.
    judges.sort(key=lambda judge: (judge.name, judge.fingerprint))
    if judge_names is None:
        return judges
    known = [judge.name for judge in judges]
    for name in judge_names:
        if name not in known:
            raise UnknownNameError(
                f"No judge {name!r} has judged dataset {dataset.name!r}{near_names(name, known)}"
            )
    return [judge for judge in judges if judge.name in judge_names]


def _judges(
    verdicts: PairwiseVerdicts,
    place: Mapping[int, int],
    n_items: int,
    judges: list[Judge],
    asked: Booleans | None,
) -> list[JudgeColumns]:
    row = np.array([place.get(item_id, -1) for item_id in verdicts.item_id.tolist()], dtype=np.intp)
    counted = row >= 0
    if asked is not None:
        counted[counted] = asked[row[counted], verdicts.order[counted]]
    return [
        _judge(judge, verdicts, row, (verdicts.judge_id == judge.pk) & counted, n_items) for judge in judges
    ]


def _judge(
    judge: Judge, verdicts: PairwiseVerdicts, row: Integers, own: Booleans, n_items: int
) -> JudgeColumns:
    rows, orders = row[own], verdicts.order[own]

    def table(values: Any, empty: float) -> Floats:
        filled = np.full((n_items, 2), empty)
        filled[rows, orders] = values
        return filled

    # Nobody measured what an imported verdict cost.
    measured = np.nan if judge.backend == BackendKind.IMPORTED else 1.0
    return JudgeColumns(
        name=judge.name,
        fingerprint=judge.fingerprint,
        backend=judge.backend,
        model=judge.model,
        strategy=judge.strategy,
        verdicts=table(verdicts.choice[own], np.nan),
        judged=table(1.0, 0.0).astype(np.bool_),
        failed=table(verdicts.status[own] == ParseStatus.FAILED, 0.0).astype(np.bool_),
        cost=table(verdicts.cost[own] * measured, np.nan),
        seconds=table(verdicts.latency_ms[own] * measured / 1000, np.nan),
    )


def dataset_facts(dataset: Dataset) -> dict[str, Any]:
    names = ("name", "title", "version", "split", "licence", "source")
    return {name: getattr(dataset, name) for name in names}


def study_facts(study: Study | None) -> dict[str, Any] | None:
    """What a report's header says of its study."""
    if study is None:
        return None
    return {"slug": study.slug, "title": study.title, "is_simulated": study.is_simulated}

"""Rows for the tests of reports and comparisons: labels, judges and what they said, a finished sweep."""

from typing import Any

from django.utils import timezone

from annotation.models import Annotator, Dataset, Label, Study
from judges.models import BackendKind, Judge, Judgment, Sweep, SweepRun, SweepState
from tests.annotation.factories import annotator_make


def labels_make(
    *, dataset: Dataset, choices: Any, study: Study | None = None, simulated: bool = False
) -> list[Annotator]:
    """`choices[k]` are the labels of item k, one by each annotator; None is no label."""
    n = max(len(row) for row in choices)
    annotators = [annotator_make(is_simulated=simulated) for _ in range(n)]
    for item, row in zip(dataset.items.order_by("position"), choices, strict=False):
        for annotator, choice in zip(annotators, row, strict=False):
            if choice is not None:
                label_make(item=item, annotator=annotator, choice=choice, study=study)
    return annotators


def label_make(
    *, item: Any, annotator: Annotator, choice: int, study: Study | None = None, probability: float = 1.0
) -> Label:
    return Label.objects.create(
        item=item,
        annotator=annotator,
        study=study,
        kind="pairwise",
        value={"choice": choice},
        choice=choice,
        probability=probability,
    )


def judge_make(
    name: str, *, strategy: str = "vanilla", backend: str = BackendKind.OPENAI, **fields: Any
) -> Judge:
    return Judge.objects.create(
        name=name,
        backend=backend,
        model=fields.pop("model", "test-model"),
        strategy=strategy,
        spec={"strategy": strategy, "name": name},
        fingerprint=f"{name.encode().hex():0<64}"[:64],
        **fields,
    )


def judgments_make(
    *, judge: Judge, dataset: Dataset, choices: Any, cost: float = 0.002, latency_ms: float = 500
) -> None:
    """`choices[k]` is (order 0, order 1) of item k; None is unparsed, a missing entry is not judged."""
    rows = []
    for item, pair in zip(dataset.items.order_by("position"), choices, strict=False):
        rows += [
            Judgment(
                judge=judge,
                item=item,
                order=order,
                status="unparsed" if choice is None else "parsed",
                choice=choice,
                cost=cost,
                latency_ms=latency_ms,
            )
            for order, choice in enumerate(pair)
        ]
    Judgment.objects.bulk_create(rows)


def sweep_make(
    *, judges: list[Judge], datasets: list[Dataset], state: str = SweepState.FINISHED, **fields: Any
) -> Sweep:
    now = timezone.now()
    sweep = Sweep.objects.create(
        name=fields.pop("name", "Two judges"), state=state, started_at=now, finished_at=now, **fields
    )
    sweep.judges.set(judges)
    sweep.datasets.set(datasets)
    for judge in judges:
        for dataset in datasets:
            n = dataset.items.count() * 2
            SweepRun.objects.create(
                sweep=sweep, judge=judge, dataset=dataset, n_total=n, n_done=n, finished_at=now
            )
    return sweep


def swept(
    *, dataset: Dataset, good: str = "Good judge", poor: str = "Poor judge"
) -> tuple[Sweep, Judge, Judge]:
    """A finished sweep of a judge that is always right and one that is always wrong, by the gold answers."""
    gold = [item.gold["choice"] for item in dataset.items.order_by("position")]
    right, wrong = judge_make(good), judge_make(poor, strategy="cot")
    judgments_make(judge=right, dataset=dataset, choices=[(choice, choice) for choice in gold])
    judgments_make(
        judge=wrong, dataset=dataset, choices=[(3 - choice, 3 - choice) for choice in gold], cost=0.001
    )
    return sweep_make(judges=[right, wrong], datasets=[dataset]), right, wrong

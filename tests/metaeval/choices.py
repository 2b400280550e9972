"""Sweeps whose judges are chosen between: over people's labels and gold answers, and of pairs and rubrics at once."""

from typing import Any

from annotation.models import Dataset, Kind
from judges.models import Judge, Judgment, Sweep
from metaeval.reports.selection.inputs import Criteria
from metaeval.reports.selection.report import SelectionReport
from metaeval.selection_forms import SelectionForm
from metaeval.selectors.selections import swept_datasets
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.selections import selection_get
from tests.annotation.factories import dataset_make
from tests.metaeval.kinds import kind_judgments, kind_swept
from tests.metaeval.rows import judge_make, judgments_make, labels_make, sweep_make


def two_datasets(*, pairs: int = 30, **fields: Any) -> tuple[Sweep, Judge, Judge]:
    """People mostly say 1, and so does the good judge; gold alternates, and the good judge follows it."""
    people = dataset_make(pairs=pairs, gold=False, name="people", **fields)
    gold = dataset_make(pairs=pairs, name="gold", **fields)
    labels_make(dataset=people, choices=[(1, 1, 1) if k % 5 else (1, 2, 1) for k in range(pairs)])
    good, poor = judge_make("Good judge"), judge_make("Poor judge", strategy="cot")
    judgments_make(judge=good, dataset=people, choices=[(1, 1)] * pairs, cost=0.008)
    judgments_make(judge=poor, dataset=people, choices=[(2, 2)] * pairs, cost=0.001)
    truth = [k % 2 + 1 for k in range(pairs)]
    judgments_make(judge=good, dataset=gold, choices=[(one, one) for one in truth], cost=0.008)
    judgments_make(judge=poor, dataset=gold, choices=[(3 - one, one) for one in truth], cost=0.001)
    return sweep_make(judges=[good, poor], datasets=[people, gold], name="Two roles"), good, poor


def two_kinds(*, items: int = 60, **fields: Any) -> tuple[Dataset, Sweep]:
    """A dataset of rubrics that people labelled and pairs with gold answers, and two judges of each kind."""
    dataset, sweep = kind_swept(Kind.RUBRIC, items=items, name="mixed", title="Mixed", **fields)
    pairs = dataset_make(pairs=items, name="pairs-to-move")
    for instruction in pairs.instructions.all():
        instruction.dataset, instruction.external_id = dataset, f"pair-{instruction.external_id}"
        instruction.save()
    for item in pairs.items.all():
        item.dataset, item.position = dataset, 1000 + item.position
        item.save()
    pairs.delete()
    right, wrong = judge_make("Right on pairs"), judge_make("Wrong on pairs")
    Judgment.objects.bulk_create(
        Judgment(
            judge=judge,
            item=item,
            order=order,
            status="parsed",
            choice=item.gold["choice"] if judge == right else 3 - item.gold["choice"],
            cost=0.001,
        )
        for item in dataset.items.filter(kind=Kind.PAIRWISE)
        for order in (0, 1)
        for judge in (right, wrong)
    )
    sweep.judges.add(right, wrong)
    return dataset, sweep


def kind_choosing(kind: str, *, items: int = 30, **fields: Any) -> tuple[Dataset, Sweep]:
    """As `kind_swept`, with a third judge that says what people say and is dearer; the others cost a little."""
    dataset, sweep = kind_swept(kind, items=items, **fields)
    Judgment.objects.filter(item__dataset=dataset).update(cost=0.001, latency_ms=500)
    dear = judge_make(f"Dear {kind}{fields.get('mark', '')}")
    kind_judgments(dear, dataset, kind)
    Judgment.objects.filter(judge=dear).update(cost=0.01, latency_ms=2_000)
    sweep.judges.add(dear)
    return dataset, sweep


def form_of(sweep: Sweep, *, kind: str = Kind.PAIRWISE, **given: str) -> SelectionForm:
    form = SelectionForm(given, datasets=swept_datasets(sweep_view(sweep.pk), kind), kind=kind)
    assert form.is_valid(), form.errors
    return form


def criteria_of(sweep: Sweep, **given: str) -> Criteria:
    return form_of(sweep, **given).criteria()


def report_of(sweep: Sweep, **given: str) -> SelectionReport:
    return selection_get(sweep=sweep_view(sweep.pk), criteria=criteria_of(sweep, **given))


def content_of(sweep: Sweep, **given: str) -> dict[str, Any]:
    """The same as JSON."""
    return report_of(sweep, **given).as_json()

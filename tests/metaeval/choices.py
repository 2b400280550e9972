"""A sweep over two datasets, one that people labelled and one with gold answers, and the choice between its judges."""

from typing import Any

from judges.models import Judge, Sweep
from metaeval.forms import SelectionForm
from metaeval.reports.selection_inputs import Choice
from metaeval.selectors.selection_inputs import swept_datasets
from metaeval.selectors.sweeps import sweep_view
from metaeval.services.selections import selection_get
from tests.annotation.factories import dataset_make
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


def form_of(sweep: Sweep, **given: str) -> SelectionForm:
    form = SelectionForm(given, datasets=swept_datasets(sweep_view(sweep.pk)))
    assert form.is_valid(), form.errors
    return form


def choice_of(sweep: Sweep, **given: str) -> Choice:
    return form_of(sweep, **given).choice()


def content_of(sweep: Sweep, **given: str) -> dict[str, Any]:
    content = selection_get(sweep=sweep_view(sweep.pk), choice=choice_of(sweep, **given), wait=True).content
    assert content is not None
    return content

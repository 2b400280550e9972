"""Whole sweeps through the engine and the database with models in the worker."""

import pytest

from judges.models import Judgment, ModelRequest
from judges.selectors.sweeps import sweep_progress
from judges.services.endpoints import endpoint_create
from tests.annotation.factories import dataset_make
from tests.judges.props import judge_make, run, sweep_make
from tests.local_models.asking import SMALL

pytestmark = [pytest.mark.django_db(transaction=True)]

KINDS = ("vllm", "transformers")


def endpoint(kind: str, **options):
    given = SMALL if kind == "vllm" else {"dtype": "float32"}
    return endpoint_create(name=f"{kind}-here", kind=kind, options=given | options, queue="cpu")


@pytest.mark.parametrize("kind", KINDS)
def test_a_sweep_from_pairs_to_verdicts(models, kind):
    judge = judge_make(endpoint(kind), models["chat"])
    dataset = dataset_make(pairs=20)
    sweep = sweep_make([judge], dataset)
    run()
    sweep.refresh_from_db()
    assert (sweep.state, sweep.message) == ("finished", "")
    progress = sweep_progress(sweep.pk)
    assert (progress.n_done, progress.n_failed, progress.n_unparsed, progress.n_requests) == (40, 0, 0, 40)
    # Held to its choices, even a model that knows nothing gives a verdict each time.
    assert set(Judgment.objects.values_list("choice", flat=True)) <= {0, 1, 2}
    assert all(row.answer["constrained"] for row in ModelRequest.objects.all())

    again = sweep_make([judge], dataset)
    run()
    assert sweep_progress(again.pk).n_requests == 0


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_that_is_too_long_is_recorded_as_failed(models, kind):
    judge = judge_make(endpoint(kind), models["chat"])
    dataset = dataset_make(pairs=3)
    item = dataset.items.order_by("position").first()
    long = item.responses.first()
    long.text = "word " * 3000
    long.save()
    sweep = sweep_make([judge], dataset)
    run()
    sweep.refresh_from_db()
    assert sweep.state == "finished"
    failed = Judgment.objects.filter(status="failed")
    assert {each.item_id for each in failed} == {item.pk}
    assert "too long" in failed[0].raw_text
    assert Judgment.objects.filter(status="parsed").count() == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_nowhere_stops_the_sweep_and_says_so(kind):
    judge = judge_make(endpoint(kind), "nobody/nothing")
    sweep = sweep_make([judge], dataset_make(pairs=2))
    run()
    sweep.refresh_from_db()
    assert sweep.state == "failed"
    assert "hf download nobody/nothing" in sweep.message or any(
        "hf download nobody/nothing" in each.message for each in sweep.runs.all()
    )
    assert not Judgment.objects.exists()

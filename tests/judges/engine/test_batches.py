"""Batches in the engine: no worker waits for them, an answer counts once, and what has none is asked again."""

import json
import os
import signal
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from judges.backends.mock_server import running_mock_server
from judges.engine.batch_work import BatchTimes, batches_work
from judges.models import BudgetReservation, Judgment, ModelRequest, RequestBatch, RunRange
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import sweep_cancel, sweep_resume
from tests.annotation.factories import dataset_make
from tests.judges.props import (
    QUICK,
    endpoint_make,
    judge_make,
    process_start,
    run,
    sweep_make,
    wait_for,
)

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]
AT_ONCE = BatchTimes(look=0.0, settle=0.0, backoff=0.0)
PRICES = {"price_input": 1, "price_output": 1}


@pytest.fixture
def server():
    with running_mock_server() as running:
        yield running


def batch_endpoint(server, kind="openai", **fields):
    return endpoint_make(server.url, kind=kind, in_batches=True, **(PRICES | fields))


def go_on(sweep, *, steps=40):
    """Work as workers do, until the sweep is over."""
    for _ in range(steps):
        run()
        batches_work(times=AT_ONCE)
        progress = sweep_progress(sweep.pk)
        if not progress.is_active:
            return progress
    raise AssertionError(list(RequestBatch.objects.values()))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_sweep_is_judged_in_batches_at_half_the_price(server, kind):
    dataset = dataset_make(pairs=20)
    alone = judge_make(endpoint_make(server.url, kind=kind, **PRICES), "mock-thinking")
    sweep = sweep_make([alone], dataset)
    run()
    whole = sweep_progress(sweep.pk)
    ModelRequest.objects.all().delete()
    asked = server.stats()["requests"]
    judge = judge_make(batch_endpoint(server, kind, structured="json_schema"), "mock-thinking")
    progress = go_on(sweep_make([judge], dataset))
    assert (progress.state, progress.n_done, progress.n_failed, progress.n_unparsed) == ("finished", 40, 0, 0)
    assert server.stats()["requests"] == asked + 40
    assert server.batches.created == 1
    assert (progress.n_requests, progress.n_shared) == (40, 0)
    assert whole.cost > 0
    judged = Judgment.objects.filter(judge=judge)
    assert progress.cost == pytest.approx(sum(judged.values_list("cost", flat=True)))
    assert all(judged.values_list("thought", flat=True))
    for each in judged:
        assert each.cost == pytest.approx(0.5e-6 * (each.prompt_tokens + each.completion_tokens))


def test_no_worker_holds_anything_while_a_batch_is_under_way(server):
    judge = judge_make(batch_endpoint(server), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=60))
    run()
    batch = RequestBatch.objects.get()
    assert set(RunRange.objects.values_list("owner", flat=True)) == {""}
    assert set(ModelRequest.objects.values_list("owner", "state")) == {(batch.key, "claimed")}
    assert run().n_runs == 0
    assert Judgment.objects.count() == 0
    assert server.stats()["requests"] == 0
    progress = go_on(sweep)
    assert (progress.state, progress.n_done, progress.n_requests, progress.n_shared) == (
        "finished",
        120,
        120,
        0,
    )


def killed_at(server, stage, *, seconds=60):
    """Let a process do what is due for batches, and kill it where the vendor has done its part and not replied."""
    server.batches.stalled = stage
    before = server.batches.n_stalled
    process = process_start("-c", WORKING)
    try:
        wait_for(lambda: server.batches.n_stalled > before, seconds)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        server.batches.stalled = ""
    RequestBatch.objects.update(lease_until=timezone.now() - timedelta(seconds=1))


WORKING = """
import django
django.setup()
from judges.engine.batch_work import batches_work
from tests.judges.engine.test_batches import AT_ONCE
for _ in range(10):
    batches_work(times=AT_ONCE)
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_worker_killed_while_it_submits_or_reads_loses_and_pays_nothing_twice(server, kind):
    judge = judge_make(batch_endpoint(server, kind), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=20))
    run()
    killed_at(server, "create")
    batch = RequestBatch.objects.get()
    assert (batch.state, batch.remote, server.batches.created) == ("submitting", "", 1)
    killed_at(server, "results")
    assert Judgment.objects.count() == 0
    progress = go_on(sweep)
    assert (progress.state, progress.n_done, progress.n_failed, progress.n_requests) == (
        "finished",
        40,
        0,
        40,
    )
    assert server.batches.created == 1
    assert set(server.batches.answered.values()) == {1}
    assert RequestBatch.objects.count() == 1
    assert progress.cost == pytest.approx(sum(Judgment.objects.values_list("cost", flat=True)))


def test_another_batch_of_as_many_requests_is_not_taken_for_ours(server):
    """Anthropic's batches have no key of ours: only the custom ids of the results tell."""
    judge = judge_make(batch_endpoint(server, "anthropic"), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=3))
    run()
    # Somebody else's, at the same time and of the same size.
    message = {"model": "mock-longer", "max_tokens": 5, "messages": [{"role": "user", "content": "A or B?"}]}
    others = [{"custom_id": f"another-{k}", "params": message} for k in range(6)]
    status, _ = server.batches.anthropic_make(json.dumps({"requests": others}).encode(), server.url)
    assert status == 200
    # A worker that was killed before it could ask for ours.
    RequestBatch.objects.update(state="submitting", submitting_at=timezone.now())
    progress = go_on(sweep)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 6, 0)
    assert server.batches.created == 2
    assert len(RequestBatch.objects.get().rejected) == 1


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_what_expired_is_asked_again_by_itself_and_fails_after_three_batches(server, kind):
    judge = judge_make(batch_endpoint(server, kind), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=8))
    server.batches.mode = "expire"
    progress = go_on(sweep)
    # Half of sixteen, half of what is left, and so on; whatever has been in three batches has failed.
    sizes = list(RequestBatch.objects.order_by("created_at").values_list("n_requests", flat=True))
    assert sizes == [16, 8, 4]
    assert set(server.batches.answered.values()) == {1}
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 16, 2)
    assert ModelRequest.objects.filter(state="done").count() == 14
    server.batches.mode = ""


@pytest.mark.parametrize(
    ("kind", "model"), [("openai", "mock-400-long-10"), ("anthropic", "mock-400-long-10")]
)
def test_a_refused_request_fails_once_and_the_batch_goes_on(server, kind, model):
    judge = judge_make(batch_endpoint(server, kind), model)
    progress = go_on(sweep_make([judge], dataset_make(pairs=2)))
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 4, 4)
    assert server.batches.created == 1
    assert "maximum context length" in progress.errors[0].message


def test_a_failure_that_may_pass_is_asked_again(server):
    judge = judge_make(batch_endpoint(server), "mock-500-once")
    progress = go_on(sweep_make([judge], dataset_make(pairs=2)))
    assert (progress.state, progress.n_done, progress.n_failed, progress.n_requests) == ("finished", 4, 0, 4)
    assert server.batches.created == 2


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_cancelled_sweep_cancels_its_batch_and_can_be_resumed(server, kind):
    judge = judge_make(batch_endpoint(server, kind), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=4))
    run()
    batches_work(times=AT_ONCE)
    assert sweep_cancel(sweep=sweep)
    for _ in range(4):
        batches_work(times=AT_ONCE)
    assert server.batches.cancelled == 1
    assert not RequestBatch.objects.filter(ended_at=None).exists()
    assert server.batches.answered == {}
    sweep_resume(sweep=sweep)
    progress = go_on(sweep)
    assert (progress.state, progress.n_done, progress.n_requests) == ("finished", 8, 8)
    assert set(server.batches.answered.values()) == {1}


def test_a_cancelled_sweep_submits_no_batch(server):
    judge = judge_make(batch_endpoint(server), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=4))
    run()
    assert sweep_cancel(sweep=sweep)
    batches_work(times=AT_ONCE)
    assert server.batches.created == 0
    assert not ModelRequest.objects.exists()


def test_a_refused_batch_stops_its_judge_with_the_reason(server):
    judge = judge_make(batch_endpoint(server), "mock-longer")
    sweep = sweep_make([judge], dataset_make(pairs=4))
    server.batches.mode = "refuse"
    progress = go_on(sweep)
    assert progress.state == "failed"
    assert "the mock refused it" in progress.message
    server.batches.mode = ""
    sweep_resume(sweep=sweep)
    assert go_on(sweep).n_done == 8


def test_a_strategy_of_several_turns_takes_a_batch_a_turn(server):
    judge = judge_make(batch_endpoint(server), "mock-longer", strategy="metrics_reference")
    progress = go_on(sweep_make([judge], dataset_make(pairs=4)))
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 8, 0)
    assert server.batches.created >= 2
    assert set(server.batches.answered.values()) == {1}
    assert sum(server.batches.answered.values()) == progress.n_requests


def test_a_batch_is_no_larger_than_the_budget_allows(server):
    decoding = {"max_tokens": 100}
    judge = judge_make(batch_endpoint(server), "mock-longer", decoding=decoding)
    sweep = sweep_make([judge], dataset_make(pairs=20), budget_tokens=3000)
    progress = go_on(sweep)
    assert progress.state == "paused"
    assert "budget of 3,000 tokens is reached" in progress.message
    assert 0 < progress.n_tokens <= 3000
    assert not BudgetReservation.objects.exists()
    sweep_resume(sweep=sweep, budget_tokens=10**6)
    progress = go_on(sweep)
    assert (progress.state, progress.n_done) == ("finished", 40)
    assert set(server.batches.answered.values()) == {1}


def test_large_runs_are_cut_into_batches_and_shared_requests_are_asked_once(server):
    endpoint = batch_endpoint(server)
    dataset = dataset_make(pairs=30)
    judges = [judge_make(endpoint, "mock-longer", name=name, strategy=s) for name, s in JUDGES]
    sweep = sweep_make(judges, dataset)
    run(options=replace(QUICK, batch_requests=16, range_items_in_batches=20))
    assert max(RequestBatch.objects.values_list("n_requests", flat=True)) <= 16
    progress = go_on(sweep)
    assert (progress.state, progress.n_done) == ("finished", 120)
    assert set(server.batches.answered.values()) == {1}


JUDGES = [("one", "vanilla"), ("two", "cot")]


def test_a_key_that_is_refused_keeps_the_batch_and_says_so(server, monkeypatch):
    monkeypatch.setenv("MODEL_KEY_VARIABLES", "SOME_KEY")
    monkeypatch.setenv("SOME_KEY", "right")
    server.api_key = "right"
    judge = judge_make(batch_endpoint(server, api_key_env="SOME_KEY"), "mock-longer")
    sweep_make([judge], dataset_make(pairs=2))
    run()
    batches_work(times=AT_ONCE)
    monkeypatch.setenv("SOME_KEY", "wrong")
    batches_work(times=AT_ONCE)
    batch = RequestBatch.objects.get()
    assert batch.ended_at is None
    assert batch.remote
    assert "access was refused" in batch.error
    assert "wrong" not in batch.error

"""Requests that runs of two sweeps, or two workers, wait for: nobody waits for ever, and nothing spent is lost."""

import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from judges.backends.errors import TransientBackendError
from judges.backends.instant import InstantBackend
from judges.models import Judgment, ModelRequest, Sweep
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import sweep_cancel, sweep_resume
from judges.strategies.types import Answer
from tests.annotation.factories import dataset_make
from tests.judges.props import QUICK, endpoint_make, judge_make, run, sweep_make, worker_make

pytestmark = pytest.mark.django_db(transaction=True)

PRICED = Answer("A", prompt_tokens=9, completion_tokens=1, cost=0.25)


class Held(InstantBackend):
    """Hands its answers out when it is told to."""

    def __init__(self, respond, released: Callable[[], bool], capacity: int = 8) -> None:
        super().__init__(respond, capacity=capacity, name="test")
        self.released = released

    def drain(self, timeout):
        if self.released():
            return super().drain(timeout)
        time.sleep(min(timeout, 0.01))
        return []


def within(seconds: float) -> Callable[[], bool]:
    """What tells a session to stop, should it not end by itself."""
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() > deadline


def test_a_spent_budget_of_one_sweep_holds_up_no_other():
    dataset = dataset_make(pairs=6)
    judge = judge_make(endpoint_make())
    poor = sweep_make([judge], dataset, budget_tokens=30)
    rich = sweep_make([judge], dataset)
    report = run(
        backends=lambda *_: InstantBackend(lambda _: PRICED, capacity=4, name="test"),
        options=replace(QUICK, lookahead=100, cancel_grace=0.1),
        stop=within(100),
    )
    assert not report.was_stopped
    assert sweep_progress(poor.pk).state == "paused"
    assert sweep_progress(rich.pk).state == "finished"
    assert Judgment.objects.filter(judge=judge).count() == 12


@pytest.mark.parametrize("grace", [0.05, 5.0])
def test_what_a_cancelled_sweep_sent_is_paid_by_the_one_that_waits_for_it(grace):
    judge = judge_make(endpoint_make(price_input=1))
    dataset = dataset_make(pairs=1)
    first, second = (sweep_make([judge], dataset, budget=Decimal(1)) for _ in range(2))
    ticks: list[None] = []

    def on_tick():
        ticks.append(None)
        if len(ticks) == 5:
            sweep_make([judge_make()], dataset)  # without a model: its judgments are written at once
        if len(ticks) == 10:
            sweep_cancel(sweep=Sweep.objects.get(pk=first.pk))

    report = run(
        backends=lambda *_: Held(lambda _: PRICED, lambda: len(ticks) > 20),
        options=replace(QUICK, cancel_grace=grace),
        on_tick=on_tick,
        stop=within(100),
    )
    assert not report.was_stopped
    assert sweep_progress(first.pk).state == "cancelled"
    assert sweep_progress(second.pk).state == "finished"
    assert Judgment.objects.filter(judge=judge).count() == 2
    spent = [sum(each.cost for each in sweep.runs.all()) for sweep in (first, second)]
    assert sum(spent) == pytest.approx(0.25 * ModelRequest.objects.count())


def test_what_a_paused_judge_of_several_steps_used_is_counted():
    """Tokens of a first answer count though its work goes no further."""
    judge = judge_make(endpoint_make(), strategy="metrics")
    sweep = sweep_make([judge], dataset_make(pairs=1), budget_tokens=1000, orders="original")
    ticks: list[None] = []

    def on_tick():
        ticks.append(None)
        if len(ticks) == 3:
            sweep_make([judge_make()], sweep.datasets.get())
        if len(ticks) == 6:
            sweep_cancel(sweep=Sweep.objects.get(pk=sweep.pk))

    answer = Answer("1. It does.", prompt_tokens=90, completion_tokens=10)
    run(
        backends=lambda *_: Held(lambda _: answer, lambda: len(ticks) > 10), on_tick=on_tick, stop=within(100)
    )
    assert ModelRequest.objects.get().state == "done"
    assert sweep_progress(sweep.pk).n_tokens == 100


def test_a_request_that_another_worker_has_tells_nothing_of_an_endpoint_that_is_down():
    """Otherwise two workers, each with a request whose attempts are used up, wait for one another for ever."""
    judge, dataset = judge_make(endpoint_make()), dataset_make(pairs=1)
    sweep_make([judge], dataset)
    run(backends=lambda *_: InstantBackend(capacity=8, name="test"))
    Judgment.objects.all().delete()
    Sweep.objects.all().delete()
    ours, theirs = ModelRequest.objects.order_by("hash")
    ours.delete()
    worker_make("another worker", seconds=3600)
    ModelRequest.objects.update(state="claimed", owner="another worker", answer=None)
    sweep = sweep_make([judge], dataset)
    down = TransientBackendError("connection refused")
    report = run(
        backends=lambda *_: InstantBackend(lambda _: down, capacity=8, name="test"),
        options=replace(QUICK, cancel_grace=0.1),
        stop=within(100),
    )
    assert not report.was_stopped
    progress = sweep_progress(sweep.pk)
    assert (progress.state, "connection refused" in progress.message) == ("failed", True)
    assert ModelRequest.objects.get(pk=theirs.pk).owner == "another worker"


def test_a_long_pause_that_stopped_a_sweep_is_forgotten_when_it_is_resumed():
    judge, dataset = judge_make(endpoint_make()), dataset_make(pairs=1)
    other = judge_make(endpoint_make("http://127.0.0.1:10/v1"))
    sweep = sweep_make([judge], dataset)
    busy = sweep_make([other], dataset_make(pairs=1))
    refusals = [TransientBackendError("come back later", status=429, retry_after=3600.0)] * 2
    resumed: list[None] = []

    def on_tick():
        row = Sweep.objects.get(pk=sweep.pk)
        if row.state == "failed" and not resumed:
            resumed.append(None)
            sweep_resume(sweep=row)

    def backend(endpoint, model):
        if endpoint.pk == judge.endpoint_id:
            return InstantBackend(lambda _: refusals.pop() if refusals else "A", capacity=8, name="one")
        done = Sweep.objects.filter(pk=sweep.pk, state="finished")
        return Held(lambda _: "A", done.exists, capacity=8)

    report = run(
        backends=backend, options=replace(QUICK, cancel_grace=0.1), on_tick=on_tick, stop=within(100)
    )
    assert not report.was_stopped
    assert [sweep_progress(each.pk).state for each in (sweep, busy)] == ["finished", "finished"]

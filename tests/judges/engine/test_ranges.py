"""A run is taken range by range: all workers are at one judge, no item is missed, none is taken twice."""

import os
import signal
from dataclasses import replace

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat

from annotation.models import Item
from judges.backends.mock_server import running_mock_server
from judges.engine import leases, store
from judges.models import Generation, Judgment, RunRange, SweepRun
from judges.selectors.sweeps import sweep_progress
from judges.services.sweeps import sweep_pause, sweep_resume
from tests.annotation.factories import dataset_make
from tests.judges.props import (
    QUICK,
    endpoint_make,
    judge_make,
    leases_run_out,
    run,
    run_instant,
    sweep_make,
    wait_for,
    workers_together,
)
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True)]

SMALL = replace(QUICK, range_items=7)


def claims(owner, **options):
    store.worker_keep(owner=owner, lease=60)
    return [*iter(lambda: leases.range_claim(owner=owner, options=SMALL, busy={}, **options), None)]


@pytest.mark.both_databases
def test_workers_that_claim_at_once_get_every_item_once():
    dataset = dataset_make(pairs=60)
    sweep_make([judge_make(endpoint_make())], dataset)
    taken = [row for rows in all_at_once(lambda k: claims(f"worker {k}"), range(4)) for row in rows]
    keys = sorted(Item.objects.filter(dataset=dataset).values_list("pk", flat=True))
    found = [
        key for row in taken for key in keys if row.first <= key and (row.last is None or key <= row.last)
    ]
    assert sorted(found) == keys
    assert len(taken) == 9
    assert max(sum(row.first <= key <= (row.last or key) for key in keys) for row in taken) == 7


@pytest.mark.parametrize("what", ["pairs", "generations", "some categories", "a sample"])
def test_one_worker_goes_through_all_ranges(what):
    dataset = dataset_make(pairs=30)
    judge = judge_make(endpoint_make(), strategy="generate" if what == "generations" else "vanilla")
    part = {"some categories": {"categories": ["Brainstorm"]}, "a sample": {"sample_size": 11}}.get(what, {})
    sent = []
    sweep = sweep_make([judge], dataset, **part)
    run_instant(lambda wire: sent.append(wire) or "A", options=SMALL)
    progress = sweep_progress(sweep.pk)
    table = Generation if what == "generations" else Judgment
    assert (progress.state, progress.n_done) == ("finished", progress.n_total)
    assert progress.n_total == table.objects.count() == len(set(sent)) == len(sent)
    assert not RunRange.objects.exists()
    assert SweepRun.objects.get().n_started == 0


@pytest.mark.both_databases
def test_ranges_of_a_dead_worker_are_taken_by_others():
    sweep = sweep_make([judge_make(endpoint_make())], dataset_make(pairs=20))
    assert len(claims("dead")) == 3
    assert not leases.ranges_open().exists()
    assert run().n_runs == 0
    leases_run_out()
    run_instant("A", options=SMALL)
    assert sweep_progress(sweep.pk).state == "finished"
    assert Judgment.objects.count() == 40


def test_items_that_come_in_while_it_is_judged_are_judged_too():
    dataset = dataset_make(pairs=10)
    sweep = sweep_make([judge_make(endpoint_make(max_concurrency=1))], dataset)
    other = dataset_make(pairs=4)

    def respond(wire):
        # Their keys are behind the last range, which is open to the end.
        Item.objects.filter(dataset=other).update(
            dataset=dataset, position=F("position") + 100, external_id=Concat(Value("x"), F("external_id"))
        )
        return "A"

    run_instant(respond, options=SMALL)
    assert sweep_progress(sweep.pk).state == "finished"
    assert Judgment.objects.count() == 28


def test_a_paused_run_is_one_range_again_when_it_is_resumed():
    sweep = sweep_make([judge_make(endpoint_make(max_concurrency=1))], dataset_make(pairs=30))

    def respond(wire):
        if Judgment.objects.count() > 10:
            sweep_pause(sweep=sweep)
        return "A"

    run_instant(respond, options=replace(SMALL, tick=0.0))
    assert sweep_progress(sweep.pk).state == "paused"
    assert not RunRange.objects.exclude(owner="").exists()
    sweep_resume(sweep=sweep)
    assert list(RunRange.objects.values_list("first", "last")) == [(0, None)]
    run_instant("A", options=SMALL)
    assert Judgment.objects.count() == 60


@pytest.mark.both_databases
@pytest.mark.long
def test_workers_share_one_judge_and_a_killed_one_costs_only_what_it_had_in_flight():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=12), "mock-slow-40")
        sweep = sweep_make([judge], dataset_make(pairs=200))
        with workers_together(3) as workers:
            wait_for(lambda: RunRange.objects.exclude(owner="").values("owner").distinct().count() == 3)
            wait_for(lambda: Judgment.objects.count() >= 60)
            os.killpg(workers[0].pid, signal.SIGKILL)
            for worker in workers[1:]:
                output, _ = worker.communicate(timeout=120)
                assert worker.returncode == 0, output
        leases_run_out()
        run()
        stats = server.stats()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 400, 0)
    assert stats["distinct"] == Judgment.objects.count() == 400
    assert stats["repeated"] <= 12 + 16
    assert not RunRange.objects.exists()

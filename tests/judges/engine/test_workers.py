"""Several workers, killed workers, cancelled sweeps, doubled messages."""

import os
import signal
import threading
import time

import pytest
from django.db import connection
from django.db.models import F

from judges.backends.instant import InstantBackend
from judges.backends.mock_server import running_mock_server
from judges.engine import leases, store
from judges.models import Generation, Judgment, ModelRequest, RunRange, Sweep, SweepRun
from judges.selectors.sweeps import sweep_progress
from judges.services.judges import ModelChoice
from judges.services.sweeps import sweep_cancel, sweep_resume
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
    worker_make,
    worker_start,
)
from tests.races import all_at_once

pytestmark = [pytest.mark.django_db(transaction=True)]


def finish(*processes, seconds=120):
    for process in processes:
        output, _ = process.communicate(timeout=seconds)
        assert process.returncode == 0, output


@pytest.mark.both_databases
@pytest.mark.long
def test_a_killed_worker_loses_and_repeats_nothing_but_what_was_in_flight():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=4), "mock-slow-40")
        sweep = sweep_make([judge], dataset_make(pairs=150))
        worker = worker_start()
        try:
            wait_for(lambda: Judgment.objects.count() >= 60)
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
        answered = ModelRequest.objects.filter(state="done").count()
        # What the worker had sent may still be on its way through the sockets.
        before = settled(server)
        assert 60 <= answered < 300
        assert before["repeated"] == 0
        # Nobody can take up what it had before its time has run out; then it goes on. The rest of the run is free.
        run()
        assert not leases.ranges_open().exists()
        assert RunRange.objects.exists()
        leases_run_out()
        assert leases.ranges_open().exists()
        run()
        after = server.stats()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done) == ("finished", 300)
    assert after["distinct"] == 300
    # Sent again: only what the dead worker had sent and whose answer it had not stored.
    assert after["repeated"] <= before["requests"] - answered
    assert before["requests"] - answered <= 4 + 16  # in flight, and arrived but not yet written
    assert after["requests"] == before["requests"] + 300 - answered


def members_make(*urls):
    """Two judges with models of their own, at one endpoint each."""
    return {
        f"member {k}": judge_make(endpoint_make(url, max_concurrency=4), "mock-slow-20")
        for k, url in enumerate(urls)
    }


def settled(server):
    """Return the server's counts once nothing has arrived for a while."""
    counts = server.stats()
    while True:
        time.sleep(0.5)
        now = server.stats()
        if now == counts:
            return now
        counts = now


@pytest.mark.parametrize("what", ["jury", "roles", "contestant"])
def test_a_killed_worker_with_several_routes_or_generations_repeats_only_what_was_in_flight(what):
    with running_mock_server() as one, running_mock_server() as two:
        endpoint = endpoint_make(one.url, max_concurrency=4)
        if what == "jury":
            judge = judge_make(strategy="jury", members=members_make(one.url, two.url))
        elif what == "roles":
            systems = {f"secret-system-{k}": s.url for k, s in enumerate((one, two))}
            roles = {
                name: ModelChoice(endpoint_make(url, max_concurrency=4), "mock-slow-20")
                for name, url in systems.items()
            }
            judge = judge_make(strategy="perplexity_reference", roles=roles)
        else:
            sampling = {"temperature": 1.0, "seed": 1}
            judge = judge_make(endpoint, "mock-slow-20", strategy="generate", decoding=sampling)
        dataset = dataset_make(pairs=80)
        dataset.instructions.update(reference=F("text"))
        sweep = sweep_make([judge], dataset, samples=2)
        table = Generation if what == "contestant" else Judgment
        worker = worker_start()
        try:
            wait_for(lambda: table.objects.count() >= 30)
        finally:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()
        answered = ModelRequest.objects.filter(state="done").count()
        before = [settled(server) for server in (one, two)]
        assert not any(stats["repeated"] for stats in before)
        assert table.objects.count() < 160
        leases_run_out()
        finish(worker_start(), worker_start())
        after = [server.stats() for server in (one, two)]
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 160, 0)
    assert table.objects.count() == 160
    # A likelihood takes more than one request of the protocol.
    sent = sum(stats["requests"] for stats in before)
    in_flight = 2 * (4 + 16) * 3 if what == "roles" else sent - answered
    assert sum(stats["repeated"] for stats in after) <= in_flight <= 2 * (4 + 16) * 3
    if what != "roles":
        assert sum(stats["distinct"] for stats in after) == ModelRequest.objects.filter(state="done").count()


@pytest.mark.both_databases
def test_two_workers_share_a_sweep_and_its_requests():
    with running_mock_server() as server:
        endpoint = endpoint_make(server.url, max_concurrency=4)
        judges = [
            judge_make(endpoint, "mock-slow-10", strategy=strategy, prompt=prompt)
            for prompt in ("vanilla.v1", "rules.v1")
            for strategy in ("vanilla", "rules")
        ]
        sweep = sweep_make(judges, dataset_make(pairs=60))
        finish(worker_start(), worker_start())
        stats = server.stats()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done) == ("finished", 480)
    # Each of the two prompts is asked for by two judges, and each request is sent once.
    assert (stats["requests"], stats["repeated"]) == (240, 0)
    assert (progress.n_requests, progress.n_shared) == (240, 240)
    assert Judgment.objects.count() == 480


@pytest.mark.both_databases
def test_a_request_that_another_worker_has_is_waited_for():
    judge = judge_make(endpoint_make())
    dataset = dataset_make(pairs=1)
    sweep_make([judge], dataset, orders="original")
    # Run it once to have the request's row, then pretend that somebody else is at it.
    run_instant("B")
    Judgment.objects.all().delete()
    Sweep.objects.all().delete()
    ModelRequest.objects.update(state="claimed", owner="somebody", answer=None)
    worker_make("somebody")
    sweep = sweep_make([judge], dataset, orders="original")

    def answer_later():
        time.sleep(0.3)
        ModelRequest.objects.update(state="done", answer={"text": "A"})
        connection.close()

    other = threading.Thread(target=answer_later)
    other.start()
    run_instant(lambda wire: pytest.fail("sent"))
    other.join()
    progress = sweep_progress(sweep.pk)
    assert (progress.n_done, progress.n_requests, progress.n_shared) == (1, 0, 1)
    assert Judgment.objects.get().raw_text == "A"


@pytest.mark.both_databases
def test_a_claim_whose_lease_ran_out_is_taken_over():
    judge = judge_make(endpoint_make())
    dataset = dataset_make(pairs=1)
    sweep_make([judge], dataset, orders="original")
    run_instant("A")
    Judgment.objects.all().delete()
    Sweep.objects.all().delete()
    ModelRequest.objects.update(state="claimed", owner="dead", answer=None)
    worker_make("dead", seconds=-1)
    sweep = sweep_make([judge], dataset, orders="original")
    run_instant("B")
    assert sweep_progress(sweep.pk).n_requests == 1
    assert Judgment.objects.get().raw_text == "B"
    assert ModelRequest.objects.get().owner != "dead"


@pytest.mark.both_databases
def test_cancelling_stops_at_once_and_resuming_goes_on():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=4), "mock-slow-50")
        sweep = sweep_make([judge], dataset_make(pairs=100))
        sent_before = []

        def cancel():
            if not sent_before and Judgment.objects.count() >= 8:
                assert sweep_cancel(sweep=Sweep.objects.get(pk=sweep.pk))
                sent_before.append(server.stats()["requests"])

        run(on_tick=cancel)
        sweep.refresh_from_db()
        assert sweep.state == "cancelled"
        sent = server.stats()["requests"]
        # What was in flight has arrived and is kept; what was only claimed is given up.
        assert ModelRequest.objects.filter(state="done").count() == sent == Judgment.objects.count()
        assert not ModelRequest.objects.exclude(state="done").exists()
        assert not SweepRun.objects.exclude(owner="").exists()
        # At the same tick it is seen: no more than was claimed and had a place is sent.
        assert sent <= sent_before[0] + 4
        assert sweep_resume(sweep=sweep).changed
        run()
        assert server.stats()["repeated"] == 0
    assert sweep_progress(sweep.pk).n_done == 200


@pytest.mark.both_databases
def test_a_clean_stop_gives_everything_back_at_once():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=4), "mock-slow-20")
        sweep = sweep_make([judge], dataset_make(pairs=50))
        report = run(stop=lambda: Judgment.objects.count() >= 12)
        assert report.was_stopped
        assert sweep_progress(sweep.pk).state == "running"
        assert leases.ranges_open().exists()
        assert not ModelRequest.objects.filter(state="claimed").exists()
        run()
        assert server.stats()["repeated"] == 0
    assert sweep_progress(sweep.pk).state == "finished"


@pytest.mark.both_databases
def test_a_run_that_another_worker_took_is_let_go():
    judge = judge_make(endpoint_make(max_concurrency=1))
    sweep = sweep_make([judge], dataset_make(pairs=50))
    n_sent = 0

    def respond(wire):
        nonlocal n_sent
        n_sent += 1
        if n_sent == 3:
            worker_make("another")
            RunRange.objects.update(owner="another")
        time.sleep(0.01)
        return "A"

    run(backends=lambda *_: InstantBackend(respond, capacity=1))
    assert n_sent < 50
    assert SweepRun.objects.get(sweep=sweep).finished_at is None
    assert set(RunRange.objects.values_list("owner", flat=True)) == {"another"}


@pytest.mark.both_databases
def test_the_first_stored_answer_is_the_answer():
    judge = judge_make(endpoint_make(max_concurrency=1))
    sweep_make([judge], dataset_make(pairs=1), orders="original")

    def respond(wire):
        # While we were held up somebody took over our claim, and stored another answer.
        ModelRequest.objects.update(state="done", answer={"text": "B"}, owner="quicker")
        return "A"

    run_instant(respond)
    assert Judgment.objects.get().raw_text == "B"


@pytest.mark.both_databases
def test_claims_are_won_by_one():
    one, two = "f" * 64, "e" * 64
    worker_make("one")
    worker_make("two")
    assert store.requests_claim([(one, None, None)], owner="one") == 1
    assert store.requests_claim([(one, None, None), (two, None, None)], owner="two") == 1
    assert ModelRequest.objects.get(pk=one).owner == "one"
    assert store.requests_take_over([one], owner="two") == set()
    store.requests_release([(one, 1)], owner="one")
    assert store.requests_take_over([one], owner="two") == {one}
    store.requests_release([(one, 0)], owner="two")
    assert set(ModelRequest.objects.values_list("hash", flat=True)) == {two}
    store.worker_end(owner="two")
    assert store.requests_take_over([two], owner="one") == {two}


@pytest.mark.both_databases
def test_many_threads_claim_each_run_once():
    judges = [judge_make(endpoint_make(), f"mock-longer-0.{k + 10}") for k in range(12)]
    sweep_make(judges, dataset_make(pairs=1))

    def claim(number):
        store.worker_keep(owner=f"worker {number}", lease=60)
        return [*iter(lambda: leases.range_claim(owner=f"worker {number}", options=QUICK, busy={}), None)]

    claimed = [row.pk for rows in all_at_once(claim, range(6)) for row in rows]
    assert sorted(claimed) == sorted(set(claimed))
    assert len(claimed) == 12


def test_models_in_the_worker_are_loaded_one_after_the_other():
    """Two models at one endpoint may not fit together; two judges of one model keep it busy side by side."""
    endpoint = endpoint_make("", kind="vllm", queue="gpu", max_concurrency=2)
    dataset = dataset_make(pairs=20)
    judges = [
        judge_make(endpoint, model, strategy=strategy)
        for model in ("small", "large")
        for strategy in ("vanilla", "rules")
    ]
    sweep = sweep_make(judges, dataset)
    events = []

    class Engine(InstantBackend):
        def __init__(self, model):
            self.model = model
            events.append(("load", model))
            super().__init__(lambda wire: events.append(("ask", wire.model)) or "A", capacity=2)

        def close(self):
            events.append(("close", self.model))
            super().close()

    run(backends=lambda _, model: Engine(model.model))
    assert sweep_progress(sweep.pk).state == "finished"
    loaded = None
    for what, model in events:
        if what == "load":
            assert loaded is None
            loaded = model
        elif what == "close":
            loaded = None
        else:
            assert model == loaded
    asked = [model for what, model in events if what == "ask"]
    first, second = dict.fromkeys(asked)  # by the names of judges, which are numbered: "10" is before "9"
    assert asked == [first] * 80 + [second] * 80

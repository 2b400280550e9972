"""The wake-up task: doubled, lost and late messages, and a real Celery worker on Redis."""

import os
import signal
import time
from datetime import timedelta
from io import StringIO

import pytest
from celery import Celery
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Assignment
from annotation.services.assignments import assignment_claim
from judges import tasks
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment, Sweep, WorkerHeartbeat
from judges.selectors.sweeps import sweep_progress
from tests.annotation.factories import dataset_make, enrollment_make, study_make
from tests.judges.props import endpoint_make, judge_make, process_start, sweep_make, wait_for
from tests.races import all_at_once
from tests.services import start_redis

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_wake_up_does_what_is_to_be_done_and_a_second_one_nothing():
    sweep = sweep_make([judge_make()], dataset_make(pairs=3))
    assert tasks.wake()
    assert sweep_progress(sweep.pk).state == "finished"
    assert tasks.wake()
    assert Judgment.objects.count() == 6


def test_doubled_wake_ups_at_the_same_time_do_the_work_once():
    with running_mock_server() as server:
        sweep = sweep_make([judge_make(endpoint_make(server.url), "mock-slow-20")], dataset_make(pairs=20))
        assert sorted(all_at_once(lambda _: tasks.wake(), range(4))) == [False, False, False, True]
        assert server.stats()["requests"] == server.stats()["distinct"] == 40
    assert sweep_progress(sweep.pk).n_done == 40


def test_housekeeping_is_done_and_its_mistakes_stop_nothing(monkeypatch, caplog):
    done = []

    def broken():
        raise RuntimeError("a mistake")

    monkeypatch.setattr(tasks, "HOUSEKEEPING", [broken, lambda: done.append(1)])
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    tasks.wake()
    assert done == [1]
    assert "Housekeeping failed" in caplog.text
    assert sweep_progress(sweep.pk).state == "finished"


def test_what_was_kept_is_removed_now_and_then_not_at_each_wake_up(monkeypatch):
    times, clock = [], time.monotonic
    monkeypatch.setattr(tasks, "TIDYING", [lambda: times.append(tasks.time.monotonic())])
    for later in (10_000, 10_000 + tasks.TIDY_EVERY / 2, 10_000 + tasks.TIDY_EVERY):
        monkeypatch.setattr(tasks.time, "monotonic", lambda later=later: clock() + later)
        tasks.wake()
    assert len(times) == 2
    assert times[1] - times[0] >= tasks.TIDY_EVERY


def test_places_of_people_who_went_away_are_given_back():
    study = study_make(pairs=1, overlap=1)
    assignment = assignment_claim(enrollment=enrollment_make(study=study))
    Assignment.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    tasks.wake()
    assignment.refresh_from_db()
    assert assignment.state == "expired"
    assert study.study_items.get().n_open == 0


def test_a_process_that_shuts_down_starts_nothing():
    sweep = sweep_make([judge_make()], dataset_make(pairs=1))
    tasks.stop_request()
    try:
        tasks.wake()
    finally:
        tasks.stop_request(stop=False)
    assert sweep_progress(sweep.pk).n_done == 0


@pytest.mark.redis
@pytest.mark.both_databases
def test_a_celery_worker_on_redis_runs_a_sweep_and_shuts_down_cleanly():
    broker = start_redis()
    worker = process_start(
        *("-m", "celery", "-A", "config", "worker", "--pool=prefork", "-c", "2", "--without-mingle"),
        *("--without-gossip", "-l", "ERROR"),
        CELERY_BROKER_URL=broker,
        # Only messages wake it up, so that they are what is tested.
        WAKE_UP_SECONDS="3600",
        C_FORCE_ROOT="1",
    )
    client = Celery(broker=broker, set_as_current=False)
    try:
        with running_mock_server() as server:
            wait_for(lambda: bool(client.control.ping(timeout=0.3)))
            beat = WorkerHeartbeat.objects.get()
            assert (beat.queues, beat.n_processes, beat.stopped_at) == (["cpu", "gpu", "http"], 2, None)
            endpoint = endpoint_make(server.url, max_concurrency=4)
            first = sweep_make([judge_make(endpoint, "mock-slow-10")], dataset_make(pairs=10))
            client.send_task("judges.wake", queue="http")
            client.send_task("judges.wake", queue="http")
            wait_for(lambda: sweep_progress(first.pk).state == "finished")
            assert server.stats()["requests"] == server.stats()["distinct"] == 20
            # The signal reaches the pool's child in the middle of a sweep: it gives back what it has.
            second = sweep_make([judge_make(endpoint, "mock-slow-50")], dataset_make(pairs=300))
            client.send_task("judges.wake", queue="http")
            wait_for(lambda: sweep_progress(second.pk).n_done >= 8)
            worker.send_signal(signal.SIGTERM)
            output, _ = worker.communicate(timeout=90)
            assert worker.returncode == 0, output
            beat.refresh_from_db()
            assert beat.stopped_at is not None
            assert 0 < sweep_progress(second.pk).n_done < 600
            assert {run.state for run in sweep_progress(second.pk).runs} == {"waiting"}
            assert server.stats()["repeated"] == 0
    finally:
        client.close()
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()


def judges_of_queues(url):
    models = {"http": "mock-longer", "gpu": "mock-shorter"}
    return [judge_make(endpoint_make(url, queue=queue), model) for queue, model in models.items()]


@pytest.mark.redis
def test_an_idle_worker_gives_signs_of_life():
    broker = start_redis()
    worker = process_start(
        *("-m", "celery", "-A", "config", "worker", "-c", "1", "--without-mingle", "--without-gossip"),
        *("-l", "ERROR"),
        CELERY_BROKER_URL=broker,
        WAKE_UP_SECONDS="1",
        C_FORCE_ROOT="1",
    )
    try:
        wait_for(WorkerHeartbeat.objects.exists)
        first = WorkerHeartbeat.objects.get().beat_at
        wait_for(lambda: WorkerHeartbeat.objects.get().beat_at > first)
        # Where it was stopped without a word, nobody says that it was shut down.
        os.killpg(worker.pid, signal.SIGKILL)
        worker.communicate()
        assert WorkerHeartbeat.objects.get().stopped_at is None
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()


@pytest.mark.redis
def test_each_worker_takes_up_what_its_queue_is_for():
    broker = start_redis()
    client = Celery(broker=broker, set_as_current=False)

    def worker(queue):
        return process_start(
            *("-m", "celery", "-A", "config", "worker", "-Q", queue, "-c", "1", "-n", f"{queue}@%h"),
            *("--without-mingle", "--without-gossip", "-l", "ERROR"),
            CELERY_BROKER_URL=broker,
            WAKE_UP_SECONDS="3600",
            C_FORCE_ROOT="1",
        )

    workers = [worker("gpu")]
    try:
        with running_mock_server() as server:
            wait_for(lambda: bool(client.control.ping(timeout=0.3)))
            judges = judges_of_queues(server.url)
            sweep = sweep_make(judges, dataset_make(pairs=5))
            # The message for the other queue waits there.
            for queue in ("http", "gpu"):
                client.send_task("judges.wake", queue=queue)
            states = lambda: [each.state for each in sweep_progress(sweep.pk).runs]  # noqa: E731
            wait_for(lambda: states()[1] == "finished")
            assert states() == ["waiting", "finished"]
            workers.append(worker("http"))
            wait_for(lambda: states() == ["finished", "finished"])
            assert server.stats()["repeated"] == 0
    finally:
        client.close()
        for process in workers:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


@pytest.mark.parametrize(
    ("shared", "delivered", "queues"),
    [
        ((), "", None),
        ((), "gpu", ("gpu",)),
        ((), "celery", None),
        (("gpu", "cpu", "http"), "gpu", ("http", "cpu", "gpu")),
        (("gpu",), "gpu", ("gpu",)),
    ],
)
def test_a_lone_process_takes_up_all_that_its_worker_consumes(shared, delivered, queues):
    tasks.queues_share(shared)
    try:
        assert tasks.queues_of(delivered) == queues
    finally:
        tasks.queues_share(())


def test_run_sweep_can_leave_other_queues_to_others():
    with running_mock_server() as server:
        judges = judges_of_queues(server.url)
        sweep = sweep_make(judges, dataset_make(pairs=1), start=False)
        out = StringIO()
        call_command("run_sweep", str(sweep.pk), "--queue", "http", stdout=out)
    assert "The rest is for other workers." in out.getvalue()
    assert {run.queue: run.state for run in sweep_progress(sweep.pk).runs} == {
        "http": "finished",
        "gpu": "waiting",
    }


def test_run_sweep_shows_progress_and_finishes():
    sweep = sweep_make([judge_make(), judge_make(strategy="shortest")], dataset_make(pairs=3), start=False)
    out = StringIO()
    call_command("run_sweep", str(sweep.pk), stdout=out)
    assert "12 of 12 judgments (100%)" in out.getvalue()
    with pytest.raises(CommandError, match="There is no sweep 999"):
        call_command("run_sweep", "999")


def test_run_sweep_says_what_stopped_it():
    with running_mock_server() as server:
        sweep = sweep_make([judge_make(endpoint_make(server.url), "mock-401")], dataset_make(pairs=1))
        with pytest.raises(CommandError, match="access was refused"):
            call_command("run_sweep", str(sweep.pk), stdout=StringIO())


def test_run_sweep_stops_cleanly_on_an_interrupt():
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, max_concurrency=2), "mock-slow-20")
        sweep = sweep_make([judge], dataset_make(pairs=300), start=False)
        process = process_start("manage.py", "run_sweep", str(sweep.pk), "--every", "0.2")
        try:
            wait_for(lambda: Judgment.objects.count() >= 8)
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=20)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        assert process.returncode == 0, output
        assert "Nothing is lost" in output
        assert server.stats()["requests"] == Judgment.objects.count()
    assert Sweep.objects.get().state == "running"
    assert sweep_progress(sweep.pk).runs[0].state == "waiting"


def test_mock_openai_serves():
    process = process_start("manage.py", "mock_openai", "--port", "0")
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        from judges.services.endpoints import endpoint_try

        assert endpoint_try(endpoint=endpoint_make(url), model="mock-longer").text
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()

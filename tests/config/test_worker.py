"""The in-process worker: the same tasks without a broker, once a process, across restarts."""

import signal
import threading

import pytest

from config.worker import InProcessWorker, start_in_process_worker, stop_in_process_worker
from judges import tasks
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment
from judges.selectors.sweeps import sweep_progress
from tests.annotation.factories import dataset_make
from tests.judges.props import endpoint_make, judge_make, process_start, sweep_make, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

SITE = """
import signal, sys, time
import django
django.setup()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
from config.worker import start_in_process_worker
assert start_in_process_worker() is start_in_process_worker()
print("up", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.mark.both_databases
def test_it_runs_a_sweep_that_is_started_in_the_same_process():
    worker = InProcessWorker()
    worker.start()
    try:
        assert worker.wait_until_ready(20)
        sweep = sweep_make([judge_make(), judge_make(strategy="always_a")], dataset_make(pairs=5))
        wait_for(lambda: sweep_progress(sweep.pk).state == "finished")
        with running_mock_server() as server:
            sweep = sweep_make([judge_make(endpoint_make(server.url))], dataset_make(pairs=5))
            wait_for(lambda: sweep_progress(sweep.pk).state == "finished")
            assert server.stats()["requests"] == 10
    finally:
        assert worker.stop()
        tasks.stop_request(stop=False)


def test_it_is_started_once_and_not_beside_a_broker(settings):
    settings.IN_PROCESS_WORKER = False
    assert start_in_process_worker() is None
    settings.IN_PROCESS_WORKER = True
    worker = start_in_process_worker()
    try:
        assert worker is not None
        assert start_in_process_worker() is worker
        assert worker.wait_until_ready(20)
    finally:
        stop_in_process_worker()
        tasks.stop_request(stop=False)
    assert not [one for one in threading.enumerate() if one.name == "in-process-worker"]


def test_it_looks_once_at_each_wake_up_whatever_the_number_of_queues(monkeypatch, settings):
    """It shares a process with people's requests, and a look takes 18 ms of it."""
    settings.IN_PROCESS_WORKER = True
    woken: list[list[str]] = []
    monkeypatch.setattr(tasks, "wake_up", woken.append)
    worker = InProcessWorker()
    worker.start()
    try:
        assert worker.wait_until_ready(20)
    finally:
        assert worker.stop()
        tasks.stop_request(stop=False)
    try:
        assert woken == [[tasks.QUEUES[0]]]
        assert tasks.queues_of(tasks.QUEUES[0]) == tasks.QUEUES
    finally:
        tasks.queues_share(())


@pytest.mark.long
def test_a_restarted_site_goes_on_by_itself():
    with running_mock_server() as server:
        # The message of this start reaches nobody: the site finds the sweep by looking.
        judge = judge_make(endpoint_make(server.url, max_concurrency=2), "mock-slow-20")
        sweep = sweep_make([judge], dataset_make(pairs=60))
        site = process_start("-W", "error", "-c", SITE, WAKE_UP_SECONDS="1", CELERY_BROKER_URL="")
        try:
            wait_for(lambda: Judgment.objects.count() >= 8)
        finally:
            site.send_signal(signal.SIGTERM)
            output, _ = site.communicate(timeout=30)
        assert site.returncode == 0
        assert output == "up\n"
        assert sweep_progress(sweep.pk).runs[0].state != "running"
        done = Judgment.objects.count()
        assert done < 120

        site = process_start("-W", "error", "-c", SITE, WAKE_UP_SECONDS="1", CELERY_BROKER_URL="")
        try:
            wait_for(lambda: sweep_progress(sweep.pk).state == "finished")
            later = sweep_make([judge_make()], dataset_make(pairs=1))
            wait_for(lambda: sweep_progress(later.pk).state == "finished", 10)
        finally:
            site.send_signal(signal.SIGTERM)
            output, _ = site.communicate(timeout=30)
        assert (site.returncode, output) == (0, "up\n")
        assert server.stats()["requests"] == server.stats()["distinct"] == 120

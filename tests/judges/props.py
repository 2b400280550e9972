"""The props of the judging tests: endpoints, judges, sweeps, quick engine options, worker processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from annotation.models import Criterion, Dataset, Item, ItemResponse
from annotation.models.datasets import Aspect
from judges.backends.instant import InstantBackend
from judges.backends.wire import WireRequest, canonical_hash
from judges.engine.options import EngineOptions
from judges.engine.runner import SessionReport, run_pending
from judges.models import Endpoint, Judge, Sweep, SweepRun, Worker
from judges.services.judges import judge_create
from judges.services.sweeps import sweep_create, sweep_start
from tests.annotation.factories import dataset_make

ROOT = Path(__file__).resolve().parent.parent.parent
_numbers = count(1)

# A claim holds for longer than a worker stands still on a busy machine; `leases_run_out` does not wait for it.
QUICK = EngineOptions(
    lease=30.0,
    heartbeat=0.5,
    tick=0.05,
    max_attempts=4,
    backoff=0.01,
    poll=0.05,
    range_items=25,
    range_items_in_worker=10,
    cancel_grace=5.0,
    stop_grace=5.0,
)


def endpoint_make(url: str = "http://127.0.0.1:9/v1", **fields: Any) -> Endpoint:
    rules = {"name": f"endpoint-{next(_numbers)}", "base_url": url, "is_local": True, "timeout_seconds": 20}
    return Endpoint.objects.create(**(rules | fields))


def judge_make(endpoint: Endpoint | None = None, model: str = "mock-longer", **content: Any) -> Judge:
    content.setdefault("name", f"judge-{next(_numbers)}")
    content.setdefault("strategy", "vanilla" if endpoint else "longest")
    return judge_create(endpoint=endpoint, model=model if endpoint else "", **content)


def sweep_make(judges: list[Judge], *datasets: Dataset, start: bool = True, **fields: Any) -> Sweep:
    sweep = sweep_create(name=f"sweep {next(_numbers)}", judges=judges, datasets=datasets, **fields)
    return sweep_start(sweep=sweep).sweep if start else sweep


def run(**options: Any) -> SessionReport:
    return run_pending(**({"options": QUICK} | options))


def run_instant(respond: Any = "A", **options: Any) -> SessionReport:
    function = respond if callable(respond) else lambda wire: respond
    return run(backends=lambda *_: InstantBackend(function, capacity=8, name="test"), **options)


def database_url() -> str:
    """The URL of the test database, for a process of its own."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return os.environ["TOUCHSTONE_TEST_POSTGRES_URL"].replace("/postgres?", f"/{name}?")


def process_start(*command: str, **environment: str) -> subprocess.Popen[str]:
    """Start a Python process on the test database, in a session of its own. It hears Ctrl-C, also where these tests run
    in the background and do not.
    """
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ
        | {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings", "LOG_LEVEL": "ERROR"}
        | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


WORKER = """
import django
django.setup()
from tests.judges.props import run
run()
"""


def worker_start() -> subprocess.Popen[str]:
    """Start a process that works until there is nothing to take up."""
    return process_start("-c", WORKER)


WORKER_THAT_WAITS = """
import django
django.setup()
from tests.judges.props import run
print("ready", flush=True)
input()
run()
"""


@contextmanager
def workers_together(n: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Start `n` such processes that begin at the same moment, and leave none behind: on a busy machine, the first could
    else be done before the last has read its modules.
    """
    workers = [process_start("-c", WORKER_THAT_WAITS) for _ in range(n)]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        yield workers
    finally:
        for worker in workers:
            if worker.poll() is None:
                os.killpg(worker.pid, signal.SIGKILL)
            worker.communicate()


def leases_run_out() -> None:
    """Let the time pass that the claims of a killed worker hold."""
    past = timezone.now() - timedelta(seconds=1)
    SweepRun.objects.exclude(owner="").update(lease_until=past)
    Worker.objects.update(lease_until=past)


def worker_make(name: str, *, seconds: float = 60.0) -> Worker:
    """A worker that gave its last sign of life so that it holds for so long."""
    return Worker.objects.create(name=name, lease_until=timezone.now() + timedelta(seconds=seconds))


def wait_for(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s")


def kinds_dataset_make(n: int = 2) -> Dataset:
    """A dataset with `n` instructions, each with a reference, three aspects and one item of every kind."""
    dataset = dataset_make(pairs=n)
    Criterion.objects.create(
        dataset=dataset,
        key="helpful",
        question="How helpful is it?",
        options={str(value): f"option {value}" for value in range(5, 0, -1)},
        position=0,
    )
    pairs = list(dataset.items.order_by("position").select_related("instruction"))
    for k, pair in enumerate(pairs):
        instruction = pair.instruction
        instruction.reference = f"Sentence number {k}."
        instruction.context = "In English."
        instruction.conversation = [{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Hi."}]
        instruction.subset = "Natural" if k % 2 else "Adversarial/Neighbor"
        instruction.save()
        root = Aspect.objects.create(instruction=instruction, key="a0", text="A sentence.", position=0)
        for place in (1, 2):
            Aspect.objects.create(
                instruction=instruction, key=f"a{place}", text=f"Part {place}.", position=place, parent=root
            )
        responses = [link.response for link in pair.item_responses.order_by("position")]
        for kind, shown in (
            ("rubric", responses[:1]),
            ("checklist", responses[:1]),
            ("importance", []),
            ("answer_ranking", responses),
            ("classification", responses[:1]),
        ):
            item = Item.objects.create(
                dataset=dataset,
                instruction=instruction,
                external_id=f"{kind}-{k}",
                kind=kind,
                position=n + 10 * k,
            )
            for place, response in enumerate(shown):
                ItemResponse.objects.create(item=item, response=response, position=place)
    return dataset


def request_hash(wire: WireRequest, endpoint_identity: str) -> str:
    """The hash that the engine stores a request by."""
    return canonical_hash(wire.canonical_json(), endpoint_identity)

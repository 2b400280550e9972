"""One judge, several workers: what they gain, and how well they keep to a budget together.

Against a server that takes 200 ms an answer (`bench.slow_server`), on a private PostgreSQL (SQLite where none can be
started). A worker keeps 32 requests in flight, as one process whose time is the limit does; the run is cut
into sixteen ranges, as one of 40,000 items is.

Figures
-------
sharded_speedup_4 : time of one worker process over that of four, each until the run is finished (to reach: 3.5).
budget_overrun_requests : what four workers spent beyond a budget for a third of the requests, in requests (to reach: at
    most 4, one a worker).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAIRS, QUICK_PAIRS = 2_000, 240
WORKERS = 4
IN_FLIGHT = 32
RANGES = 16
MODEL = "slow"


def measure(database_url: str, folder: str, server_url: str, *, quick: bool = False) -> dict[str, float]:
    """Measure in this process and in workers of its own; the figures by name."""
    os.environ |= {
        "DATABASE_URL": database_url,
        "DATABASE_POOL_SIZE": "0",
        "TOUCHSTONE_VAR": folder,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
    }
    import django

    django.setup()
    from django.core.management import call_command

    from bench.engine import dataset_make
    from judges.models import Endpoint

    call_command("migrate", verbosity=0)
    pairs = QUICK_PAIRS if quick else PAIRS
    dataset = dataset_make(pairs)
    endpoint = Endpoint.objects.create(
        name="sharded",
        base_url=server_url,
        max_concurrency=WORKERS * IN_FLIGHT,
        price_input=100,
        price_output=100,
        is_local=True,
    )
    seconds = {}
    for n_workers in (1, WORKERS):
        seconds[n_workers], sweep = _sweep_seconds(dataset, endpoint, n_workers, pairs)
        if (state := _state(sweep)) != ("finished", 2 * pairs):
            raise AssertionError(f"{n_workers} workers: {state}")
    cost, n_requests = _spent(sweep)
    budget = Decimal(f"{cost / 3:.2f}")
    _, limited = _sweep_seconds(dataset, endpoint, WORKERS, pairs, budget=budget)
    over = _spent(limited)[0] - float(limited.budget)
    return {
        "sharded_speedup_4": seconds[1] / seconds[WORKERS],
        "sharded_seconds_1": seconds[1],
        "sharded_seconds_4": seconds[WORKERS],
        "budget_overrun_requests": max(over, 0.0) / (cost / n_requests),
        "budget_spent_share": _spent(limited)[0] / float(limited.budget),
    }


def _sweep_seconds(
    dataset: Any, endpoint: Any, n_workers: int, pairs: int, **fields: Any
) -> tuple[float, Any]:
    """Run a judge that nobody has run before; returns the time from the start signal until no worker finds more to do.

    Without the end of their processes, which takes four of them on two processors most of a second.
    """
    from judges.services.judges import judge_create
    from judges.services.sweeps import sweep_create, sweep_start

    name = f"{n_workers} workers {sorted(fields)}"
    judge = judge_create(
        name=name, strategy="vanilla", endpoint=endpoint, model=MODEL, decoding={"seed": hash(name) % 10_000}
    )
    sweep = sweep_create(name=name, judges=[judge], datasets=[dataset], **fields)
    sweep_start(sweep=sweep)
    workers = [_worker_start(pairs) for _ in range(n_workers)]
    for worker in workers:
        assert worker.stdout is not None
        if worker.stdout.readline().strip() != "ready":
            raise AssertionError(worker.communicate()[1])
    began = time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = [worker.stdout.readline() for worker in workers if worker.stdout is not None]
    seconds = time.perf_counter() - began
    for worker in workers:
        _, errors = worker.communicate()
        if worker.returncode:
            raise AssertionError(errors)
    assert done == ["done\n"] * n_workers, done
    sweep.refresh_from_db()
    return seconds, sweep


def _state(sweep: Any) -> tuple[str, int]:
    return sweep.state, sum(run.n_done for run in sweep.runs.all())


def _spent(sweep: Any) -> tuple[float, int]:
    runs = list(sweep.runs.all())
    return sum(run.cost for run in runs), sum(run.n_requests for run in runs)


def _worker_start(pairs: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.sharding", str(max(pairs // RANGES, 1))],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _work(range_items: int) -> None:
    import django

    django.setup()
    from django.db import connection

    import judges.backends.openai  # noqa: F401  (as in a worker that has been at work before)
    from judges.engine.options import EngineOptions
    from judges.engine.runner import run_pending

    connection.ensure_connection()
    print("ready", flush=True)
    sys.stdin.readline()
    run_pending(options=EngineOptions(range_items=range_items, most_in_flight=IN_FLIGHT))
    print("done", flush=True)


if __name__ == "__main__":
    _work(int(sys.argv[1]))

"""People label and judges judge for ten minutes, while two web processes and three workers are killed at random.

Each dies with SIGKILL, in the middle of what it does: a web process of the two is started again by the server, a worker
(`manage.py run_sweep`, against `bench.slow_server`) by this benchmark, as a supervisor does.

Figures
-------
minutes : how long they were killed.
web_kills, worker_kills : how many died.
answers, judgments : what was acknowledged to people, and what judges said.
kills_lost, kills_over_assigned, kills_repeated, kills_miscounted : of labels; have to be 0.
judgments_missing, judgments_miscounted : of those that the sweep is to bring, once it's finished, and of the counts of
    its runs; have to be 0.
asked_again : requests to the model beyond one a judgment: what was in flight when a worker died.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import load
from bench.scale_rows import dataset_of_pairs
from bench.slow_server import slow_server
from tests.live_site import SECRET_KEY, LiveSite, PrivatePostgres, live_site
from tests.live_study import findings, live_study

ROOT = Path(__file__).resolve().parent.parent
PEOPLE, WEB_PROCESSES, WORKERS = 12, 2, 3
MINUTES, QUICK_MINUTES = 10.0, 1.0
JUDGMENTS_PER_MINUTE = 2_400
IN_FLIGHT = 12
JUDGES = 4
PAUSE = (4.0, 12.0)
"""Seconds between two deaths: granian gives up when a process that it has just started dies within 5.5."""


class Workers:
    """Three processes that run a sweep, started again when they were killed and when they ended too early."""

    def __init__(self, sweep: int) -> None:
        self._command = [sys.executable, "manage.py", "run_sweep", str(sweep), "--every", "60"]
        self._running = [self._start() for _ in range(WORKERS)]
        self.kills = 0

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, chance: random.Random) -> None:
        """SIGKILL to one of them, and another in its place."""
        which = chance.randrange(WORKERS)
        if self._running[which].poll() is None:
            self._running[which].kill()
            self.kills += 1
        self._running[which].wait()
        self._running[which] = self._start()

    def finish(self, sweep: Any, timeout: float) -> None:
        """Wait until the sweep is finished. Who finds nothing to do, because what is left was leased to a worker that
        died, ends, and is started again.
        """
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            sweep.refresh_from_db()
            if sweep.state == "finished":
                return
            for which, worker in enumerate(self._running):
                if worker.poll() is not None:
                    self._running[which] = self._start()
            time.sleep(1)
        raise RuntimeError(f"the sweep is {sweep.state} after {timeout} s")

    def stop(self) -> None:
        """End them, whatever they do."""
        for worker in self._running:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
            worker.wait()


def run(*, quick: bool = False) -> dict[str, float]:
    """Measure; the figures by name."""
    minutes = QUICK_MINUTES if quick else MINUTES
    with slow_server() as server, live_site(workers=WEB_PROCESSES) as (postgres, site):
        _settings(postgres)
        study = live_study(postgres.url, items=40_000, people=PEOPLE, overlap=4, lease_minutes=1)
        sweep, wanted = _sweep(server, round(minutes * JUDGMENTS_PER_MINUTE))
        workers = Workers(sweep.pk)
        log = load.Log()
        people = [load.Annotator(site.port, path, log, seed) for seed, path in enumerate(study.resume_paths)]
        try:
            with ThreadPoolExecutor(1) as pool:
                killing = pool.submit(_kill, site, workers, 60 * minutes)
                load.run(people, log, until=killing.done)
            web_kills = killing.result()
            workers.finish(sweep, timeout=180 + 60 * minutes)
        finally:
            workers.stop()
        found = findings(postgres.url, study.pk, log.acknowledged)
        judged = _judged(sweep)
        with urllib.request.urlopen(server.removesuffix("/v1") + "/stats") as answer:
            asked = json.load(answer)["requests"]
    return {
        "minutes": minutes,
        "web_kills": float(web_kills),
        "worker_kills": float(workers.kills),
        "answers": float(len(log.acknowledged)),
        "judgments": float(judged["stored"]),
        "kills_lost": float(found["lost"]),
        "kills_over_assigned": float(found["over_assigned"]),
        "kills_repeated": float(found["repeated"]),
        "kills_miscounted": float(found["items_miscounted"] + found["people_miscounted"]),
        "judgments_missing": float(wanted - judged["different"]),
        "judgments_miscounted": float(abs(judged["counted"] - judged["stored"])),
        "asked_again": float(asked - judged["stored"]),
    }


def _kill(site: LiveSite, workers: Workers, seconds: float) -> int:
    """Kill one or the other, at random, for so long; how many web processes that were."""
    chance, web_kills = random.Random(time.time_ns()), 0
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(chance.uniform(*PAUSE))
        if chance.random() < WEB_PROCESSES / (WEB_PROCESSES + WORKERS):
            web_kills += site.kill_worker(chance)
        else:
            workers.kill(chance)
    return web_kills


def _settings(postgres: PrivatePostgres) -> None:
    os.environ |= {
        "DATABASE_URL": postgres.url,
        "DATABASE_POOL_SIZE": "0",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DJANGO_SECRET_KEY": SECRET_KEY,
        "LOG_LEVEL": "ERROR",
        "TOUCHSTONE_VAR": tempfile.mkdtemp(prefix="touchstone-bench-"),
    }
    import django

    django.setup()


def _sweep(server: str, judgments: int) -> tuple[Any, int]:
    """A started sweep, and how many judgments it is to bring."""
    from judges.models import Endpoint
    from judges.services.judges import judge_create
    from judges.services.sweeps import sweep_create, sweep_start

    pairs = judgments // (2 * JUDGES)
    dataset = dataset_of_pairs("judged", pairs)
    endpoint = Endpoint.objects.create(name="slow", base_url=server, max_concurrency=IN_FLIGHT, is_local=True)
    judges = [
        judge_create(
            name=f"judge {k}", strategy="vanilla", endpoint=endpoint, model="slow", decoding={"seed": k}
        )
        for k in range(JUDGES)
    ]
    sweep = sweep_create(name="killed", judges=judges, datasets=[dataset])
    return sweep_start(sweep=sweep).sweep, pairs * 2 * JUDGES


def _judged(sweep: Any) -> dict[str, int]:
    from django.db.models import Sum

    from judges.models import Judgment

    rows = Judgment.objects.filter(judge__in=sweep.judges.all())
    return {
        "stored": rows.count(),
        "different": rows.filter(status="parsed").values("judge", "item", "order").distinct().count(),
        "counted": sweep.runs.aggregate(n=Sum("n_done"))["n"] or 0,
    }

"""A sweep of millions: what it takes in time, disk and memory, whether it slows down, and whether pages stay quick.

Judges that answer at once (`instant`) judge pairs in both orders, by worker processes, into a private PostgreSQL. Texts
are drawn for each pair, so that they are no easier to compress than real ones: about 2 kB a prompt. Half of the pairs
have two labels of a study's people, for the comparison.

Figures
-------
judgments, workers, minutes : how many judgments, by how many processes, in what time.
microseconds_per_judgment : of wall time, all workers together.
growth_first_to_last : time a judgment in the last tenth, over that in the first tenth (to reach: 1.2).
bytes_per_judgment : of all tables and indexes of judging, for each judgment.
bytes_beside_text : the same without the texts that were asked (to reach: 1,200).
worker_peak_mb : the most memory that a worker had (to reach: 500).
labels, comparison_seconds : how many labels the judges are compared with, and what a worker takes to do so, once.
comparison_ms, list_ms_worst : the page with that comparison (to reach: 3,000) and the slowest list page (300), the
    median of three requests each; list_ms_NAME: each of the lists.
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.scale_rows import dataset_of_pairs, half_labelled, study_of

JUDGMENTS, QUICK = 2_000_000, 20_000
JUDGES = 4
WORKERS = 2
PEOPLE, OVERLAP = 100, 2
ROOT = Path(__file__).resolve().parent.parent
TABLES = ("judgment", "modelrequest", "requesttext", "textblock", "requestform", "runrange", "worker")


def run(*, quick: bool = False, size: int = 0) -> dict[str, float]:
    """Measure; the figures by name.

    Parameters
    ----------
    size : int
        Judgments; by default two million.
    """
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder:
        from tests.services import start_postgres

        return _measured(start_postgres(), folder, size or (QUICK if quick else JUDGMENTS))


def _measured(url: str, folder: str, size: int) -> dict[str, float]:
    os.environ |= {
        "DATABASE_URL": url,
        "TOUCHSTONE_VAR": folder,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "DATABASE_POOL_SIZE": "0",
    }
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    pairs = max(size // (2 * JUDGES), 1)
    print(f"  scale: {pairs:,} pairs, {JUDGES} judges", flush=True)
    sweep, labels = _sweep_make(pairs)
    wanted = pairs * 2 * JUDGES
    began = time.perf_counter()
    workers = [_worker_start() for _ in range(WORKERS)]
    done = _watched(sweep, wanted, workers)
    seconds = done[-1][0] - began
    peaks = []
    for worker in workers:
        output, errors = worker.communicate()
        if worker.returncode:
            raise AssertionError(errors)
        peaks.append(float(output.splitlines()[-1]))
    return {
        "judgments": float(wanted),
        "workers": float(WORKERS),
        "minutes": seconds / 60,
        "microseconds_per_judgment": seconds / wanted * 1e6,
        "growth_first_to_last": _growth(done, wanted),
        **_sizes(wanted),
        "worker_peak_mb": max(peaks),
        "labels": float(labels),
        **_pages(sweep),
    }


def _sweep_make(pairs: int) -> tuple[Any, int]:
    """The sweep, and how many labels its dataset has."""
    from django.db import connection

    from judges.models import Endpoint
    from judges.services.judges import judge_create
    from judges.services.sweeps import sweep_create, sweep_start

    dataset = dataset_of_pairs("scale", pairs)
    study, people = study_of(dataset, PEOPLE, overlap=OVERLAP)
    labels = half_labelled(study, people)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    endpoint = Endpoint.objects.create(name="scale", base_url="http://127.0.0.1:9/v1")
    judges = [
        judge_create(
            name=f"judge {k}", strategy="vanilla", endpoint=endpoint, model="instant", decoding={"seed": k}
        )
        for k in range(JUDGES)
    ]
    sweep = sweep_create(name="scale", judges=judges, datasets=[dataset])
    return sweep_start(sweep=sweep).sweep, labels


def _worker_start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.scale_judgments"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _watched(sweep: Any, wanted: int, workers: list[Any]) -> list[tuple[float, int]]:
    """When how many judgments were there, until all are."""
    from django.db.models import Sum

    seen: list[tuple[float, int]] = []
    while True:
        n = sweep.runs.aggregate(n=Sum("n_done"))["n"]
        seen.append((time.perf_counter(), n))
        if len(seen) % 60 == 0:
            print(f"  scale: {n:,} of {wanted:,}", flush=True)
        if n >= wanted:
            return seen
        if all(worker.poll() is not None for worker in workers):
            raise AssertionError(f"{n} of {wanted}: {[worker.communicate()[1] for worker in workers]}")
        time.sleep(0.2)


def _growth(seen: list[tuple[float, int]], wanted: int) -> float:
    def moment(n: float) -> float:
        """When there were n, between the two looks around it."""
        for (t0, n0), (t1, n1) in itertools.pairwise(seen):
            if n0 <= n <= n1 and n1 > n0:
                return t0 + (t1 - t0) * (n - n0) / (n1 - n0)
        return seen[-1][0]

    # Without what it takes to start the workers, and to come to an end.
    first = moment(0.11 * wanted) - moment(0.01 * wanted)
    return (moment(0.99 * wanted) - moment(0.89 * wanted)) / first


def _sizes(wanted: int) -> dict[str, float]:
    from django.db import connection

    with connection.cursor() as cursor:
        sizes = {}
        for table in TABLES:
            cursor.execute("SELECT pg_total_relation_size(%s)", [f"judges_{table}"])
            sizes[table] = cursor.fetchone()[0] / wanted
    return {
        "bytes_per_judgment": sum(sizes.values()),
        "bytes_beside_text": sum(sizes.values()) - sizes["textblock"],
        **{f"bytes_{table}": size for table, size in sizes.items() if size >= 1.0},
    }


def _pages(sweep: Any) -> dict[str, float]:
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from annotation.models import Role
    from metaeval.services.report_jobs import report_jobs_work
    from tests.annotation.factories import user_make

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    settings.ALLOWED_HOSTS = ["*"]
    client = Client(SERVER_NAME="localhost")
    client.force_login(user_make(username="bench", role=Role.ADMINISTRATOR))
    lists = {
        "sweeps": reverse("judges:sweep-list"),
        "sweep": reverse("judges:sweep-detail", args=[sweep.pk]),
        "judges": reverse("judges:judge-list"),
        "judgments": reverse("judges:judgment-list", args=["scale"]),
        "items": "/datasets/scale/items/",
        "admin_judgments": reverse("admin:judges_judgment_changelist"),
        "admin_sweeps": reverse("admin:judges_sweep_changelist"),
    }
    times = {name: _milliseconds(client, address) for name, address in lists.items()}
    address = reverse("metaeval:comparison", args=[sweep.pk])
    client.get(address, {"now": "1"})
    began = time.perf_counter()
    report_jobs_work()  # none where the page can count so few by itself
    seconds = time.perf_counter() - began
    page = client.get(address).content.decode()
    if "judge 0" not in page or 'id="report-job' in page:
        raise AssertionError("the page has no comparison")
    return {
        "comparison_seconds": seconds,
        "comparison_ms": _milliseconds(client, address),
        "list_ms_worst": max(times.values()),
        **{f"list_ms_{name}": value for name, value in times.items()},
    }


def _milliseconds(client: Any, address: str) -> float:
    times = []
    for _ in range(3):
        began = time.perf_counter()
        status = client.get(address).status_code
        times.append(1000 * (time.perf_counter() - began))
        if status != 200:
            raise AssertionError(f"{address}: {status}")
    return statistics.median(times)


def _work() -> None:
    import django

    django.setup()
    from judges.backends.instant import InstantBackend
    from judges.engine.runner import run_pending

    run_pending(backends=lambda *_: InstantBackend("A"))
    print(json.dumps(_peak_mb()))


def _peak_mb() -> float:
    """The most memory that this process had. `getrusage` would give that of the process which started it, if more."""
    (line,) = (
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    _work()

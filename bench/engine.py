"""What the judge engine costs beside the model: a sweep with a backend that answers at once.

Figures, in microseconds of wall time a request, the database included: rendering the prompt, its hash, the
claim, the stored answer, the verdict and the stored judgment. Prompts are of about 2 kB.

- `microseconds_per_request`: on SQLite, in a file (the number to reach: 60);
- `microseconds_per_request_postgres`: on a private PostgreSQL server, where one can be started (80).

And what several workers make of one judge, `sharded_speedup_4` and `budget_overrun_requests`: see `bench.sharding`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from annotation.models import Dataset

ITEMS = 2_500
JUDGES = 4
ROUNDS = 5
ROOT = Path(__file__).resolve().parent.parent


def run(*, quick: bool = False) -> dict[str, float]:
    """Measure on both databases, each in a process of its own; quick: several workers alone, on fewer items."""
    from bench import sharding
    from bench.slow_server import slow_server

    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as folder:
        figures = {"requests": float(ITEMS * 2 * JUDGES)}
        if not quick:
            figures["microseconds_per_request"] = _measured(f"sqlite:///{folder}/bench.sqlite3", folder)
        try:
            from tests.services import start_postgres

            url = start_postgres()
        except ImportError:
            url = f"sqlite:///{folder}/sharded.sqlite3"
        if not quick and url.startswith("postgres"):
            figures["microseconds_per_request_postgres"] = _measured(_database(url, "micro"), folder)
        with slow_server() as server:
            shared = _database(url, "sharded") if url.startswith("postgres") else url
            return figures | sharding.measure(shared, folder, server, quick=quick)


def _database(server: str, name: str) -> str:
    """Make a database on a PostgreSQL server; returns its URL."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return server.replace("/postgres?", f"/{name}?")


def _measured(url: str, folder: str) -> float:
    environment = os.environ | {
        "DATABASE_URL": url,
        "TOUCHSTONE_VAR": folder,
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.engine"],
        env=environment,
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


def _seconds(number: int) -> float:
    """Run one sweep of judges that nobody has run before; returns its wall time."""
    from annotation.models import Dataset
    from judges.backends.instant import InstantBackend
    from judges.engine.runner import run_pending
    from judges.models import Endpoint, Judgment, ModelRequest
    from judges.services.judges import judge_create
    from judges.services.sweeps import sweep_create, sweep_start

    endpoint, _ = Endpoint.objects.get_or_create(name="bench", base_url="http://127.0.0.1:9/v1")
    judges = [
        judge_create(
            name=f"judge {number}-{k}",
            strategy="vanilla",
            endpoint=endpoint,
            model="instant",
            decoding={"seed": number * 100 + k},
        )
        for k in range(JUDGES)
    ]
    sweep = sweep_create(name=f"bench {number}", judges=judges, datasets=[Dataset.objects.get(name="bench")])
    sweep_start(sweep=sweep)
    before = ModelRequest.objects.count()
    started = time.perf_counter()
    run_pending(backends=lambda *_: InstantBackend("A"))
    seconds = time.perf_counter() - started
    sweep.refresh_from_db()
    wanted = ITEMS * 2 * JUDGES
    stored = ModelRequest.objects.filter(state="done").count() - before
    judged = Judgment.objects.filter(judge__in=judges, status="parsed").count()
    if (sweep.state, stored, judged) != ("finished", wanted, wanted):
        raise AssertionError(f"{sweep.state}: {stored} answers and {judged} judgments of {wanted}")
    return seconds


def _main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    dataset_make(ITEMS)
    # The least of several: what else goes on at the machine only ever adds.
    seconds = min(_seconds(number) for number in range(ROUNDS))
    print(json.dumps(seconds / (ITEMS * 2 * JUDGES) * 1e6))


def dataset_make(n_pairs: int) -> Dataset:
    """Make a dataset of pairs, each with an instruction of its own."""
    from django.db import connection

    from annotation.models import Dataset, Instruction, Item, ItemResponse, Response

    dataset = Dataset.objects.create(name="bench", title="Bench")
    text = "The quick brown fox jumps over the lazy dog, and nobody in the yard minds it very much. "
    instructions = Instruction.objects.bulk_create(
        Instruction(dataset=dataset, external_id=str(k), text=f"Number {k}: {text * 3}")
        for k in range(n_pairs)
    )
    items = Item.objects.bulk_create(
        Item(dataset=dataset, instruction=each, external_id=str(k), kind="pairwise", position=k)
        for k, each in enumerate(instructions)
    )
    responses = Response.objects.bulk_create(
        Response(instruction=each, external_id=f"{each.external_id}-{k}", text=f"{k}. {text * 6}")
        for each in instructions
        for k in range(2)
    )
    ItemResponse.objects.bulk_create(
        ItemResponse(item=items[k // 2], response=each, position=k % 2) for k, each in enumerate(responses)
    )
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # as an import does
    return dataset


if __name__ == "__main__":
    _main()

"""What a researcher waits for: pages of reports, comparisons and decisions, reports made by a worker, files, lists.

In one process, on SQLite in a temporary folder, through Django's test client: what is measured is our code and its
queries, not a network. Pairs with four labels each, judged in both orders. Each page is opened three times; the
figure is the median.

Figures
-------
report_fresh_ms, report_first_ms : first byte of the page of a stored report, looked at before, and never.
report_made_ms : a report of that size, from the rows to the stored row.
comparison_ms, decision_ms : pages looked at before, with nothing changed since, by the number of items.
background_s : a report of the large size, made as a worker makes it.
files_ms_FORMAT : that report as a file.
rows : judgments of the large size.
export_s, export_peak_mb : these judgments as Parquet, in a process of its own.
api_queries : the most that a list of the API takes.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parent.parent

JUDGES, LABELS, PEOPLE = 20, 4, 40
SMALL, LARGE = 2_000, 20_000
LOOKS = 3
CATEGORIES = ("Brainstorm", "Closed QA", "Coding", "Extract", "Generate", "Rewrite", "Summarize")


def run(
    *, quick: bool = False, small: int | None = None, large: int | None = None, judges: int = JUDGES
) -> dict[str, float]:
    """Measure; the figures by name. ``quick`` is a tenth of the size."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as var:
        _setup(var)
        part = 10 if quick else 1
        return measure(small or SMALL // part, large or LARGE // part, judges)


def _setup(var: str) -> None:
    os.environ |= {
        "DATABASE_URL": f"sqlite:///{var}/bench.sqlite3",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "TOUCHSTONE_VAR": var,
        "RATELIMIT_ENABLE": "false",
        "DJANGO_ALLOWED_HOSTS": "testserver",
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def measure(small: int, large: int, judges: int) -> dict[str, float]:
    """The figures, on the database that Django has."""
    from django.core.cache import cache
    from django.urls import reverse

    from metaeval.models import Report
    from metaeval.services.report_jobs import report_jobs_work, report_request
    from tests.annotation.cast import client_of
    from tests.annotation.factories import user_make

    user = user_make()
    client = client_of(user)
    figures: dict[str, float] = {}

    def look(address: str) -> float:
        began = time.perf_counter()
        answer = client.get(address, follow=True)
        took = 1000 * (time.perf_counter() - began)
        assert answer.status_code == 200, (address, answer.status_code)
        return took

    def made(dataset: Any) -> tuple[float, Any]:
        began = time.perf_counter()
        report_request(user=user, dataset=dataset.name)
        report_jobs_work()
        return time.perf_counter() - began, Report.objects.latest("pk")

    dataset = dataset_fill("small", small, judges)
    took, report = made(dataset)
    figures["report_made_ms"] = 1000 * took
    page = reverse("metaeval:report-detail", args=[report.pk])
    cache.clear()
    figures["report_first_ms"] = look(page)
    figures["report_fresh_ms"] = _median(lambda: look(page))
    for suffix in ("html", "md", "json", "tex", "csv", "pdf", "zip"):
        address = f"{page}report.{suffix}"
        if client.get(address).status_code == 200:
            figures[f"files_ms_{suffix}"] = look(address)
    _looks("small", dataset, look, figures)
    dataset = dataset_fill("large", large, judges)
    figures["rows"] = large * judges * 2
    figures["background_s"], _ = made(dataset)
    _looks("large", dataset, look, figures)
    figures |= _queries(user, dataset.name) | _export(dataset.name)
    return figures


def _queries(user: Any, dataset: str) -> dict[str, float]:
    """The most queries that a list of the API takes, with a full page."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from annotation.services.tokens import token_create

    secret = token_create(user=user, name="bench")[1]
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    lists = ("datasets/", f"datasets/{dataset}/items/", "labels/", "studies/", "judges/", "sweeps/")
    most = 0
    for name in (*lists, "judgments/", "reports/", "decisions/"):
        with CaptureQueriesContext(connection) as caught:
            answer = client.get(f"/api/v1/{name}")
        assert answer.status_code == 200, (name, answer.content[:200])
        most = max(most, len(caught))
    return {"api_queries": most}


def _export(dataset: str) -> dict[str, float]:
    """All judgments of a dataset as Parquet, by the command: its seconds, and the most memory that it took."""
    path = Path(os.environ["TOUCHSTONE_VAR"]) / "judgments.parquet"
    command = [sys.executable, "manage.py", "export", dataset, "--what", "judgments", "--output", str(path)]
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        peak = 0
        while process.poll() is None:
            with suppress(psutil.NoSuchProcess):
                peak = max(peak, psutil.Process(process.pid).memory_info().rss)
            time.sleep(0.05)
    assert process.returncode == 0
    return {"export_s": time.perf_counter() - began, "export_peak_mb": peak / 1e6}


def _looks(name: str, dataset: Any, look: Callable[[str], float], figures: dict[str, float]) -> None:
    """Pages of a comparison and a decision: made once, by whoever makes them, then looked at again."""
    from django.urls import reverse

    from metaeval.services.report_jobs import report_jobs_work

    for page in ("comparison", "decision"):
        address = reverse(f"metaeval:dataset-{page}", args=[dataset.name])
        began = time.perf_counter()
        look(f"{address}?now=1")
        report_jobs_work()
        figures[f"{page}_{name}_made_s"] = time.perf_counter() - began
        look(address)
        figures[f"{page}_{name}_ms"] = _median(lambda address=address: look(address))  # type: ignore[misc]


def _median(look: Callable[[], float]) -> float:
    return statistics.median(look() for _ in range(LOOKS))


def dataset_fill(name: str, items: int, judges: int) -> Any:
    """Pairs with gold, `LABELS` labels each, and the verdicts of judges of rising skill in both orders."""
    from annotation.models import Dataset, Instruction, Item, Label
    from judges.models import BackendKind, Judge, Judgment
    from tests.annotation.factories import annotator_make

    rng = np.random.default_rng(items)
    dataset = Dataset.objects.create(name=name, title=f"{items:,} pairs")
    Instruction.objects.bulk_create(
        [
            Instruction(
                dataset=dataset,
                external_id=f"i{k}",
                text=f"Instruction {k}",
                category=CATEGORIES[k % len(CATEGORIES)],
            )
            for k in range(items)
        ],
        batch_size=2_000,
    )
    instructions = list(dataset.instructions.order_by("pk").values_list("pk", flat=True))
    gold = rng.integers(1, 3, items)
    _insert(
        Item,
        (
            {
                "dataset_id": dataset.pk,
                "instruction_id": pk,
                "external_id": f"p{k}",
                "kind": "pairwise",
                "position": k,
                "gold": {"choice": int(gold[k])},
            }
            for k, pk in enumerate(instructions)
        ),
    )
    pks = list(dataset.items.order_by("position").values_list("pk", flat=True))
    _responses(dataset, pks, instructions, rng)
    people = [annotator_make().pk for _ in range(PEOPLE)]
    right = rng.random((items, LABELS)) < 0.8
    _insert(
        Label,
        (
            {
                "item_id": pk,
                "annotator_id": people[(k + place) % PEOPLE],
                "kind": "pairwise",
                "choice": (choice := int(gold[k] if right[k, place] else 3 - gold[k])),
                "value": {"choice": choice},
            }
            for k, pk in enumerate(pks)
            for place in range(LABELS)
        ),
    )
    for number in range(judges):
        judge = Judge.objects.create(
            name=f"Judge {number} of {items:,} pairs",
            backend=BackendKind.OPENAI,
            model=f"model-{number % 4}",
            strategy="vanilla",
            spec={"strategy": "vanilla", "name": f"{name} {number}"},
            fingerprint=f"{items:032x}{number:032x}",
        )
        skill = rng.random((items, 2)) < 0.6 + 0.3 * number / judges
        _insert(
            Judgment,
            (
                {
                    "judge_id": judge.pk,
                    "item_id": pk,
                    "order": order,
                    "status": "parsed",
                    "choice": int(gold[k] if skill[k, order] else 3 - gold[k]),
                    "cost": 0.001,
                    "latency_ms": 500.0,
                }
                for k, pk in enumerate(pks)
                for order in (0, 1)
            ),
        )
    return dataset


def _responses(dataset: Any, items: list[int], instructions: list[int], rng: np.random.Generator) -> None:
    """Two texts an item, of different lengths."""
    from annotation.models import ItemResponse, Response

    lengths = rng.integers(20, 400, (len(items), 2))
    _insert(
        Response,
        (
            {
                "instruction_id": instruction,
                "external_id": f"r{place}",
                "system": f"system-{place}",
                "text": "x" * int(lengths[k, place]),
            }
            for k, instruction in enumerate(instructions)
            for place in (0, 1)
        ),
    )
    rows = Response.objects.filter(instruction__dataset=dataset).order_by("pk")
    _insert(
        ItemResponse,
        (
            {"item_id": items[k // 2], "response_id": pk, "position": k % 2}
            for k, pk in enumerate(rows.values_list("pk", flat=True))
        ),
    )


def _insert(model: Any, rows: Iterable[dict[str, Any]]) -> None:
    """Rows straight into their table: a million objects would take minutes. What is not given is the default."""
    from django.db import connection, transaction

    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    blank = model()
    fixed = {field.attname: field.pre_save(blank, add=True) for field in fields}
    quoted = connection.ops.quote_name
    names = ", ".join(quoted(field.column) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quoted(model._meta.db_table)} ({names}) VALUES ({marks})"
    prepared = (
        [field.get_db_prep_save((fixed | row)[field.attname], connection) for field in fields] for row in rows
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(statement, prepared)

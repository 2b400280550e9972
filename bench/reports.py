"""What a researcher waits for: pages of reports, comparisons and decisions, reports made by a worker, files, lists.

In one process, on SQLite in a temporary folder, through Django's test client: what is measured is our code and its
queries, not a network. Pairs with four labels each, judged in both orders by 20 judges. Pages are opened three times;
the figure is the median. A few minutes on a machine with nothing else to do. On a busy one read the processor time,
which stands beside each figure as ``NAME_cpu``, in the same unit; `load` is what the machine had to do at the end.

Figures
-------
report_first_ms, report_fresh_ms : first byte of the page of a stored report, never looked at, and looked at before.
pictures_ms, pictures_again_ms : all drawings of that page, drawn by the worker that made it, and looked at again.
report_small_s, report_large_s : a report, from the rows to the stored row, as a worker makes it.
drawn_small_s : its drawings, which the worker makes when no other report waits.
files_ms_FORMAT : the report as a file.
comparison_SIZE_ms, decision_SIZE_ms : pages looked at before, with nothing changed since.
comparison_SIZE_made_s, decision_SIZE_made_s : the same, asked for and made.
rows : judgments of the large size: 1,000,000.
export_s, export_peak_mb : these judgments as Parquet, in a process of its own.
api_queries : the most that a list of the API takes, with a full page.
filled_s : the rows of both sizes, which is no figure of the product.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from html import unescape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parent.parent

JUDGES, LABELS, PEOPLE = 20, 4, 40
SMALL, LARGE = 2_000, 25_000
LOOKS = 3
CATEGORIES = ("Brainstorm", "Closed QA", "Coding", "Extract", "Generate", "Rewrite", "Summarize")


def run(*, quick: bool = False, small: bool = False) -> dict[str, float]:
    """Measure; the figures by name. ``quick`` is a tenth of the sizes, ``small`` leaves the large one out."""
    with tempfile.TemporaryDirectory(prefix="touchstone-bench-") as var:
        _setup(var)
        part = 10 if quick else 1
        figures = measure(SMALL // part, 0 if small else LARGE // part, JUDGES)
    return figures | {"load": os.getloadavg()[0]}


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


class _Figures(dict[str, float]):
    """Figures by name, and the processor time of each."""

    def timed(self, name: str, make: Callable[[], Any], *, looks: int = 1) -> Any:
        """Keep how long it takes, in the unit that its name ends with: the median of some looks."""
        unit = 1000 if name.rpartition("_")[2] == "ms" or "_ms_" in name else 1
        found: list[tuple[float, float]] = []
        for _ in range(looks):
            began, used = time.perf_counter(), time.process_time()
            made = make()
            found.append((time.perf_counter() - began, time.process_time() - used))
        self[name], self[f"{name}_cpu"] = (
            unit * statistics.median(each) for each in zip(*found, strict=True)
        )
        print(f"  {name:34} {self[name]:10,.2f}   cpu {self[f'{name}_cpu']:10,.2f}", flush=True)
        return made


def measure(small: int, large: int, judges: int) -> dict[str, float]:
    """The figures, on the database that Django has; 0 leaves a size out."""
    from django.core.cache import cache
    from django.urls import reverse

    from metaeval.models import Report
    from metaeval.services import pictures
    from metaeval.services.drawings import report_draw
    from metaeval.services.report_jobs import (
        report_job_claim,
        report_job_make,
        report_jobs_work,
        report_request,
    )
    from tests.annotation.cast import client_of
    from tests.annotation.factories import user_make

    user = user_make()
    client = client_of(user)
    figures = _Figures()

    def look(address: str) -> bytes:
        answer = client.get(address, follow=True)
        assert answer.status_code == 200, (address, answer.status_code)
        return bytes(answer.content)

    def made(dataset: Any) -> Any:
        report_request(user=user, dataset=dataset.name)
        job = report_job_claim()
        assert job is not None
        report_job_make(job, lambda: False)
        return Report.objects.latest("pk")

    filled = 0.0
    for name, items in (("small", small), ("large", large)):
        if not items:
            continue
        began = time.perf_counter()
        dataset = dataset_fill(name, items, judges)
        filled += time.perf_counter() - began
        report = figures.timed(f"report_{name}_s", partial(made, dataset))
        if name == "small":
            page = reverse("metaeval:report-detail", args=[report.pk])
            cache.clear()
            html = figures.timed("report_first_ms", partial(look, page))
            figures.timed("report_fresh_ms", partial(look, page), looks=LOOKS)
            drawings = [
                unescape(found) for found in re.findall(r'hx-get="([^"]+/pictures/[^"]+)"', html.decode())
            ]
            assert drawings, "the page has no drawings"
            figures.timed("drawn_small_s", partial(report_draw, report))
            # A web process has what the worker put into the cache of all, and nothing of its own.
            pictures.DRAWN.clear()
            for place in ("pictures_ms", "pictures_again_ms"):
                figures.timed(place, lambda drawings=drawings: [look(one) for one in drawings])  # type: ignore[misc]
            for suffix in ("html", "md", "json", "tex", "csv", "pdf", "zip"):
                if client.get(address := f"{page}report.{suffix}").status_code == 200:
                    figures.timed(f"files_ms_{suffix}", partial(look, address))
        for page in ("comparison", "decision"):
            address = reverse(f"metaeval:dataset-{page}", args=[dataset.name])
            figures.timed(
                f"{page}_{name}_made_s",
                lambda address=address: (look(f"{address}?now=1"), report_jobs_work()),  # type: ignore[misc]
            )
            look(address)
            figures.timed(f"{page}_{name}_ms", partial(look, address), looks=LOOKS)
    figures["filled_s"], figures["rows"] = filled, (large or small) * judges * 2
    return figures | _queries(user, dataset.name) | _export(dataset.name)


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
    """Rows straight into their table: a million objects would take minutes. What is not given is the default.

    All rows give the same fields.
    """
    from django.db import connection, transaction

    rows = iter(rows)
    first = next(rows)
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    blank = model()
    fixed = [field.get_db_prep_save(field.pre_save(blank, add=True), connection) for field in fields]
    given = [(place, field) for place, field in enumerate(fields) if field.attname in first]
    quoted = connection.ops.quote_name
    names = ", ".join(quoted(field.column) for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {quoted(model._meta.db_table)} ({names}) VALUES ({marks})"

    def prepared() -> Iterator[list[Any]]:
        for row in chain([first], rows):
            values = fixed.copy()
            for place, field in given:
                values[place] = field.get_db_prep_save(row[field.attname], connection)
            yield values

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(statement, prepared())

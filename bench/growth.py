"""How the cost of a claim grows with the items of a study: through the service, on PostgreSQL, half of it labelled."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from typing import Any

OVERLAP = 4
CLAIMS = 400
PEOPLE = 8


def measure(database_url: str, *, few: int, many: int) -> dict[str, float]:
    """Median milliseconds of a claim in studies of `few` and of `many` items, and their ratio.

    Claims alternate between the two, so that whatever else the machine does meets both alike.
    """
    _setup(database_url)
    from django.db import connection

    from annotation.services.assignments import assignment_claim, assignment_submit

    print(f"  growth: {few:,} and {many:,} items", flush=True)
    crowds = {n: _people(_study(n)) for n in (few, many)}
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    times: dict[int, list[float]] = {few: [], many: []}
    for turn in range(CLAIMS):
        for n, people in crowds.items():
            person = people[turn % len(people)]
            began = time.perf_counter()
            lease = assignment_claim(enrollment=person)
            times[n].append(1000 * (time.perf_counter() - began))
            assert lease is not None
            assignment_submit(assignment=lease, shown_value={"choice": turn % 3})
            person.n_accepted += 1
    connection.close()
    medians = {n: statistics.median(found) for n, found in times.items()}
    return {
        "claim_ms_few_items": medians[few],
        "claim_ms_many_items": medians[many],
        "growth_1e4_to_1e6": medians[many] / medians[few],
    }


def _setup(database_url: str) -> None:
    os.environ |= {
        "DATABASE_URL": database_url,
        "DATABASE_POOL_SIZE": "0",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
        "TOUCHSTONE_VAR": tempfile.mkdtemp(prefix="touchstone-bench-"),
    }
    import django

    django.setup()


def _study(n: int) -> Any:
    """Rows made in the database: one instruction, n items without texts, the first half of them complete."""
    from django.db import connection

    from annotation.models import Dataset, Instruction
    from tests.annotation.factories import study_make

    dataset = Dataset.objects.create(name=f"growth-{n}", title="Pairs")
    study = study_make(dataset=dataset, overlap=OVERLAP)
    instruction = Instruction.objects.create(dataset=dataset, external_id="i", text="Which is better?")
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_item"
            " (dataset_id, instruction_id, external_id, kind, position, explanation, metadata)"
            " SELECT %s, %s, 'p' || k, 'pairwise', k, '', '{}' FROM generate_series(0, %s) AS k",
            [dataset.pk, instruction.pk, n - 1],
        )
        cursor.execute(
            "INSERT INTO annotation_studyitem"
            " (study_id, item_id, role, position, overlap, n_open, n_accepted, probability)"
            " SELECT %s, id, 'work', position, %s, 0, CASE WHEN position < %s THEN %s ELSE 0 END, 1"
            " FROM annotation_item WHERE dataset_id = %s",
            [study.pk, OVERLAP, n // 2, OVERLAP, dataset.pk],
        )
    return study


def _people(study: Any) -> list[Any]:
    from tests.annotation.factories import enrollment_make

    return [enrollment_make(study=study) for _ in range(PEOPLE)]

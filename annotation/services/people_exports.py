"""The people of a study as CSV and JSONL: what they answered about themselves, and how they did in the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from annotation.models import Enrollment, QualificationAttempt, Study
from annotation.services.exports import FORMATS, csv_of, jsonl_lines, utc_text

Attempts = list[QualificationAttempt]
# The test's figures are those of the last attempt that was finished.
COLUMNS: dict[str, Callable[[Enrollment, Attempts], Any]] = {
    "annotator": lambda person, _: person.pseudonym,
    "is_simulated": lambda person, _: person.annotator.is_simulated,
    "stage": lambda person, _: person.stage,
    "screened_out_by": lambda person, _: person.screened_out_by or None,
    "created_at": lambda person, _: _time(person.created_at),
    "finished_at": lambda person, _: _time(person.finished_at),
    "labels": lambda person, _: person.n_accepted,
    "test_attempts": lambda _, attempts: len(attempts),
    "test_right": lambda _, attempts: attempts[-1].n_right if attempts else None,
    "test_accuracy": lambda _, attempts: attempts[-1].accuracy if attempts else None,
    "test_passed": lambda _, attempts: attempts[-1].passed if attempts else None,
}
IDENTITY: dict[str, Callable[[Enrollment, Attempts], Any]] = {
    "annotator_source": lambda person, _: person.annotator.source,
    "annotator_external_id": lambda person, _: person.annotator.external_id,
}
ELIGIBILITY = "eligibility."


def people_lines(study: Study, *, format: str, identify: bool) -> Iterator[str]:
    """The lines of the export, a row a person; `identify` adds who they are where they came from."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    people = list(Enrollment.objects.filter(study=study).select_related("annotator").order_by("pk"))
    asked = [question["key"] for question in study.eligibility or [] if "key" in question]
    keys = list(dict.fromkeys([*asked, *(key for one in people for key in one.eligibility)]))
    attempts: dict[int, list[QualificationAttempt]] = {}
    taken = QualificationAttempt.objects.filter(enrollment__study=study, finished_at__isnull=False)
    for attempt in taken.order_by("number"):
        attempts.setdefault(attempt.enrollment_id, []).append(attempt)
    identity = IDENTITY if identify else {}

    def row(person: Enrollment) -> dict[str, Any]:
        finished = attempts.get(person.pk, [])
        answers = {f"{ELIGIBILITY}{key}": person.eligibility.get(key) for key in keys}
        return (
            {name: read(person, finished) for name, read in COLUMNS.items()}
            | answers
            | {name: read(person, finished) for name, read in identity.items()}
        )

    rows = map(row, people)
    if format == "jsonl":
        return jsonl_lines(rows)
    return csv_of((*COLUMNS, *(f"{ELIGIBILITY}{key}" for key in keys), *identity), rows)


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else utc_text(moment)

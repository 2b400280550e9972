"""The people of a study as CSV and JSONL: what they answered about themselves, and how they did in the test."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from annotation.models import Enrollment, QualificationAttempt, Study
from annotation.services.exports import FORMATS, jsonl_lines
from web.csv_text import csv_lines

COLUMNS = (
    "annotator",
    "is_simulated",
    "stage",
    "screened_out_by",
    "created_at",
    "finished_at",
    "labels",
    "test_attempts",
    "test_right",
    "test_accuracy",
    "test_passed",
)
ELIGIBILITY = "eligibility."
IDENTITY_COLUMNS = ("annotator_source", "annotator_external_id")


def people_lines(study: Study, *, format: str, identify: bool) -> Iterator[str]:
    """The lines of the export, a row a person; `identify` adds who they are where they came from."""
    if format not in FORMATS:
        raise ValueError(f"format: expected {' or '.join(FORMATS)}, got {format!r}")
    people = list(Enrollment.objects.filter(study=study).select_related("annotator").order_by("pk"))
    asked = [question["key"] for question in study.eligibility or [] if "key" in question]
    keys = list(dict.fromkeys([*asked, *(key for one in people for key in one.eligibility)]))
    columns = (*COLUMNS, *(f"{ELIGIBILITY}{key}" for key in keys), *(IDENTITY_COLUMNS if identify else ()))
    attempts: dict[int, list[QualificationAttempt]] = {}
    taken = QualificationAttempt.objects.filter(enrollment__study=study, finished_at__isnull=False)
    for attempt in taken.order_by("number"):
        attempts.setdefault(attempt.enrollment_id, []).append(attempt)
    rows = (_row(one, attempts.get(one.pk, []), keys, identify=identify) for one in people)
    if format == "jsonl":
        return jsonl_lines(rows)
    return csv_lines(columns, ([row[name] for name in columns] for row in rows))


def _row(
    person: Enrollment, attempts: list[QualificationAttempt], keys: list[str], *, identify: bool
) -> dict[str, Any]:
    """The test's figures are those of the last attempt that was finished."""
    last = attempts[-1] if attempts else None
    row: dict[str, Any] = {
        "annotator": person.pseudonym,
        "is_simulated": person.annotator.is_simulated,
        "stage": person.stage,
        "screened_out_by": person.screened_out_by or None,
        "created_at": _time(person.created_at),
        "finished_at": _time(person.finished_at),
        "labels": person.n_accepted,
        "test_attempts": len(attempts),
        "test_right": last.n_right if last else None,
        "test_accuracy": last.accuracy if last else None,
        "test_passed": last.passed if last else None,
        **{f"{ELIGIBILITY}{key}": person.eligibility.get(key) for key in keys},
    }
    if identify:
        row |= {
            "annotator_source": person.annotator.source,
            "annotator_external_id": person.annotator.external_id,
        }
    return row


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")

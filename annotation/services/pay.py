"""Bonuses, and the pay report as a file."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from annotation.models import Bonus, Enrollment, Study, User
from annotation.selectors.pay import PayReport
from web.csv_text import csv_lines

COLUMNS = (
    "annotator",
    "answers",
    "active_hours",
    "pay_for_work",
    "pay_for_test",
    "bonus",
    "total",
    "currency",
    "hourly",
    "below_floor",
    "completion_code",
    "stage",
)
IDENTITY_COLUMNS = ("annotator_source", "annotator_external_id", "platform_session", "platform_status")


def bonus_grant(
    *, enrollment: Enrollment, amount: Decimal, reason: str, by: User, nonce: str
) -> tuple[Bonus, bool]:
    """Grant a bonus: (the bonus, whether it is new). The same form sent twice (`nonce`) grants one.

    Raises `ValueError` for an amount that is not positive.
    """
    if amount <= 0:
        raise ValueError(f"amount: expected more than 0, got {amount}")
    try:
        with transaction.atomic():
            return Bonus.objects.create(
                enrollment=enrollment, amount=amount, reason=reason, by=by, nonce=nonce
            ), True
    except IntegrityError:
        return Bonus.objects.get(enrollment=enrollment, nonce=nonce), False


def pay_lines(study: Study, report: PayReport, *, identify: bool) -> Iterator[str]:
    """The report as CSV lines, a row a person; `identify` adds who they are where they came from."""
    columns = COLUMNS + IDENTITY_COLUMNS if identify else COLUMNS
    rows = (_row(study, row) for row in report.rows)
    return csv_lines(columns, ([row[name] for name in columns] for row in rows))


def _row(study: Study, row: Any) -> dict[str, Any]:
    earned, enrollment = row.earned, row.enrollment
    return {
        "annotator": row.pseudonym,
        "answers": earned.answers,
        "active_hours": round(earned.active_ms / 3_600_000, 4),
        "pay_for_work": str(earned.work),
        "pay_for_test": str(earned.test),
        "bonus": str(earned.bonus),
        "total": str(earned.total),
        "currency": study.pay_currency,
        "hourly": None if earned.hourly is None else str(earned.hourly),
        "below_floor": row.below_floor,
        "completion_code": enrollment.completion_code,
        "stage": enrollment.stage,
        "annotator_source": enrollment.annotator.source,
        "annotator_external_id": enrollment.annotator.external_id,
        "platform_session": enrollment.platform_session,
        "platform_status": enrollment.platform_status,
    }

"""Bonuses, and the pay report as a file."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from annotation.models import Bonus, Enrollment, User
from annotation.selectors.pay import PayReport, PayRow
from web.csv_text import csv_lines

COLUMNS: dict[str, Callable[[PayRow], Any]] = {
    "annotator": lambda row: row.enrollment.pseudonym,
    "answers": lambda row: row.earned.answers,
    "active_hours": lambda row: round(row.earned.active_ms / 3_600_000, 4),
    "pay_for_work": lambda row: str(row.earned.work),
    "pay_for_test": lambda row: str(row.earned.test),
    "bonus": lambda row: str(row.earned.bonus),
    "total": lambda row: str(row.earned.total),
    "currency": lambda row: row.enrollment.study.pay_currency,
    "hourly": lambda row: None if row.earned.hourly is None else str(row.earned.hourly),
    "below_floor": lambda row: row.below_floor,
    "completion_code": lambda row: row.enrollment.completion_code,
    "stage": lambda row: row.enrollment.stage,
}
IDENTITY: dict[str, Callable[[PayRow], Any]] = {
    "annotator_source": lambda row: row.enrollment.annotator.source,
    "annotator_external_id": lambda row: row.enrollment.annotator.external_id,
    "platform_session": lambda row: row.enrollment.platform_session,
    "platform_status": lambda row: row.enrollment.platform_status,
}


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


def pay_lines(report: PayReport, *, identify: bool) -> Iterator[str]:
    """The report as CSV lines, a row a person; `identify` adds who they are where they came from."""
    columns = COLUMNS | IDENTITY if identify else COLUMNS
    return csv_lines(list(columns), ([read(row) for read in columns.values()] for row in report.rows))

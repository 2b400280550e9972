"""Transactions that are begun again when others came in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.db import OperationalError, transaction

from annotation.services.claims import Overtaken

ATTEMPTS = 8
DEADLOCK = "40P01"
T = TypeVar("T")


def is_deadlock(error: BaseException) -> bool:
    """Whether PostgreSQL ended this transaction because two waited for each other: the other one goes on."""
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", "") == DEADLOCK


def transaction_retried(act: Callable[[], T]) -> T:
    """Do something in a transaction (or in a savepoint of the caller's), again if it was overtaken meanwhile.

    A claim that waits for a place may hold more than one row, in an order that nobody else can know; so who locks
    many places has to be ready to let go of them and begin again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                return act()
        except (Overtaken, OperationalError) as error:
            if attempt == ATTEMPTS or not (isinstance(error, Overtaken) or is_deadlock(error)):
                raise
    raise AssertionError("unreachable")

"""The lease of a job that a worker does in a thread of its own, kept alive while it does it."""

import logging
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connections
from django.db.models import QuerySet
from django.utils import timezone

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=120)
BEAT_SECONDS = 1.0


class InterruptedJob(Exception):  # noqa: N818  (no error: somebody asked for it)
    """The job is to end: it was deleted, the worker stops, or another has it."""


class Heartbeat:
    """Keeps the lease alive and tells how far the job is, by a connection of its own.

    The one that reads rows must not write meanwhile. On SQLite a job that stores rows keeps everybody else from
    writing, so that no beat is stored until it has ended, and nobody can take its lease either.

    Parameters
    ----------
    mine : queryset
        The job's row, while this worker has it; with the fields step, n_done, n_total and lease_until.
    stop : callable
        Whether this process is shutting down.
    """

    def __init__(self, mine: "QuerySet[Any]", stop: Callable[[], bool]) -> None:
        self._mine, self._stop = mine, stop
        self._now: tuple[str, int, int] = ("", 0, 0)
        self._over, self._lost = threading.Event(), False
        self._thread = threading.Thread(target=self._beat, name="job-heart", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def tell(self, step: str, done: int, total: int) -> None:
        """Note the progress; raises where the job is to end."""
        self._now = (step[:60], done, total)
        if self._lost or self._stop():
            raise InterruptedJob

    def _beat(self) -> None:
        try:
            while not self._over.wait(BEAT_SECONDS):
                step, done, total = self._now
                until = timezone.now() + LEASE
                try:
                    n = self._mine.update(step=step, n_done=done, n_total=total, lease_until=until)
                except Exception:
                    logger.warning("The progress of a job could not be stored", exc_info=True)
                    connections.close_all()
                    continue
                if not n:
                    self._lost = True
                    return
        finally:
            connections.close_all()

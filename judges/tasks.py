"""The Celery tasks of judging: wake-ups, and nothing else.

What is to be done stands in the database. A message only says "look", so a lost one costs a few seconds and a
doubled one nothing. Every worker also looks by itself: when it is ready, and then every WAKE_UP_SECONDS.
"""

from __future__ import annotations

import logging
import mmap
import threading
import time
from collections.abc import Callable
from typing import Any

from celery import current_app, shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.conf import settings

from annotation.services.assignments import leases_reap
from annotation.services.deadlines import studies_close_due
from judges.engine.runner import run_pending

logger = logging.getLogger(__name__)

HOUSEKEEPING: list[Callable[[], object]] = [leases_reap, studies_close_due]
"""Called at each wake-up, and now and then during a long session: short, idempotent, e.g. reaping of leases."""

# Shared with the children of a prefork pool, whose parent alone hears the signal to shut down.
_stopping = mmap.mmap(-1, 1)
_working = threading.Lock()


@shared_task(name="judges.wake", ignore_result=True)
def wake() -> bool:
    """Look at the database and do what is to be done; False if this process is at it already."""
    if not _working.acquire(blocking=False):
        return False
    try:
        chores = _NowAndThen(settings.WAKE_UP_SECONDS, _housekeep)
        others = _NowAndThen(settings.WAKE_UP_SECONDS, wake_up)
        run_pending(
            stop=stop_requested,
            on_tick=chores,
            # Where the only worker is this process, there is nobody else to wake up.
            on_more=(lambda: None) if settings.IN_PROCESS_WORKER else others,
        )
    finally:
        _working.release()
    return True


def wake_up() -> None:
    """Send a wake-up. One that nobody has taken when the next is due is worth nothing, and expires."""
    if stop_requested():
        return
    try:
        current_app.send_task("judges.wake", expires=settings.WAKE_UP_SECONDS, retry=False)
    except Exception:
        logger.warning("A wake-up could not be sent; the next one may.", exc_info=True)


def stop_requested() -> bool:
    """Whether this process is shutting down."""
    return _stopping[0] != 0


def stop_request(*, stop: bool = True) -> None:
    """Ask the session at work in this process, or in the children of its pool, to end soon; or take it back."""
    _stopping[0] = int(stop)


@worker_ready.connect(weak=False)
def _on_ready(sender: Any = None, **_: Any) -> None:
    stop_request(stop=False)
    wake_up()
    # In place of a beat process, so that a site with one worker needs nothing else to go on after a crash.
    sender.timer.call_repeatedly(settings.WAKE_UP_SECONDS, wake_up)


@worker_shutting_down.connect(weak=False)
def _on_shutting_down(**_: Any) -> None:
    stop_request()


def _housekeep() -> None:
    for chore in HOUSEKEEPING:
        try:
            chore()
        except Exception:
            logger.exception("Housekeeping failed")


class _NowAndThen:
    """Calls a function at most once in so many seconds, the first time at once."""

    def __init__(self, seconds: float, function: Callable[[], None]) -> None:
        self._seconds = seconds
        self._function = function
        self._due = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self._seconds
            self._function()

"""The Celery tasks of judging: wake-ups, and nothing else.

What is to be done stands in the database. A message only says "look", so a lost one costs a few seconds and a
doubled one nothing. Every worker also looks by itself: when it is ready, and then every WAKE_UP_SECONDS.

There is a queue for each kind of work (`judges.models.Queue`). A process of a pool takes up the runs of the queue that
its wake-up came by, so that an engine that computes does not hold up requests to servers; a worker of one process
takes up those of all queues that it consumes.
"""

import logging
import mmap
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from celery import current_app, shared_task
from celery.signals import worker_process_shutdown, worker_ready, worker_shutdown, worker_shutting_down
from django.conf import settings
from django.db import connection

from annotation.services.erasure_log import erasures_file_complete
from annotation.services.images import image_files_tidy
from annotation.services.leases import leases_reap
from annotation.services.retention import retention_apply
from annotation.services.staged_imports import staged_tidy
from annotation.services.studies import studies_close_due
from annotation.services.webhooks import webhooks_start
from judges.backends.warm import shutdown_all
from judges.engine.batch_work import batches_start
from judges.engine.runner import run_pending
from judges.models import Queue
from judges.services.anchors import anchors_check_due
from judges.services.dataset_imports import dataset_imports_start
from judges.services.export_jobs import export_files_tidy, export_jobs_start
from judges.services.import_files import imports_tidy
from judges.services.verdict_imports import verdict_imports_start
from judges.services.worker_heartbeats import (
    worker_beat,
    worker_heartbeats_tidy,
    worker_started,
    worker_stopped,
)

logger = logging.getLogger(__name__)

TIDYING: list[Callable[[], object]] = [
    export_files_tidy,
    image_files_tidy,
    imports_tidy,
    staged_tidy,
    worker_heartbeats_tidy,
]
"""What removes things that were kept for hours. Called every `TIDY_EVERY` seconds."""
TIDY_EVERY = 600.0

HOUSEKEEPING: list[Callable[[], object]] = [
    leases_reap,
    studies_close_due,
    anchors_check_due,
    lambda: export_jobs_start(stop_requested),
    lambda: batches_start(stop_requested),
    lambda: verdict_imports_start(stop_requested),
    lambda: dataset_imports_start(stop_requested),
    lambda: webhooks_start(stop_requested),
    lambda: retention_apply(stop=stop_requested),
    erasures_file_complete,
]
"""Called at each wake-up, and now and then during a long session: short, idempotent, e.g. reaping of leases."""

QUEUES: tuple[str, ...] = tuple(Queue.values)

# Shared with the children of a prefork pool, whose parent alone hears the signal to shut down: whether it came, and
# which queues one session takes up, a bit each; none where that is the queue of the wake-up.
_shared = mmap.mmap(-1, 2)
_working = threading.Lock()


@shared_task(name="judges.wake", bind=True, ignore_result=True)
def wake(self: Any) -> bool:
    """Look at the database and do what is to be done; False if this process is at it already."""
    if not _working.acquire(blocking=False):
        return False
    try:
        queues = queues_of((self.request.delivery_info or {}).get("routing_key", ""))
        name = self.request.hostname
        chores = _NowAndThen(settings.WAKE_UP_SECONDS, lambda: _housekeep(name))
        others = _NowAndThen(settings.WAKE_UP_SECONDS, lambda: wake_up(queues or QUEUES))
        run_pending(
            queues=queues,
            stop=stop_requested,
            on_tick=chores,
            # Where the only worker is this process, there is nobody else to wake up.
            on_more=(lambda: None) if settings.IN_PROCESS_WORKER else others,
        )
    finally:
        _working.release()
    return True


def queues_of(delivered: str) -> tuple[str, ...] | None:
    """Return the queues whose runs a session takes up that was woken up by this one; None: all."""
    if chosen := tuple(queue for place, queue in enumerate(QUEUES) if _shared[1] >> place & 1):
        return chosen
    return (delivered,) if delivered in QUEUES else None


def queues_share(queues: Collection[str]) -> None:
    """Let each session of this process, or of the children of its pool, take up these queues; none: one each."""
    _shared[1] = sum(1 << QUEUES.index(queue) for queue in queues)


def wake_up(queues: Collection[str]) -> None:
    """Send a wake-up to each queue. One that nobody has taken when the next is due is worth nothing, and expires."""
    if stop_requested():
        return
    try:
        for queue in queues:
            current_app.send_task("judges.wake", queue=queue, expires=settings.WAKE_UP_SECONDS, retry=False)
    except Exception:
        logger.warning("A wake-up could not be sent; it will be tried again.", exc_info=True)


def stop_requested() -> bool:
    """Whether this process is shutting down."""
    return _shared[0] != 0


def stop_request(*, stop: bool = True) -> None:
    """Ask the session at work in this process, or in the children of its pool, to end soon; or take it back."""
    _shared[0] = int(stop)


@worker_ready.connect(weak=False)
def _on_ready(sender: Any = None, **_: Any) -> None:
    stop_request(stop=False)
    consumed = [queue for queue in QUEUES if queue in sender.app.amqp.queues.consume_from]
    queues_share(consumed if _is_alone(sender.pool) else ())
    # A session of a process that is alone looks at all of its queues: by a message through each it would look three
    # times, beside people's requests. Where there is a broker, another worker may get the message.
    woken = consumed[:1] if settings.IN_PROCESS_WORKER else consumed
    wake_up(woken)
    # In place of a beat process, so that a site with one worker needs nothing else to go on after a crash.
    sender.timer.call_repeatedly(settings.WAKE_UP_SECONDS, wake_up, (woken,))
    name, forks = sender.hostname, _forks(sender.pool)
    started = partial(worker_started, name=name, queues=consumed, n_processes=sender.pool.num_processes)
    _tell(started, forks=forks)
    beat = partial(_tell, partial(worker_beat, name=name), forks=forks)
    sender.timer.call_repeatedly(settings.WAKE_UP_SECONDS, beat)


def _tell(change: Callable[[], None], *, forks: bool) -> None:
    """Store a sign of life from the parent of the pool, and keep no connection that its next child would inherit."""
    try:
        change()
    except Exception as error:
        # On SQLite a long import keeps everybody else from writing: the next beat may get through.
        logger.warning("A sign of life of this worker could not be stored: %s", error)
    finally:
        connection.close()
        close_pool = getattr(connection, "close_pool", None)  # of PostgreSQL alone
        if forks and close_pool is not None:
            close_pool()


def _forks(pool: Any) -> bool:
    return "prefork" in type(pool).__module__


def _is_alone(pool: Any) -> bool:
    """Whether the pool has one process: threads of one do not work at the same time either."""
    return "prefork" not in type(pool).__module__ or pool.num_processes == 1


@worker_shutting_down.connect(weak=False)
def _on_shutting_down(**_: Any) -> None:
    stop_request()


@worker_shutdown.connect(weak=False)
def _on_stopped(sender: Any = None, **_: Any) -> None:
    _tell(partial(worker_stopped, name=sender.hostname), forks=False)


@worker_process_shutdown.connect(weak=False)
@worker_shutdown.connect(weak=False)
def _on_shutdown(**_: Any) -> None:
    # A child of a pool leaves without Python's own exit handlers.
    shutdown_all()


def _housekeep(name: str | None) -> None:
    # A pool of one process that is at work doesn't get to the timer of the heartbeat.
    beat = [] if name is None else [lambda: worker_beat(name=name)]
    _do([*beat, *HOUSEKEEPING])
    _tidy()


def _do(chores: Collection[Callable[[], object]]) -> None:
    for chore in chores:
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


_tidy = _NowAndThen(TIDY_EVERY, lambda: _do(TIDYING))

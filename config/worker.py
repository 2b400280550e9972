"""The in-process worker: a thread that runs the Celery tasks where no broker is configured.

It is a real Celery worker (solo pool, memory broker), so a site without a broker runs the same code as one with
many machines. It belongs to one web process: when that is restarted, the next one goes on from the database as
soon as the leases of the old one have run out, or at once if it was shut down cleanly.
"""

import logging
import socket
import threading
import time
from multiprocessing.util import Finalize
from typing import Any

from django.conf import settings

logger = logging.getLogger(__name__)

STOP_SECONDS = 8.0
"""How long a shutting-down web process waits for its worker: answers in flight, then leases given back."""


class InProcessWorker:
    """A Celery worker in a daemon thread of this process."""

    def __init__(self) -> None:
        self._thread = threading.Thread(target=self._run, name="in-process-worker", daemon=True)
        self._ready = threading.Event()

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._thread.start()

    def wait_until_ready(self, timeout: float) -> bool:
        """Wait until the worker takes messages; False if it does not within `timeout` seconds."""
        return self._ready.wait(timeout)

    def stop(self, timeout: float = STOP_SECONDS) -> bool:
        """Ask the worker to end and wait for it; False if it did not within `timeout` seconds."""
        from celery.worker import state

        from judges.tasks import stop_request

        if not self._thread.is_alive():
            return True
        stop_request()
        # The consumer, on its way round, ends when it finds this; a signal handler would set the same.
        state.should_stop = 0
        deadline = time.monotonic() + timeout
        self._thread.join(timeout)
        state.should_stop = None
        return time.monotonic() < deadline

    def _run(self) -> None:
        from celery.signals import worker_ready
        from celery.worker import WorkController
        from django.db import connections

        from config.celery import app

        ready = self._ready

        class Controller(WorkController):  # type: ignore[misc]
            # Celery's command-line worker, which is built on this class, also installs signal handlers and
            # sets up logging; both belong to the web process here.
            def on_consumer_ready(self, consumer: Any) -> None:
                worker_ready.send(sender=consumer)
                ready.set()

        try:
            app.finalize()
            controller = Controller(
                app=app,
                pool_cls="solo",
                concurrency=1,
                hostname=f"in-process-{threading.get_native_id()}@{socket.gethostname()}",
                without_heartbeat=True,
                without_mingle=True,
                without_gossip=True,
            )
            controller.start()
        except Exception:
            logger.exception("The in-process worker ended by an error; restart the site to start it again.")
        finally:
            connections.close_all()


_lock = threading.Lock()
_worker: InProcessWorker | None = None


def start_in_process_worker() -> InProcessWorker | None:
    """Start the worker of this process once, if no broker is configured; returns it."""
    global _worker
    if not settings.IN_PROCESS_WORKER:
        return None
    with _lock:
        if _worker is None:
            _worker = InProcessWorker()
            _worker.start()
            # Not atexit alone: web servers run their workers as processes of multiprocessing, which end without
            # it, but not without this.
            Finalize(None, stop_in_process_worker, exitpriority=0)
    return _worker


def stop_in_process_worker() -> None:
    """End the worker of this process, if there is one, and give back its leases."""
    global _worker
    with _lock:
        worker, _worker = _worker, None
    if worker is not None and not worker.stop():
        logger.warning("The in-process worker did not end in time; its leases will expire.")

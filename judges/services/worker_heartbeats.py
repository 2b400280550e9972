"""Signs of life of workers, idle or at work, for what operators are shown. No work depends on them."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.utils import timezone

from judges.models import WorkerHeartbeat
from web.version import software_version

FORGOTTEN_AFTER = timedelta(days=1)
"""How long a worker that was shut down, or that gives no sign of life, is still listed."""


def worker_started(*, name: str, queues: Collection[str], n_processes: int) -> None:
    """Note that a worker takes messages from now on. One that is started again under its name replaces the row."""
    now = timezone.now()
    row = {
        "queues": sorted(queues),
        "n_processes": n_processes,
        "version": software_version()[:40],
        "started_at": now,
        "beat_at": now,
        "stopped_at": None,
    }
    WorkerHeartbeat.objects.update_or_create(name=name[:200], defaults=row)


def worker_beat(*, name: str) -> None:
    """Note a sign of life of a worker that was started; one that is unknown is left out. One statement."""
    WorkerHeartbeat.objects.filter(name=name[:200]).update(beat_at=timezone.now(), stopped_at=None)


def worker_stopped(*, name: str) -> None:
    """Note that a worker was shut down: it is missed by nobody."""
    WorkerHeartbeat.objects.filter(name=name[:200]).update(stopped_at=timezone.now())


def worker_heartbeats_tidy(*, now: datetime | None = None) -> int:
    """Forget workers that have long been silent: containers have another name each time. Returns how many."""
    before = (now or timezone.now()) - FORGOTTEN_AFTER
    deleted, _ = WorkerHeartbeat.objects.filter(beat_at__lt=before).delete()
    return deleted

"""The state of the site as its database tells it, read for metrics and for the status page."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from annotation.selectors.operations import (
    DeliveriesState,
    LeasesState,
    deliveries_state,
    leases_state,
    study_states,
)
from config.observing.recent import Recent
from judges.selectors.operations import (
    EndpointUsage,
    JobsState,
    QueueState,
    ServerUsage,
    WorkerState,
    endpoints_usage,
    job_states,
    n_sessions,
    queue_states,
    servers_usage,
    sweep_states,
    workers_watched,
)
from metaeval.selectors.operations import report_job_states

KEEP_SECONDS = 5.0
"""How long a process answers from what it read."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system that the site writes to: bytes, and the folders of the site that are on it."""

    folders: tuple[str, ...]
    total: int
    free: int


@dataclass(frozen=True, slots=True)
class Operations:
    """What is going on; `database_bytes` is None where the database does not say."""

    leases: LeasesState
    studies: dict[str, int]
    deliveries: DeliveriesState
    workers: list[WorkerState]
    n_sessions: int
    sweeps: dict[str, int]
    queues: list[QueueState]
    endpoints: list[EndpointUsage]
    servers: list[ServerUsage]
    jobs: list[JobsState]
    disks: list[Disk]
    database_bytes: int | None


def operations_read() -> Operations:
    """Read all of it: 15 queries on PostgreSQL, however much there is. Raises what the database raises."""
    return Operations(
        leases=leases_state(),
        studies=study_states(),
        deliveries=deliveries_state(),
        workers=workers_watched(),
        n_sessions=n_sessions(),
        sweeps=sweep_states(),
        queues=queue_states(),
        endpoints=endpoints_usage(),
        servers=servers_usage(),
        jobs=[*job_states(), report_job_states()],
        disks=disks_watched(),
        database_bytes=_database_bytes(),
    )


operations_recent = Recent(operations_read, seconds=KEEP_SECONDS)
"""The same, from a few seconds ago."""


def disks_watched() -> list[Disk]:
    """The file systems of the folders that the site writes to, each once."""
    folders = {
        "data": settings.VAR_DIR,
        "exports": settings.EXPORTS_DIR,
        "imports": settings.IMPORTS_DIR,
        "images": settings.IMAGES_DIR,
    }
    found: dict[int, tuple[Path, list[str]]] = {}
    for name, folder in folders.items():
        there = _existing(Path(folder))
        found.setdefault(there.stat().st_dev, (there, []))[1].append(name)
    disks = []
    for there, names in found.values():
        usage = shutil.disk_usage(there)
        disks.append(Disk(tuple(names), usage.total, usage.free))
    return disks


def _existing(folder: Path) -> Path:
    while not folder.exists():
        folder = folder.parent
    return folder


def _database_bytes() -> int | None:
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        return path.stat().st_size if path.is_file() else None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
    return int(size)

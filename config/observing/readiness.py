"""Whether the deployment is ready: database, migrations, broker, disk, workers. Each check says a word of why not."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache, partial

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from config.celery import app
from config.observing.operations import disks_watched
from config.observing.recent import Recent
from judges.selectors.operations import n_workers_alive

logger = logging.getLogger(__name__)

KEEP_SECONDS = 2.0
"""How long a check's answer is kept, so that strangers who ask often cost nothing."""
BROKER_SECONDS = 2.0
"""How long the broker may take to answer."""


@dataclass(frozen=True, slots=True)
class ReadyCheck:
    """What one check found: `detail` is empty where it is `ok`, and never says an address or a name."""

    ok: bool
    detail: str = ""


def database_check() -> ReadyCheck:
    """Whether the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return ReadyCheck(True)


def migrations_missing() -> list[str]:
    """Migrations of the installed code that the database does not have, as "app.name"; one or two queries."""
    applied = MigrationRecorder(connection).applied_migrations()
    return [f"{label}.{name}" for label, name in sorted(_migrations_known() - applied.keys())]


@cache
def _migrations_known() -> frozenset[tuple[str, str]]:
    # Files of the installed code do not change while it runs, and to load them takes a second.
    return frozenset(MigrationLoader(None).disk_migrations)


def migrations_check() -> ReadyCheck:
    """Whether the database has all migrations."""
    n = len(migrations_missing())
    return ReadyCheck(n == 0, "" if n == 0 else f"{n} not applied: run manage.py migrate")


def broker_check() -> ReadyCheck:
    """Whether the broker answers. Without one, messages stay in the process."""
    if settings.IN_PROCESS_WORKER:
        return ReadyCheck(True)
    limits = {"socket_timeout": BROKER_SECONDS, "socket_connect_timeout": BROKER_SECONDS}
    options = settings.CELERY_BROKER_TRANSPORT_OPTIONS | limits
    try:
        with app.connection_for_write(connect_timeout=BROKER_SECONDS, transport_options=options) as broker:
            broker.ensure_connection(max_retries=1, timeout=BROKER_SECONDS)
            broker.default_channel.close()
    except Exception as error:  # each transport raises its own
        logger.warning("The broker does not answer: %s", type(error).__name__)
        return ReadyCheck(False, "not answering")
    return ReadyCheck(True)


def disk_check() -> ReadyCheck:
    """Whether each file system that the site writes to has DISK_FREE_MIN_BYTES left."""
    full = [",".join(disk.folders) for disk in disks_watched() if disk.free < settings.DISK_FREE_MIN_BYTES]
    return ReadyCheck(not full, f"little space left for: {', '.join(full)}" if full else "")


def worker_check() -> ReadyCheck:
    """Whether any worker gives signs of life."""
    is_alive = n_workers_alive() > 0
    return ReadyCheck(is_alive, "" if is_alive else "no worker gives signs of life")


CHECKS: dict[str, Callable[[], ReadyCheck]] = {
    "database": database_check,
    "migrations": migrations_check,
    "broker": broker_check,
    "disk": disk_check,
    "worker": worker_check,
}
"""In the order in which they are asked."""
_OF_DATABASE = ("migrations", "worker")


def _checked(name: str) -> ReadyCheck:
    try:
        return CHECKS[name]()
    except (DatabaseError, InterfaceError) as error:
        logger.warning("Not ready, %s: %s", name, type(error).__name__)
        connection.close()
        return ReadyCheck(False, "not answering" if name == "database" else "not checked: no database")
    except OSError as error:
        logger.warning("Not ready, %s: %s", name, error)
        return ReadyCheck(False, "can't be checked")


_recent = {name: Recent(partial(_checked, name), seconds=KEEP_SECONDS) for name in CHECKS}


def ready_checks(*, without: Collection[str] = ()) -> dict[str, ReadyCheck]:
    """Ask all checks but those of `without`. A database that does not answer is asked once."""
    found: dict[str, ReadyCheck] = {}
    for name in CHECKS:
        if name in without:
            continue
        if name in _OF_DATABASE and "database" in found and not found["database"].ok:
            found[name] = ReadyCheck(False, "not checked: no database")
        else:
            found[name] = _recent[name]()
    return found


def ready_checks_forget() -> None:
    """Ask anew the next time."""
    for recent in _recent.values():
        recent.forget()

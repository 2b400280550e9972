"""The status page: what an administrator looks at first when something seems wrong."""

import platform
from dataclasses import dataclass
from datetime import datetime

import django
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache

from config.cache import SharedCache
from config.observing.operations import Disk, Operations, operations_read
from config.observing.readiness import ReadyCheck, migrations_missing, ready_checks, ready_checks_forget
from judges.selectors.operations import EndpointState, FailedWork, endpoints_watched, judging_failures
from metaeval.selectors.operations import report_failures
from web.access import ResearcherRequest, administrator_page
from web.numbers import duration
from web.version import software_version

MOST_FAILED = 25
REASON_CHARS = 300
CHECK_NAMES = {
    "database": "Database",
    "migrations": "Migrations",
    "broker": "Message broker",
    "disk": "Disk space",
    "worker": "Workers",
}
JOB_NAMES = {
    "export": "Exports",
    "dataset_import": "Imports of items",
    "verdict_import": "Imports of verdicts",
    "report": "Reports",
}


@dataclass(frozen=True, slots=True)
class StatusPage:
    """What the template shows."""

    checks: list[tuple[str, ReadyCheck]]
    versions: list[tuple[str, str]]
    operations: Operations
    jobs: list[tuple[str, int, int, int, str]]
    queue_ages: list[str]
    endpoints: list[EndpointState]
    disks: list[tuple[Disk, int]]
    migrations: list[str]
    failures: list[tuple[FailedWork, str]]


@never_cache
@administrator_page
def status(request: ResearcherRequest) -> HttpResponse:
    """Read everything now: this page is opened to see whether something changed."""
    ready_checks_forget()
    checks = ready_checks()
    now = timezone.now()
    found = operations_read()
    failures = sorted(
        [*judging_failures(now=now), *report_failures(now=now)],
        key=lambda one: one.failed_at or datetime.min.replace(tzinfo=now.tzinfo),
        reverse=True,
    )
    page = StatusPage(
        checks=[(CHECK_NAMES[name], check) for name, check in checks.items()],
        versions=_versions(),
        operations=found,
        jobs=[
            (
                JOB_NAMES[one.kind],
                one.states["queued"],
                one.states["running"],
                one.states["failed"],
                _age(one.waiting_since, now),
            )
            for one in found.jobs
        ],
        queue_ages=[_age(one.waiting_since, now) for one in found.queues],
        endpoints=endpoints_watched(found.endpoints),
        disks=[(disk, round(100 * (disk.total - disk.free) / disk.total)) for disk in found.disks],
        migrations=migrations_missing(),
        failures=[
            (one, reverse(one.url_name, args=one.url_args) if one.url_name else "")
            for one in failures[:MOST_FAILED]
        ],
    )
    context = {
        "page": page,
        "queues": list(zip(found.queues, page.queue_ages, strict=True)),
        "workers": found.workers,
        "overdue": _age(found.deliveries.due_since, now),
        "section": "admin",
        "read_at": now,
        "metrics": settings.METRICS,
    }
    return render(request, "status.html", context)


def _age(moment: datetime | None, now: datetime) -> str:
    return "" if moment is None else duration(max((now - moment).total_seconds(), 0.0))


def _versions() -> list[tuple[str, str]]:
    return [
        ("Touchstone", software_version()),
        ("Python", platform.python_version()),
        ("Django", django.get_version()),
        ("Database", _database_version()),
        ("Cache", _cache_state()),
        ("Broker", "None: work is done in the web process" if settings.IN_PROCESS_WORKER else "Configured"),
    ]


def _database_version() -> str:
    connection.ensure_connection()
    name = "PostgreSQL" if connection.vendor == "postgresql" else connection.display_name
    return f"{name} {'.'.join(str(part) for part in connection.get_database_version())}"


def _cache_state() -> str:
    shared = caches["default"]
    if not isinstance(shared, SharedCache):
        return "Memory of each process"
    return "Redis isn't answering: memory of each process" if shared.is_away() else "Redis"

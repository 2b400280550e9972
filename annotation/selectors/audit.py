"""Reading the audit log."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db.models import Q, QuerySet

from annotation.models import AuditEvent
from web.tables import ExportTable, TableColumn

PER_PAGE = 50


@dataclass(frozen=True)
class AuditFilter:
    """What of the log is wanted; what is empty narrows nothing.

    `text` is looked for in names of people and of subjects. `since` and `until` are whole days in UTC.
    """

    text: str = ""
    action: str = ""
    since: date | None = None
    until: date | None = None


def audit_events(wanted: AuditFilter) -> QuerySet[AuditEvent]:
    """The events that match, the newest first."""
    found = AuditEvent.objects.all()
    if wanted.text:
        found = found.filter(Q(actor__icontains=wanted.text) | Q(subject__icontains=wanted.text))
    if wanted.action:
        found = found.filter(action=wanted.action)
    if wanted.since:
        found = found.filter(at__date__gte=wanted.since)
    if wanted.until:
        found = found.filter(at__date__lt=wanted.until + timedelta(days=1))
    return found


def audit_actions() -> list[str]:
    """The actions that the log has, in order."""
    return list(AuditEvent.objects.order_by("action").values_list("action", flat=True).distinct())


_COLUMNS = (
    TableColumn("id", "integer", "Number of the event."),
    TableColumn("at", "time", "When it happened, in UTC."),
    TableColumn("actor", "text", "Username; empty for a command or a worker."),
    TableColumn("via", "text", "page, api, or the command."),
    TableColumn("network", "text", "Network of the client."),
    TableColumn("action", "text", "What was done."),
    TableColumn("subject", "text", "Name of what it was done to."),
    TableColumn("subject_key", "text", "Its primary key."),
    TableColumn("before", "json", "Fields that were changed, before."),
    TableColumn("after", "json", "The same fields, after."),
)


def audit_table(events: QuerySet[AuditEvent]) -> ExportTable:
    """The events as a table, read as they are written."""

    def rows() -> Iterator[list[Any]]:
        for event in events.iterator(chunk_size=1000):
            moment = event.at.isoformat().replace("+00:00", "Z")
            values = {name: getattr(event, name) for name in (c.name for c in _COLUMNS)} | {"at": moment}
            yield [values[column.name] for column in _COLUMNS]

    return ExportTable(_COLUMNS, rows())

"""The event of meta-evaluation: a report that is ready."""

from collections.abc import Iterator
from datetime import datetime

from annotation.models import User
from annotation.services.webhooks import Happening, event_register
from metaeval.selectors.reports import reports_visible_to


def reports_ready(user: User, since: datetime) -> Iterator[Happening]:
    """Reports that the user may see, made from a time on."""
    rows = reports_visible_to(user).filter(created_at__gte=since).select_related("dataset", "study")
    for report in rows.defer("content").order_by("pk"):
        study = report.study.slug if report.study is not None else None
        data = {"report": report.pk, "name": report.name, "dataset": report.dataset.name, "study": study}
        yield Happening(str(report.pk), data | {"inputs_hash": report.inputs_hash})


event_register("report.ready", "A report is ready", reports_ready)

"""Reports of broken items, gathered an item, for who decides about them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from annotation.models import ItemReport, Study, StudyItem


@dataclass(frozen=True, slots=True)
class ReportedItem:
    """An item with what people reported of it, first report first: by that one the item is decided."""

    reports: tuple[ItemReport, ...]

    @property
    def report(self) -> ItemReport:
        return self.reports[0]

    @property
    def place(self) -> StudyItem:
        return self.report.study_item


def reported_items(study: Study) -> list[ReportedItem]:
    """Items that people reported: the open ones, most reported first, then the decided ones. One query."""
    reports = (
        ItemReport.objects.filter(study_item__study=study)
        .select_related("study_item__item__instruction", "enrollment__annotator")
        .order_by("pk")
    )
    # An item that was kept may be reported again: its new reports are a matter of their own.
    gathered: dict[tuple[int, datetime | None], list[ItemReport]] = {}
    for report in reports:
        gathered.setdefault((report.study_item_id, report.resolved_at), []).append(report)
    rows = [ReportedItem(tuple(found)) for found in gathered.values()]
    return sorted(
        rows, key=lambda row: (row.report.resolved_at is not None, -len(row.reports), row.report.pk)
    )


def reported_open(study: Study) -> int:
    """How many items wait for a decision."""
    waiting = ItemReport.objects.filter(study_item__study=study, resolved_at=None)
    return waiting.values("study_item").distinct().count()


def reported_by_study(studies: Iterable[Study]) -> dict[int, int]:
    """The same of several studies, by primary key, where there are any. One query."""
    waiting = ItemReport.objects.filter(study_item__study__in=list(studies), resolved_at=None).order_by()
    rows = waiting.values_list("study_item__study").annotate(n=Count("study_item", distinct=True))
    return dict(rows)


def report_get(study: Study, pk: int) -> ItemReport:
    """A report of a study that was fetched for the user, or `ItemReport.DoesNotExist`."""
    return ItemReport.objects.select_related("study_item").get(pk=pk, study_item__study=study)

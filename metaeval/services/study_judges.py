"""What the page of a study says of judges: what a report on the study says, or the latest that was made."""

from dataclasses import dataclass

from annotation.models import Study, User
from annotation.selectors.overview import labels_visible_to
from judges.selectors.stored import judgments_on
from metaeval.models import Report
from metaeval.reports.report import ReportContent, report_of
from metaeval.selectors.reports import report_latest
from metaeval.services.report_jobs import is_small
from metaeval.services.reports import report_build


@dataclass(frozen=True, slots=True)
class StudyJudges:
    """The report that the page quotes, and where it was stored; without content there are too many rows to wait for."""

    content: ReportContent | None
    stored: Report | None = None


def study_judges_get(*, study: Study, reader: User) -> StudyJudges | None:
    """What a report on a study says now, or of many rows what the latest said; None without judgments or labels."""
    labels = labels_visible_to(reader).current().filter(study=study)
    if not judgments_on([study.dataset], study.kind).exists() or not labels.exists():
        return None
    if is_small([study.dataset], study.kind):
        content = report_build(dataset=study.dataset, kind=study.kind, study=study, reader=reader)
        return StudyJudges(content)
    stored = report_latest(reader, study)
    return StudyJudges(None if stored is None else report_of(stored.content), stored)

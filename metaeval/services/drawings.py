"""The drawings of a stored report, made by the worker that made the report: its page need not wait for them."""

from judges.selectors.item_addresses import items_url
from metaeval.models import Report
from metaeval.pictures.rendering import available
from metaeval.reports.behind import behind
from metaeval.reports.figures import cell_query
from metaeval.reports.pictures import Leads, report_pictures
from metaeval.reports.report import ReportContent, report_of
from metaeval.reports.tables import Slice
from metaeval.services.pictures import PAGE, picture_file


def report_draw(report: Report) -> None:
    """Draw the pictures of a stored report as its page shows them; the cache that web processes share keeps them."""
    if available():
        content = report_of(report.content)
        for picture in report_pictures(content, report_items_behind(report, content)):
            picture_file(picture, PAGE)


def report_items_behind(report: Report, content: ReportContent) -> Leads:
    """Where the cells of a report's pictures lead: of a study's report, to its items with its labels."""
    study = "" if report.study is None else report.study.slug
    return items_behind(report.dataset.name, content, study=study)


def items_behind(dataset: str, content: ReportContent, *, study: str = "") -> Leads:
    """Where the cells of a picture lead: to the items of a dataset, by judge and group."""

    def leads(fingerprint: str, place: Slice) -> str:
        if place.kind not in ("overall", "category", "subset"):
            return ""
        asked = behind(content.kind, figure=content.primary, place=place, fingerprint=fingerprint)
        judge = next((one for one in content.judges if one.fingerprint == fingerprint), None)
        estimate = None if judge is None else place.of(judge.measures.get(content.primary))
        came_from = cell_query(content.primary, estimate, content.primary_figure.unit)
        return items_url(dataset, **asked, **came_from, study=study)

    return leads

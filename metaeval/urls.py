"""URLs of reports, comparisons and decisions."""

from django.urls import URLPattern, URLResolver, path, register_converter

import annotation.urls.converters  # noqa: F401  (registers `row`)
from metaeval.reports.kinds.measures import KIND_LABELS
from metaeval.reports.render import FORMATS, KIND_FORMATS
from metaeval.views import comparisons, decisions, label_next, promotions, reports, systems


class SuffixConverter:
    """The formats of a report on pairs in a URL: json, md, html, tex."""

    regex = "|".join(suffix.removeprefix(".") for suffix in FORMATS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class AnySuffixConverter(SuffixConverter):
    """The formats of a report on whatever kind."""

    regex = "|".join(suffix.removeprefix(".") for suffix in {**FORMATS, **KIND_FORMATS})


class TableConverter(SuffixConverter):
    """The formats of a comparison of a kind other than pairs."""

    regex = "json|csv"


class KindConverter(SuffixConverter):
    """The kinds other than pairs."""

    regex = "|".join(KIND_LABELS)


class ChoiceConverter(SuffixConverter):
    """The formats of a choice of a judge."""

    regex = "json|md"


register_converter(SuffixConverter, "report_format")
register_converter(AnySuffixConverter, "any_report_format")
register_converter(ChoiceConverter, "choice_format")
register_converter(TableConverter, "table_format")
register_converter(KindConverter, "kind_name")

app_name = "metaeval"
urlpatterns: list[URLPattern | URLResolver] = [
    path("reports/", reports.report_list, name="report-list"),
    path("reports/new/", reports.report_new, name="report-new"),
    path("reports/<row:pk>/", reports.report_detail, name="report-detail"),
    path(
        "reports/<row:pk>/report.<any_report_format:suffix>", reports.report_download, name="report-download"
    ),
    path("datasets/<slug:name>/systems/", systems.systems, name="systems"),
    path("datasets/<slug:name>/systems.json", systems.systems_download, name="systems-download"),
    path("datasets/<slug:name>/systems/ratings/", systems.ratings_upload, name="ratings-upload"),
    path("sweeps/<row:pk>/comparison/", comparisons.comparison, name="comparison"),
    path(
        "sweeps/<row:pk>/comparison.<report_format:suffix>",
        comparisons.comparison_download,
        name="comparison-download",
    ),
    path(
        "sweeps/<row:pk>/comparison-<kind_name:kind>.<table_format:suffix>",
        comparisons.kind_download,
        name="kind-comparison-download",
    ),
    path("sweeps/<row:pk>/promote/", comparisons.promote, name="promote"),
    path("sweeps/<row:pk>/decision/", decisions.decision, name="decision"),
    path("sweeps/<row:pk>/decision/summary/", decisions.decision_summary, name="decision-summary"),
    path("sweeps/<row:pk>/decision/promote/", promotions.decision_promote, name="decision-promote"),
    path(
        "sweeps/<row:pk>/decision.<choice_format:suffix>",
        decisions.decision_download,
        name="decision-download",
    ),
    path("sweeps/<row:pk>/label-next/", label_next.label_next_page, name="label-next"),
    path("sweeps/<row:pk>/label-next/send/", label_next.label_next_send, name="label-next-send"),
    path("sweeps/<row:pk>/label-next.csv", label_next.label_next_download, name="label-next-download"),
    path("sweeps/<row:pk>/tower-differences.csv", label_next.tower_download, name="tower-download"),
    path("decisions/<row:pk>/judge.json", comparisons.decision_judge, name="decision-judge"),
]

"""URLs of reports, comparisons and decisions."""

from django.urls import URLPattern, URLResolver, path, register_converter

from metaeval import views
from metaeval.reports.render import FORMATS


class SuffixConverter:
    """The formats of a report in a URL: json, md, html."""

    regex = "|".join(suffix.removeprefix(".") for suffix in FORMATS)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(SuffixConverter, "report_format")

app_name = "metaeval"
urlpatterns: list[URLPattern | URLResolver] = [
    path("reports/", views.report_list, name="report-list"),
    path("reports/new/", views.report_new, name="report-new"),
    path("reports/<int:pk>/", views.report_detail, name="report-detail"),
    path("reports/<int:pk>/report.<report_format:suffix>", views.report_download, name="report-download"),
    path("sweeps/<int:pk>/comparison/", views.comparison, name="comparison"),
    path(
        "sweeps/<int:pk>/comparison.<report_format:suffix>",
        views.comparison_download,
        name="comparison-download",
    ),
    path("sweeps/<int:pk>/promote/", views.promote, name="promote"),
    path("decisions/<int:pk>/judge.json", views.decision_judge, name="decision-judge"),
]

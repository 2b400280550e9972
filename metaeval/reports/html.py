"""A report as one self-contained HTML file: inlined style, figures as inline SVG, no scripts, light and dark."""

from typing import Any

from django.template.loader import render_to_string

from metaeval.figures import KIND_LABELS
from metaeval.pictures.palette import DARK, LIGHT
from metaeval.reports import tables
from metaeval.reports.illustrations import illustrations
from metaeval.reports.methods import methods_section
from metaeval.reports.planned import planned_context
from metaeval.reports.replacement import replacement_words, replacements
from metaeval.reports.report import ReportContent
from metaeval.reports.words import simulated_words, verdict_of

COLORS = ";".join(f"--picture-{name}:light-dark({LIGHT[name]},{DARK[name]})" for name in LIGHT)
"""The colors of pictures as CSS variables, in both themes."""


def html(report: ReportContent) -> str:
    """Write the report as HTML."""
    drawn = list(illustrations(report, "page"))
    own = {"illustrations": drawn, "picture_colors": COLORS}
    return render_to_string("metaeval/export.html", context_of(report) | own)


def context_of(report: ReportContent) -> dict[str, Any]:
    """What the templates of a report show; the page and the file share it."""
    return {
        "content": report,
        "kind_label": KIND_LABELS[report.kind],
        "labels_words": tables.labels_words(report),
        "verdict": verdict_of(report),
        "simulated": simulated_words(report),
        "people": tables.people_table(report),
        "has_alike": tables.has_alike(report),
        "why_not_alike": tables.why_not_alike(report),
        "people_tables": tables.people_tables(report),
        "one_person": report.figures.of_one_person,
        "annotators": [(row, "") for row in report.people.annotators],
        "info": report.primary_figure,
        "against": "the gold answers" if report.against == "gold" else "human annotators",
        "table": tables.judges_table(report) if report.judges else None,
        "groups": tables.group_tables(report),
        "differences": tables.differences(report),
        "unit": tables.difference_unit(report),
        "counted": report.figures.counted,
        "replaces": replacements(report),
        "replaces_words": replacement_words(report),
        **planned_context(report.planned),
        "methods": methods_section(report),
    }

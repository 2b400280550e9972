"""URLs of reports, comparisons and decisions."""

from collections.abc import Callable, Iterator
from functools import partial

from django.http import HttpResponseBase
from django.urls import URLPattern, URLResolver, path, register_converter
from django.urls.converters import StringConverter

import web.converters  # noqa: F401  (registers `row`)
from annotation.kinds import kind_of
from judges.views import items
from metaeval.figures import KIND_LABELS
from metaeval.papers import PAPERS
from metaeval.reports.render import FORMATS
from metaeval.services.papers import DOCUMENTS
from metaeval.services.pictures import PICTURE_FORMATS
from metaeval.views import (
    comparisons,
    confidence,
    home,
    in_time,
    label_next,
    papers,
    planning,
    promotions,
    reports,
    selections,
    study_judges,
    systems,
)


class SuffixConverter(StringConverter):
    """The formats of a report in a URL."""

    regex = "|".join(suffix.removeprefix(".") for suffix in FORMATS)


class PictureConverter(StringConverter):
    """The formats of a picture."""

    regex = "|".join(PICTURE_FORMATS)


class KindConverter(StringConverter):
    """The kinds other than pairs."""

    regex = "|".join(kind for kind in KIND_LABELS if not kind_of(kind).presented)


class ChoiceConverter(StringConverter):
    """The formats of a choice of a judge."""

    regex = "json|md"


class PaperConverter(StringConverter):
    """The papers whose tables are made."""

    regex = "|".join(PAPERS)


class PaperFormatConverter(StringConverter):
    """The single files that have all of a paper."""

    regex = "|".join(suffix.removeprefix(".") for suffix in DOCUMENTS)


class DatasetConverter(StringConverter):
    """The name of a dataset, and of which of its judges: ``llmbar`` or ``llmbar/judges/3,7``."""

    regex = r"[-a-zA-Z0-9_]+(?:/judges/\d{1,9}(?:,\d{1,9})*)?"


register_converter(DatasetConverter, "judged_dataset")
register_converter(PaperConverter, "paper_key")
register_converter(PaperFormatConverter, "paper_format")
register_converter(PictureConverter, "picture_format")
register_converter(SuffixConverter, "report_format")
register_converter(ChoiceConverter, "choice_format")
register_converter(KindConverter, "kind_name")

_PICTURE = "pictures/<slug:picture>.<picture_format:file>"

# The pages of what is compared: a sweep, or all judgments of a dataset. Address, view, name.
_OF_A_SOURCE: tuple[tuple[str, Callable[..., HttpResponseBase], str], ...] = (
    ("comparison/", comparisons.comparison, "comparison"),
    ("comparison.<report_format:suffix>", comparisons.comparison_download, "comparison-download"),
    (
        "comparison-<kind_name:kind>.<report_format:suffix>",
        comparisons.comparison_download,
        "kind-comparison-download",
    ),
    (f"comparison/{_PICTURE}", comparisons.comparison_picture, "comparison-picture"),
    ("promote/", partial(promotions.promote, page="comparison"), "promote"),
    ("decision/", selections.decision, "decision"),
    ("decision/summary/", selections.decision_summary, "decision-summary"),
    ("decision/promote/", partial(promotions.promote, page="decision"), "decision-promote"),
    (f"decision/{_PICTURE}", selections.decision_picture, "decision-picture"),
    ("decision.<choice_format:suffix>", selections.decision_download, "decision-download"),
    ("confidence/", confidence.confidence, "confidence"),
    (f"confidence/{_PICTURE}", confidence.confidence_picture, "confidence-picture"),
    ("confidence.json", confidence.confidence_download, "confidence-download"),
    ("confidence/send/", confidence.confidence_send, "confidence-send"),
    ("label-next/", label_next.label_next_page, "label-next"),
    ("label-next/send/", label_next.label_next_send, "label-next-send"),
    ("label-next.csv", label_next.label_next_download, "label-next-download"),
    ("tower-differences.csv", label_next.tower_download, "tower-download"),
)


def _sources() -> Iterator[URLPattern]:
    for address, view, name in _OF_A_SOURCE:
        yield path(f"sweeps/<row:pk>/{address}", view, name=name)
        yield path(f"datasets/<judged_dataset:name>/{address}", view, name=f"dataset-{name}")


app_name = "metaeval"
urlpatterns: list[URLPattern | URLResolver] = [
    path("example/", home.example, name="example"),
    path("datasets/<slug:name>/loop/", home.loop, name="loop"),
    path("reports/", reports.report_list, name="report-list"),
    path("reports/new/", reports.report_new, name="report-new"),
    path("reports/jobs/<row:pk>/", reports.report_job, name="report-job"),
    path("reports/jobs/<row:pk>/act/", reports.report_job_act, name="report-job-act"),
    path("reports/<row:pk>/", reports.report_detail, name="report-detail"),
    path("reports/<row:pk>/verify/", reports.report_verify_page, name="report-verify"),
    path("reports/<row:pk>/changes/", reports.report_changes, name="report-changes"),
    path("reports/<row:pk>/report.<report_format:suffix>", reports.report_download, name="report-download"),
    path(
        f"reports/<row:pk>/{_PICTURE}",
        reports.report_picture,
        name="report-picture",
    ),
    path("studies/<slug:slug>/pictures/", study_judges.study_pictures_part, name="study-pictures"),
    path(f"studies/<slug:slug>/{_PICTURE}", study_judges.study_picture, name="study-picture"),
    path("studies/<slug:slug>/judges/", study_judges.study_judges, name="study-judges"),
    path(
        "judges/<row:pk>/in-time/<row:anchors>/pictures/",
        in_time.in_time_pictures_part,
        name="in-time-pictures",
    ),
    path(
        f"judges/<row:pk>/in-time/<row:anchors>/{_PICTURE}", in_time.in_time_picture, name="in-time-picture"
    ),
    path("datasets/<slug:name>/plan/", planning.plan, name="plan"),
    path(f"datasets/<slug:name>/plan/{_PICTURE}", planning.plan_picture, name="plan-picture"),
    path("datasets/<slug:name>/plan/register/", planning.plan_register, name="plan-register"),
    path("preregistrations/<row:pk>/", planning.preregistration, name="preregistration"),
    path(
        "preregistrations/<row:pk>/preregistration.<choice_format:suffix>",
        planning.preregistration_download,
        name="preregistration-download",
    ),
    path("datasets/<slug:name>/papers/", papers.paper_list, name="paper-list"),
    path("datasets/<slug:name>/papers/<paper_key:paper>/", papers.paper_detail, name="paper-detail"),
    path(
        "datasets/<slug:name>/papers/<paper_key:paper>.<paper_format:document>",
        papers.paper_download,
        name="paper-download",
    ),
    path(
        "datasets/<slug:name>/papers/<paper_key:paper>/<slug:picture>.<picture_format:file>",
        papers.paper_picture,
        name="paper-picture",
    ),
    path("datasets/<slug:name>/systems/", systems.systems, name="systems"),
    path(f"datasets/<slug:name>/systems/{_PICTURE}", systems.systems_picture, name="systems-picture"),
    path("datasets/<slug:name>/systems.json", systems.systems_download, name="systems-download"),
    path("datasets/<slug:name>/systems/ratings/", systems.ratings_upload, name="ratings-upload"),
    # The items behind any cell of a report or a comparison; what is known of each is judges' and people's.
    path("datasets/<slug:name>/items/", items.item_list, name="dataset-items"),
    path("datasets/<slug:name>/items/send/", items.items_send, name="dataset-items-send"),
    path("datasets/<slug:name>/items/counts/", items.item_list_counts, name="dataset-items-counts"),
    path("datasets/<slug:name>/items.<slug:format>/", items.items_export, name="dataset-items-export"),
    path("datasets/<slug:name>/items/<row:pk>/", items.item_detail_page, name="dataset-item"),
    path("datasets/<slug:name>/items/<row:pk>/notes/", items.item_note_add, name="dataset-item-note"),
    path(
        "datasets/<slug:name>/items/<row:pk>/notes/<row:note>/",
        items.item_note_change,
        name="dataset-item-note-change",
    ),
    *_sources(),
    path("decisions/<row:pk>/judge.json", promotions.decision_judge, name="decision-judge"),
    path("decisions/<row:pk>/judge.zip", promotions.decision_tool, name="decision-tool"),
]

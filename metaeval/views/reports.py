"""Stored reports: their list, their pages, their files."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Kind
from annotation.views.access import ResearcherRequest, researcher_required
from metaeval.forms import ReportForm
from metaeval.models import Report
from metaeval.reports.errors import ReportError
from metaeval.reports.html import context_of
from metaeval.reports.render import formats_of
from metaeval.reports.render import render as render_report
from metaeval.selectors.reports import ReportTarget, report_get_for, report_list_for, report_targets
from metaeval.services.agreement_reports import agreement_report_create
from metaeval.views.files import attachment

PER_PAGE = 25
SUFFIXES = {"html": "HTML", "md": "Markdown", "tex": "LaTeX", "csv": "CSV", "json": "JSON"}


@require_safe
@researcher_required
def report_list(request: ResearcherRequest) -> HttpResponse:
    page = Paginator(report_list_for(request.user), PER_PAGE).get_page(request.GET.get("page"))
    targets = report_targets(request.user)
    form = ReportForm(names=_choices(targets), initial={"name": _asked(request, targets)})
    rows = [(report, _kind_label(report), _suffixes(report)) for report in page]
    context = {"page_obj": page, "rows": rows, "form": form, "section": "reports"}
    return render(request, "metaeval/report_list.html", context)


@require_POST
@researcher_required
def report_new(request: ResearcherRequest) -> HttpResponse:
    targets = report_targets(request.user)
    form = ReportForm(request.POST, names=_choices(targets))
    if form.is_valid():
        chosen = next(target for target in targets if target.key == form.cleaned_data["name"])
        try:
            report = agreement_report_create(
                user=request.user,
                dataset=chosen.dataset,
                kind=chosen.kind,
                study=chosen.study,
                epsilon=form.cleaned_data["epsilon"],
            )
        except ReportError as error:
            messages.error(request, str(error))
        else:
            return redirect("metaeval:report-detail", report.pk)
    else:
        messages.error(request, "Choose a dataset or a study of the list.")
    return redirect("metaeval:report-list")


def _choices(targets: Sequence[ReportTarget]) -> list[tuple[str, str]]:
    return [(target.key, target.words) for target in targets]


def _asked(request: ResearcherRequest, targets: Sequence[ReportTarget]) -> str | None:
    """The choice that a page linked to: a study's by ``study``, a dataset's first by ``name``."""
    study, name = request.GET.get("study"), request.GET.get("name")
    wanted = (
        target
        for target in targets
        if (target.study == study if study else target.dataset == name and not target.study)
    )
    return next((target.key for target in wanted), None)


@require_safe
@researcher_required
def report_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    report = report_get_for(request.user, pk)
    context = context_of(report.content) | {
        "report": report,
        "section": "reports",
        "suffixes": _suffixes(report),
    }
    return render(request, "metaeval/report_detail.html", context)


@require_safe
@researcher_required
def report_download(request: ResearcherRequest, pk: int, suffix: str) -> HttpResponse:
    report = report_get_for(request.user, pk)
    formats = formats_of(report.options.get("kind", Kind.PAIRWISE))
    if f".{suffix}" not in formats:
        raise Http404(f"This report is not written as {suffix}.")
    name = f"{report.name}-{report.inputs_hash[:8]}"
    return attachment(
        render_report(report.content, f".{suffix}"), f"{name}.{suffix}", formats[f".{suffix}"][1]
    )


def _suffixes(report: Report) -> list[tuple[str, str]]:
    """The formats that it can be taken away in, each with its name."""
    formats = formats_of(report.options.get("kind", Kind.PAIRWISE))
    return [(suffix, name) for suffix, name in SUFFIXES.items() if f".{suffix}" in formats]


def _kind_label(report: Report) -> str:
    return Kind(report.options.get("kind", Kind.PAIRWISE)).label

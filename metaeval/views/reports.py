"""Stored reports: their list, their pages, their files."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST, require_safe

from annotation.views.access import ResearcherRequest, researcher_required
from metaeval.forms import ReportForm
from metaeval.reports.errors import ReportError
from metaeval.reports.html import context_of
from metaeval.reports.render import FORMATS
from metaeval.reports.render import render as render_report
from metaeval.selectors.reports import report_get_for, report_targets, reports_visible_to
from metaeval.services.reports import report_create
from metaeval.views.files import attachment

PER_PAGE = 25


@require_safe
@researcher_required
def report_list(request: ResearcherRequest) -> HttpResponse:
    page = Paginator(reports_visible_to(request.user), PER_PAGE).get_page(request.GET.get("page"))
    form = ReportForm(names=report_targets(request.user), initial={"name": request.GET.get("name")})
    return render(
        request, "metaeval/report_list.html", {"page_obj": page, "form": form, "section": "reports"}
    )


@require_POST
@researcher_required
def report_new(request: ResearcherRequest) -> HttpResponse:
    form = ReportForm(request.POST, names=report_targets(request.user))
    if form.is_valid():
        try:
            report = report_create(name=form.cleaned_data["name"], user=request.user)
        except ReportError as error:
            messages.error(request, str(error))
        else:
            return redirect("metaeval:report-detail", report.pk)
    else:
        messages.error(request, "Choose a dataset or a study of the list.")
    return redirect("metaeval:report-list")


@require_safe
@researcher_required
def report_detail(request: ResearcherRequest, pk: int) -> HttpResponse:
    report = report_get_for(request.user, pk)
    context = context_of(report.content) | {"report": report, "section": "reports"}
    return render(request, "metaeval/report_detail.html", context)


@require_GET
@researcher_required
def report_download(request: ResearcherRequest, pk: int, suffix: str) -> HttpResponse:
    report = report_get_for(request.user, pk)
    name = f"{report.name}-{report.inputs_hash[:8]}"
    return attachment(
        render_report(report.content, f".{suffix}"), f"{name}.{suffix}", FORMATS[f".{suffix}"][1]
    )

"""Items that people reported as broken, and the decision about them."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render

from annotation.forms.annotator import REPORT_REASONS
from annotation.models import ItemReport
from annotation.selectors.item_reports import report_get, reported_items
from annotation.services.quality import item_report_resolve
from annotation.views.common import study_of, study_page, study_to_edit
from web.access import ResearcherRequest, researcher_action, researcher_page

DECISIONS = {
    "withdraw": "The item is withdrawn: nobody else will get it. Its labels are kept.",
    "keep": "The item is kept.",
}


@researcher_page
def item_reports(request: ResearcherRequest, slug: str) -> HttpResponse:
    study = study_of(request, slug)
    rows = reported_items(study)
    context = study_page(study, ("Reported items", None), tab="reports") | {
        "waiting": [row for row in rows if row.report.resolved_at is None],
        "reasons": dict(REPORT_REASONS),
        "decided": [row for row in rows if row.report.resolved_at is not None],
    }
    return render(request, "annotation/researcher/item_reports.html", context)


@researcher_action
def report_decide(request: ResearcherRequest, slug: str, pk: int) -> HttpResponse:
    study = study_to_edit(request, slug)
    decision = request.POST.get("decision", "")
    try:
        report = report_get(study, pk)
    except ItemReport.DoesNotExist:
        raise Http404("There is no such report.") from None
    if decision not in DECISIONS:
        raise Http404("There is no such decision.")
    if item_report_resolve(report=report, withdraw=decision == "withdraw"):
        messages.success(request, DECISIONS[decision])
    return redirect("annotation:study-item-reports", slug)

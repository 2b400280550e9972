"""The pay report of a study, its file, and bonuses."""

from __future__ import annotations

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.pay import BonusForm
from annotation.models import Enrollment, Study
from annotation.selectors.overview import may_identify, study_get_for
from annotation.selectors.pay import bonuses_of, earned_by, enrollment_for_pay, pay_report, still_at_work
from annotation.services.pay import bonus_grant, pay_lines
from web.access import ResearcherRequest, researcher_required


def _study(request: ResearcherRequest, slug: str) -> Study:
    try:
        return study_get_for(request.user, slug)
    except Study.DoesNotExist:
        raise Http404("There is no such study.") from None


@require_safe
@researcher_required
def pay(request: ResearcherRequest, slug: str) -> HttpResponse:
    """What everybody has earned, and their effective hourly rate."""
    study = _study(request, slug)
    context = {
        "section": "studies",
        "study": study,
        "tab": "pay",
        "crumbs": [
            ("Studies", reverse("annotation:study-list")),
            (study.title, reverse("annotation:study-detail", args=[slug])),
            ("Pay", None),
        ],
        "per_item": f"{study.pay_per_item.normalize():f}",  # 0.12 and 100, not 0.1200 and 1E+2
        "report": pay_report(study),
        "bonuses": bonuses_of(study),
        "at_work": still_at_work(study),
        "may_identify": may_identify(request.user, study),
    }
    return render(request, "annotation/researcher/pay.html", context)


@require_safe
@researcher_required
def pay_export(request: ResearcherRequest, slug: str) -> HttpResponseBase:
    """The report as CSV; `?identify=1` with who the people are, for the owner and administrators."""
    study = _study(request, slug)
    identify = request.GET.get("identify") == "1"
    if identify and not may_identify(request.user, study):
        raise PermissionDenied("Only the owner of a study may export who its annotators are.")
    lines = pay_lines(study, pay_report(study), identify=identify)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    filename = f"{study.slug}-pay-{timezone.now():%Y%m%d}.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    response.headers["Cache-Control"] = "no-store"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@researcher_required
def bonus(request: ResearcherRequest, slug: str, public_id: str) -> HttpResponse:
    try:
        enrollment = enrollment_for_pay(request.user, slug, public_id)
    except (Enrollment.DoesNotExist, ValidationError):
        raise Http404("There is no such person in this study.") from None
    study = enrollment.study
    form = BonusForm(request.POST) if request.method == "POST" else BonusForm.fresh()
    if request.method == "POST" and form.is_valid():
        _, is_new = bonus_grant(enrollment=enrollment, by=request.user, **form.cleaned_data)
        if is_new:
            messages.success(request, "The bonus is recorded.")
        return redirect("annotation:study-pay", slug)
    context = {
        "section": "studies",
        "study": study,
        "crumbs": [
            ("Studies", reverse("annotation:study-list")),
            (study.title, reverse("annotation:study-detail", args=[slug])),
            ("Pay", reverse("annotation:study-pay", args=[slug])),
            ("Bonus", None),
        ],
        "enrollment": enrollment,
        "earned": earned_by(enrollment),
        "form": form,
    }
    return render(request, "annotation/researcher/bonus.html", context, status=422 if form.is_bound else 200)

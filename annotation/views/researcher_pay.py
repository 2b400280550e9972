"""The pay report of a study, and bonuses."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation.forms.quality import BonusForm
from annotation.selectors.overview import may_identify
from annotation.selectors.pay import bonuses_of, earned_by, pay_report, still_at_work
from annotation.services.pay import bonus_grant
from annotation.views.annotator.common import money
from annotation.views.common import enrollment_in, study_page, study_to_own
from web.access import ResearcherRequest, researcher_form, researcher_page


@researcher_page
def pay(request: ResearcherRequest, slug: str) -> HttpResponse:
    """What everybody has earned, and their effective hourly rate."""
    study = study_to_own(request, slug)
    context = study_page(study, ("Pay", None), tab="pay") | {
        "per_item": money(study.pay_per_item, study),
        "report": pay_report(study),
        "bonuses": bonuses_of(study),
        "at_work": still_at_work(study),
        "may_identify": may_identify(request.user, study),
    }
    return render(request, "annotation/researcher/pay.html", context)


@researcher_form
def bonus(request: ResearcherRequest, slug: str, public_id: str) -> HttpResponse:
    study = study_to_own(request, slug)
    enrollment = enrollment_in(study, public_id)
    form = BonusForm(request.POST) if request.method == "POST" else BonusForm.fresh()
    if request.method == "POST" and form.is_valid():
        _, is_new = bonus_grant(enrollment=enrollment, by=request.user, **form.cleaned_data)
        if is_new:
            messages.success(request, "The bonus is recorded.")
        return redirect("annotation:study-pay", slug)
    pay_url = reverse("annotation:study-pay", args=[slug])
    context = study_page(study, ("Pay", pay_url), ("Bonus", None)) | {
        "enrollment": enrollment,
        "earned": earned_by(enrollment),
        "form": form,
    }
    return render(request, "annotation/researcher/bonus.html", context, status=422 if form.is_bound else 200)

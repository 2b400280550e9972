"""The privacy page of a study: requests for deletion, retention, and what people agreed to."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from annotation.forms.privacy import EraseForm, RefuseForm
from annotation.models import Enrollment, Study
from annotation.selectors.own_data import own_data, own_data_zip
from annotation.selectors.privacy import consent_texts_of, erasure_requests_open, people_counts
from annotation.services.audit import audit
from annotation.services.erasure import enrollment_erase
from annotation.services.erasure_log import REQUEST
from annotation.services.erasure_requests import erasure_refuse
from annotation.services.retention import retention_of
from annotation.views.common import enrollment_in, study_page, study_to_settle
from web.access import ResearcherRequest, researcher_action, researcher_page

FORMS: Mapping[str, type[forms.Form]] = {"erase": EraseForm, "refuse": RefuseForm}
GONE = "This person is no longer in the study."


@researcher_page
def privacy(request: ResearcherRequest, slug: str) -> HttpResponse:
    """The page; with `?person=`, the form that erases a person who asked elsewhere, by mail for instance."""
    study = study_to_settle(request, slug)
    return _page(request, study, request.GET.get("person", ""))


def _page(
    request: ResearcherRequest,
    study: Study,
    person: str = "",
    bound: tuple[str, str, forms.Form] | None = None,
) -> HttpResponse:
    """With the forms; one that was refused is `bound`: the pseudonym, the action and the form."""

    def forms_of(public_id: str) -> dict[str, forms.Form]:
        return {
            action: bound[2]
            if bound and bound[:2] == (public_id, action)
            else form(auto_id=f"{action}-{public_id}-%s")
            for action, form in FORMS.items()
        }

    chosen = enrollment_in(study, person) if person else None
    plan = retention_of(study)
    expected = None
    if plan is None and study.closes_at is not None and study.retention_days is not None:
        expected = study.closes_at + timedelta(days=study.retention_days)
    known, anonymized = people_counts(study)
    asked = list(erasure_requests_open(study))
    for one in asked:
        one.enrollment.study = study
    context: dict[str, Any] = study_page(study, ("Privacy", None), tab="privacy") | {
        "requests": [(one, forms_of(one.enrollment.pseudonym)) for one in asked],
        "chosen": chosen,
        "chosen_forms": forms_of(chosen.pseudonym) if chosen else {},
        "plan": plan,
        "is_due": plan is not None and plan.due_at <= timezone.now(),
        "expected": expected,
        "known": known,
        "anonymized": anonymized,
        "texts": consent_texts_of(study),
    }
    return render(request, "annotation/researcher/privacy.html", context, status=422 if bound else 200)


@researcher_page
def privacy_file(request: ResearcherRequest, slug: str, public_id: str) -> HttpResponse:
    """All that the site holds about a person of the study, for who asked for it elsewhere."""
    study = study_to_settle(request, slug)
    person = enrollment_in(study, public_id)
    audit("annotator.data exported", study)
    response = HttpResponse(own_data_zip([(study.slug, own_data(person))]), content_type="application/zip")
    response["Content-Disposition"] = f'attachment; filename="data-{person.short_pseudonym}.zip"'
    return response


@researcher_action
def privacy_act(request: ResearcherRequest, slug: str, public_id: str, decision: str) -> HttpResponse:
    """Erase a person, or refuse their request. Sent twice, it acts once."""
    study = study_to_settle(request, slug)
    if decision not in FORMS:
        raise Http404("There is no such decision.")
    here = redirect("annotation:study-privacy", slug)
    try:
        person = enrollment_in(study, public_id)
    except Http404:
        messages.info(request, GONE)
        return here
    form = FORMS[decision](request.POST, auto_id=f"{decision}-{public_id}-%s")
    if not form.is_valid():
        return _page(request, study, public_id, (public_id, decision, form))
    words = _erase(person, form) if decision == "erase" else _refuse(request, person, form)
    messages.success(request, words)
    return here


def _erase(person: Enrollment, form: forms.Form) -> str:
    erased = enrollment_erase(enrollment=person, why=REQUEST, **form.cleaned_data)
    return GONE if erased is None else f"The person was {erased.kind.label.lower()}."


def _refuse(request: ResearcherRequest, person: Enrollment, form: forms.Form) -> str:
    done = erasure_refuse(enrollment=person, by=request.user, **form.cleaned_data)
    return "The request was refused. The person reads your reason." if done else "There is no open request."

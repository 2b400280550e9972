"""The steps before and after the work. `place` shows where a person is; every POST may come twice."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from annotation.domain.errors import LabelValueError
from annotation.forms.annotator import PairwiseForm
from annotation.models import Enrollment, QualificationQuestion, Stage, StudyState, TiePolicy
from annotation.selectors.work import answers_given, question_get_for, question_next
from annotation.services.enrollment import (
    consent_fingerprint,
    consent_give,
    enrollment_decline,
    enrollment_finish,
    guidelines_acknowledge,
)
from annotation.services.qualification import qualification_answer
from annotation.views.annotator.common import POST_RATE, for_enrollment, limited, money, study_context

TEMPLATES = {
    Stage.CONSENT: "annotation/annotator/consent.html",
    Stage.GUIDELINES: "annotation/annotator/guidelines.html",
    Stage.QUALIFICATION: "annotation/annotator/qualification.html",
    Stage.DECLINED: "annotation/annotator/declined.html",
    Stage.SCREENED_OUT: "annotation/annotator/screened_out.html",
}
BEFORE_WORK = (Stage.CONSENT, Stage.GUIDELINES, Stage.QUALIFICATION)


def _show(request: HttpRequest, enrollment: Enrollment, *, status: int = 200, **extra: Any) -> HttpResponse:
    context = study_context(request, enrollment) | extra
    return render(request, TEMPLATES[Stage(enrollment.stage)], context, status=status)


def not_open(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Tell plainly that the study is paused or closed."""
    context = study_context(request, enrollment)
    return render(request, "annotation/annotator/not_open.html", context)


@require_safe
@for_enrollment
def place(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    stage = enrollment.stage
    if stage == Stage.WORK:
        return redirect("annotation:work", enrollment.study.slug)
    if stage == Stage.DONE:
        return redirect("annotation:done", enrollment.study.slug)
    if stage in BEFORE_WORK and enrollment.study.state != StudyState.OPEN:
        return not_open(request, enrollment)
    if stage == Stage.CONSENT:
        return _show(request, enrollment, fingerprint=consent_fingerprint(enrollment.study))
    if stage == Stage.QUALIFICATION:
        return _question(request, enrollment)
    return _show(request, enrollment)


def _question(
    request: HttpRequest, enrollment: Enrollment, *, error: str = "", status: int = 200
) -> HttpResponse:
    question = question_next(enrollment)
    study = enrollment.study
    return _show(
        request,
        enrollment,
        status=status,
        question=question,
        done=question.number - 1 if question else 0,
        ties=study.tie_policy == TiePolicy.TIE,
        error=error,
    )


@limited(group="steps", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def consent(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if request.method == "POST" and request.POST.get("answer") == "decline":
        enrollment_decline(enrollment=enrollment)
    elif request.method == "POST" and enrollment.stage == Stage.CONSENT:
        if not request.POST.get("agree"):
            messages.warning(request, "To take part, tick the box first; or leave with “I do not agree”.")
        elif not consent_give(enrollment=enrollment, fingerprint=request.POST.get("fingerprint", "")):
            messages.warning(request, "The text has changed in the meantime. Please read it again.")
    return redirect("annotation:place", enrollment.study.slug)


@limited(group="steps", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def guidelines(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """GET shows them at any time; POST says that they were read."""
    if request.method == "POST":
        guidelines_acknowledge(enrollment=enrollment)
        return redirect("annotation:place", enrollment.study.slug)
    if enrollment.stage == Stage.CONSENT:
        return redirect("annotation:place", enrollment.study.slug)
    context = study_context(request, enrollment)
    return render(request, TEMPLATES[Stage.GUIDELINES], context)


@limited(group="steps", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def qualification(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    here = redirect("annotation:place", enrollment.study.slug)
    if request.method != "POST" or enrollment.stage != Stage.QUALIFICATION:
        return here
    if enrollment.study.state != StudyState.OPEN:
        return not_open(request, enrollment)
    form = PairwiseForm(request.POST)
    try:
        question = question_get_for(enrollment, int(request.POST.get("question", "")))
    except (ValueError, QualificationQuestion.DoesNotExist):
        return here
    if not form.is_valid():
        return _question(request, enrollment, error=form.error, status=422)
    try:
        qualification_answer(enrollment=enrollment, question=question, shown_value=form.shown_value)
    except LabelValueError as error:
        return _question(request, enrollment, error=error.message, status=422)
    return here


@limited(group="steps", rate=POST_RATE, by="session", method="POST")
@for_enrollment
def finish(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Stop before everything is done, with the code for what was done. GET asks first."""
    if enrollment.stage != Stage.WORK:
        return redirect("annotation:place", enrollment.study.slug)
    if request.method != "POST":
        return render(request, "annotation/annotator/finish.html", study_context(request, enrollment))
    enrollment_finish(enrollment=enrollment)
    return redirect("annotation:done", enrollment.study.slug)


@require_safe
@for_enrollment
def done(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if enrollment.stage != Stage.DONE:
        return redirect("annotation:place", enrollment.study.slug)
    answers = answers_given(enrollment)
    context = study_context(request, enrollment) | {
        "answers": answers,
        "earned": money(answers * enrollment.study.pay_per_item, enrollment.study),
    }
    return render(request, "annotation/annotator/done.html", context)

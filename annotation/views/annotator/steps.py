"""The steps before and after the work. `place` shows where a person is; every POST may come twice."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_safe

from annotation.domain.eligibility import eligibility_read
from annotation.domain.errors import LabelValueError, StageError, StudyRuleError
from annotation.forms.annotator import EligibilityForm
from annotation.forms.work import ErrorText, WorkForm, draft_fields
from annotation.models import Enrollment, QualificationQuestion, QuestionPart, Stage, StudyState
from annotation.selectors.pay import earned_by
from annotation.selectors.shown import value_rules
from annotation.selectors.steps import (
    Question,
    asked_by,
    attempts_get,
    feedback_get,
    is_over,
    question_get_for,
    question_next,
    test_just_passed,
    training_next,
)
from annotation.selectors.work import answers_given, texts_unread
from annotation.services.consent import consent_fingerprint
from annotation.services.enrollment import (
    consent_give,
    enrollment_decline,
    enrollment_finish,
    guidelines_acknowledge,
    stage_next,
)
from annotation.services.qualification import (
    attempt_start,
    eligibility_answer,
    qualification_answer,
    qualification_enter,
    training_answer,
    training_finish,
)
from annotation.views.annotator.common import for_enrollment, for_step, money, study_context

logger = logging.getLogger(__name__)
PAGES = "annotation/annotator"
BEFORE_WORK = (Stage.CONSENT, Stage.ELIGIBILITY, Stage.GUIDELINES, Stage.TRAINING, Stage.QUALIFICATION)
Answer = Callable[..., Any]
NO_ERROR = ErrorText("")
CHECK_FIRST = gettext_noop("To take part, check the box first. To leave, choose “I don’t agree”.")


def _show(
    request: HttpRequest, enrollment: Enrollment, page: str, *, status: int = 200, **extra: Any
) -> HttpResponse:
    study = enrollment.study
    context = study_context(request, enrollment) | {"pay_for_test": money(study.pay_for_test, study)} | extra
    return render(request, f"{PAGES}/{page}.html", context, status=status)


def _here(enrollment: Enrollment) -> HttpResponse:
    return redirect("annotation:place", enrollment.study.slug)


def not_open(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Tell plainly that the study is paused or closed, or past its deadline."""
    return _show(request, enrollment, "not_open", is_over=is_over(enrollment.study, timezone.now()))


def is_shut(enrollment: Enrollment) -> bool:
    """Whether somebody cannot go on with the steps now: suspended, or the study rests or has ended."""
    study = enrollment.study
    rests = study.state != StudyState.OPEN or is_over(study, timezone.now())
    return (rests and enrollment.stage in BEFORE_WORK) or enrollment.suspended_at is not None


@require_safe
@for_enrollment
def place(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    stage = Stage(enrollment.stage)
    if stage == Stage.WORK or enrollment.suspended_at is not None:
        return redirect("annotation:work", enrollment.study.slug)
    if stage == Stage.DONE:
        return redirect("annotation:done", enrollment.study.slug)
    if is_shut(enrollment):
        return not_open(request, enrollment)
    if stage in ASKING:
        return ASKING[stage](request, enrollment)
    if stage == Stage.SCREENED_OUT:
        return _screened_out(request, enrollment)
    return _show(request, enrollment, "declined")


def _consent(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    return _show(request, enrollment, "consent", fingerprint=consent_fingerprint(enrollment.study))


def _guidelines(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    now = timezone.now()
    at_their_step = enrollment.stage == Stage.GUIDELINES
    next_step = stage_next(enrollment, now=now) if at_their_step else ""
    return _show(request, enrollment, "guidelines", next_step=next_step)


def _eligibility(
    request: HttpRequest, enrollment: Enrollment, form: EligibilityForm | None = None
) -> HttpResponse:
    try:
        form = form or EligibilityForm(eligibility_read(enrollment.study.eligibility))
    except StudyRuleError as error:
        # Edited past the form. Nobody is let by or screened out until somebody has put it right.
        logger.error("Study %s asks nobody: %s", enrollment.study.slug, error)
        return not_open(request, enrollment)
    status = 422 if form.is_bound else 200
    return _show(request, enrollment, "eligibility", status=status, form=form)


def _training(request: HttpRequest, enrollment: Enrollment, *, error: ErrorText = NO_ERROR) -> HttpResponse:
    question = training_next(enrollment)
    if question is None:
        return _feedback(request, enrollment)
    return _ask(request, enrollment, "training", question, error=error)


def _test(request: HttpRequest, enrollment: Enrollment, *, error: ErrorText = NO_ERROR) -> HttpResponse:
    enrollment = qualification_enter(enrollment=enrollment)
    if enrollment.stage != Stage.QUALIFICATION:
        return _here(enrollment)
    question, now = question_next(enrollment), timezone.now()
    standing = attempts_get(enrollment.annotator, enrollment.study, now=now)
    attempts = list(enrollment.attempts.all())
    if standing.waits_for(enrollment, now) or (question is None and attempts):
        return _show(
            request,
            enrollment,
            "retry",
            standing=standing,
            attempts_left=standing.attempts_left(enrollment.study),
            waits=standing.waits_for(enrollment, now),
            **_result(enrollment),
        )
    return _ask(request, enrollment, "qualification", question, error=error)


def _ask(
    request: HttpRequest,
    enrollment: Enrollment,
    page: str,
    question: Question | None,
    *,
    error: ErrorText,
    **extra: Any,
) -> HttpResponse:
    """An item of the training or the test; with an error, the answer is still there as it was sent."""
    return _show(
        request,
        enrollment,
        page,
        status=422 if error else 200,
        question=question,
        asker=enrollment.study if enrollment.stage == Stage.TRAINING else enrollment.study.test_study,
        done=question.number - 1 if question else 0,
        fields=draft_fields(request.POST) if error else {},
        error=error,
        **extra,
    )


def _feedback(request: HttpRequest, enrollment: Enrollment, pk: int | None = None) -> HttpResponse:
    return _show(request, enrollment, "training_feedback", feedback=feedback_get(enrollment, pk))


def _result(enrollment: Enrollment) -> dict[str, Any]:
    """The last attempt that was finished here, and the rules of the test."""
    last = enrollment.attempts.exclude(finished_at=None).order_by("-number").first()
    return {"attempt": last, "test": enrollment.study.test_study}


def _screened_out(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    return _show(request, enrollment, "screened_out", earned=_earned_words(enrollment), **_result(enrollment))


def _earned_words(enrollment: Enrollment) -> str:
    """All that the person has earned, or nothing to say."""
    total = earned_by(enrollment).total
    return money(total, enrollment.study) if total else ""


ASKING: dict[Stage, Callable[..., HttpResponse]] = {
    Stage.CONSENT: _consent,
    Stage.ELIGIBILITY: _eligibility,
    Stage.GUIDELINES: _guidelines,
    Stage.TRAINING: _training,
    Stage.QUALIFICATION: _test,
}


@for_step
def consent(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if request.method == "POST" and request.POST.get("answer") == "decline":
        enrollment_decline(enrollment=enrollment)
    elif request.method == "POST" and enrollment.stage == Stage.CONSENT and not is_shut(enrollment):
        if not request.POST.get("agree"):
            messages.warning(request, gettext(CHECK_FIRST))
        elif not consent_give(enrollment=enrollment, fingerprint=request.POST.get("fingerprint", "")):
            messages.warning(request, gettext("The text has changed. Please read it again."))
    return _here(enrollment)


@for_step
def eligibility(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if request.method != "POST" or enrollment.stage != Stage.ELIGIBILITY or is_shut(enrollment):
        return _here(enrollment)
    try:
        form = EligibilityForm(eligibility_read(enrollment.study.eligibility), request.POST)
    except StudyRuleError:
        return _here(enrollment)
    if not form.is_valid():
        return _eligibility(request, enrollment, form)
    eligibility_answer(enrollment=enrollment, answers=form.answers)
    return _here(enrollment)


@for_step
def guidelines(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """GET shows them at any time; POST says that they were read."""
    if request.method == "POST":
        if not is_shut(enrollment):
            version = _number(request.POST.get("version"))
            guidelines_acknowledge(enrollment=enrollment, version=version)
        return _here(enrollment)
    if enrollment.stage in (Stage.CONSENT, Stage.ELIGIBILITY):
        return _here(enrollment)
    return _guidelines(request, enrollment)


@for_step
def training(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """An answer leads to what is to be said of it; `finish` leads on after the last one."""
    if request.method != "POST" or enrollment.stage != Stage.TRAINING or is_shut(enrollment):
        return _here(enrollment)
    if "finish" in request.POST:
        training_finish(enrollment=enrollment)
        return _here(enrollment)
    question, error = _take(request, enrollment, QuestionPart.TRAINING, training_answer)
    if error:
        return _training(request, enrollment, error=error)
    if question is None:
        return _here(enrollment)
    return redirect("annotation:training-feedback", enrollment.study.slug, question.pk)


@require_safe
@for_enrollment
def training_feedback(request: HttpRequest, enrollment: Enrollment, pk: int) -> HttpResponse:
    """What was right, of an item that this person has answered; of another one nothing."""
    if enrollment.stage != Stage.TRAINING or is_shut(enrollment) or feedback_get(enrollment, pk) is None:
        return _here(enrollment)
    return _feedback(request, enrollment, pk)


@for_step
def qualification(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if request.method != "POST" or enrollment.stage != Stage.QUALIFICATION or is_shut(enrollment):
        return _here(enrollment)

    def answer(**given: Any) -> None:
        qualification_answer(**given, attempt=_number(request.POST.get("attempt")))

    _, error = _take(request, enrollment, QuestionPart.TEST, answer)
    if error:
        return _test(request, enrollment, error=error)
    attempt = test_just_passed(enrollment)
    if attempt is not None:
        total = attempt.test.qualification_size
        passed = ngettext(
            "You passed the test: %(right)s of %(total)s answer was right.",
            "You passed the test: %(right)s of %(total)s of your answers were right.",
            total,
        )
        messages.success(request, passed % {"right": attempt.n_right, "total": total})
    return _here(enrollment)


@for_step
def retry(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Begin another attempt at the test, if there is one and it is time."""
    if request.method == "POST" and not is_shut(enrollment):
        attempt_start(enrollment=enrollment)
    return _here(enrollment)


def _take(
    request: HttpRequest, enrollment: Enrollment, part: str, answer: Answer
) -> tuple[QualificationQuestion | None, ErrorText]:
    """Hand the answer to a question to a service: the question, and what is wrong with the answer if anything."""
    try:
        question = question_get_for(enrollment, int(request.POST.get("question", "")), part)
    except (ValueError, QualificationQuestion.DoesNotExist):
        return None, NO_ERROR
    study = asked_by(enrollment, part)
    form = WorkForm(study, value_rules(study, question.item), request.POST)
    if not form.is_valid():
        return question, form.error
    try:
        answer(enrollment=enrollment, question=question, shown_value=form.shown_value)
    except LabelValueError as error:
        return question, ErrorText(error.message)
    return question, NO_ERROR


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 6 else None


@for_step
def finish(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Stop before everything is done, with the code for what was done. GET asks first."""
    if enrollment.stage != Stage.WORK:
        return _here(enrollment)
    if request.method != "POST":
        return _show(request, enrollment, "finish")
    with suppress(StageError):  # their platform sent them away a moment ago; `done` leads on
        enrollment_finish(enrollment=enrollment)
    return redirect("annotation:done", enrollment.study.slug)


@require_safe
@for_enrollment
def done(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    if enrollment.stage != Stage.DONE:
        return _here(enrollment)
    answers, earned = answers_given(enrollment), _earned_words(enrollment)
    texts = texts_unread(enrollment)
    return _show(request, enrollment, "done", answers=answers, earned=earned, texts=texts)

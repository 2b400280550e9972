"""What decides whether a person may work: questions about them, the training, and the test.

Everything is answered once, and every service may be called twice. Only the test and the questions about the person
decide; a test may be shared by studies, and what somebody passed or failed in one of them counts in all.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.domain.eligibility import eligibility_read, is_eligible
from annotation.domain.grading import Grade, TolerantGrade, grade, grade_tolerant
from annotation.kinds import kind_of, to_canonical, validate_value
from annotation.models import (
    Annotator,
    Enrollment,
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    QualificationRule,
    QuestionPart,
    Stage,
    Study,
)
from annotation.selectors.shown import value_rules
from annotation.selectors.steps import asked_by, attempts_get, question_order, training_next
from annotation.services.enrollment import code_make, stage_next


def _lock(enrollment: Enrollment) -> Enrollment:
    return (
        Enrollment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study__qualification_from", "study__dataset", "annotator")
        .get(pk=enrollment.pk)
    )


def eligibility_answer(
    *, enrollment: Enrollment, answers: Mapping[str, str], now: datetime | None = None
) -> Enrollment:
    """Store the answers to the questions about the person: they go on, or are screened out.

    The first answers stand. Raises `LabelValueError` with the key of a question that has no valid answer. Returns
    the enrollment as it is now.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = _lock(enrollment)
        if locked.stage != Stage.ELIGIBILITY:
            return locked
        questions = eligibility_read(locked.study.eligibility)
        eligible = is_eligible(questions, answers)
        locked.eligibility = {question.key: answers[question.key] for question in questions}
        if eligible:
            locked.stage = stage_next(locked, now=now)
        else:
            locked.stage, locked.screened_out_by, locked.finished_at = (
                Stage.SCREENED_OUT,
                Stage.ELIGIBILITY.value,
                now,
            )
        locked.save(update_fields=["eligibility", "stage", "screened_out_by", "finished_at"])
    return locked


def training_answer(
    *, enrollment: Enrollment, question: QualificationQuestion, shown_value: Mapping[str, Any]
) -> None:
    """Store the answer to an item of the training, given in the order shown. The first answer stands.

    Raises `LabelValueError` when the value does not fit.
    """
    with transaction.atomic():
        locked = _lock(enrollment)
        if locked.stage == Stage.TRAINING:
            _answer_record(locked, question, shown_value, attempt=None)


def training_finish(*, enrollment: Enrollment, now: datetime | None = None) -> Enrollment:
    """Go on after the last item of the training; before it nothing happens. Returns the enrollment as it is now."""
    with transaction.atomic():
        locked = _lock(enrollment)
        if locked.stage == Stage.TRAINING and training_next(locked) is None:
            locked.stage = stage_next(locked, now=now or timezone.now())
            locked.save(update_fields=["stage"])
    return locked


def qualification_enter(*, enrollment: Enrollment, now: datetime | None = None) -> Enrollment:
    """Whether somebody who stands before the test has to take it: who has passed it meanwhile in another study goes
    on, and who has no attempt left there is screened out here too. Returns the enrollment as it is now.
    """
    now = now or timezone.now()
    if not _is_settled(enrollment, now):
        return enrollment
    with transaction.atomic():
        locked = _lock(enrollment)
        if _is_settled(locked, now):
            if attempts_get(locked.annotator, locked.study, now=now).passed:
                locked.stage = stage_next(locked, now=now)
                locked.save(update_fields=["stage"])
            else:
                _screen_out(locked, now)
    return locked


def _is_settled(enrollment: Enrollment, now: datetime) -> bool:
    """Whether a person before the test has nothing to take any more."""
    if enrollment.stage != Stage.QUALIFICATION:
        return False
    standing = attempts_get(enrollment.annotator, enrollment.study, now=now)
    return standing.passed or (standing.begun is None and not standing.attempts_left(enrollment.study))


def attempt_start(*, enrollment: Enrollment, now: datetime | None = None) -> QualificationAttempt | None:
    """Begin the next attempt at the test, or return the one that is going on. None where there is none to take:
    passed, none left, too early, or begun in another study that shares the test.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = _lock(enrollment)
        return _attempt_begin(locked, now) if locked.stage == Stage.QUALIFICATION else None


def _attempt_begin(enrollment: Enrollment, now: datetime) -> QualificationAttempt | None:
    # One at a time for each person: their attempts are counted over all studies that share the test.
    Annotator.objects.select_for_update(no_key=True).get(pk=enrollment.annotator_id)
    standing = attempts_get(enrollment.annotator, enrollment.study, now=now)
    if standing.passed or standing.waits_for(enrollment, now):
        return None
    if standing.begun is not None or not standing.attempts_left(enrollment.study):
        return standing.begun
    return QualificationAttempt.objects.create(
        enrollment=enrollment,
        test=enrollment.study.test_study,
        number=enrollment.attempts.count() + 1,
        started_at=now,
    )


def qualification_answer(
    *,
    enrollment: Enrollment,
    question: QualificationQuestion,
    shown_value: Mapping[str, Any],
    attempt: int | None = None,
    now: datetime | None = None,
) -> Enrollment:
    """Store the answer to a question, given in the order shown, and grade the attempt after the last one.

    `attempt` is the number of the attempt for which the page asked; a page of an earlier one changes nothing, nor
    does answering a question again, or after the test. The first attempt begins with its first answer, others with
    `attempt_start`. Returns the enrollment as it is now. Raises `LabelValueError` when the value does not fit.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = _lock(enrollment)
        if locked.stage != Stage.QUALIFICATION:
            return locked
        going_on = locked.attempts.filter(finished_at=None).first()
        if going_on is None and not locked.attempts.exists():
            going_on = _attempt_begin(locked, now)
        if going_on is None or attempt not in (None, going_on.number):
            return locked
        _answer_record(locked, question, shown_value, attempt=going_on)
        _grade(locked, going_on, now)
    return locked


def _answer_record(
    enrollment: Enrollment,
    question: QualificationQuestion,
    shown_value: Mapping[str, Any],
    *,
    attempt: QualificationAttempt | None,
) -> None:
    """Store an answer with its grade, unless there is one."""
    part = QuestionPart.TRAINING if attempt is None else QuestionPart.TEST
    study, item = asked_by(enrollment, part), question.item
    given = enrollment.qualification_answers.filter(question=question, attempt=attempt)
    if question.part != part or question.study_id != study.pk or given.exists():
        return
    assert item.gold is not None  # a question is an item with gold
    order = question_order(enrollment, question)
    rules = value_rules(study, item)
    value = to_canonical(study.kind, validate_value(shown_value, rules), order)
    result = kind_of(study.kind).grade(
        value, item.gold, tolerance=study.qualification_tolerance, scales=rules.scales
    )
    QualificationAnswer.objects.create(
        enrollment=enrollment,
        question=question,
        attempt=attempt,
        value=value,
        shown_order=order,
        is_correct=result.is_right,
        n_judgments=result.judgments,
        n_within=result.within,
    )


def _grade(enrollment: Enrollment, attempt: QualificationAttempt, now: datetime) -> None:
    test = attempt.test
    answers = list(attempt.answers.values_list("is_correct", "n_judgments", "n_within"))
    if len(answers) < test.qualification_questions.filter(part=QuestionPart.TEST).count():
        return
    exact = grade([right for right, _, _ in answers], needed=test.qualification_pass)
    tolerant = grade_tolerant([row[1:] for row in answers], threshold=test.qualification_threshold)
    attempt.finished_at = now
    attempt.n_right = exact.correct
    attempt.accuracy = tolerant.accuracy
    attempt.passed = _deciding(test, exact, tolerant).passed
    attempt.save(update_fields=["finished_at", "n_right", "accuracy", "passed"])
    enrollment.qualification_score = exact.correct
    enrollment.retry_at = None
    if attempt.passed:
        enrollment.stage = stage_next(enrollment, now=now)
    elif attempts_get(enrollment.annotator, enrollment.study, now=now).attempts_left(enrollment.study):
        enrollment.retry_at = now + timedelta(minutes=test.qualification_cooldown_minutes)
    enrollment.save(update_fields=["qualification_score", "retry_at", "stage"])
    if not attempt.passed and enrollment.retry_at is None:
        _screen_out(enrollment, now)


def _deciding(test: Study, exact: Grade, tolerant: TolerantGrade) -> Grade | TolerantGrade:
    return tolerant if test.qualification_rule == QualificationRule.TOLERANT else exact


def _screen_out(enrollment: Enrollment, now: datetime) -> None:
    """End the way of somebody who did not pass: never a rejection, so they get a reference for what they did."""
    enrollment.stage = Stage.SCREENED_OUT
    enrollment.screened_out_by = Stage.QUALIFICATION.value
    enrollment.finished_at = now
    enrollment.retry_at = None
    # A reference of their own, never the study's code, which stands for finished work.
    enrollment.completion_code = code_make()
    enrollment.save(update_fields=["stage", "screened_out_by", "finished_at", "retry_at", "completion_code"])

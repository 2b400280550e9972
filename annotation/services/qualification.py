"""The qualification test: each question is answered once; the last answer decides."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.domain.grading import grade
from annotation.domain.values import to_canonical, validate_value, values_agree
from annotation.models import Enrollment, QualificationAnswer, QualificationQuestion, Stage
from annotation.selectors.shown import value_rules
from annotation.selectors.work import question_order
from annotation.services.enrollment import code_make


def qualification_answer(
    *,
    enrollment: Enrollment,
    question: QualificationQuestion,
    shown_value: Mapping[str, Any],
    now: datetime | None = None,
) -> Enrollment:
    """Store the answer to a question, given in the order shown, and grade the test after the last one.

    Answering a question again, or after the test, changes nothing. Returns the enrollment as it is now.
    Raises `LabelValueError` when the value does not fit.
    """
    now = now or timezone.now()
    with transaction.atomic():
        locked = (
            Enrollment.objects.select_for_update(of=("self",), no_key=True)
            .select_related("study", "annotator")
            .get(pk=enrollment.pk)
        )
        if locked.stage != Stage.QUALIFICATION:
            return locked
        if not locked.qualification_answers.filter(question=question).exists():
            _answer_record(locked, question, shown_value)
        _grade(locked, now)
    return locked


def _answer_record(
    enrollment: Enrollment, question: QualificationQuestion, shown_value: Mapping[str, Any]
) -> None:
    study, item = enrollment.study, question.item
    assert item.gold is not None  # a question is an item with gold
    order = question_order(enrollment, question)
    value = to_canonical(study.kind, validate_value(shown_value, value_rules(study, item)), order)
    QualificationAnswer.objects.create(
        enrollment=enrollment,
        question=question,
        value=value,
        shown_order=order,
        is_correct=values_agree(study.kind, value, item.gold),
    )


def _grade(enrollment: Enrollment, now: datetime) -> None:
    study = enrollment.study
    results = list(enrollment.qualification_answers.values_list("is_correct", flat=True))
    if len(results) < study.qualification_questions.count():
        return
    result = grade(results, needed=study.qualification_pass)
    enrollment.qualification_score = result.correct
    enrollment.stage = Stage.WORK
    if not result.passed:
        enrollment.stage = Stage.SCREENED_OUT
        enrollment.finished_at = now
        # A reference of their own, never the study's code, which stands for finished work.
        enrollment.completion_code = code_make()
    enrollment.save(update_fields=["qualification_score", "stage", "finished_at", "completion_code"])

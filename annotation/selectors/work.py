"""What an annotator may see: their own enrollment, their own assignments, and items without any system's
name.

Permission lives in the fetch: `enrollment_get_for` and `assignment_get_for` are the only ways to these rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet

from annotation.domain.presentation import shown_order
from annotation.domain.values import from_canonical
from annotation.models import (
    Assignment,
    AssignmentState,
    Enrollment,
    Invitation,
    Label,
    QualificationQuestion,
    StudyItem,
)
from annotation.selectors.shown import ShownItem, item_shown, parts_count


def enrollment_get_for(held: Mapping[str, str], slug: str) -> Enrollment:
    """The enrollment that this browser holds in the study (slug to the person's token); `Enrollment.DoesNotExist`
    for everybody else.
    """
    token = held.get(slug)
    if not token:
        raise Enrollment.DoesNotExist
    return Enrollment.objects.select_related("study", "annotator").get(resume_token=token, study__slug=slug)


def enrollment_get_by_resume_token(token: str) -> Enrollment:
    # PostgreSQL refuses a query with a NUL in it; no token has one.
    return Enrollment.objects.select_related("study", "annotator").get(resume_token=token.replace("\x00", ""))


def invitation_get_by_token(token: str) -> Invitation:
    return Invitation.objects.select_related("study").get(token=token.replace("\x00", ""))


def assignment_get_for(enrollment: Enrollment, pk: int) -> Assignment:
    """An assignment of this person; `Assignment.DoesNotExist` for anybody else's."""
    assignment = Assignment.objects.select_related("study_item__item__dataset").get(
        pk=pk, enrollment=enrollment
    )
    assignment.enrollment = enrollment
    return assignment


def _not_met_by(enrollment: Enrollment) -> QuerySet[StudyItem]:
    met = Assignment.objects.filter(study_item=OuterRef("pk"), enrollment=enrollment).exclude(
        state=AssignmentState.EXPIRED
    )
    return StudyItem.objects.filter(~Exists(met), study_id=enrollment.study_id)


def _capped(enrollment: Enrollment, items: int) -> int:
    cap = enrollment.study.items_per_annotator
    return items if cap is None else max(0, min(items, cap - enrollment.n_accepted))


def items_left_ever(enrollment: Enrollment) -> int:
    """Items that this person could still be given, now or when a lease of somebody else ends."""
    return _capped(enrollment, _not_met_by(enrollment).filter(overlap__gt=F("n_accepted")).count())


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` labels of a person, of `total` that they can get as it looks now; the cap of the study is in
    it.
    """

    done: int
    total: int


def progress_get(enrollment: Enrollment) -> Progress:
    free = _not_met_by(enrollment).filter(overlap__gt=F("n_open") + F("n_accepted")).count()
    mine = Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.OPEN).count()
    return Progress(
        done=enrollment.n_accepted, total=enrollment.n_accepted + _capped(enrollment, free + mine)
    )


def last_submitted(enrollment: Enrollment) -> Assignment | None:
    return (
        Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED)
        .order_by("-submitted_at", "-pk")
        .first()
    )


def own_label(assignment: Assignment) -> Label | None:
    """What the person said last of this item."""
    return Label.objects.standing().filter(assignment=assignment).first()


def answers_given(enrollment: Enrollment) -> int:
    """Answers of this person, those included that came too late to count."""
    return Assignment.objects.filter(enrollment=enrollment, state=AssignmentState.SUBMITTED).count()


@dataclass(frozen=True, slots=True)
class Question:
    """The next question of the qualification test, as it is shown to this person."""

    question: QualificationQuestion
    number: int
    total: int
    order: list[int]
    item: ShownItem


def question_order(enrollment: Enrollment, question: QualificationQuestion) -> list[int]:
    count = parts_count(enrollment.study, question.item_id)
    return shown_order(enrollment.annotator.public_id, question.item_id, count)


def question_next(enrollment: Enrollment) -> Question | None:
    """The first question without an answer of this person."""
    questions = list(
        QualificationQuestion.objects.filter(study_id=enrollment.study_id)
        .select_related("item__dataset")
        .order_by("position", "pk")
    )
    answered = set(enrollment.qualification_answers.values_list("question_id", flat=True))
    for number, question in enumerate(questions, start=1):
        if question.pk not in answered:
            order = question_order(enrollment, question)
            return Question(
                question, number, len(questions), order, item_shown(enrollment.study, question.item, order)
            )
    return None


def question_get_for(enrollment: Enrollment, pk: int) -> QualificationQuestion:
    return QualificationQuestion.objects.select_related("item__dataset").get(
        pk=pk, study_id=enrollment.study_id
    )


def shown_value(kind: str, value: Mapping[str, Any], order: list[int]) -> dict[str, Any]:
    """A stored value as it looks in the order in which this person sees the responses."""
    return from_canonical(kind, value, order)

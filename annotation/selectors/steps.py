"""Where a person stands before the work: the steps of their study, and the test that they take or have passed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from django.db.models import Q

from annotation.domain import stages
from annotation.domain.presentation import shown_order
from annotation.kinds import answer_fields, from_canonical
from annotation.kinds.base import letter_of
from annotation.kinds.shown import ShownItem, ShownResponse
from annotation.models import (
    Annotator,
    Enrollment,
    QualificationAttempt,
    QualificationQuestion,
    QuestionPart,
    Stage,
    Study,
    StudyState,
)
from annotation.selectors.shown import item_shown, parts_count


def steps_of(study: Study) -> list[str]:
    """The steps that the study has before its work, in order, and the work."""
    present = {
        stages.CONSENT: bool(study.consent.strip()),
        stages.ELIGIBILITY: bool(study.eligibility),
        stages.GUIDELINES: bool(study.guidelines.strip()),
        stages.TRAINING: study.training_size > 0,
        stages.QUALIFICATION: study.test_study.qualification_size > 0,
        stages.WORK: True,
    }
    return [step for step in stages.STEPS if present[step]]


def is_over(study: Study, now: datetime) -> bool:
    """Whether the study is closed, or past its deadline and about to be."""
    return study.state == StudyState.CLOSED or (study.closes_at is not None and study.closes_at <= now)


@dataclass(frozen=True, slots=True)
class AttemptStanding:
    """How a person stands with a test, over all studies that share it.

    `failed` counts the attempts since the last pass; `retry_at` is when the next one may begin.
    """

    passed: bool
    failed: int
    begun: QualificationAttempt | None
    retry_at: datetime | None

    def attempts_left(self, study: Study) -> int:
        return max(0, study.test_study.qualification_attempts - self.failed)

    def waits_for(self, enrollment: Enrollment, now: datetime) -> bool:
        """Whether the person cannot take the test here now: too early, or begun in another study."""
        if self.begun is not None:
            return self.begun.enrollment_id != enrollment.pk
        return self.retry_at is not None and self.retry_at > now


def attempts_get(annotator: Annotator, study: Study, *, now: datetime) -> AttemptStanding:
    """Read the attempts of a person at the test of the study. A pass that has expired opens a new round."""
    test = study.test_study
    attempts = list(
        QualificationAttempt.objects.filter(test=test, enrollment__annotator=annotator)
        .select_related("enrollment__study")
        .order_by("started_at", "pk")
    )
    passed, failed, begun, retry_at = False, 0, None, None
    for attempt in attempts:
        if attempt.passed:
            passed = not _is_expired(attempt.finished_at, test.qualification_valid_days, now)
            failed, retry_at = 0, None
        elif attempt.finished_at is None and _can_be_finished(attempt, now):
            begun = attempt
        else:
            failed += 1
            ended_at = attempt.finished_at or attempt.started_at
            retry_at = ended_at + timedelta(minutes=test.qualification_cooldown_minutes)
    return AttemptStanding(passed=passed, failed=failed, begun=begun, retry_at=retry_at)


def _can_be_finished(attempt: QualificationAttempt, now: datetime) -> bool:
    """Whether the person can go on where they began; an attempt that nobody can end has been used up."""
    enrollment = attempt.enrollment
    return enrollment.stage == Stage.QUALIFICATION and not is_over(enrollment.study, now)


def _is_expired(finished_at: datetime | None, valid_days: int | None, now: datetime) -> bool:
    if valid_days is None or finished_at is None:
        return False
    return finished_at + timedelta(days=valid_days) <= now


def annotator_sharing_test(tokens: Iterable[str], study: Study) -> Annotator | None:
    """Who is behind the enrollments with these tokens, if one is in a study that shares its test with `study`."""
    test = study.test_study.pk
    sharing = Q(study=test) | Q(study__qualification_from=test)
    held = Enrollment.objects.filter(sharing, resume_token__in=list(tokens)).exclude(study=study)
    known = held.select_related("annotator").order_by("-pk").first()
    return known.annotator if known else None


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the training or of the test, as it is shown to this person."""

    question: QualificationQuestion
    number: int
    total: int
    order: list[int]
    item: ShownItem
    attempt: int | None = None


def question_order(enrollment: Enrollment, question: QualificationQuestion) -> list[int]:
    """The order in which this person sees the responses of the question."""
    study = asked_by(enrollment, question.part)
    count = parts_count(study, question.item_id)
    return shown_order(enrollment.annotator.public_id, question.item_id, count)


def asked_by(enrollment: Enrollment, part: str) -> Study:
    """The study whose questions these are: the test may be shared, the training is the study's own."""
    return enrollment.study.test_study if part == QuestionPart.TEST else enrollment.study


def _questions(study: Study, part: str) -> list[QualificationQuestion]:
    return list(
        QualificationQuestion.objects.filter(study=study, part=part)
        .select_related("item__dataset")
        .order_by("position", "pk")
    )


def _first_without(
    enrollment: Enrollment, questions: Sequence[QualificationQuestion], answered: set[int]
) -> Question | None:
    for number, question in enumerate(questions, start=1):
        if question.pk not in answered:
            return _shown(enrollment, question, number, len(questions))
    return None


def _shown(enrollment: Enrollment, question: QualificationQuestion, number: int, total: int) -> Question:
    order = question_order(enrollment, question)
    item = item_shown(asked_by(enrollment, question.part), question.item, order)
    return Question(question, number, total, order, item)


def question_next(enrollment: Enrollment) -> Question | None:
    """The first question of the test without an answer in the attempt that is going on, or that would be the first.

    None between two attempts, and where the test has no question. Each attempt has an order of its own, the same
    whenever it is asked for.
    """
    attempts = list(enrollment.attempts.all())
    attempt = next((attempt for attempt in attempts if attempt.finished_at is None), None)
    if attempts and attempt is None:
        return None
    number = attempt.number if attempt else 1
    seed = f"{enrollment.annotator.public_id.hex}:{enrollment.study_id}:{number}"
    questions = _questions(enrollment.study.test_study, QuestionPart.TEST)
    questions.sort(key=lambda question: sha256(f"{seed}:{question.pk}".encode()).digest())
    answers = attempt.answers.values_list("question_id", flat=True) if attempt else []
    found = _first_without(enrollment, questions, set(answers))
    return found and replace(found, attempt=number)


def training_next(enrollment: Enrollment) -> Question | None:
    """The first item of the training that this person has not answered."""
    answers = enrollment.qualification_answers.filter(attempt=None)
    answered = set(answers.values_list("question_id", flat=True))
    return _first_without(enrollment, _questions(enrollment.study, QuestionPart.TRAINING), answered)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is said of an answer in training; `given` and `right` are fields of the work form."""

    shown: Question
    is_right: bool
    given: dict[str, str]
    right: dict[str, str]
    explanation: str
    is_last: bool

    @property
    def responses(self) -> list[tuple[str, ShownResponse]]:
        """The responses with their names, A and B and on."""
        return [(letter_of(place), shown) for place, shown in enumerate(self.shown.item.responses)]


def feedback_get(enrollment: Enrollment, pk: int | None = None) -> Feedback | None:
    """What to say of the answer to a question of the training; of the last one given without `pk`.

    None before it is answered: nobody reads what is right of a question that is still to come.
    """
    given = (
        enrollment.qualification_answers.filter(attempt=None)
        .select_related("question__item__dataset")
        .order_by("-created_at", "-pk")
    )
    answer = (given if pk is None else given.filter(question=pk)).first()
    if answer is None:
        return None
    question, study = answer.question, enrollment.study
    pks = [row.pk for row in _questions(study, QuestionPart.TRAINING)]
    shown = _shown(enrollment, question, pks.index(question.pk) + 1, len(pks))
    fields = [
        answer_fields(study.kind, from_canonical(study.kind, value, shown.order))
        for value in (answer.value, question.item.gold or {})
    ]
    return Feedback(
        shown=shown,
        is_right=answer.is_correct,
        given=fields[0],
        right=fields[1],
        explanation=question.item.explanation,
        is_last=given.count() == len(pks),
    )


def test_just_passed(enrollment: Enrollment) -> QualificationAttempt | None:
    """The test that this person, who stood before it a moment ago, has passed by now."""
    enrollment.refresh_from_db(fields=["stage"])
    if enrollment.stage == Stage.QUALIFICATION:
        return None
    passed = QualificationAttempt.objects.filter(enrollment__annotator=enrollment.annotator_id, passed=True)
    return passed.filter(test=enrollment.study.test_study).order_by("-finished_at", "-pk").first()


def question_get_for(enrollment: Enrollment, pk: int, part: str = QuestionPart.TEST) -> QualificationQuestion:
    """A question that this person may be asked; `QualificationQuestion.DoesNotExist` for any other."""
    study = asked_by(enrollment, part)
    return QualificationQuestion.objects.select_related("item__dataset").get(pk=pk, study=study, part=part)

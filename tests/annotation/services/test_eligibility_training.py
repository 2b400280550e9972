"""What comes before the test: questions about the person, and the training."""

import pytest

from annotation.domain.errors import LabelValueError
from annotation.models import (
    Enrollment,
    Kind,
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    QuestionPart,
    Stage,
    Study,
)
from annotation.selectors.steps import (
    feedback_get,
    question_get_for,
    steps_of,
    training_next,
)
from annotation.services.enrollment import (
    enrollment_decline,
    enrollment_start,
)
from annotation.services.qualification import (
    eligibility_answer,
    training_answer,
    training_finish,
)
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.kinds import ASPECTS, VALUES, kind_study_make
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = pytest.mark.django_db

NATIVE = {
    "key": "native",
    "question": "Is English your first language?",
    "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
}
DEGREE = {
    "key": "degree",
    "question": "What is your highest degree?",
    "options": [
        {"text": "None", "eligible": False},
        {"text": "Bachelor", "eligible": True},
        {"text": "Doctorate", "eligible": True},
    ],
}


def training_make(study: Study, items: int = 2) -> None:
    """The first items of the study's dataset are its training."""
    Study.objects.filter(pk=study.pk).update(training_size=items)
    QualificationQuestion.objects.bulk_create(
        QualificationQuestion(study=study, item=item, position=place, part=QuestionPart.TRAINING)
        for place, item in enumerate(study.dataset.items.order_by("position")[:items])
    )
    study.dataset.items.update(explanation="Because it **follows** the instruction.")
    study.refresh_from_db()


class TestEligibility:
    @pytest.fixture
    def person(self):
        study = study_make(eligibility=[NATIVE, DEGREE], qualification=1)
        return enrollment_make(study=study, stage=Stage.ELIGIBILITY)

    def test_all_steps_in_order(self):
        study = study_make(eligibility=[NATIVE], qualification=1, training_size=1)
        assert steps_of(study) == [
            "consent",
            "eligibility",
            "guidelines",
            "training",
            "qualification",
            "work",
        ]

    def test_going_on(self, person):
        answers = {"native": "Yes", "degree": "Doctorate"}
        assert eligibility_answer(enrollment=person, answers=answers).stage == Stage.GUIDELINES
        assert fresh(person).eligibility == answers

    @pytest.mark.both_databases
    def test_screened_out_and_the_first_answer_stands(self, person):
        first = {"native": "No", "degree": "Doctorate"}
        assert eligibility_answer(enrollment=person, answers=first).stage == Stage.SCREENED_OUT
        eligibility_answer(enrollment=person, answers=first | {"native": "Yes"})
        enrollment_decline(enrollment=fresh(person))
        person = fresh(person)
        assert (person.stage, person.screened_out_by) == (Stage.SCREENED_OUT, "eligibility")
        assert person.eligibility == first
        assert person.completion_code == ""
        again = enrollment_start(study=person.study, annotator=person.annotator)
        assert (again.pk, again.stage) == (person.pk, Stage.SCREENED_OUT)

    @pytest.mark.both_databases
    def test_nothing_is_stored_of_half_an_answer(self, person):
        with pytest.raises(LabelValueError):
            eligibility_answer(enrollment=person, answers={"native": "No"})
        assert (fresh(person).stage, fresh(person).eligibility) == (Stage.ELIGIBILITY, {})


class TestTraining:
    @pytest.fixture
    def person(self):
        study = study_make(pairs=4)
        training_make(study)
        return enrollment_make(study=study, stage=Stage.TRAINING)

    @pytest.mark.both_databases
    def test_each_is_answered_once_and_nothing_is_decided(self, person):
        first = training_next(person)
        for choice in (1, 2):
            training_answer(enrollment=person, question=first.question, shown_value={"choice": choice})
        answer = QualificationAnswer.objects.get()
        assert answer.attempt is None
        assert answer.value["choice"] == answer.shown_order[0] + 1
        assert training_finish(enrollment=person).stage == Stage.TRAINING
        second = training_next(person)
        assert (second.number, second.total) == (2, 2)
        training_answer(enrollment=person, question=second.question, shown_value={"choice": 1})
        assert training_next(person) is None
        for _ in range(2):
            assert training_finish(enrollment=person).stage == Stage.WORK
        assert not QualificationAttempt.objects.exists()

    def test_what_is_right_is_told_after_the_answer_only(self, person):
        question = training_next(person)
        assert feedback_get(person) is None
        assert feedback_get(person, question.question.pk) is None
        gold = question.question.item.gold["choice"]
        shown = question.order.index(gold - 1) + 1
        training_answer(enrollment=person, question=question.question, shown_value={"choice": shown})
        feedback = feedback_get(person)
        assert feedback.is_right
        assert feedback.given["choice"] == feedback.right["choice"] == str(shown)
        assert "follows" in feedback.explanation
        assert not feedback.is_last
        other = enrollment_make(study=person.study, stage=Stage.TRAINING)
        assert feedback_get(other, question.question.pk) is None

    def test_questions_of_another_part_or_study(self, person):
        training = training_next(person).question
        with pytest.raises(QualificationQuestion.DoesNotExist):
            question_get_for(person, training.pk)
        other = study_make(qualification=1).qualification_questions.get()
        for part in QuestionPart.values:
            with pytest.raises(QualificationQuestion.DoesNotExist):
                question_get_for(person, other.pk, part)
        training_answer(enrollment=person, question=other, shown_value={"choice": 1})
        assert not QualificationAnswer.objects.exists()

    @pytest.mark.parametrize("kind", Kind.values)
    def test_every_kind(self, kind):
        gold = VALUES[kind]
        study = kind_study_make(kind, gold=gold)
        study.dataset.items.update(gold=gold)
        training_make(study, items=1)
        person = enrollment_make(study=study, stage=Stage.TRAINING)
        question = training_next(person)
        value = gold
        if kind == Kind.PAIRWISE:
            value = {"choice": question.order.index(0) + 1}
        if kind == Kind.ANSWER_RANKING:
            value = {"ranks": {str(at): position + 1 for at, position in enumerate(question.order)}}
        training_answer(enrollment=person, question=question.question, shown_value=value)
        feedback = feedback_get(person)
        assert feedback.is_right
        assert feedback.given == feedback.right
        assert set(question.item.aspects and ASPECTS) == {aspect.key for aspect in question.item.aspects}


@pytest.mark.django_db(transaction=True)
def test_questions_about_a_person_and_training():
    study = study_make(eligibility=[NATIVE])
    training_make(study, items=1)
    person = enrollment_make(study=study, stage=Stage.ELIGIBILITY)
    stages = all_at_once(
        lambda text: eligibility_answer(enrollment=person, answers={"native": text}).stage,
        ["Yes", "No"] * 4,
    )
    assert len(set(stages)) == 1
    Enrollment.objects.filter(pk=person.pk).update(stage=Stage.TRAINING)
    question = training_next(fresh(person)).question
    answer = lambda choice: training_answer(  # noqa: E731
        enrollment=person, question=question, shown_value={"choice": choice}
    )
    all_at_once(answer, [1, 2] * 4)
    assert QualificationAnswer.objects.count() == 1
    assert set(all_at_once(lambda _: training_finish(enrollment=person).stage, [0] * 4)) == {Stage.WORK}

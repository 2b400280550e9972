"""Who may work: questions about the person, the training, and a test with attempts that studies may share."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import pairwise

import pytest
from django.db import connection
from django.utils import timezone

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
    question_next,
    standing_get,
    steps_of,
    training_next,
)
from annotation.services.enrollment import (
    enrollment_decline,
    enrollment_start,
    guidelines_acknowledge,
)
from annotation.services.qualification import (
    attempt_start,
    eligibility_answer,
    qualification_answer,
    qualification_enter,
    training_answer,
    training_finish,
)
from tests.annotation.factories import annotator_make, enrollment_make, study_make
from tests.annotation.kinds import ASPECTS, VALUES, kind_study_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

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


def fresh(enrollment: Enrollment) -> Enrollment:
    return Enrollment.objects.select_related("study", "annotator").get(pk=enrollment.pk)


def take_test(person: Enrollment, *, right: int, now=None) -> Enrollment:
    """Answer all questions of the attempt; the first `right` of them rightly."""
    person = fresh(person)
    while (question := question_next(person)) is not None:
        gold = question.question.item.gold["choice"]
        position = gold - 1 if question.number <= right else 2 - gold
        person = qualification_answer(
            enrollment=person,
            question=question.question,
            shown_value={"choice": question.order.index(position) + 1},
            attempt=question.attempt,
            now=now,
        )
    return fresh(person)


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


class TestAttempts:
    @pytest.fixture
    def study(self):
        return study_make(
            pairs=1,
            qualification=6,
            passing=5,
            qualification_attempts=2,
            qualification_cooldown_minutes=30,
            pay_for_test="1.50",
        )

    def test_cool_down_and_second_attempt(self, study):
        start = timezone.now()
        person = take_test(enrollment_make(study=study, stage=Stage.QUALIFICATION), right=4, now=start)
        assert (person.stage, person.qualification_score) == (Stage.QUALIFICATION, 4)
        assert person.retry_at == start + timedelta(minutes=30)
        assert question_next(person) is None
        early = start + timedelta(minutes=29)
        assert attempt_start(enrollment=person, now=early) is None
        later = start + timedelta(minutes=31)
        second = attempt_start(enrollment=person, now=later)
        assert attempt_start(enrollment=person, now=later) == second
        assert second.number == 2
        person = take_test(person, right=5, now=later)
        assert (person.stage, person.qualification_score, person.retry_at) == (Stage.WORK, 5, None)
        rows = person.attempts.values_list("number", "n_right", "passed")
        assert list(rows) == [(1, 4, False), (2, 5, True)]

    def test_each_attempt_has_an_order_of_its_own(self, study):
        Study.objects.filter(pk=study.pk).update(qualification_cooldown_minutes=0)
        orders = []
        for person in (enrollment_make(study=study, stage=Stage.QUALIFICATION) for _ in range(3)):
            take_test(person, right=0)
            attempt_start(enrollment=fresh(person))
            take_test(person, right=0)
            for number in (1, 2):
                answers = person.qualification_answers.filter(attempt__number=number)
                orders.append(list(answers.order_by("pk").values_list("question_id", flat=True)))
        assert all(sorted(order) == sorted(orders[0]) for order in orders)
        assert len({tuple(order) for order in orders}) > 3
        assert any(one != other for one, other in pairwise(orders))

    def test_failing_the_last_screens_out(self, study):
        now = timezone.now()
        person = take_test(enrollment_make(study=study, stage=Stage.QUALIFICATION), right=0, now=now)
        later = now + timedelta(hours=1)
        attempt_start(enrollment=person, now=later)
        person = take_test(person, right=0, now=later)
        assert (person.stage, person.screened_out_by) == (Stage.SCREENED_OUT, "qualification")
        assert person.completion_code
        assert person.finished_at == later
        assert attempt_start(enrollment=person, now=later) is None

    def test_a_page_of_an_earlier_attempt_changes_nothing(self, study):
        Study.objects.filter(pk=study.pk).update(qualification_cooldown_minutes=0)
        person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        question = question_next(person).question
        take_test(person, right=0)
        qualification_answer(enrollment=person, question=question, shown_value={"choice": 1}, attempt=1)
        assert QualificationAttempt.objects.count() == 1
        attempt_start(enrollment=fresh(person))
        qualification_answer(enrollment=person, question=question, shown_value={"choice": 1}, attempt=1)
        assert QualificationAnswer.objects.count() == 6

    def test_a_test_that_was_begun_cannot_be_left_and_begun_again(self, study):
        person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        enrollment_decline(enrollment=person)
        assert fresh(person).stage == Stage.QUALIFICATION

    @pytest.mark.parametrize(("wrong_by", "stage"), [(1, Stage.WORK), (2, Stage.SCREENED_OUT)])
    def test_the_tolerant_rule(self, wrong_by, stage):
        gold = {"ratings": {"helpful": 3, "clear": 3}}
        study = kind_study_make(
            "rubric",
            gold=gold,
            qualification_size=1,
            qualification_pass=1,
            qualification_rule="tolerant",
            qualification_threshold=0.85,
        )
        item = study.dataset.items.first()
        question = QualificationQuestion.objects.create(study=study, item=item, position=0)
        person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
        value = {"ratings": {"helpful": 3 + wrong_by, "clear": 3}}
        assert qualification_answer(enrollment=person, question=question, shown_value=value).stage == stage
        attempt = QualificationAttempt.objects.get()
        assert attempt.accuracy == (1.0 if wrong_by == 1 else 0.5)
        assert attempt.n_right == 0


class TestSharing:
    @pytest.fixture
    def first(self):
        return study_make(qualification=2, qualification_valid_days=10, qualification_attempts=2)

    @pytest.fixture
    def second(self, first):
        return study_make(qualification_from=first, guidelines="Read.", consent="")

    def enrolled(self, study, annotator, stage=Stage.QUALIFICATION):
        return fresh(enrollment_make(study=study, annotator=annotator, stage=stage))

    def test_a_pass_is_not_taken_again(self, first, second):
        annotator = annotator_make()
        take_test(self.enrolled(first, annotator), right=2)
        person = enrollment_start(study=second, annotator=annotator)
        assert person.stage == Stage.GUIDELINES
        guidelines_acknowledge(enrollment=person)
        assert fresh(person).stage == Stage.WORK

    def test_who_has_not_passed_takes_it_with_its_questions_and_rules(self, first, second):
        person = self.enrolled(second, annotator_make(), Stage.GUIDELINES)
        guidelines_acknowledge(enrollment=person)
        person = fresh(person)
        assert person.stage == Stage.QUALIFICATION
        assert question_next(person).question.study == first
        assert take_test(person, right=2).stage == Stage.WORK
        assert QualificationAttempt.objects.get().test == first

    def test_an_expired_pass_is_taken_anew(self, first, second):
        annotator, now = annotator_make(), timezone.now()
        take_test(self.enrolled(first, annotator), right=2, now=now - timedelta(days=11))
        person = self.enrolled(second, annotator, Stage.GUIDELINES)
        guidelines_acknowledge(enrollment=person)
        assert fresh(person).stage == Stage.QUALIFICATION
        assert standing_get(annotator, second, now=now).attempts_left(second) == 2
        assert take_test(person, right=2).stage == Stage.WORK

    def test_passed_meanwhile_elsewhere(self, first, second):
        annotator = annotator_make()
        waiting = self.enrolled(second, annotator)
        take_test(self.enrolled(first, annotator), right=2)
        for _ in range(2):
            assert qualification_enter(enrollment=fresh(waiting)).stage == Stage.WORK

    def test_attempts_are_counted_over_studies(self, first, second):
        annotator = annotator_make()
        take_test(self.enrolled(first, annotator), right=0)
        person = take_test(self.enrolled(second, annotator), right=0)
        assert person.stage == Stage.SCREENED_OUT
        other = self.enrolled(study_make(qualification_from=first), annotator)
        assert question_next(other) is not None
        assert qualification_enter(enrollment=other).stage == Stage.SCREENED_OUT
        question = question_next(self.enrolled(study_make(qualification_from=first), annotator))
        assert question.attempt == 1

    def test_a_test_begun_elsewhere_is_finished_there(self, first, second):
        annotator = annotator_make()
        here, there = self.enrolled(first, annotator), self.enrolled(second, annotator)
        question = question_next(here).question
        qualification_answer(enrollment=here, question=question, shown_value={"choice": 1})
        qualification_answer(enrollment=there, question=question, shown_value={"choice": 1})
        assert QualificationAnswer.objects.count() == QualificationAttempt.objects.count() == 1
        standing = standing_get(annotator, second, now=timezone.now())
        assert standing.waits_for(there, timezone.now())
        assert not standing.waits_for(here, timezone.now())

    def test_an_attempt_that_nobody_can_end_is_used_up(self, first, second):
        annotator = annotator_make()
        here = self.enrolled(first, annotator)
        qualification_answer(
            enrollment=here, question=question_next(here).question, shown_value={"choice": 1}
        )
        Enrollment.objects.filter(pk=here.pk).update(stage=Stage.LEFT)
        standing = standing_get(annotator, second, now=timezone.now())
        assert (standing.begun, standing.failed) == (None, 1)

    def test_another_person_has_not_passed(self, first, second):
        take_test(self.enrolled(first, annotator_make()), right=2)
        assert not standing_get(annotator_make(), second, now=timezone.now()).passed


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def all_at_once(self, work, arguments):
        def body(argument):
            try:
                return work(argument)
            finally:
                connection.close()

        with ThreadPoolExecutor(len(arguments)) as pool:
            return list(pool.map(body, arguments))

    def test_one_attempt_over_two_studies(self):
        first = study_make(qualification=2)
        annotator = annotator_make()
        people = [
            enrollment_make(study=study, annotator=annotator, stage=Stage.QUALIFICATION).pk
            for study in (first, *(study_make(qualification_from=first) for _ in range(3)))
        ]
        question = first.qualification_questions.select_related("item").first()

        def answer(pk):
            person = Enrollment.objects.select_related("study", "annotator").get(pk=pk)
            qualification_answer(enrollment=person, question=question, shown_value={"choice": 1})

        self.all_at_once(answer, people * 2)
        assert QualificationAttempt.objects.count() == QualificationAnswer.objects.count() == 1

    def test_questions_about_a_person_and_training(self):
        study = study_make(eligibility=[NATIVE])
        training_make(study, items=1)
        person = enrollment_make(study=study, stage=Stage.ELIGIBILITY)
        stages = self.all_at_once(
            lambda text: eligibility_answer(enrollment=person, answers={"native": text}).stage,
            ["Yes", "No"] * 4,
        )
        assert len(set(stages)) == 1
        Enrollment.objects.filter(pk=person.pk).update(stage=Stage.TRAINING)
        question = training_next(fresh(person)).question
        answer = lambda choice: training_answer(  # noqa: E731
            enrollment=person, question=question, shown_value={"choice": choice}
        )
        self.all_at_once(answer, [1, 2] * 4)
        assert QualificationAnswer.objects.count() == 1
        assert set(self.all_at_once(lambda _: training_finish(enrollment=person).stage, [0] * 4)) == {
            Stage.WORK
        }

"""The test before the work: attempts, and studies that share it."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from annotation.models import (
    Enrollment,
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    Stage,
    Study,
)
from annotation.selectors.steps import (
    attempts_get,
    question_next,
)
from annotation.services.enrollment import (
    enrollment_decline,
    enrollment_start,
    guidelines_acknowledge,
)
from annotation.services.qualification import (
    attempt_start,
    qualification_answer,
    qualification_enter,
)
from tests.annotation.factories import annotator_make, enrollment_make, study_make
from tests.annotation.kinds import kind_study_make
from tests.annotation.work import fresh
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


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

    @pytest.mark.both_databases
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


@pytest.mark.both_databases
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
        assert attempts_get(annotator, second, now=now).attempts_left(second) == 2
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
        standing = attempts_get(annotator, second, now=timezone.now())
        assert standing.waits_for(there, timezone.now())
        assert not standing.waits_for(here, timezone.now())

    def test_an_attempt_that_nobody_can_end_is_used_up(self, first, second):
        annotator = annotator_make()
        here = self.enrolled(first, annotator)
        qualification_answer(
            enrollment=here, question=question_next(here).question, shown_value={"choice": 1}
        )
        Enrollment.objects.filter(pk=here.pk).update(stage=Stage.LEFT)
        standing = attempts_get(annotator, second, now=timezone.now())
        assert (standing.begun, standing.failed) == (None, 1)

    def test_an_attempt_in_a_study_past_its_deadline_is_used_up(self, first, second):
        annotator, now = annotator_make(), timezone.now()
        here = self.enrolled(first, annotator)
        qualification_answer(
            enrollment=here, question=question_next(here).question, shown_value={"choice": 1}
        )
        Study.objects.filter(pk=first.pk).update(closes_at=now + timedelta(hours=1))
        assert attempts_get(annotator, second, now=now).begun is not None
        standing = attempts_get(annotator, second, now=now + timedelta(hours=1))
        assert (standing.begun, standing.failed) == (None, 1)

    @pytest.mark.parametrize(("seconds", "passed"), [(-1, True), (0, False)])
    def test_a_pass_expires_at_its_moment(self, first, second, seconds, passed):
        annotator, now = annotator_make(), timezone.now()
        take_test(self.enrolled(first, annotator), right=2, now=now)
        then = now + timedelta(days=10, seconds=seconds)
        assert attempts_get(annotator, second, now=then).passed is passed

    def test_another_person_has_not_passed(self, first, second):
        take_test(self.enrolled(first, annotator_make()), right=2)
        assert not attempts_get(annotator_make(), second, now=timezone.now()).passed


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_attempt_over_two_studies():
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

    all_at_once(answer, people * 2)
    assert QualificationAttempt.objects.count() == QualificationAnswer.objects.count() == 1

"""The pages of the training, of tests of every kind, and of further attempts."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.kinds import from_canonical, kind_of
from annotation.models import (
    Enrollment,
    Kind,
    QualificationAnswer,
    QualificationQuestion,
    Stage,
)
from annotation.selectors.steps import question_next, training_next
from tests.annotation.cast import text_of
from tests.annotation.factories import (
    enrollment_make,
    study_make,
)
from tests.annotation.kinds import ASPECTS, VALUES, kind_study_make
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db


class TestTraining:
    @pytest.fixture
    def study(self):
        study = study_make(pairs=3, training_size=2)
        for place, item in enumerate(study.dataset.items.order_by("position")[:2]):
            QualificationQuestion.objects.create(study=study, item=item, position=place, part="training")
        study.dataset.items.update(explanation="It **follows** the instruction. <script>x</script>")
        return study

    @pytest.fixture
    def person(self, study):
        return enrollment_make(study=study, stage=Stage.TRAINING)

    def answer(self, browser, person, *, right, follow=True):
        question = training_next(person)
        gold = question.question.item.gold["choice"] - 1
        choice = question.order.index(gold if right else 1 - gold) + 1
        form = {"question": question.question.pk, "choice": choice}
        return browser.post(url("training", person.study), form, follow=follow)

    def test_the_way_through(self, browser, person, study):
        page = browser.get(url("place", study))
        assert "Training 1 of 2" in text_of(page)
        assert "follows</strong> the instruction" not in page.content.decode().split("<dialog")[0]
        page = self.answer(browser, person, right=True)
        assert "Right You answered" in text_of(page)
        assert "<strong>follows</strong>" in page.content.decode()
        assert "<script>x" not in page.content.decode()
        assert "secret-system" not in page.content.decode()
        assert "Training 2 of 2" in text_of(browser.get(url("place", study)))
        page = self.answer(browser, person, right=False)
        assert "Not quite" in text_of(page)
        assert "Start the work" in text_of(page)
        assert "Start the work" in text_of(browser.get(url("place", study)))
        for _ in range(2):
            response = browser.post(url("training", study), {"finish": "yes"}, follow=True)
        assert response.redirect_chain[-1][0].startswith(url("work", study))

    def test_no_jump_over_it(self, browser, person, study):
        browser.post(url("training", study), {"finish": "yes"})
        person.refresh_from_db()
        assert person.stage == Stage.TRAINING

    def test_the_first_answer_stands(self, browser, person, study):
        question = training_next(person).question
        for choice in ("1", "2"):
            form = {"question": question.pk, "choice": choice}
            assert browser.post(url("training", study), form).url == url(
                "training-feedback", study, question.pk
            )
        assert QualificationAnswer.objects.count() == 1

    def test_nothing_is_told_before_the_answer_nor_of_anothers(self, browser, person, study):
        question = training_next(person).question
        other = client_of(enrollment_make(study=study, stage=Stage.TRAINING))
        assert browser.get(url("training-feedback", study, question.pk)).url == url("place", study)
        self.answer(browser, person, right=True)
        assert other.get(url("training-feedback", study, question.pk)).url == url("place", study)
        assert browser.get(url("training-feedback", study, question.pk)).status_code == 200

    def test_nonsense(self, browser, person, study):
        question = training_next(person).question
        page = browser.post(url("training", study), {"question": question.pk})
        assert page.status_code == 422
        assert "Choose an answer first" in text_of(page)
        for form in ({}, {"question": "x"}, {"question": "99999", "choice": "1"}):
            assert browser.post(url("training", study), form).url == url("place", study)
        assert not QualificationAnswer.objects.exists()

    def test_a_study_whose_training_is_empty(self, browser, person, study):
        study.qualification_questions.all().delete()
        assert "no training items" in text_of(browser.get(url("place", study)))
        browser.post(url("training", study), {"finish": "yes"})
        person.refresh_from_db()
        assert person.stage == Stage.WORK


@pytest.mark.parametrize("kind", Kind.values)
class TestEveryKind:
    """The training and the test of each kind of work: page, answer, feedback."""

    def fields(self, study, question):
        gold = question.question.item.gold
        shown = from_canonical(study.kind, gold, question.order)
        return kind_of(study.kind).fields(shown) | {"question": question.question.pk}

    def test_training_then_test(self, kind):
        gold = VALUES[kind] | ({} if kind != "checklist" else {"answers": dict.fromkeys(ASPECTS, True)})
        study = kind_study_make(kind, gold=gold, training_size=1, qualification_size=1, qualification_pass=1)
        study.dataset.items.update(gold=gold)
        for place, part in enumerate(("training", "test")):
            item = study.dataset.items.order_by("position")[place]
            QualificationQuestion.objects.create(study=study, item=item, position=place, part=part)
        person = enrollment_make(study=study, stage=Stage.TRAINING)
        browser = client_of(person)
        assert "Training 1 of 1" in text_of(browser.get(url("place", study)))
        page = browser.post(url("training", study), self.fields(study, training_next(person)), follow=True)
        assert "Right answer" in text_of(page)
        assert 'id="verdict" class="response-right"' in page.content.decode()
        page = browser.post(url("training", study), {"finish": "yes"}, follow=True)
        assert "Question 1 of 1" in text_of(page)
        for words in ("secret-system", "gold"):
            assert words not in page.content.decode()
        person.refresh_from_db()
        browser.post(url("qualification", study), self.fields(study, question_next(person)))
        person.refresh_from_db()
        assert (person.stage, person.qualification_score) == (Stage.WORK, 1)


class TestAttempts:
    @pytest.fixture
    def study(self):
        return study_make(
            pairs=1,
            qualification=1,
            qualification_attempts=2,
            qualification_cooldown_minutes=10,
            pay_for_test="0.50",
        )

    @pytest.fixture
    def person(self, study):
        return enrollment_make(study=study, stage=Stage.QUALIFICATION)

    def fail(self, browser, person):
        question = question_next(person)
        wrong = 2 - question.question.item.gold["choice"]
        form = {
            "question": question.question.pk,
            "choice": question.order.index(wrong) + 1,
            "attempt": question.attempt,
        }
        return browser.post(url("qualification", person.study), form, follow=True)

    def test_wait_try_again_and_the_end(self, browser, person, study):
        words = text_of(browser.get(url("place", study)))
        assert "you can take the test 2 times" in words
        assert "you earn 0.50 USD, whether you pass or not" in words
        words = text_of(self.fail(browser, person))
        assert "Not passed yet" in words
        assert "1 is needed." in words
        assert "once more" in words
        assert re.search(r"(9|10).minutes", words)
        browser.post(url("retry", study))
        assert person.attempts.count() == 1
        person.attempts.update(finished_at=timezone.now() - timedelta(minutes=11))
        assert "Try again" in text_of(browser.get(url("place", study)))
        for _ in range(2):
            page = browser.post(url("retry", study), follow=True)
        assert "Question 1 of 1" in text_of(page)
        assert person.attempts.count() == 2
        words = text_of(self.fail(browser, person))
        person.refresh_from_db()
        assert person.stage == Stage.SCREENED_OUT
        assert "0 of 1" in words
        assert "you earned 0.50 USD" in words
        assert person.completion_code in words

    def test_an_answer_of_an_earlier_attempt(self, browser, person, study):
        question = question_next(person).question
        self.fail(browser, person)
        form = {"question": question.pk, "choice": "1", "attempt": "1"}
        assert browser.post(url("qualification", study), form).url == url("place", study)
        assert QualificationAnswer.objects.count() == 1

    def test_begun_in_another_study(self, browser, person, study):
        study.qualification_questions.create(item=study.study_items.get().item, position=1)
        other = study_make(title="Elsewhere", qualification_from=study)
        there = enrollment_make(study=other, annotator=person.annotator, stage=Stage.QUALIFICATION)
        question = question_next(there).question
        client_of(there).post(url("qualification", other), {"question": question.pk, "choice": "1"})
        words = text_of(browser.get(url("place", study)))
        assert "already started this test" in words
        assert "Elsewhere" in words

    def test_suspended_people_go_no_step_further(self, browser, person, study):
        Enrollment.objects.filter(pk=person.pk).update(suspended_at=timezone.now())
        self.fail(browser, person)
        assert not QualificationAnswer.objects.exists()

    def test_queries_of_a_question(self, browser, study, django_assert_max_num_queries):
        browser.get(url("place", study))
        with django_assert_max_num_queries(7):
            browser.get(url("place", study))


def test_a_tolerant_test_says_its_rule_and_its_result():
    study = kind_study_make(
        "rubric",
        gold=VALUES["rubric"],
        qualification_size=1,
        qualification_pass=0,
        qualification_rule="tolerant",
        qualification_threshold=0.85,
    )
    QualificationQuestion.objects.create(study=study, item=study.dataset.items.first(), position=0)
    person = enrollment_make(study=study, stage=Stage.QUALIFICATION)
    browser = client_of(person)
    assert "more than 85% of your answers must be right or at most 1 away" in text_of(
        browser.get(url("place", study))
    )
    form = {"question": question_next(person).question.pk, "rating-helpful": "1", "rating-clear": "4"}
    words = text_of(browser.post(url("qualification", study), form, follow=True))
    assert "50% of your answers were right or at most 1 away" in words
    assert "more than 85% is needed. This study ends here for you." in words

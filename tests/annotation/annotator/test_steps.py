"""The annotator's pages. For each one that changes something: the happy path, a stranger, somebody else's row,
and the same request twice. (At once, from many threads: `test_concurrency`.)
"""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.domain.values import from_canonical
from annotation.models import (
    Annotator,
    AssignmentState,
    Enrollment,
    Kind,
    Label,
    QualificationAnswer,
    QualificationAttempt,
    QualificationQuestion,
    Stage,
)
from annotation.selectors.shown import fields_of_value
from annotation.selectors.steps import question_next, training_next
from annotation.views.annotator.common import POST_RATE
from annotation.views.annotator.device import COOKIE
from tests.annotation.cast import text_of
from tests.annotation.factories import (
    PASSWORD,
    enrollment_make,
    invitation_make,
    study_make,
    user_make,
)
from tests.annotation.kinds import ASPECTS, VALUES, kind_study_make
from tests.annotation.visits import client_of, url

pytestmark = pytest.mark.django_db


class TestJoin:
    def join(self, client, invitation, visit=None):
        page = reverse("annotation:join", args=[invitation.token])
        if visit is None:
            visit = client.get(page).context["visit"]
        return client.post(page, {"visit": visit})

    def test_opening_the_link_makes_nobody(self, client, study):
        page = reverse("annotation:join", args=[invitation_make(study=study).token])
        response = client.get(page)
        assert response.status_code == 200
        assert "Begin" in text_of(response)
        assert not Annotator.objects.exists()

    def test_joining_makes_a_person_and_a_new_session_key(self, client, study):
        invitation = invitation_make(study=study)
        client.get("/")
        session = client.session
        session["planted"] = True
        session.save()
        before = session.session_key
        response = self.join(client, invitation)
        assert response.url == url("place", study)
        assert client.session.session_key != before
        assert Enrollment.objects.get().stage == Stage.CONSENT
        assert client.get(response.url).status_code == 200

    def test_a_double_click_makes_one_person(self, client, study):
        invitation = invitation_make(study=study)
        visit = client.get(reverse("annotation:join", args=[invitation.token])).context["visit"]
        for browser in (Client(), Client()):
            assert self.join(browser, invitation, visit).status_code == 302
        assert Enrollment.objects.count() == 1

    @pytest.mark.parametrize("visit", ["", "forged", "somebody-else"])
    def test_a_forged_visit_is_a_new_person(self, client, study, visit):
        enrollment_make(study=study)
        self.join(client, invitation_make(study=study), visit)
        assert Enrollment.objects.count() == 2

    def test_coming_back_goes_on(self, client, study):
        invitation = invitation_make(study=study)
        self.join(client, invitation)
        response = client.get(reverse("annotation:join", args=[invitation.token]))
        assert response.url == url("place", study)
        assert Enrollment.objects.count() == 1

    def test_who_declined_may_think_again(self, client, study):
        invitation = invitation_make(study=study)
        self.join(client, invitation)
        client.post(url("consent", study), {"answer": "decline"})
        assert self.join(client, invitation).status_code == 302
        assert Enrollment.objects.filter(stage=Stage.CONSENT).count() == 1

    def test_beside_a_login(self, client, study):
        user = user_make()
        client.login(username=user.username, password=PASSWORD)
        self.join(client, invitation_make(study=study))
        assert client.session["_auth_user_id"] == str(user.pk)

    @pytest.mark.parametrize(
        ("fields", "state", "status", "words"),
        [
            ({"max_annotators": 0}, "open", 410, "All places are taken"),
            ({"revoked_at": "2020-01-01T00:00Z"}, "open", 410, "withdrawn"),
            ({"expires_at": "2020-01-01T00:00Z"}, "open", 410, "Its time is over"),
            ({}, "paused", 403, "paused"),
            ({}, "draft", 403, "not begun"),
            ({}, "closed", 410, "ended"),
        ],
    )
    @pytest.mark.parametrize("method", ["get", "post"])
    def test_refusals_are_polite(self, client, fields, state, status, words, method):
        invitation = invitation_make(study=study_make(state=state), **fields)
        response = getattr(client, method)(reverse("annotation:join", args=[invitation.token]))
        assert response.status_code == status
        assert words in text_of(response)
        assert not Enrollment.objects.exists()

    def test_an_unknown_link(self, client):
        assert client.get(reverse("annotation:join", args=["nonsense"])).status_code == 404
        assert client.get(reverse("annotation:resume", args=["nonsense"])).status_code == 404

    @pytest.mark.both_databases
    @pytest.mark.parametrize("address", ["/join/a%00b/", "/resume/a%00b/"])
    def test_a_link_that_no_database_takes(self, client, address):
        assert client.get(address).status_code == 404

    def test_the_personal_link_goes_on_elsewhere(self, study, person):
        response = client_of(person).get(url("place", study))
        assert response.url == url("work", study)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("place", "get"),
        ("consent", "post"),
        ("guidelines", "post"),
        ("qualification", "post"),
        ("eligibility", "post"),
        ("training", "post"),
        ("retry", "post"),
        ("work", "get"),
        ("finish", "post"),
        ("done", "get"),
    ],
)
def test_strangers_are_told_how_to_come_in(client, study, name, method):
    response = getattr(client, method)(url(name, study))
    assert response.status_code == 404
    assert "do not know you" in text_of(response)


@pytest.mark.parametrize("name", ["assignment", "draft", "skip"])
class TestSomebodyElses:
    def test_a_stranger(self, client, study, lease, name):
        response = client.post(url(name, study, lease.pk), {"choice": "1", "reason": "other"})
        assert response.status_code == 404

    def test_another_person_of_the_study(self, study, lease, name):
        other = client_of(enrollment_make(study=study))
        assert other.post(url(name, study, lease.pk), {"choice": "1", "reason": "other"}).status_code == 404
        lease.refresh_from_db()
        assert (lease.state, lease.draft) == (AssignmentState.OPEN, None)
        assert not Label.objects.exists()

    def test_through_another_study(self, lease, name):
        elsewhere = study_make()
        other = client_of(enrollment_make(study=elsewhere, annotator=lease.enrollment.annotator))
        assert other.post(url(name, elsewhere, lease.pk), {"choice": "1"}).status_code == 404
        assert not Label.objects.exists()


@pytest.mark.parametrize(
    "name",
    ["consent", "eligibility", "guidelines", "training", "qualification", "retry", "work", "finish", "place"],
)
def test_no_page_is_kept_by_a_cache(browser, study, name):
    assert "no-store" in browser.get(url(name, study))["Cache-Control"]


class TestSteps:
    def test_consent(self, study):
        person = enrollment_make(study=study, stage=Stage.CONSENT)
        browser = client_of(person)
        page = browser.get(url("place", study))
        assert "You agree to have your answers stored." in text_of(page)
        form = {"agree": "yes", "fingerprint": page.context["fingerprint"]}
        for _ in range(2):
            browser.post(url("consent", study), form)
        assert Enrollment.objects.get(pk=person.pk).stage == Stage.GUIDELINES
        assert "Guidelines" in text_of(browser.get(url("place", study)))

    @pytest.mark.parametrize("form", [{}, {"agree": "yes"}, {"agree": "yes", "fingerprint": "x"}])
    def test_no_consent_without_the_tick_or_to_another_text(self, study, form):
        person = enrollment_make(study=study, stage=Stage.CONSENT)
        response = client_of(person).post(url("consent", study), form, follow=True)
        assert Enrollment.objects.get(pk=person.pk).stage == Stage.CONSENT
        assert re.search("tick the box|has changed", text_of(response))

    def test_decline(self, study):
        person = enrollment_make(study=study, stage=Stage.CONSENT)
        response = client_of(person).post(url("consent", study), {"answer": "decline"}, follow=True)
        assert "Thank you for considering it" in text_of(response)

    def test_guidelines_are_acknowledged_once_and_shown_always(self, study):
        person = enrollment_make(study=study, stage=Stage.GUIDELINES)
        browser = client_of(person)
        for _ in range(2):
            browser.post(url("guidelines", study))
        assert Enrollment.objects.get(pk=person.pk).stage == Stage.WORK
        assert b"<strong>follows</strong>" in browser.get(url("guidelines", study)).content

    @pytest.mark.parametrize(("state", "words"), [("paused", "is paused"), ("closed", "has ended")])
    @pytest.mark.parametrize("stage", [Stage.CONSENT, Stage.QUALIFICATION])
    def test_a_study_that_is_not_open(self, state, words, stage):
        study = study_make(state=state, qualification=1)
        browser = client_of(enrollment_make(study=study, stage=stage))
        assert words in text_of(browser.get(url("place", study)))

    def test_the_address_of_a_post_is_a_way_back(self, browser, study):
        assert browser.get(url("consent", study)).url == url("place", study)
        assert browser.get(url("qualification", study)).url == url("place", study)


NATIVE = {
    "key": "native",
    "question": "Is English your first language?",
    "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
}


class TestDevice:
    """One person a browser, by a mark that two studies cannot match."""

    def join(self, client, invitation):
        page = reverse("annotation:join", args=[invitation.token])
        visit = (client.get(page).context or {}).get("visit", "")
        return client.post(page, {"visit": visit})

    def test_the_mark_is_kept_and_each_study_knows_it_as_its_own(self, client):
        for _ in range(2):
            self.join(client, invitation_make(study=study_make()))
        cookie = client.cookies[COOKIE]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
        assert not cookie["secure"]
        marks = list(Enrollment.objects.values_list("device", flat=True))
        assert len(set(marks)) == 2
        assert all(len(mark) == 64 and mark not in cookie.value for mark in marks)

    def test_secure_where_the_site_is(self, client, study):
        page = reverse("annotation:join", args=[invitation_make(study=study).token])
        assert client.get(page, secure=True).cookies[COOKIE]["secure"]

    def test_a_browser_that_has_lost_its_place_does_not_get_another(self, client, study):
        self.join(client, invitation_make(study=study))
        del client.cookies["studies"]
        token = Enrollment.objects.get().resume_token
        for method in ("get", "post"):
            address = reverse("annotation:join", args=[invitation_make(study=study).token])
            response = getattr(client, method)(address)
            assert response.status_code == 403
            assert "This browser is in the study already" in text_of(response)
            assert token not in response.content.decode()
        assert Enrollment.objects.count() == 1

    def test_a_mark_that_was_made_up_is_a_new_one(self, client, study):
        client.cookies[COOKIE] = "made-up"
        assert self.join(client, invitation_make(study=study)).status_code == 302
        assert client.cookies[COOKIE].value != "made-up"

    def test_people_who_share_a_computer(self, client):
        study = study_make(one_per_device=False)
        for _ in range(2):
            self.join(client, invitation_make(study=study))
            del client.cookies["studies"]
        assert Enrollment.objects.count() == 2

    def test_who_did_not_fit_does_not_get_in_again(self, client):
        study = study_make(eligibility=[NATIVE], consent="")
        invitation = invitation_make(study=study)
        self.join(client, invitation)
        client.post(url("eligibility", study), {"question-native": "No"})
        assert self.join(client, invitation).url == url("place", study)
        assert "looks for other people" in text_of(client.get(url("place", study)))
        del client.cookies["studies"]
        assert self.join(client, invitation).status_code == 403
        assert Enrollment.objects.count() == 1

    def test_what_this_browser_passed_in_a_study_of_the_same_test_counts(self, client):
        first = study_make(qualification=1)
        person = enrollment_make(study=first, stage=Stage.WORK)
        QualificationAttempt.objects.create(
            enrollment=person,
            test=first,
            number=1,
            started_at=timezone.now(),
            finished_at=timezone.now(),
            passed=True,
        )
        client.get(reverse("annotation:resume", args=[person.resume_token]))
        second = study_make(qualification_from=first, consent="", guidelines="")
        self.join(client, invitation_make(study=second))
        joined = Enrollment.objects.get(study=second)
        assert (joined.stage, joined.annotator) == (Stage.WORK, person.annotator)

    def test_places_over_all_links(self, client):
        study = study_make(max_annotators=1)
        enrollment_make(study=study)
        response = self.join(client, invitation_make(study=study))
        assert response.status_code == 410
        assert "All places are taken" in text_of(response)


class TestEligibility:
    @pytest.fixture
    def study(self):
        return study_make(eligibility=[NATIVE])

    @pytest.fixture
    def person(self, study):
        return enrollment_make(study=study, stage=Stage.ELIGIBILITY)

    def test_going_on(self, browser, person, study):
        assert "Is English your first language?" in text_of(browser.get(url("place", study)))
        for text in ("Yes", "No"):
            assert browser.post(url("eligibility", study), {"question-native": text}).status_code == 302
        person.refresh_from_db()
        assert (person.stage, person.eligibility) == (Stage.GUIDELINES, {"native": "Yes"})

    def test_a_polite_end_that_does_not_say_what_was_wanted(self, browser, person, study):
        for text in ("No", "Yes"):
            page = browser.post(url("eligibility", study), {"question-native": text}, follow=True)
            words = text_of(page)
            assert "Thank you for answering" in words
            assert "first language" not in words
        assert browser.get(url("work", study)).url == url("place", study)
        browser.post(url("guidelines", study))
        person.refresh_from_db()
        assert person.stage == Stage.SCREENED_OUT

    @pytest.mark.parametrize("form", [{}, {"question-native": "Perhaps"}, {"question-other": "Yes"}])
    def test_every_question_has_to_be_answered(self, browser, person, study, form):
        page = browser.post(url("eligibility", study), form)
        assert page.status_code == 422
        assert "Choose one of the answers" in text_of(page)
        person.refresh_from_db()
        assert (person.stage, person.eligibility) == (Stage.ELIGIBILITY, {})

    def test_no_guidelines_before_it(self, browser, study):
        assert browser.get(url("guidelines", study)).url == url("place", study)

    def test_which_answer_lets_in_is_not_on_the_page(self, browser, study):
        page = browser.get(url("place", study)).content.decode()
        assert "eligible" not in page.replace("eligibility/", "")
        assert "True" not in page


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
        assert "nothing to train with" in text_of(browser.get(url("place", study)))
        browser.post(url("training", study), {"finish": "yes"})
        person.refresh_from_db()
        assert person.stage == Stage.WORK


@pytest.mark.parametrize("kind", Kind.values)
class TestEveryKind:
    """The training and the test of each kind of work: page, answer, feedback."""

    def fields(self, study, question):
        gold = question.question.item.gold
        shown = from_canonical(study.kind, gold, question.order)
        return fields_of_value(study.kind, shown) | {"question": question.question.pk}

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
        assert "The right answer" in text_of(page)
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
        assert "can be taken 2 times" in words
        assert "you earn 0.50 USD, whether you pass or not" in words
        words = text_of(self.fail(browser, person))
        assert "Not passed yet" in words
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
        assert "begun this test already" in words
        assert "Elsewhere" in words

    def test_suspended_people_go_no_step_further(self, browser, person, study):
        Enrollment.objects.filter(pk=person.pk).update(suspended_at=timezone.now())
        self.fail(browser, person)
        assert not QualificationAnswer.objects.exists()

    def test_queries_of_a_question(self, browser, study, django_assert_max_num_queries):
        browser.get(url("place", study))
        with django_assert_max_num_queries(7):
            browser.get(url("place", study))


class TestQualification:
    @pytest.fixture
    def study(self):
        return study_make(pairs=1, qualification=3, passing=2, pay_per_item="0.10")

    @pytest.fixture
    def person(self, study):
        return enrollment_make(study=study, stage=Stage.QUALIFICATION)

    def answer(self, browser, person, *, right):
        question = question_next(person)
        gold = question.question.item.gold["choice"] - 1
        choice = question.order.index(gold if right else 1 - gold) + 1
        form = {"question": question.question.pk, "choice": choice}
        return browser.post(url("qualification", person.study), form, follow=True)

    def test_passing(self, browser, person, study):
        page = browser.get(url("place", study))
        assert "Question 1 of 3" in text_of(page)
        assert "at least 2 have to be right" in text_of(page)
        assert "secret-system" not in page.content.decode()
        for right in (True, False, True):
            page = self.answer(browser, person, right=right)
        assert page.redirect_chain[-1][0].startswith(url("work", study))

    def test_failing_is_told_with_the_score_and_the_reference(self, browser, person, study):
        for right in (True, False, False):
            page = self.answer(browser, person, right=right)
        person.refresh_from_db()
        words = text_of(page)
        assert "1 of 3" in words
        assert "not paid" in words
        assert person.completion_code in words
        assert browser.get(url("work", study)).url == url("place", study)

    def test_the_order_is_that_of_the_person(self, browser, person, study):
        question = question_next(person)
        page = browser.get(url("place", study)).content.decode()
        first, second = (response.text for response in question.item.responses)
        assert page.index(first) < page.index(second)

    def test_twice_and_nonsense(self, browser, person, study):
        question = question_next(person).question
        for choice in ("1", "2"):
            browser.post(url("qualification", study), {"question": question.pk, "choice": choice})
        assert QualificationAnswer.objects.count() == 1
        for form in ({}, {"question": "x"}, {"question": "999999", "choice": "1"}):
            assert browser.post(url("qualification", study), form).status_code == 302
        page = browser.post(url("qualification", study), {"question": question.pk})
        assert page.status_code == 422
        assert "Choose an answer first" in text_of(page)
        assert QualificationAnswer.objects.count() == 1

    def test_questions_of_another_study(self, browser, study):
        other = study_make(qualification=1).qualification_questions.get()
        browser.post(url("qualification", study), {"question": other.pk, "choice": "1"})
        assert not QualificationAnswer.objects.exists()


class TestLimits:
    @pytest.fixture(autouse=True)
    def limits(self, settings):
        from django.core.cache import cache

        settings.RATELIMIT_ENABLE = True
        cache.clear()
        yield
        cache.clear()

    def test_doors_by_address(self, client):
        page = reverse("annotation:resume", args=["guess"])
        statuses = [client.get(page).status_code for _ in range(70)]
        assert statuses[0] == 404
        assert statuses[-1] == 429
        response = client.get(page)
        assert response["Retry-After"] == "60"
        assert "too fast" in text_of(response)

    def test_a_session_key_that_was_made_up_is_no_new_person(self, client, study):
        page = url("consent", study)
        statuses = []
        for number in range(int(POST_RATE.split("/")[0]) + 1):
            client.cookies["sessionid"] = f"made-up-{number:024}"
            statuses.append(client.post(page).status_code)
        assert set(statuses[:-1]) == {404}
        assert statuses[-1] == 429

    def test_no_log_tells_a_personal_link(self, client, person, caplog):
        page = reverse("annotation:resume", args=[person.resume_token])
        assert [client.get(page).status_code for _ in range(61)][-1] == 429
        Client(enforce_csrf_checks=True).post(reverse("annotation:join", args=["a-token"]))
        assert "Too Many Requests: /resume/…/" in caplog.text
        assert "/join/…/" in caplog.text
        assert person.resume_token not in caplog.text
        assert "a-token" not in caplog.text

    def test_posts_by_session(self, browser, study, person):
        statuses = [browser.post(url("guidelines", study)).status_code for _ in range(130)]
        assert statuses[-1] == 429
        other = client_of(enrollment_make(study=study))
        assert other.post(url("guidelines", study)).status_code == 302


def test_forms_need_their_token(study, person):
    browser = Client(enforce_csrf_checks=True)
    browser.get(reverse("annotation:resume", args=[person.resume_token]))
    assert browser.post(url("finish", study)).status_code == 403

"""The annotator's pages. For each one that changes something: the happy path, a stranger, somebody else's row,
and the same request twice. (At once, from many threads: `test_concurrency`.)
"""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Annotator,
    AssignmentState,
    Enrollment,
    Label,
    QualificationAnswer,
    Stage,
    Study,
)
from annotation.selectors.steps import question_next
from annotation.views.annotator.common import POST_RATE
from tests.annotation.cast import text_of
from tests.annotation.factories import (
    PASSWORD,
    enrollment_make,
    invitation_make,
    study_make,
    user_make,
)
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
        assert "Start" in text_of(response)
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
        assert Enrollment.objects.get().stage == Stage.CONSENT

    def test_who_thinks_again_on_a_shared_computer_may_be_another(self, client, study):
        type(study).objects.update(one_per_device=False)
        invitation = invitation_make(study=study)
        self.join(client, invitation)
        client.post(url("consent", study), {"answer": "decline"})
        assert self.join(client, invitation).status_code == 302
        assert Enrollment.objects.count() == 2

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
            ({"expires_at": "2020-01-01T00:00Z"}, "open", 410, "It has expired"),
            ({}, "paused", 403, "paused"),
            ({}, "draft", 403, "hasn't started"),
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
    assert "don't recognize this browser" in text_of(response)


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
        assert re.search("check the box|has changed", text_of(response))

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
        study = study_make(qualification=1)
        browser = client_of(enrollment_make(study=study, stage=stage))
        Study.objects.filter(pk=study.pk).update(state=state)
        assert words in text_of(browser.get(url("place", study)))

    def test_the_address_of_a_post_is_a_way_back(self, browser, study):
        assert browser.get(url("consent", study)).url == url("place", study)
        assert browser.get(url("qualification", study)).url == url("place", study)


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
        assert "At least 2 must be right" in text_of(page)
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
        assert "isn't paid" in words
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
        assert "Too many requests" in text_of(response)

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

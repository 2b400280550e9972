"""The annotator's pages. For each one that changes something: the happy path, a stranger, somebody else's row,
and the same request twice. (At once, from many threads: `test_concurrency`.)
"""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import (
    Annotator,
    Assignment,
    AssignmentState,
    Enrollment,
    Label,
    QualificationAnswer,
    Stage,
    Study,
)
from annotation.selectors.work import question_next
from annotation.services.assignments import assignment_claim
from tests.annotation.factories import (
    PASSWORD,
    enrollment_make,
    invitation_make,
    study_make,
    user_make,
)

pytestmark = pytest.mark.django_db


def url(name, study, *args):
    return reverse(f"annotation:{name}", args=[study.slug, *args])


def client_of(enrollment):
    client = Client()
    client.get(reverse("annotation:resume", args=[enrollment.resume_token]))
    return client


def text_of(response):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


@pytest.fixture
def study():
    return study_make(pairs=3, overlap=2)


@pytest.fixture
def person(study):
    return enrollment_make(study=study)


@pytest.fixture
def browser(person):
    return client_of(person)


@pytest.fixture
def lease(person):
    person = Enrollment.objects.select_related("study", "annotator").get(pk=person.pk)
    return assignment_claim(enrollment=person)


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
    "name", ["consent", "guidelines", "qualification", "work", "finish", "done", "place"]
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
        first, second = question.item.responses
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


class TestWork:
    def submit(self, browser, lease, choice="1", **extra):
        page = url("assignment", lease.enrollment.study, lease.pk)
        return browser.post(page, {"choice": choice, **extra}, follow=True)

    def test_the_page(self, browser, lease, study):
        page = browser.get(url("work", study), follow=True)
        html = page.content.decode()
        texts = [f"Response {position} to pair" for position in lease.shown_order]
        assert page.redirect_chain[-1][0] == url("assignment", study, lease.pk)
        assert html.index(texts[0]) < html.index(texts[1])
        assert "secret-system" not in html
        assert "0 of 3" in text_of(page)
        assert f"<h1>{study.question}</h1>" in html
        assert "no-store" in page["Cache-Control"]

    def test_submit_goes_to_the_next(self, browser, lease, study):
        page = self.submit(browser, lease, active_ms="1500", wall_ms="2500")
        label = Label.objects.get()
        assert label.choice == lease.shown_order[0] + 1
        assert (label.active_ms, label.wall_ms) == (1500, 2500)
        assert page.redirect_chain[-1][0] != url("assignment", study, lease.pk)
        assert "1 of 3" in text_of(page)

    @pytest.mark.parametrize("wrong", ["", "3", "-1", "A", None])
    def test_what_is_no_answer(self, browser, lease, study, wrong):
        form = {} if wrong is None else {"choice": wrong}
        page = browser.post(url("assignment", study, lease.pk), form)
        assert page.status_code == 422
        assert not Label.objects.exists()

    def test_a_tie_where_there_are_none(self, browser, lease, study):
        Study.objects.update(tie_policy="off")
        page = browser.post(url("assignment", study, lease.pk), {"choice": "0"})
        assert page.status_code == 422
        assert b'data-choice="tie"' not in page.content

    @pytest.mark.parametrize("times", [{"active_ms": "x", "wall_ms": "-5"}, {"active_ms": "9" * 30}])
    def test_odd_times_do_not_lose_an_answer(self, browser, lease, times):
        self.submit(browser, lease, **times)
        assert Label.objects.count() == 1

    def test_the_same_twice(self, browser, lease):
        self.submit(browser, lease)
        page = self.submit(browser, lease)
        assert Label.objects.count() == 1
        assert "already" not in text_of(page)

    def test_another_answer_from_another_tab_is_told(self, browser, lease):
        self.submit(browser, lease, "1")
        page = self.submit(browser, lease, "2")
        assert Label.objects.count() == 1
        assert "You had answered that pair already" in text_of(page)

    def test_back_to_an_answered_one(self, browser, lease, study):
        self.submit(browser, lease, "2")
        page = browser.get(url("assignment", study, lease.pk))
        assert "You answered this pair" in text_of(page)
        assert "B is better" in text_of(page)
        assert re.search(r'value="2"[^>]* checked', page.content.decode())

    def test_undo_changes_the_answer(self, browser, lease, study):
        page = self.submit(browser, lease, "1")
        assert page.context["undo_url"] == url("assignment", study, lease.pk)
        for _ in range(2):
            page = self.submit(browser, lease, "2", change="1")
        assert "Your answer was changed" in text_of(page)
        assert Label.objects.count() == 2
        assert Label.objects.current().get().choice == lease.shown_order[1] + 1

    def test_a_change_before_an_answer_is_none(self, browser, lease):
        page = self.submit(browser, lease, change="1")
        assert "no answer to change" in text_of(page)
        assert not Label.objects.exists()

    def test_no_change_when_the_study_is_not_open(self, browser, lease, study):
        self.submit(browser, lease)
        Study.objects.update(state="paused")
        page = browser.get(url("assignment", study, lease.pk))
        assert "cannot be changed now" in text_of(page)
        self.submit(browser, lease, "2", change="1")
        assert Label.objects.count() == 1

    def test_all_done_gives_the_code(self, browser, study, person):
        for _ in range(3):
            page = browser.get(url("work", study), follow=True)
            page = browser.post(page.request["PATH_INFO"], {"choice": "0"}, follow=True)
        person.refresh_from_db()
        assert person.stage == Stage.DONE
        assert person.completion_code in text_of(page)
        assert "You answered 3 pairs" in text_of(page)
        assert browser.get(url("place", study)).url == url("done", study)

    def test_pay_is_said(self, browser, lease, study):
        Study.objects.update(pay_per_item="0.125", items_per_annotator=1)
        page = self.submit(browser, lease)
        assert "0.125 USD" in text_of(page)

    def test_nothing_right_now_is_not_done(self, study):
        Study.objects.update(overlap=1)
        study.study_items.update(overlap=1)
        for _ in range(3):
            other = enrollment_make(study=study)
            assignment_claim(
                enrollment=Enrollment.objects.select_related("study", "annotator").get(pk=other.pk)
            )
        page = client_of(enrollment_make(study=study)).get(url("work", study))
        assert "Nothing left right now" in text_of(page)

    def test_stopping_early(self, browser, lease, study, person):
        self.submit(browser, lease)
        assert "Stop here" in text_of(browser.get(url("finish", study)))
        for _ in range(2):
            page = browser.post(url("finish", study), follow=True)
        person.refresh_from_db()
        assert person.completion_code in text_of(page)
        assert sum(study.study_items.values_list("n_open", flat=True)) == 0

    def test_paused_is_told_and_the_answer_in_hand_taken(self, browser, lease, study):
        Study.objects.update(state="paused")
        assert "is paused" in text_of(browser.get(url("work", study)))
        assert "is paused" in text_of(browser.get(url("assignment", study, lease.pk)))
        assert "is paused" in text_of(self.submit(browser, lease))
        assert Label.objects.get().is_surplus is False

    def test_closed_is_told_with_the_code(self, browser, lease, study, person):
        self.submit(browser, lease)
        Study.objects.update(state="closed")
        page = browser.get(url("work", study), follow=True)
        person.refresh_from_db()
        assert "The study has ended" in text_of(page)
        assert person.completion_code in text_of(page)

    def test_an_answer_to_a_closed_study_is_kept(self, browser, lease):
        Study.objects.update(state="closed")
        page = self.submit(browser, lease)
        assert "closed before your answer arrived" in text_of(page)
        assert Label.objects.get().is_surplus

    def test_an_expired_page_goes_on(self, browser, lease, study):
        Assignment.objects.update(state=AssignmentState.EXPIRED)
        study.study_items.update(n_open=0)
        page = browser.get(url("assignment", study, lease.pk), follow=True)
        assert page.status_code == 200
        lease.refresh_from_db()
        assert lease.state == AssignmentState.OPEN


class TestDraft:
    def test_it_is_kept_and_shown_on_every_device(self, browser, lease, study, person):
        for choice in ("1", "2"):
            response = browser.post(url("draft", study, lease.pk), {"choice": choice, "active_ms": "700"})
            assert response.status_code == 204
        html = client_of(person).get(url("assignment", study, lease.pk)).content.decode()
        assert re.search(r'value="2"[^>]* checked', html)
        assert 'name="active_ms" value="700"' in html
        assert not Label.objects.exists()

    def test_nonsense_is_refused(self, browser, lease, study):
        assert browser.post(url("draft", study, lease.pk), {"choice": "9"}).status_code == 422
        Study.objects.update(tie_policy="off")
        assert browser.post(url("draft", study, lease.pk), {"choice": "0"}).status_code == 422
        assert browser.get(url("draft", study, lease.pk)).status_code == 405

    def test_after_the_answer_it_is_not_needed(self, browser, lease, study):
        browser.post(url("assignment", study, lease.pk), {"choice": "1"})
        assert browser.post(url("draft", study, lease.pk), {"choice": "2"}).status_code == 204
        lease.refresh_from_db()
        assert lease.draft is None


class TestSkip:
    def test_it_is_given_back_with_the_reason(self, browser, lease, study):
        form = {"reason": "knowledge", "note": " Latin "}
        for _ in range(2):
            page = browser.post(url("skip", study, lease.pk), form, follow=True)
        lease.refresh_from_db()
        assert (lease.state, lease.release_reason) == (AssignmentState.RELEASED, "knowledge: Latin")
        assert page.redirect_chain[-1][0] != url("assignment", study, lease.pk)
        assert "0 of 2" in text_of(page)

    def test_without_a_reason_or_script(self, browser, lease, study):
        assert "Leave this one out" in text_of(browser.get(url("skip", study, lease.pk)))
        page = browser.post(url("skip", study, lease.pk), {})
        assert page.status_code == 422
        assert "Choose a reason first" in text_of(page)
        lease.refresh_from_db()
        assert lease.state == AssignmentState.OPEN


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

    def test_posts_by_session(self, browser, study, person):
        statuses = [browser.post(url("guidelines", study)).status_code for _ in range(130)]
        assert statuses[-1] == 429
        other = client_of(enrollment_make(study=study))
        assert other.post(url("guidelines", study)).status_code == 302


def test_forms_need_their_token(study, person):
    browser = Client(enforce_csrf_checks=True)
    browser.get(reverse("annotation:resume", args=[person.resume_token]))
    assert browser.post(url("finish", study)).status_code == 403


def test_hostile_text_is_shown_as_text(browser, study):
    study.dataset.instructions.update(text="<script>alert(1)</script> **bold**")
    html = browser.get(url("work", study), follow=True).content.decode()
    assert "<script>alert(1)" not in html
    assert "<strong>bold</strong>" in html

"""One person a browser, and the questions that say whom a study looks for."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    Enrollment,
    QualificationAttempt,
    Stage,
)
from annotation.services.accounts import account_create
from annotation.views.annotator.device import COOKIE
from tests.annotation.cast import text_of
from tests.annotation.factories import (
    PASSWORD,
    enrollment_make,
    invitation_make,
    study_make,
)
from tests.annotation.visits import url

pytestmark = pytest.mark.django_db


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
            assert "This browser is already in the study" in text_of(response)
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
        assert "looking for a different group" in text_of(client.get(url("place", study)))
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

    def test_who_is_signed_in_is_one_person_by_every_link(self, client):
        account = account_create(email="a@example.org", password=PASSWORD)
        client.post(reverse("annotation:account-sign-in"), {"email": account.email, "password": PASSWORD})
        study = study_make(one_per_device=False)
        for _ in range(2):
            assert self.join(client, invitation_make(study=study)).url == url("place", study)
            del client.cookies["studies"]
        assert Enrollment.objects.get().annotator == account.annotator
        invitation = invitation_make(study=study, revoked_at=timezone.now())
        address = reverse("annotation:join", args=[invitation.token])
        assert client.get(address).url == url("place", study)
        assert client.get(url("place", study)).status_code == 200

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

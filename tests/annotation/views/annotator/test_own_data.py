"""A person's own data: what they agreed to, all of it as a file, and its deletion, by their own page."""

import io
import json
import zipfile

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation.models import (
    Account,
    Annotator,
    Assignment,
    ConsentRecord,
    Enrollment,
    ErasureRequest,
    Intervention,
    Kind,
    Label,
    Stage,
    Study,
)
from annotation.services.accounts import account_create
from annotation.services.consent import consent_fingerprint
from tests.annotation.factories import enrollment_make, study_make
from tests.annotation.views.annotator.test_blindness import Recorder, study_with_secrets, work_through
from tests.annotation.visits import client_of, url


def data_of(browser: Client, study: Study) -> dict:
    answer = browser.get(url("own-data-file", study))
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return json.loads(archive.read(f"{study.slug}.json"))


def agree(browser: Client, study: Study) -> None:
    browser.post(url("consent", study), {"agree": "yes", "fingerprint": consent_fingerprint(study)})


@pytest.fixture
def newcomer(study: Study) -> Enrollment:
    return enrollment_make(study=study, stage=Stage.CONSENT)


def test_what_was_agreed_to_is_shown_after_the_text_has_changed(study, newcomer):
    browser = client_of(newcomer)
    page = browser.get(url("place", study)).content.decode()
    assert "Your answers stay without a link to you" in page
    agree(browser, study)
    before = study.consent
    Study.objects.filter(pk=study.pk).update(consent="Other **words**.")
    page = browser.get(url("own-data", study)).content.decode()
    assert before in page
    assert "version 1" in page
    assert "Other" not in page
    record = ConsentRecord.objects.get()
    assert (record.event, record.language, record.text.labels_kept) == ("given", "en", True)


def test_a_promise_that_changed_is_read_again(study, newcomer):
    browser = client_of(newcomer)
    seen = consent_fingerprint(study)
    Study.objects.filter(pk=study.pk).update(labels_kept=False)
    browser.post(url("consent", study), {"agree": "yes", "fingerprint": seen})
    newcomer.refresh_from_db()
    assert newcomer.stage == Stage.CONSENT
    assert "your answers are deleted too" in browser.get(url("place", study)).content.decode()


def test_declining_is_recorded(study, newcomer):
    client_of(newcomer).post(url("consent", study), {"answer": "decline"})
    assert ConsentRecord.objects.get().event == "declined"


def test_the_same_text_is_kept_once(study, newcomer):
    for person in (newcomer, enrollment_make(study=study, stage=Stage.CONSENT)):
        agree(client_of(person), study)
    assert study.consent_texts.count() == 1
    assert ConsentRecord.objects.count() == 2


def test_the_file_has_all_of_it(study, newcomer):
    Annotator.objects.filter(pk=newcomer.annotator_id).update(source="prolific", external_id="p-1")
    Enrollment.objects.filter(pk=newcomer.pk).update(
        platform_data={"age": "30"}, eligibility={"native": "Yes"}
    )
    browser = client_of(newcomer)
    agree(browser, study)
    Enrollment.objects.filter(pk=newcomer.pk).update(stage=Stage.WORK)
    browser.post(url("work", study))
    lease = Assignment.objects.get()
    browser.post(url("assignment", study, lease.pk), {"choice": "1", "comment": "because"})
    draft = Assignment.objects.get(state="open")
    browser.post(url("draft", study, draft.pk), {"choice": "2"})
    found = data_of(browser, study)
    assert found["person"]["id_there"] == "p-1"
    assert found["participation"]["platform_data"] == {"age": "30"}
    assert found["participation"]["eligibility"] == {"native": "Yes"}
    assert found["consent"][0]["text"] == study.consent
    (answer,) = found["answers"]
    assert answer["said"][0]["answer"] == {"choice": 1}
    assert answer["submitted_at"]
    assert found["items_open_or_left_out"][0]["draft"]["fields"] == {"choice": "2"}


def test_the_file_is_made_in_few_queries(study, person, browser, lease):
    data_of(browser, study)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        browser.get(url("own-data-file", study))
    assert len(asked) <= 14
    with CaptureQueriesContext(connection) as asked:
        browser.get(url("own-data", study))
    assert len(asked) <= 6


@pytest.mark.django_db
@pytest.mark.parametrize("kind", Kind.values)
def test_the_file_tells_no_check_while_the_study_runs(kind):
    """As `test_blindness` asks of pages: answers to checks and repeats have the same fields as others; no secret."""
    study = study_with_secrets(kind)
    person = enrollment_make(study=study)
    browser = Recorder()
    browser.get(reverse("annotation:resume", args=[person.resume_token]))
    Intervention.objects.create(enrollment=person, action="warn", text="Take care.", reason="secret-reason")
    work_through(browser, study)
    roles = dict(Label.objects.filter(annotator=person.annotator).values_list("assignment", "role"))
    assert set(roles.values()) == {"work", "check", "repeat"}
    answer = Client()
    answer.cookies = browser.cookies
    found = data_of(answer, study)
    said = json.dumps(found)
    assert "secret-" not in said
    for word in (
        "role",
        "check",
        "repeat",
        "gold",
        "score",
        "surplus",
        "excluded",
        "n_accepted",
        "probability",
    ):
        assert f'"{word}' not in said.replace('"qualification_score"', ""), word
    assert len(found["answers"]) == len(set(roles))
    shapes = {
        json.dumps([sorted(one), *(sorted(label) for label in one["said"][:1])]) for one in found["answers"]
    }
    assert len(shapes) == 1
    Study.objects.filter(pk=study.pk).update(state="closed")
    ended = data_of(answer, study)
    assert {one["role"] for one in ended["answers"]} == {"work", "check", "repeat"}
    assert any(label["check_score"] is not None for one in ended["answers"] for label in one["said"])


def test_deletion_is_asked_once_and_taken_back(study, newcomer):
    browser = client_of(newcomer)
    agree(browser, study)
    for _ in range(2):
        assert browser.post(url("own-data-delete", study), {"sure": "yes"}).url == url("own-data", study)
    assert ErasureRequest.objects.filter(state="open").count() == 1
    assert "You asked us to delete your data" in browser.get(url("own-data", study)).content.decode()
    browser.post(url("own-data-delete", study), {"keep": "yes"})
    browser.post(url("own-data-delete", study), {"keep": "yes"})
    assert ErasureRequest.objects.get().state == "withdrawn"
    assert list(ConsentRecord.objects.values_list("event", flat=True)) == ["given", "withdrawn", "given"]


def test_without_the_box_nothing_is_asked(study, person, browser):
    browser.post(url("own-data-delete", study))
    assert not ErasureRequest.objects.exists()


def test_where_the_study_allows_it_deletion_is_done_at_once(study, person, browser, lease):
    Study.objects.filter(pk=study.pk).update(erase_at_once=True)
    browser.post(url("assignment", study, lease.pk), {"choice": "1"})
    still_open = client_of(person)
    answer = browser.post(url("own-data-delete", study), {"sure": "yes"})
    assert answer.url == reverse("annotation:data-deleted")
    assert browser.get(answer.url).status_code == 200
    assert not Annotator.objects.filter(pk=person.annotator_id).exists()
    assert Label.objects.count() == 1
    # A page that was still open, and the form sent twice.
    for again in (still_open, browser):
        assert again.post(url("own-data-delete", study), {"sure": "yes"}).status_code == 404
        assert again.post(url("assignment", study, lease.pk), {"choice": "2"}).status_code == 404
    assert Client().get(reverse("annotation:resume", args=[person.resume_token])).status_code == 404


def test_nobody_has_the_data_of_others(study, person):
    for name in ("own-data", "own-data-file"):
        assert Client().get(url(name, study)).status_code == 404
    assert Client().post(url("own-data-delete", study), {"sure": "yes"}).status_code == 404
    assert not ErasureRequest.objects.exists()


class TestAccounts:
    @pytest.fixture
    def account(self, db) -> Account:
        return account_create(email="ada@example.org", password="correct horse battery staple")

    @pytest.fixture
    def signed_in(self, account) -> Client:
        browser = Client()
        form = {"email": account.email, "password": "correct horse battery staple"}
        assert browser.post(reverse("annotation:account-sign-in"), form).status_code == 302
        return browser

    def test_all_studies_are_in_the_file(self, account, signed_in):
        study = study_make(open_signup=True)
        signed_in.post(reverse("annotation:account-join", args=[study.slug]))
        answer = signed_in.get(reverse("annotation:account-data"))
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.namelist() == ["account.json", f"{study.slug}.json"]
            assert json.loads(archive.read("account.json"))["email"] == account.email
            assert account.password not in archive.read("account.json").decode()

    def test_an_account_is_deleted_with_what_may_be(self, account, signed_in):
        at_once, asks = study_make(open_signup=True, erase_at_once=True), study_make(open_signup=True)
        for study in (at_once, asks):
            signed_in.post(reverse("annotation:account-join", args=[study.slug]))
        where = reverse("annotation:account-delete")
        assert signed_in.post(where).status_code == 302
        assert Account.objects.exists(), "the box wasn't ticked"
        assert signed_in.post(where, {"sure": "yes"}).url == reverse("annotation:account-sign-in")
        assert not Account.objects.exists()
        assert ErasureRequest.objects.get().enrollment.study == asks
        assert not Enrollment.objects.filter(study=at_once, annotator=account.annotator).exists()
        assert signed_in.post(where, {"sure": "yes"}).url == reverse("annotation:account-sign-in")

    def test_with_nothing_to_decide_nobody_is_left(self, account, signed_in):
        study = study_make(open_signup=True, erase_at_once=True)
        signed_in.post(reverse("annotation:account-join", args=[study.slug]))
        answer = signed_in.post(reverse("annotation:account-delete"), {"sure": "yes"})
        assert answer.url == reverse("annotation:data-deleted")
        assert not Annotator.objects.exclude(source="anonymous").exists()

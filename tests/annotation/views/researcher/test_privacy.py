"""The privacy page of a study: requests decided, people erased, retention said before it happens. The API, too."""

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEvent, Enrollment, ErasureRequest, Label, Study
from annotation.services.erasure_requests import erasure_ask
from tests.annotation.api.test_resources import Caller
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import enrollment_make, study_make

pytestmark = pytest.mark.django_db


def where(study: Study, *rest: str) -> str:
    return reverse(
        "annotation:study-privacy-act" if rest else "annotation:study-privacy", args=[study.slug, *rest]
    )


@pytest.fixture
def person(study) -> Enrollment:
    return enrollment_make(study=study)


def test_a_request_is_shown_and_carried_out(cast, study, person):
    erasure_ask(enrollment=person)
    browser = client_of(cast.alice)
    page = text_of(browser.get(where(study)))
    assert person.short_pseudonym in page
    assert "Privacy (1)" in page
    act = where(study, person.pseudonym, "erase")
    for _ in range(2):  # the form sent twice
        assert browser.post(act).url == where(study)
    assert not Enrollment.objects.filter(pk=person.pk).exists()
    assert not ErasureRequest.objects.exists()
    assert AuditEvent.objects.get(action="annotator.anonymized").actor == "alice"
    page = text_of(browser.get(where(study)))
    assert "0 people known, 1 anonymized" in page


def test_labels_go_too_where_that_is_chosen(cast, study, person):
    client_of(cast.alice).post(where(study, person.pseudonym, "erase"), {"with_labels": "on"})
    assert not Enrollment.objects.filter(study=study).exists()


def test_a_request_is_refused_with_a_reason(cast, study, person):
    erasure_ask(enrollment=person)
    browser, act = client_of(cast.alice), where(study, person.pseudonym, "refuse")
    assert browser.post(act).status_code == 422
    for _ in range(2):
        assert browser.post(act, {"answer": "We have to keep pay records."}).url == where(study)
    asked = ErasureRequest.objects.get()
    assert (asked.state, asked.decided_by, asked.answer) == (
        "refused",
        cast.alice,
        "We have to keep pay records.",
    )
    erasure_ask(enrollment=person)
    assert ErasureRequest.objects.filter(state="open").count() == 1


def test_it_is_for_the_owner_and_administrators(cast, study, person):
    act = where(study, person.pseudonym, "erase")
    assert client_of(cast.bob).get(where(study)).status_code == 404
    assert client_of(cast.bob).post(act).status_code == 404
    assert Client().post(act).status_code == 302
    other = study_make(owner=cast.bob)
    mine = where(other, person.pseudonym, "erase")  # a person of another study
    assert client_of(cast.bob).post(mine).url == where(other)
    assert client_of(cast.alice).post(where(study, person.pseudonym, "no-such")).status_code == 404
    assert Enrollment.objects.filter(pk=person.pk, anonymized_on=None, suspended_at=None).exists()


def test_who_asked_by_mail_is_found_from_their_page(cast, study, person):
    browser = client_of(cast.alice)
    link = f"{where(study)}?person={person.pseudonym}"
    page = browser.get(reverse("annotation:study-person", args=[study.slug, person.pseudonym]))
    assert link in page.content.decode()
    assert "Download their data" in text_of(browser.get(link))
    answer = browser.get(reverse("annotation:study-privacy-file", args=[study.slug, person.pseudonym]))
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert json.loads(archive.read("mine.json"))["person"]["pseudonym"] == person.pseudonym
    assert AuditEvent.objects.filter(action="annotator.data exported").exists()
    assert browser.get(f"{where(study)}?person=nobody").status_code == 404


def test_retention_is_said_before_it_happens(cast, study, person):
    browser = client_of(cast.alice)
    assert "People stay known until you erase them" in text_of(browser.get(where(study)))
    rows = Study.objects.filter(pk=study.pk)
    rows.update(retention_days=30)
    assert "30 days after the study closes" in text_of(browser.get(where(study)))
    closed = datetime(2031, 2, 1, tzinfo=UTC)
    rows.update(state="closed", closed_at=closed)
    assert "On 3 Mar 2031, 1 person will be anonymized." in text_of(browser.get(where(study)))
    rows.update(retention_action="delete")
    assert "On 3 Mar 2031, 1 person will be deleted with their labels." in text_of(browser.get(where(study)))
    rows.update(closed_at=timezone.now() - timedelta(days=31))
    assert "1 person is being deleted now." in text_of(browser.get(where(study)))


def test_the_page_takes_as_many_queries_for_many_requests(cast, study):
    def asked(n: int) -> int:
        for _ in range(n):
            erasure_ask(enrollment=enrollment_make(study=study))
        browser = client_of(cast.alice)
        browser.get(where(study))
        with CaptureQueriesContext(connection) as queries:
            browser.get(where(study))
        return len(queries)

    assert asked(2) == asked(6) <= 16


def test_a_program_erases_somebody(cast, study, person):
    ask = Caller(cast.alice)
    path = f"studies/{study.slug}/annotators/{person.pseudonym}/erase/"
    Caller(cast.bob)("POST", path, {}, status=404)
    ask("POST", path, {"with_labels": "perhaps"}, status=400)
    assert ask("POST", path, {"texts_kept": True}) == {"kind": "anonymized", "labels": 0}
    ask("POST", path, {}, status=404)
    assert not Label.objects.filter(annotator=person.annotator_id).exists()

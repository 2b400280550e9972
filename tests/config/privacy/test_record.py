"""The record of processing: every field of every model is classified, and what an officer signs says so."""

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import personal_data
from config.privacy.record import faults, fields_declared
from judges.services.endpoints import Endpoint
from tests.annotation.cast import client_of, text_of
from tests.annotation.factories import enrollment_make, study_make, user_make
from web.privacy import CATEGORIES, ModelData

pytestmark = pytest.mark.django_db
PAGE = reverse("privacy-record")


def test_every_field_of_every_model_is_classified():
    assert faults() == []


def test_a_field_that_nobody_classified_is_a_fault(monkeypatch):
    known = {one.model: one for one in personal_data.MODELS}
    wrong = (
        ModelData("Bonus", {"pay": "amount,reason", "no-such": "by"}, "id,nonce"),
        ModelData("NoSuch", {}, "id"),
        *(one for name, one in known.items() if name not in ("Bonus", "Account")),
    )
    monkeypatch.setattr(personal_data, "MODELS", wrong)
    said = faults()
    assert "annotation.Account isn't declared: add it to personal_data.py of its application." in said
    assert "annotation.Bonus.enrollment isn't classified." in said
    assert "annotation.Bonus: there is no category 'no-such'." in said
    assert "annotation.NoSuch is declared, but there is no such model." in said


def test_every_category_is_used_somewhere():
    used = {key for one in fields_declared().values() for key in one.personal}
    assert used == set(CATEGORIES)


@pytest.fixture
def administrator() -> Client:
    return client_of(user_make(role="administrator"))


def test_the_page_says_who_answers_and_what_studies_do(administrator, settings):
    page = text_of(administrator.get(PAGE))
    assert "Set PRIVACY_CONTROLLER" in page
    settings.PRIVACY_CONTROLLER, settings.PRIVACY_OFFICER = (
        "Example University",
        "Ada Example <dpo@example.org>",
    )
    settings.PRIVACY_BASIS_STUDIES = "Public interest"
    settings.PRIVACY_RECIPIENTS = ["Example Hosting"]
    study = study_make(title="Teas", retention_days=30)
    enrollment_make(study=study)
    Endpoint.objects.create(name="far", base_url="https://models.example/v1", is_local=False)
    page = text_of(administrator.get(PAGE))
    for words in ("Example University", "dpo@example.org", "Public interest", "Example Hosting", "Teas"):
        assert words in page
    assert "anonymize people, keep their labels, 30 days after closing" in page
    assert "Model server far (https://models.example/v1)" in page
    assert "Set PRIVACY_CONTROLLER" not in page


def test_the_page_takes_as_many_queries_for_many_studies(administrator):
    def asked(n: int) -> int:
        for _ in range(n):
            enrollment_make(study=study_make(pairs=1))
        with CaptureQueriesContext(connection) as queries:
            administrator.get(PAGE)
        return len(queries)

    administrator.get(PAGE)
    assert asked(1) == asked(3) <= 8


def test_the_files_say_the_same(administrator, settings):
    settings.PRIVACY_CONTROLLER = "Example | `University`"
    enrollment_make(study=study_make(title="Teas | <b>"))
    answer = administrator.get(reverse("privacy-record-file", args=["json"]))
    found = json.loads(answer.content)
    assert found["format"] == "touchstone.processing/1"
    assert {row["key"] for row in found["processing"]} == set(CATEGORIES)
    assert any(
        "annotation.Enrollment: device" in field for row in found["processing"] for field in row["fields"]
    )
    text = administrator.get(reverse("privacy-record-file", args=["md"])).content.decode()
    assert r"- Controller: Example \| \`University\`" in text
    assert r"| Teas \| \<b\> | on request | open | 1 |" in text
    assert "| Data-protection officer | | | |" in text
    for category in CATEGORIES.values():
        assert f"### {category.name}" in text
    assert administrator.get(reverse("privacy-record-file", args=["pdf"])).status_code == 404


def test_it_is_for_administrators():
    for where in (PAGE, reverse("privacy-record-file", args=["json"])):
        assert Client().get(where).status_code == 302
        assert client_of(user_make()).get(where).status_code == 403

"""A study as its annotators see it: every step of every kind, and nothing is stored."""

import re

import pytest

from annotation.models import (
    Annotator,
    Assignment,
    Enrollment,
    Label,
    QualificationAnswer,
    QualificationAttempt,
    Study,
)
from tests.annotation.cast import client_of, text_of, url
from tests.annotation.factories import study_make

pytestmark = pytest.mark.django_db
STORED = (Annotator, Enrollment, Assignment, Label, QualificationAttempt, QualificationAnswer)


@pytest.fixture
def full(dataset, cast):
    """A draft with every step."""
    study = study_make(
        dataset=dataset,
        slug="full",
        owner=cast.alice,
        state="draft",
        training_size=2,
        eligibility=[
            {
                "key": "native",
                "question": "Is English your first language?",
                "options": [{"text": "Yes", "eligible": True}, {"text": "No", "eligible": False}],
            }
        ],
    )
    Study.objects.filter(pk=study.pk).update(qualification_size=2, qualification_pass=2)
    study.study_items.all().delete()
    study.refresh_from_db()
    return study


def follow(client, response):
    assert response.status_code == 302, text_of(response)
    return client.get(response.url)


def test_the_whole_way_of_a_draft_stores_nothing(cast, full):
    client = client_of(cast.alice)
    root = url("study-preview", "full")
    page = follow(client, client.get(root))
    assert "Before you start" in text_of(page)
    assert "Nothing here is stored" in text_of(page)
    page = follow(client, client.post(f"{root}consent/", {"agree": "yes"}))
    assert "Is English your first language?" in text_of(page)
    assert client.post(f"{root}eligibility/", {}).status_code == 422
    page = follow(client, client.post(f"{root}eligibility/", {"question-native": "Yes"}))
    assert "Start the training" in text_of(page)
    page = follow(client, client.post(f"{root}guidelines/"))
    assert "Training 1 of 2" in text_of(page)
    assert f'action="{root}training/"' in page.content.decode()
    page = follow(client, client.post(f"{root}training/", {"question": "1", "choice": "1"}))
    assert "Right answer" in text_of(page)
    assert f'href="{root}training/2/"' in page.content.decode()
    page = follow(client, client.post(f"{root}training/", {"finish": "yes"}))
    assert "Question 1 of 2" in text_of(page)
    assert client.post(f"{root}test/", {"question": "1"}).status_code == 422
    page = follow(client, client.post(f"{root}test/", {"question": "1", "choice": "0"}))
    assert "Question 2 of 2" in text_of(page)
    page = follow(client, client.post(f"{root}test/", {"question": "2", "choice": "2"}))
    assert "A is better" in text_of(page)
    for number in range(1, 6):
        assert client.post(f"{root}work/{number}/draft/", {"choice": "1"}).status_code == 204
        answered = client.post(f"{root}work/{number}/", {"choice": "1"})
        page = follow(client, answered)
    assert "TS-PREVIEW" in text_of(page)
    assert not any(model.objects.exists() for model in STORED)


def test_no_address_leads_to_the_annotators_own_pages(cast, full):
    client = client_of(cast.alice)
    root = url("study-preview", "full")
    for path in ("consent/", "eligibility/", "guidelines/", "training/1/", "test/1/", "work/1/", "end/"):
        page = client.get(root + path)
        assert page.status_code == 200, path
        assert '"/s/' not in page.content.decode()
        assert "secret-system" not in page.content.decode()


def test_htmx_is_sent_to_the_next_item(cast, full):
    root = url("study-preview", "full")
    response = client_of(cast.alice).post(f"{root}work/1/", {"choice": "1"}, headers={"HX-Request": "true"})
    assert response["HX-Redirect"] == f"{root}work/2/"


def test_an_open_study_shows_its_own_items(cast, study):
    root = url("study-preview", "mine")
    first = study.study_items.order_by("position").first().item
    page = client_of(cast.alice).get(f"{root}work/1/")
    assert first.instruction.text in text_of(page)
    assert re.search(r'max="5"', page.content.decode())


def test_who_may_not(cast, full):
    for path in ("", "consent/", "work/1/"):
        address = url("study-preview", "full") + path
        assert client_of(None).get(address).status_code == 302
        assert client_of(cast.carl).get(address).status_code == 403
        assert client_of(cast.bob).get(address).status_code == 404
        assert client_of(cast.bob).post(address).status_code == 404


def test_what_is_not_there(cast, full):
    client = client_of(cast.alice)
    root = url("study-preview", "full")
    assert client.get(f"{root}work/99/").status_code == 404
    assert client.get(f"{root}answers/").status_code == 302
    empty = study_make(slug="empty", owner=cast.alice, state="draft", pairs=0, consent="", guidelines="")
    assert client.get(url("study-preview", empty.slug)).status_code == 302

"""The researcher's Entry page: who may see and change it, what it shows, and reconciling from it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotation.entry.prolific import PROLIFIC
from annotation.models import Enrollment, Label, PlatformLink, Stage, Study
from tests.annotation.cast import Cast, client_of, text_of
from tests.annotation.entry.props import STUDY_ID, csv_file, csv_row
from tests.annotation.entry.test_reconcile import person_make, row, worked
from tests.annotation.factories import study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
FIELDS = {
    "external_study_id": STUDY_ID,
    "completed_code": "https://app.prolific.com/submissions/complete?cc=CDONE",
    "screened_out_code": "CSCREEN",
    "no_consent_code": "CNO",
}


@pytest.fixture
def study(cast: Cast) -> Study:
    return study_make(owner=cast.alice, pairs=4, overlap=1, consent="", guidelines="")


@pytest.fixture
def alice(cast: Cast) -> Client:
    return client_of(cast.alice)


def page(study: Study) -> str:
    return reverse("annotation:study-entry", args=[study.slug])


def address(name: str, study: Study, platform: str = "prolific") -> str:
    return reverse(f"annotation:{name}", args=[study.slug, platform])


def link_of(client: Client, study: Study) -> PlatformLink:
    client.post(address("entry-link", study), FIELDS)
    return PlatformLink.objects.get(study=study)


def export(*rows: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("export.csv", csv_file(*rows), content_type="text/csv")


# --- Who may ----------------------------------------------------------------------------------------------------------


def test_who_may_see_and_change_it(cast, study, alice):
    link_of(alice, study)
    posts = [address(name, study) for name in ("entry-link", "entry-state", "entry-reconcile")]
    for user, status in [(None, 302), (cast.carl, 403), (cast.bob, 404)]:
        browser = client_of(user)
        assert browser.get(page(study)).status_code == status
        for post in posts:
            assert browser.post(post, {"action": "close"}).status_code == status
    assert PlatformLink.objects.get().closed_at is None
    assert client_of(cast.ann).get(page(study)).status_code == 200
    for post in posts:
        assert alice.get(post).status_code == 405


def test_ids_of_people_are_for_the_owner(cast, study, alice):
    link = link_of(alice, study)
    person_make(link)
    assert ">p1<" in alice.get(page(study)).content.decode()
    Study.objects.update(owner=None)
    assert ">p1<" not in client_of(cast.bob).get(page(study)).content.decode()


# --- The door ---------------------------------------------------------------------------------------------------------


def test_a_door_is_made_once_and_changed(study, alice):
    link = link_of(alice, study)
    assert (link.completed_code, link.external_study_id) == ("CDONE", STUDY_ID)
    for _ in range(2):
        response = alice.post(address("entry-link", study), FIELDS | {"completed_code": "CNEW"})
        assert response.status_code == 302
    again = PlatformLink.objects.get()
    assert (again.token, again.completed_code) == (link.token, "CNEW")
    shown = alice.get(page(study)).content.decode()
    assert (
        "PROLIFIC_PID={{%PROLIFIC_PID%}}&amp;STUDY_ID={{%STUDY_ID%}}&amp;SESSION_ID={{%SESSION_ID%}}" in shown
    )
    assert f"/hooks/prolific/{link.token}/" in shown


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_a_door_saved_many_times_at_once():
    cast = Cast.make()
    study = study_make(owner=cast.alice)
    browser = client_of(cast.alice)

    def click(_: int) -> int:
        other = Client()
        other.cookies = browser.cookies.copy()
        return int(other.post(address("entry-link", study), FIELDS).status_code)

    assert set(all_at_once(click, list(range(6)))) == {302}
    assert PlatformLink.objects.count() == 1


def test_codes_that_are_missing_are_told(study, alice):
    alice.post(address("entry-link", study), FIELDS | {"no_consent_code": ""})
    alice.post(address("entry-link", study, "mturk"), {})
    shown = text_of(alice.get(page(study)))
    assert "There is no code for no consent: people with that outcome can't return to Prolific." in shown
    assert "way back to Mechanical Turk" not in shown


@pytest.mark.parametrize(
    ("platform", "fields"),
    [
        ("prolific", {"completed_code": "https://evil.example/x"}),
        ("prolific", {"completed_code": "SAME", "screened_out_code": "SAME"}),
        ("prolific", {"external_study_id": "<script>"}),
        ("connect", {"completed_code": "../evil"}),
    ],
)
def test_codes_that_cannot_be_right(study, alice, platform, fields):
    response = alice.post(address("entry-link", study, platform), fields)
    assert response.status_code == 422
    assert not PlatformLink.objects.exists()


def test_only_a_platform_that_signs_tokens_can_require_them(study, alice):
    alice.post(address("entry-link", study), FIELDS | {"require_signed_token": "on"})
    alice.post(address("entry-link", study, "connect"), {"require_signed_token": "on"})
    required = dict(PlatformLink.objects.values_list("platform", "require_signed_token"))
    assert required == {"prolific": True, "connect": False}


def test_closing_and_opening(study, alice):
    link_of(alice, study)
    for _ in range(2):
        alice.post(address("entry-state", study), {"action": "close"})
    assert PlatformLink.objects.get().closed_at is not None
    alice.post(address("entry-state", study), {"action": "open"})
    assert PlatformLink.objects.get().closed_at is None
    assert alice.post(address("entry-state", study), {"action": "x"}).status_code == 404
    assert alice.post(address("entry-state", study, "connect"), {"action": "open"}).status_code == 404
    assert alice.post(address("entry-link", study, "nothing"), FIELDS).status_code == 404


def test_secrets_are_set_or_not_and_never_shown(study, alice, monkeypatch):
    link_of(alice, study)
    monkeypatch.delenv("PROLIFIC_API_TOKEN", raising=False)
    monkeypatch.setenv("PROLIFIC_WEBHOOK_SECRET", "very-secret")
    shown = text_of(alice.get(page(study)))
    assert "Set PROLIFIC_WEBHOOK_SECRET" in shown
    assert "Not set PROLIFIC_API_TOKEN" in shown
    assert "very-secret" not in shown


def test_queries_of_the_page(study, alice, django_assert_max_num_queries):
    link = link_of(alice, study)
    for number in range(20):
        person_make(link, number)
    with django_assert_max_num_queries(16):
        alice.get(page(study))


# --- Reconciling ------------------------------------------------------------------------------------------------------


def test_a_file_is_looked_at_and_then_done(study, alice):
    link = link_of(alice, study)
    worked(link, 1)
    person_make(link, 2, stage=Stage.DONE, completion_code="TS-1")
    file = export(csv_row("s1", "p1", "RETURNED", ""), csv_row("s2", "p2", "AWAITING REVIEW", "NOCODE"))
    preview = alice.post(address("entry-reconcile", study), {"file": file})
    assert preview.status_code == 200
    assert "Submitted without the completion code" in text_of(preview)
    assert set(Enrollment.objects.values_list("stage", flat=True)) == {Stage.WORK, Stage.DONE}
    sent = {"rows": preview.context["packed"], "set_aside_returned": "on"}
    for _ in range(2):
        assert alice.post(address("entry-reconcile", study), sent).status_code == 302
    assert Enrollment.objects.get(platform_session="s1").stage == Stage.LEFT
    assert Enrollment.objects.get(platform_session="s2").platform_status == "AWAITING REVIEW"
    assert Label.objects.get().is_set_aside
    assert "Nothing changed: the file agrees with this study." in text_of(alice.get(page(study)))


def test_labels_are_kept_where_that_was_chosen(study, alice):
    worked(link_of(alice, study), 1)
    preview = alice.post(
        address("entry-reconcile", study), {"file": export(csv_row("s1", "p1", "RETURNED", ""))}
    )
    alice.post(address("entry-reconcile", study), {"rows": preview.context["packed"]})
    assert not Label.objects.get().is_set_aside


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_confirming_many_times_at_once():
    cast = Cast.make()
    study = study_make(owner=cast.alice, pairs=4, overlap=1, consent="", guidelines="")
    browser = client_of(cast.alice)
    worked(link_of(browser, study), 1)
    file = export(csv_row("s1", "p1", "RETURNED", ""))
    packed = browser.post(address("entry-reconcile", study), {"file": file}).context["packed"]

    def click(_: int) -> int:
        other = Client()
        other.cookies = browser.cookies.copy()
        sent = {"rows": packed, "set_aside_returned": "on"}
        return int(other.post(address("entry-reconcile", study), sent).status_code)

    assert set(all_at_once(click, list(range(5)))) == {302}
    assert set(study.study_items.values_list("n_open", "n_accepted")) == {(0, 0)}
    assert Enrollment.objects.get().n_accepted == 0


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({}, "This field is required"),
        (
            {"file": SimpleUploadedFile("x.csv", b"Name\n1\n")},
            "x.csv: Submission id: there is no such column",
        ),
        ({"file": SimpleUploadedFile("x.csv", b"")}, "empty"),
        ({"rows": "altered"}, "has expired"),
    ],
)
def test_what_cannot_be_read_changes_nothing(study, alice, sent, words):
    person_make(link_of(alice, study))
    response = alice.post(address("entry-reconcile", study), sent, follow=True)
    assert "Nothing was changed" in text_of(response)
    assert words in text_of(response)
    assert Enrollment.objects.get().platform_status == ""


def test_a_preview_of_another_study_is_refused(cast, study, alice):
    person_make(link_of(alice, study))
    other = study_make(owner=cast.alice)
    alice.post(address("entry-link", other), FIELDS)
    file = export(csv_row("s1", "p1", "RETURNED", ""))
    packed = alice.post(address("entry-reconcile", other), {"file": file}).context["packed"]
    alice.post(address("entry-reconcile", study), {"rows": packed})
    assert Enrollment.objects.get().stage == Stage.WORK


def test_asking_the_platform(study, alice, monkeypatch):
    person_make(link_of(alice, study))
    assert alice.post(address("entry-reconcile", study), {"source": "api"}).status_code == 404
    monkeypatch.setenv("PROLIFIC_API_TOKEN", "the-token")
    monkeypatch.setattr(PROLIFIC, "fetch", lambda link, token: [row("TIMED-OUT")])
    assert "Ask Prolific now" in text_of(alice.get(page(study)))
    preview = alice.post(address("entry-reconcile", study), {"source": "api"})
    assert "the-token" not in preview.content.decode()
    alice.post(address("entry-reconcile", study), {"rows": preview.context["packed"]})
    assert Enrollment.objects.get().stage == Stage.LEFT

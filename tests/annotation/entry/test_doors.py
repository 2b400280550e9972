"""Coming in from a platform, coming back, and coming in by another door."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.domain.errors import EntryRefusedError
from annotation.entry.base import Arrival
from annotation.entry.connect import CONNECT
from annotation.models import Annotator, Enrollment, PlatformLink, Stage, StudyState
from annotation.services.entry import platform_enter, platform_link_close
from annotation.services.reconcile import reconcile_apply
from tests.annotation.entry.props import (
    KEYS,
    PID,
    SESSION,
    arrive,
    door,
    link_make,
    params,
    person_of,
    token,
    visit_of,
)
from tests.annotation.factories import enrollment_make, invitation_make, study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def link() -> PlatformLink:
    return link_make(study_make())


def place(link: PlatformLink) -> str:
    return reverse("annotation:place", args=[link.study.slug])


def refused(response, reason: str, status: int = 403) -> bool:
    return response.status_code == status and response.context["reason"] == reason


# --- Coming in ------------------------------------------------------------------------------------------------------


def test_looking_makes_nobody(client, link):
    page = client.get(door(link), params())
    assert page.status_code == 200
    assert not Enrollment.objects.exists()
    assert not Annotator.objects.exists()


def test_a_person_comes_in(client, link):
    link.study.passthrough = ["native", "degree", "status_at"]
    link.study.save()
    response = arrive(client, link, native="yes", status_at="x", other="z")
    assert response.url == place(link)
    person = person_of(link)
    assert (person.annotator.source, person.annotator.external_id) == ("prolific", PID)
    assert (person.platform_link, person.platform_session) == (link, SESSION)
    assert person.platform_data == {"native": "yes"}
    assert person.stage == Stage.CONSENT
    assert client.get(place(link)).status_code == 200


def test_kept_parameters_are_few(client, link):
    link.study.passthrough = ["a", "b"]
    link.study.save()
    arrive(client, link, a="x" * 1500, b="y" * 1500)
    assert set(person_of(link).platform_data) == {"a"}


@pytest.mark.parametrize(("name", "value"), [("SESSION_ID", ""), ("PROLIFIC_PID", "{{%PROLIFIC_PID%}}")])
def test_an_address_that_lacks_something(client, link, name, value):
    response = client.get(door(link), params() | {name: value})
    assert refused(response, "parameter", 400)
    assert name in response.content.decode()


def test_an_address_of_another_study_there(client, link):
    link.external_study_id = "another"
    link.save()
    assert refused(client.get(door(link), params()), "study")


@pytest.mark.parametrize("path", ["/enter/prolific/x/", "/enter/nothing/x/", "/enter/prolific/%00/"])
def test_a_door_that_is_none(client, link, path):
    assert refused(client.get(path, params()), "unknown", 404)


def test_a_link_is_for_its_own_platform(client, link):
    assert refused(client.get(f"/enter/connect/{link.token}/", params()), "unknown", 404)


def test_a_closed_door(client, link):
    page = client.get(door(link), params())
    platform_link_close(link=link)
    assert refused(client.post(door(link), {"visit": visit_of(page)}), "unknown", 404)


@pytest.mark.parametrize("state", [StudyState.DRAFT, StudyState.PAUSED, StudyState.CLOSED])
def test_a_study_that_takes_nobody(client, link, state):
    page = client.get(door(link), params())
    type(link.study).objects.update(state=state)
    for response in (client.get(door(link), params()), client.post(door(link), {"visit": visit_of(page)})):
        assert response.context["reason"] == state
        assert b"Please return this submission on Prolific" in response.content
    assert not Enrollment.objects.exists()


def test_a_study_that_is_full(client, link):
    type(link.study).objects.update(max_annotators=1)
    enrollment_make(study=link.study)
    assert refused(client.get(door(link), params()), "full", 410)


@pytest.mark.parametrize("visit", ["", "x", None])
def test_what_goes_from_the_page_to_the_button_is_signed(client, link, visit):
    page = client.get(door(link), params())
    sent = visit_of(page) + "x" if visit is None else visit
    assert refused(client.post(door(link) + "?PROLIFIC_PID=x", {"visit": sent}), "stale", 400)
    assert not Enrollment.objects.exists()


def test_a_page_of_one_study_opens_no_other(client, link):
    other = link_make(study_make())
    page = client.get(door(other), params())
    assert refused(client.post(door(link), {"visit": visit_of(page)}), "stale", 400)


def test_a_double_click_makes_one_person(client, link):
    page = client.get(door(link), params())
    for _ in range(2):
        assert client.post(door(link), {"visit": visit_of(page)}).url == place(link)
    assert Enrollment.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_many_clicks_at_once_make_one_person():
    link = link_make(study_make())
    browser = Client()
    visit = visit_of(browser.get(door(link), params()))

    def click(_: int) -> str:
        other = Client()
        other.cookies = browser.cookies.copy()
        return str(other.post(door(link), {"visit": visit}).url)

    assert set(all_at_once(click, list(range(8)))) == {place(link)}
    assert Enrollment.objects.count() == 1
    assert Annotator.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_submission_brings_one_person_in_also_at_once():
    link = link_make(study_make())

    def come(number: int) -> str:
        try:
            platform_enter(link=link, arrival=Arrival(f"p{number}", SESSION))
        except EntryRefusedError as refused:
            return refused.reason
        return "in"

    outcomes = all_at_once(come, list(range(6)))
    assert sorted(outcomes) == ["in"] + ["session"] * 5
    assert Annotator.objects.count() == Enrollment.objects.count() == 1


def test_the_door_counts_its_visitors(client, link, settings):
    settings.RATELIMIT_ENABLE = True
    # Twice as many, and one more: whenever the minute turns over meanwhile.
    answers = {client.get(door(link), params()).status_code for _ in range(122)}
    assert answers == {200, 429}


def test_queries_of_the_door(client, link, django_assert_max_num_queries):
    client.get(door(link), params())
    with django_assert_max_num_queries(8):
        client.get(door(link), params())


# --- Coming back ----------------------------------------------------------------------------------------------------


def test_the_same_submission_goes_on_in_another_browser(client, link):
    arrive(client, link)
    other = Client()
    assert arrive(other, link).url == place(link)
    assert Enrollment.objects.count() == 1
    assert other.get(place(link)).status_code == 200


def test_the_persons_id_alone_opens_nothing(client, link):
    arrive(client, link)
    stranger = Client()
    assert refused(stranger.get(door(link), params(session="guessed")), "elsewhere")
    assert stranger.get(place(link)).status_code == 404
    person = person_of(link)
    assert person.platform_session == SESSION


def test_two_people_cannot_have_one_submission(client, link):
    arrive(client, link)
    assert refused(Client().get(door(link), params(pid="somebody-else")), "session")


def test_refused_also_when_the_page_was_opened_before(link):
    first, second = Client(), Client()
    page = second.get(door(link), params(session="guessed"))
    arrive(first, link)
    assert refused(second.post(door(link), {"visit": visit_of(page)}), "elsewhere")


@pytest.mark.parametrize("stage", [Stage.LEFT, Stage.WORK])
def test_who_returned_comes_back_with_a_new_submission(client, link, stage):
    arrive(client, link)
    Enrollment.objects.update(
        stage=stage, platform_status="RETURNED", platform_data={"left_from": "guidelines", "native": "yes"}
    )
    other = Client()
    assert arrive(other, link, session="second").url == place(link)
    person = person_of(link)
    assert person.platform_session == "second"
    assert person.platform_status == ""
    assert person.stage == (Stage.GUIDELINES if stage == Stage.LEFT else stage)
    assert person.platform_data["native"] == "yes"
    assert person.left_at is None


def test_who_left_does_not_come_back_with_the_submission_that_ended(client, link):
    arrive(client, link)
    Enrollment.objects.update(stage=Stage.LEFT, platform_status="RETURNED")
    assert refused(Client().get(door(link), params()), "left")
    assert refused(client.get(door(link), params()), "left")


def test_who_left_finds_their_place_taken(client, link):
    arrive(client, link)
    Enrollment.objects.update(stage=Stage.LEFT, platform_status="RETURNED")
    type(link.study).objects.update(max_annotators=1)
    enrollment_make(study=link.study)
    assert refused(arrive(Client(), link, session="second"), "full", 410)
    assert person_of(link).stage == Stage.LEFT


def test_in_their_own_browser_a_new_submission_takes_over(client, link):
    arrive(client, link)
    assert arrive(client, link, session="second").url == place(link)
    assert person_of(link).platform_session == "second"


def test_finished_work_is_not_handed_in_twice(client, link):
    arrive(client, link)
    Enrollment.objects.update(stage=Stage.DONE)
    assert refused(client.get(door(link), params(session="second")), "finished")
    assert client.get(door(link), params()).url == place(link)


def test_who_declined_may_think_again(client, link):
    arrive(client, link)
    Enrollment.objects.update(stage=Stage.DECLINED)
    assert arrive(client, link, session="second").url == place(link)
    person = person_of(link)
    assert (person.stage, person.platform_session) == (Stage.CONSENT, "second")


def test_who_declined_a_submission_that_was_returned_is_heard_anew(client, link):
    arrive(client, link)
    Enrollment.objects.update(stage=Stage.DECLINED, platform_status="RETURNED")
    arrive(Client(), link, session="second")
    assert person_of(link).platform_status == ""


# --- Signed tokens ----------------------------------------------------------------------------------------------------


@pytest.fixture
def signed(link, settings, monkeypatch, tmp_path):
    """A link that lets in only who brings a token; the key set is in a file."""
    file = tmp_path / "jwks.json"
    import json

    file.write_text(json.dumps(KEYS))
    monkeypatch.setenv("PROLIFIC_JWKS", str(file))
    settings.SITE_URL = "https://touchstone.example"
    PlatformLink.objects.update(require_signed_token=True)
    link.refresh_from_db()
    return link


def test_with_a_signed_token(client, signed):
    now = timezone.now()
    assert arrive(client, signed, prolific_token=token(now=now)).url == place(signed)
    # The platform says who they are: also another browser with another submission is theirs.
    again = token(now=now, prolific=params(session="second"))
    assert arrive(Client(), signed, session="second", prolific_token=again).url == place(signed)
    assert person_of(signed).platform_session == "second"


def test_without_a_token_or_with_somebody_elses(client, signed):
    now = timezone.now()
    others = token(now=now, prolific=params(pid="somebody-else"))
    for text in ("", "x", others, token(now=now, exp=int(now.timestamp()) - 1)):
        assert refused(client.get(door(signed), params(prolific_token=text)), "token")
    assert not Enrollment.objects.exists()


@pytest.mark.parametrize("keys", ["", "/no/such/file", "{", '{"keys": []}'])
def test_without_keys_nobody_comes_in(client, signed, monkeypatch, keys):
    monkeypatch.setenv("PROLIFIC_JWKS", keys)
    assert refused(client.get(door(signed), params(prolific_token=token(now=timezone.now()))), "token")


def test_a_bad_token_where_none_is_asked_for_is_no_proof(client, link, monkeypatch):
    arrive(client, link)
    response = Client().get(door(link), params(session="second", prolific_token="x"))
    assert refused(response, "elsewhere")


# --- Another platform


def test_from_connect_and_back(client):
    connect = link_make(
        study_make(), "connect", completed_code="41B26CAA44", external_study_id="J1", no_consent_code=""
    )
    address = {"participantId": "P1", "assignmentId": "A1", "projectId": "J1"}
    assert refused(client.get(door(connect), address | {"projectId": "J2"}), "study")
    page = client.get(door(connect), address)
    assert client.post(door(connect), {"visit": visit_of(page)}).url == place(connect)
    person = person_of(connect, "P1")
    assert person.annotator.source == "connect"
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-1")
    done = client.get(place(connect), follow=True).content.decode()
    assert "https://connect.cloudresearch.com/participant/project/41B26CAA44/complete" in done
    file = b"Participant ID,Assignment ID,Status\nP1,A1,Approved\n"
    reconcile_apply(link=connect, rows=CONNECT.rows(file, "export.csv"), channel="file")
    assert person_of(connect, "P1").platform_status == "APPROVED"


def test_from_mechanical_turk_there_is_no_way_back(client):
    turk = link_make(study_make(), "mturk")
    page = client.get(door(turk), {"workerId": "W1", "assignmentId": "A1", "hitId": "H1"})
    client.post(door(turk), {"visit": visit_of(page)})
    Enrollment.objects.update(stage=Stage.DONE, completion_code="TS-1")
    done = client.get(place(turk), follow=True).content.decode()
    assert "TS-1" in done
    assert "Return to" not in done


# --- Other doors ------------------------------------------------------------------------------------------------------


def test_prolific_then_an_invitation_in_the_same_browser(client, link):
    arrive(client, link)
    invitation = invitation_make(study=link.study)
    assert client.get(reverse("annotation:join", args=[invitation.token])).url == place(link)
    assert Enrollment.objects.count() == 1


def test_an_invitation_then_prolific_in_the_same_browser(client, link):
    invitation = reverse("annotation:join", args=[invitation_make(study=link.study).token])
    client.post(invitation, {"visit": client.get(invitation).context["visit"]})
    assert client.get(door(link), params()).url == place(link)
    assert Enrollment.objects.count() == 1


def test_a_second_id_of_the_platform_in_one_browser(client, link):
    arrive(client, link)
    assert client.get(door(link), params(pid="second", session="s2")).context["reason"] == "device"
    type(link.study).objects.update(one_per_device=False)
    assert arrive(client, link, pid="second", session="s2").url == place(link)
    assert Enrollment.objects.count() == 2


def test_logs_hide_the_doors(client, link, caplog):
    from annotation.logs import HideTokens

    caplog.handler.addFilter(HideTokens())
    client.get(f"/enter/prolific/{'x' * 30}/", params())
    client.post(f"/hooks/prolific/{'y' * 30}/")
    assert "/enter/prolific/…" in caplog.text
    assert "/hooks/prolific/…" in caplog.text
    assert "xxxx" not in caplog.text
    assert "yyyy" not in caplog.text

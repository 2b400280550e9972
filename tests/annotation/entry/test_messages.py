"""What a platform says of its submissions, message by message."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.entry.prolific import PROLIFIC
from annotation.models import (
    Enrollment,
    Intervention,
    PlatformEvent,
    PlatformLink,
    Stage,
)
from annotation.services.reconcile import event_apply
from tests.annotation.entry.props import (
    SECRET,
    link_make,
    message,
    person_of,
)
from tests.annotation.entry.test_reconcile import person_make, worked
from tests.annotation.factories import study_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("PROLIFIC_WEBHOOK_SECRET", SECRET)


def post(link: PlatformLink, body: bytes, headers: dict[str, str], client: Client | None = None):
    browser = client or Client(enforce_csrf_checks=True)
    address = reverse("annotation:hook", args=[link.platform, link.token])
    return browser.post(address, body, content_type="application/json", headers=headers)


def test_a_message_is_heard_once(link, secret):
    worked(link)
    body, headers = message("RETURNED", now=timezone.now(), session="s1", pid="p1")
    assert post(link, body, headers).content == b"leave"
    person = person_of(link, "p1")
    assert person.stage == Stage.LEFT
    Enrollment.objects.update(stage=Stage.WORK)
    assert post(link, body, headers).content == b"repeated"
    assert person_of(link, "p1").stage == Stage.WORK
    event = PlatformEvent.objects.get()
    assert (event.event_id, event.channel, event.status, event.outcome) == (
        "e1",
        "webhook",
        "RETURNED",
        "leave",
    )


def test_a_late_message_changes_nothing(link, secret):
    now = timezone.now()
    person_make(link)
    post(link, *message("RETURNED", now=now, session="s1", pid="p1", event_id="e2"))
    body, headers = message("ACTIVE", now=now, session="s1", pid="p1", event_id="e1")
    headers["X-Timestamp"] = str((now - timedelta(minutes=20)).timestamp())
    assert post(link, body, headers).content == b"older"
    assert person_of(link, "p1").stage == Stage.LEFT


def test_messages_about_others_leave_no_trace(link, secret):
    now = timezone.now()
    assert post(link, *message("RETURNED", now=now)).content == b"ignored"
    assert post(link, *message("x", now=now, event_type="study.status.change")).content == b"ignored"
    assert not PlatformEvent.objects.exists()


def test_a_message_without_the_platforms_signature(link, secret):
    person_make(link)
    body, headers = message("RETURNED", now=timezone.now(), session="s1", pid="p1")
    assert post(link, body + b" ", headers).status_code == 403
    assert post(link, body, {}).status_code == 403
    old_body, old = message("RETURNED", now=timezone.now() - timedelta(minutes=6), session="s1", pid="p1")
    assert post(link, old_body, old).status_code == 403
    assert person_of(link, "p1").stage == Stage.WORK
    assert not PlatformEvent.objects.exists()


def test_messages_that_are_no_messages(link, secret, client):
    address = reverse("annotation:hook", args=[link.platform, link.token])
    assert client.get(address).status_code == 405
    assert client.post(address, b"x" * 70_000, content_type="application/json").status_code == 413
    assert client.post("/hooks/prolific/nobody/").status_code == 404
    assert client.post("/hooks/nothing/nobody/").status_code == 404
    connect = link_make(link.study, "connect")
    assert client.post(reverse("annotation:hook", args=["connect", connect.token])).status_code == 404


def test_without_a_secret_no_message_is_heard(link, monkeypatch):
    monkeypatch.delenv("PROLIFIC_WEBHOOK_SECRET", raising=False)
    assert post(link, *message("RETURNED", now=timezone.now())).status_code == 404


def test_a_closed_door_still_hears(link, secret):
    person_make(link)
    PlatformLink.objects.update(closed_at=timezone.now())
    assert post(link, *message("RETURNED", now=timezone.now(), session="s1", pid="p1")).content == b"leave"


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_message_many_times_at_once():
    link = link_make(study_make(consent="", guidelines=""))
    worked(link)
    body, headers = message("RETURNED", now=timezone.now(), session="s1", pid="p1")
    event = PROLIFIC.verify_webhook(headers, body, SECRET, timezone.now())
    outcomes = all_at_once(lambda _: event_apply(link=link, event=event), list(range(6)))
    assert sorted(outcomes) == ["leave"] + ["repeated"] * 5
    assert Intervention.objects.count() == 1

"""The list of one's own sessions; ending one, all others and all of a person; and what else ends them."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Role, StaffSession
from annotation.selectors.sessions import sessions_open
from tests.annotation.factories import PASSWORD, enrollment_make, study_make
from tests.annotation.sign_in.conftest import log_in, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Safari/604.1"
)


def is_in(client):
    return client.get("/studies/").status_code == 200


def laptop_and_phone(user):
    laptop = signed_in(user, headers={"User-Agent": FIREFOX}, REMOTE_ADDR="203.0.113.77")
    phone = signed_in(user, headers={"User-Agent": PHONE}, REMOTE_ADDR="2001:db8:1:2::3")
    return laptop, phone


def row_of(client):
    return StaffSession.objects.get(session_key=client.session.session_key)


def test_each_is_listed_with_its_device_its_network_and_its_times(cast):
    laptop, _ = laptop_and_phone(cast.alice)
    page = laptop.get(reverse("me")).content.decode()
    assert "Firefox on Linux" in page
    assert "Safari on iPhone" in page
    assert "203.0.113.0/24" in page
    assert "2001:db8:1::/48" in page
    assert "203.0.113.77" not in page
    assert page.count("This session") == 1
    first, second = sessions_open(cast.alice, laptop.session.session_key)
    assert (first.is_this, first.device, second.is_this) == (True, "Firefox on Linux", False)
    assert first.last_seen_at is not None


def test_the_page_asks_as_often_however_many_there_are(cast, django_assert_max_num_queries):
    client = signed_in(cast.alice)
    client.get(reverse("me"))
    for _ in range(12):
        signed_in(cast.alice)
    with django_assert_max_num_queries(7):
        assert client.get(reverse("me")).content.decode().count("End this session<span") == 13


def test_one_is_ended(cast):
    laptop, phone = laptop_and_phone(cast.alice)
    end = reverse("session-end", args=[row_of(phone).pk])
    assert laptop.post(end).url == reverse("me")
    assert not is_in(phone)
    assert is_in(laptop)
    event = AuditEvent.objects.get(action="user.session ended")
    assert (event.actor, event.before["device"]) == ("alice", "Safari on iPhone")
    assert laptop.post(end).status_code == 404, "a second time"


def test_the_own_one_is_signed_out(cast):
    client = signed_in(cast.alice)
    assert client.post(reverse("session-end", args=[row_of(client).pk])).url == reverse("login")
    assert not is_in(client)


def test_that_of_somebody_else_is_not_there(cast):
    bob = signed_in(cast.bob)
    assert signed_in(cast.alice).post(reverse("session-end", args=[row_of(bob).pk])).status_code == 404
    assert is_in(bob)
    anonymous = Client().post(reverse("session-end", args=[row_of(bob).pk]))
    assert anonymous.url.startswith(reverse("login"))
    assert Client().post(reverse("sessions-end-others")).url.startswith(reverse("login"))


def test_all_others_are_ended_even_one_that_is_not_listed(cast):
    laptop, phone = laptop_and_phone(cast.alice)
    hidden = signed_in(cast.alice)
    row_of(hidden).delete()
    key = laptop.session.session_key
    assert laptop.post(reverse("sessions-end-others")).url == reverse("me")
    assert laptop.session.session_key != key
    assert is_in(laptop)
    assert not is_in(phone)
    assert not is_in(hidden)
    cast.alice.refresh_from_db()
    assert [one.is_this for one in sessions_open(cast.alice, laptop.session.session_key)] == [True]
    assert laptop.post(reverse("sessions-end-others")).url == reverse("me"), "a second time"
    assert is_in(laptop)


def test_a_new_password_ends_the_others(cast):
    laptop, phone = laptop_and_phone(cast.alice)
    new = "a new one that is long enough"
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert laptop.post(reverse("password-change"), sent).url == reverse("me")
    assert is_in(laptop)
    assert not is_in(phone)
    assert len(sessions_open(cast.alice.__class__.objects.get(pk=cast.alice.pk))) == 1


@pytest.mark.parametrize("way", ["save", "update"])
def test_another_role_ends_them_all(cast, way):
    client = signed_in(cast.alice)
    if way == "save":
        cast.alice.role = Role.ADMINISTRATOR
        cast.alice.save()
    else:
        type(cast.alice).objects.filter(pk=cast.alice.pk).update(role=Role.ADMINISTRATOR)
    assert not is_in(client)


def test_an_administrator_ends_all_of_a_person(cast):
    clients = laptop_and_phone(cast.alice)
    admin = signed_in(cast.ann)
    sent = {"action": "all_sessions_end", "_selected_action": [str(cast.alice.pk)]}
    answer = admin.post(reverse("admin:annotation_user_changelist"), sent, follow=True)
    assert "Ended 2 sessions of 1 people" in answer.content.decode()
    assert not any(map(is_in, clients))
    assert is_in(admin)
    event = AuditEvent.objects.get(action="user.sessions ended")
    assert (event.actor, event.subject, event.after["n_sessions"]) == ("ann", "alice", 2)
    refused = signed_in(cast.bob).post(reverse("admin:annotation_user_changelist"), sent, follow=True)
    assert refused.status_code == 403


def test_signing_out_takes_it_off_the_list(cast):
    _, phone = laptop_and_phone(cast.alice)
    phone.post(reverse("logout"))
    assert len(sessions_open(cast.alice)) == 1
    signed_in(cast.alice)
    assert StaffSession.objects.filter(user=cast.alice).count() == 2, "its row went with the next sign-in"


def test_a_session_that_gets_another_key_stays_listed(cast):
    client = signed_in(cast.alice)
    key = client.session.session_key
    client.get(reverse("annotation:resume", args=[enrollment_make(study=study_make()).resume_token]))
    assert client.session.session_key != key
    assert [one.is_this for one in sessions_open(cast.alice, client.session.session_key)] == [True]


def test_ended_long_ago_is_forgotten(cast):
    client = signed_in(cast.alice)
    StaffSession.objects.filter(pk=row_of(client).pk).update(started_at="2020-01-01T00:00Z")
    log_in(Client(), cast.bob)
    assert not StaffSession.objects.filter(user=cast.alice).exists()


def test_a_session_of_the_store_that_was_purged_is_not_listed(cast):
    client = signed_in(cast.alice)
    Session.objects.filter(session_key=client.session.session_key).delete()
    assert sessions_open(cast.alice) == []


@pytest.mark.parametrize("engine", ["cache", "cached_db", "file"])
def test_it_works_with_another_engine(cast, settings, engine, tmp_path):
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    settings.SESSION_FILE_PATH = str(tmp_path)
    laptop, phone = laptop_and_phone(cast.alice)
    assert len(sessions_open(cast.alice)) == 2
    laptop.post(reverse("session-end", args=[row_of(phone).pk]))
    assert not is_in(phone)
    assert is_in(laptop)


def test_browsers_of_annotators_make_no_row_and_ask_for_none(cast, django_assert_num_queries):
    client = Client()
    client.get(reverse("annotation:resume", args=[enrollment_make(study=study_make()).resume_token]))
    assert not StaffSession.objects.exists()
    assert "sessionid" not in client.cookies

"""The doors: the first page, the login with its limits, and who gets in where."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.views.site import LOGIN_RATE_PER_ADDRESS
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD, dataset_make

pytestmark = pytest.mark.django_db


def log_in(client, username, password=PASSWORD, **extra):
    return client.post(reverse("login"), {"username": username, "password": password}, **extra)


def test_home_leads_each_person_where_they_begin(cast):
    assert client_of(None).get("/").url == reverse("login")
    for user in (cast.alice, cast.ann):
        assert "First steps" in client_of(user).get("/").content.decode()
    response = client_of(cast.carl).get("/")
    assert response.status_code == 200
    assert "open the link of the study" in response.content.decode()


def test_login_leads_to_the_page_that_was_asked_for(cast):
    client = Client()
    asked = client.get(reverse("annotation:dataset-list"))
    assert asked.url == f"{reverse('login')}?next={reverse('annotation:dataset-list')}"
    response = client.post(
        reverse("login"),
        {"username": "alice", "password": PASSWORD, "next": reverse("annotation:dataset-list")},
    )
    assert response.url == reverse("annotation:dataset-list")


def test_login_never_leads_to_another_site(cast):
    response = Client().post(
        reverse("login"), {"username": "alice", "password": PASSWORD, "next": "https://example.org/"}
    )
    assert response.url == reverse("home")


def test_a_wrong_name_and_a_wrong_password_look_alike(cast):
    cast.bob.is_active = False
    cast.bob.save()
    answers = [
        log_in(Client(), "alice", "wrong").context["form"].non_field_errors(),
        log_in(Client(), "nobody", "wrong").context["form"].non_field_errors(),
        log_in(Client(), "bob").context["form"].non_field_errors(),
    ]
    assert len(answers[0]) == 1
    assert list(answers[0]) == list(answers[1]) == list(answers[2])


def test_many_attempts_on_one_name_are_refused_politely(cast, limited):
    for _ in range(10):
        assert log_in(Client(), "alice", "wrong").status_code == 200
    response = log_in(Client(), " ALICE", PASSWORD)
    assert response.status_code == 429
    assert response["Retry-After"] == "60"
    assert "Too many requests" in response.content.decode()
    assert "_auth_user_id" not in response.wsgi_request.session
    assert log_in(Client(), "bob").status_code == 302, "another name is not held up"


def test_nobody_locks_another_out(cast, limited):
    for number in range(30):
        log_in(Client(), "ann", "wrong", REMOTE_ADDR=f"198.51.100.{number % 3}")
    assert log_in(Client(), "ann", REMOTE_ADDR="203.0.113.5").status_code == 302


def test_one_ipv6_network_is_one_address(cast, limited):
    codes = [log_in(Client(), "ann", "wrong", REMOTE_ADDR=f"2001:db8::{n:x}").status_code for n in range(11)]
    assert codes[-1] == 429
    assert log_in(Client(), "ann", REMOTE_ADDR="2001:db8:0:1::1").status_code == 302


def test_failed_logins_are_logged_without_the_password(cast, limited, caplog):
    log_in(Client(), "Ann\n", "not-her-password", REMOTE_ADDR="198.51.100.7")
    assert "Failed login as 'ann' from 198.51.100.0/24" in caplog.text
    log_in(Client(), "a\nb", "not-her-password")
    assert "'a\\nb'" in caplog.text, "nobody writes lines of their own"
    for _ in range(10):
        log_in(Client(), "ann", "not-her-password", REMOTE_ADDR="198.51.100.7")
    assert "Too many logins as 'ann' from 198.51.100.0/24" in caplog.text
    assert "not-her-password" not in caplog.text


def test_another_way_to_write_a_name_is_no_new_name(cast, limited):
    for name in ["alice", "ａlice", "aｌice"] * 4:
        last = log_in(Client(), name, "wrong")
    assert last.status_code == 429


def test_names_that_do_not_exist_are_limited_alike(limited):
    for _ in range(10):
        assert log_in(Client(), "nobody", "wrong").status_code == 200
    assert log_in(Client(), "nobody", "wrong").status_code == 429


def test_many_attempts_from_one_address_are_refused(cast, limited):
    limit = int(LOGIN_RATE_PER_ADDRESS.split("/")[0])
    for number in range(limit):
        assert log_in(Client(), f"guess-{number}", "x", REMOTE_ADDR="198.51.100.7").status_code == 200
    assert log_in(Client(), "alice", REMOTE_ADDR="198.51.100.7").status_code == 429
    assert log_in(Client(), "alice", REMOTE_ADDR="198.51.100.8").status_code == 302


def test_looking_at_the_login_page_is_not_limited(limited):
    assert {Client().get(reverse("login")).status_code for _ in range(40)} == {200}


def test_who_is_logged_in_is_led_on(cast):
    assert client_of(cast.alice).get(reverse("login")).url == reverse("home")


PAGES = ["study-list", "study-create", "dataset-list"]


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_for_researchers(cast, page):
    dataset_make(pairs=1)  # without one, a new study leads to importing
    address = reverse(f"annotation:{page}")
    assert client_of(None).get(address).status_code == 302
    assert client_of(cast.carl).get(address).status_code == 403
    assert client_of(cast.alice).get(address).status_code == 200
    assert client_of(cast.ann).get(address).status_code == 200


def test_a_person_who_was_switched_off_is_out(cast):
    client = client_of(cast.alice)
    cast.alice.is_active = False
    cast.alice.save()
    assert client.get(reverse("annotation:study-list")).status_code == 302


def test_log_out_is_a_post(cast):
    client = client_of(cast.alice)
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout")).url == reverse("login")
    assert client.get(reverse("annotation:study-list")).status_code == 302

"""Forgotten passwords of staff and of annotators with an account, and one's own account."""

import re
import threading

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from annotation.forms import passwords as password_forms
from annotation.models import Account, Role, User
from annotation.services.accounts import account_create
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD, user_make
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
NEW = "a quite different phrase"
EMAIL = "mia@example.org"


class Door:
    """One of the two: the same pages under two addresses."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        space = "password-" if kind == "staff" else "annotation:account-"
        self.forgot, self.sent, self.done = (reverse(f"{space}{name}") for name in ("forgot", "sent", "done"))

    def person(self, email: str = EMAIL):
        return (
            user_make(username="mia", email=email)
            if self.kind == "staff"
            else account_create(email=email, password=PASSWORD)
        )

    def sign_in(self, password: str) -> Client | None:
        client = Client()
        if self.kind == "staff":
            response = client.post(reverse("login"), {"username": "mia", "password": password})
        else:
            response = client.post(
                reverse("annotation:account-sign-in"), {"email": EMAIL, "password": password}
            )
        return client if response.status_code == 302 else None

    def is_in(self, client: Client) -> bool:
        page = "annotation:study-list" if self.kind == "staff" else "annotation:account"
        return client.get(reverse(page)).status_code == 200

    def ask(self, email: str = EMAIL, **extra):
        return Client().post(self.forgot, {"email": email}, **extra)

    def link(self) -> str:
        (message,) = mail.outbox
        mail.outbox.clear()
        return re.search(r"http://127\.0\.0\.1:8000(/\S+)", message.body)[1]


@pytest.fixture(params=["staff", "account"])
def door(request):
    return Door(request.param)


@pytest.fixture(autouse=True)
def by_mail(settings, monkeypatch):
    settings.SENDS_MAIL = True
    settings.SITE_URL = "http://127.0.0.1:8000"
    monkeypatch.setattr(password_forms, "soon", lambda send: send())


def new_password(client, address, one=NEW, two=NEW):
    form = client.get(address, follow=True)
    return client.post(
        form.request["PATH_INFO"], {"new_password1": one, "new_password2": two}
    )  # the token is in the session by now


def test_a_new_password_by_mail(door):
    door.person()
    elsewhere = door.sign_in(PASSWORD)
    assert door.is_in(elsewhere)
    assert door.ask("MIA@Example.org").url == door.sent
    assert mail.outbox[0].to == [EMAIL]
    client = Client()
    address = door.link()
    assert client.get(address).url.endswith("/set-password/"), "the token leaves the address"
    assert new_password(client, address).url == door.done
    assert client.get(door.done).status_code == 200
    assert door.sign_in(PASSWORD) is None
    assert door.is_in(door.sign_in(NEW))
    assert not door.is_in(elsewhere), "what was signed in elsewhere is out"


def test_a_link_works_once(door):
    door.person()
    door.ask()
    address = door.link()
    first, second = Client(), Client()
    forms = [client.get(address, follow=True).request["PATH_INFO"] for client in (first, second)]
    words = {"new_password1": NEW, "new_password2": NEW}
    assert first.post(forms[0], words).url == door.done
    late = second.post(
        forms[1], {"new_password1": "another long phrase", "new_password2": "another long phrase"}
    )
    assert late.status_code == 200
    assert "This link no longer works" in late.content.decode()
    assert "This link no longer works" in Client().get(address).content.decode()
    assert door.sign_in(NEW) is not None


def test_an_address_that_nobody_has_is_answered_alike(door):
    door.person()
    known, unknown = door.ask(), door.ask("nobody@example.org")
    assert (known.status_code, known.url) == (unknown.status_code, unknown.url)
    assert known.content == unknown.content
    assert len(mail.outbox) == 1


def test_who_gets_no_mail():
    user_make(username="gone", email="gone@example.org").__class__.objects.filter(username="gone").update(
        is_active=False
    )
    by_link = user_make(username="by-link", email="link@example.org")
    by_link.set_unusable_password()
    by_link.save()
    user_make(username="none", email="")
    staff = Door("staff")
    for email in ("gone@example.org", "link@example.org"):
        assert staff.ask(email).url == staff.sent
    assert staff.ask("").status_code == 200, "asked for again"
    assert not mail.outbox


def test_one_door_does_not_open_the_other():
    staff, accounts = Door("staff"), Door("account")
    staff.person()
    accounts.person()
    accounts.ask()
    address = accounts.link().replace("/account/password/", "/password/")
    assert "This link no longer works" in Client().get(address).content.decode()
    accounts.ask()
    account_address = accounts.link()
    assert "account/password/set" in account_address
    assert User.objects.get().check_password(PASSWORD)


def test_two_people_of_one_address_get_a_link_each_with_their_name():
    for name in ("mia", "mia-admin"):
        user_make(username=name, email=EMAIL)
    Door("staff").ask()
    assert sorted(re.search(r"Your user name: (\S+)", message.body)[1] for message in mail.outbox) == [
        "mia",
        "mia-admin",
    ]


@pytest.mark.parametrize(
    "tail", ["x/y-z", "MQ/y-z", "!!/a-b", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5/a-b", "MQ/set-password"]
)
def test_links_that_were_made_up(door, tail):
    address = f"{door.forgot.removesuffix('forgot/')}set/{tail}/"
    response = Client().get(address)
    assert response.status_code == 200
    assert "This link no longer works" in response.content.decode()
    assert Client().post(address, {"new_password1": NEW, "new_password2": NEW}).status_code == 200


@pytest.mark.parametrize(
    ("one", "two"), [("short", "short"), (NEW, f"{NEW}."), ("password", "password"), ("", "")]
)
def test_weak_and_unequal_passwords_are_refused_and_the_link_stays(door, one, two):
    door.person()
    door.ask()
    client, address = Client(), door.link()
    assert "field-error" in new_password(client, address, one, two).content.decode()
    assert door.sign_in(PASSWORD) is not None
    door.ask()
    assert new_password(Client(), door.link()).url == door.done


def test_a_link_ends_after_a_day_and_with_a_change(door, settings):
    person = door.person()
    door.ask()
    address = door.link()
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "no longer works" in Client().get(address).content.decode()
    settings.PASSWORD_RESET_TIMEOUT = 3600
    type(person).objects.filter(pk=person.pk).update(email="other@example.org")
    assert "no longer works" in Client().get(address).content.decode()


def test_asking_is_limited_by_email_and_by_address(door, limited):
    for _ in range(5):
        assert door.ask().status_code == 302
    assert door.ask(f" {EMAIL.upper()}").status_code == 429
    for number in range(24):
        assert door.ask(f"{number}@example.org").status_code == 302
    refused = door.ask("one-more@example.org")
    assert refused.status_code == 429
    assert refused["Retry-After"]
    assert door.ask("one-more@example.org", REMOTE_ADDR="198.51.100.8").status_code == 302
    assert Client().get(door.forgot).status_code == 200


def test_a_site_without_mail_says_whom_to_ask(door, settings):
    settings.SENDS_MAIL = False
    door.person()
    for response in (Client().get(door.forgot), door.ask()):
        assert response.status_code == 200
        assert "This site doesn't send mail" in response.content.decode()
        whom = "Ask its administrator" if door.kind == "staff" else "The personal link of each study"
        assert whom in response.content.decode()
        assert "Send the link" not in response.content.decode()
    assert not mail.outbox


def test_mail_is_sent_beside_the_answer_and_its_failure_is_logged(door, monkeypatch, caplog):
    door.person()
    waits = threading.Event()
    monkeypatch.undo()

    def refuse(self, *args, **options):
        waits.wait(60)
        raise ConnectionRefusedError

    monkeypatch.setattr("django.core.mail.EmailMultiAlternatives.send", refuse)
    assert door.ask().status_code == 302, "the server of mail has not answered yet"
    waits.set()
    for thread in threading.enumerate():
        if thread.name == "mail":
            thread.join()
    assert "Failed to send password reset email" in caplog.text


def test_the_host_of_a_request_is_not_in_the_link(door, settings):
    settings.ALLOWED_HOSTS = ["*"]
    door.person()
    door.ask(headers={"Host": "evil.example"})
    assert "evil" not in mail.outbox[0].body
    assert door.link()


def test_forms_need_their_token_of_this_site(door):
    client = Client(enforce_csrf_checks=True)
    assert client.post(door.forgot, {"email": EMAIL}).status_code == 403


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_one_link_used_by_many_at_once_counts_once(door):
    door.person()
    door.ask()
    address = door.link()
    clients = [Client() for _ in range(4)]
    forms = [client.get(address, follow=True).request["PATH_INFO"] for client in clients]

    def use(number: int) -> int:
        words = f"phrase number {number}"
        return (
            clients[number].post(forms[number], {"new_password1": words, "new_password2": words}).status_code
        )

    answers = all_at_once(use, [0, 1, 2, 3])
    assert sorted(answers) == [200, 200, 200, 302]
    assert door.sign_in(f"phrase number {answers.index(302)}") is not None


def test_the_doors_lead_there():
    assert reverse("password-forgot") in Client().get(reverse("login")).content.decode()
    page = Client().get(reverse("annotation:account-sign-in")).content.decode()
    assert reverse("annotation:account-forgot") in page


# --- Who is signed in -------------------------------------------------------------------------------------------------


def test_ones_own_page_is_ones_own(cast):
    for address in (reverse("me"), reverse("password-change")):
        response = client_of(None).post(address, {"email": EMAIL})
        assert response.url.startswith(reverse("login"))
    for user in (cast.alice, cast.ann, cast.carl):
        page = client_of(user).get(reverse("me"))
        assert page.status_code == 200
        assert user.username in page.content.decode()
    assert client_of(cast.alice).get(reverse("password-change")).status_code == 405


def test_ones_own_address(cast):
    client = client_of(cast.alice)
    for password, status in (("wrong", 422), ("", 422), (PASSWORD, 302)):
        response = client.post(
            reverse("me"), {"email": EMAIL, "password": password, "role": Role.ADMINISTRATOR}
        )
        assert response.status_code == status
    cast.alice.refresh_from_db()
    assert (cast.alice.email, cast.alice.role) == (EMAIL, Role.RESEARCHER)
    assert client.post(reverse("me"), {"email": "no address", "password": PASSWORD}).status_code == 422
    assert client.post(reverse("me"), {"email": EMAIL, "password": PASSWORD}).status_code == 302, (
        "twice is once"
    )


def test_ones_own_password(cast):
    here, elsewhere = client_of(cast.alice), client_of(cast.alice)
    words = {"new_password1": NEW, "new_password2": NEW}
    address = reverse("password-change")
    assert here.post(address, words | {"old_password": "wrong"}).status_code == 422
    assert (
        here.post(address, {"old_password": PASSWORD, "new_password1": "x", "new_password2": "x"}).status_code
        == 422
    )
    assert here.post(address, words | {"old_password": PASSWORD}).url == reverse("me")
    assert here.get(reverse("me")).status_code == 200
    assert elsewhere.get(reverse("me")).status_code == 302
    assert here.post(address, words | {"old_password": PASSWORD}).status_code == 422, "sent twice"
    cast.alice.refresh_from_db()
    assert cast.alice.check_password(NEW)


def test_guessing_ones_own_password_is_limited(cast, limited):
    client = client_of(cast.alice)
    for _ in range(10):
        assert client.post(reverse("me"), {"email": EMAIL, "password": "guess"}).status_code == 422
    assert client.post(reverse("password-change"), {}).status_code == 429
    assert client_of(cast.bob).post(reverse("me"), {"email": EMAIL, "password": PASSWORD}).status_code == 302


def test_signing_in_when_the_hash_is_renewed_stays(settings):
    account_create(email=EMAIL, password=PASSWORD)
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        *settings.PASSWORD_HASHERS,
    ]
    door = Door("account")
    client = door.sign_in(PASSWORD)
    assert Account.objects.get().password.startswith("pbkdf2")
    assert door.is_in(client)

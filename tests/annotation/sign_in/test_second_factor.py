"""An authenticator app and recovery codes, from setting them up to signing in with them; and what is refused."""

import base64
import logging
import secrets
import time

import pytest
from allauth.mfa.models import Authenticator
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent
from annotation.sign_in import recent
from annotation.sign_in.sealing import SealedUnderAnotherKeyError, seal, unseal
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD
from tests.annotation.sign_in.codes import code_of
from tests.annotation.sign_in.conftest import app_set_up, log_in, signed_in

pytestmark = [pytest.mark.django_db(transaction=True)]


def is_in(client):
    return client.get("/studies/").status_code == 200


def test_the_app_of_this_test_is_that_of_the_standard():
    # RFC 6238, appendix B: SHA-1, the last six of eight digits.
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    assert [code_of(secret, at) for at in (59, 1111111109, 20000000000)] == ["287082", "081804", "353130"]


def test_from_setting_it_up_to_signing_in(cast):
    client = signed_in(cast.alice)
    secret, codes = app_set_up(client)
    assert len(set(codes)) == 10
    assert Authenticator.objects.filter(user=cast.alice).count() == 2

    other = Client()
    answer = log_in(other, cast.alice)
    assert answer.url == reverse("mfa_authenticate")
    assert not is_in(other), "the password alone opens nothing"
    assert "_auth_user_id" not in other.session
    answer = other.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert (answer.status_code, answer.url) == (302, "/")
    assert is_in(other)
    assert AuditEvent.objects.filter(action="user.signed in", subject="alice").count() == 2


def test_the_page_that_was_asked_for_is_kept_over_the_second_step(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    client = Client()
    client.post(reverse("login"), {"username": "alice", "password": PASSWORD, "next": "/datasets/"})
    assert client.post(reverse("mfa_authenticate"), {"code": code_of(secret)}).url == "/datasets/"


def test_it_never_leads_to_another_site(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    client = Client()
    client.post(reverse("login"), {"username": "alice", "password": PASSWORD, "next": "https://example.org/"})
    answer = client.post(
        reverse("mfa_authenticate") + "?next=https://example.org/", {"code": code_of(secret)}
    )
    assert answer.url == "/"


def test_a_code_works_once(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    first, second = Client(), Client()
    for client in (first, second):
        log_in(client, cast.alice)
    code = code_of(secret)
    assert first.post(reverse("mfa_authenticate"), {"code": code}).status_code == 302
    assert second.post(reverse("mfa_authenticate"), {"code": code}).status_code == 422
    assert not is_in(second)


def test_a_recovery_code_works_once_and_is_recorded(cast):
    _, codes = app_set_up(signed_in(cast.alice))
    first, second = Client(), Client()
    for client in (first, second):
        log_in(client, cast.alice)
    assert first.post(reverse("mfa_authenticate"), {"code": codes[3]}).status_code == 302
    assert second.post(reverse("mfa_authenticate"), {"code": codes[3]}).status_code == 422
    assert AuditEvent.objects.filter(action="user.recovery code used", subject="alice").count() == 1
    assert "9 recovery codes left" in first.get(reverse("me")).content.decode()


def test_codes_before_and_after_their_30_seconds_are_refused(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    client = Client()
    log_in(client, cast.alice)
    for away in (-60, -30, 30, 60):
        code = code_of(secret, time.time() + away)
        assert client.post(reverse("mfa_authenticate"), {"code": code}).status_code == 422


def test_guessing_codes_is_limited_from_wherever_it_comes(cast, limited, caplog):
    secret, _ = app_set_up(signed_in(cast.alice))
    cache.clear()
    clients = [Client(REMOTE_ADDR=f"198.51.100.{n}") for n in range(6)]
    for client in clients:
        log_in(client, cast.alice)
    answers = [client.post(reverse("mfa_authenticate"), {"code": "000000"}).status_code for client in clients]
    assert answers == [422] * 5 + [429]
    assert clients[0].post(reverse("mfa_authenticate"), {"code": code_of(secret)}).status_code == 429
    assert not any(map(is_in, clients))
    assert "Wrong second factor as 'alice' from 198.51.100.0" in caplog.text
    assert "Too many codes as 'alice'" in caplog.text


def test_without_the_password_there_is_no_second_step(cast):
    app_set_up(signed_in(cast.alice))
    for method in ("get", "post"):
        answer = getattr(Client(), method)(reverse("mfa_authenticate"), {"code": "123456"})
        assert answer.url == reverse("login")


def test_a_wrong_password_asks_for_no_code(cast):
    app_set_up(signed_in(cast.alice))
    client = Client()
    log_in(client, cast.alice, "wrong")
    assert client.get(reverse("mfa_authenticate")).status_code == 302


def test_an_account_that_is_switched_off_between_the_steps_stays_out(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    client = Client()
    log_in(client, cast.alice)
    cast.alice.is_active = False
    cast.alice.save()
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert not is_in(client)


def test_a_password_that_changed_between_the_steps_is_no_first_step(cast):
    secret, _ = app_set_up(signed_in(cast.alice))
    client = Client()
    log_in(client, cast.alice)
    cast.alice.set_password("another one that is long")
    cast.alice.save()
    client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
    assert not is_in(client)


class TestSettingUp:
    def test_a_wrong_first_code_sets_nothing_up_and_keeps_the_secret(self, cast):
        client = signed_in(cast.alice)
        page = client.get(reverse("mfa_activate_totp"))
        secret = page.context["secret"]
        answer = client.post(reverse("mfa_activate_totp"), {"code": "000000"})
        assert answer.status_code == 422
        assert answer.context["secret"] == secret
        assert not Authenticator.objects.exists()

    def test_twice_is_once(self, cast):
        client = signed_in(cast.alice)
        secret, _ = app_set_up(client)
        again = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
        assert again.url == reverse("mfa_deactivate_totp")
        assert Authenticator.objects.filter(type="totp").count() == 1

    def test_it_asks_who_one_is_after_five_minutes(self, cast, monkeypatch):
        client = signed_in(cast.alice)
        monkeypatch.setattr(recent, "RECENT_SECONDS", -1)
        answer = client.get(reverse("mfa_activate_totp"))
        assert answer.url == f"{reverse('confirm')}?next=%2Fme%2Fsecond-factor%2Fapp%2F"
        assert client.post(answer.url, {"password": "wrong"}).status_code == 422
        monkeypatch.setattr(recent, "RECENT_SECONDS", 300)
        assert client.post(answer.url, {"password": PASSWORD}).url == reverse("mfa_activate_totp")
        assert client.get(reverse("mfa_activate_totp")).status_code == 200

    def test_a_session_without_a_sign_in_of_its_own_has_to_confirm(self, cast):
        assert client_of(cast.alice).get(reverse("mfa_activate_totp")).url.startswith(reverse("confirm"))

    def test_with_a_factor_the_password_alone_confirms_nothing(self, cast, monkeypatch):
        client = signed_in(cast.alice)
        secret, _ = app_set_up(client)
        monkeypatch.setattr(recent, "RECENT_SECONDS", -1)
        asked = client.post(reverse("mfa_deactivate_totp"))
        assert asked.url.startswith(reverse("confirm"))
        assert client.post(asked.url, {"password": PASSWORD}).status_code == 422
        monkeypatch.setattr(recent, "RECENT_SECONDS", 300)
        # What was asked for goes on by itself.
        client.post(asked.url, {"code": code_of(secret)})
        assert not Authenticator.objects.exists(), "the recovery codes went with the last factor"
        removed = AuditEvent.objects.filter(action="user.second factor removed")
        assert {event.before["type"] for event in removed} == {"totp", "recovery_codes"}

    def test_confirming_gives_the_session_a_new_key_and_it_stays_listed(self, cast):
        client = signed_in(cast.alice)
        key = client.session.session_key
        client.post(reverse("confirm"), {"password": PASSWORD})
        assert client.session.session_key != key
        assert [one.is_this for one in client.get(reverse("me")).context["sessions"]] == [True]

    def test_confirming_is_limited(self, cast, limited, monkeypatch):
        client = signed_in(cast.alice)
        codes = [client.post(reverse("confirm"), {"password": "wrong"}).status_code for _ in range(6)]
        assert codes == [422] * 5 + [429]

    def test_confirming_never_leads_to_another_site(self, cast):
        client = signed_in(cast.alice)
        answer = client.post(reverse("confirm") + "?next=https://example.org/", {"password": PASSWORD})
        assert answer.url == reverse("mfa_index")

    def test_recovery_codes_are_shown_once_and_replaced(self, cast):
        client = signed_in(cast.alice)
        _, codes = app_set_up(client)
        again = client.get(reverse("mfa_view_recovery_codes")).content.decode()
        assert not any(code in again for code in codes)
        assert client.post(reverse("factor-codes-make")).url == reverse("mfa_view_recovery_codes")
        page = client.get(reverse("mfa_view_recovery_codes")).content.decode()
        assert not any(code in page for code in codes)
        other = Client()
        log_in(other, cast.alice)
        assert other.post(reverse("mfa_authenticate"), {"code": codes[0]}).status_code == 422
        assert AuditEvent.objects.filter(action="user.recovery codes made").count() == 1

    def test_without_a_factor_there_are_no_recovery_codes(self, cast):
        client = signed_in(cast.alice)
        assert client.post(reverse("factor-codes-make")).status_code == 422
        assert client.get(reverse("mfa_view_recovery_codes")).status_code == 404

    def test_nobody_removes_what_is_another_persons(self, cast):
        bobs = Authenticator.objects.create(
            user=cast.bob, type="webauthn", data={"name": "x", "credential": {}}
        )
        assert signed_in(cast.alice).post(reverse("factor-passkey-remove", args=[bobs.pk])).status_code == 404
        assert Authenticator.objects.filter(pk=bobs.pk).exists()


class TestSecrets:
    def test_they_are_stored_encrypted_and_never_logged(self, cast, caplog):
        caplog.set_level(logging.DEBUG)
        client = signed_in(cast.alice)
        secret, codes = app_set_up(client)
        stored = " ".join(str(data) for data in Authenticator.objects.values_list("data", flat=True))
        audited = " ".join(str((event.before, event.after)) for event in AuditEvent.objects.all())
        for text in (secret, *codes):
            assert text not in stored
            assert text not in audited
            assert text not in caplog.text

    def test_the_seed_has_160_bits_of_the_operating_system(self, cast, monkeypatch):
        asked = []
        real = secrets.token_bytes
        monkeypatch.setattr(secrets, "token_bytes", lambda n: asked.append(n) or real(n))
        first, second = (
            signed_in(person).get(reverse("mfa_activate_totp")).context["secret"]
            for person in (cast.alice, cast.bob)
        )
        assert first != second
        assert len(first.replace(" ", "")) == 32, "20 bytes in base32"
        assert asked.count(20) == 2

    def test_recovery_codes_have_26_bits(self, cast):
        _, codes = app_set_up(signed_in(cast.alice))
        assert all(len(code) == 8 and code.isdigit() for code in codes)
        assert 10**8 > 2**26

    def test_what_was_changed_or_made_elsewhere_is_not_unsealed(self):
        sealed = seal("a secret")
        assert unseal(sealed) == "a secret"
        assert sealed != seal("a secret"), "each with a nonce of its own"
        data = bytearray(base64.b64decode(sealed))
        data[-1] ^= 1
        with pytest.raises(SealedUnderAnotherKeyError):
            unseal(base64.b64encode(bytes(data)).decode())

    def test_under_another_secret_key_no_code_fits_and_the_log_says_why(self, cast, settings, caplog):
        secret, codes = app_set_up(signed_in(cast.alice))
        settings.SECRET_KEY = "another one"
        client = Client()
        log_in(client, cast.alice)
        for code in (code_of(secret), codes[0]):
            assert client.post(reverse("mfa_authenticate"), {"code": code}).status_code == 422
        assert "stored under another DJANGO_SECRET_KEY" in caplog.text


class TestRequired:
    @pytest.fixture(autouse=True)
    def required(self, settings):
        settings.SECOND_FACTOR = "required"

    @pytest.mark.parametrize(
        "page", ["/", "/studies/", "/datasets/", "/me/tokens/", "/status/", "/admin/", "/audit/"]
    )
    def test_pages_of_staff_lead_to_setting_it_up(self, cast, page):
        client = signed_in(cast.ann)
        answer = client.get(page, follow=True)
        assert answer.redirect_chain[-1][0] == reverse("mfa_index")
        assert "This site requires a second factor" in answer.content.decode()

    def test_once_it_is_set_up_they_open(self, cast):
        client = signed_in(cast.ann)
        assert client.post("/studies/new/", {}).url == reverse("mfa_index")
        app_set_up(client)
        for page in ("/", "/studies/", "/admin/", "/status/"):
            assert client.get(page).status_code == 200

    def test_signing_in_with_it_opens_them(self, cast):
        secret, _ = app_set_up(signed_in(cast.ann))
        client = Client()
        log_in(client, cast.ann)
        client.post(reverse("mfa_authenticate"), {"code": code_of(secret)})
        assert client.get("/admin/").status_code == 200

    def test_without_the_last_one_they_close_again(self, cast):
        client = signed_in(cast.ann)
        app_set_up(client)
        client.post(reverse("mfa_deactivate_totp"))
        assert client.get("/studies/").url == reverse("mfa_index")

    def test_the_account_and_signing_out_stay_open(self, cast):
        client = signed_in(cast.ann)
        assert client.get(reverse("me")).status_code == 200
        assert client.post(reverse("logout")).status_code == 302

    def test_annotators_need_none(self, cast):
        assert "open the link of the study" in signed_in(cast.carl).get("/").content.decode()


class TestReset:
    def test_an_administrator_resets_it_and_ends_all_sessions(self, cast):
        client = signed_in(cast.alice)
        app_set_up(client)
        admin = signed_in(cast.ann)
        sent = {"action": "second_factors_reset", "_selected_action": [str(cast.alice.pk)]}
        answer = admin.post(reverse("admin:annotation_user_changelist"), sent, follow=True)
        assert "Removed 2 second factors of 1 people" in answer.content.decode()
        assert not Authenticator.objects.exists()
        assert not is_in(client)
        event = AuditEvent.objects.get(action="user.second factor reset")
        assert (event.actor, event.subject, event.before) == (
            "ann",
            "alice",
            {"types": ["recovery_codes", "totp"]},
        )
        assert log_in(Client(), cast.alice).url == "/"
        again = admin.post(reverse("admin:annotation_user_changelist"), sent, follow=True)
        assert "Removed 0 second factors" in again.content.decode()

    @pytest.mark.parametrize("who", ["alice", "carl"])
    def test_nobody_else_does(self, cast, who):
        app_set_up(signed_in(cast.bob))
        sent = {"action": "second_factors_reset", "_selected_action": [str(cast.bob.pk)]}
        answer = signed_in(getattr(cast, who)).post(
            reverse("admin:annotation_user_changelist"), sent, follow=True
        )
        assert answer.status_code == 403
        assert Authenticator.objects.filter(user=cast.bob).count() == 2

    def test_the_command_is_for_an_administrator_who_is_alone(self, cast, capsys):
        app_set_up(signed_in(cast.ann))
        call_command("second_factor_reset", "ann")
        assert "Removed 2 second factors of ann" in capsys.readouterr().out
        assert not Authenticator.objects.exists()
        with pytest.raises(CommandError, match="no account named 'nobody'"):
            call_command("second_factor_reset", "nobody")

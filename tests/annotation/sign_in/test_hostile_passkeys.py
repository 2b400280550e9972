"""Passkeys that no browser made are refused in a sentence. Real ones: tests/browser/test_sign_in.py."""

import base64
import json

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import reverse

from tests.annotation.sign_in.conftest import app_set_up, log_in, signed_in

pytestmark = pytest.mark.django_db(transaction=True)


def b64(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


CLIENT = b64(json.dumps({"type": "webauthn.get", "challenge": "AAAA", "origin": "https://evil.example"}))
SENT = [
    "",
    "{",
    "null",
    "7",
    '"x"',
    "[]",
    "[[]]",
    "{}",
    '{"id": 1, "rawId": [], "response": 7}',
    '{"response": {}}',
    '{"response": {"userHandle": "AAAA"}}',
    '{"response": {"userHandle": 7}}',
    '{"response": {"userHandle": null}}',
    '{"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {"userHandle": "MQ", "clientDataJSON": "e30",'
    ' "authenticatorData": "AAAA", "signature": "AAAA"}}',
    json.dumps(
        {
            "id": "AAAA",
            "rawId": "AAAA",
            "type": "public-key",
            "response": {
                "userHandle": b64("1"),
                "clientDataJSON": CLIENT,
                "authenticatorData": "A" * 60,
                "attestationObject": "oA",
                "signature": "AAAA",
            },
            "clientExtensionResults": {},
        }
    ),
    "[" * 500 + "]" * 500,
    json.dumps({"response": {"userHandle": "x" * 100_000}}),
]


@pytest.mark.parametrize("credential", SENT)
def test_it_signs_nobody_in(cast, credential):
    client = Client()
    client.get(reverse("passkey-sign-in"), headers={"Accept": "application/json"})
    answer = client.post(reverse("passkey-sign-in"), {"credential": credential}, follow=True)
    assert answer.redirect_chain == [(reverse("login"), 302)]
    assert "This passkey wasn't accepted" in answer.content.decode().replace("&#x27;", "'")
    assert "_auth_user_id" not in client.session


def test_it_is_neither_added_nor_a_second_step_nor_a_confirmation(cast):
    client = signed_in(cast.alice)
    for credential in SENT:
        client.get(reverse("factor-passkey"))
        answer = client.post(reverse("factor-passkey"), {"credential": credential, "name": "x"})
        assert answer.status_code == 422, credential
    app_set_up(client)
    other = Client()
    log_in(other, cast.alice)
    Authenticator.objects.create(user=cast.bob, type="webauthn", data={"name": "x", "credential": {}})
    for credential in SENT:
        assert other.post(reverse("mfa_authenticate"), {"credential": credential}).status_code == 422
        assert client.post(reverse("confirm"), {"credential": credential}).status_code == 422
    assert Authenticator.objects.filter(user=cast.alice, type="webauthn").count() == 0
    assert "_auth_user_id" not in other.session


def test_asking_is_limited(limited):
    answers = [Client().post(reverse("passkey-sign-in")).status_code for _ in range(61)]
    assert answers[0] == 302
    assert answers[-1] == 429


def test_what_a_browser_needs_is_for_scripts_alone():
    assert Client().get(reverse("passkey-sign-in")).url == reverse("login")
    options = (
        Client().get(reverse("passkey-sign-in"), headers={"Accept": "application/json"}).json()["options"]
    )
    assert options["publicKey"]["userVerification"] == "required"
    assert not options["publicKey"].get("allowCredentials"), "nobody learns who has which"

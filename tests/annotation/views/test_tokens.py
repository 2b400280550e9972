"""Tokens of the API: the page, the scopes, and what ends one."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import TOKEN_SCOPES, ApiToken
from annotation.selectors.users import tokens_valid
from annotation.services.tokens import token_create, token_use
from tests.annotation.cast import client_of
from tests.annotation.factories import PASSWORD
from tests.races import all_at_once

pytestmark = pytest.mark.django_db
PAGE = "/me/tokens/"
FORM = {"name": "laptop", "scopes": ["judges:read"], "days": "90"}


def secret_of(response):
    found = re.search(r'id="token-secret">(tst_[\w-]+)<', response.content.decode())
    return found[1] if found else ""


def ask(secret, method="get"):
    return getattr(Client(), method)(
        "/api/v1/judges/", headers={"authorization": f"Bearer {secret}"}
    ).status_code


def test_a_token_is_made_shown_once_used_and_revoked(cast):
    client = client_of(cast.ann)
    secret = secret_of(client.post(PAGE, FORM))
    assert ask(secret) == 200
    page = client.get(PAGE).content.decode()
    assert "laptop" in page
    assert secret not in page
    assert secret[:12] in page
    token = ApiToken.objects.get()
    assert timedelta(days=89) < token.expires_at - timezone.now() <= timedelta(days=90)
    assert f"{token.last_used_at:%-d %b %Y}" in page
    address = reverse("token-revoke", args=[token.pk])
    for _ in range(2):
        assert client.post(address).url == PAGE
    assert ask(secret) == 401
    assert "You have no valid token" in client.get(PAGE).content.decode()


def test_nobody_else_sees_or_ends_it(cast):
    token, secret = token_create(user=cast.ann, name="hers")
    address = reverse("token-revoke", args=[token.pk])
    assert client_of(None).get(PAGE).status_code == client_of(None).post(address).status_code == 302
    assert client_of(cast.carl).get(PAGE).status_code == 403
    assert client_of(cast.alice).post(address).status_code == 404
    assert "hers" not in client_of(cast.alice).get(PAGE).content.decode()
    assert ask(secret) == 200


def test_a_form_sent_twice_makes_one(cast):
    client = client_of(cast.ann)
    assert client.post(PAGE, FORM).status_code == 200
    again = client.post(PAGE, FORM)
    assert again.status_code == 422
    assert "You have a valid token with this name" in again.content.decode()
    assert ApiToken.objects.count() == 1


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_forms_sent_at_once_make_one(cast):
    client = client_of(cast.ann)

    def send(_):
        own = Client()
        own.cookies.update(client.cookies)
        return own.post(PAGE, FORM).status_code

    codes = all_at_once(send, range(4))
    assert sorted(codes) == [200, 422, 422, 422]
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"scopes": []}, {"scopes": ["all"]}, {"days": "12345"}, {"days": ""}, {"name": "\x00"}],
)
def test_what_is_wrong_makes_none(cast, wrong):
    assert client_of(cast.ann).post(PAGE, FORM | wrong).status_code == 422
    assert not ApiToken.objects.exists()


def test_a_token_does_what_its_scopes_say(cast):
    secrets = {
        access: token_create(user=cast.ann, name=access, scopes=[f"judges:{access}"])[1]
        for access in ("read", "write")
    }
    assert ask(secrets["read"]) == 200
    assert ask(secrets["read"], "post") == 403
    assert ask(secrets["write"]) == 403
    assert ask(secrets["write"], "post") == 415, "it came past the scope, without a body"
    with pytest.raises(ValueError, match="expected datasets:read"):
        token_create(user=cast.ann, name="x", scopes=["admin"])


def test_a_change_of_password_ends_tokens(cast):
    _, secret = token_create(user=cast.ann, name="before", days=None)
    assert token_use(secret=secret)
    client = client_of(cast.ann)
    new = "another-good-secret-7"
    client.post("/me/password/", {"old_password": PASSWORD, "new_password1": new, "new_password2": new})
    cast.ann.refresh_from_db()
    assert cast.ann.check_password(new)
    assert token_use(secret=secret) is None
    assert not tokens_valid(cast.ann)
    assert token_use(secret=token_create(user=cast.ann, name="after")[1])


def test_the_command_line_gives_an_end_and_scopes(cast):
    def command(*arguments):
        out = StringIO()
        call_command("api_token", *arguments, stdout=out, stderr=StringIO())
        return out.getvalue()

    command("ann", "--name", "usual")
    command("ann", "--name", "for ever", "--no-expiry", "--scope", "read")
    usual, for_ever = (ApiToken.objects.get(name=name) for name in ("usual", "for ever"))
    assert usual.expires_at is not None
    assert for_ever.expires_at is None
    assert usual.scopes == sorted(TOKEN_SCOPES)
    assert for_ever.scopes == sorted(scope for scope in TOKEN_SCOPES if scope.endswith(":read"))
    assert "All  usual" in command("ann", "--list")
    command("ann", "--name", "narrow", "--scope", "studies:write")
    assert "studies (write)  narrow" in command("ann", "--list")

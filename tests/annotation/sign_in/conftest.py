import re

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from tests.annotation.factories import PASSWORD
from tests.annotation.sign_in.codes import code_of


@pytest.fixture(autouse=True)
def used_codes_forgotten():
    """A code works once, and the clock doesn't move on between two tests."""
    cache.clear()


def log_in(client, user, password=PASSWORD, **extra):
    return client.post(reverse("login"), {"username": user.username, "password": password}, **extra)


def signed_in(user, **extra):
    """A browser in which the person signed in with the password, a moment ago."""
    client = Client(**extra)
    assert log_in(client, user).status_code == 302
    return client


def app_set_up(client):
    """Set up an authenticator app; returns its secret and the page with the recovery codes."""
    page = client.get(reverse("mfa_activate_totp")).content.decode()
    secret = re.search(r'id="totp-secret"[^>]*>([^<]+)<', page)[1].replace(" ", "")
    answer = client.post(reverse("mfa_activate_totp"), {"code": code_of(secret)})
    assert answer.status_code == 302, answer.content.decode()
    cache.clear()
    codes = client.get(answer.url).content.decode()
    return secret, re.findall(r"^\d{8}$", codes.replace('id="recovery-codes">', "\n"), re.M)

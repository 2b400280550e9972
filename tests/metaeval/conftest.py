"""Who looks: a researcher or an administrator, logged in to the test's client."""

import pytest
from django.test import Client

from annotation.models import Role, User
from tests.annotation.factories import user_make


@pytest.fixture
def researcher(client: Client) -> User:
    user = user_make()
    client.force_login(user)
    return user


@pytest.fixture
def administrator(client: Client) -> User:
    user = user_make(role=Role.ADMINISTRATOR)
    client.force_login(user)
    return user

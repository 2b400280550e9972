"""An administrator who is logged in, and three pairs."""

import pytest
from django.test import Client

from annotation.models import Dataset, Role
from tests.annotation.factories import dataset_make, user_make


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(user_make(role=Role.ADMINISTRATOR))
    return client


@pytest.fixture
def dataset() -> Dataset:
    return dataset_make(pairs=3)

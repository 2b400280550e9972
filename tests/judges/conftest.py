"""An administrator who is logged in, three pairs, a server of made-up models, and a port at which nobody answers."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from annotation.models import Dataset, Role
from judges.backends.mock_server import MockServer, running_mock_server
from tests.annotation.factories import dataset_make, user_make


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(user_make(role=Role.ADMINISTRATOR))
    return client


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that no other process is given meanwhile; a server of ours may still be started at it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.fixture
def dataset() -> Dataset:
    return dataset_make(pairs=3)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with running_mock_server() as running:
        yield running


@pytest.fixture(scope="session")
def published(request: pytest.FixtureRequest) -> Path:
    """The judges as their authors keep them, which are not part of the project."""
    given = os.environ.get("TOUCHSTONE_PUBLISHED")
    path = Path(given) if given else request.getfixturevalue("shared_data") / "published"
    if not path.is_dir():
        pytest.skip(f"the authors' files are not at {path}; set TOUCHSTONE_PUBLISHED to where they are")
    return path

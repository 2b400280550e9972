"""What every test may ask for: the database under test, the real data, the cast of people."""

import os
from pathlib import Path

import pytest

from tests import services

ROOT = Path(__file__).resolve().parent.parent

# The database has to be known before Django's settings are read.
os.environ["DATABASE_URL"] = services.test_database_url()
os.environ.setdefault("TOUCHSTONE_VAR", str(services.scratch_directory()))
os.environ.setdefault("RATELIMIT_ENABLE", "false")
os.environ.setdefault("DATABASE_POOL_SIZE", "0")  # many short-lived threads; the pool has a test of its own
# Playwright runs its own event loop in the thread of the browser tests.
os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The public data with real labels, which is not part of the project."""
    path = Path(os.environ.get("TOUCHSTONE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"the public data is not at {path}; set TOUCHSTONE_DATA to where it is")
    return path


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Browser tests share one browser, so one worker runs them."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("browser"))
        elif item.get_closest_marker("redis"):
            item.add_marker(pytest.mark.xdist_group("redis"))

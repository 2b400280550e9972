"""A site to be backed up, and where it's restored."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.backup.sites import BackedSite, site_made


@pytest.fixture
def site(django_db_setup: None, tmp_path: Path) -> Iterator[BackedSite]:
    with site_made(tmp_path, "site") as made:
        yield made


@pytest.fixture
def elsewhere(django_db_setup: None, tmp_path: Path) -> Iterator[BackedSite]:
    """Another machine: an empty database and an empty folder."""
    with site_made(tmp_path, "elsewhere", tables=False) as made:
        yield made

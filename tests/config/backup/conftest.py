"""A site to be backed up, and where it's restored."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from config.backup.sqlite import SqliteDatabase
from tests import migrated
from tests.config.backup.sites import BackedSite, site_made
from tests.config.backup.sqlite_rows import annotator_insert


@pytest.fixture
def site(django_db_setup: None, tmp_path: Path) -> Iterator[BackedSite]:
    with site_made(tmp_path, "site") as made:
        yield made


@pytest.fixture
def elsewhere(django_db_setup: None, tmp_path: Path) -> Iterator[BackedSite]:
    """Another machine: an empty database and an empty folder."""
    with site_made(tmp_path, "elsewhere", tables=False) as made:
        yield made


@pytest.fixture
def here(settings: Any, tmp_path: Path) -> Path:
    """The folders of the site in this process."""
    settings.VAR_DIR = tmp_path / "var"
    for name in ("IMAGES_DIR", "IMPORTS_DIR", "BACKUPS_DIR"):
        folder = settings.VAR_DIR / name.removesuffix("_DIR").lower()
        folder.mkdir(parents=True)
        setattr(settings, name, folder)
    settings.SECRET_KEY = "the site's own"
    return tmp_path


@pytest.fixture
def database(here: Path) -> SqliteDatabase:
    """A database of SQLite with the site's tables and a few rows."""
    path = here / "site.sqlite3"
    migrated.copy_to(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    for k in range(5):
        annotator_insert(path, f"person {k}")
    return SqliteDatabase(path)

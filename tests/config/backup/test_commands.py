"""The commands, in processes of their own, as operators and timers run them."""

import base64
import os
from contextlib import contextmanager

import pytest

from tests.config.backup.sites import IS_POSTGRES, BackedSite
from tests.upgrade import stored

pytestmark = [pytest.mark.both_databases, pytest.mark.service, pytest.mark.slow, pytest.mark.long]

ANNOTATORS = "SELECT external_id FROM annotation_annotator ORDER BY id"
MAKE = "from annotation.models import Annotator\nAnnotator.objects.create(source='test', external_id={!r})"


@contextmanager
def connected(site: BackedSite):
    """Another client is connected to the database. SQLite does not say who is."""
    if not IS_POSTGRES:
        yield
        return
    import psycopg

    with psycopg.connect(site.url):
        yield


def test_from_one_site_to_another_and_back(site: BackedSite, elsewhere: BackedSite) -> None:
    key = base64.b64encode(os.urandom(32)).decode()
    site.run(MAKE.format("Åsa"))
    said = site.manage("backup", "--keep", "1")
    assert "isn't encrypted" in said
    first = site.backups[0]
    site.manage("backup", "--keep", "0", fails=True)
    said = site.manage("backup", "--keep", "1", BACKUP_KEY=key)
    assert "isn't encrypted" not in said
    assert f"Deleted {first}" in said
    (backup,) = site.backups
    assert backup.name.endswith(".tar.enc")
    assert "Give its key" in site.manage("verify_backup", fails=True)
    assert "verified" in site.manage("backup", "--verify", str(backup), BACKUP_KEY=key)

    assert "Restored" in elsewhere.manage("restore", str(backup), BACKUP_KEY=key)
    assert elsewhere.rows(ANNOTATORS) == [("Åsa",)]
    elsewhere.run(MAKE.format("Bo"))  # ids go on after those that were restored
    assert elsewhere.rows(ANNOTATORS) == [("Åsa",), ("Bo",)]

    later = elsewhere.backup()
    assert "--replace" in site.manage("restore", str(later), fails=True)
    assert site.rows(ANNOTATORS) == [("Åsa",)]
    with connected(site):
        words = ["restore", str(later), "--replace"]
        if IS_POSTGRES:
            assert "1 other sessions are connected" in site.manage(*words, fails=True)
            words.append("--ignore-sessions")
        site.manage(*words)
    assert site.rows(ANNOTATORS) == [("Åsa",), ("Bo",)]
    assert "No migrations to apply" in site.manage("migrate")


def test_a_backup_of_an_older_version_is_migrated_forward(elsewhere: BackedSite, tmp_path) -> None:
    @contextmanager
    def on_sqlite():
        yield stored.stored_on_sqlite(tmp_path)

    with stored.stored_on_postgres(tmp_path) if IS_POSTGRES else on_sqlite() as old:
        older = BackedSite(old.url, tmp_path / "older")
        before = older.rows("SELECT id, choice, comment FROM annotation_label ORDER BY id")
        backup = older.backup()
        assert "verified" in older.manage("verify_backup")
    said = elsewhere.manage("restore", str(backup))
    assert "Migrating from version" in said
    assert elsewhere.rows("SELECT id, choice, comment FROM annotation_label ORDER BY id") == before
    assert len(before) > 5
    assert elsewhere.rows("SELECT count(evidence) FROM annotation_label") == [(0,)]  # a column of today
    assert "No migrations to apply" in elsewhere.manage("migrate")

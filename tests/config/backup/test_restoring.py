"""Restoring and verifying: what is refused before anything is written, and what stays when a restore fails."""

import os
import shutil
import sqlite3
from collections import namedtuple
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.cache import cache

from config.backup import restoring
from config.backup.archive import BackupFile, TableContent
from config.backup.errors import BackupError, DamagedBackupError
from config.backup.making import backup_make
from config.backup.restoring import RestoreOptions, backup_restore, backup_verify, release_of
from config.backup.sqlite import SqliteDatabase
from tests.config.backup.archives import rewritten
from tests.config.backup.sqlite_rows import annotator_insert, annotator_names

pytestmark = pytest.mark.service  # the first test of a run migrates a database in a process of its own

Usage = namedtuple("Usage", "total used free")
KEY = b"k" * 32
PEOPLE = [f"person {k}" for k in range(5)]


@pytest.fixture
def backup(database: SqliteDatabase, here: Path, settings) -> Path:
    image = here / "var" / "images" / "ab" / ("ab" * 32)
    image.parent.mkdir()
    image.write_bytes(b"picture")
    (here / "var" / "imports" / "0f.csv").write_bytes(b"id\n")
    path = backup_make(database, here / "made.tar", None, lambda _: None).path
    # From here on, another machine.
    for name in ("IMAGES_DIR", "IMPORTS_DIR", "VAR_DIR"):
        folder = here / "elsewhere" / name.removesuffix("_DIR").lower()
        folder.mkdir(parents=True)
        setattr(settings, name, folder)
    settings.SECRET_KEY = "made on the other machine"
    return path


@pytest.fixture
def target(here: Path) -> SqliteDatabase:
    return SqliteDatabase(here / "elsewhere" / "site.sqlite3")


def restored(path: Path, target: SqliteDatabase, **options):
    with BackupFile(path, (KEY,)) as file:
        return backup_restore(file, target, RestoreOptions(**options), lambda _: None)


def verified(path: Path, target: SqliteDatabase):
    with BackupFile(path, (KEY,)) as file:
        return backup_verify(file, target, lambda _: None)


def filled(target: SqliteDatabase, source: SqliteDatabase, name: str) -> None:
    """A site with a row of its own."""
    shutil.copyfile(source.path, target.path)
    with closing(sqlite3.connect(target.path)) as connection, connection:
        connection.execute("DELETE FROM annotation_annotator")
    annotator_insert(target.path, name)


def untouched(here: Path, target: SqliteDatabase) -> bool:
    files = [
        path for path in (here / "elsewhere").rglob("*") if path.is_file() and path.name != "backup.lock"
    ]
    return files in ([], [target.path])


def test_the_database_the_files_and_the_secret_are_restored(backup, target, here):
    cache.set("kept", 1)
    manifest, tables = restored(backup, target)
    assert annotator_names(target.path) == PEOPLE
    there = here / "elsewhere"
    image = there / "images" / "ab" / ("ab" * 32)
    assert image.read_bytes() == b"picture"
    assert (there / "imports" / "0f.csv").read_bytes() == b"id\n"
    secret = there / "var" / "secret_key"
    assert secret.read_text() == "the site's own"
    assert secret.stat().st_mode & 0o777 == 0o600
    assert {table.name for table in tables} == manifest.tables.keys()
    assert all(table.in_backup == table.restored for table in tables)
    assert cache.get("kept") is None
    assert not (there / "var" / "backup-scratch").exists()


def test_a_database_with_rows_is_refused_and_replaced_if_allowed(backup, target, database, here):
    filled(target, database, "someone else")
    with pytest.raises(BackupError, match=r"annotation_annotator.*--replace"):
        restored(backup, target)
    assert annotator_names(target.path) == ["someone else"]
    assert untouched(here, target)
    restored(backup, target, replace=True)
    assert annotator_names(target.path) == PEOPLE


def test_tables_that_only_migrate_has_filled_are_empty(backup, target, database):
    shutil.copyfile(database.path, target.path)
    with closing(sqlite3.connect(target.path)) as connection, connection:
        connection.execute("DELETE FROM annotation_annotator")
    restored(backup, target)
    assert annotator_names(target.path) == PEOPLE


def test_what_others_read_meanwhile_is_whole_before_and_after(backup, target, database):
    """A process that was left running reads the old rows, then the new ones; its file isn't taken from it."""
    filled(target, database, "someone else")
    with closing(sqlite3.connect(target.path)) as reader:
        reader.execute("PRAGMA journal_mode = WAL")
        assert reader.execute("SELECT external_id FROM annotation_annotator").fetchall() == [
            ("someone else",)
        ]
        restored(backup, target, replace=True)
        found = reader.execute("SELECT external_id FROM annotation_annotator ORDER BY id").fetchall()
    assert found == [(name,) for name in PEOPLE]


def test_a_database_that_stays_locked_is_not_waited_for_forever(backup, target, database, monkeypatch):
    monkeypatch.setattr("config.backup.sqlite.BUSY_SECONDS", 0.2)
    filled(target, database, "someone else")
    with closing(sqlite3.connect(target.path)) as writer:
        writer.isolation_level = None
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BackupError, match="locked"):
            restored(backup, target, replace=True)
    assert annotator_names(target.path) == ["someone else"]


def test_a_damaged_backup_is_refused_before_anything_is_written(backup, target, here):
    whole = bytearray(backup.read_bytes())
    whole[whole.index(b"\x1f\x8b") + 5000] ^= 1  # of the compressed database
    backup.write_bytes(whole)
    with pytest.raises(DamagedBackupError):
        restored(backup, target)
    assert untouched(here, target)


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest, _: replace(manifest, version="99.0"),
        lambda manifest, _: replace(manifest, migrations=[*manifest.migrations, "annotation.9999_later"]),
    ],
    ids=["version", "migration"],
)
def test_a_backup_of_a_newer_version_is_refused(backup, target, here, change):
    with pytest.raises(BackupError, match=r"newer than this one.*Install version"):
        restored(rewritten(backup, change), target)
    assert untouched(here, target)


def test_a_backup_of_another_database_is_refused(backup, target, here):
    path = rewritten(
        backup, lambda manifest, _: replace(manifest, vendor="postgresql", server="PostgreSQL 17.2")
    )
    with pytest.raises(BackupError, match=r"is of PostgreSQL 17.2; DATABASE_URL names a database of sqlite"):
        restored(path, target)
    with pytest.raises(BackupError, match=r"is of PostgreSQL 17.2"):
        verified(path, target)
    assert untouched(here, target)


def test_other_rows_than_the_manifest_says_are_refused_and_the_old_ones_stay(backup, target, database):
    """A backup that is whole in itself, but whose database isn't the one that was counted."""
    filled(target, database, "someone else")
    for wrong, said in (
        (TableContent(6, "0" * 64), "annotation_annotator has 5 rows, the backup 6"),
        (TableContent(5, "0" * 64), "annotation_annotator has other content in its 5 rows"),
    ):
        path = rewritten(
            backup,
            lambda manifest, _, wrong=wrong: replace(
                manifest, tables=manifest.tables | {"annotation_annotator": wrong}
            ),
        )
        with pytest.raises(BackupError, match=said):
            restored(path, target, replace=True)
        with pytest.raises(BackupError, match=said):
            verified(path, target)
        path.unlink()
    assert annotator_names(target.path) == ["someone else"]


def test_tables_on_one_side_only_are_refused(backup, target):
    def change(manifest, _):
        tables = {name: table for name, table in manifest.tables.items() if name != "django_session"}
        return replace(manifest, tables=tables | {"other": TableContent(0, "0" * 64)})

    with pytest.raises(BackupError, match="django_session is not in the backup; other is not restored"):
        verified(rewritten(backup, change), target)


def test_a_dump_that_is_none_is_refused(backup, target, here):
    def cut(_, content):
        content["database/000000"] = content["database/000000"][:-100]

    def other(_, content):
        content["database/000000"] = b"not compressed"

    for change, said in ((cut, "ends too early"), (other, "can't be unpacked")):
        with pytest.raises(DamagedBackupError, match=said):
            restored(rewritten(backup, change), target)
        (here / f"changed-{backup.name}").unlink()
    assert not target.path.exists()


def test_verifying_changes_nothing(backup, target, here):
    _, tables = verified(backup, target)
    assert {table.name: table.restored for table in tables}["annotation_annotator"] == 5
    assert untouched(here, target)
    assert not list((here / "elsewhere").rglob("*.sqlite3"))


def test_no_room_is_refused(backup, target, here, monkeypatch):
    monkeypatch.setattr(restoring.shutil, "disk_usage", lambda folder: Usage(0, 0, 2**30))
    with pytest.raises(BackupError, match="free disk space"):
        restored(backup, target)
    assert untouched(here, target)


class TestSecretOfTheEnvironment:
    """DJANGO_SECRET_KEY is set, so a file isn't read."""

    @pytest.fixture(autouse=True)
    def _set(self, monkeypatch):
        monkeypatch.setenv("DJANGO_SECRET_KEY", "made on the other machine")

    def test_another_key_is_refused_with_what_to_do(self, backup, target, here):
        with pytest.raises(BackupError, match=r"--secret-to FILE.*--keep-secret"):
            restored(backup, target)
        assert untouched(here, target)

    def test_it_can_be_kept(self, backup, target, here):
        restored(backup, target, keep_secret=True)
        assert not (here / "elsewhere" / "var" / "secret_key").exists()
        assert annotator_names(target.path) == PEOPLE

    def test_that_of_the_backup_can_be_written_to_a_file(self, backup, target, here):
        restored(backup, target, secret_to=here / "key")
        assert (here / "key").read_text() == "the site's own"
        assert (here / "key").stat().st_mode & 0o777 == 0o600
        assert not (here / "elsewhere" / "var" / "secret_key").exists()

    def test_the_same_one_needs_nothing(self, backup, target, here, settings):
        settings.SECRET_KEY = "the site's own"
        restored(backup, target)
        assert not (here / "elsewhere" / "var" / "secret_key").exists()


def test_an_image_that_is_there_stays_and_is_young(backup, target, here):
    image = here / "elsewhere" / "images" / "ab" / ("ab" * 32)
    image.parent.mkdir()
    image.write_bytes(b"picture")
    os.utime(image, (1, 1))
    before = image.stat().st_ino
    restored(backup, target)
    assert image.stat().st_ino == before
    assert image.stat().st_mtime > 10**9


def test_versions_are_compared_as_numbers():
    assert release_of("0.10.0") > release_of("0.9.12")
    assert release_of("1.0") == release_of("1.0.0") == release_of("1")
    assert release_of("1.2.0.dev3") == (1, 2)
    assert release_of("source") == ()

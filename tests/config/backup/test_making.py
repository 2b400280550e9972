"""Making a backup: what is in it, what it's refused for, and what it leaves."""

import fcntl
import os
import shutil
import sqlite3
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from config.backup import making, sqlite
from config.backup.archive import SECRET
from config.backup.errors import BackupError
from config.backup.making import backup_make
from config.backup.names import backup_name, backups_in, backups_keep, keep_check, newest_backup
from config.backup.sqlite import SqliteDatabase, SqliteSnapshot
from tests.config.backup.archives import content_of, manifest_of
from tests.config.backup.sqlite_rows import annotator_insert, image_insert

pytestmark = pytest.mark.service  # the first test of a run migrates a database in a process of its own

Usage = namedtuple("Usage", "total used free")
KEY = b"k" * 32
DIGESTS = [f"{k:02x}" * 32 for k in range(10)]


def made(database: SqliteDatabase, place: Path, key: bytes | None = None) -> Path:
    return backup_make(database, place, key, lambda _: None).path


def image_store(here: Path, digest: str, content: bytes = b"picture") -> Path:
    path = here / "var" / "images" / digest[:2] / digest
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def test_it_holds_the_database_the_files_the_secret_and_what_they_are(database, here):
    image_store(here, DIGESTS[0])
    image_store(here, DIGESTS[1], b"another")
    (here / "var" / "images" / "00" / ".new-unfinished").write_bytes(b"half")
    (here / "var" / "imports" / "0f.csv").write_bytes(b"id,text\n")
    (here / "var" / "imports" / "0f.csv.errors").write_bytes(b"{}\n")
    image_insert(database.path, *DIGESTS[:3])
    path = made(database, here / "var" / "backups")

    manifest, content = manifest_of(path), content_of(path)
    assert content.keys() == {
        *(f"images/{one[:2]}/{one}" for one in DIGESTS[:2]),
        *("imports/0f.csv", "imports/0f.csv.errors", "database/000000", SECRET),
    }
    assert content[SECRET] == b"the site's own"
    assert content["imports/0f.csv"] == b"id,text\n"
    assert manifest.vendor == "sqlite"
    assert manifest.missing_images == 1  # a row of which there is no file
    assert manifest.tables["annotation_annotator"].rows == 5
    with closing(sqlite3.connect(database.path)) as connection:
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        } - {"sqlite_sequence"}
        (applied,) = connection.execute("SELECT count(*) FROM django_migrations").fetchone()
    assert manifest.tables.keys() == tables
    assert len(manifest.migrations) == applied
    assert "annotation.0001_initial" in manifest.migrations
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert not (here / "var" / "backup-scratch").exists()


def test_two_backups_of_the_same_rows_have_the_same_hashes_and_a_changed_cell_another(database, here):
    one = manifest_of(made(database, here / "one.tar"))
    assert manifest_of(made(database, here / "two.tar")).tables == one.tables
    with closing(sqlite3.connect(database.path)) as connection, connection:
        connection.execute(
            "UPDATE annotation_annotator SET external_id = 'person 9' WHERE external_id = 'person 4'"
        )
    three = manifest_of(made(database, here / "three.tar"))
    assert {name for name in one.tables if one.tables[name] != three.tables[name]} == {"annotation_annotator"}


def test_with_a_key_nothing_of_it_can_be_read(database, here):
    path = made(database, here / "var" / "backups", KEY)
    assert path.name.endswith(".tar.enc")
    for text in (b"the site's own", b"manifest", b"database/"):
        assert text not in path.read_bytes()
    assert manifest_of(path, KEY).tables["annotation_annotator"].rows == 5


class BusySite(SqliteDatabase):
    """A site whose files come and go while the backup is made: `before` the snapshot, and `after` it."""

    before = after = staticmethod(lambda: None)

    @contextmanager
    def snapshot(self, scratch: Path) -> Iterator[SqliteSnapshot]:
        self.before()
        with super().snapshot(scratch) as taken:
            self.after()
            yield taken


def test_every_file_that_a_row_of_the_snapshot_names_is_there(database, here):
    images = [image_store(here, digest) for digest in DIGESTS[:2]]
    upload = here / "var" / "imports" / "0f.csv"
    upload.write_bytes(b"half of ")

    def before() -> None:
        image_store(here, DIGESTS[2])
        image_insert(database.path, *DIGESTS[:3])
        upload.write_bytes(b"half of it, and now the whole")

    def after() -> None:
        images[0].unlink()  # with its dataset, which the snapshot still has
        image_store(here, DIGESTS[3])
        image_insert(database.path, DIGESTS[3])

    site = BusySite(database.path)
    BusySite.before, BusySite.after = staticmethod(before), staticmethod(after)
    path = made(site, here / "made.tar")
    content = content_of(path)
    assert {name for name in content if name.startswith("images/")} >= {
        f"images/{one[:2]}/{one}" for one in DIGESTS[:3]
    }
    assert content["imports/0f.csv"] == b"half of it, and now the whole"
    assert manifest_of(path).missing_images == 0


def test_commits_of_others_neither_enter_a_copy_nor_start_it_again(database, here, monkeypatch):
    """Page by page, with a commit after each: without a read transaction it would never end."""
    monkeypatch.setattr(sqlite, "PAGES_A_STEP", 1)
    steps = 0

    def commit(folder: Path) -> Usage:
        nonlocal steps
        if folder.name == "backup-scratch":  # not the look at the folder of backups before
            steps += 1
            annotator_insert(database.path, f"late {steps}")
        return Usage(0, 0, 2**40)

    monkeypatch.setattr(sqlite.shutil, "disk_usage", commit)
    path = made(database, here / "made.tar")
    pages = database.size() // 4096
    assert 100 < steps < 2 * pages
    assert manifest_of(path).tables["annotation_annotator"].rows == 5


def test_it_is_refused_where_there_is_no_room(database, here, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(2**40, 0, 2**30))
    with pytest.raises(BackupError, match=r"expected 1,0.* MiB of free disk space, found 1,024.0 MiB"):
        made(database, here / "var" / "backups")
    assert list((here / "var" / "backups").iterdir()) == []


def test_a_disk_that_fills_leaves_no_backup(database, here, monkeypatch):
    monkeypatch.setattr(making, "CHECK_EVERY", 1)
    free = iter([2**40, *[2**29] * 100])
    monkeypatch.setattr(making.shutil, "disk_usage", lambda folder: Usage(0, 0, next(free)))
    with pytest.raises(BackupError, match="the disk is full"):
        made(database, here / "var" / "backups", KEY)
    assert list((here / "var" / "backups").iterdir()) == []
    assert not (here / "var" / "backup-scratch").exists()


def test_no_file_is_overwritten(database, here):
    there = here / "there.tar"
    there.write_text("mine")
    with pytest.raises(BackupError, match="there is a file already"):
        made(database, there)
    with pytest.raises(BackupError, match="no such folder"):
        made(database, here / "missing" / "made.tar")
    assert there.read_text() == "mine"


def test_one_at_a_time(database, here):
    with (here / "var" / "backup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BackupError, match="is running"):
            made(database, here / "made.tar")
    made(database, here / "made.tar")


def test_a_database_without_tables_or_that_is_not_there_is_refused(here):
    with pytest.raises(BackupError, match="there's no such database"):
        made(SqliteDatabase(here / "missing.sqlite3"), here / "made.tar")
    with closing(sqlite3.connect(here / "empty.sqlite3")) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
    with pytest.raises(BackupError, match="nothing to back up"):
        made(SqliteDatabase(here / "empty.sqlite3"), here / "made.tar")
    (here / "text.sqlite3").write_text("Not a database. " * 100)
    with pytest.raises(BackupError, match="not a database"):
        made(SqliteDatabase(here / "text.sqlite3"), here / "made.tar")
    assert not list(here.glob("*.tar*"))


def test_what_interrupted_backups_left_goes_after_a_day(database, here):
    folder = here / "var" / "backups"
    old, young, other = (
        folder / name
        for name in (".touchstone-1.tar-0f.partial", ".touchstone-2.tar-0f.partial", "mine.partial")
    )
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 90_000,) * 2)
    path = made(database, folder)
    assert sorted(folder.iterdir()) == sorted([young, other, path])


def test_names_sort_by_time_and_never_repeat(tmp_path):
    at = datetime(2026, 7, 22, 3, 15, 9, tzinfo=UTC)
    names = []
    for _ in range(3):
        path = backup_name(at, tmp_path, encrypted=False)
        path.touch()
        names.append(path.name)
    assert names == [f"touchstone-20260722T031509Z{end}.tar" for end in ("", "-1", "-2")]
    assert backup_name(at, tmp_path, encrypted=True).name == "touchstone-20260722T031509Z.tar.enc"
    with pytest.raises(BackupError, match="no backup"):
        newest_backup(tmp_path / "empty")


def test_the_newest_are_kept_and_nothing_else_is_deleted(tmp_path):
    names = [f"touchstone-2026072{k}T031509Z.tar{'.enc' * (k % 2)}" for k in range(5)]
    others = [
        "touchstone-20260701T000000Z.tar.gz",
        "notes.txt",
        "touchstone-july.tar",
        ".touchstone-x.partial",
    ]
    for name in (*names, *others):
        (tmp_path / name).touch()
    assert newest_backup(tmp_path).name == names[-1]
    gone = backups_keep(tmp_path, 2, tmp_path / names[-1])
    assert [path.name for path in gone] == names[:3]
    assert {path.name for path in tmp_path.iterdir()} == {*names[3:], *others}
    # The one that was just made stays, even if a clock went backwards.
    assert [path.name for path in backups_keep(tmp_path, 1, tmp_path / names[3])] == [names[4]]
    assert [path.name for path in backups_in(tmp_path)] == [names[3]]
    with pytest.raises(BackupError, match="--keep: expected 1 or more, found 0"):
        keep_check(0)

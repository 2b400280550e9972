"""Making a backup: files, database, secret key and manifest in one file, written under another name and renamed."""

import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO

from django.conf import settings

from config.backup.archive import SECRET, ArchiveWriter, Manifest
from config.backup.databases import SiteDatabase
from config.backup.encryption import EncryptingWriter
from config.backup.errors import BackupError
from config.backup.files import FilesBackup, stored_files
from config.backup.names import PARTIAL, backup_name, partials_remove

DISTRIBUTION = "touchstone-judge"
LEFT_FREE = 2**30
"""Bytes that a backup leaves free on each disk: the site goes on writing."""
CHECK_EVERY = 64 * 2**20
IMAGE_ROWS = ("annotation_datasetimage", "digest")
"""The table and the column that name the images which datasets show."""


@dataclass(frozen=True, slots=True)
class MadeBackup:
    """A backup that was made."""

    path: Path
    size: int
    manifest: Manifest
    encrypted: bool


def application_version() -> str:
    """Return the version that is installed, or `source` in a checkout that isn't."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "source"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A private folder beside the site's own data, for one backup, restore or verification at a time.

    What an interrupted one left there is removed by the next.

    Raises
    ------
    BackupError
        Another one is running.
    """
    folder = Path(settings.VAR_DIR) / "backup-scratch"
    with (Path(settings.VAR_DIR) / "backup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(
                "Another backup, restore or verification of this site is running. Wait for it."
            ) from None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def backup_make(
    database: SiteDatabase, place: Path, key: bytes | None, tell: Callable[[str], None]
) -> MadeBackup:
    """Make a backup while the site is running.

    Parameters
    ----------
    place
        A folder, in which the backup gets a name by its time, or the file to make.
    key
        Of 32 bytes, to encrypt it; None leaves it readable.
    tell
        Is given a sentence for each step.

    Raises
    ------
    BackupError
        There's no room, the file is there, or the database can't be read. Nothing is left that looks like a backup.
    """
    now = datetime.now(UTC)
    if place.is_dir():
        place = backup_name(now, place, encrypted=key is not None)
    elif place.exists():
        raise BackupError(f"{place}: there is a file already. Name a folder, or another file.")
    elif not place.parent.is_dir():
        raise BackupError(f"{place.parent}: there's no such folder.")
    with scratch_folder() as scratch:
        partials_remove(place.parent)
        _room_check(database, scratch, place.parent)
        with _partial_file(place) as file:
            sealed = EncryptingWriter(file, key) if key is not None else None
            archive = ArchiveWriter(sealed or file)
            manifest = _written(archive, database, scratch, tell)
            archive.finish(manifest)
            if sealed is not None:
                sealed.finish()
    return MadeBackup(place, place.stat().st_size, manifest, key is not None)


def _written(
    archive: ArchiveWriter, database: SiteDatabase, scratch: Path, tell: Callable[[str], None]
) -> Manifest:
    """Write everything but the manifest, and return that."""
    files = FilesBackup.into(archive)
    tell(f"Files: {files.add():,}.")
    size = database.size()
    with database.snapshot(scratch) as snapshot:
        taken_at = datetime.now(UTC)
        migrations = snapshot.migrations()
        tell(f"Database: {snapshot.server}, {mebibytes_of(size)}.")
        archive.add_dump(snapshot.dump())
        tell("Counts and hashes of all tables.")
        tables = snapshot.tables()
        # After the snapshot: files of rows that came since the first look.
        more = files.add()
        missing = sum(digest not in files.images for digest in snapshot.column(*IMAGE_ROWS))
        server = snapshot.server
    if more:
        tell(f"Files that were added meanwhile: {more:,}.")
    archive.add_bytes(SECRET, settings.SECRET_KEY.encode())
    return Manifest(
        version=application_version(),
        created_at=taken_at.isoformat(timespec="seconds"),
        vendor=database.vendor,
        server=server,
        database_bytes=size,
        migrations=migrations,
        tables=tables,
        members=archive.members,
        missing_images=missing,
    )


def _room_check(database: SiteDatabase, scratch: Path, target: Path) -> None:
    """Raise BackupError where there's no room for a copy of SQLite's file, for the files and half of the database."""
    size = database.size()
    copy = size if database.vendor == "sqlite" else 0
    # A compressed dump is a third of the database or less; while it's written, the rest of the disk is watched.
    output = size // 2 + sum(one.size for one in stored_files())
    if scratch.stat().st_dev == target.stat().st_dev:
        room_check(target, copy + output)
    else:
        room_check(scratch, copy)
        room_check(target, output)


def room_check(folder: Path, needed: int) -> None:
    """Raise BackupError where a folder's disk hasn't so many bytes beside those that stay free."""
    free = shutil.disk_usage(folder).free
    if needed + LEFT_FREE > free:
        raise BackupError(
            f"{folder}: expected {mebibytes_of(needed + LEFT_FREE)} of free disk space, found {mebibytes_of(free)}. "
            f"({mebibytes_of(LEFT_FREE)} of that stay free.)"
        )


def mebibytes_of(n: int) -> str:
    """Return so many bytes in words."""
    return f"{n / 2**20:,.1f} MiB"


class PartialFile:
    """A file that is written until the disk has no more than `LEFT_FREE` bytes left. Closed, it takes no more."""

    def __init__(self, file: IO[bytes], folder: Path) -> None:
        self._file, self._folder, self._unchecked = file, folder, 0

    def write(self, data: bytes) -> int:
        """Write some bytes; raises BackupError where the disk is full."""
        if self._file.closed:  # an archive that stopped halfway writes its end
            return len(data)
        self._unchecked += len(data)
        if self._unchecked >= CHECK_EVERY:
            self._unchecked = 0
            if shutil.disk_usage(self._folder).free < LEFT_FREE:
                raise BackupError(
                    f"{self._folder}: the disk is full: a backup leaves {mebibytes_of(LEFT_FREE)} free. Free some "
                    "space, or use another folder."
                )
        return self._file.write(data)


@contextmanager
def _partial_file(place: Path) -> Iterator[PartialFile]:
    """A file beside a place, which takes that place when all of it is on the disk."""
    partial = place.with_name(f".{place.name}-{secrets.token_hex(4)}{PARTIAL}")
    if not partial.name.startswith(".touchstone-"):
        partial = partial.with_name(f".touchstone-{partial.name.removeprefix('.')}")
    folder = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield PartialFile(file, place.parent)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(place)
        os.fsync(folder)
    finally:
        partial.unlink(missing_ok=True)
        os.close(folder)

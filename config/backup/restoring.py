"""Restoring a backup, and verifying one by restoring it into a scratch database."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.loader import MigrationLoader

from config.backup.archive import IMAGES, IMPORTS, SECRET, BackupFile, Manifest, TableContent
from config.backup.databases import SiteDatabase, counts_compare
from config.backup.errors import BackupError
from config.backup.files import file_write, stored_file_restore, stored_place
from config.backup.making import LEFT_FREE, application_version, mebibytes_of, scratch_folder
from config.backup.sqlite import VENDOR as SQLITE
from config.backup.sqlite import SqliteDatabase

SECRET_FILE = "secret_key"  # noqa: S105  (a name in VAR_DIR)
_RELEASE = re.compile(r"\d+(?:\.\d+)*")
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """What an operator allows."""

    replace: bool = False
    """A database with rows may be replaced."""
    keep_secret: bool = False
    """The site's secret key stays where the backup has another one."""
    secret_to: Path | None = None
    """A file to write the backup's secret key to."""
    ignore_sessions: bool = False
    """Others may be connected to the database."""


@dataclass(frozen=True, slots=True)
class RestoredTable:
    """Rows of a table in a backup and where it was restored."""

    name: str
    in_backup: int
    restored: int


def backup_restore(
    file: BackupFile, database: SiteDatabase, options: RestoreOptions, tell: Tell
) -> tuple[Manifest, list[RestoredTable]]:
    """Restore a backup into the site, and migrate it forward if it's of an older version.

    Everything is checked before anything is written. Files come first, since they harm nothing; then the database, in
    one transaction; then the secret key.

    Raises
    ------
    BackupError
        The backup can't be restored here; the message says why and what to do.
    """
    with scratch_folder() as scratch:
        tell("Checking the hashes of all members.")
        manifest = file.checked()
        older = _fits(manifest, database)
        # Sessions of this command would be counted, wait for it, or keep reading what was there.
        _connections_close()
        _may_replace(database, options)
        secret = _secret_of(file, manifest)
        takes_secret = _secret_check(secret, options)
        _room_check(manifest, database, scratch)
        tell(f"Files: {_files_restore(file, manifest):,}.")
        tell("Database.")
        tables = database.restore(file.dump(manifest), manifest, scratch)
        if options.secret_to is not None:
            _secret_write(options.secret_to, secret)
        if takes_secret:
            _secret_write(Path(settings.VAR_DIR) / SECRET_FILE, secret)
    if older:
        tell(f"Migrating from version {manifest.version} to {application_version()}.")
        call_command("migrate", interactive=False, verbosity=0)
    # What is kept there is of the database that was replaced.
    cache.clear()
    return manifest, _compared(tables, manifest)


def backup_verify(
    file: BackupFile, database: SiteDatabase, tell: Tell
) -> tuple[Manifest, list[RestoredTable]]:
    """Restore a backup into a scratch database, and compare counts and content hashes of every table.

    Parameters
    ----------
    database
        The scratch database is made beside it, which is of the same kind as the backup's.

    Raises
    ------
    BackupError
        The backup is damaged, doesn't hold what its manifest says, or can't be restored.
    """
    with scratch_folder() as folder:
        tell("Checking the hashes of all members.")
        manifest = file.checked()
        if manifest.vendor == SQLITE:  # which needs no server: any site can verify it
            database = SqliteDatabase(folder / "site.sqlite3")
        _same_vendor(manifest, database)
        _room_check(manifest, database, folder)
        tell("Restoring into a scratch database.")
        with database.scratch(folder) as scratch:
            tables = scratch.restore(file.dump(manifest), manifest, folder)
            counts_compare(tables, manifest)
            with scratch.snapshot(folder) as snapshot:
                if snapshot.migrations() != manifest.migrations:
                    raise BackupError("The restored database has other migrations than the manifest says.")
    return manifest, _compared(tables, manifest)


def _connections_close() -> None:
    connection.close()
    if isinstance(connection, DatabaseWrapper):
        connection.close_pool()


def _compared(tables: dict[str, TableContent], manifest: Manifest) -> list[RestoredTable]:
    return [RestoredTable(name, manifest.tables[name].rows, table.rows) for name, table in tables.items()]


def _same_vendor(manifest: Manifest, database: SiteDatabase) -> None:
    if manifest.vendor != database.vendor:
        raise BackupError(
            f"The backup is of {manifest.server}; DATABASE_URL names a database of {database.vendor}. Set DATABASE_URL "
            f"to one of {manifest.vendor}."
        )


def _fits(manifest: Manifest, database: SiteDatabase) -> bool:
    """Whether the backup is of an older schema; raises BackupError for another database or a newer version."""
    _same_vendor(manifest, database)
    ours = application_version()
    loader = MigrationLoader(None)
    known = {f"{app}.{name}" for app, name in loader.disk_migrations}
    unknown = [name for name in manifest.migrations if name not in known]
    if unknown or release_of(manifest.version) > release_of(ours):
        further = f" (it has the migration {unknown[0]}, which this one doesn't know)" if unknown else ""
        raise BackupError(
            f"The backup is of version {manifest.version}, newer than this one, {ours}{further}. Install version "
            f"{manifest.version} or later, then restore it."
        )
    return not known <= set(manifest.migrations)


def release_of(version: str) -> tuple[int, ...]:
    """Return the numbers of a version without zeros at the end; none of `source`, which is of no release."""
    found = _RELEASE.match(version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _may_replace(database: SiteDatabase, options: RestoreOptions) -> None:
    full = database.tables_with_rows()
    if full and not options.replace:
        shown = ", ".join(full[:3])
        raise BackupError(
            f"The database isn't empty: {len(full):,} tables have rows ({shown} ...). Back it up if you need it, then "
            "pass --replace, which deletes all that it holds."
        )
    others = database.others_connected()
    if others and not options.ignore_sessions:
        raise BackupError(
            f"{others:,} other sessions are connected to the database. Stop the web processes and workers, or pass "
            "--ignore-sessions if they aren't the site's."
        )


def _secret_of(file: BackupFile, manifest: Manifest) -> bytes:
    for _, content in file.members(manifest, lambda name: name == SECRET):
        return content.read()
    raise BackupError("The backup has no secret key.")


def _secret_check(secret: bytes, options: RestoreOptions) -> bool:
    """Whether the backup's key is to be written to the site's folder."""
    if secret == settings.SECRET_KEY.encode() or options.keep_secret:
        return False
    if not os.environ.get("DJANGO_SECRET_KEY"):
        return True
    if options.secret_to is None:
        raise BackupError(
            "DJANGO_SECRET_KEY isn't the key in the backup. With another key, sessions and links to studies end, and "
            "items become hidden checks that weren't. Pass --secret-to FILE to write the backup's key to a file, and "
            "set DJANGO_SECRET_KEY to it; or pass --keep-secret to keep this site's."
        )
    return False


def _secret_write(place: Path, secret: bytes) -> None:
    if not place.parent.is_dir():
        raise BackupError(f"{place.parent}: there's no such folder.")
    file_write(place, BytesIO(secret))


def _room_check(manifest: Manifest, database: SiteDatabase, scratch: Path) -> None:
    """Raise BackupError where there's no room for SQLite's file twice, in the scratch folder and in its place."""
    if database.vendor != "sqlite":
        return
    needed = 2 * manifest.database_bytes + LEFT_FREE
    free = shutil.disk_usage(scratch).free
    if needed > free:
        raise BackupError(
            f"{scratch.parent}: expected {mebibytes_of(needed)} of free disk space, found {mebibytes_of(free)}."
        )


def _files_restore(file: BackupFile, manifest: Manifest) -> int:
    n = 0
    for member, content in file.members(manifest, lambda name: name.startswith((IMAGES, IMPORTS))):
        place = stored_place(member.name)
        if member.name.startswith(IMAGES) and place.is_file() and place.stat().st_size == member.size:
            place.touch()  # named by its content; young, so that it isn't removed before its row is there
            while content.read(2**20):
                pass
        else:
            stored_file_restore(member, content)
        n += 1
    return n

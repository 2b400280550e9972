"""SQLite: a snapshot by the online backup API, and its way back.

A read transaction is held while the file is copied. In WAL mode, which the settings ask for, writers go on meanwhile,
and the copy is of the moment in which that transaction began; without it each commit of theirs would make the copy
start again.
"""

import marshal
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import repeat
from pathlib import Path

from config.backup.archive import Manifest, TableContent
from config.backup.databases import BOOKKEEPING, counts_compare
from config.backup.errors import BackupError, DamagedBackupError

VENDOR = "sqlite"
BUSY_SECONDS = 60.0
"""How long to wait for a database that others write to."""
LEAST_FREE = 2**28
"""Bytes that a copy leaves free on its disk."""
PAGES_A_STEP = 4096
_BLOCK = 2**20
_ROWS = 1000
_GZIP = 31  # window bits with the header and the checksum of gzip


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _opened(path: Path, mode: str = "rw") -> sqlite3.Connection:
    try:
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS)
    except sqlite3.Error as error:
        raise BackupError(f"{path}: the database can't be opened ({error}).") from None
    opened.isolation_level = None
    return opened


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of SQLite become messages."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise BackupError(f"{path}: {error}.") from None


def _table_names(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    )
    return [name for (name,) in found]


def _content(connection: sqlite3.Connection, table: str) -> TableContent:
    """Count and hash a table: its columns by name, its rows in the order of the primary key."""
    connection.text_factory = str
    info = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
    connection.text_factory = bytes  # as it's stored
    names = sorted(row[1] for row in info)
    key = [row[1] for row in sorted(info, key=lambda row: int(row[5])) if row[5]] or ["rowid"]
    listed, order = (", ".join(map(_quoted, some)) for some in (names, key))
    digest, n = sha256(f"{table}({','.join(names)})\n".encode()), 0
    cursor = connection.cursor()
    cursor.execute(f"SELECT {listed} FROM {_quoted(table)} ORDER BY {order}")  # noqa: S608  (names of its own)
    while rows := cursor.fetchmany(_ROWS):
        # Version 0 of marshal writes each value by itself, exactly, and has done so since Python 2.4.
        digest.update(b"".join(map(marshal.dumps, rows, repeat(0))))
        n += len(rows)
    return TableContent(n, digest.hexdigest())


def _contents(path: Path) -> dict[str, TableContent]:
    with _told(path), closing(_opened(path)) as connection:
        return {table: _content(connection, table) for table in _table_names(connection)}


def _copied(source: sqlite3.Connection, target: sqlite3.Connection, folder: Path) -> None:
    """Copy all pages; raises BackupError when others write for too long, or the disk fills."""
    waits_since = time.monotonic()

    def watched(status: int, _remaining: int, _total: int) -> None:
        nonlocal waits_since
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            if time.monotonic() - waits_since > BUSY_SECONDS:
                raise BackupError(
                    f"The database was locked by another process for more than {BUSY_SECONDS:.0f} s. Stop the web "
                    "processes and workers, then try again."
                )
            return
        waits_since = time.monotonic()
        if shutil.disk_usage(folder).free < LEAST_FREE:
            raise BackupError(f"{folder}: the disk is full. Free some space, then try again.")

    source.backup(target, pages=PAGES_A_STEP, progress=watched)


@dataclass(frozen=True, slots=True)
class SqliteSnapshot:
    """A copy of the database in a file of its own."""

    path: Path
    server: str = f"SQLite {sqlite3.sqlite_version}"

    def dump(self) -> Iterator[bytes]:
        """Yield the file, compressed with gzip."""
        # Level 1: a site's texts are a tenth larger than at level 6, in a third of the time.
        packed = zlib.compressobj(1, wbits=_GZIP)
        with self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                yield packed.compress(block)
        yield packed.flush()

    def tables(self) -> dict[str, TableContent]:
        """Return count and hash of the rows of every table."""
        return _contents(self.path)

    def column(self, table: str, column: str) -> Iterator[str]:
        """Yield the different texts in a column of a table; none where there's no such table."""
        with _told(self.path), closing(_opened(self.path)) as connection:
            if table in _table_names(connection):
                query = f"SELECT DISTINCT {_quoted(column)} FROM {_quoted(table)}"  # noqa: S608  (names of ours)
                for (value,) in connection.execute(query):
                    yield str(value)

    def migrations(self) -> list[str]:
        """Return the migrations that are applied, as `app.name`."""
        with _told(self.path), closing(_opened(self.path)) as connection:
            if "django_migrations" not in _table_names(connection):
                raise BackupError("This database has no tables yet: there is nothing to back up.")
            rows = connection.execute("SELECT app, name FROM django_migrations ORDER BY app, name")
            return [f"{app}.{name}" for app, name in rows]


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A database in a file."""

    path: Path
    vendor: str = VENDOR

    def size(self) -> int:
        """Return the bytes of the file and of what waits to be written into it."""
        beside = self.path.with_name(f"{self.path.name}-wal")
        return sum(path.stat().st_size for path in (self.path, beside) if path.exists())

    @contextmanager
    def snapshot(self, scratch: Path) -> Iterator[SqliteSnapshot]:
        """Copy the database into the folder, while others may write to it."""
        if not self.path.is_file():
            raise BackupError(f"{self.path}: there's no such database. Is DATABASE_URL right?")
        copy = scratch / "snapshot.sqlite3"
        with _told(self.path), closing(_opened(self.path)) as source:
            source.execute("BEGIN")
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()  # here the transaction begins
            with closing(_opened(copy, "rwc")) as target:
                target.execute("PRAGMA synchronous = OFF")  # it's read again in a moment, and then deleted
                _copied(source, target, scratch)
                # Alone in one file, whatever the mode of the original.
                target.execute("PRAGMA journal_mode = DELETE").fetchone()
            source.execute("ROLLBACK")
        try:
            yield SqliteSnapshot(copy)
        finally:
            copy.unlink(missing_ok=True)

    def tables_with_rows(self) -> list[str]:
        """Return the tables that have rows, those of `BOOKKEEPING` left out."""
        if not self.path.exists() or not self.path.stat().st_size:
            return []
        with _told(self.path), closing(_opened(self.path)) as connection:
            return [
                table
                for table in _table_names(connection)
                if table not in BOOKKEEPING
                and connection.execute(f"SELECT 1 FROM {_quoted(table)} LIMIT 1").fetchone()  # noqa: S608
            ]

    def others_connected(self) -> int:
        """Return 0: SQLite doesn't tell."""
        return 0

    def restore(self, dump: Iterator[bytes], manifest: Manifest, scratch: Path) -> dict[str, TableContent]:
        """Unpack and check the dump in the folder, then copy it over this database in one transaction."""
        unpacked = scratch / "restored.sqlite3"
        try:
            _unpack(dump, unpacked)
            with _told(unpacked), closing(_opened(unpacked)) as source:
                (found,) = source.execute("PRAGMA quick_check(1)").fetchone()
                if found != "ok":
                    raise DamagedBackupError(f"The database in the backup is damaged: {found}.")
            tables = _contents(unpacked)
            counts_compare(tables, manifest)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with (
                _told(self.path),
                closing(_opened(unpacked)) as source,
                closing(_opened(self.path, "rwc")) as target,
            ):
                _copied(source, target, self.path.parent)
        finally:
            unpacked.unlink(missing_ok=True)
        return tables

    @contextmanager
    def scratch(self, folder: Path) -> Iterator["SqliteDatabase"]:
        """Make an empty database in a file of the folder, which is gone afterwards."""
        path = folder / "verified.sqlite3"
        try:
            yield SqliteDatabase(path)
        finally:
            for end in ("", "-wal", "-shm", "-journal"):
                path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def _unpack(dump: Iterator[bytes], path: Path) -> None:
    unpacked = zlib.decompressobj(wbits=_GZIP)
    try:
        with path.open("xb") as file:
            path.chmod(0o600)
            for piece in dump:
                rest = piece
                while rest:  # in blocks: a piece may be many times as large when unpacked
                    file.write(unpacked.decompress(rest, _BLOCK))
                    rest = unpacked.unconsumed_tail
            file.write(unpacked.flush())
    except zlib.error as error:
        raise DamagedBackupError(f"The database in the backup can't be unpacked: {error}.") from None
    if not unpacked.eof:
        raise DamagedBackupError("The database in the backup ends too early.")

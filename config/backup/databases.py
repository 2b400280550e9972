"""What a backup asks of a database, whichever it is."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from config.backup.archive import Manifest, TableContent
from config.backup.errors import BackupError

BOOKKEEPING = frozenset({"django_migrations", "django_content_type", "auth_permission"})
"""Tables in which `migrate` makes rows: a database with no others is empty."""


class DatabaseSnapshot(Protocol):
    """A database as it was at one moment, however long it's read."""

    @property
    def server(self) -> str:
        """The version of the database, in its own words."""
        ...

    def dump(self) -> Iterator[bytes]:
        """Yield the dump, in pieces."""
        ...

    def tables(self) -> dict[str, TableContent]:
        """Return count and hash of the rows of every table."""
        ...

    def column(self, table: str, column: str) -> Iterator[str]:
        """Yield the different texts in a column of a table."""
        ...

    def migrations(self) -> list[str]:
        """Return the migrations that are applied, as `app.name`."""
        ...


class SiteDatabase(Protocol):
    """A database that backups are made of and restored into. Its methods raise BackupError."""

    @property
    def vendor(self) -> str:
        """`sqlite` or `postgresql`."""
        ...

    def size(self) -> int:
        """Return its bytes."""
        ...

    def snapshot(self, scratch: Path) -> AbstractContextManager[DatabaseSnapshot]:
        """Take a snapshot; the folder is for files of its own."""
        ...

    def tables_with_rows(self) -> list[str]:
        """Return the tables that have rows, those of `BOOKKEEPING` left out."""
        ...

    def others_connected(self) -> int:
        """Return how many other sessions are connected; 0 where the database doesn't tell."""
        ...

    def restore(self, dump: Iterator[bytes], manifest: Manifest, scratch: Path) -> dict[str, TableContent]:
        """Replace all that is there by a dump, in one transaction; returns what the tables then hold.

        Counts are compared with the manifest before the transaction is committed.
        """
        ...

    def scratch(self, folder: Path) -> AbstractContextManager["SiteDatabase"]:
        """Make an empty database of the same kind beside this one, which is gone afterwards."""
        ...


def counts_compare(found: Mapping[str, TableContent], manifest: Manifest) -> None:
    """Raise BackupError where a table has other rows than the manifest says, or is there on one side only."""
    wrong = []
    for name in sorted(found.keys() | manifest.tables.keys()):
        here, there = found.get(name), manifest.tables.get(name)
        if here is None or there is None:
            wrong.append(f"{name} is {'not restored' if here is None else 'not in the backup'}")
        elif here.rows != there.rows:
            wrong.append(f"{name} has {here.rows:,} rows, the backup {there.rows:,}")
        elif here.sha256 != there.sha256:
            wrong.append(f"{name} has other content in its {here.rows:,} rows")
    if wrong:
        more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
        raise BackupError(f"What was restored differs from the backup: {'; '.join(wrong[:5])}{more}.")

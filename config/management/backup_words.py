"""What the commands of backups share: their option, their refusals, and the tables that they print."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from config.backup.archive import BackupFile
from config.backup.databases import SiteDatabase
from config.backup.errors import BackupError
from config.backup.keys import backup_keys
from config.backup.postgres import PostgresDatabase
from config.backup.restoring import RestoredTable, backup_verify
from config.backup.site import site_database


def options_of_keys(parser: ArgumentParser) -> None:
    """Add the option that names a file with keys."""
    parser.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="A file with keys of 32 random bytes in base64, one a line. The first encrypts; each may decrypt.",
    )


@contextmanager
def refusals() -> Iterator[None]:
    """What is refused becomes the message of the command, and so does an error of the disk."""
    try:
        yield
    except BackupError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise CommandError(f"{place}{error.strerror or error}.") from error


def tables_say(command: BaseCommand, tables: Sequence[RestoredTable]) -> None:
    """Print the tables that have rows: rows in the backup, and rows restored."""
    full = [table for table in tables if table.in_backup or table.restored]
    width = max((len(table.name) for table in full), default=5)
    command.stdout.write(f"{'table':{width}}  {'in backup':>13}  {'restored':>13}")
    for table in full:
        command.stdout.write(f"{table.name:{width}}  {table.in_backup:>13,}  {table.restored:>13,}")
    rows = sum(table.restored for table in tables)
    command.stdout.write(
        f"{len(tables):,} tables, {rows:,} rows: counts and hashes equal those of the backup."
    )


def verified_say(command: BaseCommand, path: Path, key_file: Path | None, scratch_url: str = "") -> None:
    """Verify a backup, and print what it holds; raises BackupError where it can't be restored."""
    with BackupFile(path, backup_keys(key_file)) as file:
        database: SiteDatabase = PostgresDatabase.emptied_at(scratch_url) if scratch_url else site_database()
        manifest, tables = backup_verify(file, database, command.stdout.write)
    tables_say(command, tables)
    command.stdout.write(f"{path}: verified. The site of {manifest.created_at} (version {manifest.version}).")

"""`manage.py restore`: the site as it was when a backup was made."""

from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection

from annotation.services.erasure_log import (
    ErasureListError,
    erasures_file,
    erasures_file_complete,
    erasures_read,
)
from annotation.services.erasures_again import erasures_apply
from config.backup.archive import BackupFile
from config.backup.keys import backup_keys
from config.backup.restoring import RestoreOptions, backup_restore
from config.backup.site import site_database
from config.management.backup_words import options_of_keys, refusals, tables_say


class Command(BaseCommand):
    help = (
        "Restore the database, the files and the secret key of a backup into this site, and migrate an older one "
        "forward. Stop the web processes and workers first."
    )
    # The database may be empty, or of another version.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="The backup.")
        parser.add_argument(
            "--replace", action="store_true", help="Delete what the database holds, if it holds anything."
        )
        parser.add_argument(
            "--keep-secret",
            action="store_true",
            help="Keep this site's secret key where the backup has another one.",
        )
        parser.add_argument(
            "--secret-to", type=Path, metavar="FILE", help="Write the backup's secret key to this file."
        )
        parser.add_argument(
            "--ignore-sessions",
            action="store_true",
            help="Restore although others are connected to the database, such as a monitoring tool.",
        )
        options_of_keys(parser)

    def handle(self, **options: Any) -> None:
        allowed = RestoreOptions(
            replace=options["replace"],
            keep_secret=options["keep_secret"],
            secret_to=options["secret_to"],
            ignore_sessions=options["ignore_sessions"],
        )
        with refusals(), BackupFile(options["file"], backup_keys(options["key_file"])) as file:
            _list_complete()
            manifest, tables = backup_restore(file, site_database(), allowed, self.stdout.write)
        tables_say(self, tables)
        self.stdout.write(f"Restored the site of {manifest.created_at} (version {manifest.version}).")
        self._erase_again()

    def _erase_again(self) -> None:
        place = erasures_file()
        if not place.exists():
            self.stdout.write(
                f"There's no list of erasures at {place}. If people were erased since this backup, run apply_erasures "
                "with a copy of their list."
            )
            return
        try:
            erasures_apply(list(erasures_read(place)), tell=self.stdout.write)
        except ErasureListError as error:
            raise CommandError(
                f"The site is restored, but people who were erased since are in it again. {error} Correct it, then run "
                "apply_erasures."
            ) from None


def _list_complete() -> None:
    """Have in the list whom the database that is about to be replaced knows as erased, if it can still say so."""
    try:
        with suppress(DatabaseError):
            erasures_file_complete()
    finally:
        connection.close()

"""`manage.py backup`: the site in one file, or the proof that such a file can be restored."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config.backup.keys import backup_keys
from config.backup.making import backup_make, mebibytes_of
from config.backup.names import backups_keep, keep_check
from config.backup.site import site_database
from config.management.backup_words import options_of_keys, refusals, verified_say


class Command(BaseCommand):
    help = (
        "Back up the database, the files and the secret key into one file while the site is running. It's encrypted "
        "if BACKUP_KEY, BACKUP_KEY_FILE or --key-file gives a key."
    )

    # A setting that a check warns of is no reason to have no backup.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "place",
            nargs="?",
            type=Path,
            help="A folder, or the file to make. Default: BACKUPS_DIR (var/backups).",
        )
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            help="Delete all but the newest N backups of the folder afterwards.",
        )
        parser.add_argument(
            "--verify", type=Path, metavar="FILE", help="Make none; verify this one as verify_backup does."
        )
        options_of_keys(parser)

    def handle(self, **options: Any) -> None:
        with refusals():
            if options["verify"] is not None:
                verified_say(self, options["verify"], options["key_file"])
                return
            self._make(options["place"], options["keep"], options["key_file"])

    def _make(self, place: Path | None, keep: int | None, key_file: Path | None) -> None:
        keep_check(keep)
        if place is None:
            place = Path(settings.BACKUPS_DIR)
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys = backup_keys(key_file)
        made = backup_make(site_database(), place, keys[0] if keys else None, self.stdout.write)
        if made.manifest.missing_images:
            self.stderr.write(
                self.style.WARNING(
                    f"{made.manifest.missing_images:,} images of datasets aren't in {settings.IMAGES_DIR}, so they "
                    "aren't in the backup."
                )
            )
        if not made.encrypted:
            self.stderr.write(
                self.style.WARNING(
                    "The backup isn't encrypted, and holds the secret key and personal data. Set BACKUP_KEY_FILE."
                )
            )
        rows = sum(table.rows for table in made.manifest.tables.values())
        self.stdout.write(
            f"{made.path}: {mebibytes_of(made.size)}, {len(made.manifest.tables):,} tables with {rows:,} rows."
        )
        if keep is not None:
            for path in backups_keep(made.path.parent, keep, made.path):
                self.stdout.write(f"Deleted {path}.")

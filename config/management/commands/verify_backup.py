"""`manage.py verify_backup`: whether a backup can be restored, by restoring it into a scratch database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config.backup.names import newest_backup
from config.management.backup_words import options_of_keys, refusals, verified_say


class Command(BaseCommand):
    help = (
        "Restore a backup into a scratch database, and compare the counts and content hashes of every table with its "
        "manifest. The site isn't changed."
    )

    # A setting that a check warns of is no reason to have no backup.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", nargs="?", type=Path, help="The backup. Default: the newest in BACKUPS_DIR (var/backups)."
        )
        parser.add_argument(
            "--scratch-url",
            default="",
            metavar="postgres://...",
            help="An empty database of PostgreSQL to restore into, where the site's user may not create one.",
        )
        options_of_keys(parser)

    def handle(self, **options: Any) -> None:
        with refusals():
            path = options["file"] or newest_backup(Path(settings.BACKUPS_DIR))
            verified_say(self, path, options["key_file"], options["scratch_url"])

"""`manage.py apply_erasures`: erase again, after a restore, whom a list of erasures names."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.services.erasure_log import ErasureListError, erasures_file, erasures_read
from annotation.services.erasures_again import erasures_apply


class Command(BaseCommand):
    help = (
        "Erase again the people in a list of erasures whom this database still knows. `restore` does it with the "
        "site's own list; use this with a copy of it, or after a point-in-time recovery."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--file", type=Path, help="the list (default: ERASURES_FILE)")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        place = options["file"] or erasures_file()
        try:
            applied = erasures_apply(list(erasures_read(place)), dry_run=options["dry_run"])
        except ErasureListError as error:
            raise CommandError(f"Nothing was changed. {error}") from None
        verb = "would be erased" if options["dry_run"] else "were erased"
        self.stdout.write(
            f"{applied.erased:,} people {verb}; {applied.unknown:,} others in the list aren't known here."
        )

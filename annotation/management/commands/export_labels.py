"""`manage.py export_labels STUDY --output FILE`: labels of a study, as the study page exports them."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Label
from annotation.selectors.overview import study_named
from annotation.services.exports import FORMATS, SHAPES, export_lines


class Command(BaseCommand):
    help = "Write the labels of a study to a CSV or JSONL file (docs/exports.md says what is in it)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="the slug: the last part of the address of its page")
        parser.add_argument("--output", required=True, type=Path, help="the file; it must not exist yet")
        parser.add_argument("--format", choices=sorted(FORMATS), help="default: from the name of the file")
        parser.add_argument("--history", action="store_true", help="also labels that do not count")
        parser.add_argument(
            "--shape", choices=SHAPES, default="labels", help="a row a label, or a row a part of it"
        )
        parser.add_argument("--identify", action="store_true", help="with the annotators' own identifiers")
        parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = study_named(options["study"])
        except LookupError as error:
            raise CommandError(str(error)) from None
        path: Path = options["output"]
        chosen = options["format"] or path.suffix.lstrip(".")
        if chosen not in FORMATS:
            raise CommandError(f"{path.name} is neither .csv nor .jsonl; say which with --format.")
        if path.exists() and not options["overwrite"]:
            raise CommandError(f"{path} exists; choose another name, or --overwrite.")
        lines = export_lines(
            Label.objects.filter(study=study),
            format=chosen,
            history=options["history"],
            identify=options["identify"],
            shape=options["shape"],
        )
        count = self._write(path, lines) - (1 if chosen == "csv" else 0)
        self.stdout.write(f"{path}: {count:,} row{'' if count == 1 else 's'}")

    def _write(self, path: Path, lines: Any) -> int:
        """Write beside the file and put it in its place when it is whole; returns the number of lines."""
        part = path.with_name(f"{path.name}.part")
        count = 0
        try:
            with part.open("w", encoding="utf-8", newline="") as file:
                for line in lines:
                    file.write(line)
                    count += 1
            os.replace(part, path)  # noqa: PTH105
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            part.unlink(missing_ok=True)
        return count

"""`manage.py export NAME --what WHAT --output FILE`: what the page Export of a dataset or a study exports."""

from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.services.audit import audit
from annotation.services.exports import SHAPES
from judges.services.exports import (
    EXPORTABLES,
    ExportError,
    ExportOptions,
    export_check,
    export_subject_named,
    export_write,
    whole_file,
)


class Command(BaseCommand):
    help = "Export labels, judgments, items, annotators or pay of a dataset or a study (docs/exports.md)."
    # They load every page of the site, which takes two seconds and 40 MB of what bounds a file of a million rows.
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name of a dataset, or slug of a study")
        parser.add_argument("--what", choices=tuple(EXPORTABLES), default="labels", help="default: labels")
        parser.add_argument("--output", required=True, type=Path, help="output file; it must not exist yet")
        parser.add_argument("--format", help="default: from the name of the file")
        parser.add_argument("--study", metavar="SLUG", help="only this study of the dataset")
        parser.add_argument("--history", action="store_true", help="include labels that don't count")
        parser.add_argument(
            "--shape",
            choices=SHAPES,
            default="labels",
            help="one row per label, or one row per part of a label",
        )
        parser.add_argument("--identify", action="store_true", help="include the annotators' own identifiers")
        parser.add_argument("--overwrite", action="store_true", help="replace the file if it exists")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["output"]
        what = options["what"]
        given = ExportOptions(options["history"], options["identify"], options["shape"])
        try:
            subject = export_subject_named(options["name"], options["study"])
            format = options["format"] or _format_of(path, what)
            export_check(subject, what, format, given)
            if path.exists() and not options["overwrite"]:
                raise CommandError(f"{path} exists; choose another name, or --overwrite.")
            audit(
                f"{what}.exported",
                subject.study or subject.dataset,
                after={"format": format, **asdict(given)},
            )
            with whole_file(path) as file:
                notes = export_write(file, subject, what, format, given)
        except (LookupError, ExportError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        for note in notes:
            self.stdout.write(note)
        self.stdout.write(f"{path}: {path.stat().st_size:,} bytes")


def _format_of(path: Path, what: str) -> str:
    """The format that the name of a file says; the only one where there is one."""
    formats = EXPORTABLES[what].formats
    if len(formats) == 1:
        return next(iter(formats))
    found = path.suffix.lstrip(".")
    if found not in formats:
        raise ExportError(f"{path.name} does not end in {', '.join(formats)}; say which with --format.")
    return found

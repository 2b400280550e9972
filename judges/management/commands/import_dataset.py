"""`manage.py import_dataset KIND PATH --name NAME`: a thin door to `bundle_import`."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import (
    DatasetBundle,
    ImportFileError,
    read_alpaca_human,
    read_generic,
    read_infobench,
    read_llmbar,
    read_pandalm,
)
from annotation.models import Split, User
from annotation.services.criteria import criteria_set, criteria_sets
from annotation.services.datasets import DatasetImportError
from judges.services.judgments import bundle_import

KINDS = ("llmbar", "alpaca-human", "pandalm", "infobench", "generic")


def positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number of 1 or more, found {text!r}")
    return int(text)


class Command(BaseCommand):
    help = "Import a dataset: items with their responses, gold, human labels and stored verdicts of judges."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=KINDS)
        parser.add_argument("path", help="The file, or the folder for llmbar and pandalm.")
        parser.add_argument("--name", required=True, help="Letters, digits, hyphens and underscores.")
        parser.add_argument("--title", help="For people; the name where left out.")
        parser.add_argument("--split", choices=Split.values, help="Public where left out.")
        parser.add_argument("--licence", help="Such as CC-BY-NC-4.0.")
        parser.add_argument("--owner", help="User name of who owns it; a private dataset is theirs alone.")
        parser.add_argument(
            "--labels-per-item",
            type=positive,
            metavar="N",
            help="alpaca-human: the first N labels of a pair.",
        )

        parser.add_argument(
            "--criteria",
            choices=criteria_sets(),
            help="generic: a ready-made set of criteria, for rubrics that declare none.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            imported, judged = bundle_import(
                bundle=self._read(options),
                name=options["name"],
                source=options["kind"],
                title=options["title"],
                split=options["split"],
                licence=options["licence"],
                owner=_owner(options["owner"]),
                progress=self._progress,
            )
        except (ImportFileError, DatasetImportError) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        self.stdout.write(imported.summary())
        if judged is not None:
            self.stdout.write(judged.summary())

    def _read(self, options: dict[str, Any]) -> DatasetBundle:
        kind, path = options["kind"], options["path"]
        if options["labels_per_item"] is not None and kind != "alpaca-human":
            raise CommandError(f"--labels-per-item is an option of alpaca-human, not of {kind}.")
        if options["criteria"] is not None and kind != "generic":
            raise CommandError(f"--criteria is an option of generic, not of {kind}.")
        if kind == "llmbar":
            return read_llmbar(path)
        if kind == "alpaca-human":
            return read_alpaca_human(path, labels_per_item=options["labels_per_item"])
        if kind == "pandalm":
            return read_pandalm(path)
        if kind == "infobench":
            return read_infobench(path)
        criteria = () if options["criteria"] is None else criteria_set(options["criteria"])
        return read_generic(path, progress=self._progress, criteria=criteria)

    def _progress(self, what: str, done: int) -> None:
        if done >= 10_000:
            self.stderr.write(f"{done:,} {what}")


def _owner(name: str | None) -> User | None:
    if name is None:
        return None
    owner = User.objects.filter(username=name).first()
    if owner is None:
        raise CommandError(f"--owner: there is no user {name!r}.")
    return owner

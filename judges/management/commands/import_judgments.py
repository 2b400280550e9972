"""`manage.py import_judgments KIND FILE --dataset NAME`: thin, over `judgments_import`."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import ImportFileError
from annotation.selectors.datasets import DatasetNotFound, dataset_get
from judges.services.judgments import judgments_import
from judges.services.verdict_files import VERDICT_FORMATS, verdicts_read


class Command(BaseCommand):
    help = "Import verdicts that judges made elsewhere on the items of a dataset."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=tuple(VERDICT_FORMATS))
        parser.add_argument(
            "path",
            help="The file, yours or that of `touchstone judge`; for llmbar also the authors' own result.json, or a "
            "folder or zip with evaluators/**/result.json.",
        )
        parser.add_argument("--dataset", required=True, help="Name of the dataset whose items were judged.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            dataset = dataset_get(options["dataset"])
            verdicts = verdicts_read(
                form=options["kind"],
                path=Path(options["path"]),
                dataset=dataset,
                progress=self._progress,
                note=self.stderr.write,
            )
            result = judgments_import(
                dataset=dataset, verdicts=verdicts, source=options["kind"], progress=self._progress
            )
        except (ImportFileError, DatasetNotFound) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        self.stdout.write(result.summary())

    def _progress(self, what: str, done: int) -> None:
        if done >= 10_000:
            self.stderr.write(f"{done:,} {what}")

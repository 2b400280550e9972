"""`manage.py import_judgments KIND FILE --dataset NAME`: thin, over `judgments_import`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import ImportFileError, VerdictRecord, read_llmbar_judgments, read_verdicts
from annotation.selectors.datasets import DatasetNotFound, dataset_get, gold_choices, item_value_rules
from judges.services.judgments import judgments_import


class Command(BaseCommand):
    help = "Import verdicts that judges made elsewhere on the items of a dataset."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=("llmbar", "generic"))
        parser.add_argument(
            "path",
            help="The file; for llmbar also the authors' own result.json, or a folder with evaluators/**/result.json.",
        )
        parser.add_argument("--dataset", required=True, help="Name of the dataset whose items were judged.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            dataset = dataset_get(options["dataset"])
            result = judgments_import(
                dataset=dataset,
                verdicts=self._read(options["kind"], options["path"], dataset.pk),
                source=options["kind"],
                progress=self._progress,
            )
        except (ImportFileError, DatasetNotFound) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        self.stdout.write(result.summary())

    def _read(self, kind: str, path: str, dataset_id: int) -> tuple[VerdictRecord, ...]:
        if kind == "llmbar":
            return read_llmbar_judgments(path, gold_choices(dataset_id), self._progress, self.stderr.write)
        return read_verdicts(path, item_value_rules(dataset_id), progress=self._progress)

    def _progress(self, what: str, done: int) -> None:
        if done >= 10_000:
            self.stderr.write(f"{done:,} {what}")

"""`manage.py import_labels FILE --dataset NAME`: thin, over `labels_import`."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import ImportFileError, read_label_rows
from annotation.selectors.datasets import DatasetNotFound, dataset_get, item_value_rules, markable_texts
from annotation.services.dataset_parts import count
from annotation.services.datasets import labels_import


class Command(BaseCommand):
    help = "Import human labels on the items of a dataset: yours, one a row, or an export of labels."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path",
            help="CSV, JSONL, JSON or Parquet with the columns item, annotator and value, and optionally simulated; "
            "or an export of labels.",
        )
        parser.add_argument("--dataset", required=True, help="Name of the dataset whose items were labeled.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            dataset = dataset_get(options["dataset"])
            labels = read_label_rows(
                options["path"],
                item_value_rules(dataset.pk),
                self._progress,
                self.stderr.write,
                markable_texts(dataset.pk),
            )
            created = labels_import(dataset=dataset, labels=labels, progress=self._progress)
        except (ImportFileError, DatasetNotFound) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        self.stdout.write(f"{dataset.name}: {count(len(labels), 'label')}, {created:,} of them new.")

    def _progress(self, what: str, done: int) -> None:
        if done >= 10_000:
            self.stderr.write(f"{done:,} {what}")

"""`manage.py dataset_changes NAME [--before N] [--now N] [--json]`: as the page Versions of a dataset has it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.models import Dataset
from annotation.selectors.dataset_versions import item_changes, version_changes

CHUNK = 200


class Command(BaseCommand):
    help = "Compare two versions of a dataset: items added, removed and changed, field by field."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="The dataset's name.")
        parser.add_argument("--before", type=int, metavar="N", help="Default: the version before --now.")
        parser.add_argument("--now", type=int, metavar="N", help="Default: the current version.")
        parser.add_argument("--json", action="store_true", help="One JSON object an item, as lines.")

    def handle(self, *args: Any, **options: Any) -> None:
        dataset = Dataset.objects.filter(name=options["name"]).first()
        if dataset is None:
            raise CommandError(f"There is no dataset {options['name']!r}.")
        now = dataset.version if options["now"] is None else options["now"]
        before = max(1, now - 1) if options["before"] is None else options["before"]
        for option, number in (("--before", before), ("--now", now)):
            if not 1 <= number <= dataset.version:
                raise CommandError(f"{option}: expected 1 to {dataset.version}, found {number}.")
        found = version_changes(dataset, before, now, None)
        total = found.added + found.removed + found.changed
        if not options["json"]:
            self.stdout.write(
                f"{dataset.name}, version {before} to {now}: {found.added:,} added, {found.removed:,} removed, "
                f"{found.changed:,} changed; {found.touched_labels:,} labels on items that changed or went."
            )
        for first in range(0, total, CHUNK):
            for item in item_changes(dataset, before, now, None, first=first, n=CHUNK):
                if options["json"]:
                    self.stdout.write(json.dumps(asdict(item), ensure_ascii=False))
                    continue
                self.stdout.write(f"{item.kind:8} {item.external_id}")
                for field in item.fields:
                    self.stdout.write(
                        f"         {field.field}: {_short(field.before)} -> {_short(field.now)}"
                    )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"

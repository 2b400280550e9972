"""`import_ratings FILE --name NAME`: scores of systems from elsewhere, to be correlated with ours."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers.errors import ImportFileError
from metaeval.reports.errors import MetaevalError
from metaeval.services.outside import ratings_import, ratings_read


class Command(BaseCommand):
    help = (
        "Import a table of system scores (of an arena or a leaderboard) to correlate with the rankings here."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a .csv, .jsonl or .parquet table, one row per system")
        parser.add_argument("--name", required=True, help="name of the ratings: letters, digits, hyphens")
        parser.add_argument(
            "--system", default="", metavar="COLUMN", help="the column of systems (default: system, model, …)"
        )
        parser.add_argument(
            "--score", default="", metavar="COLUMN", help="the column of scores; higher is better"
        )
        parser.add_argument("--title", default="")
        parser.add_argument("--source", default="", help="source: an address or a paper")
        parser.add_argument("--licence", default="")
        parser.add_argument("--replace", action="store_true", help="replace ratings of the same name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            file = ratings_read(options["file"], system=options["system"], score=options["score"])
            ratings, changed = ratings_import(
                file=file,
                name=options["name"],
                title=options["title"],
                source=options["source"],
                licence=options["licence"],
                replace=options["replace"],
            )
        except (ImportFileError, MetaevalError) as error:
            raise CommandError(str(error)) from None
        if options["verbosity"]:
            left_out = f", {file.n_without} without a score left out" if file.n_without else ""
            done = "Stored" if changed else "Unchanged:"
            n = len(file.scores)
            systems = f"{n:,} system{'' if n == 1 else 's'} by {file.column}"
            self.stdout.write(self.style.SUCCESS(f"{done} {ratings.name}: {systems}{left_out}."))

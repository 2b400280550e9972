"""`report NAME --output FILE`: the agreement report of a dataset or a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from metaeval.reports.errors import MetaevalError
from metaeval.reports.options import CONVENTIONS, ReportOptions, tie_break
from metaeval.reports.render import FORMATS, format_of, render
from metaeval.reports.words import verdict_of
from metaeval.reports.write import write_atomically
from metaeval.services.reports import report_build, report_resolve, report_save


class Command(BaseCommand):
    help = "Write the agreement report of a dataset or a study: people, judges, which judge leads, with intervals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="a dataset, or else the slug of a study")
        parser.add_argument(
            "--output", required=True, type=Path, help=f"a file that ends in {', '.join(FORMATS)}"
        )
        parser.add_argument(
            "--study", metavar="SLUG", help="count only the labels of this study of the dataset"
        )
        parser.add_argument(
            "--convention",
            default="expected",
            choices=CONVENTIONS,
            help="how ties between labels are broken (default: expected, the exact expectation)",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="of the resamples and of random ties (default: 0)"
        )
        parser.add_argument(
            "--resamples",
            type=int,
            default=10_000,
            help="bootstrap resamples; 0: no intervals (default: 10000)",
        )
        parser.add_argument("--judges", metavar="NAME[,NAME]", action="append", help="only these judges")
        parser.add_argument("--save", action="store_true", help="keep the report in the site as well")

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path = options["output"]
        try:
            format_of(output)
            dataset, study = report_resolve(options["name"], options["study"])
            content = report_build(
                dataset=dataset,
                study=study,
                judges=_names(options["judges"]),
                options=ReportOptions(
                    tie_break=tie_break(options["convention"]),
                    n_resamples=options["resamples"],
                    seed=options["seed"],
                ),
            )
            write_atomically(output, render(content, format_of(output)))
        except MetaevalError as error:
            raise CommandError(str(error)) from None
        if options["save"]:
            report_save(content=content, dataset=dataset, study=study)
        if options["verbosity"]:
            self.stdout.write(verdict_of(content, content["primary"]).headline + ".")
            self.stdout.write(self.style.SUCCESS(f"Wrote {output} (inputs {content['inputs_hash'][:12]})."))


def _names(given: list[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]

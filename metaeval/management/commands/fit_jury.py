"""Fit the weights of a jury to a dataset's labels, say what it's worth held out, and make it a judge."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.selectors.datasets import DatasetNotFound, dataset_get
from metaeval.inputs import Options
from metaeval.reports.errors import ReportError
from metaeval.reports.juries import JuryReport, jury_report
from metaeval.selection.juries import METHODS, N_FOLDS
from metaeval.selectors.inputs import inputs_read
from metaeval.services.juries import jury_ensure
from metaeval.stats import InvalidInputError


class Command(BaseCommand):
    help = (
        "Fit the weights of a jury of judges of pairs to a dataset's labels.\n\n"
        "The agreement it prints is held out: each item is judged by weights that were fitted without its instruction. "
        "The weights it prints, and those of the judge that --create makes, are fitted to all labels; the figures of "
        "that judge on this dataset are in-sample.\n\n"
        "Example: manage.py fit_jury llmbar --judges strict plain reasons --create 'Weighted jury'"
    )

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        parser.formatter_class = RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dataset", help="name of the dataset")
        parser.add_argument(
            "--judges", nargs="+", required=True, metavar="NAME", help="the members, two or more"
        )
        parser.add_argument(
            "--method",
            choices=[name for name in METHODS if name != "best_member"],
            default="logistic",
            help="fit the weights together, or each member's log-odds of being right by itself (default: logistic)",
        )
        parser.add_argument("--against", choices=("people", "gold"), default="people", help="which labels")
        parser.add_argument(
            "--folds", type=int, default=N_FOLDS, help=f"folds of instructions (default: {N_FOLDS})"
        )
        parser.add_argument("--seed", type=int, default=0, help="of the folds and of the intervals")
        parser.add_argument("--create", metavar="NAME", help="make the jury a judge of this name")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            dataset = dataset_get(options["dataset"])
        except DatasetNotFound as error:
            raise CommandError(str(error)) from error
        try:
            inputs = inputs_read(dataset=dataset, judges=options["judges"])
            found = jury_report(
                inputs,
                options["judges"],
                Options(against=options["against"], seed=options["seed"]),
                method=options["method"],
                n_folds=options["folds"],
            )
        except (ReportError, InvalidInputError) as error:
            raise CommandError(str(error)) from None
        for line in _lines(found):
            self.stdout.write(line)
        if options["create"]:
            try:
                judge = jury_ensure(name=options["create"], dataset=dataset, report=found)
            except ValidationError as error:
                raise CommandError("; ".join(error.messages)) from None
            self.stdout.write(f"The judge is '{judge.name}' ({judge.fingerprint}).")


def _lines(found: JuryReport) -> list[str]:
    what = "Agreement with human annotators" if found.figure == "agreement" else "Accuracy on gold answers"
    rows = [
        ("Jury, held out", _estimate(found.held_out)),
        ("Majority vote", _estimate(found.majority)),
        ("Best member, held out", _estimate(found.best_member)),
        ("Jury minus majority", _estimate(found.beyond_majority)),
        ("Jury minus best member", _estimate(found.beyond_best)),
        ("In-sample (don't quote)", f"{100 * found.in_sample.value:.1f}%"),
        ("Optimism", f"{100 * found.optimism:.1f} points"),
    ]
    lines = [f"{what}, n = {found.held_out.n:,} items:"]
    lines += [f"  {name:<26} {text}" for name, text in rows]
    lines.append(f"Weights (log-odds; smallest and largest over the folds), tie margin {found.tie_margin:g}:")
    for name, weight in found.weights.items():
        low, high = found.spread[name]
        lines.append(f"  {name:<26} {weight:.3f} [{low:.3f}, {high:.3f}]")
    return lines


def _estimate(found: Any) -> str:
    if found.value != found.value:
        return f"undefined: {found.reason}"
    return f"{100 * found.value:.1f}% [{100 * found.low:.1f}, {100 * found.high:.1f}]"

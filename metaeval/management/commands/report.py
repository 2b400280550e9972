"""`report NAME --output FILE`: the agreement report of a dataset or a study; whether a stored one still holds; what
differs between two.
"""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.models import Dataset, Kind, Study
from metaeval.figures import published_presets
from metaeval.inputs import CONVENTIONS, Options, tie_break
from metaeval.papers import PAPERS
from metaeval.papers.paper import MadePaper
from metaeval.reports.changes import (
    TOLERANCE,
    ReportChanges,
    changes_of,
    changes_words,
    leaf_text,
    verification_words,
)
from metaeval.reports.errors import MetaevalError, ReportError
from metaeval.reports.render import FORMATS, format_of, render, write_atomically
from metaeval.reports.words import verdict_of
from metaeval.selection.replacement import EPSILON
from metaeval.selection.verdict import ANNOTATORS
from metaeval.selectors.preregistrations import preregistration_named
from metaeval.services.papers import DOCUMENTS, paper_make, paper_output_check, paper_write
from metaeval.services.preference_files import paper_of_preferences
from metaeval.services.reports import (
    DEFAULTS,
    kind_resolve,
    report_build,
    report_save,
    subject_named,
    with_plan,
)
from metaeval.services.verification import report_named, report_verify
from metaeval.stats import InvalidInputError

FIGURES_SHOWN = 40


class Command(BaseCommand):
    help = "Write the agreement report of a dataset or a study: human annotators, judges and the leading judge, with "
    "intervals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="a dataset, or else the slug of a study")
        parser.add_argument(
            "--output",
            type=Path,
            help=f"a file that ends in {', '.join(FORMATS)}; with --paper a folder for all files, or one that ends in "
            f"{', '.join(DOCUMENTS)}",
        )
        parser.add_argument(
            "--paper",
            choices=PAPERS,
            help="in place of the report, write the tables and figures of this paper in its own layout, with a README "
            "of what the data does not carry",
        )
        parser.add_argument(
            "--preferences",
            metavar="FILE",
            type=Path,
            help="with --paper href, in place of a dataset: a table of preferences and lengths without texts, such as "
            "AlpacaEval 2's (columns model, index, preference, len_baseline, len_model, and optionally dataset)",
        )
        parser.add_argument(
            "--baseline",
            metavar="SYSTEM",
            action="append",
            default=[],
            help="with --paper href: the system that others are compared with, or twice for two (default: those that "
            "stand in every pair)",
        )
        parser.add_argument(
            "--agreement",
            metavar="DATASET",
            help="with --paper href: the dataset whose labels say how far each judge agrees with people (table 6), "
            "where it isn't the one on which systems are ranked",
        )
        parser.add_argument(
            "--difficulty",
            metavar="FILE",
            type=Path,
            help="with --preferences: the difficulty of each instruction (columns index, instruction_difficulty)",
        )
        parser.add_argument(
            "--regularizing",
            metavar="FILE",
            type=Path,
            help="with --preferences: pseudo-observations for the length-controlled regression (columns preference, "
            "std_delta_len, instruction_difficulty)",
        )
        parser.add_argument(
            "--verify",
            metavar="FILE",
            help="compute a stored report (a .json file, or its number) again from the rows, and say whether it still "
            "holds; exit status 1 if it doesn't",
        )
        parser.add_argument(
            "--diff",
            nargs=2,
            metavar=("A", "B"),
            help="say what differs between two reports (.json files or numbers), and why; exit status 0 either way",
        )
        parser.add_argument(
            "--tolerance",
            type=float,
            default=TOLERANCE,
            help="tolerance of --verify and --diff: smaller differences of a figure don't count (default: "
            f"{TOLERANCE:g})",
        )
        parser.add_argument(
            "--study", metavar="SLUG", help="count only the labels of this study of the dataset"
        )
        parser.add_argument(
            "--kind",
            choices=Kind.values,
            help="kind of items (default: the study's own; pairs where there are any; the kind with most labels)",
        )
        parser.add_argument(
            "--against",
            choices=("people", "gold"),
            default="",
            help="what judges of other kinds than pairs are compared with (default: what more items have)",
        )
        parser.add_argument(
            "--convention",
            default=DEFAULTS.tie_break,
            choices=CONVENTIONS,
            help="how ties between labels of pairs are broken (default: expected, the exact expectation)",
        )
        parser.add_argument(
            "--seed", type=int, default=0, help="seed of the resamples and of random ties (default: 0)"
        )
        parser.add_argument(
            "--resamples",
            type=int,
            help="bootstrap resamples; 0: no intervals (default: 10000 of pairs, 2000 of other kinds)",
        )
        parser.add_argument(
            "--epsilon",
            type=float,
            default=EPSILON,
            help="epsilon of the alternative annotator test (pairs): how much worse than an annotator a judge may be; "
            "0.1 is "
            "advised for crowdworkers (the default), 0.15 for skilled annotators, 0.2 for experts",
        )
        parser.add_argument(
            "--margin",
            type=float,
            default=0.0,
            metavar="POINTS",
            help="smallest difference that matters in practice, in points: a winner is better by more, and judges "
            "shown to be "
            "closer are equivalent (default: 0)",
        )
        parser.add_argument(
            "--annotators",
            choices=ANNOTATORS,
            default="alike",
            help="whether a winner must win with new annotators like these as well (alike, the default) or with these",
        )
        parser.add_argument(
            "--pass-mark",
            type=float,
            metavar="RATING",
            help="of rubrics: a rating at or above it passes, and the report has the errors of both sides",
        )
        parser.add_argument(
            "--preset",
            default="",
            choices=("", *published_presets()),
            metavar="PRESET",
            help="compute a paper's figures by its own convention as well, beside the others: "
            f"{', '.join(published_presets())}",
        )
        parser.add_argument(
            "--dimension",
            default="",
            metavar="KEY",
            help="of pairs: read the labels on this dimension, by its key (default: the overall one)",
        )
        parser.add_argument(
            "--preregistration",
            metavar="SHA256",
            help="a preregistration by its SHA-256 (eight characters or more): the report says what was followed",
        )
        parser.add_argument("--judges", metavar="NAME[,NAME]", action="append", help="only these judges")
        parser.add_argument("--save", action="store_true", help="store the report on the site as well")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verify"] is not None or options["diff"] is not None:
            try:
                self._compare(options)
            except MetaevalError as error:
                raise CommandError(str(error)) from None
            return
        if options["preferences"] is not None:
            self._preferences(options)
            return
        for name in ("difficulty", "regularizing"):
            if options[name] is not None:
                raise CommandError(f"--{name} is for --preferences: omit it otherwise.")
        for name in ("baseline", "agreement"):
            if options[name] and not options["paper"]:
                raise CommandError(f"--{name} is for --paper href: omit it otherwise.")
        if not options["name"] or options["output"] is None:
            raise CommandError("Name a dataset or a study and a file: report NAME --output FILE.")
        output: Path = options["output"]
        try:
            dataset, study = subject_named(options["name"], options["study"])
            if options["paper"]:
                self._paper(dataset, study, output, options)
                return
            kind = kind_resolve(dataset=dataset, study=study, kind=options["kind"])
            suffix = format_of(output)
            plan = preregistration_named(options["preregistration"] or "")
            report = report_build(
                dataset=dataset,
                kind=kind,
                study=study,
                judges=_names(options["judges"]),
                against=options["against"],
                options=_options(options),
                n_resamples=options["resamples"],
                dimension=options["dimension"],
            )
            shown = report if plan is None else with_plan(report, plan)
            write_atomically(output, render(shown, suffix))
            if suffix == ".tex":  # what its methods cite
                write_atomically(output.with_suffix(".bib"), render(shown, ".bib"))
        except (MetaevalError, InvalidInputError) as error:
            raise CommandError(str(error)) from None
        if options["save"]:
            report_save(report=report, dataset=dataset, study=study, preregistration=plan)
        if options["verbosity"]:
            self.stdout.write(verdict_of(report).headline + ".")
            self.stdout.write(self.style.SUCCESS(f"Wrote {output} (inputs {report.inputs_hash[:12]})."))

    def _paper(self, dataset: Dataset, study: Study | None, output: Path, options: dict[str, Any]) -> None:
        for name in ("kind", "against", "save", "preregistration", "dimension"):
            if options[name]:
                raise CommandError(f"--{name} is for reports: omit it with --paper.")
        paper_output_check(output)
        made = paper_make(
            paper=options["paper"],
            dataset=dataset,
            study=study,
            options=_options(options),
            judges=_names(options["judges"]),
            baselines=options["baseline"],
            agreement=None if options["agreement"] is None else subject_named(options["agreement"], None)[0],
        )
        self._paper_written(made, output, options["verbosity"])

    def _preferences(self, options: dict[str, Any]) -> None:
        if options["baseline"] or options["agreement"]:
            raise CommandError("--baseline and --agreement are for a dataset: omit them with --preferences.")
        if options["paper"] != "href" or options["name"] or options["output"] is None:
            raise CommandError(
                "Preferences without texts are for one paper: report --paper href --preferences FILE --output FOLDER."
            )
        try:
            paper_output_check(options["output"])
            made = paper_of_preferences(
                options["preferences"],
                difficulty=options["difficulty"],
                regularizing=options["regularizing"],
                seed=options["seed"],
            )
            self._paper_written(made, options["output"], options["verbosity"])
        except (MetaevalError, InvalidInputError) as error:
            raise CommandError(str(error)) from None

    def _paper_written(self, made: MadePaper, output: Path, verbosity: int) -> None:
        names = paper_write(made, output)
        if verbosity:
            for part in made.missing:
                self.stdout.write(f"Not in this data: {part.title}. {part.words}")
            whole = names == [output.name]
            said = (
                f"Wrote {output}."
                if whole
                else f"Wrote {len(names)} files to {output}; start with README.md."
            )
            self.stdout.write(self.style.SUCCESS(said))

    def _compare(self, options: dict[str, Any]) -> None:
        """Verify a report, or compare two."""
        if not 0 <= options["tolerance"] < 1:
            raise ReportError("--tolerance: expected 0 or more and below 1.")
        if options["diff"] is not None:
            before, after = (report_named(given)[0] for given in options["diff"])
            changes = changes_of(before, after, tolerance=options["tolerance"])
            self.stdout.write(changes_words(changes))
            self._write_changes(changes, options["verbosity"])
            return
        report, reader, sweep_id = report_named(options["verify"])
        found = report_verify(report, reader=reader, sweep_id=sweep_id, tolerance=options["tolerance"])
        headline, notes = verification_words(found)
        for note in notes:
            self.stdout.write(note)
        if found.changes is not None:
            self._write_changes(found.changes, options["verbosity"])
        if not found.holds:
            raise CommandError(f"{headline}.")
        self.stdout.write(self.style.SUCCESS(f"{headline}."))

    def _write_changes(self, changes: ReportChanges, verbosity: int) -> None:
        sections = (
            ("Software", changes.software),
            ("Options", changes.options),
            ("Data", changes.data),
            ("Figures", changes.figures if verbosity > 1 else changes.figures[:FIGURES_SHOWN]),
        )
        for title, rows in sections:
            if rows:
                self.stdout.write(f"{title}:")
            for row in rows:
                self.stdout.write(f"  {row.field}: {leaf_text(row.before)} -> {leaf_text(row.after)}")
        left = len(changes.figures) - FIGURES_SHOWN
        if verbosity <= 1 and left > 0:
            self.stdout.write(f"  ... and {left:,} more; --verbosity 2 shows all.")


def _options(given: dict[str, Any]) -> Options:
    return Options(
        tie_break=tie_break(given["convention"]),
        seed=given["seed"],
        epsilon=given["epsilon"],
        margin=given["margin"] / 100,
        annotators=given["annotators"],
        pass_mark=given["pass_mark"],
        preset=given["preset"],
    )


def _names(given: list[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [name.strip() for part in given for name in part.split(",") if name.strip()]

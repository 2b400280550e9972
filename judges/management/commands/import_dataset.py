"""`manage.py import_dataset KIND PATH --name NAME`: thin, over `bundle_import`."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import (
    HUMAN_RANK_EVAL,
    DatasetBundle,
    ImportFileError,
    StackExchangeCriteria,
    read_alpaca_human,
    read_dices,
    read_generic,
    read_infobench,
    read_llmbar,
    read_pandalm,
    read_stackexchange,
)
from annotation.importers.columns import read_mapping
from annotation.importers.errors import UnknownColumnsError
from annotation.importers.inspect_logs import read_inspect
from annotation.importers.langfuse import read_langfuse
from annotation.importers.otlp import read_otlp
from annotation.importers.rows import one_of
from annotation.importers.traces import HIDDEN, JUDGED, TraceOptions
from annotation.models import Split, User
from annotation.peers.argilla import read_argilla
from annotation.peers.label_studio import read_label_studio
from annotation.peers.potato_files import read_potato
from annotation.selectors.users import user_find
from annotation.services.criteria import criteria_set, criteria_sets
from annotation.services.datasets import DatasetImportError
from judges.services.judgments import bundle_import

KINDS = (
    "llmbar",
    "alpaca-human",
    "pandalm",
    "infobench",
    "dices",
    "stackexchange",
    "generic",
    "label-studio",
    "argilla",
    "potato",
    "inspect",
    "langfuse",
    "opentelemetry",
)
TRACES = {"inspect": read_inspect, "langfuse": read_langfuse, "opentelemetry": read_otlp}
# Options of one kind alone, with that kind; and those that count something, with what they count.
OWN_OPTIONS: dict[str, tuple[str, ...]] = {
    "labels_per_item": ("alpaca-human",),
    "criteria": ("generic", *TRACES),
    "map": ("generic",),
    "judge_by": tuple(TRACES),
    "hide": tuple(TRACES),
} | dict.fromkeys(
    ("site", "topics", "per_topic", "seed", *StackExchangeCriteria.__dataclass_fields__), ("stackexchange",)
)
COUNTS = {
    "per_topic": "at most N questions of a category, chosen by --seed.",
    "seed": "seed of the sample (default: 0).",
    "min_answers": "questions with at least N answers.",
    "keep": "the best N answers of a question are kept.",
    "min_votes": "each answer kept has at least N votes.",
    "min_total_votes": "the answers kept have at least N votes together.",
    "max_characters": "question and answers have at most N characters each.",
}


def at_least(low: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < low:
            raise ArgumentTypeError(f"expected a whole number of {low} or more, found {text!r}")
        return int(text)

    return number


class Command(BaseCommand):
    help = "Import a dataset: items with their responses, gold, human labels and stored verdicts of judges."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=KINDS)
        parser.add_argument(
            "path",
            help="The file, or the folder for llmbar, pandalm, potato and stackexchange; llmbar and potato also take "
            "a zip of it.",
        )
        parser.add_argument("--name", required=True, help="Letters, digits, hyphens and underscores.")
        parser.add_argument("--title", help="Title shown on pages (default: the name).")
        parser.add_argument("--split", choices=Split.values, help="Default: public.")
        parser.add_argument("--licence", help="Such as CC-BY-NC-4.0.")
        parser.add_argument(
            "--owner", help="User name of the owner; only they and administrators see a private dataset."
        )
        parser.add_argument(
            "--labels-per-item",
            type=at_least(1),
            metavar="N",
            help="alpaca-human: the first N labels of a pair.",
        )
        parser.add_argument(
            "--criteria",
            choices=criteria_sets(),
            help="generic: a ready-made set of criteria, for rubrics that declare none; or of traces, for ratings.",
        )
        parser.add_argument(
            "--judge-by",
            choices=JUDGED,
            help="inspect, langfuse, opentelemetry: what is judged of each trace (default: first-wrong-step).",
        )
        parser.add_argument(
            "--hide",
            nargs="+",
            choices=HIDDEN,
            help="inspect, langfuse, opentelemetry: what annotators and judges don't see.",
        )
        parser.add_argument(
            "--map",
            nargs="+",
            metavar="COLUMN=FIELD",
            help="generic: the field of a column with another name; 'metadata' keeps it there, '-' leaves it out.",
        )
        parser.add_argument("--site", help="stackexchange: the site's name (default: name of the folder).")
        parser.add_argument(
            "--topics", nargs="+", metavar="TAG", help="stackexchange: only questions with one of these tags."
        )
        for name, words in COUNTS.items():
            default = getattr(HUMAN_RANK_EVAL, name, None)
            parser.add_argument(
                f"--{name.replace('_', '-')}",
                type=at_least({"keep": 2, "seed": 0, "min_votes": 0, "min_total_votes": 0}.get(name, 1)),
                metavar="N",
                help=f"stackexchange: {words}" + (f" {default} where left out." if default else ""),
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
        except UnknownColumnsError as error:
            columns = " ".join(f"{one.field}=FIELD" for one in error.errors if one.field in error.columns)
            hint = f"\nSay what they are: --map {columns}" if columns else ""
            raise CommandError(f"Nothing was imported. {error}{hint}") from None
        except (ImportFileError, DatasetImportError) as error:
            raise CommandError(f"Nothing was imported. {error}") from None
        self.stdout.write(imported.summary())
        if judged is not None:
            self.stdout.write(judged.summary())

    def _read(self, options: dict[str, Any]) -> DatasetBundle:
        kind, path = options["kind"], options["path"]
        for name, owner in OWN_OPTIONS.items():
            if options[name] is not None and kind not in owner:
                raise CommandError(
                    f"--{name.replace('_', '-')} is an option of {one_of(owner)}, not of {kind}."
                )
        if kind == "llmbar":
            return read_llmbar(path)
        if kind == "alpaca-human":
            return read_alpaca_human(path, labels_per_item=options["labels_per_item"])
        if kind == "pandalm":
            return read_pandalm(path)
        if kind == "infobench":
            return read_infobench(path)
        if kind == "dices":
            return read_dices(path)
        if kind == "label-studio":
            return read_label_studio(path)
        if kind == "argilla":
            return read_argilla(path)
        if kind == "potato":
            return read_potato(path)
        if kind == "stackexchange":
            return self._read_stackexchange(path, options)
        criteria = () if options["criteria"] is None else criteria_set(options["criteria"])
        if kind in TRACES:
            judged = options["judge_by"] or TraceOptions().judged
            return TRACES[kind](path, TraceOptions(judged, options["hide"] or (), criteria))
        try:
            mapping = read_mapping(options["map"] or ())
        except ValueError as error:
            raise CommandError(f"--map: {error}.") from None
        return read_generic(path, progress=self._progress, criteria=criteria, mapping=mapping)

    def _read_stackexchange(self, path: str, options: dict[str, Any]) -> DatasetBundle:
        given = {
            name: options[name]
            for name in StackExchangeCriteria.__dataclass_fields__
            if options[name] is not None
        }
        return read_stackexchange(
            path,
            site=options["site"],
            topics=options["topics"] or (),
            per_topic=options["per_topic"],
            seed=options["seed"] or 0,
            criteria=replace(HUMAN_RANK_EVAL, **given),
            progress=self._progress,
        )

    def _progress(self, what: str, done: int) -> None:
        if done >= 10_000:
            self.stderr.write(f"{done:,} {what}")


def _owner(name: str | None) -> User | None:
    if name is None:
        return None
    owner = user_find(name)
    if owner is None:
        raise CommandError(f"--owner: there is no user {name!r}.")
    return owner

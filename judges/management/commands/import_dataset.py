"""`manage.py import_dataset KIND PATH --name NAME`: thin, over `bundle_import`."""

import gc
from argparse import ArgumentTypeError
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.importers import (
    HUMAN_RANK_EVAL,
    DatasetBundle,
    ImportFileError,
    StackExchangeCriteria,
    read_alpaca_human,
    read_judge_bench_nlp,
    read_stackexchange,
)
from annotation.importers.ahead import read_ahead
from annotation.importers.build import ReadStart
from annotation.importers.columns import read_mapping
from annotation.importers.errors import Faults, LeftOutRows, UnknownColumnsError
from annotation.importers.guessing import table_fits
from annotation.importers.images import read_generic_parts_with_images
from annotation.importers.mapping import TableMapping, mapping_file_read, mapping_of
from annotation.importers.rows import one_of
from annotation.importers.traces import HIDDEN, JUDGED, TraceOptions
from annotation.models import Split, User
from annotation.peers.argilla import read_argilla
from annotation.peers.formats import FORMATS, GENERIC, HUGGING_FACE, TRACES
from annotation.peers.hugging_face import folder_licence, read_hugging_face
from annotation.peers.label_studio import read_label_studio
from annotation.selectors.datasets import mapping_kept
from annotation.selectors.users import user_find
from annotation.services.criteria import criteria_set, criteria_sets
from annotation.services.dataset_parts import ImportResult, count
from annotation.services.datasets import DatasetImportError, file_hash, import_repeated
from annotation.services.images import image_folder
from annotation.services.staged_imports import staged_find, staged_remove
from judges.services.dataset_imports import left_out_open, left_out_rows
from judges.services.file_imports import file_import
from judges.services.judgments import JudgmentsResult, bundle_import

# Options of some kinds alone, with these kinds; and those that count something, with what they count.
OWN_OPTIONS: dict[str, tuple[str, ...]] = {
    "labels_per_item": ("alpaca-human",),
    "criteria": (GENERIC, *TRACES),
    "map": (GENERIC, HUGGING_FACE),
    "mapping": (GENERIC, HUGGING_FACE, "argilla", "label-studio"),
    "skip_bad_rows": (GENERIC,),
    "metrics": ("judge-bench-nlp",),
    "judge_by": tuple(TRACES),
    "hide": tuple(TRACES),
    "config": (HUGGING_FACE,),
    "data_split": (HUGGING_FACE,),
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
        parser.add_argument("kind", choices=tuple(FORMATS))
        parser.add_argument(
            "path",
            help="The file; the folder for alternative-annotators, huggingface, llmbar, pandalm, potato and "
            "stackexchange, of which all but pandalm and stackexchange also take a zip. Benchmarks take a folder of "
            "their files too; generic takes a folder or zip of the file and its images.",
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
            "--metrics",
            nargs="+",
            metavar="NAME",
            help="judge-bench-nlp: the metrics to import; all where left out.",
        )
        parser.add_argument(
            "--map",
            nargs="+",
            metavar="COLUMN=FIELD",
            help="generic, huggingface: the field of a column with another name; 'metadata' keeps it there, '-' "
            "leaves it out.",
        )
        parser.add_argument(
            "--mapping",
            metavar="FILE",
            help="generic, huggingface, argilla, label-studio: what the columns are, as YAML or JSON, such as the "
            "import page writes. What --map says goes before it. Default: of generic, that of the dataset's earlier "
            "file, where it fits; of huggingface, touchstone.yaml or touchstone.json in the folder.",
        )
        parser.add_argument(
            "--skip-bad-rows",
            nargs="?",
            const="",
            metavar="FILE",
            help="generic: leave out rows that cannot be read, and write them with their reasons to FILE "
            "(default: NAME.left-out.jsonl).",
        )
        parser.add_argument(
            "--new-version",
            action="store_true",
            help="The file is the whole dataset from now on: items that differ are replaced, items that it lacks are "
            "removed. Earlier versions keep theirs.",
        )
        parser.add_argument(
            "--restart",
            action="store_true",
            help="generic: don't continue an unfinished import of this name. Remove what it has stored, and begin "
            "again.",
        )
        parser.add_argument("--config", metavar="NAME", help="huggingface: the configuration.")
        parser.add_argument(
            "--data-split",
            nargs="+",
            metavar="NAME",
            help="huggingface: the splits of the data, such as test.",
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
            if options["kind"] == GENERIC:
                self._import_generic(options)
                return
            self._check_options(options)
            mapping = _mapping(options)
            saved = {}
            if mapping is not None and options["kind"] == HUGGING_FACE:
                saved["mapping"] = mapping.document()  # of annotation tools it says nothing of a later table
            self._import(options, self._read(options, mapping), **saved)
        except UnknownColumnsError as error:
            columns = " ".join(f"{one.field}=FIELD" for one in error.errors if one.field in error.columns)
            hint = f"\nSay what they are: --map {columns}" if columns else ""
            raise CommandError(f"Nothing was imported. {error}{hint}") from None
        except (ImportFileError, DatasetImportError) as error:
            raise CommandError(f"Nothing was imported. {error}") from None

    def _import(self, options: dict[str, Any], bundle: DatasetBundle, **more: Any) -> None:
        with _no_collections():
            self._say(*bundle_import(bundle=bundle, **self._said(options), **more))

    def _said(self, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "name": options["name"],
            "source": options["kind"],
            "title": options["title"],
            "split": options["split"],
            "licence": self._licence(options),
            "owner": _owner(options["owner"]),
            "new_version": options["new_version"],
            "progress": self._progress,
        }

    def _say(self, imported: ImportResult, judged: JudgmentsResult | None) -> None:
        self.stdout.write(imported.summary())
        if judged is not None:
            self.stdout.write(judged.summary())

    def _import_generic(self, options: dict[str, Any]) -> None:
        self._check_options(options)
        path, skips = Path(options["path"]), options["skip_bad_rows"] is not None
        criteria = () if options["criteria"] is None else criteria_set(options["criteria"])
        mapping = _mapping(options) or _saved(options)
        digest, size = "", 0
        if path.is_file():
            asked_how = mapping.document(), options["criteria"] or "", skips, options["new_version"]
            digest, size = file_hash(path, *asked_how), path.stat().st_size
            asked = (options[name] for name in ("title", "split", "licence"))
            known = import_repeated(name=options["name"], file_hash=digest, owner=_owner(options["owner"]))
            # A file of what was left out is asked for, and only reading gives it.
            is_wanted = known is not None and known.rows_left_out and not _left_out_path(options).exists()
            if known is not None and not any(asked) and not is_wanted:
                self.stdout.write(known.summary())
                return
        if options["restart"]:
            self._remove_unfinished(options["name"])
        left_out = LeftOutFile(_left_out_path(options) if skips else None)
        how = {"criteria": criteria, "mapping": mapping}

        def read(start: ReadStart | None) -> Generator[DatasetBundle, None, None]:
            if start is not None:
                self.stderr.write(f"Continuing after row {start.until.row:,}.")
            with left_out.opened(start) as faults:
                yield from read_ahead(
                    read_generic_parts_with_images(
                        path, image_folder(), progress=self._progress, faults=faults, start=start,
                        any_size=True, **how,
                    )
                )  # fmt: skip

        def stored(row: int, offset: int) -> None:
            share = f" ({offset / size:.0%} of the file)" if size and offset else ""
            self.stderr.write(f"{row:,} rows{share} stored")

        try:
            with _no_collections():
                found = file_import(
                    read=read, file=path.name, key=digest, stored=stored, rows_left_out=lambda: left_out.n,
                    mapping=mapping.document() if not mapping.is_empty else None, **self._said(options),
                )  # fmt: skip
        except KeyboardInterrupt:
            raise CommandError(self._stopped(options["name"]), returncode=130) from None
        self._say(*found)
        if left_out.n:
            self.stderr.write(f"{count(left_out.n, 'row')} left out: see {left_out.path}")

    def _stopped(self, name: str) -> str:
        row = staged_find(name)
        if row is None:
            return "Stopped. Nothing was imported."
        return (
            f"Stopped after row {row.row:,}. Nothing of {name!r} can be seen before its file is imported to the end. "
            "Run the same command to continue, or with --restart to begin again. What is stored so far is removed "
            f"if you don't continue within {settings.EXPORTS_KEEP_HOURS} hours."
        )

    def _remove_unfinished(self, name: str) -> None:
        row = staged_find(name)
        if row is not None:
            self.stderr.write(f"Removing what an unfinished import of {row.file} has stored.")
            staged_remove(row)

    def _check_options(self, options: dict[str, Any]) -> None:
        kind = options["kind"]
        for name, owners in OWN_OPTIONS.items():
            if options[name] is not None and kind not in owners:
                raise CommandError(
                    f"--{name.replace('_', '-')} is an option of {one_of(owners)}, not of {kind}."
                )

    def _read(self, options: dict[str, Any], mapping: TableMapping | None) -> DatasetBundle:
        kind, path = options["kind"], options["path"]
        if kind == "alpaca-human":
            return read_alpaca_human(path, labels_per_item=options["labels_per_item"])
        if kind == "judge-bench-nlp":
            return read_judge_bench_nlp(path, metrics=options["metrics"] or ())
        if kind == "stackexchange":
            return self._read_stackexchange(path, options)
        if kind in TRACES:
            criteria = () if options["criteria"] is None else criteria_set(options["criteria"])
            judged = options["judge_by"] or TraceOptions().judged
            return TRACES[kind](path, TraceOptions(judged, options["hide"] or (), criteria))
        if kind == HUGGING_FACE:
            return read_hugging_face(
                path,
                mapping=mapping,
                config=options["config"],
                splits=options["data_split"] or (),
                progress=self._progress,
            )
        if mapping is not None:
            return (read_argilla if kind == "argilla" else read_label_studio)(path, mapping)
        return FORMATS[kind].read(Path(path))

    @staticmethod
    def _licence(options: dict[str, Any]) -> str | None:
        """What was said, or what the card of a folder of the Hub says."""
        if options["licence"] is None and options["kind"] == HUGGING_FACE:
            return folder_licence(options["path"]) or None
        licence: str | None = options["licence"]
        return licence

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


class LeftOutFile:
    """The file of rows that are left out, where some may be: written anew, or continued where an import continues."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._before = 0
        self._left: LeftOutRows | None = None

    @property
    def n(self) -> int:
        """Rows that were left out of the file so far."""
        return self._before + (0 if self._left is None else self._left.n)

    @contextmanager
    def opened(self, start: ReadStart | None) -> Iterator[Faults]:
        """What collects the bad rows of one reading. A file without a row is removed."""
        if self.path is None:
            yield Faults()
            return
        self._before = 0 if start is None else start.until.n_left_out
        with left_out_open(self.path, start) as out:
            self._left = left_out_rows(out)
            try:
                yield self._left
            finally:
                if not self.n:
                    self.path.unlink()


@contextmanager
def _no_collections() -> Iterator[None]:
    """Don't look for cycles: rows make none, and looking takes a quarter of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _left_out_path(options: dict[str, Any]) -> Path:
    return Path(options["skip_bad_rows"] or f"{options['name']}.left-out.jsonl")


def _mapping(options: dict[str, Any]) -> TableMapping | None:
    """The mapping of `--mapping`, with what `--map` says of single columns before it; None without either."""
    try:
        said = read_mapping(options["map"] or ())
    except ValueError as error:
        raise CommandError(f"--map: {error}.") from None
    if options["mapping"] is None:
        return TableMapping(columns=said) if said else None
    found = mapping_file_read(options["mapping"])
    return replace(found, columns={**found.columns, **said})


def _saved(options: dict[str, Any]) -> TableMapping:
    """The mapping of the dataset's earlier file, if the file has its columns."""
    document = mapping_kept(options["name"])
    path = Path(options["path"])
    if document is None or not path.is_file():
        return TableMapping()
    kept = mapping_of(document)
    return kept if table_fits(path, kept) else TableMapping()


def _owner(name: str | None) -> User | None:
    if name is None:
        return None
    owner = user_find(name)
    if owner is None:
        raise CommandError(f"--owner: there is no user {name!r}.")
    return owner

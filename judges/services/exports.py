"""What can be exported of a dataset or a study, in which formats, and how it is written: one list for pages,
the command and background exports.

The caller has found the subject among what the reader may see; labels are bounded here by what they may see.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

from django.db.models import QuerySet

from annotation.models import Dataset, Item, Study, User
from annotation.models.work import LabelQuerySet
from annotation.peers.argilla import argilla_write
from annotation.peers.benchmarks import alpaca_eval_write, llmbar_write, member_path
from annotation.peers.items import PeerItem
from annotation.peers.label_studio import label_studio_write
from annotation.peers.potato import potato_write
from annotation.selectors.datasets import datasets_by_name, items_of
from annotation.selectors.documentation import facts_of_dataset
from annotation.selectors.overview import labels_visible_to, study_find, study_slugs
from annotation.selectors.pay import pay_report
from annotation.selectors.whole_items import declared_as_files, items_whole
from annotation.services.exports import SHAPES, labels_table
from annotation.services.item_exports import items_table
from annotation.services.people_exports import annotators_table, pay_table, study_annotators_table
from judges.selectors.reading import judge_identities, judge_ids_on
from judges.services.huggingface import huggingface_write
from judges.services.image_exports import images_named, images_write
from judges.services.judgment_exports import judgments_table
from web.page_cache import pages_read_once
from web.tables import FORMATS, ExportTable, table_bytes

Tell = Callable[[str, int, int], None]
"""Called with the step, and how much of how much of it is done; may raise to stop."""


class ExportError(Exception):
    """An export that cannot be made as it was asked for; the message is for people."""


@dataclass(frozen=True, slots=True)
class ExportSubject:
    """What is exported: a dataset, or a study on it; and whose right to see labels bounds it (None: all)."""

    dataset: Dataset
    study: Study | None = None
    reader: User | None = None

    @property
    def name(self) -> str:
        return self.dataset.name if self.study is None else self.study.slug

    def items(self) -> QuerySet[Item]:
        """The items, of a study those that are offered for labeling."""
        # Of a study all that it offers, also what a later version of the dataset replaced.
        items = items_of([self.dataset], earlier=self.study is not None)
        return (
            items
            if self.study is None
            else items.filter(study_items__study=self.study, study_items__role="work")
        )

    def labels(self) -> LabelQuerySet:
        labels = labels_visible_to(self.reader)
        return (
            labels.filter(item__dataset=self.dataset)
            if self.study is None
            else labels.filter(study=self.study)
        )


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What may be chosen beside the format; each means something for some exports only."""

    history: bool = False
    identify: bool = False
    shape: str = "labels"


Make = Callable[[ExportSubject, ExportOptions, Tell], ExportTable]
Write = Callable[[IO[bytes], ExportSubject, Tell], list[str]]
"""Writes a file, and returns notes: sentences on what the format could not hold."""


@dataclass(frozen=True, slots=True)
class Exportable:
    """One thing that can be exported. A table has `table`; what has no rows of ours has a writer of its own."""

    name: str
    label: str
    about: str
    formats: Mapping[str, str] = field(default_factory=lambda: FORMATS)
    ending: str = ""
    studies_only: bool = False
    identifiable: bool = False
    table: Make | None = None
    write: Write | None = None

    def suffix(self, format: str) -> str:
        """How the name of a file ends."""
        return format if format in FORMATS else self.ending or format


def _labels(subject: ExportSubject, options: ExportOptions, tell: Tell) -> ExportTable:
    n = subject.labels().count()
    table = labels_table(
        subject.labels(), history=options.history, identify=options.identify, shape=options.shape
    )
    return ExportTable(table.columns, rows_counted(table.rows, n, "Writing labels", tell))


def _judgments(subject: ExportSubject, _: ExportOptions, tell: Tell) -> ExportTable:
    n = subject.items().count()
    return judgments_table(
        subject.items(), on_items=lambda done: tell("Writing judgments, item by item", done, n)
    )


def _items(subject: ExportSubject, _: ExportOptions, tell: Tell) -> ExportTable:
    table = items_table(subject.items())
    return ExportTable(
        table.columns, rows_counted(table.rows, subject.items().count(), "Writing items", tell)
    )


def _annotators(subject: ExportSubject, options: ExportOptions, tell: Tell) -> ExportTable:
    tell("Reading annotators", 0, 0)
    if subject.study is None:
        return annotators_table(subject.labels())
    return study_annotators_table(subject.study, identify=options.identify)


def _pay(subject: ExportSubject, options: ExportOptions, tell: Tell) -> ExportTable:
    if subject.study is None:
        raise ExportError("Pay can be exported for a study, not for a dataset.")
    tell("Adding up pay", 0, 0)
    return pay_table(pay_report(subject.study), identify=options.identify)


def _huggingface(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
    options = ExportOptions()
    judges = judge_identities(judge_ids_on(subject.items()))
    tools = [f"{name} ({model}, {strategy})" for name, _, model, strategy in sorted(judges.values())]
    facts = facts_of_dataset(subject.dataset, subject.labels(), judges=tools)
    makers = {"items": _items, "labels": _labels, "judgments": _judgments}
    huggingface_write(
        file,
        ((name, make(subject, options, tell)) for name, make in makers.items()),
        facts,
        lambda archive: images_write(archive, subject.dataset),
    )
    notes = [] if subject.dataset.licence else ["The dataset has no license: add one before you publish it."]
    if subject.dataset.is_private:
        notes.append("The dataset is private: to publish this file is to publish its items.")
    return notes


def _with_images(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
    with ZipFile(file, "w") as archive:
        names = images_write(archive, subject.dataset)
        table = images_named(_items(subject, ExportOptions(), tell), names)
        with archive.open(ZipInfo("items.jsonl"), "w", force_zip64=True) as out:
            for piece in table_bytes(table, "jsonl"):
                out.write(piece)
    return []


def _peer(write: Callable[[Iterable[PeerItem]], Iterator[bytes]], *notes: str) -> Write:
    """A writer of a file of items with their labels."""

    def written(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
        items = items_whole(subject.items(), subject.labels())
        for piece in write(rows_counted(items, subject.items().count(), "Writing items", tell)):
            file.write(piece)
        return list(notes)

    return written


def _with_declared(write: Callable[[Iterable[PeerItem], Mapping[str, object]], Iterator[bytes]]) -> Write:
    def written(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
        declared = declared_as_files([subject.dataset])
        return _peer(lambda items: write(items, declared), _LABELS_ALONE)(file, subject, tell)

    return written


def _potato(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
    items = items_whole(subject.items(), subject.labels())
    declared = declared_as_files([subject.dataset])
    potato_write(file, rows_counted(items, subject.items().count(), "Writing items", tell), declared)
    return [_LABELS_ALONE]


def _alpaca_eval(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
    if not subject.labels().current().filter(choice__isnull=False).exists():
        raise ExportError("AlpacaEval's format has labels of pairs, and there is none here.")
    note = "AlpacaEval's format has labels of pairs. Gold, systems and other items are left out."
    return _peer(alpaca_eval_write, note)(file, subject, tell)


def _llmbar(file: IO[bytes], subject: ExportSubject, tell: Tell) -> list[str]:
    if not subject.items().filter(gold__choice__in=(1, 2)).exists():
        raise ExportError(
            "LLMBar's format has pairs with a gold answer that isn't a tie, and there is none here."
        )
    subsets = subject.items().order_by("instruction__subset").values_list("instruction__subset", flat=True)
    taken: set[str] = set()
    with ZipFile(file, "w") as archive:
        for number, subset in enumerate(subsets.distinct()):
            tell("Writing subsets", number, 0)
            folder = member_path(subset)
            while folder.lower() in taken:
                folder += "_"
            taken.add(folder.lower())
            with archive.open(ZipInfo(f"{folder}/dataset.json"), "w", force_zip64=True) as out:
                for piece in llmbar_write(items_whole(subject.items().filter(instruction__subset=subset))):
                    out.write(piece)
    return [
        "LLMBar's format has pairs with a gold answer that isn't a tie, and no labels. Other items are left out."
    ]


_LABELS_ALONE = "The file has the labels that count, without the order shown, comments and judgments."
JSON_FILE = {"json": "application/json"}
EXPORTABLES = {
    one.name: one
    for one in (
        Exportable(
            "labels",
            "Labels",
            "One row per label, with the order shown, the time taken and the annotator's pseudonym.",
            identifiable=True,
            table=_labels,
        ),
        Exportable(
            "judgments",
            "Judgments",
            "One row per judgment, with the verdict in canonical order, the order shown, the raw text, the "
            "probability, the cost and the tokens.",
            table=_judgments,
        ),
        Exportable(
            "items",
            "Items",
            "One row per item, with its texts, in a form that can be imported again.",
            table=_items,
        ),
        Exportable(
            "items-images",
            "Items with their images",
            "One row per item as JSONL and the images that it shows, as a zip that can be imported again.",
            formats={"zip": "application/zip"},
            write=_with_images,
        ),
        Exportable(
            "annotators",
            "Annotators",
            "One row per annotator, under the pseudonym that the labels have.",
            identifiable=True,
            table=_annotators,
        ),
        Exportable(
            "pay",
            "Pay",
            "One row per annotator to pay.",
            studies_only=True,
            identifiable=True,
            table=_pay,
        ),
        Exportable(
            "huggingface",
            "Dataset for the Hugging Face Hub",
            "Items, labels and judgments as Parquet, with a dataset card and a Croissant file, as a zip.",
            formats={"zip": "application/zip"},
            write=_huggingface,
        ),
        Exportable(
            "label-studio",
            "Label Studio",
            "Tasks with annotations, as Label Studio imports and exports them.",
            formats=JSON_FILE,
            write=_with_declared(label_studio_write),
        ),
        Exportable(
            "argilla",
            "Argilla",
            "Records with responses, as Argilla imports and exports them.",
            formats=JSON_FILE,
            write=_with_declared(argilla_write),
        ),
        Exportable(
            "potato",
            "Potato",
            "A project that Potato starts: items, configuration and annotators' answers, as a zip.",
            formats={"zip": "application/zip"},
            write=_potato,
        ),
        Exportable(
            "alpaca-eval",
            "AlpacaEval",
            "Labels of pairs in the form of AlpacaEval's human annotations.",
            formats=JSON_FILE,
            write=_alpaca_eval,
        ),
        Exportable(
            "llmbar",
            "LLMBar",
            "Pairs with gold, one dataset.json per subset, as a zip.",
            formats={"zip": "application/zip"},
            write=_llmbar,
        ),
    )
}


def rows_counted(rows: Iterable[Any], total: int, step: str, tell: Tell) -> Iterator[Any]:
    """The rows, with word of how many there were every 1,000."""
    for done, row in enumerate(rows):
        if done % 1_000 == 0:
            tell(step, min(done, total), total)
        yield row


def silent(step: str, done: int, total: int) -> None:
    """Tells nobody."""


def export_check(subject: ExportSubject, what: str, format: str, options: ExportOptions) -> Exportable:
    """What is asked for; `ExportError` where there is no such export of this subject."""
    one = EXPORTABLES.get(what)
    if one is None:
        raise ExportError(f"There is no export {what!r}: expected {', '.join(EXPORTABLES)}.")
    if format not in one.formats:
        raise ExportError(f"{one.label}: expected the format {' or '.join(one.formats)}, got {format!r}.")
    if one.studies_only and subject.study is None:
        raise ExportError(f"{one.label} can be exported for a study, not for a dataset.")
    if options.identify and not one.identifiable:
        raise ExportError(f"{one.label} have no annotators' identifiers.")
    if options.shape not in SHAPES:
        raise ExportError(f"shape: expected {' or '.join(SHAPES)}, got {options.shape!r}.")
    return one


def export_write(
    file: IO[bytes],
    subject: ExportSubject,
    what: str,
    format: str,
    options: ExportOptions = ExportOptions(),
    tell: Tell = silent,
) -> list[str]:
    """Write an export into a file; returns notes, sentences on what the format could not hold.

    Raises
    ------
    ExportError
        There is no such export of this subject, or nothing to put into it.
    """
    one = export_check(subject, what, format, options)
    with pages_read_once():
        if one.table is not None:
            table = one.table(subject, options, tell)
            first = next(rows := iter(table.rows), None)
            found = rows if first is None else chain([first], rows)
            for piece in table_bytes(ExportTable(table.columns, found), format):
                file.write(piece)
            return ["The file has no rows."] if first is None else []
        assert one.write is not None
        return one.write(file, subject, tell)


def export_subject_named(name: str, study: str | None = None) -> ExportSubject:
    """A dataset of that name, else a study of that slug, for a command; `LookupError` says what there is."""
    dataset = datasets_by_name().filter(name=name).first()
    if dataset is None:
        found = study_find(name)
        if found is None:
            known = ", ".join([*datasets_by_name().values_list("name", flat=True)[:10], *study_slugs()[:10]])
            raise LookupError(f"There is no dataset or study {name!r}; there is: {known or 'none yet'}.")
        return ExportSubject(found.dataset, found)
    chosen = None if study is None else study_find(study)
    if study is not None and (chosen is None or chosen.dataset_id != dataset.pk):
        raise LookupError(f"Dataset {name!r} has no study {study!r}.")
    return ExportSubject(dataset, chosen)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that is written beside its place, and put there when it is whole. Nobody else may read it."""
    part = path.with_name(f"{path.name}.part")
    try:
        with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file
        os.replace(part, path)  # noqa: PTH105
    finally:
        part.unlink(missing_ok=True)

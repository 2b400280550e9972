"""Importing datasets: whole or not at all, and the same file again changes nothing."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.importers import DatasetBundle, LabelRecord
from annotation.models import Dataset, DatasetVersion, Split, User
from annotation.services.dataset_comparison import ImportTarget
from annotation.services.dataset_rows import ImportRun
from annotation.services.dataset_versions import dataset_raise, version_note
from web.bulk import foreign_keys_check_at_once

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class DatasetImportError(Exception):
    """An import that is refused for what was asked, not for what is in the file."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What an import did. `items`, `gold` and `subsets` count the file; `labels` its labels.

    `instructions` counts those of the file that stand alone, without an item.
    """

    dataset: Dataset
    created: bool
    items: int
    items_created: int
    gold: int
    subsets: int
    labels: int
    labels_created: int
    criteria_created: int = 0
    instructions: int = 0
    instructions_created: int = 0
    items_changed: int = 0
    items_removed: int = 0
    rows_left_out: int = 0

    @property
    def changed(self) -> bool:
        return self.created or bool(
            self.items_created
            or self.items_changed
            or self.items_removed
            or self.labels_created
            or self.criteria_created
            or self.instructions_created
        )

    def summary(self) -> str:
        """One line for a terminal."""
        left_out = f" {count(self.rows_left_out, 'row')} left out." if self.rows_left_out else ""
        return f"{self._summary()}{left_out}"

    def _summary(self) -> str:
        name = self.dataset.name
        if self.instructions and not self.items:
            return f"{name}: {self._instructions_words()}"
        if not self.changed:
            return f"{name}: unchanged: {count(self.items, 'item')}, {count(self.labels, 'label')}."
        subsets = f" in {count(self.subsets, 'subset')}" if self.subsets else ""
        all_of_it = (
            f"{count(self.items, 'item')}{subsets}, {self.gold:,} gold; {count(self.labels, 'label')}."
        )
        if self.created:
            return f"{name}: {all_of_it} Created."
        done = [f"Added {count(self.items_created, 'item')} and {count(self.labels_created, 'label')}"]
        if self.items_changed or self.items_removed:
            done += [
                f"changed {count(self.items_changed, 'item')}, removed {count(self.items_removed, 'item')}"
            ]
        return f"{name}: {all_of_it} {'; '.join(done)}; now version {self.dataset.version}."

    def _instructions_words(self) -> str:
        alone = f"{count(self.instructions, 'instruction')} without an item."
        if not self.changed:
            return f"unchanged: {alone}"
        if self.created:
            return f"{alone} Created."
        added = count(self.instructions_created, "instruction")
        return f"{alone} Added {added}; now version {self.dataset.version}."


def _count(number: int | Callable[[], int]) -> int:
    return number if isinstance(number, int) else number()


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def dataset_import(*, bundle: DatasetBundle, **options: Any) -> ImportResult:
    """Bring a bundle into a dataset: `dataset_import_parts` with one part."""
    return dataset_import_parts(parts=[bundle], **options)


@transaction.atomic
def dataset_import_parts(
    *,
    parts: Iterable[DatasetBundle],
    name: str,
    title: str | None = None,
    split: str | None = None,
    licence: str | None = None,
    description: str | None = None,
    owner: User | None = None,
    source: str | None = None,
    progress: Callable[[str, int], None] | None = None,
    new_version: bool = False,
    by: User | None = None,
    mapping: Mapping[str, Any] | None = None,
    rows_left_out: int | Callable[[], int] = 0,
    file_hash: str = "",
    took: Callable[[Dataset, DatasetBundle], None] | None = None,
) -> ImportResult:
    """Bring a bundle, or the parts of one, into the dataset `name`, which is made if there is none.

    All parts are one transaction. They are asked for one after the other, so that no more than one is in memory.

    Rows are known by their external ids. What is there already and the same is left alone, what is new is
    added (and the version goes up), what is there and different refuses the whole import. Nothing is removed.
    The verdicts of the bundle are not stored here but by `judges.services.judgments`.

    Parameters
    ----------
    new_version
        The bundle, which has to be one part, is the dataset from now on: what it says of an item replaces what is
        stored, and items that it lacks are removed. Earlier versions keep theirs, with the labels that were given on
        them.
    by
        Who imports; the version says so.
    mapping
        What the columns of the file are, kept for the next one.
    rows_left_out
        Rows of the file that are not in the bundle since they could not be read; asked for at the end, if it is called.
    file_hash
        Of the file and how it was read. `import_repeated` knows a file by it.
    took
        Called with each part once its items are stored, in the same transaction.

    Raises
    ------
    ImportFileError
        The file contradicts what is stored: file, row, field and both values.
    DatasetImportError
        A name that is none, or settings that contradict those of the existing dataset.
    """
    if not NAME.match(name):
        raise DatasetImportError(
            f"{name!r} isn't a valid dataset name: expected 1 to 64 letters, digits, hyphens and underscores."
        )
    if split is not None and split not in Split.values:
        raise DatasetImportError(f"split: expected {', '.join(Split.values)}, found {split!r}.")
    for setting, value, limit in (("title", title, 200), ("licence", licence, 100)):
        if value is not None and (len(value) > limit or "\x00" in value):
            raise DatasetImportError(f"{setting}: expected at most {limit} characters of text.")
    asked = {"title": title, "split": split, "licence": licence, "description": description}
    given = {setting: value for setting, value in asked.items() if value is not None}
    coming = iter(parts)
    first = next(coming)  # which may refuse the file before there is a dataset
    defaults = {"title": name, "owner": owner, "source": (source or first.source)[:300]} | given
    found, created = Dataset.objects.get_or_create(name=name, defaults=defaults)
    # Two imports of one name take turns from here on; the second sees what the first has stored.
    dataset = dataset_lock(dataset_id=found.pk)
    if not created:
        _refuse_other_settings(dataset, given, owner)
    counts: Counter[str] = Counter()
    subsets: set[str] = set()
    categories_changed = has_verdicts = False
    following = next(coming, None)
    is_part = following is not None
    if is_part and new_version:
        raise DatasetImportError("a file that is read in parts can't be a dataset's next version.")
    part: DatasetBundle | None = first
    target = ImportTarget(dataset, is_created=created, is_whole=not is_part, new_version=new_version)
    foreign_keys_check_at_once()
    while part is not None:
        # Of a part nobody knows how many are to come.
        run = ImportRun(target, part, None if is_part else progress)
        run.store()
        if took is not None:
            took(dataset, part)
        alone = {record.key for record in part.instructions} - {item.instruction for item in part.items}
        counts.update(
            items=len(part.items),
            items_created=run.created["items"],
            gold=sum(item.gold is not None for item in part.items),
            labels=len(part.labels),
            labels_created=run.created["labels"],
            criteria_created=run.created["criteria"],
            instructions=len(alone),
            instructions_created=run.created["instructions"] if alone else 0,
            items_changed=run.n_changed,
            items_removed=run.n_removed,
        )
        subsets |= {instruction.subset for instruction in part.instructions} - {""}
        categories_changed |= bool(run.created["categories"])
        has_verdicts |= bool(part.verdicts)
        part, following = following, next(coming, None)
    result = ImportResult(
        dataset=dataset, created=created, subsets=len(subsets), rows_left_out=_count(rows_left_out), **counts
    )
    if mapping is not None and dataset.mapping != mapping:
        dataset.mapping = dict(mapping)
        dataset.save(update_fields=["mapping"])
    if result.changed or categories_changed:
        note = version_note if created else dataset_raise
        note(
            dataset=dataset,
            by=by or owner,
            source=source or first.source,
            items_added=result.items_created,
            items_changed=result.items_changed,
            items_removed=result.items_removed,
            labels_added=result.labels_created,
            rows_left_out=result.rows_left_out,
            file_hash="" if has_verdicts else file_hash,
            counted={name: getattr(result, name) for name in COUNTED},
        )
    return result


@dataclass(frozen=True, slots=True)
class ImportCheck:
    """What an import would do to the items of a dataset; `exists` is whether it is there already."""

    exists: bool
    items_added: int
    items_changed: int = 0
    items_removed: int = 0


def dataset_check(*, bundle: DatasetBundle, name: str, owner: User, new_version: bool = False) -> ImportCheck:
    """Hold the items of a bundle against what is stored, and store nothing.

    Raises
    ------
    ImportFileError
        An item contradicts what is stored. Labels are held against the stored ones when they are stored.
    DatasetImportError
        The name is another's.
    """
    dataset = Dataset.objects.filter(name=name).first()
    if dataset is None:
        return ImportCheck(False, len(bundle.items))
    _refuse_other_settings(dataset, {}, owner)
    run = ImportRun(ImportTarget(dataset, new_version=new_version), bundle)
    return ImportCheck(True, run.compare(), run.n_changed, run.n_removed)


COUNTED = ("items", "gold", "subsets", "labels", "instructions")
"""What `ImportResult` counts of a file."""


def file_hash(path: Path, *how: object) -> str:
    """A hash of a file and of how it is read, for `import_repeated`."""
    digest = sha256(json.dumps(how, sort_keys=True, default=str).encode())
    with path.open("rb") as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def import_repeated(*, name: str, file_hash: str, owner: User | None = None) -> ImportResult | None:
    """The result of importing a file that was imported as it is, without reading it; None for any other.

    A file that brought verdicts is always read again. So is one after which a version changed or removed items.
    """
    versions = DatasetVersion.objects.filter(dataset__name=name).select_related("dataset")
    if owner is not None:
        versions = versions.filter(dataset__owner=owner)
    known = versions.filter(file_hash=file_hash).order_by("-number").first() if file_hash else None
    if known is None:
        return None
    later = versions.filter(number__gt=known.number)
    if later.filter(Q(items_changed__gt=0) | Q(items_removed__gt=0)).exists():
        return None
    return ImportResult(
        dataset=known.dataset,
        created=False,
        items_created=0,
        labels_created=0,
        rows_left_out=known.rows_left_out,
        **{name: int(known.counted.get(name, 0)) for name in COUNTED},
    )


@transaction.atomic
def labels_import(*, dataset: Dataset, labels: Sequence[LabelRecord]) -> int:
    """Store labels that were collected elsewhere on items of a dataset; returns how many were new.

    Labels that are stored and the same are left alone; one that contradicts refuses them all.

    Raises
    ------
    ImportFileError
        A label contradicts the stored one.
    """
    locked = dataset_lock(dataset_id=dataset.pk)
    bundle = DatasetBundle(source="", instructions=(), responses=(), items=(), labels=tuple(labels))
    run = ImportRun(ImportTarget(locked), bundle)
    run.store()
    if created := run.created["labels"]:
        dataset_raise(dataset=locked, source="labels", labels_added=created)
    return created


@transaction.atomic
def dataset_update(*, dataset: Dataset, title: str, split: str, licence: str) -> bool:
    """Change what is said of a dataset; whether anything was different. Items and labels stay as they are.

    Raises
    ------
    DatasetImportError
        An empty title or an unknown split.
    """
    if not title.strip():
        raise DatasetImportError("title: expected some text.")
    if split not in Split.values:
        raise DatasetImportError(f"split: expected {', '.join(Split.values)}, found {split!r}.")
    locked = dataset_lock(dataset_id=dataset.pk)
    given = {"title": title, "split": split, "licence": licence}
    changed = [name for name, value in given.items() if getattr(locked, name) != value]
    for name in changed:
        setattr(locked, name, given[name])
    locked.save(update_fields=changed)
    return bool(changed)


def dataset_lock(*, dataset_id: int, no_key: bool = False) -> Dataset:
    """Hold the dataset's row until the transaction ends, so that imports into it take turns.

    With `no_key`, rows that refer to it may be added meanwhile.
    """
    return Dataset.objects.select_for_update(no_key=no_key).get(pk=dataset_id)


def _refuse_other_settings(dataset: Dataset, given: dict[str, str], owner: User | None) -> None:
    # First whose it is: what its settings are is nothing for somebody who may not even see it.
    if owner is not None and dataset.owner_id != owner.pk:
        raise DatasetImportError(f"the name {dataset.name!r} is taken; choose another one.")
    for setting, value in given.items():
        stored = getattr(dataset, setting)
        if stored != value:
            raise DatasetImportError(
                f"dataset {dataset.name!r} exists with {setting} {stored!r}, not {value!r}; "
                f"leave the option out, or first change the dataset on its page."
            )


def dataset_document(*, dataset: Dataset, said: Mapping[str, str]) -> bool:
    """Keep what people say of a dataset for its exports; False if nothing is different."""
    kept = {field: text for field, text in said.items() if text}
    changed = Dataset.objects.filter(pk=dataset.pk).exclude(documentation=kept).update(documentation=kept)
    dataset.documentation = kept
    return bool(changed)

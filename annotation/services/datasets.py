"""Importing datasets: whole or not at all, and the same file again changes nothing."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q

from annotation.importers import DatasetBundle, LabelRecord
from annotation.importers.keys import KeyStore
from annotation.models import Dataset, DatasetVersion, Split, User
from annotation.selectors.datasets import is_filled_by
from annotation.services.dataset_comparison import ImportTarget
from annotation.services.dataset_parts import COUNTED, ImportResult, PartsTaken
from annotation.services.dataset_rows import ImportRun
from annotation.services.dataset_versions import dataset_raise
from annotation.services.staged_imports import staged_find
from web.bulk import foreign_keys_check_at_once

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class DatasetImportError(Exception):
    """An import that is refused for what was asked, not for what is in the file."""


def _count(number: int | Callable[[], int]) -> int:
    return number if isinstance(number, int) else number()


def dataset_import(*, bundle: DatasetBundle, **options: Any) -> ImportResult:
    """Bring a bundle into a dataset: `dataset_import_parts` with one part."""
    return dataset_import_parts(parts=[bundle], **options)


def settings_check(name: str, *, title: str | None, split: str | None, licence: str | None) -> None:
    """Raise a DatasetImportError for a name that is none, or settings that no dataset can have."""
    if not NAME.match(name):
        raise DatasetImportError(
            f"{name!r} isn't a valid dataset name: expected 1 to 64 letters, digits, hyphens and underscores."
        )
    if split is not None and split not in Split.values:
        raise DatasetImportError(f"split: expected {', '.join(Split.values)}, found {split!r}.")
    for setting, value, limit in (("title", title, 200), ("licence", licence, 100)):
        if value is not None and (len(value) > limit or "\x00" in value):
            raise DatasetImportError(f"{setting}: expected at most {limit} characters of text.")


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
        The parts are the dataset from now on: what they say of an item replaces what is stored, and items that they
        lack are removed. Earlier versions keep theirs, with the labels that were given on them.
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
    settings_check(name, title=title, split=split, licence=licence)
    asked = {"title": title, "split": split, "licence": licence, "description": description}
    given = {setting: value for setting, value in asked.items() if value is not None}
    coming = iter(parts)
    first = next(coming)  # which may refuse the file before there is a dataset
    defaults = {"title": name, "owner": owner, "source": (source or first.source)[:300]} | given
    try:
        found, created = Dataset.objects.get_or_create(name=name, defaults=defaults)
    except IntegrityError:  # one whose import isn't finished has the name
        raise DatasetImportError(_unfinished_words(name, owner)) from None
    # Two imports of one name take turns from here on; the second sees what the first has stored.
    dataset = dataset_lock(dataset_id=found.pk)
    if not created:
        refuse_other_settings(dataset, given, owner)
    following = next(coming, None)
    is_whole = following is None
    target = ImportTarget(dataset, is_created=created, is_whole=is_whole, new_version=new_version)
    # Of a part nobody knows how many are to come.
    taken = PartsTaken(target, progress=progress if is_whole else None, took=took)
    foreign_keys_check_at_once()
    part: DatasetBundle | None = first
    has_verdicts = False
    while part is not None:
        taken.take(part)
        has_verdicts |= bool(part.verdicts)
        part, following = following, next(coming, None)
    if target.new_version and not is_whole:
        taken.remove_missing()
    return taken.finish(
        n_subsets=len(taken.subsets),
        by=by or owner,
        source=source or first.source,
        mapping=mapping,
        rows_left_out=_count(rows_left_out),
        file_hash="" if has_verdicts else file_hash,
    )


class ImportCheck:
    """What an import would do to the items of a dataset, part by part; nothing is stored.

    Attributes
    ----------
    exists : bool
        There is a dataset of this name.
    items_added, items_changed, items_removed : int
        Of the parts so far; what a new version removes is known once `finish` was called.

    Raises
    ------
    DatasetImportError
        The name is another's.
    """

    def __init__(self, *, name: str, owner: User, new_version: bool = False) -> None:
        dataset = Dataset.objects.filter(name=name).first()
        self.exists = dataset is not None
        self.items_added = self.items_changed = self.items_removed = 0
        self._seen = KeyStore()
        self._target: ImportTarget | None = None
        if dataset is not None:
            refuse_other_settings(dataset, {}, owner)
            self._target = ImportTarget(dataset, is_whole=False, new_version=new_version)
        elif Dataset.with_staged.filter(name=name).exclude(owner=owner).exists():
            raise DatasetImportError(_unfinished_words(name, owner))

    def part(self, bundle: DatasetBundle) -> None:
        """Hold the items of a part against what is stored.

        Raises
        ------
        ImportFileError
            An item contradicts it. Labels are held against the stored ones when they are stored.
        """
        new, replaced = bundle.items, dict[str, int]()
        if self._target is not None:
            found = ImportRun(self._target, bundle).compare()
            new, replaced = tuple(found.new), found.replaced
        seen = self._seen.found([item.external_id for item in new])
        names = {item.external_id for item in new} - seen.keys()
        n_changed = len(names & replaced.keys())
        self.items_changed += n_changed
        self.items_added += len(names) - n_changed
        self._seen.add((name, 1) for name in names)

    def finish(self) -> None:
        """All parts were there."""
        if self._target is not None and self._target.new_version:
            self.items_removed = sum(map(len, self._target.missing()))


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
        versions = versions.filter(is_filled_by(owner, "dataset__"))
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
def labels_import(
    *, dataset: Dataset, labels: Sequence[LabelRecord], progress: Callable[[str, int], None] | None = None
) -> int:
    """Store labels that were collected elsewhere on items of a dataset; returns how many were new.

    Labels that are stored and the same are left alone; one that contradicts refuses them all.

    Raises
    ------
    ImportFileError
        A label contradicts the stored one.
    """
    locked = dataset_lock(dataset_id=dataset.pk)
    bundle = DatasetBundle(source="", instructions=(), responses=(), items=(), labels=tuple(labels))
    run = ImportRun(ImportTarget(locked), bundle, progress)
    run.store()
    if created := run.created["labels"]:
        dataset_raise(dataset=locked, source="labels", labels_added=created)
    return created


@transaction.atomic
def labels_check(*, dataset: Dataset, labels: Sequence[LabelRecord]) -> int:
    """How many labels `labels_import` would store; nothing is stored.

    Raises
    ------
    ImportFileError
        As of `labels_import`.
    """
    created = labels_import(dataset=dataset, labels=labels)
    transaction.set_rollback(True)
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


def _unfinished_words(name: str, owner: User | None) -> str:
    row = staged_find(name)
    if row is None or (owner is not None and row.dataset.owner_id != owner.pk):
        return f"the name {name!r} is taken; choose another one."
    return f"an import of {row.file} into {name!r} isn't finished. Continue it or give it up first."


def refuse_other_settings(dataset: Dataset, given: dict[str, str], owner: User | None) -> None:
    # First whose it is: what its settings are is nothing for somebody who may not even see it.
    mine = Dataset.with_staged.filter(pk=dataset.pk)
    if owner is not None and dataset.owner_id != owner.pk and not mine.filter(is_filled_by(owner)).exists():
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

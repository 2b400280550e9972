"""Importing datasets: whole or not at all, and the same file again changes nothing."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from annotation.importers import DatasetBundle, LabelRecord
from annotation.models import Dataset, Split, User
from annotation.services.dataset_rows import ImportRun

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

    @property
    def changed(self) -> bool:
        return self.created or bool(
            self.items_created or self.labels_created or self.criteria_created or self.instructions_created
        )

    def summary(self) -> str:
        """One line for a terminal."""
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
        added = f"{count(self.items_created, 'item')} and {count(self.labels_created, 'label')}"
        return f"{name}: {all_of_it} Added {added}; now version {self.dataset.version}."

    def _instructions_words(self) -> str:
        alone = f"{count(self.instructions, 'instruction')} without an item."
        if not self.changed:
            return f"unchanged: {alone}"
        if self.created:
            return f"{alone} Created."
        added = count(self.instructions_created, "instruction")
        return f"{alone} Added {added}; now version {self.dataset.version}."


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


@transaction.atomic
def dataset_import(
    *,
    bundle: DatasetBundle,
    name: str,
    title: str | None = None,
    split: str | None = None,
    licence: str | None = None,
    description: str | None = None,
    owner: User | None = None,
    source: str | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> ImportResult:
    """Bring a bundle into the dataset `name`, which is made if there is none.

    Rows are known by their external ids. What is there already and the same is left alone, what is new is
    added (and the version goes up), what is there and different refuses the whole import. Nothing is removed.
    The verdicts of the bundle are not stored here but by `judges.services.judgments`.

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
    defaults = {"title": name, "owner": owner, "source": (source or bundle.source)[:300]} | given
    found, created = Dataset.objects.get_or_create(name=name, defaults=defaults)
    # Two imports of one name take turns from here on; the second sees what the first has stored.
    dataset = dataset_lock(dataset_id=found.pk)
    if not created:
        _refuse_other_settings(dataset, given, owner)
    run = ImportRun(dataset=dataset, bundle=bundle, fresh=created, progress=progress)
    run.store()
    alone = {record.key for record in bundle.instructions} - {item.instruction for item in bundle.items}
    result = ImportResult(
        dataset=dataset,
        created=created,
        items=len(bundle.items),
        items_created=run.created["items"],
        gold=sum(item.gold is not None for item in bundle.items),
        subsets=len({instruction.subset for instruction in bundle.instructions} - {""}),
        labels=len(bundle.labels),
        labels_created=run.created["labels"],
        criteria_created=run.created["criteria"],
        instructions=len(alone),
        instructions_created=run.created["instructions"] if alone else 0,
    )
    if (result.changed or run.created["categories"]) and not created:
        dataset.version += 1
        dataset.save(update_fields=["version"])
    return result


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
    run = ImportRun(dataset=locked, bundle=bundle, fresh=False, progress=None)
    run.store()
    if created := run.created["labels"]:
        locked.version += 1
        locked.save(update_fields=["version"])
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

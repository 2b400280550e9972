"""The parts of a file into a dataset: what each had and made, all in one transaction or each in one of its own."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.importers import DatasetBundle
from annotation.importers.records import EMPTY
from annotation.models import Dataset, Instruction, User
from annotation.services.dataset_comparison import ImportTarget
from annotation.services.dataset_rows import ImportRun, items_retire
from annotation.services.dataset_versions import dataset_raise, version_note
from annotation.services.staged_imports import Staging

COUNTED = ("items", "gold", "subsets", "labels", "instructions")
"""What `ImportResult` counts of a file."""


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


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class PartsTaken:
    """What the parts of an import had and made, so far. `take` stores one, in the caller's transaction."""

    def __init__(
        self,
        target: ImportTarget,
        counts: Mapping[str, int] = EMPTY,
        *,
        progress: Callable[[str, int], None] | None = None,
        took: Callable[[Dataset, DatasetBundle], None] | None = None,
    ) -> None:
        self.target = target
        self.counts = Counter(counts)
        self.subsets: set[str] = set()
        self._progress, self._took = progress, took

    def take(self, part: DatasetBundle) -> None:
        run = ImportRun(self.target, part, self._progress)
        run.store()
        if self._took is not None:
            self._took(self.target.dataset, part)
        alone = {record.key for record in part.instructions} - {item.instruction for item in part.items}
        self.counts.update(
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
            categories_created=run.created["categories"],
        )
        self.subsets |= {instruction.subset for instruction in part.instructions} - {""}

    def remove_missing(self) -> None:
        """Retire what a new version in parts has not named, once all of them are taken."""
        for batch in self.target.missing():
            self.counts["items_removed"] += items_retire(self.target, batch)

    def finish(
        self,
        *,
        n_subsets: int,
        by: User | None,
        source: str,
        mapping: Mapping[str, Any] | None,
        rows_left_out: int,
        file_hash: str,
    ) -> ImportResult:
        """Note the mapping and the version; in the transaction of the last part."""
        dataset, created = self.target.dataset, self.target.is_created
        counts = {name: n for name, n in self.counts.items() if name != "categories_created"}
        result = ImportResult(
            dataset=dataset, created=created, subsets=n_subsets, rows_left_out=rows_left_out, **counts
        )
        if mapping is not None and dataset.mapping != mapping:
            dataset.mapping = dict(mapping)
            dataset.save(update_fields=["mapping"])
        if result.changed or self.counts["categories_created"]:
            note = version_note if created else dataset_raise
            note(
                dataset=dataset,
                by=by,
                source=source,
                items_added=result.items_created,
                items_changed=result.items_changed,
                items_removed=result.items_removed,
                labels_added=result.labels_created,
                rows_left_out=result.rows_left_out,
                file_hash=file_hash,
                counted={name: getattr(result, name) for name in COUNTED},
            )
        return result


class VerdictsFoundError(Exception):
    """A part has verdicts of judges, which can't be staged: judges are no dataset's, and would be seen."""


def dataset_import_staged(
    *,
    parts: Iterable[DatasetBundle],
    staging: Staging,
    by: User | None = None,
    source: str | None = None,
    mapping: Mapping[str, Any] | None = None,
    finished: Callable[[ImportResult], None],
    stored: Callable[[int, int], None] = lambda _row, _offset: None,
) -> ImportResult:
    """Bring parts of a file into a dataset that the file makes, each in a transaction of its own.

    The last one shows the dataset. Where this is stopped before, `staged_continue` continues behind the last part.

    Parameters
    ----------
    finished
        Called in the transaction of the last part.
    stored
        Called after each other part with the row and the byte of the file up to which it is stored.

    Raises
    ------
    ImportFileError
        From reading the file: what is staged stays staged.
    StagedImportError
        Another process has continued it.
    VerdictsFoundError
    """
    taken = PartsTaken(staging.target, staging.row.counted)
    coming = iter(parts)
    part, following = next(coming), next(coming, None)
    while True:
        if part.verdicts:
            raise VerdictsFoundError
        assert part.until is not None
        with staging.part():
            taken.take(part)
            if following is None:
                subsets = Instruction.objects.filter(dataset=staging.target.dataset).exclude(subset="")
                result = taken.finish(
                    n_subsets=subsets.order_by().values("subset").distinct().count(),
                    by=by,
                    source=source or part.source,
                    mapping=mapping,
                    rows_left_out=part.until.n_left_out,
                    file_hash=staging.row.key,
                )
                staging.finish()
                finished(result)
                return result
            staging.move(part.until, taken.counts)
        stored(part.until.row, part.until.offset)
        part, following = following, next(coming, None)

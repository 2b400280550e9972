"""Importing verdicts made elsewhere: whole or not at all, and the same file again changes nothing."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NoReturn

from django.db import connection, models, transaction

from annotation.importers import DatasetBundle, ImportFileError, VerdictRecord
from annotation.importers.errors import Faults, quoted
from annotation.models import Dataset, Instruction, Item, ItemResponse, Label, Response
from annotation.selectors.datasets import items_by_external_id
from annotation.services.dataset_rows import same
from annotation.services.datasets import ImportResult, count, dataset_import, dataset_lock
from judges.models import BackendKind, Judge, Judgment
from web.batches import batched

BATCH = 5000

Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class JudgmentsResult:
    """What an import of verdicts did. All but `created` and `judges_created` count the file."""

    dataset: Dataset
    judges: int
    judges_created: int
    judgments: int
    created: int
    unparsed: int

    @property
    def changed(self) -> bool:
        return bool(self.created or self.judges_created)

    def summary(self) -> str:
        """One line for a terminal."""
        what = f"{count(self.judges, 'judge')}, {count(self.judgments, 'judgment')}"
        if not self.changed:
            return f"{self.dataset.name}: unchanged: {what}."
        added = "Created." if self.created == self.judgments else f"Added {count(self.created, 'judgment')}."
        return f"{self.dataset.name}: {what}, {self.unparsed:,} unparsed. {added}"


def imported_judge_spec(record: VerdictRecord, source: str) -> dict[str, str]:
    """The whole content of a judge that is only known by name."""
    return {
        "backend": str(BackendKind.IMPORTED),
        "name": record.judge,
        "model": record.model,
        "strategy": record.strategy,
        "source": source,
    }


def imported_judge_fingerprint(spec: dict[str, str]) -> str:
    """SHA-256 of the spec as canonical JSON."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode()).hexdigest()


@transaction.atomic
def judgments_import(
    *,
    dataset: Dataset,
    verdicts: Sequence[VerdictRecord],
    source: str,
    progress: Progress | None = None,
) -> JudgmentsResult:
    """Store verdicts about items of a dataset, and the judges that they name.

    A judge of an import is identified by (name, model, strategy, source), so one judge may have verdicts in
    several datasets. Verdicts that are stored and the same are left alone.

    Parameters
    ----------
    source : str
        The reader: "llmbar", "pandalm", "generic".

    Raises
    ------
    ImportFileError
        Unknown items and verdicts that contradict the stored ones (a `RefusedFileError` where there are several), or a
        judge whose name is taken by another.
    """
    dataset_lock(dataset_id=dataset.pk)
    items = items_by_external_id(dataset.pk)
    judges, judges_created = _judges(verdicts, source)
    stored = {
        (judge_id, item_id, order): (status, value, raw)
        for judge_id, item_id, order, status, value, raw in Judgment.objects.filter(
            judge__in=list(judges.values()), item__dataset=dataset, sample=0
        ).values_list("judge_id", "item_id", "order", "status", "value", "raw_text")
    }
    new = []
    faults = Faults()

    def add(record: VerdictRecord) -> None:
        item_id = items.get(record.item)
        if item_id is None:
            _refuse(
                record,
                "item",
                f"expected the id of an item of {dataset.name!r}, found {quoted(record.item)}.",
            )
        judge_id = judges[record.judge]
        known = stored.get((judge_id, item_id, record.order))
        if known is None:
            new.append(_judgment(record, judge_id, item_id))
        elif not _is_same(known, record):
            before, now = _first_difference(known, record)
            _refuse(
                record,
                f"verdict of {record.judge}",
                f"expected {quoted(before)} in order {record.order}, as stored in dataset "
                f"{dataset.name!r}, found {quoted(now)}.",
            )

    for record in verdicts:
        with faults:
            add(record)
    faults.check()
    done = 0
    for batch in batched(new, BATCH):
        Judgment.objects.bulk_create(batch)
        done += len(batch)
        if progress is not None:
            progress("judgments", done)
    if new:
        _tell_planner(Judgment)
    return JudgmentsResult(
        dataset=dataset,
        judges=len(judges),
        judges_created=judges_created,
        judgments=len(verdicts),
        created=len(new),
        unparsed=sum(record.status == "unparsed" for record in verdicts),
    )


@transaction.atomic
def bundle_import(
    *, bundle: DatasetBundle, name: str, source: str, progress: Progress | None = None, **settings: Any
) -> tuple[ImportResult, JudgmentsResult | None]:
    """Import a bundle with its verdicts, if it has any, in one transaction.

    `settings` are those of `dataset_import`: title, split, licence, description, owner.
    """
    imported = dataset_import(bundle=bundle, name=name, progress=progress, **settings)
    if imported.changed:
        _tell_planner(Instruction, Response, Item, ItemResponse, Label)
    if not bundle.verdicts:
        return imported, None
    judged = judgments_import(
        dataset=imported.dataset, verdicts=bundle.verdicts, source=source, progress=progress
    )
    return imported, judged


def _tell_planner(*tables: type[models.Model]) -> None:
    """Let PostgreSQL count what came in. By itself it does so within a minute, and takes the tables for empty
    until then: a sweep that starts meanwhile joins judgments and items row by row, all with all.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in tables)}")


def _judges(verdicts: Sequence[VerdictRecord], source: str) -> tuple[dict[str, int], int]:
    """The judge of each name, made where there is none; and how many were made."""
    first: dict[str, VerdictRecord] = {}
    for record in verdicts:
        known = first.setdefault(record.judge, record)
        if (known.model, known.strategy) != (record.model, record.strategy):
            _refuse(
                record,
                "judge",
                f"expected model and strategy of {quoted(record.judge)} as in row {known.origin.row}, "
                f"{quoted(known.model)} and {quoted(known.strategy)}; found {quoted(record.model)} and "
                f"{quoted(record.strategy)}.",
            )
    found: dict[str, int] = {}
    n_created = 0
    for name, record in first.items():
        spec = imported_judge_spec(record, source)
        fingerprint = imported_judge_fingerprint(spec)
        judge, created = Judge.objects.get_or_create(
            name=name,
            defaults={
                "backend": BackendKind.IMPORTED,
                "model": record.model or name,
                "strategy": record.strategy,
                "spec": spec,
                "fingerprint": fingerprint,
            },
        )
        if judge.fingerprint != fingerprint:
            _refuse(
                record,
                "judge",
                f"there is a judge {quoted(name)} already, and it is another one "
                f"({judge.get_backend_display()}, strategy {judge.strategy}); give this one another name.",
            )
        found[name] = judge.pk
        n_created += created
    return found, n_created


def _judgment(record: VerdictRecord, judge_id: int, item_id: int) -> Judgment:
    return Judgment(
        judge_id=judge_id,
        item_id=item_id,
        order=record.order,
        status=record.status,
        choice=(record.value or {}).get("choice"),
        value=record.value,
        raw_text=record.raw,
        source=record.origin.source,
    )


def _is_same(known: tuple[Any, ...], record: VerdictRecord) -> bool:
    """Whether a stored verdict says what the record says; one without its text does not contradict one with it."""
    status, value, raw = known
    return same((status, value), (record.status, record.value)) and (
        not raw or not record.raw or same(raw, record.raw)
    )


def _first_difference(known: tuple[Any, ...], record: VerdictRecord) -> tuple[object, object]:
    status, value, raw = known
    for before, now in ((value, record.value), (raw, record.raw)):
        if not same(before, now):
            return before, now
    return status, record.status


def _refuse(record: VerdictRecord, field: str, message: str) -> NoReturn:
    raise ImportFileError(record.origin.file, record.origin.row, field, message)

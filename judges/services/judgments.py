"""Importing verdicts made elsewhere: whole or not at all, and the same file again changes nothing."""

import json
from collections import Counter
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


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What a file says of one judge; `created` counts the verdicts that are not stored yet."""

    name: str
    model: str
    strategy: str
    is_new: bool
    judgments: int
    created: int
    unparsed: int


@dataclass(frozen=True, slots=True)
class JudgmentsCheck:
    """What an import would do; `new` has the verdicts that it would store, each with its item's primary key."""

    judges: tuple[JudgeCheck, ...]
    new: tuple[tuple[VerdictRecord, int], ...]


def judgments_check(*, dataset: Dataset, verdicts: Sequence[VerdictRecord], source: str) -> JudgmentsCheck:
    """Compare verdicts with what is stored, and store nothing.

    Raises
    ------
    ImportFileError
        As `judgments_import`.
    """
    items = items_by_external_id(dataset.pk)
    first = _first_of_judges(verdicts)
    judges = {judge.name: judge for judge in Judge.objects.filter(name__in=list(first))}
    for name, judge in judges.items():
        _check_judge(judge, first[name], source)
    stored = {
        (name, item_id, order): (status, value, raw)
        for name, item_id, order, status, value, raw in Judgment.objects.filter(
            judge__in=list(judges.values()), item__dataset=dataset, sample=0
        ).values_list("judge__name", "item_id", "order", "status", "value", "raw_text")
    }
    new = []
    n, n_created, n_unparsed = Counter[str](), Counter[str](), Counter[str]()
    faults = Faults()

    def add(record: VerdictRecord) -> None:
        item_id = items.get(record.item)
        if item_id is None:
            _refuse(
                record,
                "item",
                f"expected the id of an item of {dataset.name!r}, found {quoted(record.item)}.",
            )
        n[record.judge] += 1
        n_unparsed[record.judge] += record.status == "unparsed"
        known = stored.get((record.judge, item_id, record.order))
        if known is None:
            n_created[record.judge] += 1
            new.append((record, item_id))
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
    return JudgmentsCheck(
        tuple(
            JudgeCheck(
                name, one.model or name, one.strategy, name not in judges, n[name], n_created[name], n_unparsed[name]
            )
            for name, one in first.items()
        ),
        tuple(new),
    )  # fmt: skip


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
    check = judgments_check(dataset=dataset, verdicts=verdicts, source=source)
    judges, judges_created = _judges(verdicts, source)
    done = 0
    for batch in batched(check.new, BATCH):
        Judgment.objects.bulk_create(
            [_judgment(record, judges[record.judge], item_id) for record, item_id in batch]
        )
        done += len(batch)
        if progress is not None:
            progress("judgments", done)
    if check.new:
        _tell_planner(Judgment)
    return JudgmentsResult(
        dataset=dataset,
        judges=len(judges),
        judges_created=judges_created,
        judgments=len(verdicts),
        created=len(check.new),
        unparsed=sum(one.unparsed for one in check.judges),
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


def _first_of_judges(verdicts: Sequence[VerdictRecord]) -> dict[str, VerdictRecord]:
    """The first verdict of each judge; all of them have its model and strategy."""
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
    return first


def _judges(verdicts: Sequence[VerdictRecord], source: str) -> tuple[dict[str, int], int]:
    """The judge of each name, made where there is none; and how many were made."""
    found: dict[str, int] = {}
    n_created = 0
    for name, record in _first_of_judges(verdicts).items():
        spec = imported_judge_spec(record, source)
        judge, created = Judge.objects.get_or_create(
            name=name,
            defaults={
                "backend": BackendKind.IMPORTED,
                "model": record.model or name,
                "strategy": record.strategy,
                "spec": spec,
                "fingerprint": imported_judge_fingerprint(spec),
            },
        )
        _check_judge(judge, record, source)  # one that was made meanwhile, of a file on another dataset
        found[name] = judge.pk
        n_created += created
    return found, n_created


def _check_judge(judge: Judge, record: VerdictRecord, source: str) -> None:
    if judge.fingerprint != imported_judge_fingerprint(imported_judge_spec(record, source)):
        _refuse(
            record,
            "judge",
            f"there is a judge {quoted(judge.name)} already, with another configuration "
            f"({judge.get_backend_display()}, strategy {judge.strategy}); choose another name.",
        )


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

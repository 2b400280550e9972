"""Importing verdicts made elsewhere: whole or not at all, and the same file again changes nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from django.db import connection, models, transaction

from annotation.importers import DatasetBundle, ImportFileError, VerdictRecord
from annotation.importers.errors import Faults, quoted
from annotation.models import Dataset, Instruction, Item, ItemResponse, Label, Response
from annotation.selectors.datasets import items_by_external_id
from annotation.services.dataset_comparison import same
from annotation.services.dataset_parts import ImportResult, count
from annotation.services.datasets import dataset_import_parts, dataset_lock
from judges.models import Judgment
from judges.services.imported_judges import FileJudges, file_judges, file_judges_make, judge_key
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


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What a file says of one judge; `created` counts the verdicts that are not stored yet.

    `name` is its name here, and `named` the one in the file.
    """

    name: str
    named: str
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
    found: FileJudges


def judgments_check(*, dataset: Dataset, verdicts: Sequence[VerdictRecord], source: str) -> JudgmentsCheck:
    """Compare verdicts with what is stored, and store nothing.

    Raises
    ------
    ImportFileError
        As `judgments_import`.
    """
    items = items_by_external_id(dataset.pk, {record.item for record in verdicts})
    judges = file_judges(verdicts, source)
    ids = {key: judge.pk for key, judge in judges.known.items()}
    stored = {
        (judge_id, item_id, order, sample): (status, value, raw)
        for judge_id, item_id, order, sample, status, value, raw in Judgment.objects.filter(
            judge__in=set(ids.values()), item__pk__among=items.values()
        ).values_list("judge_id", "item_id", "order", "sample", "status", "value", "raw_text")
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
        key = judge_key(record)
        n[key] += 1
        n_unparsed[key] += record.status == "unparsed"
        known = stored.get((ids.get(key, 0), item_id, record.order, record.sample))
        if known is None:
            n_created[key] += 1
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
                name=judges.known[key].name if key in judges.known else one.judge,
                named=one.judge,
                model=one.model or one.judge,
                strategy=one.strategy,
                is_new=key not in judges.known,
                judgments=n[key],
                created=n_created[key],
                unparsed=n_unparsed[key],
            )
            for key, one in judges.first.items()
        ),
        tuple(new),
        judges,
    )


@transaction.atomic
def judgments_import(
    *,
    dataset: Dataset,
    verdicts: Sequence[VerdictRecord],
    source: str,
    progress: Progress | None = None,
) -> JudgmentsResult:
    """Store verdicts about items of a dataset, and the judges that they name.

    A judge of an import is identified by the fingerprint that its verdicts have, else by (name, model, strategy,
    source), so one judge may have verdicts in several datasets. Verdicts that are stored and the same are left alone.

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
    result = _judgments_store(dataset, verdicts, source, progress)
    if result.created:
        tell_planner(Judgment)
    return result


def _judgments_store(
    dataset: Dataset, verdicts: Sequence[VerdictRecord], source: str, progress: Progress | None
) -> JudgmentsResult:
    dataset_lock(dataset_id=dataset.pk)
    check = judgments_check(dataset=dataset, verdicts=verdicts, source=source)
    made = file_judges_make(check.found)
    judges = {key: judge.pk for key, judge in {**check.found.known, **made}.items()}
    done = 0
    for batch in batched(check.new, BATCH):
        Judgment.objects.bulk_create(
            [_judgment(record, judges[judge_key(record)], item_id) for record, item_id in batch]
        )
        done += len(batch)
        if progress is not None:
            progress("judgments", done)
    return JudgmentsResult(
        dataset=dataset,
        judges=len(judges),
        judges_created=len(made),
        judgments=len(verdicts),
        created=len(check.new),
        unparsed=sum(one.unparsed for one in check.judges),
    )


def bundle_import(*, bundle: DatasetBundle, **options: Any) -> tuple[ImportResult, JudgmentsResult | None]:
    """Import a bundle with its verdicts: `parts_import` with one part."""
    return parts_import(parts=[bundle], **options)


@transaction.atomic
def parts_import(
    *,
    parts: Iterable[DatasetBundle],
    name: str,
    source: str,
    made_of: str | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> tuple[ImportResult, JudgmentsResult | None]:
    """Import the parts of a bundle with their verdicts, if they have any, in one transaction.

    Parameters
    ----------
    source
        The reader, as `judgments_import` wants it.
    made_of
        What the dataset says of its source; the bundle's own words where left out.
    settings
        Those of `dataset_import`: title, split, licence, description, owner, and on.
    """
    judged: list[JudgmentsResult] = []
    names: set[str] = set()

    def take(dataset: Dataset, part: DatasetBundle) -> None:
        if part.verdicts:
            names.update(map(judge_key, part.verdicts))
            judged.append(_judgments_store(dataset, part.verdicts, source, progress))

    imported = dataset_import_parts(
        parts=parts, name=name, source=made_of, progress=progress, took=take, **settings
    )
    if imported.changed:
        tell_planner(Instruction, Response, Item, ItemResponse, Label)
    if any(one.created for one in judged):
        tell_planner(Judgment)
    if not judged:
        return imported, None
    together = JudgmentsResult(
        dataset=imported.dataset,
        judges=len(names),
        judges_created=sum(one.judges_created for one in judged),
        judgments=sum(one.judgments for one in judged),
        created=sum(one.created for one in judged),
        unparsed=sum(one.unparsed for one in judged),
    )
    return imported, together


def tell_planner(*tables: type[models.Model]) -> None:
    """Let PostgreSQL count what came in. By itself it does so within a minute, and takes the tables for empty
    until then: a sweep that starts meanwhile joins judgments and items row by row, all with all.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {', '.join(table._meta.db_table for table in tables)}")


def _judgment(record: VerdictRecord, judge_id: int, item_id: int) -> Judgment:
    return Judgment(
        judge_id=judge_id,
        item_id=item_id,
        order=record.order,
        sample=record.sample,
        status=record.status,
        choice=(record.value or {}).get("choice") if record.status == "parsed" else None,
        value=record.value,
        raw_text=record.raw,
        source=record.origin.source,
        **record.details,
    )


def _is_same(known: tuple[Any, ...], record: VerdictRecord) -> bool:
    """Whether a stored verdict says what the record says; one without its text, or without its grade, does not
    contradict one with it.
    """
    status, value, raw = known
    said = record.value
    if value is not None and said is not None and not {"grade", "strength"} & value.keys():
        said = {name: part for name, part in said.items() if name != "grade"}
    return same((status, value), (record.status, said)) and (
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

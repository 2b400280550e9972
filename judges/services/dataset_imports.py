"""Files of items from the browser: columns guessed, items shown, errors listed, and stored once somebody says so.

A small file is read at once, a larger one by a worker (`judges.services.import_files`). Beside the file lie
``.errors.jsonl``, one line for each row that cannot be read, with the row itself, and ``.preview.json``, the first
items as annotators would see them.
"""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import yaml
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.importers import DatasetBundle, ImportFileError
from annotation.importers.ahead import read_ahead
from annotation.importers.build import ReadStart
from annotation.importers.contents import FileContents
from annotation.importers.errors import Faults, LeftOutRows, errors_of
from annotation.importers.guessing import TableLook, table_look
from annotation.importers.images import read_generic_parts_with_images, table_and_images
from annotation.importers.mapping import TableMapping, mapping_of
from annotation.importers.preview import shown_of
from annotation.importers.rating_scales import scale_text
from annotation.kinds.shown import ShownItem
from annotation.models import User
from annotation.peers.formats import ZIP
from annotation.selectors.datasets import dataset_exists, mapping_kept
from annotation.services.criteria import criteria_set
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import (
    DatasetImportError,
    ImportCheck,
    file_hash,
    import_repeated,
)
from annotation.services.images import image_folder
from annotation.services.staged_imports import staged_give_up, staged_of_job
from judges.models import DatasetImport, FileUpload, ImportState
from judges.services.file_imports import file_import
from judges.services.heartbeat import Heartbeat, InterruptedJob
from judges.services.import_files import (
    ImportQueue,
    files_forget,
    path_as_sent,
    path_of,
)
from judges.services.judgments import JudgmentsResult
from judges.services.uploads import import_create
from judges.services.waking import wakeups_send

AT_ONCE = 2**18
"""Bytes of a file that the request itself reads."""
PREVIEWED = 10
"""Items that the preview shows."""
MOST_ERRORS = 100_000
"""Errors after which reading stops, unless bad rows are to be left out."""
ERRORS, PREVIEW = ".errors.jsonl", ".preview.json"


def dataset_import_request(
    *, user: User, name: str, content: IO[bytes] | FileUpload, dataset_name: str, **said: Any
) -> DatasetImport:
    """Keep a file, and check it: at once where it is small. The same file while it waits is the same import.

    Parameters
    ----------
    name
        Of the file.
    content
        The file, or its upload in chunks, which is whole.
    said
        Of `DatasetImport`: title, split, licence, criteria, mapping.

    Raises
    ------
    FileNotTakenError
        There is no room for it.
    UploadTakenError
        The import of this upload began already.
    """
    job, is_new = import_create(
        DatasetImport.objects.all(), user, content, suffix=Path(name).suffix.lower(),
        asked=json.dumps([dataset_name, said], sort_keys=True, default=str),
        name=name[-200:], dataset_name=dataset_name, **said,
    )  # fmt: skip
    if is_new:
        _work_soon(job)
    return job


def dataset_import_map(*, job: DatasetImport, mapping: TableMapping, is_new_version: bool) -> bool:
    """Check a file again with another mapping; False where a worker has it, or it is stored."""
    again = DatasetImport.objects.filter(pk=job.pk, state=ImportState.CHECKED).update(
        state=ImportState.QUEUED, is_confirmed=False, attempts=0, step="", n_done=0, n_total=0,
        mapping=mapping.document(), is_new_version=is_new_version,
    )  # fmt: skip
    if again:
        _work_soon(job)
    return bool(again)


def dataset_import_confirm(*, job: DatasetImport, skip_bad_rows: bool) -> bool:
    """Store a file that was checked; False where that was asked for already, or where it has errors.

    Parameters
    ----------
    skip_bad_rows
        Leave out rows that cannot be read, and keep a file of them.
    """
    rows = DatasetImport.objects.filter(pk=job.pk, state=ImportState.CHECKED, errors=[])
    rows = rows if skip_bad_rows else rows.filter(n_errors=0)
    confirmed = rows.update(
        state=ImportState.QUEUED, is_confirmed=True, attempts=0, step="", n_done=0, n_total=0,
        skip_bad_rows=skip_bad_rows,
    )  # fmt: skip
    if confirmed:
        _work_soon(job)
    return bool(confirmed)


def dataset_import_continue(*, job: DatasetImport) -> bool:
    """Take up an import that was interrupted, where it is; False where it goes on already, or its file is gone.

    Raises
    ------
    FileNotTakenError
        The same file was sent again, and waits.
    """
    continued = QUEUE.again(job)
    if continued:
        _work_soon(job)
    return continued


def dataset_import_delete(*, job: DatasetImport) -> bool:
    """Forget a file; a worker that reads it notices soon, and stores nothing. What is stored stays."""
    n, _ = DatasetImport.objects.filter(pk=job.pk).delete()
    _give_up(job)
    files_forget(job)
    return bool(n)


def dataset_imports_of(user: User) -> list[DatasetImport]:
    """The files that this person sent, newest first."""
    return list(DatasetImport.objects.filter(requested_by=user).select_related("dataset"))


def dataset_import_get_for(user: User, pk: int) -> DatasetImport:
    """A file that this person sent; else Http404."""
    rows = DatasetImport.objects.select_related("dataset", "requested_by")
    return get_object_or_404(rows, pk=pk, requested_by=user)


def mapping_yaml(mapping: TableMapping) -> str:
    """The document of a mapping as YAML."""
    text: str = yaml.safe_dump(mapping.document(), sort_keys=False, allow_unicode=True)
    return text


def import_errors(job: DatasetImport, first: int, n: int) -> list[dict[str, Any]]:
    """Errors of rows, `n` from the `first` one on, counted from 0; each with row, field, reason, and the row itself."""
    try:
        with path_of(job, ERRORS).open(encoding="utf-8") as lines:
            return [json.loads(line) for line in islice(lines, first, first + n)]
    except FileNotFoundError:
        return []


def import_preview(job: DatasetImport) -> list[tuple[str, ShownItem]]:
    """The first items of the file, each with its id."""
    try:
        found = json.loads(path_of(job, PREVIEW).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [(name, shown_of(document)) for name, document in found]


def _work_soon(job: DatasetImport) -> None:
    if job.size <= AT_ONCE:
        QUEUE.work_one(job)
    else:
        transaction.on_commit(wakeups_send)


# --- the worker ---------------------------------------------------------------------------------------------------


def _read(job: DatasetImport, mine: QuerySet[DatasetImport], heart: Heartbeat) -> dict[str, Any]:
    """What is to be said of the file now; nothing where that is stored already."""
    if not job.requested_by.is_researcher:
        raise Http404
    return _stored(job, mine, heart) if job.is_confirmed else _checked(job, heart)


def _checked(job: DatasetImport, heart: Heartbeat) -> dict[str, Any]:
    """Read the whole file by its mapping, or by what is guessed, part by part, and say what is in it."""
    with _named(job) as path, table_and_images(path) as (table, _):
        look = table_look(table, _saved(job))
    mapping = mapping_of(job.mapping) if job.mapping else look.guess
    refused: list[ImportFileError] = []
    file = FileContents(PREVIEWED)
    check: ImportCheck | None = None
    try:
        check = ImportCheck(name=job.dataset_name, owner=job.requested_by, new_version=job.is_new_version)
    except DatasetImportError as error:
        refused.append(ImportFileError(job.name, None, "name", str(error)))

    def told(done: int) -> None:
        heart.tell(f"{done:,} rows read", 0, 0)

    with (
        _left_out(job, None, most=MOST_ERRORS) as faults,
        closing(_parts(job, mapping, faults, told)) as parts,
    ):
        try:
            for part in parts:
                file.part(part)
                if check is not None and not refused:
                    refused += _contradictions(check, part)
        except ImportFileError as error:
            file.is_whole = False
            refused += errors_of(error)
    if check is not None:
        check.finish()
    for one in refused:
        one.file = job.name
    if file.is_whole:
        path_of(job, PREVIEW).write_text(json.dumps(file.shown), encoding="utf-8")
    else:
        path_of(job, PREVIEW).unlink(missing_ok=True)
    return {
        "state": ImportState.CHECKED,
        "step": "",
        "mapping": mapping.document(),
        "n_errors": faults.n,
        "errors": [{"row": one.row, "field": one.field, "message": one.message} for one in refused],
        "found": _found(look, file, None if refused else check),
    }


def _contradictions(check: ImportCheck, part: DatasetBundle) -> tuple[ImportFileError, ...]:
    try:
        check.part(part)
    except ImportFileError as error:
        return errors_of(error)
    return ()


def _found(look: TableLook, file: FileContents, check: ImportCheck | None) -> dict[str, Any]:
    columns = [
        {"name": one.name, "samples": one.samples} | ({"scale": scale_text(one.scale)} if one.scale else {})
        for one in look.columns
    ]
    found: dict[str, Any] = {"columns": columns}
    if file.is_whole:
        found |= file.document()
    if file.is_whole and check is not None:
        found |= {
            "exists": check.exists,
            "added": check.items_added,
            "changed": check.items_changed,
            "removed": check.items_removed,
        }
    return found


def _stored(job: DatasetImport, mine: QuerySet[DatasetImport], heart: Heartbeat) -> dict[str, Any]:
    mapping = mapping_of(job.mapping)
    digest = file_hash(path_of(job), mapping.document(), job.criteria, job.skip_bad_rows, job.is_new_version)
    known = import_repeated(name=job.dataset_name, file_hash=digest, owner=job.requested_by)
    if known is not None:
        now = {"state": ImportState.DONE, "dataset": known.dataset, "finished_at": timezone.now(), "step": ""}
        mine.update(owner="", lease_until=None, notes=[known.summary()], **now)
        return {}
    left: LeftOutRows | None = None
    before = 0
    shown: tuple[str, int, int] | None = None

    def read(start: ReadStart | None) -> Generator[DatasetBundle, None, None]:
        nonlocal left, before
        before = 0 if start is None else start.until.n_left_out
        with _left_out(job, start) as left:
            faults = left if job.skip_bad_rows else Faults()
            yield from read_ahead(_parts(job, mapping, faults, told, start))

    def told(done: int) -> None:
        heart.tell(*(shown or (f"{done:,} rows read", 0, 0)))

    def n_left_out() -> int:
        return before + (0 if left is None else left.n)

    def stored(row: int, offset: int) -> None:
        nonlocal shown
        # A worker that is lost later is not lost by this part.
        mine.update(attempts=1)
        is_share = offset and not job.file.endswith(ZIP)  # of an archive, the place is in what is packed
        shown = f"{row:,} rows stored", offset if is_share else 0, job.size if is_share else 0
        heart.tell(*shown)

    def finished(imported: ImportResult, judged: JudgmentsResult | None) -> None:
        notes = [imported.summary(), *([judged.summary()] if judged is not None else [])]
        now = {"state": ImportState.DONE, "finished_at": timezone.now(), "step": "", "notes": notes}
        n_errors = imported.rows_left_out
        # With the items or not at all: a worker that lost the row has stored nothing.
        if not mine.update(owner="", lease_until=None, dataset=imported.dataset, n_errors=n_errors, **now):
            raise InterruptedJob

    is_new = not dataset_exists(job.dataset_name)
    try:
        file_import(
            read=read,
            name=job.dataset_name,
            source="generic",
            file=job.name,
            key=digest,
            job=job_name(job),
            made_of=f"generic: {job.name}",
            title=(job.title or None) if is_new else None,
            split=job.split if is_new else None,
            licence=(job.licence or None) if is_new else None,
            owner=job.requested_by,
            new_version=job.is_new_version,
            mapping=mapping.document(),
            rows_left_out=n_left_out,
            progress=lambda what, done: heart.tell(f"{done:,} {what} stored", 0, 0),
            stored=stored,
            finished=finished,
        )
    except ImportFileError as error:
        for one in {error, *errors_of(error)}:
            one.file = job.name
        raise
    except DatasetImportError as error:
        raise ImportFileError(job.name, None, "name", str(error)) from None
    files_forget(job, beside=False)
    return {}


def job_name(job: DatasetImport) -> str:
    """What an unfinished import into a dataset says that it is done for."""
    return f"dataset import {job.pk}"


def _give_up(job: DatasetImport) -> None:
    """Have what an import that ended has stored removed, if it wasn't finished."""
    staged_give_up(*staged_of_job(job_name(job)))


def _parts(
    job: DatasetImport,
    mapping: TableMapping,
    faults: Faults,
    told: Callable[[int], None],
    start: ReadStart | None = None,
) -> Generator[DatasetBundle, None, None]:
    """The parts of the file; `told` is called with the number of rows that have been read."""
    criteria = criteria_set(job.criteria) if job.criteria else ()
    with _named(job) as path:
        yield from read_generic_parts_with_images(
            path, image_folder(), progress=lambda _, done: told(done), criteria=criteria,
            mapping=mapping, faults=faults, start=start,
        )  # fmt: skip


def _saved(job: DatasetImport) -> TableMapping | None:
    """The mapping by which the dataset's earlier file was read, if it is theirs."""
    kept = mapping_kept(job.dataset_name, owner=job.requested_by)
    return None if kept is None else mapping_of(kept)


@contextmanager
def _left_out(job: DatasetImport, start: ReadStart | None, most: int | None = None) -> Iterator[LeftOutRows]:
    """Write each row that is left out beside the file; after the `most`, refuse."""
    with left_out_open(path_of(job, ERRORS), start) as out:
        yield left_out_rows(out, most)


@contextmanager
def left_out_open(path: Path, start: ReadStart | None) -> Iterator[IO[str]]:
    """A file of rows that are left out, to be written anew, or behind those that came before the start."""
    with path.open("a+", encoding="utf-8") as out:
        out.seek(0)
        for _ in range(0 if start is None else start.until.n_left_out):
            out.readline()
        out.seek(out.tell())
        out.truncate()
        yield out


def left_out_rows(out: IO[str], most: int | None = None) -> LeftOutRows:
    """Rows that are left out as lines of JSON: row, field, reason, and the row itself in `data`."""

    def keep(error: ImportFileError) -> None:
        line = {"row": error.row, "field": error.field, "reason": error.message, "data": error.data}
        out.write(f"{json.dumps(line, ensure_ascii=False, default=str)}\n")
        if most is not None and left.n >= most:
            raise ImportFileError(error.file, None, None, f"reading stopped after {most:,} rows with errors.")

    left = LeftOutRows(keep)
    return left


@contextmanager
def _named(job: DatasetImport) -> Iterator[Path]:
    """The file to read. A refusal names it as the person knows it, not where it lies."""
    with path_as_sent(job) as path:
        try:
            yield path
        except ImportFileError as error:
            for one in {error, *errors_of(error)}:
                # What is wrong in an archive names the file in it.
                one.file = one.file.replace(str(path), job.name, 1)
            raise


QUEUE = ImportQueue(
    DatasetImport,
    _read,
    ("dataset", "requested_by"),
    not_allowed="You can't import datasets anymore.",
    keeps_beside=True,
    ended=_give_up,
)


def dataset_imports_work(stop: Callable[[], bool] = lambda: False) -> int:
    """Read the files that wait, one after the other; how many. Any number of workers may do this."""
    return QUEUE.work(stop)


def dataset_imports_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process reads the files that wait."""
    return QUEUE.start(stop)

"""Files of verdicts or labels from the browser: checked, shown, and stored once somebody says so.

A small file is read at once, a larger one by a worker (`judges.services.import_files`).
"""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.importers import ImportFileError, LabelRecord, VerdictRecord, read_label_rows
from annotation.importers.errors import errors_of
from annotation.importers.records import Origin
from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_editable_by, item_value_rules, markable_texts
from annotation.services.datasets import labels_check, labels_import
from judges.models import FileUpload, ImportState, VerdictImport
from judges.services.heartbeat import Heartbeat, InterruptedJob
from judges.services.import_files import (
    FileNotTakenError,
    ImportQueue,
    files_forget,
    path_of,
)
from judges.services.judgments import judgments_check, judgments_import
from judges.services.uploads import import_create
from judges.services.verdict_files import IMPORT_FORMATS, LABELS, verdicts_read
from judges.services.waking import wakeups_send

AT_ONCE = 2**18
"""Bytes of a file that the request itself reads."""
SHOWN = 5
"""Verdicts or labels of a file that its preview shows."""


def dataset_for_verdicts(user: User, name: str) -> Dataset:
    """A dataset that this person may add to; else Http404."""
    dataset: Dataset = get_object_or_404(datasets_editable_by(user), name=name)
    return dataset


def verdict_import_request(
    *, user: User, dataset: Dataset, format: str, name: str, content: IO[bytes] | FileUpload
) -> VerdictImport:
    """Keep a file, and check it: at once where it is small. The same file while it waits is the same import.

    Parameters
    ----------
    content
        The file, or its upload in chunks, which is whole.

    Raises
    ------
    FileNotTakenError
        There is no such format, or no room for the file.
    UploadTakenError
        The import of this upload began already.
    """
    suffix = Path(name).suffix.lower()
    if format not in IMPORT_FORMATS or suffix not in IMPORT_FORMATS[format][1]:
        raise FileNotTakenError("Files with this name and format can't be read.")
    job, is_new = import_create(
        VerdictImport.objects.all(), user, content, suffix=suffix, asked=f"{dataset.pk} {format} ",
        dataset=dataset, format=format, name=name[-200:],
    )  # fmt: skip
    if is_new:
        _work_soon(job)
    return job


def verdict_import_confirm(*, job: VerdictImport) -> bool:
    """Store the verdicts of a file that was checked; False where that was asked for already."""
    row = VerdictImport.objects.filter(pk=job.pk, state=ImportState.CHECKED)
    confirmed = row.update(
        state=ImportState.QUEUED, is_confirmed=True, attempts=0, step="", n_done=0, n_total=0
    )
    if confirmed:
        _work_soon(job)
    return bool(confirmed)


def verdict_import_continue(*, job: VerdictImport) -> bool:
    """Take up an import that was interrupted; False where it goes on already, or its file is gone.

    Raises
    ------
    FileNotTakenError
        The same file was sent again, and waits.
    """
    continued = QUEUE.again(job)
    if continued:
        _work_soon(job)
    return continued


def verdict_import_delete(*, job: VerdictImport) -> bool:
    """Forget a file; a worker that reads it notices soon, and stores nothing. What is stored stays."""
    n, _ = VerdictImport.objects.filter(pk=job.pk).delete()
    files_forget(job)
    return bool(n)


def verdict_imports_of(user: User, dataset: Dataset | None = None) -> list[VerdictImport]:
    """The files that this person sent, for one dataset or for any, newest first."""
    rows = VerdictImport.objects.filter(requested_by=user)
    if dataset is None:
        return list(rows.select_related("dataset"))
    return list(rows.filter(dataset=dataset))


def verdict_import_get_for(user: User, pk: int) -> VerdictImport:
    """A file that this person sent; else Http404."""
    return get_object_or_404(VerdictImport.objects.select_related("dataset"), pk=pk, requested_by=user)


def _work_soon(job: VerdictImport) -> None:
    if job.size <= AT_ONCE:
        QUEUE.work_one(job)
    else:
        transaction.on_commit(wakeups_send)


# --- the worker ---------------------------------------------------------------------------------------------------


def _read(job: VerdictImport, mine: QuerySet[VerdictImport], heart: Heartbeat) -> dict[str, Any]:
    """What is to be said of the file now; nothing where that is stored already."""
    if not datasets_editable_by(job.requested_by).filter(pk=job.dataset_id).exists():
        raise Http404
    notes: list[str] = []
    if job.format == LABELS:
        labels = _labels(job, heart, notes)
        if not job.is_confirmed:
            return _labels_checked(job, labels) | {"notes": notes}
        with transaction.atomic():
            created = labels_import(
                dataset=job.dataset,
                labels=labels,
                progress=lambda what, done: heart.tell(f"{done:,} {what} stored", done, len(labels)),
            )
            _done(job, mine, created, len(labels))
        return {}
    verdicts = _verdicts(job, heart, notes)
    if not job.is_confirmed:
        return _checked(job, verdicts) | {"notes": notes}
    with transaction.atomic():
        stored = judgments_import(
            dataset=job.dataset,
            verdicts=verdicts,
            source=job.format,
            progress=lambda _, done: heart.tell(f"{done:,} verdicts stored", done, len(verdicts)),
        )
        _done(job, mine, stored.created, stored.judgments)
    return {}


def _done(job: VerdictImport, mine: QuerySet[VerdictImport], created: int, n: int) -> None:
    found = job.found | {"created": created, "unchanged": n - created}
    now = {"state": ImportState.DONE, "found": found, "finished_at": timezone.now(), "step": ""}
    # With the rows or not at all: a worker that lost the job has stored nothing.
    if not mine.update(owner="", lease_until=None, **now):
        raise InterruptedJob


def _labels(job: VerdictImport, heart: Heartbeat, notes: list[str]) -> list[LabelRecord]:
    def progress(_: str, done: int) -> None:
        heart.tell(f"{done:,} rows read", 0, 0)

    with _named(job):
        rules, texts = item_value_rules(job.dataset_id), markable_texts(job.dataset_id)
        labels = read_label_rows(path_of(job), rules, progress, notes.append, texts)
    return [replace(one, origin=Origin(job.name, one.origin.row)) for one in labels]


def _labels_checked(job: VerdictImport, labels: Sequence[LabelRecord]) -> dict[str, Any]:
    with _named(job):
        created = labels_check(dataset=job.dataset, labels=labels)
    found = {
        "labels": len(labels),
        "created": created,
        "unchanged": len(labels) - created,
        "items": len({one.item for one in labels}),
        "annotators": len({one.annotator for one in labels}),
        "simulated": sum(one.is_simulated for one in labels),
        "first": [
            {
                "item": one.item, "annotator": one.annotator, "row": one.origin.row,
                "value": json.dumps(one.value, ensure_ascii=False)[:200],
            }
            for one in labels[:SHOWN]
        ],
    }  # fmt: skip
    return {"state": ImportState.CHECKED, "found": found, "step": ""}


def _verdicts(job: VerdictImport, heart: Heartbeat, notes: list[str]) -> Sequence[VerdictRecord]:
    def progress(_: str, done: int) -> None:
        heart.tell(f"{done:,} rows read", 0, 0)

    with _named(job):
        verdicts = verdicts_read(
            form=job.format, path=path_of(job), dataset=job.dataset, progress=progress, note=notes.append
        )
    return [replace(one, origin=Origin(_as_sent(job, one.origin.file), one.origin.row)) for one in verdicts]


def _as_sent(job: VerdictImport, file: str) -> str:
    """The file as the person knows it, with what follows of a member of an archive."""
    here = str(path_of(job))
    return f"{job.name}{file[len(here) :]}" if file.startswith(here) else job.name


@contextmanager
def _named(job: VerdictImport) -> Any:
    """A refusal names the file as the person knows it, not where it lies."""
    try:
        yield
    except ImportFileError as error:
        for one in {error, *errors_of(error)}:
            named = _as_sent(job, one.file)
            if member := named.removeprefix(job.name).lstrip("/"):  # of an archive: the page names one file
                one.message = f"{member}: {one.message}"
            one.file = job.name
        raise


def _checked(job: VerdictImport, verdicts: Sequence[VerdictRecord]) -> dict[str, Any]:
    check = judgments_check(dataset=job.dataset, verdicts=verdicts, source=job.format)
    found = {
        "judges": [asdict(one) for one in check.judges],
        "judgments": len(verdicts),
        "created": len(check.new),
        "unchanged": len(verdicts) - len(check.new),
        "unparsed": sum(one.unparsed for one in check.judges),
        "judges_created": sum(one.is_new for one in check.judges),
        "first": [
            {
                "item": one.item, "judge": one.judge, "order": one.order, "status": one.status, "value": _said(one),
                "row": one.origin.row,
            }
            for one in verdicts[:SHOWN]
        ],
    }  # fmt: skip
    return {"state": ImportState.CHECKED, "found": found, "step": ""}


def _said(record: VerdictRecord) -> str:
    """A verdict as JSON, for the preview; nothing where there is none."""
    return "" if record.status != "parsed" else json.dumps(record.value, ensure_ascii=False)[:200]


QUEUE = ImportQueue(
    VerdictImport, _read, ("dataset", "requested_by"), not_allowed="You can't add to this dataset anymore."
)


def verdict_imports_work(stop: Callable[[], bool] = lambda: False) -> int:
    """Read the files that wait, one after the other; how many. Any number of workers may do this."""
    return QUEUE.work(stop)


def verdict_imports_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process reads the files that wait."""
    return QUEUE.start(stop)

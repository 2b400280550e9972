"""Files of verdicts from the browser: checked, shown, and stored once somebody says so.

A small file is read at once, a larger one by a worker. Rows are the truth, messages are wake-ups: a form that is sent
twice, a lost message, a killed worker or two of them store each verdict once.
"""

import json
import logging
import shutil
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.db import IntegrityError, close_old_connections, connections, transaction
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.importers import ImportFileError, VerdictRecord
from annotation.importers.errors import errors_of
from annotation.importers.records import Origin
from annotation.models import Dataset, User
from annotation.selectors.datasets import datasets_changeable_by
from judges.models import OPEN_IMPORT, ImportState, VerdictImport
from judges.services.heartbeat import LEASE, Heartbeat, InterruptedJob
from judges.services.judgments import judgments_check, judgments_import
from judges.services.verdict_files import VERDICT_FORMATS, verdicts_read
from judges.services.waking import wakeups_send

logger = logging.getLogger(__name__)

AT_ONCE = 2**18
"""Bytes of a file that the request itself reads."""
MOST_ATTEMPTS = 3
MOST_KEPT = 10
"""Files of one person that may wait at once."""
LEFT_FREE = 2**30
"""Bytes of the disk that imports leave free."""
SHOWN = 5
"""Verdicts of a file that its preview shows."""


class VerdictImportError(Exception):
    """Why a file is not taken."""


def dataset_for_verdicts(user: User, name: str) -> Dataset:
    """A dataset that this person may add to; else Http404."""
    dataset: Dataset = get_object_or_404(datasets_changeable_by(user), name=name)
    return dataset


def verdict_import_request(
    *, user: User, dataset: Dataset, format: str, name: str, content: IO[bytes]
) -> VerdictImport:
    """Keep a file, and check it: at once where it is small. The same file while it waits is the same import.

    Raises
    ------
    VerdictImportError
        There is no such format, or no room for the file.
    """
    suffix = Path(name).suffix.lower()
    if format not in VERDICT_FORMATS or suffix not in VERDICT_FORMATS[format][1]:
        raise VerdictImportError("Files with this name and format can't be read.")
    mine = VerdictImport.objects.filter(requested_by=user)
    if mine.filter(state__in=[*OPEN_IMPORT, ImportState.CHECKED]).count() >= MOST_KEPT:
        raise VerdictImportError(
            f"{MOST_KEPT} of your files wait to be imported. Import or delete some first."
        )
    folder = Path(settings.IMPORTS_DIR)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{uuid.uuid4().hex}{suffix}"
    digest = sha256(f"{dataset.pk} {format} ".encode())
    with path.open("xb") as copy:
        path.chmod(0o600)
        while block := content.read(2**20):
            if shutil.disk_usage(folder).free - len(block) < LEFT_FREE:
                path.unlink()
                raise VerdictImportError(
                    "There is no disk space left for uploads. Ask the administrator for more."
                )
            digest.update(block)
            copy.write(block)
    key, size = digest.hexdigest(), path.stat().st_size
    try:
        with transaction.atomic():
            job = VerdictImport.objects.create(
                requested_by=user, dataset=dataset, format=format, name=name[-200:], file=path.name, size=size, key=key
            )  # fmt: skip
    except IntegrityError:  # it waits already, or was sent twice at once
        path.unlink()
        return mine.get(key=key, state__in=[*OPEN_IMPORT, ImportState.CHECKED])
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


def verdict_import_delete(*, job: VerdictImport) -> bool:
    """Forget a file; a worker that reads it notices soon, and stores nothing. What is stored stays."""
    n, _ = VerdictImport.objects.filter(pk=job.pk).delete()
    _path_of(job).unlink(missing_ok=True)
    return bool(n)


def verdict_imports_of(user: User, dataset: Dataset) -> list[VerdictImport]:
    """The files that this person sent for a dataset, newest first."""
    return list(VerdictImport.objects.filter(requested_by=user, dataset=dataset))


def verdict_import_get_for(user: User, pk: int) -> VerdictImport:
    """A file that this person sent; else Http404."""
    return get_object_or_404(VerdictImport.objects.select_related("dataset"), pk=pk, requested_by=user)


def _path_of(job: VerdictImport) -> Path:
    return Path(settings.IMPORTS_DIR) / Path(job.file).name


def _work_soon(job: VerdictImport) -> None:
    if job.size <= AT_ONCE:
        claimed = _claim(VerdictImport.objects.filter(pk=job.pk))
        if claimed is not None:
            _work(claimed, lambda: False)
    else:
        transaction.on_commit(wakeups_send)


# --- the worker ---------------------------------------------------------------------------------------------------


def verdict_imports_work(stop: Callable[[], bool] = lambda: False) -> int:
    """Read the files that wait, one after the other; how many. Any number of workers may do this."""
    n = 0
    while not stop() and (job := _claim(VerdictImport.objects.all())) is not None:
        _work(job, stop)
        n += 1
    return n


def _pending(rows: QuerySet[VerdictImport]) -> QuerySet[VerdictImport]:
    ended = Q(state=ImportState.RUNNING, lease_until__lt=timezone.now())
    return rows.filter(Q(state=ImportState.QUEUED) | ended)


def _claim(rows: QuerySet[VerdictImport]) -> VerdictImport | None:
    """Take the oldest file that waits, or whose worker was lost."""
    if not _pending(rows).exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        row = _pending(rows).select_for_update(skip_locked=True).order_by("created_at", "pk").first()
        if row is None:
            return None
        row.attempts += 1
        row.state, row.owner = ImportState.RUNNING, uuid.uuid4().hex
        row.lease_until = timezone.now() + LEASE
        row.save(update_fields=["state", "owner", "lease_until", "attempts"])
    return VerdictImport.objects.select_related("dataset", "requested_by").get(pk=row.pk)


def _work(job: VerdictImport, stop: Callable[[], bool]) -> None:
    """Check a file that this worker has claimed, or store what it says."""
    mine = VerdictImport.objects.filter(pk=job.pk, owner=job.owner, state=ImportState.RUNNING)
    if job.attempts > MOST_ATTEMPTS:
        now = _failed(f"The worker was lost {MOST_ATTEMPTS} times while it read this file.")
    else:
        with Heartbeat(mine, stop) as heart:
            now = _read(job, mine, heart)
    if now and not mine.update(owner="", lease_until=None, **now):
        return
    if now.get("state") != ImportState.CHECKED and now.get("state") != ImportState.QUEUED:
        _path_of(job).unlink(missing_ok=True)


def _read(job: VerdictImport, mine: QuerySet[VerdictImport], heart: Heartbeat) -> dict[str, Any]:
    """What is to be said of the file now; nothing where that is stored already."""
    try:
        if not datasets_changeable_by(job.requested_by).filter(pk=job.dataset_id).exists():
            raise Http404
        notes: list[str] = []
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
            found = job.found | {"created": stored.created, "unchanged": stored.judgments - stored.created}
            now = {"state": ImportState.DONE, "found": found, "finished_at": timezone.now(), "step": ""}
            # With the verdicts or not at all: whoever lost the row has stored nothing.
            if not mine.update(owner="", lease_until=None, **now):
                raise InterruptedJob
    except InterruptedJob:
        # A stopping worker gives its job back; that one did not fail.
        return {"state": ImportState.QUEUED, "attempts": F("attempts") - 1, "step": ""}
    except ImportFileError as error:
        return {"state": ImportState.REFUSED, "finished_at": timezone.now()} | _wrong(error)
    except Http404:
        return _failed("You can't add to this dataset anymore.")
    except OSError as error:
        logger.exception("A file of verdicts could not be read")
        return _failed(f"The file could not be read: {error.strerror}. Upload it again.")
    except Exception:
        logger.exception("A file of verdicts could not be imported")
        return _failed("An error occurred while this file was read. Operators can find it in the log.")
    return {}


def _verdicts(job: VerdictImport, heart: Heartbeat, notes: list[str]) -> Sequence[VerdictRecord]:
    def progress(_: str, done: int) -> None:
        heart.tell(f"{done:,} rows read", 0, 0)

    with _named(job):
        verdicts = verdicts_read(
            form=job.format, path=_path_of(job), dataset=job.dataset, progress=progress, note=notes.append
        )
    return [replace(one, origin=Origin(job.name, one.origin.row)) for one in verdicts]


@contextmanager
def _named(job: VerdictImport) -> Any:
    """A refusal names the file as the person knows it, not where it lies."""
    try:
        yield
    except ImportFileError as error:
        for one in {error, *errors_of(error)}:
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
            {"item": one.item, "judge": one.judge, "order": one.order, "value": _said(one), "row": one.origin.row}
            for one in verdicts[:SHOWN]
        ],
    }  # fmt: skip
    return {"state": ImportState.CHECKED, "found": found, "step": ""}


def _said(record: VerdictRecord) -> str:
    """A verdict as JSON, for the preview; nothing for one that could not be read."""
    return "" if record.status == "unparsed" else json.dumps(record.value, ensure_ascii=False)[:200]


def _wrong(error: ImportFileError) -> dict[str, Any]:
    return {
        "errors": [{"row": one.row, "field": one.field, "message": one.message} for one in errors_of(error)]
    }


def _failed(words: str) -> dict[str, Any]:
    errors = [{"row": None, "field": None, "message": words}]
    return {"state": ImportState.FAILED, "errors": errors, "finished_at": timezone.now()}


def verdict_imports_tidy() -> int:
    """Forget files that nobody confirmed, and what was said of the others, after a while; how many went."""
    before = timezone.now() - timedelta(hours=settings.EXPORTS_KEEP_HOURS)
    VerdictImport.objects.filter(created_at__lte=before).exclude(state__in=OPEN_IMPORT).delete()
    folder = Path(settings.IMPORTS_DIR)
    files = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    if not files:
        return 0
    wanted = set(VerdictImport.objects.filter(file__in=files).values_list("file", flat=True))
    # A file that is being sent has no row yet.
    stray = [
        path
        for name, path in files.items()
        if name not in wanted and path.stat().st_mtime < before.timestamp()
    ]
    for path in stray:
        path.unlink(missing_ok=True)
    return len(stray)


_thread: threading.Thread | None = None
_starting = threading.Lock()


def verdict_imports_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process reads the files that wait: beside whatever else it does, one thread at most."""
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return _thread
        if stop() or not _pending(VerdictImport.objects.all()).exists():
            return None
        _thread = threading.Thread(target=partial(_work_alone, stop), name="imports", daemon=True)
        _thread.start()
        return _thread


def _work_alone(stop: Callable[[], bool]) -> None:
    close_old_connections()
    try:
        verdict_imports_work(stop)
    except Exception:
        logger.exception("Files of verdicts could not be read; the next wake-up tries again")
    finally:
        connections.close_all()

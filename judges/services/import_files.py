"""Files that people sent, as a queue of rows: kept on disk, taken by any worker, read once, and forgotten in time.

Rows are the truth, messages are wake-ups: a form that is sent twice, a lost message, a killed worker or two of them
store each file once. What a file is and how it is stored is its own service's (`verdict_imports`, `dataset_imports`).
"""

import logging
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Generic, TypeVar

from django.conf import settings
from django.db import IntegrityError, close_old_connections, connections, transaction
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.utils import timezone

from annotation.importers import ImportFileError
from annotation.importers.errors import errors_of
from annotation.models import User
from judges.models import (
    KEPT_IMPORT,
    OPEN_IMPORT,
    DatasetImport,
    FileImport,
    FileUpload,
    ImportState,
    VerdictImport,
)
from judges.services.heartbeat import LEASE, Heartbeat, InterruptedJob
from web.upload import name_on_disk

logger = logging.getLogger(__name__)

J = TypeVar("J", bound=FileImport)
MOST_ATTEMPTS = 3
MOST_KEPT = 10
"""Files of one person, of one sort, that may wait at once."""
LEFT_FREE = 2**30
"""Bytes of the disk that imports leave free."""


class FileNotTakenError(Exception):
    """Why a file is not taken."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file in the folder of imports: its name there, its size in bytes, and a hash of it and of what is asked."""

    name: str
    size: int
    key: str


def file_keep(content: IO[bytes], *, suffix: str, asked: str) -> KeptFile:
    """Write a file to the folder of imports.

    Parameters
    ----------
    asked
        What is to be done with it; a part of the hash.

    Raises
    ------
    FileNotTakenError
        There is no room.
    """
    path = imports_folder() / f"{uuid.uuid4().hex}{suffix}"
    digest = sha256(asked.encode())
    with path.open("xb") as copy:
        path.chmod(0o600)
        while block := content.read(2**20):
            try:
                import_room_check(len(block))
            except FileNotTakenError:
                path.unlink()
                raise
            digest.update(block)
            copy.write(block)
    return KeptFile(path.name, path.stat().st_size, digest.hexdigest())


def imports_folder() -> Path:
    """The folder of imports, made where it isn't there."""
    folder = Path(settings.IMPORTS_DIR)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def import_room_check(n: int) -> None:
    """Raise `FileNotTakenError` where the disk has no room for `n` more bytes."""
    if shutil.disk_usage(imports_folder()).free - n < LEFT_FREE:
        raise FileNotTakenError("There is no disk space left for uploads. Ask the administrator for more.")


def path_of(job: FileImport | FileUpload, part: str = "") -> Path:
    """Where the file of a row lies, or with `part` what was written beside it, such as the errors of its rows."""
    return Path(settings.IMPORTS_DIR) / f"{Path(job.file).name}{part}"


@contextmanager
def path_as_sent(job: FileImport) -> Iterator[Path]:
    """A path to the file of a row that has the name its sender gave it: labels say that they come from there."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as folder:
        path = Path(folder) / name_on_disk(job.name)
        path.symlink_to(path_of(job).resolve())
        yield path


def files_forget(job: FileImport, *, beside: bool = True) -> None:
    """Delete the file of a row; with `beside`, what was written beside it too."""
    path = path_of(job)
    path.unlink(missing_ok=True)
    if beside:
        for other in path.parent.glob(f"{path.name}.*"):
            other.unlink(missing_ok=True)


def waiting_check(rows: QuerySet[Any], user: User, *, upload: FileUpload | None = None) -> None:
    """Raise `FileNotTakenError` where a person has as many files of this sort waiting, or on their way, as they may.

    Parameters
    ----------
    upload
        The file that is to be imported, where it is one of those on their way.
    """
    waiting = rows.filter(requested_by=user, state__in=KEPT_IMPORT).count()
    uploads = FileUpload.objects.filter(
        user=user, is_taken=False, dataset__isnull=rows.model is DatasetImport
    )
    if upload is not None:
        uploads = uploads.exclude(pk=upload.pk)
    if waiting + uploads.count() >= MOST_KEPT:
        raise FileNotTakenError(
            f"{MOST_KEPT} of your files wait to be imported. Finish or discard some under "
            "Datasets, Unfinished imports first."
        )


def may_continue(job: FileImport) -> bool:
    """Whether the import of a file was interrupted and can be taken up where it is."""
    return job.is_lost or (job.state == ImportState.FAILED and path_of(job).is_file())


def removal_due(job: FileImport) -> datetime | None:
    """When a file and what is said of it are removed (`imports_tidy`); None while a worker has it, or will."""
    return None if job.is_open else job.created_at + timedelta(hours=settings.EXPORTS_KEEP_HOURS)


@dataclass(slots=True)
class ImportQueue(Generic[J]):
    """The rows of one sort of files, and how one of them is read.

    Attributes
    ----------
    model
        The rows.
    read : callable
        Takes a row, the queryset of it while this worker has it, and the heart to tell progress to; returns what is to
        be said of the row, or nothing where that is stored already. May raise `ImportFileError`, and Http404 where
        the sender of the file may not do this any more.
    not_allowed
        What is then said.
    keeps_beside : bool
        Whether what is written beside a file stays until the row goes.
    ended : callable
        Told of each row that no worker reads again, stored or refused. One that failed waits to be continued.
    """

    model: type[J]
    read: Callable[[J, QuerySet[Any], Heartbeat], dict[str, Any]]
    related: tuple[str, ...]
    not_allowed: str
    keeps_beside: bool = False
    ended: Callable[[J], None] = lambda _: None
    _thread: threading.Thread | None = None
    _starting: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rows(self) -> QuerySet[J]:
        return self.model._default_manager.all()

    def work_one(self, job: J) -> None:
        """Read one file now, unless a worker has it."""
        claimed = self._claim(self.rows.filter(pk=job.pk))
        if claimed is not None:
            self._work(claimed, lambda: False)

    def work(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Read the files that wait, one after the other; how many. Any number of workers may do this."""
        n = 0
        while not stop() and (job := self._claim(self.rows)) is not None:
            self._work(job, stop)
            n += 1
        return n

    def again(self, job: J) -> bool:
        """Take up a file that was interrupted; False where it is gone, or is read already.

        Raises
        ------
        FileNotTakenError
            It was sent again meanwhile, and waits.
        """
        if not may_continue(job):
            return False
        if job.is_lost:
            return True
        try:
            with transaction.atomic():
                rows = self.rows.filter(pk=job.pk, state=ImportState.FAILED)
                return bool(
                    rows.update(
                        state=ImportState.QUEUED,
                        attempts=0,
                        errors=[],
                        finished_at=None,
                        step="",
                        n_done=0,
                        n_total=0,
                    )
                )
        except IntegrityError:
            raise FileNotTakenError(
                f"You uploaded {job.name} again, and that import is waiting. Continue it, or discard it first."
            ) from None

    def start(self, stop: Callable[[], bool]) -> threading.Thread | None:
        """See to it that this process reads the files that wait: beside whatever else it does, one thread at most."""
        with self._starting:
            if self._thread is not None and self._thread.is_alive():
                return self._thread
            if stop() or not self._pending(self.rows).exists():
                return None
            self._thread = threading.Thread(
                target=self._work_alone, args=(stop,), name="imports", daemon=True
            )
            self._thread.start()
            return self._thread

    def _work_alone(self, stop: Callable[[], bool]) -> None:
        close_old_connections()
        try:
            self.work(stop)
        except Exception:
            logger.exception("Files that were sent could not be read; the next wake-up tries again")
        finally:
            connections.close_all()

    def _pending(self, rows: QuerySet[J]) -> QuerySet[J]:
        ended = Q(state=ImportState.RUNNING, lease_until__lt=timezone.now())
        return rows.filter(Q(state=ImportState.QUEUED) | ended)

    def _claim(self, rows: QuerySet[J]) -> J | None:
        """Take the oldest file that waits, or whose worker was lost."""
        if not self._pending(rows).exists():  # without the write lock that a transaction takes on SQLite
            return None
        with transaction.atomic():
            row = self._pending(rows).select_for_update(skip_locked=True).order_by("created_at", "pk").first()
            if row is None:
                return None
            row.attempts += 1
            row.state, row.owner = ImportState.RUNNING, uuid.uuid4().hex
            row.lease_until = timezone.now() + LEASE
            row.save(update_fields=["state", "owner", "lease_until", "attempts"])
        return self.rows.select_related(*self.related).get(pk=row.pk)

    def _work(self, job: J, stop: Callable[[], bool]) -> None:
        """Check a file that this worker has claimed, or store what it says."""
        mine = self.rows.filter(pk=job.pk, owner=job.owner, state=ImportState.RUNNING)
        if job.attempts > MOST_ATTEMPTS:
            now = failed(
                f"The worker was lost {MOST_ATTEMPTS} times while it read this file. Continue to try again."
            )
        else:
            with Heartbeat(mine, stop) as heart:
                now = self._read(job, mine, heart)
        if now and not mine.update(owner="", lease_until=None, **now):
            if not self.rows.filter(
                pk=job.pk
            ).exists():  # discarded, maybe before it had stored its first part
                self.ended(job)
            return
        if now.get("state") not in KEPT_IMPORT:
            self.ended(job)
            files_forget(job, beside=not self.keeps_beside)

    def _read(self, job: J, mine: QuerySet[Any], heart: Heartbeat) -> dict[str, Any]:
        try:
            return self.read(job, mine, heart)
        except InterruptedJob:
            # A stopping worker gives its job back; that one did not fail.
            return {"state": ImportState.QUEUED, "attempts": F("attempts") - 1, "step": ""}
        except ImportFileError as error:
            return {"state": ImportState.REFUSED, "finished_at": timezone.now()} | wrong(error)
        except Http404:
            return failed(self.not_allowed)
        except OSError as error:
            logger.exception("A file that was sent could not be read", extra={"job": job.pk})
            return failed(f"The file could not be read: {error.strerror}. Continue, or upload it again.")
        except Exception:
            logger.exception("A file that was sent could not be imported", extra={"job": job.pk})
            return failed("An error occurred while this file was read. Operators can find it in the log.")


def wrong(error: ImportFileError) -> dict[str, Any]:
    """The errors of a file as a row has them."""
    return {
        "errors": [{"row": one.row, "field": one.field, "message": one.message} for one in errors_of(error)]
    }


def failed(words: str) -> dict[str, Any]:
    """What is said of a file that could not be read for a reason that is not in it."""
    errors = [{"row": None, "field": None, "message": words}]
    return {"state": ImportState.FAILED, "errors": errors, "finished_at": timezone.now()}


def imports_tidy() -> int:
    """Forget files that nobody confirmed, and what was said of the others, after a while; how many went."""
    before = timezone.now() - timedelta(hours=settings.EXPORTS_KEEP_HOURS)
    for model in (VerdictImport, DatasetImport):
        model._default_manager.filter(created_at__lte=before).exclude(state__in=OPEN_IMPORT).delete()
    FileUpload.objects.filter(moved_at__lte=before).delete()
    folder = Path(settings.IMPORTS_DIR)
    files = list(folder.iterdir()) if folder.is_dir() else []
    if not files:
        return 0
    wanted = {
        name
        for rows in (
            VerdictImport.objects.all(),
            DatasetImport.objects.all(),
            FileUpload.objects.all(),
        )
        for name in rows.values_list("file", flat=True)
    }
    # A file that is being sent has no row yet. What lies beside a file has its name and one ending more.
    stray = [
        path
        for path in files
        if not {path.name, path.stem, Path(path.stem).stem} & wanted
        and path.stat().st_mtime < before.timestamp()
    ]
    for path in stray:
        path.unlink(missing_ok=True)
    return len(stray)

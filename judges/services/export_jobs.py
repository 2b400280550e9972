"""Exports in the background: asked for by a page, made by a worker, downloaded by a signed link that expires.

Rows are the truth, messages are wake-ups: a lost message, a killed worker, two workers at once make one file. How many
files one person may have, and how much of the disk all of them take, is bounded.
"""

import io
import json
import logging
import shutil
import threading
import uuid
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core import signing
from django.db import IntegrityError, close_old_connections, connections, transaction
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.models import Study, User
from annotation.selectors.datasets import datasets_visible_to
from annotation.selectors.overview import may_identify, studies_owned_by, study_get_for
from annotation.services.audit import audit
from judges.models import OPEN_EXPORT, ExportJob, ExportState
from judges.services.exports import (
    ExportError,
    ExportOptions,
    ExportSubject,
    export_check,
    export_write,
    whole_file,
)
from judges.services.heartbeat import LEASE, Heartbeat, InterruptedJob
from judges.services.waking import wakeups_send

logger = logging.getLogger(__name__)

MOST_ATTEMPTS = 3
MOST_OPEN = 3
"""Exports of one person that may wait or run at once."""
MOST_KEPT = 20
"""Files of one person that may be kept at once."""
LEFT_FREE = 2**30
"""Bytes of the disk that exports leave free."""
SALT = "judges.export"


def export_subject_for(user: User, *, dataset: str = "", study: str = "") -> ExportSubject:
    """A dataset or a study that this person may see; else Http404."""
    reader = None if user.is_administrator else user
    if study:
        try:
            found = study_get_for(user, study)
        except Study.DoesNotExist:
            raise Http404("There is no such study.") from None
        return ExportSubject(found.dataset, found, reader)
    return ExportSubject(get_object_or_404(datasets_visible_to(user), name=dataset), None, reader)


def may_identify_in(user: User, subject: ExportSubject) -> bool:
    """Whether they may export who the annotators are: of a study its owner, of a dataset administrators alone."""
    return user.is_administrator if subject.study is None else may_identify(user, subject.study)


def may_export(user: User, subject: ExportSubject, what: str) -> bool:
    """Whether they may export this of what they see: what the annotators of a study are paid is for its owner."""
    if what != "pay" or subject.study is None:
        return True
    return studies_owned_by(user).filter(pk=subject.study.pk).exists()


def export_request(
    *, user: User, subject: ExportSubject, what: str, format: str, options: ExportOptions
) -> ExportJob:
    """Ask for a file; a request for the same one while it is made gets the same job.

    Raises
    ------
    ExportError
        There is no such export, they may not have it, or they have too many already.
    """
    export_check(subject, what, format, options)
    if not may_export(user, subject, what):
        raise ExportError("Only the owner of a study may export what its annotators are paid.")
    if options.identify and not may_identify_in(user, subject):
        raise ExportError("Only the owner of a study may export who its annotators are.")
    wanted = [subject.dataset.pk, subject.study and subject.study.pk, what, format, asdict(options)]
    key = sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    mine = ExportJob.objects.filter(requested_by=user)
    same = mine.filter(key=key, state__in=OPEN_EXPORT)
    job = same.first()
    if job is None:
        if mine.filter(state__in=OPEN_EXPORT).count() >= MOST_OPEN:
            raise ExportError(
                f"{MOST_OPEN} of your exports are being made. Wait until one is ready, or delete one."
            )
        if mine.count() >= MOST_KEPT:
            raise ExportError(f"You have {MOST_KEPT} exports. Delete one that you don't need anymore.")
        try:
            with transaction.atomic():
                job = ExportJob.objects.create(
                    requested_by=user, dataset=subject.dataset, study=subject.study, what=what, format=format,
                    options=asdict(options), key=key,
                )  # fmt: skip
                how = {"format": format, **asdict(options)}
                audit(f"{what}.exported", subject.study or subject.dataset, after=how, actor=user)
        except IntegrityError:  # sent twice at once: the other one asked
            job = same.get()
    transaction.on_commit(wakeups_send)
    return job


def export_jobs_of(user: User, subject: ExportSubject) -> list[ExportJob]:
    """What this person asked for of a dataset or study, newest first, without what has expired."""
    jobs = ExportJob.objects.filter(requested_by=user, dataset=subject.dataset, study=subject.study)
    return list(jobs.exclude(expires_at__lte=timezone.now()))


def export_job_get_for(user: User, pk: int) -> ExportJob:
    """An export that this person asked for; else Http404."""
    return get_object_or_404(ExportJob.objects.select_related("dataset", "study"), pk=pk, requested_by=user)


def export_job_delete(*, job: ExportJob) -> bool:
    """Delete an export and its file; a worker that makes it notices soon. False if it is gone already."""
    n, _ = ExportJob.objects.filter(pk=job.pk).delete()
    if job.file:
        transaction.on_commit(partial(export_path(job.file).unlink, missing_ok=True))
    return bool(n)


def export_token(job: ExportJob) -> str:
    """What the link to a finished file says: nobody can guess it, and it is worth nothing once the file has expired."""
    return signing.dumps([job.pk, job.file], salt=SALT)


def export_of_token(token: str) -> tuple[ExportJob, Path]:
    """The export of a link and its file; Http404 for what is forged, has expired, or may not be had any more."""
    try:
        pk, file = signing.loads(token, salt=SALT, max_age=timedelta(hours=settings.EXPORTS_KEEP_HOURS))
    except (signing.BadSignature, ValueError, TypeError):
        raise Http404("This link has expired.") from None
    done = ExportJob.objects.filter(state=ExportState.DONE, expires_at__gt=timezone.now())
    job = get_object_or_404(done.select_related("dataset", "study", "requested_by"), pk=pk, file=file)
    try:
        _subject_of(job)
    except ExportError as error:
        raise Http404(str(error)) from None
    path = export_path(job.file)
    if not path.is_file():
        raise Http404("The file no longer exists.")
    return job, path


def _subject_of(job: ExportJob) -> ExportSubject:
    """What is to be exported, if its reader still may; what was allowed when it was asked for need not be now."""
    user: User = job.requested_by
    gone = ExportError("You no longer have access to this export.")
    if not user.is_active or not user.is_researcher:
        raise gone
    try:
        subject = export_subject_for(
            user, dataset=job.dataset.name, study=job.study.slug if job.study is not None else ""
        )
    except Http404:
        raise gone from None
    if not may_export(user, subject, job.what):
        raise gone
    if job.options.get("identify") and not may_identify_in(user, subject):
        raise gone
    return subject


def export_path(file: str) -> Path:
    return Path(settings.EXPORTS_DIR) / Path(file).name


# --- the worker ---------------------------------------------------------------------------------------------------


def export_jobs_work(stop: Callable[[], bool] = lambda: False) -> int:
    """Make the exports that wait, one after the other; how many are there. Any number of workers may do this."""
    n = 0
    while not stop() and (job := export_job_claim()) is not None:
        n += export_job_make(job, stop)
    return n


def _pending() -> QuerySet[ExportJob]:
    ended = Q(state=ExportState.RUNNING, lease_until__lt=timezone.now())
    return ExportJob.objects.filter(Q(state=ExportState.QUEUED) | ended)


def export_job_claim() -> ExportJob | None:
    """Take the oldest export that waits, or whose worker was lost."""
    if not _pending().exists():  # without the write lock that a transaction takes on SQLite
        return None
    with transaction.atomic():
        row = _pending().select_for_update(skip_locked=True).order_by("created_at", "pk").first()
        if row is None:
            return None
        row.attempts += 1
        row.state, row.owner = ExportState.RUNNING, uuid.uuid4().hex
        row.lease_until = timezone.now() + LEASE
        if row.attempts > MOST_ATTEMPTS:
            row.state, row.owner, row.finished_at = ExportState.FAILED, "", timezone.now()
            row.error = f"The worker was lost {MOST_ATTEMPTS} times while it made this export."
            row.expires_at = _expiry()
        row.save(
            update_fields=["state", "owner", "lease_until", "attempts", "error", "finished_at", "expires_at"]
        )
    return ExportJob.objects.select_related("dataset", "study", "requested_by").get(pk=row.pk)


def export_job_make(job: ExportJob, stop: Callable[[], bool]) -> int:
    """Make one export that this worker has claimed; 1 if its file is there."""
    if job.state != ExportState.RUNNING:
        return 0
    mine = ExportJob.objects.filter(pk=job.pk, owner=job.owner, state=ExportState.RUNNING)
    path = export_path(f"{job.pk}-{job.owner}.{job.format}")
    now: dict[str, Any]
    with Heartbeat(mine, stop) as heart:
        try:
            now = _made(job, path, heart)
        except InterruptedJob:
            # A stopping worker gives its job back; that one did not fail.
            now = {"state": ExportState.QUEUED, "attempts": F("attempts") - 1, "step": "", "n_done": 0}
        except ExportError as error:
            now = _failed(str(error))
        except OSError as error:
            logger.exception("An export could not be written", extra={"job": job.pk})
            now = _failed(f"The file could not be written: {error.strerror}.")
        except Exception:
            logger.exception("An export could not be made", extra={"job": job.pk})
            now = _failed("An error occurred while this export was made. Operators can find it in the log.")
    # After the reading has ended: on SQLite, who reads cannot write once another has written.
    if not mine.update(owner="", lease_until=None, **now) or "file" not in now:
        path.unlink(missing_ok=True)
        return 0
    return 1


def _made(job: ExportJob, path: Path, heart: Heartbeat) -> dict[str, Any]:
    subject = _subject_of(job)
    export_files_tidy()  # what has expired takes no room
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file(path) as file:
        options = ExportOptions(**job.options)
        bounded = cast("IO[bytes]", _Bounded(file, _room()))
        notes = export_write(bounded, subject, job.what, job.format, options, heart.tell)
    return {
        "state": ExportState.DONE, "file": path.name, "size": path.stat().st_size, "notes": notes,
        "finished_at": timezone.now(), "expires_at": _expiry(),
    }  # fmt: skip


def _failed(error: str) -> dict[str, Any]:
    return {
        "state": ExportState.FAILED,
        "error": error,
        "finished_at": timezone.now(),
        "expires_at": _expiry(),
    }


def _expiry() -> Any:
    return timezone.now() + timedelta(hours=settings.EXPORTS_KEEP_HOURS)


def _room() -> int:
    """How many bytes a further export may have."""
    folder = Path(settings.EXPORTS_DIR)
    used = sum(path.stat().st_size for path in _files())
    return int(min(settings.EXPORTS_MAX_BYTES - used, shutil.disk_usage(folder).free - LEFT_FREE))


def _files() -> list[Path]:
    folder = Path(settings.EXPORTS_DIR)
    return [path for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []


class _Bounded(io.RawIOBase):
    """A file that takes so many bytes and no more."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file, self._left = file, most

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        size: int = len(data)
        self._left -= size
        if self._left < 0:
            raise ExportError(
                "There is no disk space left for exports. Delete some, or ask the administrator for more."
            )
        self._file.write(data)
        return size


def export_files_tidy() -> int:
    """Remove what has expired, and files that no export has any more; how many files went."""
    ExportJob.objects.filter(expires_at__lte=timezone.now()).delete()
    files = _files()
    if not files:
        return 0
    rows = ExportJob.objects.filter(Q(state=ExportState.DONE) | Q(state=ExportState.RUNNING))
    wanted = {
        file or f"{pk}-{owner}.{format}"
        for pk, owner, format, file in rows.values_list("pk", "owner", "format", "file")
    }
    stray = [path for path in files if path.name.removesuffix(".part") not in wanted]
    for path in stray:
        path.unlink(missing_ok=True)
    return len(stray)


_thread: threading.Thread | None = None
_starting = threading.Lock()


def export_jobs_start(stop: Callable[[], bool]) -> threading.Thread | None:
    """See to it that this process makes the exports that wait: beside whatever else it does, one thread at most."""
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return _thread
        if stop() or not _pending().exists():
            return None
        _thread = threading.Thread(target=partial(_work_alone, stop), name="exports", daemon=True)
        _thread.start()
        return _thread


def _work_alone(stop: Callable[[], bool]) -> None:
    close_old_connections()
    try:
        export_jobs_work(stop)
    except Exception:
        logger.exception("Exports could not be made; the next wake-up tries again")
    finally:
        connections.close_all()

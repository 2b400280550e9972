"""A person's imports that were begun and aren't finished, in one list: files in the browser, and the command's.

They are removed by the maintenance that removes files (`import_files`, `annotation.services.staged_imports`).
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeAlias

from django.template.defaultfilters import filesizeformat

from annotation.models import StagedImport, User
from annotation.services.staged_imports import (
    staged_get_for,
    staged_give_up,
    staged_of_owner,
    staged_removal_due,
    staged_rows_of_jobs,
)
from judges.models import DatasetImport, FileImport, FileUpload, ImportState, VerdictImport
from judges.services.dataset_imports import (
    dataset_import_continue,
    dataset_import_delete,
    dataset_import_get_for,
    dataset_imports_of,
    job_name,
)
from judges.services.import_files import may_continue, removal_due
from judges.services.uploads import (
    upload_discard,
    upload_get_for,
    upload_removal_due,
    uploads_of,
)
from judges.services.verdict_files import LABELS
from judges.services.verdict_imports import (
    verdict_import_continue,
    verdict_import_delete,
    verdict_import_get_for,
    verdict_imports_of,
)

Sort: TypeAlias = Literal["datasets", "verdicts", "staged", "uploads"]


@dataclass(frozen=True, slots=True)
class UnfinishedImport:
    """One line of the list.

    Attributes
    ----------
    sort
        A file of items, of verdicts, an import of the command line, or a file whose upload isn't finished.
    into
        Name of the dataset.
    kind
        What the file has, in a word.
    progress, state, reason
        In words; why it stopped, where that is no error of the file's rows.
    tone
        Of the state: "", "good", "warn" or "bad".
    can_continue
        Whether it was interrupted and is taken up by a button; else its page is where it goes on.
    is_refused
        Whether its page has nothing but errors.
    removed_at
        When it is removed; None while a worker has it, or will.
    """

    sort: Sort
    pk: int
    file: str
    into: str
    progress: str
    state: str
    tone: str
    began_at: datetime
    removed_at: datetime | None
    kind: str = "Items"
    reason: str = ""
    is_open: bool = False
    can_continue: bool = False
    is_refused: bool = False


def unfinished_imports_of(user: User) -> list[UnfinishedImport]:
    """The imports of this person that aren't finished, newest first. Four queries, and one more for files of items."""
    items = [job for job in dataset_imports_of(user) if job.state != ImportState.DONE]
    stored = staged_rows_of_jobs([job_name(job) for job in items]) if items else {}
    verdicts = [job for job in verdict_imports_of(user) if job.state != ImportState.DONE]
    found = [
        *(_of_items(job, stored.get(job_name(job), 0)) for job in items),
        *(_of_verdicts(job) for job in verdicts),
        *(_of_command(row) for row in staged_of_owner(user)),
        *(_of_upload(upload) for upload in uploads_of(user)),
    ]
    return sorted(found, key=lambda one: one.began_at, reverse=True)


def unfinished_import_continue(user: User, sort: Sort, pk: int) -> bool:
    """Take up an interrupted import of this person; False where it goes on already, or can't be taken up here.

    Raises
    ------
    FileNotTakenError
        The same file was sent again, and waits.
    Http404
        It isn't theirs, or it is gone.
    """
    if sort == "datasets":
        return dataset_import_continue(job=dataset_import_get_for(user, pk))
    if sort == "verdicts":
        return verdict_import_continue(job=verdict_import_get_for(user, pk))
    if sort == "staged":
        staged_get_for(user, pk)
    else:
        upload_get_for(user, pk)
    return False


def unfinished_import_discard(user: User, sort: Sort, pk: int) -> None:
    """Forget an import of this person: its file, and what it stored of a dataset that nobody has seen.

    A dataset that there was, or that it has finished meanwhile, stays. Http404 where it isn't theirs, or is gone.
    """
    if sort == "datasets":
        dataset_import_delete(job=dataset_import_get_for(user, pk))
    elif sort == "verdicts":
        verdict_import_delete(job=verdict_import_get_for(user, pk))
    elif sort == "uploads":
        upload_discard(upload_get_for(user, pk))
    else:
        staged_give_up(staged_get_for(user, pk))


def _of_items(job: DatasetImport, n_stored: int) -> UnfinishedImport:
    read = job.found.get("n_items")
    return _of_file(
        "datasets", job, job.dataset_name, n_stored, "" if read is None else _counted(read, "item")
    )


def _of_verdicts(job: VerdictImport) -> UnfinishedImport:
    noun, name = ("label", "labels") if job.format == "labels" else ("verdict", "judgments")
    read = job.found.get(name)
    return replace(
        _of_file("verdicts", job, job.dataset.name, 0, "" if read is None else _counted(read, noun)),
        kind=f"{noun.capitalize()}s",
    )


def _of_file(sort: Sort, job: FileImport, into: str, n_stored: int, read: str) -> UnfinishedImport:
    can_continue = may_continue(job)
    state, tone = _state(job, can_continue=can_continue)
    if n_stored:
        progress = f"{_counted(n_stored, 'row')} stored"
    elif job.is_open:
        progress = job.step or "0 rows read"
    else:
        progress = f"{read} read, none stored" if read else "Nothing stored"
    is_failed = job.state == ImportState.FAILED
    return UnfinishedImport(
        sort, job.pk, job.name, into, progress, state, tone, job.created_at, removal_due(job),
        reason=job.errors[0]["message"] if is_failed and job.errors else "",
        is_open=job.is_open, can_continue=can_continue, is_refused=job.state == ImportState.REFUSED,
    )  # fmt: skip


def _of_command(row: StagedImport) -> UnfinishedImport:
    return UnfinishedImport(
        "staged", row.pk, row.file, row.dataset.name, f"{_counted(row.row, 'row')} stored", "On the command line", "",
        row.created_at, staged_removal_due(row), reason="Run the same command again to continue.",
    )  # fmt: skip


def _of_upload(upload: FileUpload) -> UnfinishedImport:
    if upload.dataset is None:
        into, kind = upload.said["name"], "Items"
    else:
        into, kind = upload.dataset.name, "Labels" if upload.said["format"] == LABELS else "Verdicts"
    stored, size = filesizeformat(upload.n_stored), filesizeformat(upload.size)
    if upload.is_whole:
        progress, state = f"{size} uploaded, not read yet", "Waiting for you to continue"
    else:
        progress, state = f"{stored} of {size} uploaded", "Upload not finished"
    return UnfinishedImport(
        "uploads", upload.pk, upload.name, into, progress, state, "warn", upload.created_at,
        upload_removal_due(upload), kind=kind,
    )  # fmt: skip


def _state(job: FileImport, *, can_continue: bool) -> tuple[str, str]:
    """The state in words, and its tone."""
    if can_continue:
        return "Interrupted", "warn"
    if job.state == ImportState.RUNNING:
        return ("Importing" if job.is_confirmed else "Being read"), ""
    if job.state == ImportState.QUEUED:
        return "Waiting for a worker", ""
    if job.state != ImportState.CHECKED:
        return job.get_state_display(), "bad"
    if job.errors:
        return "Not ready to import", "warn"  # its columns are to be mapped, or the file to be corrected
    if n_errors := getattr(job, "n_errors", 0):
        return f"{_counted(n_errors, 'row')} with errors", "warn"
    return "Waiting for you to confirm", "good"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"

"""Files that go up in chunks, so that one that was interrupted continues where it stopped.

The row says how much is stored, and is locked while a chunk is written: requests that send the same chunk at once
store it once, and what a killed process wrote behind the offset is written over. Each chunk comes with its SHA-256, and
all of them make one digest, which the browser compares with its file.
"""

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, TypeVar

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone

from annotation.models import Dataset, User
from judges.models import WAITING_IMPORT, DatasetImport, FileImport, FileUpload, VerdictImport
from judges.services.import_files import (
    FileNotTakenError,
    KeptFile,
    file_keep,
    import_room_check,
    imports_folder,
    path_of,
    waiting_check,
)
from web.upload import MEBIBYTE

J = TypeVar("J", bound=FileImport)
CHUNK_BYTES = 4 * MEBIBYTE
"""Bytes of each chunk of an upload that begins now, but of its last one."""


class ChunkRefusedError(Exception):
    """Why a chunk is not stored: it isn't what it says that it is."""


class WrongDigestError(ChunkRefusedError):
    """What arrived isn't what was sent."""


class WrongOffsetError(Exception):
    """A chunk that doesn't begin where the stored part ends; `upload` says where that is."""

    def __init__(self, upload: FileUpload) -> None:
        super().__init__(f"Expected a chunk at byte {upload.n_stored:,}.")
        self.upload = upload


class UploadTakenError(Exception):
    """The import of this file began already."""


def upload_begin(
    *,
    user: User,
    dataset: Dataset | None,
    name: str,
    size: int,
    modified: int,
    head: str,
    said: Mapping[str, Any],
    expected: FileUpload | None = None,
) -> FileUpload:
    """Begin an upload, or find the one of the same file that was begun.

    Parameters
    ----------
    dataset
        What verdicts or labels are on; None for a file of items.
    name, size, modified, head
        By which the file is known: its name, bytes, time of its last change in milliseconds, and a hash of its first
        bytes.
    said
        What the form says of it, kept for the day on which the upload continues.
    expected
        The upload that is to be continued.

    Raises
    ------
    FileNotTakenError
        There is no room, or it isn't the file of the expected upload.
    """
    named = [None if dataset is None else dataset.pk, name, size, modified, head]
    key = sha256(json.dumps(named).encode()).hexdigest()
    if expected is not None and expected.key != key:
        raise FileNotTakenError(
            f"Expected the file {expected.name} of {expected.size:,} bytes as it was when its upload began. "
            "Choose that file, or discard its upload under Datasets, Unfinished imports."
        )
    rows = FileUpload.objects.filter(user=user, key=key, is_taken=False)
    if rows.update(said=dict(said)):
        return rows.get()
    waiting_check((DatasetImport if dataset is None else VerdictImport)._default_manager.all(), user)
    import_room_check(size)
    try:
        with transaction.atomic():
            return FileUpload.objects.create(
                user=user, dataset=dataset, name=name, size=size, key=key, said=dict(said), chunk=CHUNK_BYTES,
                file=f"{uuid.uuid4().hex}{Path(name).suffix.lower()}",
            )  # fmt: skip
    except IntegrityError:  # begun twice at once
        return rows.get()


def upload_append(*, upload: FileUpload, offset: int, content: IO[bytes], digest: bytes) -> FileUpload:
    """Store a chunk of a file at its offset in bytes, and return the upload with what is stored then.

    Parameters
    ----------
    digest
        SHA-256 of the chunk.

    Raises
    ------
    ChunkRefusedError
        It has another length than a chunk at this offset, or another hash.
    WrongOffsetError
        Something else is stored than the sender supposes.
    FileNotTakenError
        There is no room.
    Http404
        It was discarded meanwhile.
    """
    if offset >= upload.size:
        raise WrongOffsetError(upload)
    due = min(upload.chunk, upload.size - offset)
    chunk = content.read(due + 1)  # before the row is locked: it may come slowly
    if len(chunk) != due:
        found = f"{len(chunk):,}" if len(chunk) < due else "more"
        raise ChunkRefusedError(f"Expected {due:,} bytes at byte {offset:,}, found {found}.")
    if sha256(chunk).digest() != digest:
        raise WrongDigestError("The chunk arrived with another SHA-256 than it was sent with.")
    with transaction.atomic():
        now = FileUpload.objects.select_for_update().filter(pk=upload.pk).first()
        if now is None:
            raise Http404("This upload was discarded.")
        if not now.is_taken and offset == now.n_stored and _is_there(now):
            import_room_check(due)
            _write(now, chunk)
            now.n_stored += due
            now.digest = sha256(bytes.fromhex(now.digest) + digest).hexdigest()
            now.moved_at = timezone.now()
            now.save(update_fields=["n_stored", "digest", "moved_at"])
            return now
        if not now.is_taken and not _is_there(now):
            now.n_stored, now.digest = 0, ""
            now.save(update_fields=["n_stored", "digest"])
    raise WrongOffsetError(now)


def upload_check(upload: FileUpload, *, digest: str = "") -> None:
    """Check that a file is whole, and is the one whose digest the sender has, if they have it.

    Raises
    ------
    FileNotTakenError
        It isn't.
    UploadTakenError
        Its import began meanwhile.
    """
    if not upload.is_whole or not _is_there(upload):
        if FileUpload.objects.filter(pk=upload.pk, is_taken=True).exists():
            raise UploadTakenError
        raise FileNotTakenError(
            f"{upload.n_stored:,} of {upload.size:,} bytes are uploaded. "
            f"Choose the same file {upload.name} again to continue."
        )
    if digest and digest != upload.digest:
        raise FileNotTakenError(
            f"The file {upload.name} that you chose isn't the file that was uploaded. "
            "Discard the upload under Datasets, Unfinished imports, and upload the file again."
        )


def upload_take(upload: FileUpload, import_pk: int | None) -> None:
    """Leave a whole file to its import, or to nobody where all of it is stored.

    Raises
    ------
    UploadTakenError
        That was done already, or the upload was discarded.
    """
    row = FileUpload.objects.filter(pk=upload.pk, is_taken=False)
    if not row.update(is_taken=True, import_pk=import_pk, said=upload.said, moved_at=timezone.now()):
        raise UploadTakenError


def upload_stored(upload: FileUpload) -> None:
    """Forget the file of an upload whose content is stored; the row stays, so that its end can be sent twice."""
    with suppress(UploadTakenError):
        upload_take(upload, None)
    path_of(upload).unlink(missing_ok=True)


def import_create(
    rows: QuerySet[J], user: User, content: IO[bytes] | FileUpload, *, suffix: str, asked: str, **said: Any
) -> tuple[J, bool]:
    """Keep a file for its import, and make the row of it; the import, and whether it is new.

    A file that waits already for what is asked is that import.

    Parameters
    ----------
    content
        The file, or its upload, which is whole: that file stays where it lies.
    asked
        What is to be done with it.
    said
        Of the row.

    Raises
    ------
    FileNotTakenError
        There is no room for it.
    UploadTakenError
        The import of this upload began already.
    """
    upload = content if isinstance(content, FileUpload) else None
    waiting_check(rows, user, upload=upload)
    if isinstance(content, FileUpload):
        digest = sha256(f"{asked} {content.digest}".encode()).hexdigest()
        kept = KeptFile(content.file, content.size, digest)
    else:
        kept = file_keep(content, suffix=suffix, asked=asked)
    try:
        with transaction.atomic():
            job = rows.create(requested_by=user, file=kept.name, size=kept.size, key=kept.key, **said)
            if upload is not None:
                upload_take(upload, job.pk)
    except IntegrityError:  # it waits already, or was sent twice at once
        job = rows.get(requested_by=user, key=kept.key, state__in=WAITING_IMPORT)
        if upload is not None:
            with suppress(UploadTakenError):
                upload_take(upload, job.pk)
        if job.file != kept.name:
            (imports_folder() / kept.name).unlink(missing_ok=True)
        return job, False
    return job, True


def upload_discard(upload: FileUpload) -> None:
    """Forget an upload and its file, unless an import has it."""
    with transaction.atomic():
        row = FileUpload.objects.select_for_update().filter(pk=upload.pk, is_taken=False).first()
        if row is None:
            raise Http404("This upload was discarded, or its import began.")
        row.delete()
    path_of(row).unlink(missing_ok=True)


def uploads_of(user: User, rows: Q | None = None) -> list[FileUpload]:
    """The files of this person whose upload began and whose import didn't, newest first."""
    found = FileUpload.objects.filter(rows or Q(), user=user, is_taken=False)
    return list(found.select_related("dataset"))


def upload_get_for(user: User, pk: object) -> FileUpload:
    """An upload of this person, of a file that an import has too; else Http404."""
    try:
        number = int(str(pk))
    except ValueError:
        number = 0
    if not 0 < number < 2**63:
        raise Http404("There is no such upload.")
    return get_object_or_404(FileUpload.objects.select_related("dataset"), pk=number, user=user)


def upload_removal_due(upload: FileUpload) -> datetime:
    """When an upload that nobody continues is removed (`imports_tidy`)."""
    return upload.moved_at + timedelta(hours=settings.EXPORTS_KEEP_HOURS)


def _is_there(upload: FileUpload) -> bool:
    """Whether the file has what the row says: a machine that lost its power may have lost bytes that were written."""
    path = path_of(upload)
    return upload.n_stored <= (path.stat().st_size if path.is_file() else 0)


def _write(upload: FileUpload, chunk: bytes) -> None:
    imports_folder()
    path = path_of(upload)
    path.touch(mode=0o600)
    with path.open("r+b") as file:
        file.truncate(upload.n_stored)
        file.seek(upload.n_stored)
        file.write(chunk)

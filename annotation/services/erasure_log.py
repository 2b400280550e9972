"""Who was erased, as hashes: a row each, and a line each in a file that outlasts the database.

A backup holds the people whom it held when it was made. After it was restored, `erasures_apply` erases again those in
the list. The list says of nobody who they were: an identifier has 122 random bits, so its hash can't be guessed.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from annotation.models import Erasure, ErasureKind

REQUEST, RETENTION, RESTORE = "request", "retention", "restore"
"""Why a person is erased."""
_complete_to: dict[Path, int] = {}
"""The file to the last row of which this process knows that it is in it."""


class ErasureListError(Exception):
    """A list of erasures can't be read; the message names file and line."""


@dataclass(frozen=True, slots=True)
class ErasedPerson:
    """A line of the list."""

    person: str
    study_key: int | None
    kind: str
    texts_kept: bool
    at: str


def person_hash(public_id: UUID, study_key: int | None) -> str:
    """What the list calls a person: another name in each study, which leads nowhere."""
    scope = "" if study_key is None else str(study_key)
    return sha256(b"touchstone.erasure:" + public_id.bytes + f":{scope}".encode()).hexdigest()


def erasure_note(
    *,
    public_id: UUID,
    study_key: int | None,
    kind: ErasureKind,
    texts_kept: bool,
    why: str,
    now: datetime | None = None,
) -> Erasure:
    """Add a row, and a line to the file once the transaction of the caller is committed."""
    row, is_new = Erasure.objects.get_or_create(
        person=person_hash(public_id, study_key),
        defaults={
            "study_key": study_key,
            "kind": kind,
            "texts_kept": texts_kept,
            "why": why,
            "at": now or timezone.now(),
        },
    )
    if is_new and why != RESTORE:  # whom the list names already
        transaction.on_commit(lambda: _append([_line_of(row)]), robust=True)
    return row


def _line_of(row: Erasure) -> ErasedPerson:
    return ErasedPerson(row.person, row.study_key, row.kind, row.texts_kept, row.at.isoformat())


def erasures_file() -> Path:
    """Where this site keeps the list."""
    return Path(settings.ERASURES_FILE)


def _append(lines: Iterable[ErasedPerson]) -> None:
    text = "".join(f"{json.dumps(asdict(line))}\n" for line in lines)
    if not text:
        return
    place = erasures_file()
    place.parent.mkdir(parents=True, exist_ok=True)
    # One write of whole lines, which other processes don't tear apart.
    with open(place, "a", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def erasures_file_complete() -> int:
    """Write into the file what the table has and the file hasn't: after a failure, or on another machine. How many."""
    place = erasures_file()
    rows = list(Erasure.objects.filter(pk__gt=_complete_to.get(place, 0)).order_by("pk"))
    if not rows:
        return 0
    known = {line.person for line in erasures_read(place)} if place.exists() else set()
    missing = [_line_of(row) for row in rows if row.person not in known]
    _append(missing)
    _complete_to[place] = rows[-1].pk
    return len(missing)


def erasures_read(path: Path) -> Iterator[ErasedPerson]:
    """Yield the lines of a list.

    Raises
    ------
    ErasureListError
        A line isn't one of a list of erasures, or the file can't be read.
    """
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                yield _read(line, f"{path}, line {number}")
    except (OSError, UnicodeDecodeError) as error:
        raise ErasureListError(f"{path} can't be read: {error}.") from None


def _read(line: str, where: str) -> ErasedPerson:
    try:
        found = json.loads(line)
        study = found["study_key"]
        read = ErasedPerson(found["person"], study, found["kind"], found["texts_kept"], found.get("at", ""))
    except (ValueError, TypeError, KeyError):
        raise ErasureListError(f"{where}: expected an erasure as JSON.") from None
    is_right = (
        isinstance(read.person, str)
        and len(read.person) == 64
        and (study is None or isinstance(study, int))
        and read.kind in ErasureKind.values
        and isinstance(read.texts_kept, bool)
        and isinstance(read.at, str)
    )
    if not is_right:
        raise ErasureListError(
            f"{where}: expected person (64 characters), study_key, kind ({' or '.join(ErasureKind.values)}), "
            "texts_kept and at."
        )
    return read


def erased_at(line: ErasedPerson) -> datetime:
    """When it was; now, if the list doesn't say."""
    try:
        return parse_datetime(line.at) or timezone.now()
    except ValueError:
        return timezone.now()

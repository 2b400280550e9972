"""Files that people send: how large they may be, and where they lie while they are read."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile

MEBIBYTE = 2**20
MAX_BYTES = 64 * MEBIBYTE
MOST_STEM = 150
"""Bytes of a name before its suffix; a file system has 255."""


def name_on_disk(name: str) -> str:
    """The name that a sender gave a file, as far as a folder can have it; the suffix in small letters."""
    last = "".join(one for one in name.replace("\\", "/").rpartition("/")[2] if one.isprintable())
    stem, dot, end = last.rpartition(".")
    stem, suffix = (stem, f".{end.lower()[:20]}" if end else "") if dot else (last, "")
    kept = stem.encode(errors="ignore")[:MOST_STEM].decode(errors="ignore").strip(". ")
    return f"{kept or 'upload'}{suffix}"


@contextmanager
def on_disk(upload: UploadedFile[Any], *, folder: str = "upload", name: str = "") -> Iterator[Path]:
    """The uploaded file in a folder of its own, that is gone afterwards; it is named `name`, else as by its sender."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as scratch:
        place = Path(scratch) / folder
        place.mkdir()
        path = place / (name or name_on_disk(upload.name or ""))
        with path.open("wb") as copy:
            shutil.copyfileobj(upload, copy)
        yield path


def check_size(upload: UploadedFile[Any], most: int | None = None) -> None:
    """Raise a ValidationError for a file of more bytes than the browser may send, `MAX_BYTES` where `most` is None."""
    most = MAX_BYTES if most is None else most
    if (upload.size or 0) > most:
        raise ValidationError(
            f"Expected at most {most // MEBIBYTE:,} MiB, found {(upload.size or 0) / MEBIBYTE:.0f}. "
            "Larger ones can be imported on the command line."
        )

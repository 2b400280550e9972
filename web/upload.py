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


@contextmanager
def on_disk(upload: UploadedFile[Any], *, folder: str = "upload", name: str = "") -> Iterator[Path]:
    """The uploaded file in a folder of its own, that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as scratch:
        place = Path(scratch) / folder
        place.mkdir()
        path = place / (name or f"upload{Path(upload.name or '').suffix.lower()}")
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

"""Rows of a request as the file that an importer reads, so that both have the same rules and the same words."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annotation.importers import ImportFileError
from annotation.importers.errors import errors_of


@contextmanager
def rows_on_disk(field: str, rows: Sequence[Any]) -> Iterator[Path]:
    """The rows as a JSON file that is gone afterwards; a refusal names the field of the request, not the file."""
    with tempfile.TemporaryDirectory(prefix="touchstone-") as folder:
        path = Path(folder) / "rows.json"
        path.write_text(json.dumps(rows), encoding="utf-8")
        try:
            yield path
        except ImportFileError as error:
            for one in (error, *errors_of(error)):
                one.file = field
            raise

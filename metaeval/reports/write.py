"""Writing a file whole or not at all."""

import os
import tempfile
from pathlib import Path

from metaeval.reports.errors import ReportError


def write_atomically(path: Path, text: str) -> None:
    """Write beside the file and rename, so that nobody ever reads half of a report.

    Raises
    ------
    ReportError
        The folder does not exist, the path is a folder, or it cannot be written.
    """
    folder = path.parent
    if not folder.is_dir():
        raise ReportError(f"There is no folder {folder}; make it first.")
    if path.is_dir():
        raise ReportError(f"{path} is a folder; name a file.")
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise ReportError(f"Cannot write to {folder}: {error.strerror}.") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        # mkstemp makes a file for its owner only; a report has the mode of any new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"Cannot write {path}: {error.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)

"""From a report to a file: JSON, Markdown, HTML, LaTeX, CSV, written whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from metaeval.reports.errors import ReportError
from metaeval.reports.html import html
from metaeval.reports.latex import latex
from metaeval.reports.markdown import markdown
from metaeval.reports.report import ReportContent, canonical_json
from metaeval.reports.tables import report_csv


def json_text(report: ReportContent) -> str:
    """Write the report as canonical JSON."""
    return canonical_json(report.as_json())


# How a report is written, and the type of the file.
FORMATS: Mapping[str, tuple[Callable[[ReportContent], str], str]] = {
    ".html": (html, "text/html; charset=utf-8"),
    ".md": (markdown, "text/markdown; charset=utf-8"),
    ".tex": (latex, "application/x-tex; charset=utf-8"),
    ".csv": (report_csv, "text/csv; charset=utf-8"),
    ".json": (json_text, "application/json"),
}
NAMES = {"html": "HTML", "md": "Markdown", "tex": "LaTeX", "csv": "CSV", "json": "JSON"}


def format_of(path: Path) -> str:
    """The format that a file's name asks for. Raises ReportError for any other."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ReportError(
            f"{path.name}: a report is written as {', '.join(FORMATS)}, not as {suffix or 'no extension'}."
        )
    return suffix


def render(report: ReportContent, suffix: str) -> str:
    """The text of the report in one of `FORMATS`."""
    return FORMATS[suffix][0](report)


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

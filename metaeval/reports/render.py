"""From a report to a file: HTML, PDF, Markdown, LaTeX, CSV, JSON, or all with the figures; whole or not at all."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from metaeval.reports.bundle import zipped
from metaeval.reports.errors import ReportError
from metaeval.reports.html import html
from metaeval.reports.illustrations import illustration_files
from metaeval.reports.latex import bibliography, latex, paper
from metaeval.reports.markdown import markdown
from metaeval.reports.pdf import pdf
from metaeval.reports.report import ReportContent, canonical_json
from metaeval.reports.tables import report_csv
from metaeval.reports.typesetting import MissingPdfError, pdf_available


def json_text(report: ReportContent) -> str:
    """Write the report as canonical JSON."""
    return canonical_json(report.as_json())


def report_zip(report: ReportContent) -> bytes:
    """All files of a report in one archive: each format, `paper.tex`, which compiles as it is, and the figures.

    Without Typst there is no PDF in it, without vl-convert no figures; everything else is.
    """
    figures = illustration_files(report)
    files = dict(figures)
    for suffix, (write, _) in FORMATS.items():
        with suppress(MissingPdfError):
            if suffix != ".zip":
                files[f"report{suffix}"] = _bytes(write(report))
    drawn = [name for name in figures if name.endswith(".pdf")]
    files["paper.tex"] = paper(report, drawn).encode("utf-8")
    return zipped(files, "report")


def _bytes(written: str | bytes) -> bytes:
    # A lone surrogate in a name must not stop a report.
    return written if isinstance(written, bytes) else written.encode("utf-8", "replace")


# How a report is written, and the type of the file.
FORMATS: Mapping[str, tuple[Callable[[ReportContent], str | bytes], str]] = {
    ".html": (html, "text/html; charset=utf-8"),
    ".pdf": (pdf, "application/pdf"),
    ".md": (markdown, "text/markdown; charset=utf-8"),
    ".tex": (latex, "application/x-tex; charset=utf-8"),
    ".bib": (bibliography, "application/x-bibtex; charset=utf-8"),
    ".csv": (report_csv, "text/csv; charset=utf-8"),
    ".json": (json_text, "application/json"),
    ".zip": (report_zip, "application/zip"),
}
BINARY = (".pdf", ".zip")
"""Formats that are bytes; the others are text."""
NAMES = {
    "html": "HTML",
    "pdf": "PDF",
    "md": "Markdown",
    "tex": "LaTeX",
    "bib": "BibTeX",
    "csv": "CSV",
    "json": "JSON",
    "zip": "All files (ZIP)",
}


def formats_here() -> dict[str, str]:
    """The formats that this installation writes, by their extension: a PDF needs Typst."""
    return {suffix: name for suffix, name in NAMES.items() if suffix != "pdf" or pdf_available()}


def format_of(path: Path) -> str:
    """The format that a file's name asks for. Raises ReportError for any other."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ReportError(
            f"{path.name}: a report is written as {', '.join(FORMATS)}, not as {suffix or 'no extension'}."
        )
    return suffix


def render(report: ReportContent, suffix: str) -> str | bytes:
    """The report in one of `FORMATS`: text, or the bytes of a PDF or an archive.

    Raises
    ------
    MissingPdfError
        A PDF was asked for, and Typst is not installed.
    """
    return FORMATS[suffix][0](report)


def write_atomically(path: Path, written: str | bytes) -> None:
    """Write beside the file and rename, so that nobody ever reads half of a report.

    Raises
    ------
    ReportError
        The folder does not exist, the path is a folder, or it cannot be written.
    """
    folder = path.parent
    if not folder.is_dir():
        raise ReportError(f"There is no folder {folder}; create it first.")
    if path.is_dir():
        raise ReportError(f"{path} is a folder; name a file.")
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    except OSError as error:
        raise ReportError(f"Cannot write to {folder}: {error.strerror}.") from None
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(written if isinstance(written, bytes) else written.encode("utf-8"))
        # mkstemp makes a file for its owner only; a report has the mode of any new file.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except OSError as error:
        raise ReportError(f"Cannot write {path}: {error.strerror}.") from None
    finally:
        temporary.unlink(missing_ok=True)

"""From content to a file: JSON, Markdown, HTML, LaTeX; of kinds other than pairs CSV too."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from metaeval.reports.content import canonical_json
from metaeval.reports.errors import ReportError
from metaeval.reports.html import html, is_of_kind
from metaeval.reports.kinds.latex import kind_latex
from metaeval.reports.kinds.markdown import kind_markdown
from metaeval.reports.kinds.tables import csv_text
from metaeval.reports.latex import latex
from metaeval.reports.markdown import markdown

# How a report is written, and the type of the file.
Formats = Mapping[str, tuple[Callable[[dict[str, Any]], str], str]]

_JSON = "application/json"
_MARKDOWN = "text/markdown; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_TEX = "application/x-tex; charset=utf-8"
FORMATS: Formats = {
    ".json": (canonical_json, _JSON),
    ".md": (markdown, _MARKDOWN),
    ".html": (html, _HTML),
    ".tex": (latex, _TEX),
}
KIND_FORMATS: Formats = {
    ".json": (canonical_json, _JSON),
    ".md": (kind_markdown, _MARKDOWN),
    ".html": (html, _HTML),
    ".tex": (kind_latex, _TEX),
    ".csv": (csv_text, "text/csv; charset=utf-8"),
}


def formats_of(kind: str) -> Formats:
    """The formats of a report on a kind."""
    return FORMATS if kind == "pairwise" else KIND_FORMATS


def format_of(path: Path, kind: str = "pairwise") -> str:
    """The format that a file's name asks for. Raises ReportError for any other."""
    suffix, formats = path.suffix.lower(), formats_of(kind)
    if suffix not in formats:
        raise ReportError(
            f"{path.name}: a report is written as {', '.join(formats)}, not as {suffix or 'no extension'}."
        )
    return suffix


def render(content: dict[str, Any], suffix: str) -> str:
    """The text of the report in a format of `formats_of` its kind."""
    return (KIND_FORMATS if is_of_kind(content) else FORMATS)[suffix][0](content)

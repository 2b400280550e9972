"""From content to a file: JSON, Markdown, HTML."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from metaeval.reports.content import canonical_json
from metaeval.reports.errors import ReportError
from metaeval.reports.html import html
from metaeval.reports.markdown import markdown

FORMATS: dict[str, tuple[Callable[[dict[str, Any]], str], str]] = {
    ".json": (canonical_json, "application/json"),
    ".md": (markdown, "text/markdown; charset=utf-8"),
    ".html": (html, "text/html; charset=utf-8"),
}


def format_of(path: Path) -> str:
    """The format that a file's name asks for. Raises ReportError for any other."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ReportError(
            f"{path.name}: a report is written as {', '.join(FORMATS)}, not as {suffix or 'no extension'}."
        )
    return suffix


def render(content: dict[str, Any], suffix: str) -> str:
    """The text of the report in a format of `FORMATS`."""
    return FORMATS[suffix][0](content)

"""The tables and figures of a paper as one PDF."""

import re
from typing import Any

from metaeval.papers.layout import table_parts, width_of
from metaeval.papers.paper import MadePaper
from metaeval.papers.tables import PaperTable
from metaeval.pictures.rendering import available, to_svg
from metaeval.reports.latex_text import head_lines
from metaeval.reports.typesetting import typeset
from web.version import software_version

# Characters that a line holds, upright and on a turned page.
_UPRIGHT, _TURNED = 112, 172
# The width in pixels at which a picture takes a whole line, and the height that a page has room for, in lines' widths.
_WHOLE, _TALLEST = 760, 1.15
_SIZE = re.compile(r'(width|height)="([0-9.]+)')


def paper_pdf(made: MadePaper) -> bytes:
    """Write all as one PDF. Raises MissingPdfError without Typst; without vl-convert there are no figures in it."""
    return typeset("paper.typ", _content(made))


def _content(made: MadePaper) -> dict[str, Any]:
    return {
        "title": made.paper.title,
        "citation": made.paper.citation,
        "subject": made.subject,
        "software": f"Touchstone {software_version()}",
        "inputs": [{"kind": kind, "inputs_hash": value} for kind, value in made.hashes.items()],
        "tables": [part for table in made.tables for part in _parts(table)],
        "figures": [
            {"title": one.title, "caption": one.description, "svg": svg, "width": _share(svg)}
            for one, svg in ((one, to_svg(one)) for one in (made.pictures if available() else ()))
        ],
        "missing": [{"title": part.title, "words": part.words} for part in made.missing],
    }


def _share(svg: str) -> int:
    """How much of a line a drawing takes, in percent."""
    size = {side: float(value) for side, value in _SIZE.findall(svg[: svg.index(">")])}
    if len(size) < 2:
        return 100
    return round(100 * min(1, size["width"] / _WHOLE, _TALLEST * size["width"] / size["height"]))


def _parts(table: PaperTable) -> list[dict[str, Any]]:
    """A table, turned where it is too wide for a page, and cut into parts where it is still too wide."""
    turned = width_of(table) > _UPRIGHT
    parts = table_parts(table, room=_TURNED if turned else _UPRIGHT)
    return [_drawn(part, turned=turned, last=part is parts[-1]) for part in parts]


def _drawn(table: PaperTable, *, turned: bool, last: bool) -> dict[str, Any]:
    return {
        "title": table.title,
        "caption": table.caption,
        "turned": turned,
        "words": list(table.words_in),
        "spans": [[{"text": text, "width": width} for text, width in line] for line in table.span_rows],
        "heads": [head_lines(head) for head in table.columns],
        "rows": [[{"text": cell.text, "bold": cell.best} for cell in row] for row in table.rows],
        "notes": list(table.notes) if last else [],
    }

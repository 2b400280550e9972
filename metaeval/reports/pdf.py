"""A report as PDF, set by Typst."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from metaeval.figures import KIND_LABELS
from metaeval.reports.figures import alike_of, range_text, value_text
from metaeval.reports.illustrations import illustrations
from metaeval.reports.markdown import facts_text
from metaeval.reports.methods import methods_section
from metaeval.reports.planned import PLANNED, PLANNED_HEADS, planned_rows
from metaeval.reports.replacement import HEADS, TITLE, replacement_words, replacements
from metaeval.reports.report import ReportContent
from metaeval.reports.tables import (
    BOLD,
    Cell,
    FigureTable,
    difference_unit,
    differences,
    group_tables,
    judges_table,
    people_table,
    people_tables,
    significant_best,
)
from metaeval.reports.typesetting import typeset
from metaeval.reports.words import simulated_words, verdict_of

_TEMPLATE = "report.typ"
_UPRIGHT, _TURNED = 6, 10
"""Columns of figures that a page has room for, upright and turned."""
_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([\d.]+) ([\d.]+)"')
_LINE = 660
"""The width of a line, in pixels of a drawing: its letters of 11 pixels are as large as those of a caption."""
_HIGHEST = 1.15
"""The height of a drawing that leaves room for its caption, in widths of the line."""
Json = dict[str, Any]


def pdf(report: ReportContent) -> bytes:
    """Write the report as PDF. Raises MissingPdfError without Typst."""
    return typeset(_TEMPLATE, pdf_content(report))


def pdf_content(report: ReportContent) -> Json:
    """All that the template sets, as plain JSON values."""
    found, written = verdict_of(report), methods_section(report)
    return {
        "title": report.about or report.name,
        "subject": f"{report.dataset['name']}, version {report.dataset['version']}",
        "facts": facts_text(report),
        "headline": found.headline,
        "sentences": list(found.sentences),
        "cautions": [*simulated_words(report), *found.cautions],
        "methods": list(written.prose),
        "references": [one.text for one in written.bibliography],
        "figures": [
            {"title": one.title, "description": one.description, "svg": svg, "width": _width(svg)}
            for one, svg, _ in illustrations(report)
        ],
        "tables": [part for table in _tables(report) for part in _parts(table)],
        "inputs_hash": report.inputs_hash,
        "software": f"{report.software['name'].title()} {report.software['version']}",
    }


def _width(svg: str) -> int:
    """The share of the line that a drawing takes, in percent: its letters are as large in all that fit, and none is
    higher than a page.
    """
    found = _SIZE.search(svg)
    if found is None:
        return 100
    width, height = float(found[1]), float(found[2])
    return int(min(100, 100 * width / _LINE, 100 * _HIGHEST * width / height))


def _tables(report: ReportContent) -> Iterator[Json]:
    if report.people.n_labels:
        yield _of_people(report)
        for table in people_tables(report):
            yield _grid(report, table, f"{table.title}.")
        yield from _of_each(report)
    if report.judges:
        yield _grid(report, judges_table(report), f"Judges. {BOLD}")
        yield from _replacements(report)
        yield from _differences(report)
        for table in group_tables(report):
            yield _grid(report, table, " ".join(filter(None, [f"{table.title}.", table.note])))
    rows = planned_rows(report.planned)
    if rows:
        yield _plain(PLANNED, PLANNED_HEADS, rows)


def _of_people(report: ReportContent) -> Json:
    rows = [
        {
            "name": one.label,
            "note": str(estimate.get("reason", "")) if estimate["value"] is None else "",
            "cells": [_cell(Cell(estimate, one)), _text(f"{estimate['n']:,}")],
        }
        for one, estimate in people_table(report)
    ]
    caption = f"Inter-annotator agreement, {KIND_LABELS[report.kind].lower()}. {report.figures.counted}"
    return {"caption": caption, "first": "Figure", "heads": ["Value", "n"], "rows": rows}


def _of_each(report: ReportContent) -> Iterator[Json]:
    one = report.figures.of_one_person
    rows = [
        {
            "name": str(row.number),
            "note": "simulated" if row.is_simulated else "",
            "cells": [
                _text(f"{row.n_labels:,}"),
                _cell(Cell(row.agreement, one)),
                _text(f"{row.agreement['n']:,}"),
            ],
        }
        for row in report.people.annotators
    ]
    if rows:
        heads = ["Labels", one.label, "Shared items"]
        caption = "Each annotator and the others. Annotators are numbered in the order of their first label."
        yield {"caption": caption, "first": "Annotator", "heads": heads, "rows": rows}


def _replacements(report: ReportContent) -> Iterator[Json]:
    rows = [
        {
            "name": row.name,
            "note": "",
            "cells": [
                _text(row.word),
                _text(f"{row.test['n_won']} of {row.test['n_tested']}"),
                _text(
                    value_text(row.test["advantage_probability"]),
                    range_text(row.test["advantage_probability"]),
                ),
            ],
        }
        for row in replacements(report)
    ]
    if rows:
        caption = " ".join([f"{TITLE}.", *replacement_words(report)])
        yield {"caption": caption, "first": HEADS[0], "heads": list(HEADS[1:]), "rows": rows}


def _differences(report: ReportContent) -> Iterator[Json]:
    unit = difference_unit(report)
    rows = [
        {
            "name": judge.name,
            "note": "",
            "cells": [
                _text(value_text(row, unit), range_text(row, unit)),
                _text(value_text({"value": row.get("share_better")})),
                _text("yes" if differs else "no"),
            ],
        }
        for judge, row, differs in differences(report)
    ]
    leader = report.selection.leader
    if rows and leader is not None:
        heads = ["Difference to the leader", "Confidence that the leader is ahead", "Significantly different"]
        caption = f"Paired differences to {report.judges[leader].name}."
        yield {"caption": caption, "first": "Judge", "heads": heads, "rows": rows}


def _grid(report: ReportContent, table: FigureTable, caption: str) -> Json:
    rows = []
    for row in table.rows:
        bold = significant_best(report, row.fingerprint) if row.fingerprint else frozenset()
        whole = table.figure is None
        rows.append(
            {
                "name": row.name,
                "note": "baseline" if row.status == "baseline" else "",
                "cells": [_cell(cell, bold=whole and cell.figure.name in bold) for cell in row.cells],
            }
        )
    return {"caption": caption, "first": table.first, "heads": list(table.heads), "rows": rows}


def _plain(caption: str, heads: tuple[str, ...], rows: Any) -> Json:
    lines = [{"name": first, "note": "", "cells": [_text(one) for one in rest]} for first, *rest in rows]
    return {"caption": f"{caption}.", "first": heads[0], "heads": list(heads[1:]), "rows": lines}


def _cell(cell: Cell, *, bold: bool = False) -> Json:
    unit = cell.figure.unit
    return _text(
        value_text(cell.estimate, unit),
        range_text(cell.estimate, unit),
        range_text(alike_of(cell.estimate), unit),
        bold=bold,
    )


def _text(value: str, ends: str = "", more: str = "", *, bold: bool = False) -> Json:
    return {"value": value, "ends": ends, "more": more, "bold": bold}


def _parts(table: Mapping[str, Any]) -> Iterator[Json]:
    """A table, turned where it is too wide for a page, and cut into parts where it is still too wide."""
    n = len(table["heads"])
    turned = n > _UPRIGHT
    most = _TURNED if turned else _UPRIGHT
    n_parts = max(1, -(-n // most))
    size = -(-n // n_parts)
    for part in range(n_parts):
        span = slice(part * size, (part + 1) * size)
        caption = table["caption"] + (f" Part {part + 1} of {n_parts}." if n_parts > 1 else "")
        yield {
            **table,
            "caption": caption,
            "turned": turned,
            "heads": table["heads"][span],
            # As wide as two columns, of few columns as wide as they.
            "first_width": 2.2 if n > 3 else 1.6,
            "rows": [row | {"cells": row["cells"][span]} for row in table["rows"]],
        }

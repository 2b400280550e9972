"""Figures of reports as cells of LaTeX tables, and what their captions say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metaeval.reports.figures import range_text, value_text
from metaeval.reports.latex_text import LatexTable, document, escape

Estimate = Mapping[str, Any]
# The name of a row, and its estimates with their units.
Figures = tuple[str, Sequence[tuple[Estimate | None, str]]]
_UNITS = {"percent": " (%)", "points": " (points)"}


def report_text(content: Mapping[str, Any], tables: Sequence[LatexTable]) -> str:
    """The whole file: where the tables come from, then the tables."""
    software = f"{content['software']['name'].title()} {content['software']['version']}"
    name = f"{content['name']}-{content['kind']}" if "kind" in content else content["name"]
    return document(name, content["dataset"]["title"], software, content["inputs_hash"], tables)


def caption(content: Mapping[str, Any], what: str, *notes: str) -> str:
    """What a table shows, what its intervals are, and the hash of what it was computed from."""
    options = content["options"]
    intervals = "No intervals were asked for."
    if options["n_resamples"]:
        intervals = (
            f"Intervals are at {100 * options['confidence']:g} %, from {options['n_resamples']:,} bootstrap resamples "
            "of instructions."
        )
    about = content["study"]["title"] if content["study"] else content["dataset"]["title"]
    inputs = f"Inputs {content['inputs_hash'][:12]}."
    return " ".join(escape(part) for part in (f"{what}: {about}.", *notes, intervals, inputs))


def with_unit(label: str, unit: str) -> str:
    """What heads figures that stand without their unit."""
    return escape(label + _UNITS.get(unit, ""))


def listed(key: str, words: str, rows: Sequence[tuple[str, str, Estimate]]) -> LatexTable:
    """A line a figure, from its label, unit and estimate: value, interval, n."""
    lines = tuple(
        (
            with_unit(label, unit),
            value_cell(estimate, unit),
            ends_cell(estimate, unit) or "--",
            f"{estimate['n']:,}",
        )
        for label, unit, estimate in rows
    )
    return LatexTable(key, words, "Figure", ("Value", "Interval", "n"), lines)


def grid(
    key: str, words: str, first: str, heads: Sequence[str], rows: Sequence[Figures], *, counts: bool = False
) -> LatexTable:
    """A line a row with its intervals below; heads are escaped already. ``counts``: each row's first figure's n too."""
    lines, below = [], []
    for name, cells in rows:
        n = [f"{cells[0][0]['n']:,}" if cells[0][0] is not None else "--"] if counts else []
        lines.append((escape(name), *n, *(value_cell(estimate, unit) for estimate, unit in cells)))
        below.append(tuple([""] * len(n) + [ends_cell(estimate, unit) for estimate, unit in cells]))
    heads = (*(["n"] if counts else []), *heads)
    return LatexTable(key, words, escape(first), tuple(heads), tuple(lines), tuple(below))


def value_cell(estimate: Estimate | None, unit: str) -> str:
    """The value without its unit; a dash where it is undefined."""
    return escape(value_text(estimate, unit, sign=False))


def ends_cell(estimate: Estimate | None, unit: str) -> str:
    """The interval, "63.1 to 68.2"; empty where there is none."""
    return escape(range_text(estimate, unit))

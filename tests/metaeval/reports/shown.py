"""What is shown of a report as it was stored: its words, tables and files, for tests that hold its JSON."""

from typing import Any

from metaeval.reports import methods as _methods
from metaeval.reports import render as _render
from metaeval.reports import replacement as _replacement
from metaeval.reports import tables as _tables
from metaeval.reports import words as _words
from metaeval.reports.report import report_of
from metaeval.reports.verdict import VerdictText


def verdict_of(content: dict[str, Any], primary: str = "") -> VerdictText:
    return _words.verdict_of(report_of(content), primary)


def render(content: dict[str, Any], suffix: str) -> str:
    return _render.render(report_of(content), suffix)


def methods(content: dict[str, Any]) -> list[str]:
    return _methods.methods(report_of(content))


def replacements(content: dict[str, Any]) -> list[Any]:
    return _replacement.replacements(report_of(content))


def main_table(content: dict[str, Any]) -> _tables.FigureTable:
    return _tables.judges_table(report_of(content))


def group_tables(content: dict[str, Any]) -> list[_tables.FigureTable]:
    return _tables.group_tables(report_of(content))


def differences(content: dict[str, Any]) -> list[Any]:
    return _tables.differences(report_of(content))


def csv_text(content: dict[str, Any]) -> str:
    return _tables.report_csv(report_of(content))

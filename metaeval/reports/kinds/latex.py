"""A report on a kind as LaTeX: people's agreement, person by person, and the judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metaeval.reports.kinds import tables
from metaeval.reports.kinds.measures import CHECKLIST, KIND_LABELS, OF_ONE_PERSON, OF_RESPONSES, RUBRIC
from metaeval.reports.latex_figures import (
    caption,
    ends_cell,
    grid,
    listed,
    report_text,
    value_cell,
    with_unit,
)
from metaeval.reports.latex_text import LatexTable, escape
from metaeval.reports.words import simulated_words

Content = Mapping[str, Any]


def kind_latex(content: dict[str, Any]) -> str:
    r"""Write the report as LaTeX tables, to be taken into a paper with \input. They need the package booktabs."""
    return report_text(content, [*_people(content), *_judges(content)])


def counted_words(kind: str) -> str:
    """What n counts."""
    if kind == RUBRIC:
        return "n counts items; of alpha over all criteria, items times criteria."
    return "n counts items; of alpha, questions." if kind == CHECKLIST else "n counts items."


def _people(content: Content) -> list[LatexTable]:
    if not content["people"]["n_labels"]:
        return []
    *notes, counted = _notes(content)
    label = KIND_LABELS[content["kind"]].lower()
    rows = [(info.label, info.unit, estimate) for info, estimate in tables.people_figures(content)]
    found = [listed("people", caption(content, f"Agreement of people, {label}", *notes, counted), rows)]
    for table in tables.people_tables(content):
        axis = table.key.removeprefix("people-")
        words = caption(content, f"Agreement of people by {axis}, {label}", *notes, counted)
        found.append(_grid(table, words, axis.title()))
    info = OF_ONE_PERSON[content["kind"]]
    people = tuple(
        (
            str(row["number"]),
            f"{row['n_labels']:,}",
            value_cell(row["agreement"], info.unit),
            ends_cell(row["agreement"], info.unit) or "--",
            f"{row['agreement']['n']:,}",
        )
        for row in content["people"]["annotators"]
    )
    words = caption(
        content, f"Each person and the others, {label}", *notes, "n counts items shared with others."
    )
    heads = ("Labels", with_unit(info.label, info.unit), "Interval", "n")
    return [*found, LatexTable("annotators", words, "Person", heads, people)]


def _judges(content: Content) -> list[LatexTable]:
    if not content["judges"]:
        return []
    info, notes = tables.primary_info(content), _notes(content)
    against = "people" if content["options"]["against"] == "people" else "gold answers"
    ranked = content["selection"]["leader"] is not None
    words = caption(content, f"Judges by {info.label} against {against}" if ranked else "Judges", *notes)
    found = [_grid(tables.main_table(content, of_judges=True), words, "Judge", key="judges", counts=True)]
    for table in tables.group_tables(content, of_judges=True):
        # The rest stands in the other formats: a paper has room for the figure that ranks, and for what was measured.
        if table.key.rpartition("-")[0] in (info.key, OF_RESPONSES.get(content["kind"])):
            words = caption(content, f"Judges against {against}: {table.title}", *notes)
            found.append(_grid(table, words, "Judge", key=f"judges-{table.key.replace('_', '-')}"))
    return found


def _grid(
    table: tables.KindTable, words: str, first: str, *, key: str = "", counts: bool = False
) -> LatexTable:
    rows = [(row.name, [(cell.estimate, cell.info.unit) for cell in row.cells]) for row in table.rows]
    infos = [cell.info for cell in table.rows[0].cells] if table.rows else []
    # Heads are the names of the figures, or of groups in which all cells are the same figure.
    same = len({info.key for info in infos}) == 1 and len(infos) > 1
    heads = [
        escape(head) if same else with_unit(head, info.unit)
        for head, info in zip(table.heads, infos, strict=True)
    ]
    return grid(key or table.key, words, first, heads, rows, counts=counts)


def _notes(content: Content) -> list[str]:
    people = content["people"]
    return [
        f"{tables.labels_words(people)}.".capitalize(),
        *simulated_words({"humans": people}),
        counted_words(content["kind"]),
    ]

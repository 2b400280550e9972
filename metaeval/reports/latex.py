"""A report as LaTeX: inter-annotator agreement, annotator by annotator, and the judges."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from annotation.kinds import DEFAULT_KIND
from metaeval.figures import KIND_LABELS, Figure
from metaeval.reports.citations import bibtex
from metaeval.reports.figures import ALIKE, THESE, alike_of, range_text, value_text
from metaeval.reports.latex_text import OTHER_SCRIPT, LatexTable, document, escape, row_name
from metaeval.reports.methods import methods_section
from metaeval.reports.pictures import report_pictures
from metaeval.reports.planned import PLANNED, PLANNED_HEADS, planned_rows, planned_source
from metaeval.reports.replacement import HEADS, TITLE, replacement_words, replacements
from metaeval.reports.report import ReportContent
from metaeval.reports.tables import (
    BOLD,
    Cell,
    FigureTable,
    group_tables,
    has_alike,
    judges_table,
    labels_words,
    people_table,
    people_tables,
    published_tables,
    significant_best,
)
from metaeval.reports.words import simulated_words

Estimate = Mapping[str, Any]
_UNITS = {"percent": " (%)", "points": " (points)"}


def latex(report: ReportContent) -> str:
    r"""Write the report as LaTeX, to be taken into a paper with \input: the methods with what they cite, then tables.

    They need the package booktabs, graphicx to be no wider than the page, and `bibliography` for the citations.
    """
    software = f"{report.software['name'].title()} {report.software['version']}"
    name = report.name if report.kind == DEFAULT_KIND else f"{report.name}-{report.kind}"
    tables = [*_people(report), *_judges(report), *_replacements(report), *_planned(report)]
    return document(name, report.dataset["title"], software, report.inputs_hash, tables, _methods(report))


def bibliography(report: ReportContent) -> str:
    """What the methods cite, as BibTeX."""
    return bibtex(methods_section(report).bibliography)


def paper(report: ReportContent, figures: Sequence[str]) -> str:
    """A whole document that compiles as it is, beside `report.tex`, `report.bib` and these files of figures."""
    titles = {one.name: one for one in report_pictures(report)}
    lines = [
        r"% pdflatex paper; bibtex paper; pdflatex paper; pdflatex paper. LuaLaTeX and XeLaTeX print every script.",
        r"\ifdefined\pdfminorversion\pdfminorversion=7\fi",
        r"\documentclass{article}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{booktabs,graphicx}",
        OTHER_SCRIPT,
        r"\begin{document}",
        rf"\title{{{escape(report.dataset['title'] or report.name)}}}",
        r"\author{}\date{}\maketitle",
    ]
    for name in figures:
        picture = titles[PurePosixPath(name).stem]
        lines += [
            r"\begin{figure}[htbp]",
            rf"\centering\includegraphics[width=\linewidth,height=.8\textheight,keepaspectratio]{{{name}}}",
            rf"\caption{{{escape(f'{picture.title}. {picture.description}')}}}",
            r"\end{figure}",
        ]
    lines += [
        r"\appendix",
        r"\section{Agreement report}",
        r"\input{report}",
        r"\clearpage",
        r"\bibliographystyle{plain}",
        r"\bibliography{report}",
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"


def _methods(report: ReportContent) -> Iterator[str]:
    r"""The methods in paragraphs, with \cite before each full stop."""
    for place, paragraph in enumerate(methods_section(report).paragraphs):
        sentences = (
            escape(text) if not cites else rf"{escape(text[:-1])}~\cite{{{','.join(cites)}}}{text[-1]}"
            for text, cites in paragraph
        )
        words = " ".join(sentences)
        yield (r"\paragraph{Methods.} " if place == 0 else "") + words


def _people(report: ReportContent) -> list[LatexTable]:
    if not report.people.n_labels:
        return []
    *notes, counted = _notes(report)
    label = KIND_LABELS[report.kind].lower()
    both = has_alike(report)
    lines = tuple(
        (
            *(with_unit(one), _value(estimate, one), _ends(estimate, one) or "--"),
            *([_ends(alike_of(estimate), one) or "--"] if both else []),
            f"{estimate['n']:,}",
        )
        for one, estimate in people_table(report)
    )
    words = _caption(report, f"Inter-annotator agreement, {label}", *notes, counted)
    heads: tuple[str, ...] = ("Value", *((THESE, ALIKE) if both else ("Interval",)), "n")
    found = [LatexTable("people", words, "Figure", heads, lines)]
    for table in people_tables(report):
        words = _caption(
            report, f"Inter-annotator agreement by {table.first.lower()}, {label}", *notes, counted
        )
        found.append(_grid(report, table, words, counts=True))
    one = report.figures.of_one_person
    if not report.people.annotators:
        return found
    rows = tuple(
        (
            str(row.number),
            f"{row.n_labels:,}",
            _value(row.agreement, one),
            _ends(row.agreement, one) or "--",
            f"{row.agreement['n']:,}",
        )
        for row in report.people.annotators
    )
    words = _caption(
        report, f"Each annotator and the others, {label}", *notes, "n counts items shared with others."
    )
    heads = ("Labels", with_unit(one), "Interval", "n")
    return [*found, LatexTable("annotators", words, "Annotator", heads, rows)]


def _judges(report: ReportContent) -> list[LatexTable]:
    if not report.judges:
        return []
    primary, notes = report.primary_figure, _notes(report)
    against = "human annotators" if report.against == "people" else "gold answers"
    ranked = (
        f"Judges by {primary.label} against {against}" if report.selection.leader is not None else "Judges"
    )
    found = [_grid(report, judges_table(report), _caption(report, ranked, BOLD, *notes), counts=True)]
    # The rest stands in the other formats: a paper has room for the figure that ranks, for positional agreement by
    # subset, as in the tables of LLMBar, for what was measured of the responses, and for the figures of the paper that
    # was asked for.
    published = [table.key for table in published_tables(report)]
    room = (primary.name, "positional_agreement", report.figures.of_responses)
    return found + [
        _grid(report, table, _caption(report, f"Judges: {table.title}", *notes, *filter(None, [table.note])))
        for table in group_tables(report)
        if table.key in published or (table.figure is not None and table.figure.name in room)
    ]


def _replacements(report: ReportContent) -> list[LatexTable]:
    rows = replacements(report)
    if not rows:
        return []
    lines = tuple(
        (
            row_name(row.name),
            escape(row.word),
            f"{row.test['n_won']} of {row.test['n_tested']}",
            escape(value_text(row.test["advantage_probability"], sign=False)),
        )
        for row in rows
    )
    words = _caption(report, TITLE, *replacement_words(report), *simulated_words(report))
    heads = (*HEADS[1:3], escape(f"{HEADS[3]} (%)"))
    return [LatexTable("replacement", words, HEADS[0], heads, lines)]


def _planned(report: ReportContent) -> list[LatexTable]:
    rows = tuple(tuple(map(escape, row)) for row in planned_rows(report.planned))
    if not rows:
        return []
    words = _caption(report, PLANNED, f"{planned_source(report.planned)}.")
    return [LatexTable("planned", words, "What", PLANNED_HEADS[1:], rows)]


def _caption(report: ReportContent, what: str, *notes: str) -> str:
    """What a table shows, what its intervals are, and the hash of what it was computed from."""
    options = report.options
    intervals = "No intervals were asked for."
    if options["n_resamples"]:
        intervals = (
            f"Intervals are at {100 * options['confidence']:g}%, from {options['n_resamples']:,} bootstrap resamples "
            "of instructions."
        )
        if has_alike(report):
            intervals += " Where there are two, the second is of annotators like these."
    inputs = f"Inputs {report.inputs_hash[:12]}."
    return " ".join(escape(part) for part in (f"{what}: {report.about}.", *notes, intervals, inputs))


def _grid(report: ReportContent, table: FigureTable, words: str, *, counts: bool = False) -> LatexTable:
    """A line a row with its intervals below. ``counts``: each row's first figure's n too."""
    lines, below = [], []
    for row in table.rows:
        first = row.cells[0].estimate
        n = [f"{first['n']:,}" if first is not None else "--"] if counts else []
        name = row.name + (" (baseline)" if row.status == "baseline" else "")
        # Only what was tested is marked, and that is the figures of all items.
        best = significant_best(report, row.fingerprint) if row.fingerprint and table.figure is None else ()
        lines.append((row_name(name), *n, *(_marked(cell, cell.figure.name in best) for cell in row.cells)))
        ends = [
            " ".join(
                filter(None, (_ends(one, cell.figure) for one in (cell.estimate, alike_of(cell.estimate))))
            )
            for cell in row.cells
        ]
        below.append(tuple([""] * len(n) + ends))
    # Heads are the names of the figures, or of groups in which all cells are the same figure.
    heads = [escape(head) for head in table.heads]
    if table.figure is None:
        units = [_UNITS.get(one.unit, "") for one in table.figures]
        heads = [escape(head + unit) for head, unit in zip(table.heads, units, strict=True)]
    heads = [*(["n"] if counts else []), *heads]
    return LatexTable(table.key, words, escape(table.first), tuple(heads), tuple(lines), tuple(below))


def _notes(report: ReportContent) -> list[str]:
    labels = labels_words(report)
    return [f"{labels[0].upper()}{labels[1:]}.", *simulated_words(report), report.figures.counted]


def with_unit(figure: Figure) -> str:
    """What heads figures that stand without their unit."""
    return escape(figure.label + _UNITS.get(figure.unit, ""))


def _marked(cell: Cell, best: bool) -> str:
    text = _value(cell.estimate, cell.figure)
    return rf"\textbf{{{text}}}" if best else text


def _value(estimate: Estimate | None, figure: Figure) -> str:
    """The value without its unit; a dash where it is undefined."""
    return escape(value_text(estimate, figure.unit, sign=False))


def _ends(estimate: Estimate | None, figure: Figure) -> str:
    """The interval, "[63.1, 68.2]"; empty where there is none."""
    return escape(range_text(estimate, figure.unit))

"""A table in a paper's own layout, written as Markdown, LaTeX, CSV and JSON by one renderer each."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metaeval.reports.json_values import json_of
from metaeval.reports.latex_text import escape
from metaeval.reports.markdown import plain_text, table_text
from metaeval.reports.report import canonical_json
from web.csv_text import csv_text

SCHEMA = "touchstone.paper-table/1"
UNDEFINED = "–"
MINUS = "−"


@dataclass(frozen=True, slots=True)
class PaperCell:
    """What stands in a cell, and the number behind it on the scale of the table; None: there is no number.

    `best` is a value that the paper marks: bold in LaTeX, Markdown and on the page.
    """

    text: str
    value: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table of a paper, made from our data.

    Attributes
    ----------
    name : str
        Of its files: "t2-gpt-4".
    title : str
        As the paper numbers it: "Table 2: GPT-4".
    caption : str
        What it shows and how, in a sentence or two.
    columns : tuple of str
        Heads; the first is of the names of the rows.
    rows : tuple of tuple of PaperCell
        As many cells as columns.
    notes : tuple of str
        What is missing or departs from the paper, and why.
    spans : tuple of (str, int)
        Heads above the heads, each over so many columns, from the second column on; empty text: none there.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PaperCell, ...], ...]
    notes: tuple[str, ...] = ()
    spans: tuple[tuple[str, int], ...] = ()

    @property
    def all_spans(self) -> tuple[tuple[str, int], ...]:
        """The heads above, over all columns but the first."""
        rest = len(self.columns) - 1 - sum(width for _, width in self.spans)
        return (*self.spans, ("", rest)) if self.spans and rest else self.spans

    @property
    def flat_columns(self) -> tuple[str, ...]:
        """The heads with those above them: "Natural Acc."."""
        above = [text for text, width in self.all_spans for _ in range(width)] or [""] * (
            len(self.columns) - 1
        )
        first, *others = self.columns
        return (first, *(f"{over} {head}".strip() for over, head in zip(above, others, strict=True)))


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A table or a figure of a paper that cannot be made from this data, and why."""

    name: str
    title: str
    reason: str


def slug(name: str) -> str:
    """A name as a part of a file's name: lower-case ASCII letters and digits, single hyphens.

    Examples
    --------
    >>> slug("meta-llama/Llama 3.1"), slug("評価")
    ('meta-llama-llama-3-1', 'unnamed')
    """
    kept = "".join(sign if sign.isalnum() and sign.isascii() else " " for sign in name.lower())
    return "-".join(kept.split())[:60].rstrip("-") or "unnamed"


def word_cell(text: object) -> PaperCell:
    """A cell of words: a name, a count as text."""
    return PaperCell(str(text))


def count_cell(value: int) -> PaperCell:
    """A count with its thousands: "1,752"."""
    return PaperCell(f"{value:,}", float(value))


def number_cell(
    value: float | None, digits: int = 1, *, percent: bool = True, sign: bool = False, best: bool = False
) -> PaperCell:
    """A number with a fixed number of digits; a share is in percent. A dash where it is undefined.

    Examples
    --------
    >>> number_cell(0.9351).text, number_cell(None).text, number_cell(-0.03, 2, percent=False, sign=True).text
    ('93.5', '–', '−0.03')
    """
    if value is None or math.isnan(value):
        return PaperCell(UNDEFINED)
    scaled = 100 * value if percent else value
    text = f"{abs(scaled):,.{digits}f}"
    negative = scaled < 0 and any(digit not in "0.," for digit in text)
    return PaperCell((MINUS if negative else "+" if sign else "") + text, scaled, best)


def with_best_marked(
    rows: Sequence[Sequence[PaperCell]], among: Sequence[int] | None = None, *, lowest: bool = False
) -> tuple[tuple[PaperCell, ...], ...]:
    """The same rows with the best of each column marked, among the rows at these places; equal texts share it."""
    table = [list(row) for row in rows]
    places = range(len(table)) if among is None else among
    for column in range(max(map(len, table), default=0)):
        known = [(table[row][column].value, row) for row in places if table[row][column].value is not None]
        if not known:
            continue
        best = (min if lowest else max)(known, key=lambda entry: entry[0] or 0.0)[1]
        wanted = table[best][column].text
        for _, row in known:
            if table[row][column].text == wanted:
                table[row][column] = PaperCell(wanted, table[row][column].value, best=True)
    return tuple(tuple(row) for row in table)


# --- files ----------------------------------------------------------------------------------------------------------


def table_markdown(table: PaperTable) -> str:
    """Title, caption, the table, notes."""

    rows = [
        [f"**{plain_text(cell.text)}**" if cell.best else plain_text(cell.text) for cell in row]
        for row in table.rows
    ]
    heads = tuple(map(plain_text, table.flat_columns))
    parts = [
        f"# {plain_text(table.title)}",
        plain_text(table.caption),
        table_text(heads, rows, right=1),
        "\n".join(f"- {plain_text(note)}" for note in table.notes),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def table_latex(table: PaperTable) -> str:
    """A float with booktabs, no wider than the line; needs graphicx too."""
    n = len(table.columns)
    lines = [
        f"% {escape(table.title)}",
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        *(f"% {escape(note)}" for note in table.notes),
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{escape(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{l{'r' * (n - 1)}}}",
        r"\toprule",
    ]
    if table.spans:
        lines += _spans(table)
    lines += [_latex_line(map(escape, table.columns)), r"\midrule"]
    lines += [
        _latex_line(rf"\textbf{{{escape(cell.text)}}}" if cell.best else escape(cell.text) for cell in row)
        for row in table.rows
    ]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}"]) + "\n"


def _spans(table: PaperTable) -> list[str]:
    cells, rules, column = [""], [], 2
    for text, width in table.all_spans:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(text)}}}")
        if text:
            rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [_latex_line(cells), "".join(rules)]


def _latex_line(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


def table_csv(table: PaperTable) -> str:
    """Numbers as they were computed, on the scale of the table; words where there is no number."""
    rows = ([cell.text if cell.value is None else cell.value for cell in row] for row in table.rows)
    blank = ([None if cell == UNDEFINED else cell for cell in row] for row in rows)
    return csv_text(table.flat_columns, blank)


def table_json(table: PaperTable) -> str:
    """Everything, as canonical JSON."""
    return canonical_json(json_of({"schema": SCHEMA} | asdict(table)))


TABLE_FORMATS: Mapping[str, Callable[[PaperTable], str]] = {
    ".tex": table_latex,
    ".md": table_markdown,
    ".csv": table_csv,
    ".json": table_json,
}

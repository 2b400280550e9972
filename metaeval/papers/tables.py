"""A table in a paper's own layout, written as Markdown, CSV and JSON by one renderer each; LaTeX is `latex`."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from metaeval.reports.json_values import json_of
from metaeval.reports.markdown import plain_text, table_text
from metaeval.reports.report import canonical_json
from web.csv_text import csv_text

SCHEMA = "touchstone.paper-table/1"
UNDEFINED = "–"
MINUS = "−"
Span = tuple[str, int]
"""A head over so many columns; empty text: none there."""


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
    upper_spans : tuple of (str, int)
        Heads above `spans`, likewise.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[PaperCell, ...], ...]
    notes: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    upper_spans: tuple[Span, ...] = ()

    @property
    def span_rows(self) -> tuple[tuple[Span, ...], ...]:
        """The lines of heads above the heads, the uppermost first, each over all columns but the first."""
        lines = (self.upper_spans, self.spans)
        return tuple((*line, *self._rest(line)) for line in lines if line)

    def _rest(self, line: Sequence[Span]) -> tuple[Span, ...]:
        rest = len(self.columns) - 1 - sum(width for _, width in line)
        return (("", rest),) if rest else ()

    @property
    def flat_columns(self) -> tuple[str, ...]:
        """The heads with those above them: "Adversarial: Neighbor Acc."."""
        above = [[text for text, width in line for _ in range(width)] for line in self.span_rows]
        first, *others = self.columns
        over = [": ".join(filter(None, words)) for words in zip(*above, strict=True)] or [""] * len(others)
        return (first, *(f"{words} {head}".strip() for words, head in zip(over, others, strict=True)))

    @property
    def words_in(self) -> tuple[bool, ...]:
        """Of each column whether it holds words and no number: such columns are set from the left."""
        cells = zip(*self.rows, strict=True) if self.rows else (() for _ in self.columns)
        return tuple(
            place == 0 or any(cell.value is None and cell.text != UNDEFINED for cell in column)
            for place, column in enumerate(cells)
        )

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Each head, and whether its column holds words."""
        return list(zip(self.columns, self.words_in, strict=True))

    @property
    def lines(self) -> list[list[tuple[PaperCell, bool]]]:
        """The cells of each row, and whether their column holds words."""
        return [list(zip(row, self.words_in, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class MissingPart:
    """A table or a figure of a paper that cannot be made from this data.

    Attributes
    ----------
    name, title : str
    reason : str
        What the data lacks, in a sentence.
    bring : str
        What to add, and how, in a sentence or two.
    """

    name: str
    title: str
    reason: str
    bring: str = ""

    @property
    def words(self) -> str:
        """Why it is missing and what to bring."""
        return f"{self.reason} {self.bring}".strip()


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


def table_csv(table: PaperTable) -> str:
    """Numbers as they were computed, on the scale of the table; words where there is no number."""
    rows = ([cell.text if cell.value is None else cell.value for cell in row] for row in table.rows)
    blank = ([None if cell == UNDEFINED else cell for cell in row] for row in rows)
    return csv_text(table.flat_columns, blank)


def table_json(table: PaperTable) -> str:
    """Everything, as canonical JSON."""
    return canonical_json(json_of({"schema": SCHEMA} | asdict(table)))

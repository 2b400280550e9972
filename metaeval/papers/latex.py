"""Tables of a paper as LaTeX floats with booktabs, and a document of all of them that compiles as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence

from metaeval.papers.layout import LONG, table_parts
from metaeval.papers.paper import MadePaper
from metaeval.papers.tables import PaperCell, PaperTable, Span
from metaeval.reports.latex_text import FITTED, LONG_NAME, OTHER_SCRIPT, escape, head, row_name

# What a page of A4 with small margins holds of small type, a fifth of it shrunk away.
_ROOM, _MOST_ROWS = 125, 42
# LaTeX keeps so many floats that it has found no place for, and more are an error.
_FLOATS = 12


_NUMBERED = re.compile(r"(As )?((?:table|figure)s? [^:]+): (.+)", re.IGNORECASE)
# No taller than a page with its caption.
_ON_PAGE = (
    r"\providecommand{\onpage}[1]{"
    r"\resizebox{!}{\ifdim\height>0.8\textheight0.8\textheight\else\height\fi}{#1}}"
)


def _own(title: str) -> str:
    """A title behind a number of your document: the paper's own number follows.

    Examples
    --------
    >>> _own("Table 2: GPT-4"), _own("As table 2: Claude"), _own("Cost of judges")
    ("GPT-4 (the paper's table 2)", "Claude (as the paper's table 2)", 'Cost of judges')
    """
    found = _NUMBERED.fullmatch(title)
    if found is None:
        return title
    words = f"{found[3][0].upper()}{found[3][1:]}"
    return f"{words} ({'as ' if found[1] else ''}the paper's {found[2].lower()})"


def table_latex(table: PaperTable) -> str:
    r"""A float for \input; several of a table that is too wide or too long for a page. Needs booktabs and graphicx.

    `\fitted` makes a table that is wider than the line as wide as the line.
    """
    lines = [
        f"% {escape(table.title)}",
        r"% Needs \usepackage{booktabs} and \usepackage{graphicx}.",
        *(f"% {escape(note)}" for note in table.notes),
        OTHER_SCRIPT,
        FITTED,
        LONG_NAME,
    ]
    parts = table_parts(table, room=_ROOM, most_rows=_MOST_ROWS)
    return "\n".join([*lines, *(line for part in parts for line in _float(part))]) + "\n"


def _float(table: PaperTable) -> Iterator[str]:
    align = "".join("l" if words else "r" for words in table.words_in)
    yield from (
        r"\begin{table}[htbp]",
        r"\centering",
        r"\small",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{escape(f'{_own(table.title)}. {table.caption}')}}}",
        rf"\label{{tab:{table.name}}}",
        r"\fitted{%",
        rf"\begin{{tabular}}{{{align}}}",
        r"\toprule",
    )
    for line in table.span_rows:
        yield from _spans(line)
    yield _line(head(escape(text), "l" if words else "r") for text, words in table.heads)
    yield r"\midrule"
    for row in table.rows:
        yield _line(map(_cell, row))
    yield from (r"\bottomrule", r"\end{tabular}", "}", r"\end{table}")


def _cell(cell: PaperCell) -> str:
    text = row_name(cell.text) if len(cell.text) > LONG else escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.best else text


def _spans(line: Iterable[Span]) -> list[str]:
    cells, rules, column = [""], [], 2
    for text, width in line:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape(text)}}}")
        if text:
            rules.append(rf"\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [_line(cells), "".join(rules)]


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def paper_latex(made: MadePaper, figures: Sequence[str]) -> str:
    """A whole document, beside the files of the tables and these files of figures, by the names of the pictures."""
    lines = [
        "% pdflatex paper. LuaLaTeX and XeLaTeX print every script.",
        r"\ifdefined\pdfminorversion\pdfminorversion=7\fi",
        r"\documentclass{article}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{booktabs,graphicx}",
        OTHER_SCRIPT,
        FITTED,
        _ON_PAGE,
        r"\begin{document}",
        rf"\title{{{escape(made.paper.title)}: {escape(made.subject)}}}",
        r"\author{}\date{}\maketitle",
        rf"\noindent Tables and figures in the layout of {escape(made.paper.citation)}.",
    ]
    floats = [*(rf"\input{{{table.name}}}" for table in made.tables), *_figures(made, figures)]
    for place, one in enumerate(floats, start=1):
        lines += [one] if place % _FLOATS else [one, r"\clearpage"]
    if made.missing:
        lines += [r"\clearpage", r"\section*{Not in this data}", r"\begin{itemize}"]
        lines += [rf"\item \textbf{{{escape(part.title)}.}} {escape(part.words)}" for part in made.missing]
        lines.append(r"\end{itemize}")
    return "\n".join([*lines, r"\end{document}"]) + "\n"


def _figures(made: MadePaper, names: Sequence[str]) -> Iterator[str]:
    for picture in made.pictures:
        if picture.name in names:
            yield "\n".join(
                (
                    r"\begin{figure}[htbp]",
                    rf"\centering\fitted{{\onpage{{\includegraphics[scale=0.8]{{{picture.name}.pdf}}}}}}",
                    rf"\caption{{{escape(f'{_own(picture.title)}. {picture.description}')}}}",
                    r"\end{figure}",
                )
            )

"""LaTeX of reports: text of others as plain text, heads of columns, floats with booktabs tables."""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

Row = Sequence[str]

# What means something to LaTeX, or joins with its neighbour, and signs that pdfLaTeX has no letter for. Brackets and
# stars mean something at the start of a row, where they would be an option of the line break before.
_SIGNS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "`": "{`}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "−": "$-$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "«": r"$\ll$",
    "»": r"$\gg$",
}
# Letters with accents and the like that pdfLaTeX has in its own font, whatever the document loads.
_UNKNOWN_LATIN = {
    *(
        0xAB,
        0xBB,
        0xD0,
        0xDE,
        0xF0,
        0xFE,
        0x104,
        0x105,
        0x110,
        0x111,
        0x118,
        0x119,
        0x126,
        0x127,
        0x12E,
        0x12F,
    ),
    *(0x138, 0x13F, 0x140, 0x149, 0x14A, 0x14B, 0x166, 0x167, 0x172, 0x173, 0x17F),
}
_LATIN = ({*range(0xA1, 0x180), *range(0x218, 0x21C), 0x20AC} - _UNKNOWN_LATIN) | set(range(0x20, 0x7F))
OTHER_SCRIPT = r"\providecommand{\otherscript}[2]{\ifdefined\Umathchar#1\else\texttt{#2}\fi}"
"""Letters that pdfLaTeX has none of: as they are with XeLaTeX and LuaLaTeX, by their numbers with pdfLaTeX."""
FITTED = (
    r"\providecommand{\fitted}[1]{\ifdefined\resizebox"
    r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{#1}\else#1\fi}"
)
"""A table that is wider than the line is made as wide as it, where the document has graphicx."""
LONG_NAME = r"\providecommand{\longname}[1]{\parbox[t]{0.32\linewidth}{\raggedright#1\strut}}"
"""The name of a row in several lines."""
_LONG_NAME, _LONG_WORD, _PIECE = 36, 30, 8
_DROPPED = ("Cc", "Cf", "Cs", "Co")  # control, format, lone surrogates, private use
_HEAD_WIDTH = 14
_MOST_COLUMNS = 6
_MOST_LINES = 50
_MOST_PARTS = 24


def escape(text: str) -> str:
    """Text of others as plain LaTeX text: one line, and nothing in it means anything.

    Control and format characters are dropped. Letters that pdfLaTeX does not know go through `OTHER_SCRIPT`, so that
    every compiler takes them: XeLaTeX and LuaLaTeX print them, pdfLaTeX prints their numbers.

    Examples
    --------
    >>> print(escape("50% of {A} & B_1"))
    50\\% of \\{A\\} \\& B\\_1
    >>> print(escape("a--b [2pt]"))
    a-{}-b {[}2pt{]}
    >>> print(escape("é жи"))
    é \\otherscript{жи}{0436.0438}
    """
    flat = unicodedata.normalize("NFC", " ".join(text.split()))
    kept = "".join(sign for sign in flat if unicodedata.category(sign) not in _DROPPED)
    return " ".join(r"\allowbreak{}".join(map(_escaped, _pieces(word))) for word in kept.split(" "))


def row_name(text: str) -> str:
    r"""The name of a row: a long one in several lines.

    Examples
    --------
    >>> print(row_name("GPT-4"))
    GPT-4
    >>> print(row_name("a judge whose name says all that it does"))
    \longname{a judge whose name says all that it does}
    """
    return rf"\longname{{{escape(text)}}}" if len(text) > _LONG_NAME else escape(text)


def _pieces(word: str) -> list[str]:
    """A long word in parts between which a line may break: after a sign, and where there is none for long."""
    if len(word) <= _LONG_WORD:
        return [word]
    return re.findall(rf".{{0,{_PIECE - 1}}}[/_.:-]|.{{1,{_PIECE}}}", word)


def _escaped(text: str) -> str:
    return "".join(_run(known, "".join(run)) for known, run in groupby(text, _is_known))


def _is_known(sign: str) -> bool:
    return sign in _SIGNS or ord(sign) in _LATIN


def _run(known: bool, text: str) -> str:
    """Signs that pdfLaTeX has, or some that it has not."""
    if known:
        return re.sub(r"(-(?=-))|.", _sign, text)
    return rf"\otherscript{{{text}}}{{{'.'.join(f'{ord(sign):04X}' for sign in text)}}}"


def _sign(found: re.Match[str]) -> str:
    return "-{}" if found.group(1) else _SIGNS.get(found.group(), found.group())


@dataclass(frozen=True, slots=True)
class LatexTable:
    """A float: `key` is the end of its label, `first` heads the column of names; cells are escaped already.

    `below` are cells of a line below each row, in small type, empty where there is none: intervals of many columns.
    """

    key: str
    caption: str
    first: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[tuple[str, ...], ...] = ()


def document(
    name: str,
    title: str,
    software: str,
    inputs_hash: str,
    tables: Iterable[LatexTable],
    paragraphs: Iterable[str] = (),
) -> str:
    """Paragraphs and tables to be taken into a paper with \\input, after a comment that says where they come from."""
    lines = [
        f"% Agreement report: {escape(title)}",
        f"% {escape(software)}, inputs {inputs_hash}",
        r"% Needs \usepackage{booktabs}; with \usepackage{graphicx} no table is wider than a line.",
        "% The .bib file beside it has what it cites.",
        OTHER_SCRIPT,
        FITTED,
        LONG_NAME,
    ]
    for paragraph in paragraphs:
        lines += ["", paragraph]
    slug = slug_of(name)
    return "\n".join([*lines, *(part for table in tables for part in _floats(slug, table))]) + "\n"


def slug_of(name: str) -> str:
    """A name as labels and files have it."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def _floats(slug: str, table: LatexTable) -> list[str]:
    """A float; several of a table that is too wide or too long for a page; a remark on one too large for a paper."""
    columns = _cut(len(table.heads), _MOST_COLUMNS)
    rows = _cut(len(table.rows), _MOST_LINES // (2 if table.below else 1))
    parts = [(down, across) for down in rows for across in columns]
    if len(parts) > _MOST_PARTS:
        return ["", f"% Left out, too large for a paper: {slug}-{table.key}. The other formats have it."]
    return [
        line
        for number, (down, across) in enumerate(parts, start=1)
        for line in _float(slug, table, down, across, number if len(parts) > 1 else 0)
    ]


def _cut(n: int, most: int) -> list[slice]:
    """Parts of about the same size, none above the most.

    Examples
    --------
    >>> _cut(7, 6)
    [slice(0, 4, None), slice(4, 8, None)]
    """
    n_parts = max(1, math.ceil(n / most))
    size = max(1, math.ceil(n / n_parts))
    return [slice(part * size, (part + 1) * size) for part in range(n_parts)]


def _float(slug: str, table: LatexTable, rows: slice, columns: slice, part: int) -> list[str]:
    heads = table.heads[columns]
    lines = [
        "",
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{table.caption}{f' Part {part}.' if part else ''}}}",
        rf"\label{{tab:{slug}-{table.key}{f'-{part}' if part else ''}}}",
        r"\fitted{%",
        rf"\begin{{tabular}}{{l{'r' * len(heads)}}}",
        r"\toprule",
        _line((table.first, *map(head, heads))),
        r"\midrule",
    ]
    below = table.below or tuple(() for _ in table.rows)
    for (name, *cells), under in zip(table.rows[rows], below[rows], strict=True):
        lines.append(_line((name, *cells[columns])))
        if any(under[columns]):
            lines.append(_line(("", *(rf"\scriptsize {cell}" if cell else "" for cell in under[columns]))))
    return [*lines, r"\bottomrule", r"\end{tabular}", "}", r"\end{table}"]


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def head_lines(text: str) -> list[str]:
    """The head of a column in lines of some fourteen signs.

    Examples
    --------
    >>> head_lines("Same verdict in both orders"), head_lines("")
    (['Same verdict', 'in both orders'], [''])
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= _HEAD_WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def head(text: str, align: str = "r") -> str:
    r"""The head of a column, in lines; text that is escaped already.

    Examples
    --------
    >>> print(head("Same verdict in both orders"))
    \shortstack[r]{Same verdict\\in both orders}
    >>> print(head("Ties"))
    Ties
    """
    lines = head_lines(text)
    return lines[0] if len(lines) == 1 else rf"\shortstack[{align}]{{" + r"\\".join(lines) + "}"

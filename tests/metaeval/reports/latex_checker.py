"""A strict reading of the LaTeX that reports write: whatever it accepts, pdfLaTeX with booktabs compiles.

It knows only the commands that our tables use. Environments nest, braces balance, signs that mean something are
escaped, every row has as many cells as its table has columns, and no row begins with what its line break would take
for an option.
"""

import re

from metaeval.reports.latex_text import FITTED, LONG_NAME, OTHER_SCRIPT

COMMANDS = {
    *("begin", "end", "centering", "small", "scriptsize", "caption", "label"),
    *("toprule", "midrule", "bottomrule", "shortstack"),
    *("textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "dots"),
    *("times", "le", "ge", "ll", "gg"),
    *("otherscript", "texttt", "textbf", "paragraph", "cite", "allowbreak", "fitted", "longname"),
}
DEFINITIONS = (OTHER_SCRIPT, FITTED, LONG_NAME)
# Lines that stand for themselves.
OTHERS = ("", r"\centering", r"\small", r"\toprule", r"\midrule", r"\bottomrule")
TOKEN = re.compile(r"\\\\|\\([a-zA-Z]+)|\\([{}$&#%_])|\\(.)|(.)", re.DOTALL)


def check(text: str) -> list[str]:
    """Raise AssertionError at the first fault; the labels of the tables."""
    assert text.endswith("\n")
    kept = [line for line in text.splitlines() if not line.startswith("%")]
    environments, labels, columns, fitted = [], [], 0, 0
    for number, line in enumerate(kept, start=1):
        where = f"line {number}: {line!r}"
        if line in (r"\fitted{%", "}"):
            fitted += 1 if line != "}" else -1
            assert fitted in (0, 1), where
            continue
        if line not in DEFINITIONS:
            _check_line(line.replace(r"~\cite", r"\cite"), where)
        if found := re.fullmatch(r"\\begin\{(table|tabular)\}(?:\{(lr*)\})?", line):
            environments.append(found[1])
            columns = len(found[2] or "")
            assert (found[1] == "tabular") == bool(columns), where
        elif found := re.fullmatch(r"\\end\{(table|tabular)\}", line):
            assert environments.pop() == found[1], where
        elif found := re.fullmatch(r"\\label\{([a-z0-9:-]+)\}", line):
            labels.append(found[1])
        elif line in DEFINITIONS:
            continue
        elif line.startswith(r"\paragraph{") or (line and not environments):
            continue  # prose: `_check_line` has read it
        elif line.startswith(r"\caption{"):
            assert line.endswith("}"), where
        elif line.endswith(r" \\"):
            assert environments == ["table", "tabular"], where
            _check_row(line, columns, where)
        else:
            assert line in OTHERS, where
    assert not environments
    assert not fitted
    assert len(set(labels)) == len(labels)
    return labels


def _check_row(line: str, columns: int, where: str) -> None:
    cells = re.sub(r"\\[\\&]", "", line).count("&") + 1
    assert cells == columns, where
    assert line[0] not in "[*", where


def _check_line(line: str, where: str) -> None:
    depth, maths = 0, False
    for found in TOKEN.finditer(line):
        command, _, odd, sign = found.groups()
        assert odd is None, f"{where}: \\{odd}"
        assert command is None or command in COMMANDS, f"{where}: \\{command}"
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            assert depth >= 0, where
        elif sign == "$":
            maths = not maths
        else:
            assert sign is None or sign not in '#%_^~"<>|', f"{where}: {sign}"
    assert depth == 0, where
    assert not maths, where

r"""Mathematics in Markdown: LaTeX between ``$..$``, ``$$..$$``, ``\(..\)`` or ``\[..\]`` becomes MathML.

The converter (latex2mathml) does not escape the content of ``\text`` and passes attributes of its input
through, so its element tree is never printed as it is: :func:`render_latex` serialises it anew through
allow-lists. What it cannot convert is shown as its source.
"""

import re
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import convert_to_element
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from web.rendering_work import spend

MAX_LATEX = 2_000
"""Longest formula converted, in characters; longer ones are shown as their source."""
MAX_BLOCK_LINES = 60
MAX_FORMULAS = 400
MAX_LATEX_TOGETHER = 20_000
"""Formulas, and characters of them, that are converted in one text; the rest is shown as source, which bounds the time
of a hostile text."""
CHARACTERS_A_STEP = 40
"""Characters of a possible formula that are read in about the time of one step of the Markdown parser."""

_TAGS = """
    math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover
    mmultiscripts mprescripts mtable mtr mtd mstyle mpadded mphantom menclose mfenced none
"""
_ATTRIBUTES = """
    display displaystyle scriptlevel mathvariant stretchy fence form separator largeop movablelimits accent
    accentunder symmetric minsize maxsize lspace rspace linethickness columnalign rowspacing columnspacing
    columnlines rowlines width height depth notation open close separators
"""
MATHML_TAGS = frozenset(_TAGS.split())
MATHML_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
_ATTRIBUTE_VALUE = re.compile(r"[\w .,%+\-()\[\]{}|/⟨⟩‖⌈⌉⌊⌋]{0,60}")
# Environments that the converter leaves as a row of ampersands, and those it lays out in the same way.
_ENVIRONMENTS = {
    "aligned": "align*",
    "alignedat": "align*",
    "gathered": "matrix",
    "gather": "matrix",
    "gather*": "matrix",
}
_ENVIRONMENT = re.compile(r"\\(begin|end)\{(aligned|alignedat|gathered|gather\*?)\}")
_SIGNS = frozenset("−-+±∓")
_OPERATORS = frozenset("±∓×÷·⋅∗∘∪∩∨∧⊕⊗≤≥≠≈≡∼→←⇒⇔∈∉⊂⊆")
_CLOSING = frozenset(")]}⟩⌉⌋|‖!′%")
_COMMAND = re.compile(r"\\(?:text|mathrm|operatorname|textbf|mbox)\s*\{[^{}]*\}|\\[A-Za-z]+\*?|\\.")
_WORD = re.compile(r"(?:^|(?<=\s))[A-Za-z]{3,}(?=[\s,.;:!?]|$)")


def is_prose(latex: str) -> bool:
    """Say whether what stands between two delimiters reads as prose or prices rather than as a formula.

    >>> is_prose("5 a month, or 10"), is_prose(r"5 \\text{ apples each}"), is_prose("x + y")
    (True, False, False)
    """
    bare = _COMMAND.sub(" ", latex)
    words = len(_WORD.findall(bare))
    if bare[:1].isdigit():
        return words >= 1
    return words >= 2 and not re.search(r"[=^_\\]", latex)


def _serialise(element: Element, depth: int = 0) -> str:
    """MathML text of an element tree: listed tags and attributes only, every text escaped.

    Raises ValueError for a tag off the list and for a command or column mark left unconverted.
    """
    if element.tag not in MATHML_TAGS or depth > 60:
        raise ValueError(element.tag)
    text = unescape(element.text or "").strip("\n")
    if text == "&" or (text.startswith("\\") and len(text) > 1):
        raise ValueError(text)
    attributes = "".join(
        f' {name}="{escape(value)}"'
        for name, value in element.attrib.items()
        if name in MATHML_ATTRIBUTES and _ATTRIBUTE_VALUE.fullmatch(value)
    )
    children = "".join(_serialise(child, depth + 1) for child in element)
    return f"<{element.tag}{attributes}>{escape(text, quote=False)}{children}</{element.tag}>"


def _space_operators(element: Element) -> None:
    """Mark operators as such, and signs as signs: browsers space them by what they are and by where they stand.

    The converter takes some operators for names (``\\pm``). A sign after another operator or an opening bracket has one
    operand, as in ``f(-x)``; without ``form`` the browser would space it as the minus of a difference.
    """
    before: Element | None = None
    for child in element:
        text = (child.text or "").strip()
        if child.tag == "mi" and unescape(text) in _OPERATORS:
            child.tag = "mo"
        if child.tag == "mo" and unescape(text) in _SIGNS and before is not None and _wants_operand(before):
            child.set("form", "prefix")
        _space_operators(child)
        if child.tag != "mspace":
            before = child


def _wants_operand(element: Element) -> bool:
    """Whether what comes after an element is an operand: it is an operator, and does not close or follow anything."""
    text = unescape((element.text or "").strip())
    return element.tag == "mo" and element.get("form") != "postfix" and text not in _CLOSING


def render_latex(latex: str, *, block: bool) -> str:
    """MathML of one formula, or its source in ``<code>`` when it cannot be converted; safe HTML anyway."""
    source = f"<code>{escape(latex)}</code>"
    if len(latex) > MAX_LATEX:
        return source
    try:
        known = _ENVIRONMENT.sub(lambda found: f"\\{found[1]}{{{_ENVIRONMENTS[found[2]]}}}", latex)
        element = convert_to_element(known, display="block" if block else "inline")
        _space_operators(element)
        return _serialise(element)
    except Exception:
        # The converter raises its own errors and, for odd input, IndexError, KeyError, RecursionError and
        # more; whatever it was, the reader is better served by the source than by an error page.
        return source


def _closing_dollar(source: str, start: int, stop: int) -> int:
    """Position of the next unescaped dollar in ``source[start:stop]``, or -1."""
    while (position := source.find("$", start, stop)) != -1:
        if source[position - 1] != "\\":
            return position
        start = position + 1
    return -1


def _dollars(source: str, position: int, stop: int) -> tuple[str, int] | None:
    """Content and end of ``$..$`` at `position`: pandoc's rule, so that "$5 and $10" stays two prices."""
    if position and source[position - 1].isalnum():
        return None
    start = position + 1
    end = _closing_dollar(source, start, min(stop, start + MAX_LATEX))
    if end <= start or source[start].isspace() or source[end - 1].isspace():
        return None
    if end + 1 < stop and source[end + 1].isalnum():
        return None
    return source[start:end], end + 1


def _between(source: str, position: int, stop: int, opening: str, closing: str) -> tuple[str, int] | None:
    start = position + len(opening)
    end = source.find(closing, start, min(stop, start + MAX_LATEX))
    return (source[start:end], end + len(closing)) if end > start else None


_DELIMITERS = {r"\(": r"\)", r"\[": r"\]", "$$": "$$"}


def _inline(state: StateInline, silent: bool) -> bool:
    source, position = state.src, state.pos
    if source[position] not in "$\\":
        return False
    opening = source[position : position + 2]
    if opening in _DELIMITERS:
        found = _between(source, position, state.posMax, opening, _DELIMITERS[opening])
        block = opening != r"\("
    elif opening[0] == "$":
        found, block = _dollars(source, position, state.posMax), False
    else:
        return False
    if found is None or not found[0].strip():
        return False
    spend(
        state.env, len(found[0]) // CHARACTERS_A_STEP
    )  # prose is looked at again from each delimiter within it
    if is_prose(found[0].strip()):
        return False
    if not silent:
        token = state.push("math", "math", 0)
        token.content, token.block = found[0].strip(), False
        token.meta = {"display": block}
    state.pos = found[1]
    return True


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    if state.is_code_block(start_line):
        return False
    begin = state.bMarks[start_line] + state.tShift[start_line]
    closing = _DELIMITERS.get(state.src[begin : begin + 2])
    if closing is None or closing == r"\)":
        return False
    lines: list[str] = []
    for line in range(start_line, min(end_line, start_line + MAX_BLOCK_LINES)):
        first = begin + 2 if line == start_line else state.bMarks[line] + state.tShift[line]
        text = state.src[first : state.eMarks[line]].rstrip()
        if (line > start_line and not text) or state.sCount[line] < state.blkIndent:
            return False
        if closing in text:
            if not text.endswith(closing) or text.index(closing) != len(text) - len(closing):
                return False  # words follow the formula: it belongs to a paragraph
            lines.append(text[: -len(closing)])
            break
        lines.append(text)
    else:
        return False
    latex = "\n".join(lines).strip()
    if not latex:
        return False
    if not silent:
        token = state.push("math", "math", 0)
        token.content, token.block, token.map = latex, True, [start_line, line + 1]
        token.meta = {"display": True}
    state.line = line + 1
    return True


def _render(_: RendererHTML, tokens: list[Token], index: int, __: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    env["formulas"] = env.get("formulas", 0) + 1
    env["latex"] = env.get("latex", 0) + len(token.content)
    if env["formulas"] > MAX_FORMULAS or env["latex"] > MAX_LATEX_TOGETHER:
        return f"<code>{escape(token.content)}</code>"
    html = render_latex(token.content, block=bool(token.meta["display"]))
    return f'<p dir="ltr">{html}</p>\n' if token.block else html


def mathematics_plugin(md: MarkdownIt) -> None:
    """markdown-it plugin: adds the inline and block rules and their renderer."""
    # Before "escape", which would read the backslash of \( as an escaped parenthesis.
    md.inline.ruler.before("escape", "math", _inline)
    md.block.ruler.before("fence", "math", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.add_render_rule("math", _render)

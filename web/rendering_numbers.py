"""Numbers as they are written, where Markdown would change the characters that are shown.

A line such as ``50.``, ``+ 5`` or ``> 2`` is an answer or a calculation, not a list or a quote of one line; beside
other lines of the same list it is one of its items. The items of an ordered list keep their own numbers.
"""

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.blockquote import blockquote
from markdown_it.rules_block.list import list_block
from markdown_it.token import Token

# A sign and figures alone, or a number with its point and nothing after it.
_FIGURES = r"[-+*/=^()%$€£.,\d\s]*"
_PLAIN = re.compile(rf"([-+*>])\s+[$€£(]*[\d]{_FIGURES}$|(\d{{1,9}}[.)])\s*$", re.ASCII)
_ITEM = re.compile(r"([-+*>])(?:\s|$)|\d{1,9}([.)])(?:\s|$)", re.ASCII)

Rule = Callable[[StateBlock, int, int, bool], bool]


def numbers_plugin(md: MarkdownIt) -> None:
    """Leave single lines of figures as they are written, and number items as they are."""
    md.block.ruler.at("list", _unless_plain(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    alt = ["paragraph", "reference", "blockquote", "list"]
    md.block.ruler.at("blockquote", _unless_plain(blockquote), {"alt": alt})


def _unless_plain(rule: Rule) -> Rule:
    def unless_plain(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        return not _is_plain(state, line) and rule(state, line, end, silent)

    return unless_plain


def _is_plain(state: StateBlock, line: int) -> bool:
    text = _text(state, line)
    if not _PLAIN.match(text):
        return False
    mark = _mark(text)
    return all(_mark(_text(state, beside)) != mark for beside in _neighbours(state, line))


def _neighbours(state: StateBlock, line: int) -> list[int]:
    """The lines with something in them before and after it."""
    before = next((k for k in range(line - 1, -1, -1) if _text(state, k)), None)
    after = next((k for k in range(line + 1, state.lineMax) if _text(state, k)), None)
    return [k for k in (before, after) if k is not None]


def _text(state: StateBlock, line: int) -> str:
    # Not from its indent on, which a list moves behind the mark of the item that it is reading.
    return state.src[state.bMarks[line] : state.eMarks[line]].strip()


def _mark(text: str) -> str:
    """What makes it an item: its bullet, or what stands after its number; empty for other lines."""
    found = _ITEM.match(text)
    return (found[1] or found[2]) if found else ""


def items_number(tokens: Sequence[Token]) -> None:
    """Give items the numbers that are written, where the browser would count otherwise.

    Items that all have the same number are Markdown's way to have them counted, and are.
    """
    lists: list[list[Token]] = []
    for token in tokens:
        if token.type == "ordered_list_open":
            lists.append([])
        elif token.type == "list_item_open" and token.info and lists:
            lists[-1].append(token)
        elif token.type == "ordered_list_close":
            _number(lists.pop())


def _number(items: Sequence[Token]) -> None:
    written = [int(item.info) for item in items]
    if len(set(written)) < 2:
        return
    for number, item, before in zip(written[1:], items[1:], written, strict=False):
        if number != before + 1:
            item.attrs["value"] = number

"""Where in a Markdown source each piece of text comes from that a reader sees.

markdown-it says of blocks which lines they are, and nothing of what stands within a line. Here its rules are wrapped:
when a rule makes a token, the parser knows the exact place that it reads.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.common.utils import MD_TRIM_CHARS
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

AT = "at"
"""Of an inline token: its pieces, placed in the content of its block."""
LINES = "lines"
"""Of a block's content: the stretches of the source that it is made of."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that is shown, and the characters of the source that it comes from.

    Attributes
    ----------
    text : str
    start, length : int
        Where it comes from. `start` is -1 where that is not known.
    is_exact : bool
        Each character comes from one character, in order. Otherwise (a formula, ``&lt;``) the whole comes from the
        whole.
    """

    text: str
    start: int
    length: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Characters of a block's content, from `at` on, which stand in the source from `start` on."""

    at: int
    start: int
    length: int


class _Positioned(StateInline):
    """The state of the inline parser, which notes where the text comes from that waits to become a token."""

    def __init__(self, src: str, md: MarkdownIt, env: EnvType, out: list[Token]) -> None:
        super().__init__(src, md, env, out)
        self._noted: list[tuple[int, int]] = []  # length, place

    def append_pending(self, text: str) -> None:
        self._noted.append((len(text), self.pos))
        super().append_pending(text)

    @property
    def pending(self) -> str:
        return super().pending

    @pending.setter
    def pending(self, value: str) -> None:
        # Spaces before the end of a line are taken back.
        left, kept = len(value), []
        for length, place in self._noted:
            if left <= 0:
                break
            kept.append((min(length, left), place))
            left -= length
        self._noted = kept
        StateInline.pending.fset(self, value)  # type: ignore[attr-defined]

    def pushPending(self) -> Token:  # noqa: N802  (markdown-it's name)
        noted = self._noted
        token = super().pushPending()
        token.meta[AT] = [(length, place, length, True) for length, place in noted]
        return token


def positions_plugin(md: MarkdownIt) -> None:
    """markdown-it plugin: tokens know where they come from. They aren't for rendering, as text stays in pieces."""

    def parse(src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        state = _Positioned(src, md, env, tokens)
        md.inline.tokenize(state)
        for rule in md.inline.ruler2.getRules(""):
            rule(state)
        return state.tokens

    md.inline.parse = parse  # type: ignore[method-assign]
    # Joined, pieces would lose their places.
    md.inline.ruler2.disable("fragments_join")
    md.core.ruler.disable("text_join")
    for rule in md.inline.ruler.__rules__:
        rule.fn = _noting(rule.fn)
    for block in md.block.ruler.__rules__:
        if block.name in _LOCATORS:
            block.fn = _locating(block.fn, _LOCATORS[block.name])


def _noting(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    def noting(state: StateInline, silent: bool) -> bool:
        if silent:
            return rule(state, True)
        start, known = state.pos, len(state.tokens)
        if not rule(state, False):
            return False
        at = start
        for token in state.tokens[known:]:
            is_seen = token.content or token.type == "image"
            if not is_seen or AT in token.meta:  # what stood before it, or is within it
                continue
            token.meta[AT] = [_noted(token, state.src, start, at, state.pos)]
            at += len(token.content)
        return True

    return noting


def _noted(token: Token, src: str, start: int, at: int, end: int) -> tuple[int, int, int, bool]:
    """Length, place, length there, and whether it is exact, of what a rule made of ``src[start:end]``; `at` is where
    the next of several marks stands.
    """
    content = token.content
    if token.type in ("math", "image"):
        return len(content), start, end - start, False
    if token.type == "code_inline":
        mark = len(token.markup)
        inner = end - start - 2 * mark
        return len(content), start + mark + (inner > len(content)), len(content), True
    if token.type == "text_special":
        return len(content), start, end - start, src[start:end] == content
    if src.startswith(content, at) and at + len(content) <= end:
        return len(content), at, len(content), True
    if src[start + 1 : end - 1] == content:  # an address between < and >
        return len(content), start + 1, len(content), True
    return len(content), start, end - start, False


_Locator = Callable[[StateBlock, Sequence[Token]], None]


def _locating(
    rule: Callable[[StateBlock, int, int, bool], bool], locate: _Locator
) -> Callable[[StateBlock, int, int, bool], bool]:
    def locating(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        known = len(state.tokens)
        if not rule(state, line, end, silent):
            return False
        if not silent:
            locate(state, [token for token in state.tokens[known:] if token.content])
        return True

    return locating


def _of_paragraph(state: StateBlock, tokens: Sequence[Token]) -> None:
    for token in tokens:
        assert token.map is not None
        first, last = token.map
        # Lines of other blanks than spaces don't end a paragraph, and are cut off where it begins.
        while first < last - 1 and not _rest(state, first).strip(MD_TRIM_CHARS):
            first += 1
        token.meta[LINES] = _lines(state, token.content, first)


def _rest(state: StateBlock, row: int) -> str:
    """A line without its indent and the marks of lists before it."""
    return state.src[state.bMarks[row] + state.tShift[row] : state.eMarks[row]]


def _of_code(state: StateBlock, tokens: Sequence[Token], skipped: int = 0) -> None:
    for token in tokens:
        assert token.map is not None
        token.meta[LINES] = _lines(state, token.content, token.map[0] + skipped)


def _lines(state: StateBlock, content: str, first: int) -> list[Stretch] | None:
    """The stretches of a content whose lines are the ends of lines of the source."""
    found, at = [], 0
    for row, line in enumerate(content.split("\n"), start=first):
        bare = line.lstrip(" ")  # a tab that an indent cuts in two stands there as spaces
        if bare:
            start = _end_of_line(state, row, line, bare)
            if start is None:
                return None
            is_whole = state.src.startswith(line, start)
            indent = 0 if is_whole else len(line) - len(bare)
            found.append(Stretch(at + indent, start, len(line) - indent))
        at += len(line) + 1
    return found


def _end_of_line(state: StateBlock, row: int, line: str, bare: str) -> int | None:
    """Where in the source the end of a line begins that is this text; blanks after it may be missing."""
    if row >= len(state.eMarks):
        return None
    begin, end = state.bMarks[row], state.eMarks[row]
    trimmed = begin + len(state.src[begin:end].rstrip(MD_TRIM_CHARS))
    for text in (line, bare):
        for last in (end, trimmed):
            start = last - len(text)
            if start >= 0 and state.src[start:last] == text:
                return start
    return None


def _of_heading(state: StateBlock, tokens: Sequence[Token]) -> None:
    for token in tokens:
        assert token.map is not None
        start = state.bMarks[token.map[0]] + state.tShift[token.map[0]]
        while state.src[start] == "#":
            start += 1
        while state.src[start] in MD_TRIM_CHARS:
            start += 1
        is_there = state.src.startswith(token.content, start)
        token.meta[LINES] = [Stretch(0, start, len(token.content))] if is_there else None


def _of_table(state: StateBlock, tokens: Sequence[Token]) -> None:
    rows: dict[int, Iterator[list[int]]] = {}
    for token in tokens:
        assert token.map is not None
        row = token.map[0]
        cells = rows.setdefault(row, iter([cell for cell in _cells(state, row) if cell]))
        places = next(cells, [])
        written = "".join(state.src[place] for place in places)
        token.meta[LINES] = _stretches(places) if written == token.content else None


def _cells(state: StateBlock, row: int) -> list[list[int]]:
    """The places of the characters of each cell of a row, as `markdown_it.rules_block.table` cuts it: a bar after a
    backslash is a character, and its backslash is none.
    """
    src = state.src
    places = _trimmed(src, list(range(state.bMarks[row] + state.tShift[row], state.eMarks[row])))
    cells: list[list[int]] = [[]]
    is_escaped = False
    for place in places:
        if src[place] == "|" and not is_escaped:
            cells.append([])
        else:
            if src[place] == "|":
                cells[-1].pop()
            cells[-1].append(place)
        is_escaped = src[place] == "\\"
    if not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return [_trimmed(src, cell) for cell in cells]


def _trimmed(src: str, places: list[int]) -> list[int]:
    first, last = 0, len(places)
    while first < last and src[places[first]] in MD_TRIM_CHARS:
        first += 1
    while first < last and src[places[last - 1]] in MD_TRIM_CHARS:
        last -= 1
    return places[first:last]


def _stretches(places: Sequence[int]) -> list[Stretch]:
    found: list[Stretch] = []
    for at, place in enumerate(places):
        last = found[-1] if found else None
        if last is not None and last.start + last.length == place:
            found[-1] = Stretch(last.at, last.start, last.length + 1)
        else:
            found.append(Stretch(at, place, 1))
    return found


def _of_formula(state: StateBlock, tokens: Sequence[Token]) -> None:
    for token in tokens:
        assert token.map is not None
        first, last = token.map[0], token.map[1] - 1
        start = state.bMarks[first] + state.tShift[first]
        end = start + len(state.src[start : state.eMarks[last]].rstrip(MD_TRIM_CHARS))
        token.meta[LINES] = [Stretch(0, start, end - start)]


_LOCATORS: dict[str, _Locator] = {
    "paragraph": _of_paragraph,
    "lheading": _of_paragraph,
    "heading": _of_heading,
    "table": _of_table,
    "fence": lambda state, tokens: _of_code(state, tokens, 1),
    "code": _of_code,
    "math": _of_formula,
}


Shown = Callable[[Sequence[Token], int, EnvType], str]


def pieces_shown(tokens: Sequence[Token], env: EnvType, shown: Shown) -> Iterator[Piece]:
    """All texts that the tokens show, in their order, as places in the source. `shown` is the text that is seen of a
    formula or an image.
    """
    for index, token in enumerate(tokens):
        lines: list[Stretch] | None = token.meta.get(LINES)
        if token.type == "inline":
            yield from _of_inline(token, lines, env, shown)
        elif token.type == "math":
            assert lines
            yield Piece(shown(tokens, index, env), lines[0].start, lines[0].length, False)
        elif token.type in ("fence", "code_block") and token.content:
            yield from _placed(token.content, 0, len(token.content), True, lines)


def _of_inline(token: Token, lines: list[Stretch] | None, env: EnvType, shown: Shown) -> Iterator[Piece]:
    children = token.children or []
    for index, child in enumerate(children):
        if child.type in ("math", "image"):
            ((_, start, length, _),) = child.meta[AT]
            _plain_words(child)
            yield from _placed(shown(children, index, env), start, length, False, lines)
        elif child.content:
            at = 0
            for size, start, length, is_exact in child.meta.get(AT, ()):
                yield from _placed(child.content[at : at + size], start, length, is_exact, lines)
                at += size
            if at < len(child.content):
                yield Piece(child.content[at:], -1, 0, False)


def _plain_words(image: Token) -> None:
    """Let what is escaped in the description of an image be text of it, as where tokens are joined."""
    for child in image.children or ():
        if child.type == "text_special":
            child.type = "text"


def _placed(
    text: str, start: int, length: int, is_exact: bool, lines: list[Stretch] | None
) -> Iterator[Piece]:
    """A text from ``content[start:start + length]`` of a block, as pieces of the source."""
    if lines is None:
        yield Piece(text, -1, 0, False)
        return
    within = _within(lines, start, start + length)
    if not is_exact:
        if not within:
            yield Piece(text, -1, 0, False)
            return
        first = within[0].start + max(0, start - within[0].at)
        last = within[-1]
        end = last.start + min(last.length, start + length - last.at)
        yield Piece(text, first, end - first, False)
        return
    done = 0
    for one in within:
        begin, end = max(start, one.at), min(start + length, one.at + one.length)
        if begin - start > done:
            yield Piece(text[done : begin - start], -1, 0, False)
        yield Piece(text[begin - start : end - start], one.start + begin - one.at, end - begin, True)
        done = end - start
    if done < len(text):
        yield Piece(text[done:], -1, 0, False)


def _within(lines: list[Stretch], start: int, end: int) -> list[Stretch]:
    """The stretches that have something of ``content[start:end]``."""
    first = max(0, bisect_right(lines, start, key=lambda one: one.at) - 1)
    last = bisect_left(lines, end, key=lambda one: one.at)
    return [one for one in lines[first:last] if one.at + one.length > start]

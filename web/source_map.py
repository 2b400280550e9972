"""From what a page shows of a text to the text as it is stored: which characters a selected passage is.

A `SourceMap` belongs to one way of showing a text (`render_markdown`, `render_plain`) and is made of runs. In an exact
run each character that is seen is one of the source. Of any other (a formula, ``&lt;``, an image) the whole is the
whole, so a passage that begins or ends in it takes all of it.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import EnvType

from web.caching import BoundedCache
from web.rendering import (
    INVISIBLE,
    PARSER,
    one_line_kept,
    parser_make,
    render_markdown,
    render_plain,
    tidy,
)
from web.rendering_work import TooMuchWorkError
from web.source_positions import Piece, pieces_shown, positions_plugin

MAX_MAPS = 8_000_000
"""Characters of texts whose maps a process keeps."""
_TAG = re.compile(r'<(?:[^">]|"[^"]*")*>')
_PLAIN = '<pre class="plain"'


@dataclass(frozen=True, slots=True)
class Run:
    """``shown[at:at + size]`` comes from ``source[start:start + length]``; exactly, one from one, or as a whole."""

    at: int
    size: int
    start: int
    length: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Where the characters that a page shows of a text stand in it.

    Attributes
    ----------
    shown : str
        What is seen: the text of the rendered fragment. Offsets into it are in code points.
    runs : tuple of Run
        In order, of `shown` as of the source. What is in no run is a line end or a blank of the page.
    """

    shown: str
    runs: tuple[Run, ...]

    def source(self, start: int, end: int) -> tuple[int, int] | None:
        """The passage of the source that ``shown[start:end]`` is of; None where it shows nothing of it.

        >>> source_map("a **b** &lt; c").source(2, 3)
        (4, 5)
        >>> source_map("a **b** &lt; c").source(4, 5)
        (8, 12)
        """
        first = bisect_right(self.runs, start, key=lambda run: run.at + run.size)
        last = bisect_left(self.runs, end, key=lambda run: run.at) - 1
        if first > last:
            return None
        one, other = self.runs[first], self.runs[last]
        begin = one.start + (max(0, start - one.at) if one.is_exact else 0)
        stop = other.start + (min(other.size, end - other.at) if other.is_exact else other.length)
        return begin, stop

    def encoded(self) -> str:
        """The runs for a script, which counts in UTF-16: four numbers each, separated by commas.

        The characters between it and the run before, and its own; the same of the source, in code points, where a last
        number of 0 means an exact run whose characters are all of one unit, one below 0 an exact run of so many code
        points, and one above 0 the length of what is taken as a whole.
        """
        numbers: list[int] = []
        shown_end = source_end = 0
        for run in self.runs:
            text = self.shown[run.at : run.at + run.size]
            units = _units(text)
            length = run.length if not run.is_exact else 0 if units == run.size else -run.length
            numbers += (_units(self.shown[shown_end : run.at]), units, run.start - source_end, length)
            shown_end, source_end = run.at + run.size, run.start + run.length
        return ",".join(map(str, numbers))


def _units(text: str) -> int:
    """Its length in UTF-16."""
    return len(text) if text.isascii() else len(text) + sum(letter > "\uffff" for letter in text)


_maps: BoundedCache[tuple[bytes, bool], SourceMap] = BoundedCache(
    limit=MAX_MAPS, weight=lambda known: len(known.shown) + 40 * len(known.runs)
)


def source_map(text: str | None, *, plain: bool = False) -> SourceMap:
    """The map of a text as `render_markdown` shows it, or with `plain` as `render_plain` does.

    Offsets of the source count the code points of `text` as it is given, with its line ends and what is invisible.
    """
    given = text or ""
    digest = blake2b(given.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _maps.get((digest, plain), lambda: _map(given, plain))


def _map(text: str, plain: bool) -> SourceMap:
    html = render_plain(text) if plain else render_markdown(text)
    origins = _origins(text)
    if not tidy(text).strip():
        return SourceMap(_text_of(html), ())
    if html.startswith(_PLAIN):
        shown = tidy(text)
        # The first line end after <pre> is none, for an HTML parser.
        skipped = int(shown.startswith("\n") and "<span>" not in html)
        found = _exact(origins, skipped, len(shown) - skipped)
        return SourceMap(shown[skipped:], tuple(_joined(_laid_out(found), shown[skipped:], text)))
    shown = _text_of(html)
    try:
        runs = tuple(_joined(_aligned(shown, _pieces(text, origins)), shown, text))
    except (RecursionError, TooMuchWorkError):  # what is about the limit of the parser that renders it
        runs = ()
    return SourceMap(shown, runs)


def _text_of(html: str) -> str:
    return unescape(_TAG.sub("", html))


def _origins(text: str) -> Sequence[int]:
    """For each character of the tidy text, which one of the text it is."""
    if tidy(text) == text:
        return range(len(text))
    found = []
    for place, letter in enumerate(text):
        is_second = letter == "\n" and place > 0 and text[place - 1] == "\r"
        if not is_second and not (INVISIBLE.match(letter) and letter != "\r"):
            found.append(place)
    return found


def _exact(origins: Sequence[int], start: int, length: int) -> Iterator[tuple[int, int]]:
    """Stretches of the text that these characters of the tidy text are: place and length."""
    if isinstance(origins, range):
        yield start, length
        return
    begin = start
    for place in range(start + 1, start + length + 1):
        if place == start + length or origins[place] != origins[place - 1] + 1:
            yield origins[begin], place - begin
            begin = place


def _laid_out(stretches: Iterable[tuple[int, int]]) -> Iterator[Run]:
    at = 0
    for start, length in stretches:
        yield Run(at, length, start, length, True)
        at += length


@cache
def _parser() -> MarkdownIt:
    parser = parser_make()
    positions_plugin(parser)
    return parser


def _pieces(text: str, origins: Sequence[int]) -> Iterator[Piece]:
    """What Markdown shows of a text, piece by piece, as places in the text as it is given."""
    shown = tidy(text)
    kept = one_line_kept(shown)
    if kept != shown:
        # One backslash more than was written.
        lead, mark = len(shown) - len(shown.lstrip()), kept.index("\\")
        origins = [origins[lead + place - (place > mark)] for place in range(len(kept))]
    env: EnvType = {}
    for piece in pieces_shown(_parser().parse(kept, env), env, _seen):
        if piece.start < 0 or not piece.length:
            yield piece
        elif not piece.is_exact:
            first, last = origins[piece.start], origins[piece.start + piece.length - 1]
            yield Piece(
                piece.text, first, last + 1 - first, piece.length == len(piece.text) == last + 1 - first == 1
            )
        else:
            done = 0
            for start, length in _exact(origins, piece.start, piece.length):
                yield Piece(piece.text[done : done + length], start, length, True)
                done += length


def _seen(tokens: Sequence[Token], index: int, env: EnvType) -> str:
    """The text that is seen of a formula or an image."""
    rule = PARSER.renderer.rules[tokens[index].type]  # type: ignore[attr-defined]
    return _text_of(str(rule(tokens, index, PARSER.options, env))).strip("\n")


def _aligned(shown: str, found: Iterable[Piece]) -> Iterator[Run]:
    """The runs of pieces in what is shown, where blanks of the page stand between them. What isn't where it has to be
    ends the map: nothing is guessed.
    """
    at = end = 0
    for piece in found:
        if not piece.text.strip():
            continue
        while not shown.startswith(piece.text, at):
            if at >= len(shown) or not shown[at].isspace():
                return
            at += 1
        if piece.start >= end and piece.length:
            yield Run(at, len(piece.text), piece.start, piece.length, piece.is_exact)
            end = piece.start + piece.length
        at += len(piece.text)


def _joined(runs: Iterable[Run], shown: str, text: str) -> Iterator[Run]:
    """Exact runs that follow each other in both, with the same blanks between them or nothing, as one."""
    last: Run | None = None
    for run in runs:
        if last is not None and last.is_exact and run.is_exact:
            between = shown[last.at + last.size : run.at]
            if between == text[last.start + last.length : run.start]:
                gap = len(between)
                last = Run(
                    last.at, last.size + gap + run.size, last.start, last.length + gap + run.length, True
                )
                continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def passage_found(given: str, known: SourceMap) -> tuple[tuple[int, int], int] | None:
    """Of a passage copied from a page: where the source has it, and how often it occurs; None where it doesn't.

    Blanks and line ends are alike. The first occurrence is meant.

    >>> passage_found("b  <", source_map("a **b** &lt; b <"))
    ((4, 12), 2)
    """
    words = given.split()
    if not words:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    places = [match.span() for match in pattern.finditer(known.shown)]
    found = [passage for place in places if (passage := known.source(*place)) is not None]
    return (found[0], len(found)) if found else None

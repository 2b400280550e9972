"""HTML of a post to the Markdown that it was written in, near enough: no tags, no scripts, code kept to the letter.

Text is not escaped: an asterisk of the text stays an asterisk, because a model reads these texts too. Images are left
out, and so is whatever is not text (scripts, styles, frames).
"""

from __future__ import annotations

import re
from html import unescape

_BLOCKS = frozenset({"p", "div", "dl", "dt", "dd", "table", "tr", "summary", "details", "section", "article"})
_SKIPPED = frozenset({"script", "style", "head", "title", "iframe", "object", "noscript", "template", "svg"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_INLINE = {"b": "**", "strong": "**", "em": "*", "i": "*", "s": "~~", "del": "~~", "strike": "~~"}
# A quoted value may hold ">" but no "<", so that no tag that is never closed is read twice.
_TAG = re.compile(
    r"""<(?P<end>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*+)(?:[^<>"']|"[^"<]*+"|'[^'<]*+')*+>""", re.ASCII
)
_RUN = re.compile(r"`+")
MAX_DEPTH = 20
"""Lists and quotes nested deeper are indented no further: the text stays about as long as its HTML."""


def html_to_text(html: str) -> str:
    """Return the text of a fragment of HTML as Markdown; never raises, whatever the HTML.

    The time is linear in the length of the HTML, which `html.parser` does not promise for broken tags.

    >>> html_to_text("<p>Use <code>ls</code>:</p><pre><code>ls -l\\n</code></pre><ul><li>one<li>two</ul>")
    'Use `ls`:\\n\\n```\\nls -l\\n```\\n\\n- one\\n- two'
    """
    reader = _Reader()
    place = 0
    while (opening := html.find("<", place)) >= 0:
        reader.data(html[place:opening])
        place = _markup(html, opening, reader)
    reader.data(html[place:])
    return reader.text()


def _markup(html: str, opening: int, reader: _Reader) -> int:
    """Read what begins with the "<" at `opening`, a tag, a comment or just text; return where it ends."""
    if html.startswith("<!--", opening):
        end = html.find("-->", opening + 4)
        return len(html) if end < 0 else end + 3
    tag = _TAG.match(html, opening)
    if tag is None:
        reader.data("<")
        return opening + 1
    name = tag["name"].lower()
    if tag["end"]:
        reader.end(name)
    elif name in _SKIPPED:
        closing = re.compile(rf"</{name}[^<>]*>", re.IGNORECASE).search(html, tag.end())
        return len(html) if closing is None else closing.end()
    else:
        reader.start(name)
    return tag.end()


class _Reader:
    """Collects blocks of lines. Quotes and lists put a prefix before the lines of what is in them."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._quotes = 0
        self._lists: list[int | None] = []  # the next number, None for bullets
        self._marker = ""
        self._code: list[str] | None = None  # the text of an open <pre>
        self._code_from = 0  # where in `_inline` an open <code> began
        self._in_code = False
        self._in_list = False  # the last block was in one

    def text(self) -> str:
        self._end_code_block()
        self._end_block()
        return "\n".join(self._lines).strip("\n")

    def start(self, tag: str) -> None:
        if self._code is not None:
            return
        if tag == "pre":
            self._end_block()
            self._code = []
        elif tag == "code":
            self._in_code, self._code_from = True, len(self._inline)
        elif tag in _INLINE:
            self._inline.append(_INLINE[tag])
        elif tag == "br":
            self._inline.append("\n")
        elif tag == "hr":
            self._end_block()
            self._add(["---"])
        else:
            self._start_block(tag)

    def _start_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._end_block()
            self._lists.append(1 if tag == "ol" else None)
        elif tag == "li":
            self._end_block()
            self._marker = self._next_marker()
        elif tag == "blockquote":
            self._end_block()
            self._quotes += 1
        elif tag in _HEADINGS:
            self._end_block()
            self._inline.append(_HEADINGS[tag])
        elif tag in _BLOCKS:
            self._end_block()

    def end(self, tag: str) -> None:
        if tag == "pre":
            self._end_code_block()
        elif self._code is not None:
            return
        elif tag == "code" and self._in_code:
            self._end_inline_code()
        elif tag in _INLINE:
            self._inline.append(_INLINE[tag])
        elif tag in ("ul", "ol"):
            self._end_block()
            if self._lists:
                self._lists.pop()
            self._in_list = bool(self._lists)
        elif tag == "blockquote":
            self._end_block()
            self._quotes = max(0, self._quotes - 1)
        elif tag == "li" or tag in _HEADINGS or tag in _BLOCKS:
            self._end_block()

    def data(self, html: str) -> None:
        data = unescape(html).replace("\xa0", " ")
        if self._code is not None:
            self._code.append(data)
        else:
            # Only a <br> breaks a line; runs of spaces are folded where the block ends.
            self._inline.append(data.replace("\n", " "))

    def _next_marker(self) -> str:
        if not self._lists or (number := self._lists[-1]) is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number}. "

    def _end_inline_code(self) -> None:
        self._in_code = False
        code = "".join(self._inline[self._code_from :])
        del self._inline[self._code_from :]
        if code:
            # Fenced by more ticks than it holds itself.
            ticks = "`" * (max(map(len, _RUN.findall(code)), default=0) + 1)
            space = " " if code[0] == "`" or code[-1] == "`" else ""
            self._inline.append(f"{ticks}{space}{code}{space}{ticks}")

    def _end_code_block(self) -> None:
        if self._code is None:
            return
        code = "".join(self._code).replace("\r\n", "\n").rstrip("\n").removeprefix("\n")
        self._code = None
        if code.strip():
            fence = "`" * max(3, max(map(len, _RUN.findall(code)), default=0) + 1)
            self._add([fence, *code.split("\n"), fence])

    def _end_block(self) -> None:
        if self._in_code:
            self._end_inline_code()
        text = "".join(self._inline)
        self._inline = []
        lines = [" ".join(line.split()) for line in text.split("\n")]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        if lines:
            self._add(lines)

    def _add(self, lines: list[str]) -> None:
        """Add a block below a blank line; items of a list follow one another without."""
        quote = "> " * min(self._quotes, MAX_DEPTH)
        widths = [2 if number is None else 3 for number in self._lists[:MAX_DEPTH]]
        indent, hanging = " " * sum(widths[:-1]), " " * sum(widths)
        marker = indent + self._marker if self._marker else hanging
        if self._lines and not (self._marker and self._in_list):
            self._lines.append(quote.rstrip() if self._lines[-1].startswith(">") else "")
        self._in_list = bool(self._lists)
        self._marker = ""
        for number, line in enumerate(lines):
            self._lines.append(f"{quote}{hanging if number else marker}{line}".rstrip())

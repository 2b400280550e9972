"""What changed between two texts, line by line, for people to read."""

from dataclasses import dataclass
from difflib import SequenceMatcher

CONTEXT = 2


@dataclass(frozen=True, slots=True)
class Line:
    """`change` is same, added, removed or skipped; of a skipped one, `text` says how many lines."""

    change: str
    text: str


def lines_changed(before: str, after: str, *, context: int = CONTEXT) -> tuple[Line, ...]:
    """The lines that were removed and added, with `context` unchanged lines around them.

    Examples
    --------
    >>> [(line.change, line.text) for line in lines_changed("a\\nb\\nc", "a\\nx\\nc")]
    [('same', 'a'), ('removed', 'b'), ('added', 'x'), ('same', 'c')]
    """
    old, new = before.splitlines(), after.splitlines()
    found: list[Line] = []
    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    blocks = matcher.get_opcodes()
    for place, (kind, a, b, c, d) in enumerate(blocks):
        if kind == "equal":
            found += _same(old[a:b], context, first=place == 0, last=place == len(blocks) - 1)
        else:
            found += [Line("removed", text) for text in old[a:b]]
            found += [Line("added", text) for text in new[c:d]]
    return tuple(found) if any(line.change in ("added", "removed") for line in found) else ()


def _same(lines: list[str], context: int, *, first: bool, last: bool) -> list[Line]:
    head = 0 if first else context
    tail = 0 if last else context
    skipped = len(lines) - head - tail
    if skipped <= 1:
        return [Line("same", text) for text in lines]
    words = f"{skipped} lines unchanged"
    shown = [Line("same", text) for text in lines[:head]] + [Line("skipped", words)]
    return shown + [Line("same", text) for text in lines[len(lines) - tail :]]

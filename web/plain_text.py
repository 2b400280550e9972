"""Titles and names as they are meant to be read: nothing invisible that changes how their neighbors look."""

import unicodedata

MAX_QUOTED = 60
# Marks and overrides of direction: they turn what stands after them on a page, a file name or a log.
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_ODD = frozenset("\u2028\u2029\ufeff\u200b")


def printable_line(text: str) -> str:
    """The text without control characters, overrides of direction and invisible spaces, on one line.

    Joiners stay: several scripts, and emoji, are written with them.

    Examples
    --------
    >>> printable_line("a\\u202etxt.exe\\n b")
    'atxt.exe b'
    """
    spaced = "".join(" " if c in "\t\r\n\v\f\u2028\u2029" else c for c in text)
    kept = "".join(c for c in spaced if c not in _BIDI and c not in _ODD and unicodedata.category(c) != "Cc")
    return " ".join(kept.split()) if kept != text else text


def cut_off(text: str, limit: int) -> str:
    """Return a text of at most so many characters.

    >>> cut_off("abcdef", 4)
    'abc…'
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def quoted(value: object, limit: int = MAX_QUOTED) -> str:
    """The value as it may stand in a message: on one line, shortened, text in quotes."""
    if isinstance(value, str) and len(value) > limit:
        value = value[: limit - 1] + "…"
    text = repr(value)
    return text if len(text) <= limit * 2 else text[: limit * 2 - 1] + "…"

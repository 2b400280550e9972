"""Reading a rating out of what a model wrote: one whole number on the scale, never guessed.

`read_rating` is for prompts that ask for the number alone, `read_rating_line` for those that ask for reasons first:
there only the last line counts. Two numbers, none, or one off the scale are no rating. Neither ever raises.
"""

import re
from typing import NamedTuple

from judges.strategies.parsing import (
    CUT_OFF,
    MAX_READ,
    MAX_STATEMENT,
    declared,
    json_value,
    undressed,
)
from judges.strategies.thoughts import EMPTY

NO_RATING = "not a rating"
_KEYS = frozenset({"rating", "score", "grade", "overall", "overall_rating", "overall_score"})
_NAME = r"""(?:(?:my|the|final|overall)\s+){0,3}(?:rating|score|grade|mark)
    (?:\s*\(\s*(?P<from>[0-9]{1,2})\s*(?:-|–|to)\s*(?P<to>[0-9]{1,2})\s*\))?"""
_MARK = rf"{_NAME}\s*(?:is\s*:?|[:=])\s*"
_NUMBER = r"""[\[(]{0,2}(?P<number>[0-9]{1,3})(?:\.0{1,2})?[\])]{0,2}
    (?:\s*(?:/|out\s+of)\s*(?P<of>[0-9]{1,3}))?(?:\s+(?:points?|stars?))?\s*[.!]?"""
_OPINION = r"""(?:i\s+(?:(?:would|will)\s+|['’]d\s+)?|i['’]d\s+)(?:rate|give|score)\s+
    (?:(?:it|this|(?:the|this)\s+(?:output|response))\s+)?(?:an?\s+)?(?:(?:score|rating)\s+of\s+)?"""
_FLAGS = re.IGNORECASE | re.VERBOSE | re.ASCII
_STATEMENT = re.compile(rf"(?:{_MARK}|{_OPINION})?{_NUMBER}", _FLAGS)
# With words behind it on the same line: "7 - good", "7 (good)". They hold no other number, and no word that may be one.
_EXPLAINED = re.compile(
    rf"(?:{_MARK})?{_NUMBER}(?:\s*[-–—:,;]\s+|(?<=\.)\s+|\s+(?=\())(?P<words>[^\W\d][^\d]*|\([^\W\d][^\d]*\))",
    _FLAGS,
)
_OTHER = re.compile(
    r"\b(?:or|to|and\s+a\s+half|maybe|perhaps|actually|but|however|zero|one|two|three|four|five|six|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(rf"{_MARK}{_NUMBER}", _FLAGS)


class Rating(NamedTuple):
    """A number on the scale, or None and why there is none."""

    score: int | None
    reason: str = ""


def read_rating(text: str, low: int, high: int, *, cut_off: bool = False) -> Rating:
    """Read a number that was asked for alone, such as ``7``, ``Rating: 7`` or ``7/9`` (of `high`).

    Parameters
    ----------
    low, high : int
        The ends of the scale, both allowed.
    cut_off : bool
        The model ran into its token limit: "1" may have been about to be "10".
    """
    if cut_off:
        return Rating(None, CUT_OFF)
    if len(text) > MAX_READ:
        return Rating(None, "longer than a rating can be")
    bare = undressed(text)
    if not bare:
        return Rating(None, EMPTY)
    named = json_value(bare, _KEYS)
    if named is None and (marked := declared(bare)):
        named = marked[0]
    if named is not None:
        return _read(_STATEMENT, named, low, high)
    first, _, rest = bare.partition("\n")
    # An explanation may follow that names no other number.
    if re.search(r"\d", rest):
        return Rating(None, "more than one number" if re.search(r"\d", first) else NO_RATING)
    rating = _read(_STATEMENT, first, low, high)
    return rating if rating.reason != NO_RATING else _read(_EXPLAINED, first, low, high)


def read_rating_line(text: str, low: int, high: int, *, cut_off: bool = False) -> Rating:
    """Read the number from the last line, such as ``Rating: 7``, behind reasons."""
    if cut_off:
        return Rating(None, CUT_OFF)
    bare = undressed(text[-MAX_READ:])
    if not bare:
        return Rating(None, EMPTY)
    line = bare.rpartition("\n")[2]
    for piece in (bare, line):
        named = json_value(piece, _KEYS)
        if named is not None:
            return _read(_STATEMENT, named, low, high)
    if marked := declared(bare):
        return _read(_STATEMENT, marked[0], low, high)
    return _read(_MARKED, line, low, high)


def _read(pattern: re.Pattern[str], text: str, low: int, high: int) -> Rating:
    folded = " ".join(undressed(text).split())
    match = pattern.fullmatch(folded) if len(folded) <= MAX_STATEMENT else None
    said = match.groupdict() if match else {}
    words = said.get("words") or ""
    # "1. The output ..." may count a list.
    if match is None or _OTHER.search(words) or (words and folded.startswith("1.")):
        return Rating(None, NO_RATING)
    score = int(match["number"])
    if said.get("to") and (int(said["from"]), int(said["to"])) != (low, high):
        return Rating(None, f"on a scale from {said['from']} to {said['to']}, not from {low} to {high}")
    if match["of"] is not None and int(match["of"]) != high:
        return Rating(None, f"out of {match['of']}, on a scale to {high}")
    if not low <= score <= high:
        return Rating(None, f"{score} is off the scale from {low} to {high}")
    return Rating(score)

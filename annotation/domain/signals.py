"""What a browser summarizes of how one answer was given: counts and medians, never keys, texts or a sequence of times.

The summary comes from a machine that isn't ours. What doesn't fit is brought into its range or left out, and is no
error: it's a help to those who look at the work, never a reason to refuse an answer. Nothing here judges a person.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

DAY_MS = 24 * 60 * 60 * 1000
MAX_COUNT = 100_000
MAX_TEXT = 800
"""Characters of a summary; the page's own have about 250."""


@dataclass(frozen=True, slots=True)
class Signals:
    """One answer's summary. None is unknown, which is no sign of anything.

    Attributes
    ----------
    first_ms : from the item on the screen to the first key, press or turn of the wheel.
    hidden, hidden_ms : how often the page was hidden, and for how long in all.
    pointer, touch, keys : events of a mouse or pen, of fingers, and keys pressed.
    scrolled : percent of the texts of the item that came into view.
    pastes, pasted : pastes into text fields, and their characters.
    gaps, gap_ms, gap_spread_ms : pauses of less than five seconds between two keys in text fields: how many, their
        median, and the distance between their quartiles.
    typed, keyless : characters in text fields, and those of them that came neither with a key nor by pasting.
    untrusted : events that a script made, with no action of a person in the second before.
    automated : the browser says that it's driven by a program (`navigator.webdriver`).
    decoy : the field that people never see was filled in.
    """

    first_ms: int | None = None
    hidden: int | None = None
    hidden_ms: int | None = None
    pointer: int | None = None
    touch: int | None = None
    keys: int | None = None
    scrolled: int | None = None
    pastes: int | None = None
    pasted: int | None = None
    gaps: int | None = None
    gap_ms: int | None = None
    gap_spread_ms: int | None = None
    typed: int | None = None
    keyless: int | None = None
    untrusted: int | None = None
    automated: bool = False
    decoy: bool = False


FLAGS = ("automated", "decoy")
NUMBERS = tuple(each.name for each in fields(Signals) if each.name not in FLAGS)
_MOST = {"first_ms": DAY_MS, "hidden_ms": DAY_MS, "gap_ms": DAY_MS, "gap_spread_ms": DAY_MS, "scrolled": 100}


def signals_read(text: str, *, decoy: bool = False) -> Signals | None:
    """The summary that a page sent, every number in its range; None where it sent none that can be read.

    Parameters
    ----------
    text : a JSON object of at most `MAX_TEXT` characters, named as `Signals`.
    decoy : whether the field that people never see was filled in.

    Examples
    --------
    >>> signals_read('{"hidden": 2, "scrolled": 250, "keys": "many", "automated": true}')
    Signals(first_ms=None, hidden=2, hidden_ms=None, pointer=None, touch=None, keys=None, scrolled=100, pastes=None, \
pasted=None, gaps=None, gap_ms=None, gap_spread_ms=None, typed=None, keyless=None, untrusted=None, automated=True, \
decoy=False)
    >>> signals_read("nonsense") is None
    True
    """
    sent = _object(text)
    if sent is None:
        return Signals(decoy=True) if decoy else None
    numbers = {name: _number(sent.get(name), _MOST.get(name, MAX_COUNT)) for name in NUMBERS}
    found = Signals(**numbers, automated=sent.get("automated") is True, decoy=decoy)
    if found.keyless is not None:
        found = replace(found, keyless=None if found.typed is None else min(found.keyless, found.typed))
    if not found.gaps:
        found = replace(found, gap_ms=None, gap_spread_ms=None)
    return found


def _object(text: str) -> Mapping[str, Any] | None:
    if not text or len(text) > MAX_TEXT:
        return None
    try:
        sent = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return sent if isinstance(sent, dict) else None


def _number(value: Any, most: int) -> int | None:
    """A whole number from 0 to `most`; None for what is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value != value:  # NaN, which JSON of Python's own has
        return None
    return int(max(0, min(value, most)))

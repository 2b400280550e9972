"""Reading categories out of what a model wrote: one name of a list, or several.

Tolerant of dress and never guessing: names may be in another case, stand with their definitions, in JSON or in a list.
A name that is not in the list, one that could mean two of them, and several where one was asked for leave the answer
unread, with a reason. Nothing here raises.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from judges.strategies.item_prompt import one_line
from judges.strategies.parsing import CUT_OFF, MAX_READ, undressed
from judges.strategies.structured import (
    TWICE,
    Labels,
    folded_name,
    label_key,
    read_json,
    read_label,
    read_last_label,
)
from judges.strategies.thoughts import EMPTY
from judges.strategies.types import AspectView

Chosen = tuple[tuple[str, ...] | None, str]
"""The names that were read, in the order of the list, or None and why not."""

CATEGORIES, CATEGORY = "categories", "category"
NONE_CHOSEN = "chooses no category"
_NAMES = (CATEGORIES, CATEGORY, "labels", "label", "classes", "class", "answer", "choice", "verdict", "name")
_BESIDE = frozenset({"reasons", "reason", "reasoning", "explanation", "rationale", "justification"})
_SAID = re.compile(
    r"(?:(?:the|my)\s+)?(?:final\s+|best\s+|right\s+)?(?:category|categories|class|label)\s*(?:is\s*:?|are\s*:?|[:=])\s*",
    re.IGNORECASE,
)
_JSON = re.compile(r"(?:json\s*)?[{\[]", re.IGNORECASE)
_OBJECT = re.compile(r"(?:json\s*)?\{", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+")
_MOST_SHOWN = 6


@dataclass(frozen=True, slots=True)
class CategoryNames:
    """The categories that may be named.

    Attributes
    ----------
    names : tuple of str
        In the order of the list.
    labels : mapping of str to tuple of str
        Each name that no other can be taken for, with other words for it. Names that differ in their case alone are
        read as they are spelled, and not by these.
    """

    names: tuple[str, ...]
    labels: Labels

    @property
    def expected(self) -> str:
        more = len(self.names) - _MOST_SHOWN
        return ", ".join(self.names[:_MOST_SHOWN]) + (f" or {more} more" if more > 0 else "")


def category_names(aspects: Sequence[AspectView]) -> CategoryNames:
    """Return the categories of an item, with the words that each is known by.

    >>> names = category_names([AspectView("A", "Mars"), AspectView("B", "The Moon")])
    >>> names.labels["B"]
    ('The Moon', 'B The Moon', 'B) The Moon', 'B: The Moon')
    """
    return _names(tuple((each.key, one_line(each.text)) for each in aspects))


@lru_cache(maxsize=256)
def _names(listed: tuple[tuple[str, str], ...]) -> CategoryNames:
    words = {
        key: dict.fromkeys((text, f"{key} {text}", f"{key}) {text}", f"{key}: {text}") if text != key else ())
        for key, text in listed
    }
    said = Counter(
        folded
        for key, others in words.items()
        for folded in {label_key(key), *(label_key(word) for word in others)}
    )
    labels = {
        key: tuple(word for word in others if label_key(word) and said[label_key(word)] == 1)
        for key, others in words.items()
        if said[label_key(key)] == 1
    }
    return CategoryNames(tuple(key for key, _ in listed), labels)


def chosen_categories(
    text: str, offered: CategoryNames, *, several: bool, last: bool = False, cut_off: bool = False
) -> Chosen:
    """Read what a text chooses.

    Parameters
    ----------
    several : bool
        More than one may be chosen.
    last : bool
        The text reasons first, so what stands last counts.
    cut_off : bool
        The model ran into its token limit.

    >>> offered = category_names([AspectView("sport", "Games."), AspectView("money", "Prices.")])
    >>> chosen_categories("**Sport**", offered, several=False)
    (('sport',), '')
    >>> chosen_categories('{"categories": ["money", "Sport"]}', offered, several=True)
    (('sport', 'money'), '')
    >>> chosen_categories("sport or money", offered, several=False)
    (None, 'not one of sport, money')
    """
    if cut_off:
        return None, CUT_OFF
    if (whole := text.strip()) in offered.names:
        return (whole,), ""
    bare = undressed(text[-MAX_READ:] if last else text)
    if not bare:
        return None, EMPTY
    if bare in offered.names:
        return (bare,), ""
    if _JSON.match(bare) or several or bare.endswith(("}", "]")):
        found, problem = read_json(text, last=last)
        if not problem:
            return chosen_of_json(found, offered, several=several)
        if _OBJECT.match(bare):
            return None, problem
    if len(bare) > MAX_READ:
        return None, "longer than an answer can be"
    if several:
        return _listed(_last_part(bare) if last else bare, offered)
    name, problem = _one(bare, offered, last=last)
    return ((name,), "") if name is not None else (None, problem)


def chosen_of_json(found: Any, offered: CategoryNames, *, several: bool) -> Chosen:
    """Return the categories that a value of JSON names: a name, a list of names, or true and false of each."""
    found = _inside(found, offered.names)
    if found is TWICE:
        return None, "is given twice, with two different values"
    if isinstance(found, dict):
        flags = {name: value for name, value in found.items() if name not in _BESIDE}
        if not flags or not all(isinstance(value, bool) for value in flags.values()):
            return None, f"names none of {offered.expected}"
        found = [name for name, value in flags.items() if value]
        if unknown := [name for name in flags if _name(name, offered) is None]:
            return None, _unknown(unknown[0], offered)
    if isinstance(found, str) and several and _name(found, offered) is None:
        return _listed(found, offered)
    given = found if isinstance(found, list) else [found]
    read = [_name(_named(each), offered) for each in given]
    for raw, name in zip(given, read, strict=True):
        if name is None:
            return None, _unknown(_named(raw), offered)
    return _chosen([name for name in read if name is not None], offered, several=several)


def _inside(found: Any, names: Collection[str]) -> Any:
    """What stands under a usual name, or under the only one beside the reasons."""
    if not isinstance(found, dict):
        return found
    by_name = {folded_name(str(key)): value for key, value in found.items() if key not in names}
    for usual in _NAMES:
        if usual in by_name:
            return by_name[usual]
    rest = [value for key, value in by_name.items() if key not in _BESIDE]
    return rest[0] if len(rest) == 1 and len(by_name) == len(found) else found


def _named(value: Any) -> Any:
    """The name in an object about one category, such as ``{"name": "sport", "reason": "..."}``."""
    if isinstance(value, dict):
        return next((value[name] for name in _NAMES if name in value), value)
    return value


def _name(value: Any, offered: CategoryNames) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value).strip()
    if text in offered.names:
        return text
    folded = label_key(undressed(text))
    return next(
        (
            name
            for name, words in offered.labels.items()
            if folded == label_key(name) or folded in map(label_key, words)
        ),
        None,
    )


def _one(bare: str, offered: CategoryNames, *, last: bool) -> tuple[str | None, str]:
    before, _, line = bare.rpartition("\n") if last else ("", "", bare)
    # "Category: sport" is read as "Answer: sport" is.
    line = undressed(line)
    said = _SAID.sub("", line, count=1) if _SAID.match(line) else line
    if undressed(said) in offered.names:
        return undressed(said), ""
    if not offered.labels:
        return None, f"not one of {offered.expected}"
    stated = f"{before}\nAnswer: {said}" if last and said != line else f"{before}\n{said}" if last else said
    name, problem = (read_last_label if last else read_label)(stated, offered.labels)
    if name is None and problem.startswith("not one of"):
        problem = f"not one of {offered.expected}"
    elif name is None and problem.startswith("the last line"):
        problem = f"the last line holds none of {offered.expected}"
    return name, problem


def _last_part(bare: str) -> str:
    """What follows the last line that begins with what categories are called, such as ``Categories: a, b``."""
    lines = bare.split("\n")
    for place in range(len(lines) - 1, -1, -1):
        if _SAID.match(undressed(lines[place])):
            return "\n".join(lines[place:])
    return lines[-1]


def _listed(text: str, offered: CategoryNames) -> Chosen:
    """Read names that stand in a list: on lines of their own, or between commas."""
    bare = undressed(text)
    bare = _SAID.sub("", bare, count=1) if _SAID.match(bare) else bare
    whole = _name(bare, offered)
    if whole is not None:
        return (whole,), ""
    lines = [_ITEM.sub("", line, count=1) for line in bare.split("\n") if line.strip()]
    pieces = lines
    if len(lines) == 1:
        # "a, b, and c": a name with a comma in it stands on a line of its own, or in JSON.
        pieces = [
            re.sub(r"^and\s+", "", part.strip()) for part in re.split(r"[,;]", lines[0]) if part.strip()
        ]
        if len(pieces) == 1:
            pieces = re.split(r"\s+and\s+", pieces[0])
    names = [_name(piece, offered) for piece in pieces]
    for piece, name in zip(pieces, names, strict=True):
        if name is None:
            return None, _unknown(piece, offered)
    return _chosen([name for name in names if name is not None], offered, several=True)


def _chosen(names: Sequence[str], offered: CategoryNames, *, several: bool) -> Chosen:
    distinct = [name for name in offered.names if name in set(names)]
    if not distinct:
        return None, NONE_CHOSEN
    if len(distinct) > 1 and not several:
        return None, f"chooses {len(distinct)} categories where one was asked for"
    return tuple(distinct), ""


def _unknown(value: object, offered: CategoryNames) -> str:
    shown = " ".join(str(value).split())[:40]
    return f"'{shown}' is not one of {offered.expected}"

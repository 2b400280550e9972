"""Reading structured answers out of what a model wrote: JSON, or one label of several.

Tolerant of dress and never guessing: JSON may stand in a code fence or between other text, and a label may be bold or
be followed by its reason; what could be meant in two ways is unread, with a reason. Nothing here ever raises.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from judges.strategies.parsing import CUT_OFF, MAX_READ, declared, parsed, undressed, unparsed
from judges.strategies.thoughts import EMPTY
from judges.strategies.types import Verdict

MAX_LINE = 600
"""A label, its wording and its reason on one line are not longer."""
MAX_STARTS = 1000
"""Brackets that begin no JSON before a text is given up."""
MAX_DEPTH = 100
"""JSON that is nested deeper is none that was asked for."""


class Twice:
    """What stands for a name that was given two different values."""

    def __repr__(self) -> str:
        return "two different values"


TWICE = Twice()

Labels = Mapping[str, tuple[str, ...]]
"""What may be answered: each label with other words for it."""


def read_json(text: str, *, cut_off: bool = False, last: bool = False) -> tuple[Any, str]:
    """Find the JSON object in a text; without one, the JSON array.

    Parameters
    ----------
    cut_off : bool
        The model ran into its token limit: what follows could have changed the meaning.
    last : bool
        The text reasons first, so the last one counts. Otherwise several that differ are ambiguous.

    Returns
    -------
    (value, "") or (None, reason)
        In objects, a name that was given two different values has the value `TWICE`.

    >>> read_json('Here you are:\\n```json\\n{"1": 4,}\\n```')
    ({'1': 4}, '')
    """
    if cut_off:
        return None, CUT_OFF
    if not text.strip():
        return None, EMPTY
    if len(text) > MAX_READ:
        if not last:
            return None, "longer than an answer can be"
        text = text[-MAX_READ:]
    found = _values(text)
    repaired = [] if _objects(found) else _values(_without_trailing_commas(text))
    candidates = _objects(found) or _objects(repaired) or found or repaired
    if not candidates:
        return None, "holds no JSON"
    if not last and any(value != candidates[0] for value in candidates):
        return None, "holds several JSON objects that differ"
    return candidates[-1], ""


NAMING = ("aspect", "id", "number", "requirement", "node", "aspect_question", "question")
"""What objects call the thing that they are about; "aspect_question" is TOWER's."""


def numbers_of(texts: Iterable[str]) -> dict[str, str]:
    """Return the number of each text, 1 to n, under its folded words: what repeats a text names it.

    >>> numbers_of(["Is it a poem?"])
    {'is_it_a_poem': '1'}
    """
    found: dict[str, str] = {}
    for number, text in enumerate(texts, start=1):
        name = folded_name(text)
        # Two texts of the same words can be told apart by their numbers alone.
        found[name] = "" if name in found else str(number)
    return {name: number for name, number in found.items() if number and name}


def number_in(raw: object, numbers: Mapping[str, str]) -> str:
    """Return the number that a name means, as text; what means none stays recognizable.

    >>> [number_in(raw, {"is_it_a_poem": "1"}) for raw in (2, "Aspect 2", "1. Is it a poem?", "Is it one?")]
    ['2', '2', '1', 'is_it_one']
    """
    whole = as_integer(raw)
    if whole is not None:
        return str(whole)
    if not isinstance(raw, str):
        return repr(raw)[:40]
    name = folded_name(raw)
    return numbers.get(name) or numbers.get(re.sub(r"^\d{1,4}_", "", name)) or name[:40]


def by_name(
    found: Any, names: Sequence[str], wrapper: str = "", *, numbers: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return what an object, or a list of objects, says of each of these names, leaving out what it does not name.

    Names match exactly, or folded ("Overall quality" for overall_quality); numbers match whatever stands around them
    ("Requirement 2" for 2). The names may stand in an object of their own, such as ``{"ratings": {...}}``.

    >>> by_name({"Answer 1": 4, "2.": 5, "note": "x"}, ["1", "2"])
    {'1': 4, '2': 5}
    >>> by_name([{"aspect_question": "Is it a poem?", "score": 4}], ["1"], numbers={"is_it_a_poem": "1"})
    {'1': {'score': 4}}
    """
    if isinstance(found, dict) and wrapper not in names and isinstance(found.get(wrapper), dict | list):
        found = found[wrapper]
    if isinstance(found, dict) and len(found) == 1 and isinstance(inside := next(iter(found.values())), list):
        found = inside
    if isinstance(found, list):
        found = _of_rows(found, numbers)
    if not isinstance(found, dict):
        return {}
    found = _pairs([(numbers.get(folded_name(key), key), value) for key, value in found.items()])
    matched = _matched(found, names)
    inner = [value for value in found.values() if isinstance(value, dict)]
    if not matched and len(inner) == 1:
        found = inner[0]
        matched = _matched(found, names)
    said: dict[str, Any] = {}
    for key, name in matched.items():
        value = found[key]
        said[name] = TWICE if name in said and said[name] != value else value
    return {name: said[name] for name in names if name in said}


def _of_rows(rows: Sequence[Any], numbers: Mapping[str, str]) -> dict[str, Any]:
    """Return objects that each name what they are about as one object."""
    pairs = []
    for row in rows:
        name = next((each for each in NAMING if isinstance(row, dict) and each in row), None)
        if name is not None:
            rest = {key: value for key, value in row.items() if key not in NAMING}
            pairs.append((number_in(row[name], numbers), rest))
    return _pairs(pairs)


def folded_name(name: str) -> str:
    """Return a name without its dress: the number in it, or else its words in lower case.

    >>> folded_name("Requirement 2."), folded_name("Overall quality")
    ('2', 'overall_quality')
    """
    number = re.fullmatch(r"[^\W\d]*[\W_]*0*(\d{1,4})[\W_]*", name, re.ASCII)
    if number:
        return number[1]
    return re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", name).casefold()).strip("_")


def as_integer(value: object) -> int | None:
    """Read a whole number as models write them in JSON: 4, 4.0, "4".

    >>> [as_integer(value) for value in (4, 4.0, " 4 ", "4.5", True, None, "four")]
    [4, 4, 4, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\.0)?\s*", value, re.ASCII)
        return int(match[1]) if match else None
    return None


def scalar(value: object) -> object:
    """Return what an object of one answer says: ``{"rating": 4, "reason": "..."}`` says 4."""
    if isinstance(value, dict):
        for name in ("rating", "score", "answer", "value", "verdict"):
            if name in value:
                return value[name]
        if len(value) == 1:
            return next(iter(value.values()))
    return value


Said = tuple[str | None, str]
"""The label that was read, or None and why not."""


def said_of(named: Mapping[str, Any], name: str) -> tuple[Any, str]:
    """Return what a structured answer says of one of its parts, or None and why it says nothing of it."""
    if name not in named:
        return None, "is missing"
    value = scalar(named[name])
    return (None, "is given twice, with two different values") if value is TWICE else (value, "")


def read_number(named: Mapping[str, Any], name: str, labels: Labels, *, what: str) -> Said:
    """Read the number, called `what`, that a structured answer gives one of its parts."""
    value, problem = said_of(named, name)
    if problem:
        return None, problem
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None, f"is no {what}"
    return read_label(str(value), labels)


def verdict_of_parts(
    said: Mapping[str, Said],
    raw: str,
    meaning: Callable[[str], Any],
    value: Callable[[dict[str, Any]], dict[str, Any]],
) -> Verdict:
    """Return a verdict from what was read of each part.

    It is unparsed if anything is missing, with what could be read as `value["partial"]`.

    Parameters
    ----------
    meaning : callable
        What a label means.
    value : callable
        Makes the verdict's value of all meanings.
    """
    found = {key: meaning(label) for key, (label, _) in said.items() if label is not None}
    if len(found) == len(said):
        return parsed(raw, value(found))
    reason = "; ".join(f"{key}: {problem}" for key, (label, problem) in said.items() if label is None)
    return replace(unparsed(raw, reason), value={"partial": found} if found else None)


def read_label(text: str, labels: Labels, *, cut_off: bool = False) -> Said:
    """Read one label that was asked for alone.

    Parameters
    ----------
    labels : mapping of str to tuple of str
        Each label with other words for it, such as a rating and its wording.

    Returns
    -------
    (label, "") or (None, reason)

    >>> read_label("**Yes.** All five are there.", {"yes": (), "no": ()})
    ('yes', '')
    >>> read_label("Yes and no", {"yes": (), "no": ()})
    (None, 'not one of yes, no')
    """
    if cut_off:
        return None, CUT_OFF
    if len(text) > MAX_READ:
        return None, "longer than an answer can be"
    bare = undressed(text)
    if not bare:
        return None, EMPTY
    if bare.startswith("{") or _FENCED_OBJECT.match(bare):
        value, _ = read_json(bare)
        inner = scalar(value)
        bare = undressed(str(inner)) if isinstance(inner, str | int | float) else bare
    if _has_signs(labels):
        return _read_signed(bare, labels)
    forms = _forms(tuple((label, tuple(words)) for label, words in labels.items()))
    label = forms.whole(bare)
    if label is None and (marked := declared(bare)):
        label = forms.whole(marked[0])
    if label is not None:
        return label, ""
    first, _, rest = bare.partition("\n")
    led = forms.whole(first) if rest else None
    if led is not None and (rest.startswith("\n") or _EXPLANATION.match(undressed(rest))):
        return (None, TAKEN_BACK) if forms.says_other(rest, led) else (led, "")
    led, reason = forms.leading(first)
    if led is None:
        return None, f"not one of {', '.join(labels)}"
    return (None, TAKEN_BACK) if forms.says_other(f"{reason}\n{rest}", led, near=reason) else (led, "")


def read_last_label(text: str, labels: Labels, *, cut_off: bool = False) -> Said:
    """Read the label of a text that reasons first, from its last line, such as ``Rating: 4``."""
    if cut_off:
        return None, CUT_OFF
    bare = undressed(text[-MAX_READ:])
    if not bare:
        return None, EMPTY
    last = undressed(bare.rpartition("\n")[2])
    if _has_signs(labels):
        return _read_signed(last, labels)
    match = _MARKED.fullmatch(" ".join(last.split())[:MAX_LINE])
    forms = _forms(tuple((label, tuple(words)) for label, words in labels.items()))
    label = forms.whole(match[1]) if match else None
    if label is None and (marked := declared(bare)):
        label = forms.whole(marked[0])
    if label is None:
        return None, f"the last line holds none of {', '.join(labels)}"
    return label, ""


_SIGNED = re.compile(r"(?<![\w.])[+-]?\d{1,4}(?![\w.]*\d)", re.ASCII)
_LOOSE_SIGN = re.compile(r"[-–—]\s+\d|\d\s*[-–—/]\s*\d|[–—]\d|\w-\d")
TAKEN_BACK = "an answer and an explanation that may take it back"

_NOUN = r"(?:rating|score|grade|answer|option|verdict|choice|level)"
_MARKED = re.compile(rf"(?:(?:my|the)\s+)?(?:final\s+)?{_NOUN}\s*(?:is\s*)?[:=]\s*(.+)", re.IGNORECASE)
_EXPLANATION = re.compile(r"(?:explanation|reason(?:ing)?|rationale|justification|because)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:actually|correction|wait|on\s+second\s+thought|change\s+my|maybe|perhaps)\b", re.IGNORECASE
)
_HEDGE = re.compile(r"\b(?:but|however|partly|partially|mostly|almost|except|somewhat)\b", re.IGNORECASE)
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+\\?(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
_OPENING = re.compile(r"[{\[]")
_FENCED_OBJECT = re.compile(r"json\s*\{", re.IGNORECASE)


class _Forms:
    """The ways in which one of several labels is said."""

    def __init__(self, labels: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        numbers = [label for label, _ in labels if label.isdigit()]
        # Beside numbers there may be "not applicable".
        self.numeric = len(numbers) > 1 and len(numbers) >= len(labels) - 1
        self.words = {label_key(word): label for label, words in labels for word in (label, *words)}
        # Longest first: "cannot tell" before what it might begin with.
        says = "|".join(re.escape(word) for word in sorted(self.words, key=len, reverse=True))
        out_of = rf"(?:\s*(?:/|out\s+of)\s*{re.escape(numbers[-1])}(?!\w))?" if self.numeric else ""
        intro = rf"(?:(?:(?:my|the)\s+)?(?:final\s+)?{_NOUN}(?:\s+is\s*:?|\s*[:=-])?\s*)?"
        label = rf"(?:\[\[|[(\[])?(?P<label>{says})(?!\w)(?:\]\]|[)\]])?{out_of}"
        self._whole = re.compile(rf"{intro}{label}\s*[.!]?", re.IGNORECASE)
        ends_label = r"(?:\s*[,;:.!=]+\s+|\s*[-–—]+\s*|\s+(?=because\b)|\s+(?=\())"
        self._leading = re.compile(rf"{intro}{label}{ends_label}(?P<rest>.+)", re.IGNORECASE)
        # A number that begins a line may count a list.
        ends = r"[.!]?\s*$" if self.numeric else r"(?:[,.;:!]|$)"
        self._claim = re.compile(
            rf"(?:(?:^|[.!?]\s)[(\[]?(?P<led>{says})[)\]]?\s*{ends}"
            rf"|\b{_NOUN}(?:\s+(?:is|of|should\s+be|would\s+be)\s*:?|\s*[:=])\s*(?P<said>{says})(?!\w))",
            re.IGNORECASE | re.MULTILINE,
        )
        self._alone = re.compile(rf"(?<![\w.,])(?P<alone>{says})(?![\w])", re.IGNORECASE)

    def whole(self, text: str) -> str | None:
        """The label that is the whole text, alone or with its own wording behind it."""
        folded = " ".join(undressed(text).split())
        if len(folded) > MAX_LINE:
            return None
        if (alone := self.words.get(label_key(folded))) is not None:
            return alone
        if match := self._whole.fullmatch(folded):
            return self._label(match["label"])
        match = self._leading.fullmatch(folded)
        if match and self.words.get(label_key(match["rest"])) == self._label(match["label"]):
            return self._label(match["label"])
        return None

    def leading(self, line: str) -> tuple[str | None, str]:
        """The label that a line begins with, and what follows it."""
        folded = " ".join(undressed(line).split())
        match = self._leading.fullmatch(folded) if len(folded) <= MAX_LINE else None
        if match is None or (self.numeric and folded.startswith("1. ")):  # it may count a list
            return None, ""
        return self._label(match["label"]), match["rest"]

    def says_other(self, text: str, label: str, near: str = "") -> bool:
        """Whether an explanation could take the label back: it doubts, or states another one."""
        bare = "\n".join(" ".join(line.split()) for line in undressed(text).splitlines())
        if _DOUBT.search(bare) or (not self.numeric and _HEDGE.search(bare)):
            return True
        # "4 - or 5" on one line: any other number may be meant.
        found = [match["alone"] for match in self._alone.finditer(near)] if self.numeric else []
        found += [match["led"] or match["said"] for match in self._claim.finditer(bare)]
        return any(self._label(word) != label for word in found)

    def _label(self, word: str) -> str:
        return self.words[label_key(word)]


def _has_signs(labels: Labels) -> bool:
    """Whether some labels are numbers below zero."""
    return any(_SIGNED.fullmatch(label) and label.startswith("-") for label in labels)


def _read_signed(text: str, labels: Labels) -> Said:
    """Read a label of a scale with numbers below zero: the only number of the text, with its sign, or other words.

    "Rating: -2" says -2, "Rating - 2" could say either and is unread.

    >>> [_read_signed(text, {"-1": (), "0": (), "1": ()})[0] for text in ("-1", "+1", "Rating: −1.", "Rating - 1")]
    ['-1', '1', '-1', None]
    """
    folded = " ".join(unicodedata.normalize("NFKC", text).replace("−", "-").split())
    numbers = {match[0].removeprefix("+") for match in _SIGNED.finditer(folded)}
    if not numbers:
        marked = _MARKED.fullmatch(folded[:MAX_LINE])
        said = label_key(marked[1] if marked else folded)
        found = next(
            (label for label, words in labels.items() if said in map(label_key, (label, *words))), None
        )
        return (found, "") if found is not None else (None, f"not one of {', '.join(labels)}")
    if len(numbers) > 1 or _LOOSE_SIGN.search(folded):
        return None, "more than one number, or a dash that may be a sign"
    (number,) = numbers
    number = "0" if number == "-0" else number
    return (number, "") if number in labels else (None, f"not one of {', '.join(labels)}")


@lru_cache(maxsize=256)
def _forms(labels: tuple[tuple[str, tuple[str, ...]], ...]) -> _Forms:
    return _Forms(labels)


def label_key(text: str) -> str:
    """Return a label without case and dress, by which two spellings of it are the same."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .!()")


def _values(text: str) -> list[Any]:
    """All JSON objects and arrays that are not empty and stand in no other."""
    found, place, failed = [], 0, 0
    while failed < MAX_STARTS and (start := _OPENING.search(text, place)):
        try:
            value, place = _DECODER.raw_decode(text, start.start())
        except ValueError:
            place, failed = start.end(), failed + 1
            continue
        except RecursionError:
            break
        if value and _depth(value) <= MAX_DEPTH:
            found.append(value)
    return found


def _objects(values: list[Any]) -> list[Any]:
    return [value for value in values if isinstance(value, dict)]


def _depth(value: object) -> int:
    deepest, open_ = 0, [(value, 1)]
    while open_:
        part, depth = open_.pop()
        deepest = max(deepest, depth)
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        open_ += [(each, depth + 1) for each in inner]
    return deepest


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; Python's own would keep the last of two values and say nothing."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = TWICE if name in found and found[name] != value else value
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_no_constant, strict=False)


def _without_trailing_commas(text: str) -> str:
    return _STRING_OR_COMMA.sub(lambda match: match[1] or "", text)


def _matched(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """The name that each key means, for the keys that mean one."""
    exact, folded = set(names), [folded_name(name) for name in names]
    # Two names that fold to the same are told apart by their exact spelling alone.
    known = {key: name for key, name in zip(folded, names, strict=True) if folded.count(key) == 1}
    meant = {key: key if key in exact else known.get(folded_name(key)) for key in found}
    return {key: name for key, name in meant.items() if name is not None}


def label_schema(names: Iterable[str], allowed: Sequence[object]) -> dict[str, Any]:
    """Return a JSON schema of an object with these names, each one of the allowed values."""
    kept = list(names)
    kind = "integer" if all(isinstance(value, int) for value in allowed) else "string"
    return closed({name: {"type": kind, "enum": list(allowed)} for name in kept})


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON schema of an object with exactly these properties, all of them required."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def schema_text(schema: Mapping[str, Any]) -> str:
    """Return a schema as JSON text whose names keep their order, which is that of the answer."""
    return json.dumps(schema, ensure_ascii=True, separators=(",", ":"))

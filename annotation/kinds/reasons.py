"""Reasons: short texts of a study's own ("More accurate", "Shorter") that a person picks beside an answer.

Stored in a value as ``"reasons"``, a list of keys in the order of the study's list, beside what was answered. A value
without it comes from a study that did not ask; of one that did, an empty list says that none was picked.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from annotation.domain.errors import LabelValueError, StudyRuleError
from annotation.kinds.values import Stored, Value, ValueRules, quoted_short, spoken

REASONS = "reasons"
PICKED = "yes"
"""What the form field of a reason has that is picked."""
PREFIX = "reason-"
MAX_REASONS = 12
MAX_WORDS = 60
KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
KEY_EXPECTED = "expected up to 40 lower-case letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason that can be picked: its key in a label, and its words."""

    key: str
    words: str

    @property
    def field(self) -> str:
        """The form field that picks it."""
        return field_of_reason(self.key)


def field_of_reason(key: str) -> str:
    """The form field that picks a reason."""
    return f"{PREFIX}{key}"


def is_reason_field(name: str) -> bool:
    """Whether a form field picks a reason."""
    return name.startswith(PREFIX)


def reasons_read(stored: object) -> tuple[Reason, ...]:
    """The reasons of a study in their order, or a `StudyRuleError` that says which part is wrong.

    Examples
    --------
    >>> reasons_read([{"key": "short", "words": "Shorter"}])
    (Reason(key='short', words='Shorter'),)
    """
    if not isinstance(stored, list):
        raise _error("", "expected a list of reasons.")
    if len(stored) > MAX_REASONS:
        raise _error("", f"expected at most {MAX_REASONS}, found {len(stored)}.")
    found = tuple(_reason(entry, f"[{place}]") for place, entry in enumerate(stored))
    for place, reason in enumerate(found):
        before = found[:place]
        if reason.key in [other.key for other in before]:
            raise _error(f"[{place}].key", f"{reason.key!r} is the key of an earlier reason.")
        if reason.words.casefold() in [other.words.casefold() for other in before]:
            raise _error(f"[{place}].words", f"{reason.words!r} is listed twice.")
    return found


def picked(text: Callable[[str], str], reasons: Iterable[str]) -> list[str]:
    """The keys of the reasons that a form has picked."""
    return [key for key in reasons if text(field_of_reason(key)) == PICKED]


def reason_fields(value: Stored) -> dict[str, str]:
    """The reasons of a value as the fields of the work form."""
    return {field_of_reason(key): PICKED for key in reasons_in(value) or ()}


def reasons_in(value: Stored) -> list[str] | None:
    """The keys that a stored value has; None where it was not asked.

    >>> reasons_in({"choice": 1, "reasons": ["short"]}), reasons_in({"choice": 1}) is None
    (['short'], True)
    """
    found = value.get(REASONS)
    return [str(key) for key in found] if isinstance(found, list | tuple) else None


def without_reasons(value: object, rules: ValueRules) -> tuple[object, object]:
    """A value without its reasons, and these as they were given; None where it has none, or where none are asked and
    the value is refused for them.
    """
    asked = bool(rules.reasons) or rules.open_names
    if not asked or not isinstance(value, Mapping) or REASONS not in value:
        return value, None
    return {name: said for name, said in value.items() if name != REASONS}, value[REASONS]


def with_reasons(value: Value, reasons: Sequence[str] | None) -> Value:
    """A value with reasons beside it; as it is where there are None."""
    return value if reasons is None else {**value, REASONS: list(reasons)}


def reasons_checked(given: object, rules: ValueRules) -> list[str] | None:
    """The keys in the order of the rules, each once; `LabelValueError` of one that is not offered.

    Examples
    --------
    >>> reasons_checked(["short", "true", "short"], ValueRules(reasons=("true", "short")))
    ['true', 'short']
    """
    if given is None:
        return None
    if not isinstance(given, list | tuple):
        raise LabelValueError(REASONS, f"expected a list of reasons, found {quoted_short(given)}.")
    for key in given:
        if rules.open_names:
            if not isinstance(key, str) or not KEY.fullmatch(key):
                raise LabelValueError(REASONS, f"{KEY_EXPECTED}, found {quoted_short(key)}.")
        elif key not in rules.reasons:
            listed = ", ".join(rules.reasons)
            raise LabelValueError(REASONS, f"expected reasons among {listed}, found {quoted_short(key)}.")
    found = dict.fromkeys(given)
    return list(found) if rules.open_names else [key for key in rules.reasons if key in found]


def reason_words(keys: Iterable[str], reasons: Iterable[Reason] = ()) -> list[str]:
    """The words of reasons; of one that no study lists, its key as words.

    >>> reason_words(["short", "more_accurate"], [Reason("short", "Shorter")])
    ['Shorter', 'More accurate']
    """
    known = {reason.key: reason.words for reason in reasons}
    return [known.get(key) or spoken(key) for key in keys]


def _reason(entry: object, place: str) -> Reason:
    if not isinstance(entry, Mapping):
        raise _error(place, "expected an object with key and words.")
    if unknown := sorted(str(name) for name in entry if name not in ("key", "words")):
        raise _error(f"{place}.{unknown[0]}", "is not expected here.")
    key, words = entry.get("key"), entry.get("words")
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise _error(f"{place}.key", f"{KEY_EXPECTED}.")
    if not isinstance(words, str) or not words.strip() or len(words) > MAX_WORDS:
        raise _error(f"{place}.words", f"expected a text of 1 to {MAX_WORDS} characters.")
    return Reason(key, " ".join(words.split()))


def _error(place: str, message: str) -> StudyRuleError:
    return StudyRuleError(REASONS, f"{place}: {message}" if place else message)

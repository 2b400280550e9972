"""Dimensions: the same comparison of two responses, asked in several respects (overall, factual accuracy, style).

A study lists them, each with a name and a definition, and marks one as the overall one. What a person says overall is
the label's choice, which all figures use. The others stand beside it in the value, by key, each in the form of a pair's
answer: ``{"choice": 1, "dimensions": {"factual": {"choice": 2}, "style": {"choice": 0}}}``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.domain.errors import LabelValueError, StudyRuleError
from annotation.kinds.values import Stored, Value, ValueRules, quoted_short

RULE = "dimensions"
"""The rule of studies that list them, and what kinds that can have them list it as."""
DIMENSIONS = "dimensions"
PREFIX = "dimension-"
MAX_DIMENSIONS = 8
MAX_NAME = 60
MAX_DEFINITION = 500
KEY = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
KEY_EXPECTED = "expected up to 40 lower-case letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A respect in which two responses are compared."""

    key: str
    name: str
    definition: str = ""
    overall: bool = False

    @property
    def field(self) -> str:
        """The form field of its answer."""
        return "choice" if self.overall else field_of_dimension(self.key)

    @property
    def part(self) -> str:
        """Its key in the numbers of a value; empty of the overall one."""
        return "" if self.overall else self.key


def field_of_dimension(key: str) -> str:
    """The form field of the answer on a dimension that isn't the overall one."""
    return f"{PREFIX}{key}"


def is_dimension_field(name: str) -> bool:
    """Whether a form field is the answer on a dimension."""
    return name.startswith(PREFIX)


def dimensions_read(stored: object) -> tuple[Dimension, ...]:
    """The dimensions of a study in their order, or a `StudyRuleError` that says which part is wrong.

    Examples
    --------
    >>> dimensions_read([{"key": "all", "name": "Overall", "overall": True}, {"key": "style", "name": "Style"}])[1]
    Dimension(key='style', name='Style', definition='', overall=False)
    >>> dimensions_read([{"key": "style", "name": "Style"}])
    Traceback (most recent call last):
    ...
    annotation.domain.errors.StudyRuleError: dimensions: expected at least 2, found 1.
    """
    if not isinstance(stored, list):
        raise _error("", "expected a list of dimensions.")
    if not stored:
        return ()
    if len(stored) == 1:
        raise _error("", "expected at least 2, found 1.")
    if len(stored) > MAX_DIMENSIONS:
        raise _error("", f"expected at most {MAX_DIMENSIONS}, found {len(stored)}.")
    found = tuple(_dimension(entry, f"[{place}]") for place, entry in enumerate(stored))
    for place, dimension in enumerate(found):
        before = found[:place]
        if dimension.key in [other.key for other in before]:
            raise _error(f"[{place}].key", f"{dimension.key!r} is the key of an earlier dimension.")
        if dimension.name.casefold() in [other.name.casefold() for other in before]:
            raise _error(f"[{place}].name", f"{dimension.name!r} is the name of an earlier dimension.")
    n_overall = sum(dimension.overall for dimension in found)
    if n_overall != 1:
        raise _error("", f"expected one that is the overall one, found {n_overall or 'none'}.")
    return found


def dimensions_checked(
    given: object, rules: ValueRules, answer: Callable[[object], Value]
) -> dict[str, Value]:
    """What a value says of each dimension, in the order of the rules; `LabelValueError` names the one at fault.

    Parameters
    ----------
    answer : callable
        Checks one answer.
    """
    if not isinstance(given, Mapping):
        raise LabelValueError(DIMENSIONS, f"expected an object of answers, found {quoted_short(given)}.")
    for key in given:
        if rules.open_names:
            if not isinstance(key, str) or not KEY.fullmatch(key):
                raise LabelValueError(f"{DIMENSIONS}.{key}", f"{KEY_EXPECTED}.")
        elif key not in rules.dimensions:
            names = f"one of {', '.join(rules.dimensions)}" if rules.dimensions else "none"
            raise LabelValueError(f"{DIMENSIONS}.{key}", f"unknown dimension, expected {names}.")
    found = {}
    for key in rules.dimensions or sorted(given):
        if key not in given:
            if rules.complete:
                raise LabelValueError(f"{DIMENSIONS}.{key}", "is missing.")
            continue
        if given[key] is None and rules.open_names:  # a table has a null where a row says nothing
            continue
        try:
            found[key] = answer(given[key])
        except LabelValueError as error:
            raise LabelValueError(f"{DIMENSIONS}.{key}.{error.field}", error.message) from error
    return found


def said_on(value: Stored) -> Mapping[str, Stored]:
    """What a stored value says on each dimension that isn't the overall one.

    >>> said_on({"choice": 1, "dimensions": {"style": {"choice": 0}}}), said_on({"choice": 1})
    ({'style': {'choice': 0}}, {})
    """
    found = value.get(DIMENSIONS)
    return found if isinstance(found, Mapping) else {}


def on_dimension(value: Stored | None, key: str) -> Stored | None:
    """What a stored value says on one dimension, in the form of a value; None where it says nothing. Without a key it
    is the whole value.
    """
    if value is None or not key:
        return value
    return said_on(value).get(key)


def _dimension(entry: object, place: str) -> Dimension:
    if not isinstance(entry, Mapping):
        raise _error(place, "expected an object with key, name and definition.")
    if unknown := sorted(str(name) for name in entry if name not in ("key", "name", "definition", "overall")):
        raise _error(f"{place}.{unknown[0]}", "is not expected here.")
    key, overall = entry.get("key"), entry.get("overall", False)
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise _error(f"{place}.key", f"{KEY_EXPECTED}.")
    if not isinstance(overall, bool):
        raise _error(f"{place}.overall", "expected true or false.")
    name = entry.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME:
        raise _error(f"{place}.name", f"expected a text of 1 to {MAX_NAME} characters.")
    definition = entry.get("definition", "")
    if not isinstance(definition, str) or len(definition) > MAX_DEFINITION:
        raise _error(f"{place}.definition", f"expected a text of at most {MAX_DEFINITION} characters.")
    return Dimension(key, " ".join(name.split()), " ".join(definition.split()), overall)


def _error(place: str, message: str) -> StudyRuleError:
    return StudyRuleError(RULE, f"{place}: {message}" if place else message)

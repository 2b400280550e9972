"""JSON from a file or a request: strict, and an error that says where.

Of what is no JSON the place is a line and a column; of what is read and can't be taken (a key twice, NaN, too large a
number, a character that no database holds, too many levels) it is the path of the part, such as ``items[0].label``.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from web.plain_text import quoted

MAX_DEPTH = 32
"""Levels of lists and objects in each other."""
MAX_DIGITS = 300
"""Of a whole number: a longer one fits into no floating-point number."""
SHOWN_DIGITS = 40
PathPart: TypeAlias = str | int
_TEXT_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)


class JsonTextError(Exception):
    """A text that can't be read. `problem` says what was expected and found, `path` leads to the part, if any."""

    def __init__(self, problem: str, path: Iterable[PathPart] = ()) -> None:
        self.problem = problem
        self.path = tuple(path)
        super().__init__(problem)


class JsonSyntaxError(JsonTextError):
    """A text that is no JSON from a line and a column on, both counted from 1."""

    def __init__(self, problem: str, line: int, column: int) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


def json_read(text: str, *, most_depth: int = MAX_DEPTH) -> Any:
    """Strict JSON: no NaN, no infinity, no key twice, nothing that a database cannot hold.

    Raises
    ------
    JsonTextError

    Examples
    --------
    >>> json_read('{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    try:
        value = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_no_duplicates,
        )
    except json.JSONDecodeError as error:
        raise JsonSyntaxError(error.msg, error.lineno, error.colno) from None
    except RecursionError:
        raise _too_deep(text, most_depth) from None
    if refused := _refused_part(value, 0, most_depth):
        path, problem = refused
        raise JsonTextError(problem, path)
    return value


def unstorable(value: object) -> str | None:
    """Say what in a value could not be stored everywhere, or None."""
    refused = _refused_part(value, 0, MAX_DEPTH)
    return None if refused is None else refused[1]


def path_words(path: Iterable[PathPart]) -> str:
    """A path as messages have it.

    >>> path_words(["items", 0, "label"])
    '.items[0].label'
    """
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


class _NoNumber(float):
    """Stands for a number that JSON or a floating-point number doesn't have, until its place is known."""

    problem: str

    @classmethod
    def of(cls, words: str) -> "_NoNumber":
        number = cls("inf")
        number.problem = f"expected JSON; {words}"
        return number


class _KeyTwice(dict[str, Any]):
    """An object that has a key twice, until its place is known."""

    problem: str


def _refused_part(value: object, depth: int, most: int) -> tuple[tuple[PathPart, ...], str] | None:
    """The path of the first part that could not be stored everywhere, and why."""
    if isinstance(value, str):
        if "\x00" in value:
            return (), f"expected text, found the character NUL in {quoted(value)}."
        # Only a lone surrogate cannot be encoded; plain ASCII is passed at once.
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            return (), f"expected Unicode text, found a lone surrogate in {quoted(value)}."
        return None
    if isinstance(value, dict | list):
        if isinstance(value, _KeyTwice):
            return (), value.problem
        if depth >= most:
            return (), f"expected at most {most} levels of nesting, found more."
        if isinstance(value, dict):
            for key, part in value.items():
                if refused := _refused_part(key, depth + 1, most):
                    return refused
                if refused := _refused_part(part, depth + 1, most):
                    return (key, *refused[0]), refused[1]
            return None
        for place, part in enumerate(value):
            if refused := _refused_part(part, depth + 1, most):
                return (place, *refused[0]), refused[1]
        return None
    if isinstance(value, float) and not math.isfinite(value):
        if isinstance(value, _NoNumber):
            return (), value.problem
        return (), f"expected a finite number, found {value}."
    if value is None or isinstance(value, bool | int | float):
        return None
    problem = "expected text, a number, true, false, null, a list or an object"
    return (), f"{problem}, found {type(value).__name__}."


def _too_deep(text: str, most: int) -> JsonSyntaxError:
    """Where more levels begin than may be: the parser's stack ends long after that, and tells no place."""
    depth = 0
    for bracket in _brackets(text):
        depth += 1 if text[bracket] in "[{" else -1
        if depth > most:
            line = text.count("\n", 0, bracket) + 1
            column = bracket - text.rfind("\n", 0, bracket)
            return JsonSyntaxError(f"more than {most} levels of nesting", line, column)
    return JsonSyntaxError("nested too deeply", 1, 1)


def _brackets(text: str) -> Iterator[int]:
    return (found.start() for found in _TEXT_OR_BRACKET.finditer(text) if found[0][0] != '"')


def _no_constant(name: str) -> float:
    return _NoNumber.of(f"found {name}, which isn't JSON; write null.")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _NoNumber.of(_too_large(text))


def _whole(text: str) -> float:
    return int(text) if len(text) <= MAX_DIGITS else _NoNumber.of(_too_large(text))


def _too_large(text: str) -> str:
    shown = text if len(text) <= SHOWN_DIGITS else f"{text[:SHOWN_DIGITS]}…"
    return f"found the number {shown}, which is too large."


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                found = _KeyTwice()
                found.problem = f"expected JSON; found the key {quoted(key)} twice in one object."
                break
            seen.add(key)
    return found

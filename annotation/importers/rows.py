"""One row of any source, and reading its fields: each method returns what is right or names what is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.records import EMPTY, Origin

MAX_ID = 200
WHOLE_TEXT = re.compile("-?[0-9]{1,19}")
"""A whole number as it is written, of no more digits than 64 bits have."""
MAX_CATEGORY = 100
MAX_SUBSET = 200
MAX_SYSTEM = 200
MAX_JUDGE = 200
MAX_ASPECT_KEY = 100
SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
Progress = Callable[[str, int], None]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """`prefix` is put before the names of fields: "labels[0]." for what is nested.

    `named` says what the file itself calls a field, where that is another name.
    """

    origin: Origin
    data: Mapping[str, Any]
    prefix: str = ""
    named: Mapping[str, str] | None = None

    def fail(self, field: str | None, message: str) -> NoReturn:
        name = None if field is None else f"{self.prefix}{(self.named or EMPTY).get(field, field)}"
        raise ImportFileError(self.origin.file, self.origin.row, name, message)

    def within(self, field: str, data: object) -> Row:
        """The object found in `field`, as a row of its own."""
        if not isinstance(data, dict):
            self.fail(field, f"expected an object, found {quoted(data)}.")
        return Row(self.origin, data, f"{self.prefix}{field}.")

    def only(self, allowed: Collection[str]) -> None:
        """Refuse unknown fields: a misspelt one would be lost in silence."""
        for key in self.data:
            if key not in allowed:
                self.fail(key, f"unknown field{suggestion(key, allowed)}.")

    def get(self, field: str) -> Any:
        return self.data.get(field)

    def require(self, field: str) -> Any:
        value = self.data.get(field)
        if value is None:
            self.fail(field, "expected a value; the field is missing or empty.")
        return value

    def text(self, field: str, *, limit: int | None = None, required: bool = False) -> str:
        """Text; empty where it is absent and not required."""
        value = self.require(field) if required else self.data.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fail(field, f"expected text, found {quoted(value)}.")
        if required and not value.strip():
            self.fail(field, "expected text, found none.")
        if limit is not None and len(value) > limit:
            self.fail(field, f"expected at most {limit} characters, found {len(value)}: {quoted(value)}.")
        return value

    def answer(self, field: str) -> str:
        """Text that must be there and may be empty: a model may answer nothing."""
        self.require(field)
        return self.text(field)

    def identifier(self, field: str, *, limit: int = MAX_ID) -> str:
        """A name: text or a whole number, on one line, not too long."""
        value = self.require(field)
        if (number := whole(value)) is not None:
            value = str(number)
        if not isinstance(value, str):
            self.fail(field, f"expected text, found {quoted(value)}.")
        if not value.strip():
            self.fail(field, "expected a name, found none.")
        if value != value.strip() or not value.isprintable():
            self.fail(field, f"expected a name on one line without spaces around it, found {quoted(value)}.")
        if len(value) > limit:
            self.fail(field, f"expected at most {limit} characters, found {len(value)}: {quoted(value)}.")
        return value

    def subset(self, field: str = "subset") -> str:
        """A path such as "Adversarial/Neighbor", or nothing."""
        value = self.text(field, limit=MAX_SUBSET)
        if value and (any(not part.strip() for part in value.split("/")) or not value.isprintable()):
            self.fail(field, f"expected a path such as 'Adversarial/Neighbor', found {quoted(value)}.")
        return value

    def number_in(self, field: str, allowed: Collection[int]) -> int:
        value = self.require(field)
        number = whole(value)
        if number is None or number not in allowed:
            self.fail(field, f"expected {one_of(allowed)}, found {quoted(value)}.")
        return number

    def flag(self, field: str) -> bool:
        value = self.data.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            self.fail(field, f"expected true or false, found {quoted(value)}.")
        return value

    def mapping(self, field: str) -> dict[str, Any]:
        value = self.data.get(field)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fail(field, f"expected an object, found {quoted(value)}.")
        return value

    def items(self, field: str) -> list[Any]:
        value = self.data.get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(field, f"expected a list, found {quoted(value)}.")
        return value


def counted_rows(
    rows: Iterable[T], progress: Progress | None, words: str = "rows", every: int = 10_000, after: int = 0
) -> Iterator[T]:
    """The rows; `progress` is called with words and the number of rows so far, each time so many have been read.

    `after` is how many were read before.
    """
    for number, row in enumerate(rows, start=after + 1):
        yield row
        if progress is not None and number % every == 0:
            progress(words, number)


def whole(value: object) -> int | None:
    """A whole number as an int, or None. True is no number; 1.0, as tables write it beside gaps, is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def whole_text(value: object) -> int | None:
    """Text of digits as an int, or None: other text, digits of other scripts, and what is too large."""
    return int(value) if isinstance(value, str) and WHOLE_TEXT.fullmatch(value) else None


def one_of(allowed: Iterable[object]) -> str:
    """`"0, 1 or 2"`."""
    names = [str(value) for value in allowed]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def close_name(name: str, known: Collection[str]) -> str | None:
    """The known name that was probably meant."""
    found = difflib.get_close_matches(name[:MAX_ID], list(known), n=1, cutoff=0.7)
    return found[0] if found else None


def suggestion(name: str, known: Collection[str]) -> str:
    """Words to follow an unknown name: what was probably meant, or what there is."""
    meant = close_name(name, known)
    return f"; did you mean {meant!r}?" if meant else f"; expected {one_of(sorted(known))}"

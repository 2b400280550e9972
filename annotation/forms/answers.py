"""What a study asks beside a choice, as its form edits it: rows of dimensions, and reasons, one a line."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.text import slugify

from annotation.kinds.dimensions import MAX_DEFINITION, MAX_DIMENSIONS, MAX_NAME
from annotation.kinds.reasons import MAX_REASONS, MAX_WORDS

SPARE_ROWS = 2
LEAST_ROWS = 4
OVERALL = "dimensions-overall"
NAME = re.compile(r"dimensions-(\d{1,2})-(name|definition|key)\Z")


@dataclass(frozen=True, slots=True)
class DimensionRow:
    """A dimension as it stands in the editor."""

    number: int
    key: str = ""
    name: str = ""
    definition: str = ""
    overall: bool = False


def dimension_rows_of(stored: Iterable[Mapping[str, Any]]) -> list[DimensionRow]:
    """Stored dimensions as rows."""
    return [
        DimensionRow(
            number,
            each.get("key", ""),
            each.get("name", ""),
            each.get("definition", ""),
            each.get("overall", False) is True,
        )
        for number, each in enumerate(stored)
    ]


def dimension_rows_read(data: Mapping[str, str]) -> list[DimensionRow]:
    """The rows of a submitted form that are not empty, in their order."""
    overall = data.get(OVERALL, "")
    numbers = sorted({int(match[1]) for name in data if (match := NAME.match(name))})
    rows: list[DimensionRow] = []
    for number in numbers:
        texts = {
            part: _line(data.get(f"dimensions-{number}-{part}", "")) for part in ("key", "name", "definition")
        }
        if texts["name"] or texts["definition"]:
            rows.append(DimensionRow(len(rows), **texts, overall=overall == str(number)))
    return rows


def dimension_rows_to_fill(rows: Sequence[DimensionRow]) -> list[DimensionRow]:
    """The rows with empty ones after them; where there are none, the first one is to be the overall one."""
    wanted = min(MAX_DIMENSIONS, max(LEAST_ROWS, len(rows) + SPARE_ROWS))
    empty = range(len(rows), wanted)
    return [*rows, *(DimensionRow(number, overall=not rows and number == 0) for number in empty)]


def dimensions_of(rows: Sequence[DimensionRow]) -> list[dict[str, Any]]:
    """Rows as they are stored. A dimension keeps its key, since labels go by it."""
    keys = _keys([(row.key, row.name) for row in rows])
    return [
        {"key": key, "name": row.name, "definition": row.definition, "overall": row.overall}
        for key, row in zip(keys, rows, strict=True)
    ]


def dimensions_problem(rows: Sequence[DimensionRow]) -> str | None:
    """What is wrong with the first row that is not right, in words for the page."""
    if not rows:
        return None
    if len(rows) == 1:
        return "One dimension is what a study asks without any: list at least two, or none."
    if len(rows) > MAX_DIMENSIONS:
        return f"At most {MAX_DIMENSIONS} dimensions can be asked; these are {len(rows)}."
    for number, row in enumerate(rows, start=1):
        if not row.name:
            return f"Dimension {number} has a definition, but no name."
        if len(row.name) > MAX_NAME:
            return f"The name of dimension {number} is longer than {MAX_NAME} characters."
        if len(row.definition) > MAX_DEFINITION:
            return f"The definition of dimension {number} is longer than {MAX_DEFINITION} characters."
        if row.name.casefold() in {other.name.casefold() for other in rows[: number - 1]}:
            return f"Two dimensions have the name “{row.name}”."
    if not any(row.overall for row in rows):
        return "Choose which dimension is the overall one."
    return None


class ReasonsField(forms.CharField):
    """Reasons, one a line. A reason keeps its key while its words stay; `stored` are those that the study has."""

    stored: Sequence[Mapping[str, Any]] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            **(
                {"widget": forms.Textarea(attrs={"rows": 4, "placeholder": "More accurate\nShorter"})}
                | kwargs
            )
        )

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return "\n".join(str(each.get("words", "")) for each in value if isinstance(each, Mapping))

    def clean(self, value: Any) -> list[dict[str, str]]:
        lines = [line for line in map(_line, super().clean(self.prepare_value(value)).splitlines()) if line]
        if len(lines) > MAX_REASONS:
            raise forms.ValidationError(
                f"At most {MAX_REASONS} reasons can be offered; these are {len(lines)}."
            )
        for place, line in enumerate(lines):
            if len(line) > MAX_WORDS:
                raise forms.ValidationError(f"Reason {place + 1} is longer than {MAX_WORDS} characters.")
            if line.casefold() in {other.casefold() for other in lines[:place]}:
                raise forms.ValidationError(f"“{line}” is listed twice.")
        known = {each.get("words"): str(each.get("key", "")) for each in self.stored}
        keys = _keys([(known.get(line, ""), line) for line in lines])
        return [{"key": key, "words": line} for key, line in zip(keys, lines, strict=True)]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)


def _keys(rows: Sequence[tuple[str, str]]) -> list[str]:
    """The key of each row of (key, words): its own, or one of its words that no other has."""
    taken = {key for key, _ in rows if key}
    found = []
    for key, words in rows:
        if not key:
            base = slugify(words)[:36].strip("-_") or "other"
            key = next(name for name in (base, *(f"{base}-{n}" for n in range(2, 99))) if name not in taken)
            taken.add(key)
        found.append(key)
    return found


def _line(text: str) -> str:
    return " ".join(text.replace("\x00", "").split())

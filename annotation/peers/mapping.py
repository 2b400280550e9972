"""A mapping file: what the columns of somebody's rows are, what the words in them mean, and what all rows have.

``docs/data-format.md`` documents it. Columns may lie inside of others (``conversation_a[1].content``).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.importers.columns import KEEP, LEAVE_OUT, MAPPED, mapped
from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.files import read_document
from annotation.importers.generic import COLUMNS
from annotation.importers.records import EMPTY, Origin
from annotation.importers.rows import Row, one_of, suggestion

PARTS = ("columns", "values", "constants", "questions", "others")
OTHERS = {"metadata": KEEP, LEAVE_OUT: LEAVE_OUT}
STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")


@dataclass(frozen=True, slots=True)
class FileMapping:
    """What a mapping file says.

    Attributes
    ----------
    columns : mapping of str to str
        By a column, or a path to what lies in it, the field of the generic format.
    values : mapping of str to mapping
        By a column, a path or a question, what its words mean; numbers and such by their JSON text.
    constants : mapping
        Fields that every row has.
    questions : mapping of str to str
        In annotation tools, by the name of a question what it is here.
    others : str or None
        What becomes of columns that are not named; None: they are refused.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)
    constants: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    questions: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    others: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        return {**self.columns, **{name: name for name in self.constants}}

    def row(self, row: Row) -> Row:
        """The row with the fields of the generic format; a refusal of it names the file's own columns."""
        data: dict[str, Any] = {}
        fields = self.fields
        for path in self.columns:
            data[path] = self.value(row, path, _found(row.data, path))
        whole = {_first(path, row.data) for path in self.columns}
        for name, value in row.data.items():
            if name in whole or value is None:
                continue
            if name in COLUMNS.names and self.others is None:
                data[name], fields[name] = value, name
            elif self.others is None:
                row.fail(
                    name, f"the mapping doesn't say what this is{suggestion(name, tuple(self.columns))}."
                )
            elif self.others == KEEP:
                data[name], fields[name] = value, KEEP
        return mapped(Row(row.origin, {**data, **self.constants}), fields)

    def value(self, row: Row, name: str, value: Any) -> Any:
        """What a value of a column, path or question means."""
        words = self.values.get(name)
        if words is None:
            return value
        key = value if isinstance(value, str) else json.dumps(value)
        if key not in words and value is not None:
            row.fail(name, f"expected {one_of(words)} as in the mapping, found {quoted(value)}.")
        return words.get(key)

    def question(self, name: str) -> str:
        """What a question of an annotation tool is here; without a word in the mapping, what it is called."""
        return self.questions.get(name, name)


NOTHING_MAPPED = FileMapping()


def mapping_file_read(path: str | Path) -> FileMapping:
    """Read a mapping file.

    Raises
    ------
    ImportFileError
        Naming what in it is no mapping.
    """
    file = Path(path)
    document = read_document(file)
    if not isinstance(document, dict):
        raise ImportFileError(
            file, None, None, f"expected an object with {one_of(PARTS)}, found {quoted(document)}."
        )
    whole = Row(Origin(str(file), 1), document)
    whole.only(PARTS)
    columns = {name: str(field) for name, field in _texts(whole, "columns")}
    _check_fields(whole, columns)
    constants = whole.mapping("constants")
    for name in constants:
        if not COLUMNS.known(name) or name in columns.values():
            said = "is a column's already" if name in columns.values() else "is no field"
            whole.within("constants", constants).fail(name, f"{said}{suggestion(name, COLUMNS.names)}.")
    values = whole.within("values", whole.mapping("values"))
    for name in values.data:
        values.within(name, values.data[name])
    others = whole.get("others")
    if others is not None and (not isinstance(others, str) or others not in OTHERS):
        whole.fail("others", f"expected {one_of(OTHERS)}, found {quoted(others)}.")
    return FileMapping(
        columns,
        values.data,
        constants,
        dict(_texts(whole, "questions")),
        None if others is None else OTHERS[others],
    )


def _texts(whole: Row, part: str) -> Iterator[tuple[str, str]]:
    inner = whole.within(part, whole.mapping(part))
    for name in inner.data:
        yield name, inner.text(name, required=True)


def _check_fields(whole: Row, columns: dict[str, str]) -> None:
    inner = whole.within("columns", columns)
    first: dict[str, str] = {}
    for path, meant in columns.items():
        if not _is_path(path):
            inner.fail(path, "expected a column, or a path such as conversation[0].content.")
        columns[path] = meant = KEEP if meant == "metadata" and "." not in path else meant
        if meant in (KEEP, LEAVE_OUT):
            continue
        if meant not in MAPPED and not COLUMNS.known(meant):
            inner.fail(path, f"{quoted(meant)} is no field{suggestion(meant, (*COLUMNS.names, *MAPPED))}.")
        if meant in first:
            inner.fail(path, f"expected one column for {meant}; {quoted(first[meant])} is it already.")
        first[meant] = path


def _is_path(path: str) -> bool:
    return bool(path) and "".join(step.group() for step in STEP.finditer(path)) == path


def _first(path: str, data: Mapping[str, Any]) -> str:
    """The column that a path begins with."""
    if path in data:
        return path
    step = STEP.match(path)
    return path if step is None else step[1] or path


def _found(data: Mapping[str, Any], path: str) -> Any:
    """What lies at a path; None where there is nothing. A column whose name is the path itself comes first."""
    if path in data:
        return data[path]
    found: Any = data
    for step in STEP.finditer(path):
        name, place = step[1], step[2]
        if name is not None and isinstance(found, dict):
            found = found.get(name)
        elif place is not None and isinstance(found, list) and int(place) < len(found):
            found = found[int(place)]
        else:
            return None
    return found

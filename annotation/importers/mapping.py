"""What the columns of somebody's table are, as a document that is saved with a dataset and read from YAML or JSON.

::

    format: touchstone.mapping/1
    kind: pairwise
    columns:
      Question: instruction
      First: response_1
      Second: response_2
      Better: {field: gold, values: {left: 1, right: 2, same: 0}}
      Hours: metadata
      Notes: "-"

A document for rubrics or categories may declare `criteria` or `categories` as a row of the generic format does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.files import MAX_COLUMNS, MAX_NAME, unstorable
from annotation.importers.records import EMPTY
from annotation.importers.rows import one_of, suggestion

FORMAT = "touchstone.mapping/1"
KEEP = "metadata."
"""The column is kept in the metadata under its own name; a document says "metadata"."""
LEAVE_OUT = "-"
MEMBERS = ("format", "kind", "columns", "criteria", "categories")
MAX_WORDS = 200
"""Words of one column that a document may give a value."""


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The field of each column, and what the columns of a table cannot say.

    Attributes
    ----------
    columns : mapping of str to str
        By column a field of the generic format or of `columns.FIELD_CHOICES`, `KEEP` or `LEAVE_OUT`.
    kind : str
        The kind of rows that name none; empty for the format's default.
    values : mapping of str to mapping
        By column, what its words mean: ``{"Better": {"left": 1}}``. Case and spaces around a word do not count.
    criteria, categories
        As a row of the generic format declares them; None where the mapping declares none.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    kind: str = ""
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)
    criteria: Any = None
    categories: Any = None

    def meaning(self, column: str, cell: Any) -> Any:
        """The value that a cell stands for; the cell itself where the mapping says nothing of it."""
        words = self.values.get(column)
        if not words or isinstance(cell, bool | list | dict) or cell is None:
            return cell
        return words.get(folded(str(cell)), cell)

    def document(self) -> dict[str, Any]:
        """As it is stored and written to a file; `mapping_of` reads it."""
        columns: dict[str, Any] = {}
        for column, name in self.columns.items():
            said = "metadata" if name == KEEP else name
            values = self.values.get(column)
            columns[column] = {"field": said, "values": dict(values)} if values else said
        more = {"kind": self.kind, "criteria": self.criteria, "categories": self.categories}
        return {"format": FORMAT, "columns": columns} | {key: part for key, part in more.items() if part}


def folded(word: str) -> str:
    """A word as `TableMapping.values` has it."""
    return " ".join(word.split()).casefold()


def mapping_made(given: TableMapping | Mapping[str, str]) -> TableMapping:
    """A mapping; of fields by column alone where there is no more to it."""
    return given if isinstance(given, TableMapping) else TableMapping(columns=dict(given))


def mapping_of(document: object, file: object = "mapping") -> TableMapping:
    """Read a document, from a file or a request.

    Parameters
    ----------
    file
        Whose name is said in errors.

    Raises
    ------
    ImportFileError
        With the member that is wrong. Whether its fields and columns exist is checked where a table is read.
    """

    def fail(member: str | None, message: str) -> ImportFileError:
        return ImportFileError(file, None, member, message)

    if not isinstance(document, dict):
        raise fail(None, "expected a mapping with the member columns.")
    if document.get("format", FORMAT) != FORMAT:
        raise fail("format", f"expected {FORMAT}, found {quoted(document['format'])}.")
    for member in document:
        if member not in MEMBERS:
            raise fail(str(member), f"unknown member{suggestion(str(member), MEMBERS)}.")
    if problem := unstorable(document):
        raise fail(None, problem)
    given = document.get("columns")
    if not isinstance(given, dict) or len(given) > MAX_COLUMNS:
        raise fail(
            "columns", f"expected an object with at most {MAX_COLUMNS:,} columns, found {quoted(given)}."
        )
    kind = document.get("kind") or ""
    if not isinstance(kind, str):
        raise fail("kind", f"expected text, found {quoted(kind)}.")
    columns: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {}
    for column, said in given.items():
        if not isinstance(column, str) or not column or len(column) > MAX_NAME:
            raise fail("columns", f"expected names of columns, found {quoted(column)}.")
        name = said.get("field") if isinstance(said, dict) else said
        if not isinstance(name, str) or not name:
            raise fail(f"columns.{column}", f"expected a field, found {quoted(name)}.")
        columns[column] = KEEP if name == "metadata" else name
        if isinstance(said, dict) and (words := _words(said, column, fail)):
            values[column] = words
    return TableMapping(columns, kind, values, document.get("criteria"), document.get("categories"))


def _words(said: dict[str, Any], column: str, fail: Any) -> dict[str, Any]:
    for member in said:
        if member not in ("field", "values"):
            raise fail(
                f"columns.{column}",
                f"unknown member {quoted(member)}; expected {one_of(('field', 'values'))}.",
            )
    words = said.get("values") or {}
    if not isinstance(words, dict) or len(words) > MAX_WORDS:
        raise fail(f"columns.{column}", f"expected an object of at most {MAX_WORDS} words and their values.")
    return {folded(str(word)): value for word, value in words.items()}

"""What the columns of somebody's table are, as a document that is saved with a dataset and read from YAML or JSON.

::

    format: touchstone.mapping/1
    kind: pairwise
    columns:
      Question: instruction
      first.text: response_1
      second.text: response_2
      Better: {field: gold, values: {left: 1, right: 2, same: 0}}
      Hours: metadata
    constants: {subset: round 1}
    others: "-"

It may declare `criteria` or `categories` as a row of the generic format does, and say what the `questions` of an
annotation tool are. `docs/data-format.md` documents it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.fields import KEEP, LEAVE_OUT, RESERVED, is_field, of_column, suggested_field
from annotation.importers.files import (
    MAX_COLUMNS,
    MAX_NAME,
    mebibytes,
    read_document,
    require_file,
)
from annotation.importers.paths import column_of
from annotation.importers.records import EMPTY
from annotation.importers.rows import Row, one_of, suggestion, whole
from web.json_text import unstorable
from web.yaml_text import YamlError, yaml_read

FORMAT = "touchstone.mapping/1"
MEMBERS = ("format", "kind", "columns", "constants", "others", "questions", "criteria", "categories")
OTHERS = {"metadata": KEEP, LEAVE_OUT: LEAVE_OUT}
MAX_WORDS = 200
"""Words of one column that a document may give a value."""
MAX_BYTES = 2**20
"""Of a file."""
SHOWN = 20
"""Words that a message lists."""
_Fail = Callable[[str | None, str], ImportFileError]


@dataclass(frozen=True, slots=True)
class TableMapping:
    """The field of each column, and what the columns of a table cannot say.

    Attributes
    ----------
    columns : mapping of str to str
        By column, or by path to what lies in one (``"messages[0].content"``), a field of the generic format or of
        `fields.FIELD_CHOICES`, `KEEP` or `LEAVE_OUT`.
    kind : str
        The kind of rows that name none; empty for the format's default.
    values : mapping of str to mapping
        By column or path, what its words mean: ``{"Better": {"left": 1}}``. Case and spaces around a word do not count;
        a word that is not there is refused.
    criteria, categories
        As a row of the generic format declares them; None where the mapping declares none.
    constants : mapping
        Fields that every row has.
    others : str or None
        `KEEP` or `LEAVE_OUT` for columns that are not named, whatever they are called; None: those that have the name
        of a field are that field, and somebody is asked about the rest.
    questions : mapping of str to str
        By the name of a question of an annotation tool what it is here, or `LEAVE_OUT`.
    answers : mapping of str to mapping
        As `values`, by question.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    kind: str = ""
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)
    criteria: Any = None
    categories: Any = None
    constants: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    others: str | None = None
    questions: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)

    @property
    def is_empty(self) -> bool:
        return self == TableMapping()

    @property
    def declared(self) -> dict[str, Any]:
        """What it declares for all rows, as a row of the generic format would."""
        said = {"criteria": self.criteria, "categories": self.categories}
        return {name: value for name, value in said.items() if value is not None}

    def missing(self, names: Collection[str]) -> list[str]:
        """Columns and paths that a table with these columns does not have."""
        return [column for column in self.columns if column_of(column, names) not in names]

    def fields_of(self, names: Collection[str]) -> dict[str, str]:
        """The field of each column and path that it names, in a table with these columns.

        A column that paths lead into is left out, unless it is named too.
        """
        found = {column: of_column(name, column) for column, name in self.columns.items()}
        for column in self.columns:
            found.setdefault(column_of(column, names), LEAVE_OUT)
        return found

    def meaning(self, row: Row, column: str, cell: Any) -> Any:
        """The value that a cell stands for; the cell itself where the mapping says nothing of its column."""
        return _meaning(row, column, cell, self.values.get(column, EMPTY))

    def answer(self, row: Row, question: str, said: Any) -> Any:
        """The value that an answer to a question stands for; `row` is the answer, with it as `value`."""
        return _meaning(row, "value", said, self.answers.get(question, EMPTY))

    def question(self, name: str) -> str:
        """What a question is here; what it is called where the mapping says nothing of it."""
        return self.questions.get(name, name)

    def document(self) -> dict[str, Any]:
        """As it is stored and written to a file; `mapping_of` reads it."""
        more = {
            "kind": self.kind,
            "constants": dict(self.constants),
            "others": self.others and _said("", self.others),
            "questions": _documented(self.questions, self.answers),
            "criteria": self.criteria,
            "categories": self.categories,
        }
        columns = _documented(self.columns, self.values)
        return {"format": FORMAT, "columns": columns} | {key: part for key, part in more.items() if part}


def _documented(names: Mapping[str, str], values: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, meant in names.items():
        said, words = _said(name, meant), values.get(name)
        found[name] = {"field": said, "values": dict(words)} if words else said
    return found


def _said(column: str, name: str) -> str:
    """A field as the document has it; a column called metadata is the whole metadata unless it is said otherwise."""
    return "metadata" if name == KEEP and column != "metadata" else name


def _meaning(row: Row, name: str, said: Any, words: Mapping[str, Any]) -> Any:
    """What a word means, of a list each. Nothing is nothing, and an object is a value by itself."""
    if not words or said is None or isinstance(said, dict):
        return said
    if isinstance(said, list):
        return [_meaning(row, name, one, words) for one in said]
    word = word_of(said)
    if word and word not in words:
        row.fail(name, f"expected {one_of(list(words)[:SHOWN])} as in the mapping, found {quoted(said)}.")
    return words.get(word)


def folded(word: str) -> str:
    """A word as `TableMapping.values` has it."""
    return " ".join(word.split()).casefold()


def word_of(value: object) -> str:
    """A value of a table as a word: whole numbers without a point, true and false as JSON has them."""
    number = whole(value)
    return folded(str(value if number is None else number))


def table_mapping(given: TableMapping | Mapping[str, str]) -> TableMapping:
    """A mapping; of fields by column alone where there is no more to it."""
    return given if isinstance(given, TableMapping) else TableMapping(columns=dict(given))


def mapping_file_read(path: str | Path) -> TableMapping:
    """Read a document from a file: JSON by its extension, else YAML.

    Raises
    ------
    ImportFileError
        Names the file and the member that is wrong, such as one that is no field.
    """
    file = Path(path)
    mapping = mapping_of(read_document(file) if file.suffix.lower() == ".json" else _yaml(file), file)
    fields: dict[str, str] = dict.fromkeys(mapping.constants, "constants")
    for column, name in mapping.fields_of(()).items():
        if not is_field(name):
            raise ImportFileError(
                file, None, f"columns.{column}", f"{quoted(name)} is no field{suggested_field(name)}."
            )
        if name in (KEEP, LEAVE_OUT):
            continue
        if name in fields:
            raise ImportFileError(
                file,
                None,
                f"columns.{column}",
                f"expected one column for {name}; {quoted(fields[name])} is it already.",
            )
        fields[name] = column
    return mapping


def _yaml(file: Path) -> Any:
    require_file(file)
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ImportFileError(file, None, None, f"expected at most {mebibytes(MAX_BYTES)}, found more.")
        return yaml_read(data.decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, YamlError) as error:
        raise ImportFileError(file, None, None, f"expected YAML or JSON: {error}") from None


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
        raise fail(None, "expected an object with the member columns.")
    if document.get("format", FORMAT) != FORMAT:
        raise fail("format", f"expected {FORMAT}, found {quoted(document['format'])}.")
    for member in document:
        if member not in MEMBERS:
            raise fail(str(member), f"unknown member{suggestion(str(member), MEMBERS)}.")
    if problem := unstorable(document):
        raise fail(None, problem)
    kind = document.get("kind") or ""
    if not isinstance(kind, str):
        raise fail("kind", f"expected text, found {quoted(kind)}.")
    others = document.get("others")
    if others is not None and (not isinstance(others, str) or others not in OTHERS):
        raise fail("others", f"expected {one_of(OTHERS)}, found {quoted(others)}.")
    columns, values = _named(document.get("columns"), "columns", fail)
    questions, answers = _named(document.get("questions") or {}, "questions", fail)
    return TableMapping(
        {column: KEEP if name == "metadata" != column else name for column, name in columns.items()},
        kind,
        values,
        document.get("criteria"),
        document.get("categories"),
        _constants(document.get("constants") or {}, fail),
        None if others is None else OTHERS[others],
        questions,
        answers,
    )


def _named(given: object, member: str, fail: _Fail) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The field of each column or question, and what its words mean."""
    if not isinstance(given, dict) or len(given) > MAX_COLUMNS:
        raise fail(
            member, f"expected an object with at most {MAX_COLUMNS:,} {member}, found {quoted(given)}."
        )
    names: dict[str, str] = {}
    values: dict[str, dict[str, Any]] = {}
    for column, said in given.items():
        if not isinstance(column, str) or not column or len(column) > MAX_NAME:
            raise fail(member, f"expected names of {member}, found {quoted(column)}.")
        name = said.get("field") if isinstance(said, dict) else said
        if not isinstance(name, str) or not name:
            raise fail(f"{member}.{column}", f"expected a field, found {quoted(name)}.")
        names[column] = name
        if isinstance(said, dict) and (words := _words(said, f"{member}.{column}", fail)):
            values[column] = words
    return names, values


def _words(said: dict[str, Any], place: str, fail: _Fail) -> dict[str, Any]:
    for member in said:
        if member not in ("field", "values"):
            raise fail(place, f"unknown member {quoted(member)}; expected {one_of(('field', 'values'))}.")
    words = said.get("values") or {}
    if not isinstance(words, dict) or len(words) > MAX_WORDS:
        raise fail(place, f"expected an object of at most {MAX_WORDS} words and their values.")
    found: dict[str, Any] = {}
    for given, value in words.items():
        word = word_of(given)
        if word in found and found[word] != value:
            raise fail(place, f"expected each word once whatever its case, found {quoted(given)} again.")
        found[word] = value
    return found


def _constants(given: object, fail: _Fail) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise fail("constants", f"expected an object, found {quoted(given)}.")
    for name in given:
        place = f"constants.{name}"
        if name in RESERVED:
            raise fail(place, f"expected it as a member of its own, {name}, not among the constants.")
        if not isinstance(name, str) or not is_field(name) or name in (KEEP, LEAVE_OUT):
            raise fail(place, f"{quoted(name)} is no field{suggested_field(str(name))}.")
    return dict(given)

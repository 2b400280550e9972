"""Which column of somebody's table is which field of the generic format: published layouts, and what people say.

A column that has the name of a field is that field. The columns of a published layout are known by themselves; of
any other somebody has to say what it is (`mapping`), or that it is kept as metadata or left out.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.importers.errors import (
    MAX_ERRORS,
    ImportFileError,
    UnknownColumnsError,
    quoted,
)
from annotation.importers.fields import (
    ANNOTATOR,
    CHOSEN,
    DECLARATIONS,
    DIMENSION,
    JUDGE,
    KEEP,
    LABEL,
    LEAVE_OUT,
    MAPPED,
    OF_COLUMN,
    PREFERENCE,
    RATING,
    REASONABLE,
    REASONS,
    REJECTED,
    is_field,
    is_field_of_format,
    suggested_field,
)
from annotation.importers.mapping import TableMapping
from annotation.importers.paths import is_path, value_at
from annotation.importers.rows import Row, close_name
from annotation.importers.tables import Table
from annotation.importers.turns import turns_apart
from annotation.kinds import DEFAULT_KIND, KINDS
from annotation.kinds.dimensions import DIMENSIONS

TIES = (0, 1.5)
USUAL: Mapping[str, str] = {
    "prompt": "instruction",
    "question": "instruction",
    "query": "instruction",
    "input": "instruction",
    "response": "response_1",
    "answer": "response_1",
    "output": "response_1",
    **{
        f"{word}_{letter}": f"response_{n}"
        for word in ("response", "answer", "output", "completion")
        for n, letters in ((1, "a1"), (2, "b2"))
        for letter in letters
    },
    **{f"model_{letter}": f"system_{n}" for n, letters in ((1, "a1"), (2, "b2")) for letter in letters},
    "model": "system_1",
    "winner": CHOSEN,
    "loser": REJECTED,
    **dict.fromkeys(
        (
            "worker",
            "annotator_id",
            "worker_id",
            "workerid",
            "rater",
            "rater_id",
            "annotator",
            "user",
            "user_id",
            "labeler",
            "evaluator",
        ),
        ANNOTATOR,
    ),
    **dict.fromkeys(("topic", "task", "task_type", "task_category", "domain", "type"), "category"),
    **dict.fromkeys(("source", "split", "dataset"), "subset"),
    **dict.fromkeys(("messages", "conversations", "user_input", "user_prompt", "post"), "instruction"),
    **dict.fromkeys(
        ("gold_answer", "ground_truth", "reference_answer", "target", "expected", "ideal"), "reference"
    ),
    **dict.fromkeys(("uid", "item_id", "example_id", "sample_id", "pair_id", "item"), "id"),
    **dict.fromkeys(("prompt_id", "question_id", "instruction_id", "query_id"), "instruction_id"),
    **dict.fromkeys(("document", "passage", "article", "source_text", "system_prompt"), "context"),
    **dict.fromkeys(("judge", "judge_name", "judge_model"), JUDGE),
    **dict.fromkeys(("preferred", "better", "best", "vote", "choice", "human_preference"), PREFERENCE),
    **dict.fromkeys(("rationale", "gold_explanation"), "explanation"),
    **dict.fromkeys(
        ("generated_text", "model_output", "model_response", "prediction", "summary"), "response_1"
    ),
    **dict.fromkeys(("model_name", "generator", "system_name"), "system_1"),
}
"""What is guessed, and asked, for usual names that no layout has."""
_NUMBERED = re.compile(r"(?:annotator|rater|worker|label)[ _-]?\d+\Z", re.IGNORECASE)
"""A column for each person."""


@dataclass(frozen=True, slots=True)
class TableForm:
    """A published form of table: it is this one if the columns `needs` are there and those `lacks` are not."""

    needs: frozenset[str]
    lacks: frozenset[str]
    fields: Mapping[str, str]


LAYOUTS = (
    # Chat messages, of which the first of the user is the instruction.
    TableForm(frozenset(("messages",)), frozenset(("instruction", "prompt")), {"messages": "trace"}),
    # Preference data as trainers take it.
    TableForm(
        frozenset((CHOSEN, REJECTED)),
        frozenset(),
        {"prompt": "instruction", "question": "instruction", "system": "context"}
        | {CHOSEN: CHOSEN, REJECTED: REJECTED},
    ),
    # AlpacaEval: annotations of people have an annotator_index, those of judges an annotator.
    TableForm(
        frozenset(("instruction", "output_1", "output_2")),
        frozenset(),
        {
            "output_1": "response_1",
            "output_2": "response_2",
            "generator_1": "system_1",
            "generator_2": "system_2",
            "input": "context",
            "dataset": "subset",
            "annotator_index": ANNOTATOR,
            "annotator": JUDGE,
            "preference": PREFERENCE,
        }
        | dict.fromkeys(
            (
                "datasplit",
                "date",
                "price_per_example",
                "time_per_example",
                "raw_preference",
                "raw_completion",
            ),
            KEEP,
        ),
    ),
    # LLMBar.
    TableForm(
        frozenset(("input", "output_1", "output_2")),
        frozenset(("instruction",)),
        {"input": "instruction", "output_1": "response_1", "output_2": "response_2", "label": "gold"},
    ),
)


def columns_resolve(
    path: Path,
    table: Table,
    *,
    known: Callable[[str], bool],
    names: Sequence[str],
    mapping: TableMapping,
) -> dict[str, str]:
    """The field of each column and path, by the mapping, the field's own name, or a published layout.

    Raises
    ------
    UnknownColumnsError
        A column that is none of these, or no column for the instruction.
    ImportFileError
        A mapping of a column that is not there, to no field, or of two columns to one field.
    """
    header = table.header
    _check_mapping(path, header, mapping)
    chosen = mapping.fields_of(header)
    layout = layout_fields(header)
    fields: dict[str, str] = {}
    guesses: dict[str, str] = {}
    unknown = []
    for name in header:
        if name in chosen:
            fields[name] = chosen[name]
        elif mapping.others is not None:
            fields[name] = mapping.others
        elif known(name):
            fields[name] = name
        elif name in layout:
            fields[name] = layout[name]
        else:
            unknown.append(name)
            continue
        guesses[name] = fields[name]
    fields |= {name: field for name, field in chosen.items() if name not in fields}
    _check_doubles(path, fields, mapping)
    if not table.has_header and mapping.others is None:
        fields = {**layout, **fields}  # a later row may have what the first ones lack
    errors = []
    for name in unknown:
        if table.has_header and is_numbered(name):
            guesses[name] = OF_COLUMN[0]
            errors.append(_unknown(path, table, name, f"{OF_COLUMN[0]}{name}"))
            continue
        meant = usual_field(name) or close_name(name, [*names, *MAPPED])
        taken = (*fields.values(), *guesses.values())
        guesses[name] = meant if meant and meant not in taken and ":" not in meant else KEEP
        errors.append(_unknown(path, table, name, meant))
    if header and not _has_instruction(table, fields, mapping) and not _declares_only(table):
        errors.append(_no_instruction(path, table))
    if errors:
        raise UnknownColumnsError(
            errors[:MAX_ERRORS], columns=header, samples=_samples(table), guesses=guesses
        )
    return fields


def usual_field(name: str) -> str | None:
    """The field that a usual name of a column stands for, or None."""
    return USUAL.get(re.sub(r"[ .\\-]+", "_", name.strip().lower()))


def is_numbered(name: str) -> bool:
    """Whether the name is one of a column for each person, such as ``"Rater 2"``."""
    return _NUMBERED.match(name.strip()) is not None


def are_own_names(fields: Mapping[str, str], mapping: TableMapping) -> bool:
    """Whether each column has the name of its field, and a mapping says no more of it."""
    return mapping.is_empty and all(
        column == field and is_field_of_format(field) for column, field in fields.items()
    )


def mapped(row: Row, fields: Mapping[str, str], mapping: TableMapping) -> Row:
    """The row with the fields of the generic format; a refusal of it names the file's own columns."""
    data: dict[str, Any] = {}
    named: dict[str, str] = {}
    kept: dict[str, Any] = {}
    for column, value in _cells(row, mapping):
        field = fields.get(column) or mapping.others or column
        if field == KEEP:
            if value is not None:
                kept[column] = value
        elif field != LEAVE_OUT:
            if data.get(field) is not None and value is not None:
                row.fail(column, f"expected one column for {field}; {quoted(named[field])} is it already.")
            if field not in data or value is not None:
                cell = answers_listed(value) if field in (REASONABLE, REASONS) else value
                data[field], named[field] = mapping.meaning(row, column, cell), column
    if kept or not data.keys() <= set(DECLARATIONS):
        _constants(row, data, named, mapping)
    # The one row all the way: what is done to its fields here is seen by the next step.
    renamed = Row(row.origin, data, named=named)
    turns_apart(renamed, data)
    if kept:
        data["metadata"] = {**renamed.mapping("metadata"), **kept}
    _ratings(data, named)
    if data.keys() & set(MAPPED) or any(field.startswith(DIMENSION) for field in data):
        _chosen(renamed, data, named)
        _preference(renamed, data, named)
    return renamed


def own_named(row: Row) -> Row:
    """As `mapped`, of a row whose columns have the names of their fields."""
    data = dict(row.data)
    renamed = Row(row.origin, data)
    turns_apart(renamed, data)
    return renamed


def mapped_by_name(row: Row, mapping: TableMapping, known: Callable[[str], bool]) -> Row:
    """As `mapped`, of a row that belongs to no table: columns that are not named are looked for in it alone.

    Raises
    ------
    ImportFileError
        Also for a column that neither the mapping nor the generic format knows.
    """
    fields = mapping.fields_of(row.data)
    for name, value in row.data.items():
        if name not in fields and mapping.others is None and not known(name) and value is not None:
            row.fail(
                name,
                "the mapping doesn't say what this is: name it among the columns, or say what becomes of others.",
            )
    return mapped(row, fields, mapping)


def _cells(row: Row, mapping: TableMapping) -> Iterator[tuple[str, Any]]:
    """The columns of a row, and what lies in them where the mapping has a path to it."""
    yield from row.data.items()
    for name in mapping.columns:
        if name not in row.data and is_path(name):
            yield name, value_at(row.data, name)


def _constants(row: Row, data: dict[str, Any], named: Mapping[str, str], mapping: TableMapping) -> None:
    """What every row has; the kind is that of rows that name none."""
    for field, value in mapping.constants.items():
        if data.get(field) is not None:
            found = quoted(data[field])
            row.fail(named[field], f"expected {field} among the mapping's constants alone, found {found}.")
        data[field] = value
    if mapping.kind and data.get("kind") is None:
        data["kind"] = mapping.kind


def _chosen(row: Row, data: dict[str, Any], named: dict[str, str]) -> None:
    """The chosen response comes first, and gold says so."""
    if CHOSEN not in data and REJECTED not in data:
        return
    for field, response in ((CHOSEN, "response_1"), (REJECTED, "response_2")):
        if response in data:
            row.fail(response, f"expected either this or {field}, found both.")
        data[response] = data.pop(field, None)
        named[response] = named.get(field, field)
    if data.get("gold") is None:
        data["gold"] = 1


def _ratings(data: dict[str, Any], named: dict[str, str]) -> None:
    """Columns of ratings become one value: that of the row's annotator or judge, or gold where it names neither."""
    columns = [field for field in data if field.startswith(RATING)]
    ratings = {field.removeprefix(RATING): data.pop(field) for field in columns}
    given = {key: points for key, points in ratings.items() if points is not None}
    if not given:
        return
    whose = LABEL if data.get(ANNOTATOR) is not None else PREFERENCE
    if data.get(whose) is None:
        data[whose] = {"ratings": given}
        named[whose] = named[columns[0]]


def _preference(row: Row, data: dict[str, Any], named: dict[str, str]) -> None:
    """Whose preference it is decides what it becomes: a label, a verdict, or gold."""
    annotator = None if data.get(ANNOTATOR) is None else row.identifier(ANNOTATOR)
    judge = None if data.get(JUDGE) is None else row.identifier(JUDGE)
    stated = data.get(PREFERENCE)
    value, field = data.get(LABEL), LABEL
    beside = _beside_label(data)
    for name in (ANNOTATOR, JUDGE, PREFERENCE, LABEL):
        data.pop(name, None)
    if value is not None and annotator is None:
        row.fail(LABEL, "expected an annotator beside a label, found none.")
    if stated is not None and value is None:
        value, field = (0 if stated in TIES else stated), PREFERENCE
        if isinstance(stated, float) and 1 < stated < 2 and stated not in TIES:
            value = {PREFERENCE: stated}
    for field, (member, said) in beside.items():
        if value is None or annotator is None:
            row.fail(field, "expected a label of an annotator beside it, found none.")
        value = _with_member(row, data, value, field, member, said)
    if value is None:
        return
    if annotator is not None:
        flat = f"annotator:{annotator}"
        data[flat] = value
        named[flat] = named.get(field, field)
        for field, (member, _) in beside.items():
            named[f"{flat}.{member}"] = named[f"{flat}.{member}.choice"] = named.get(field, field)
    elif judge is not None:
        verdict = {"judge": judge, "value": value}
        data["verdicts"] = [*row.items("verdicts"), verdict]
        named["verdicts"] = named.get(field, field)
    else:
        if data.get("gold") is not None:
            row.fail(field, "expected either gold or a preference without an annotator, found both.")
        data["gold"] = value
        named["gold"] = named.get(field, field)


def _beside_label(data: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """What stands beside a label in columns of its own, taken out of the row: by field the member of a value, of a
    dimension "dimensions.KEY", and what is said.
    """
    found = {}
    for field in [name for name in data if name in (REASONABLE, REASONS) or name.startswith(DIMENSION)]:
        said = data.pop(field)
        if said is not None:
            key = field.removeprefix(DIMENSION)
            found[field] = (f"{DIMENSIONS}.{key}" if key != field else field), said
    return found


def _with_member(
    row: Row, data: Mapping[str, Any], value: Any, field: str, member: str, said: Any
) -> dict[str, Any]:
    """A label with what stands beside it."""
    if not isinstance(value, dict):
        kind = KINDS.get(str(data.get("kind") or DEFAULT_KIND))
        if kind is None or not kind.bare_field:
            row.fail(field, f"expected a label that is an object beside it, found {quoted(value)}.")
        value = {kind.bare_field: value}
    name, dot, key = member.partition(".")
    if not dot:
        return {**value, name: said}
    others = value.get(name) if isinstance(value.get(name), dict) else {}
    return {**value, name: {**others, key: 0 if said in TIES else said}}


def answers_listed(cell: Any) -> Any:
    """The answers of a cell: a list or object as it is, and of text what stands between vertical bars.

    >>> answers_listed("1|0"), answers_listed(["toxic"]), answers_listed(1)
    (['1', '0'], ['toxic'], [1])
    """
    if cell is None or isinstance(cell, list | dict):
        return cell
    if not isinstance(cell, str):
        return [cell]
    return [part.strip() for part in cell.split("|") if part.strip()] or None


def has_label_rows(fields: Mapping[str, str], mapping: TableMapping) -> bool:
    """Whether a row is one label or one verdict, so that an item may have several rows."""
    return bool({ANNOTATOR, JUDGE} & {*fields.values(), *mapping.constants})


def layout_fields(header: Sequence[str]) -> Mapping[str, str]:
    """The fields of the published layout that the names are; nothing where they are of none."""
    names = set(header)
    for layout in LAYOUTS:
        if layout.needs <= names and not layout.lacks & names:
            return layout.fields
    return {}


def _check_mapping(path: Path, header: Sequence[str], mapping: TableMapping) -> None:
    for column in mapping.missing(header):
        raise ImportFileError(path, None, column, f"there is no such column; found {_some(header)}.")
    for column, field in mapping.columns.items():
        if not is_field(field):
            raise ImportFileError(path, None, column, f"{quoted(field)} is no field{suggested_field(field)}.")


def _check_doubles(path: Path, fields: Mapping[str, str], mapping: TableMapping) -> None:
    first: dict[str, str] = {}
    for column, field in fields.items():
        if field in (KEEP, LEAVE_OUT):
            continue
        if field in mapping.constants:
            raise ImportFileError(
                path,
                None,
                column,
                f"expected {field} among the mapping's constants alone, found a column too.",
            )
        if field in first:
            raise ImportFileError(
                path, None, column, f"expected one column for {field}; {quoted(first[field])} is it already."
            )
        first[field] = column


def _unknown(path: Path, table: Table, name: str, meant: str | None) -> ImportFileError:
    what = "column" if table.has_header else "field"
    if meant == name:  # a table's own field, in a file of nested rows
        hint = f"map it to the field {meant!r}, keep it as metadata, or ignore it."
    else:
        hint = (
            f"did you mean {meant!r}?" if meant else "map it to a field, keep it as metadata, or ignore it."
        )
    return ImportFileError(path, _row_of(table, name), name, f"unknown {what}; {hint}")


def _row_of(table: Table, name: str) -> int | None:
    """The row that has the name: the header, or the first one where each row says its own."""
    if table.has_header:
        return table.header_row
    return next((row.origin.row for row in table.first if name in row.data), None)


def _has_instruction(table: Table, fields: Mapping[str, str], mapping: TableMapping) -> bool:
    """Rows that each have their own fields are asked one by one; a chosen conversation holds the instruction."""
    found = {*fields.values(), *mapping.constants}
    return bool(found & {"instruction", "trace"}) or not table.has_header or {CHOSEN, REJECTED} <= found


def _declares_only(table: Table) -> bool:
    return set(table.header) <= {"criteria", "categories"}


def _no_instruction(path: Path, table: Table) -> ImportFileError:
    message = f"the column is missing; found {_some(table.header)}."
    return ImportFileError(path, table.header_row, "instruction", message)


def _some(header: Sequence[str]) -> str:
    return ", ".join(header)[:200]


def shown_cell(value: Any) -> str:
    """The beginning of a cell on one line, as a page or a message shows it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return " ".join(text[:400].split())[:80]


def _samples(table: Table) -> dict[str, str]:
    """What stands in each column, in the first row that has something there."""
    found: dict[str, str] = {}
    for row in table.first:
        for name, value in row.data.items():
            if name not in found and value not in (None, "", [], {}):
                found[name] = shown_cell(value)
    return found


def read_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """A mapping from words such as ``"Frage=instruction"``.

    Raises
    ------
    ValueError
        Words without an equals sign, or a column twice.
    """
    mapping: dict[str, str] = {}
    for words in pairs:
        column, sign, field = words.rpartition("=")
        if not sign or not column or not field:
            raise ValueError(f"expected COLUMN=FIELD, found {quoted(words)}")
        if column in mapping:
            raise ValueError(f"expected each column once, found {quoted(column)} twice")
        mapping[column] = KEEP if field == "metadata" else field
    return mapping

"""What the columns of a table probably are, from their names and from what stands in the first rows.

A guess is shown to somebody, who confirms or changes it; nothing is imported by it alone.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from annotation.domain.scales import STANDARD, Scale
from annotation.importers.cells import UNPARSED
from annotation.importers.columns import (
    is_numbered,
    layout_fields,
    shown_cell,
    usual_field,
)
from annotation.importers.errors import ImportFileError, LeftOutRows, quoted
from annotation.importers.fields import (
    ANNOTATOR,
    CHOSEN,
    KEEP,
    LABEL,
    OF_COLUMN,
    PREFERENCE,
    RATING,
    REJECTED,
    of_column,
)
from annotation.importers.files import MAX_COLUMNS, MAX_NAME
from annotation.importers.generic import COLUMNS
from annotation.importers.mapping import TableMapping, folded
from annotation.importers.rating_scales import criterion_on, scale_guess
from annotation.importers.records import EMPTY
from annotation.importers.rows import Row
from annotation.importers.tables import table_open
from annotation.kinds.answer_ranking import AnswerRanking
from annotation.kinds.checklist import Checklist
from annotation.kinds.classification import Classification
from annotation.kinds.pairwise import Pairwise
from annotation.kinds.rubric import Rubric

SAMPLES = 3
"""Values of a column that are shown beside it."""
WINNERS: Mapping[str, int] = {
    **dict.fromkeys(("a", "model_a", "model a", "response_a", "response a", "answer a", "left", "first"), 1),
    **dict.fromkeys(("output_1", "response_1", "response 1", "answer 1", "a is better", "model_1"), 1),
    **dict.fromkeys(
        ("b", "model_b", "model b", "response_b", "response b", "answer b", "right", "second"), 2
    ),
    **dict.fromkeys(("output_2", "response_2", "response 2", "answer 2", "b is better", "model_2"), 2),
    **dict.fromkeys(
        ("tie", "draw", "equal", "same", "neither", "both", "tie (bothbad)", "both bad", "none"), 0
    ),
}
"""Words for the better of two responses, and for neither."""
LONG = 40
"""Characters from which the cells of a column are texts rather than names, on average."""
MOST_CATEGORIES = 20
_RESPONSE_LIKE = re.compile(
    r"response|answer|output|completion|reply|candidate|summary|generated|prediction|translation|hypothesis|story",
    re.IGNORECASE,
)
_PAIR_ENDS = (
    ("a", "b"),
    ("1", "2"),
    ("left", "right"),
    ("first", "second"),
    ("one", "two"),
    ("0", "1"),
)


@dataclass(frozen=True, slots=True)
class ColumnLook:
    """A column, the first values in it, each on one line and shortened, and the scale that they seem to be on."""

    name: str
    samples: tuple[str, ...]
    scale: Scale | None = None


@dataclass(frozen=True, slots=True)
class TableLook:
    """The columns of a file, and what they probably are."""

    columns: tuple[ColumnLook, ...]
    guess: TableMapping


@dataclass(frozen=True, slots=True)
class _Cells:
    """What the first rows have in one column."""

    values: tuple[Any, ...]

    @property
    def words(self) -> list[str]:
        return [folded(str(value)) for value in self.values if not isinstance(value, list | dict)]

    @property
    def length(self) -> float:
        texts = [value for value in self.values if isinstance(value, str)]
        return sum(map(len, texts)) / len(texts) if texts else 0.0

    @property
    def numbers(self) -> list[float] | None:
        """The values as numbers; None where one is none."""
        try:
            return [float(value) for value in self.values if not isinstance(value, bool | list | dict)]
        except ValueError:
            return None

    def is_texts(self) -> bool:
        return self.length >= LONG or (
            self.length >= LONG / 4 and any(" " in str(one) for one in self.values)
        )

    def are_winners(self) -> bool:
        """Whether nearly all are words for one of two responses; a wrong one is then an error of its row."""
        return bool(self.words) and sum(word in WINNERS for word in self.words) >= 0.8 * len(self.words)

    def are_choices(self) -> bool:
        """Whether all are 0, 1, 1.5 or 2."""
        return (
            bool(self.numbers)
            and len(self.numbers or ()) == len(self.values)
            and set(self.numbers or ()) <= {0, 1, 1.5, 2}
        )

    def are_categories(self) -> bool:
        """A few short words that come again."""
        found = set(self.words)
        return 2 <= len(found) <= MOST_CATEGORIES and len(found) <= len(self.words) / 2 and self.length < LONG


def table_look(path: Path, saved: TableMapping | None = None) -> TableLook:
    """Read the first rows of a file, and guess what its columns are.

    Parameters
    ----------
    saved : optional
        The mapping of an earlier file; used whole where it fits the columns of this one.

    Raises
    ------
    ImportFileError
        The file cannot be read at all, such as one that is no table.
    """
    wrong: list[ImportFileError] = []
    table = table_open(path, LeftOutRows(wrong.append), COLUMNS.known)
    header = table.header
    if not header:
        raise wrong[0] if wrong else ImportFileError(path, None, None, "expected columns, found none.")
    _check_names(path, table.first, header)
    cells = {
        name: _Cells(
            tuple(value for row in table.first if (value := row.data.get(name)) not in (None, "", [], {}))
        )
        for name in header
    }
    if isinstance(table.rest, Generator):
        table.rest.close()  # with the file, or the process that decodes it
    looks = tuple(
        ColumnLook(
            name,
            tuple(dict.fromkeys(map(shown_cell, cells[name].values)))[:SAMPLES],
            scale_guess(name, cells[name].values),
        )
        for name in header
    )
    if saved is not None and not saved.missing(header):
        named = saved.fields_of(header)
        rest = {name: saved.others or KEEP for name in header if name not in named}
        if saved.others is None:
            rest = {name: field for name, field in rest.items() if not COLUMNS.known(name)}
        return TableLook(looks, replace(saved, columns={**saved.columns, **rest}))
    return TableLook(looks, _guess(header, cells, {look.name: look.scale for look in looks if look.scale}))


def _check_names(path: Path, rows: Sequence[Row], header: Sequence[str]) -> None:
    """Refuse keys of JSON that no mapping has; those of other tables are checked as they are read."""
    if len(header) > MAX_COLUMNS:
        raise ImportFileError(
            path, None, None, f"expected at most {MAX_COLUMNS:,} columns, found {len(header):,}."
        )
    for name in header:
        if not 0 < len(name) <= MAX_NAME:
            row = next((row.origin.row for row in rows if name in row.data), None)
            message = f"expected names of columns of 1 to {MAX_NAME} characters, found {quoted(name)}."
            raise ImportFileError(path, row, name, message)


def table_fits(path: Path, mapping: TableMapping) -> bool:
    """Whether a file has the columns of a mapping; False for one that cannot be read, which its reader refuses."""
    try:
        return not mapping.missing([column.name for column in table_look(path).columns])
    except ImportFileError:
        return False


def criteria_for(mapping: TableMapping, scales: Mapping[str, Scale] = EMPTY) -> list[dict[str, Any]] | None:
    """Criteria for the columns of ratings: those that the mapping declares, and new ones on the scales of `scales`."""
    declared = {one["key"]: one for one in mapping.criteria or () if isinstance(one, dict) and "key" in one}
    rated = {
        of_column(field, column).removeprefix(RATING): column
        for column, field in mapping.columns.items()
        if field.startswith(RATING)
    }
    return [
        declared.get(key) or criterion_on(column, scales.get(column, STANDARD))
        for key, column in rated.items()
    ] or None


class _Fields:
    """The fields of columns as they are found; each is had once."""

    def __init__(self, header: Sequence[str]) -> None:
        self.header = header
        self.of: dict[str, str] = {}

    def open(self) -> list[str]:
        return [name for name in self.header if name not in self.of]

    def has(self, field: str) -> bool:
        return field in self.of.values()

    def take(self, column: str, field: str) -> bool:
        meant = of_column(field, column)
        if meant != KEEP and self.has(meant):
            return False
        self.of[column] = field if field in (*OF_COLUMN, RATING) else meant
        return True

    @property
    def n_responses(self) -> int:
        return sum(field.startswith("response_") for field in self.of.values())


def _guess(header: Sequence[str], cells: Mapping[str, _Cells], scales: Mapping[str, Scale]) -> TableMapping:
    fields = _Fields(header)
    layout = layout_fields(header)
    for name in header:
        if COLUMNS.known(name):
            fields.take(name, name)
    for name in fields.open():
        if name in layout:
            fields.take(name, layout[name])
    for name in fields.open():
        if is_numbered(name) and _is_said(cells[name]):
            fields.take(name, OF_COLUMN[0])
    for name in fields.open():
        _by_name(fields, name, cells[name])
    _by_contents(fields, cells, scales)
    for name in fields.open():
        fields.take(name, KEEP)
    return _completed(fields, cells, scales)


def _is_said(cells: _Cells) -> bool:
    """Whether the cells may be labels: short words or numbers."""
    return cells.length < LONG / 2


def _by_name(fields: _Fields, name: str, cells: _Cells) -> None:
    meant = usual_field(name)
    if name.strip().lower() in ("winner", "better", "preferred", "preference", "vote", "label") and (
        cells.are_winners() or cells.are_choices()
    ):
        meant = PREFERENCE
    elif (
        meant in (CHOSEN, REJECTED, PREFERENCE)
        and not cells.is_texts()
        and not (cells.are_winners() or cells.are_choices())
    ):
        meant = None  # such as a model's name under "winner"
    if meant == "category" and not cells.values:
        meant = None
    if meant:
        fields.take(name, meant)


def _by_contents(fields: _Fields, cells: Mapping[str, _Cells], scales: Mapping[str, Scale]) -> None:
    _pairs(fields, cells)
    texts = [name for name in fields.open() if cells[name].is_texts()]
    if not fields.has("instruction") and not fields.has(CHOSEN):
        likely = [name for name in texts if not _RESPONSE_LIKE.search(name)]
        asked = next((name for name in likely if _asks(cells[name])), next(iter(likely), None))
        if asked is not None:
            fields.take(asked, "instruction")
            texts.remove(asked)
        elif fields.has("context"):
            fields.of[next(name for name, field in fields.of.items() if field == "context")] = "instruction"
    if not fields.n_responses and not any(fields.has(one) for one in ("responses", CHOSEN)):
        likely = [name for name in texts if _RESPONSE_LIKE.search(name)]
        for number, name in enumerate(likely or _alike(texts, cells), start=1):
            fields.take(name, f"response_{number}")
    for name in fields.open():
        own = cells[name]
        if (
            own.are_winners()
            and fields.n_responses == 2
            and not fields.has(PREFERENCE)
            and not fields.has("gold")
        ):
            fields.take(name, PREFERENCE)
        elif fields.n_responses <= 1 and name in scales:
            fields.take(name, RATING)


def _alike(texts: Sequence[str], cells: Mapping[str, _Cells]) -> Sequence[str]:
    """The two columns of texts that are left, if they are about as long."""
    lengths = [cells[name].length for name in texts]
    return texts if len(texts) == 2 and max(lengths) < 3 * min(lengths) else ()


def _asks(cells: _Cells) -> bool:
    texts = [value for value in cells.values if isinstance(value, str)]
    return sum(text.rstrip().endswith("?") for text in texts) > len(texts) / 2


def _pairs(fields: _Fields, cells: Mapping[str, _Cells]) -> None:
    """Two columns of texts whose names differ in their end or beginning alone are two responses, or their models."""
    if fields.n_responses or fields.has("responses") or fields.has(CHOSEN):
        return
    open_names = {name.strip().lower(): name for name in fields.open()}
    for first, second in _PAIR_ENDS:
        for low, name in open_names.items():
            others = {
                re.sub(rf"(?<![a-z0-9]){first}(?![a-z0-9])|(?<=_){first}$|(?<=\D){first}$", second, low)
            } - {low}
            other = next((open_names[one] for one in others if one in open_names), None)
            if other is None or not _are_responses(name, cells[name], cells[other]):
                continue
            fields.take(name, "response_1")
            fields.take(other, "response_2")
            return


def _are_responses(name: str, first: _Cells, second: _Cells) -> bool:
    """Whether two such columns hold texts; short ones too where their name says so and one of them is no number."""
    if first.is_texts() and second.is_texts():
        return True
    return bool(_RESPONSE_LIKE.search(name)) and any(
        one.numbers is None and not one.are_categories() for one in (first, second)
    )


def _completed(fields: _Fields, cells: Mapping[str, _Cells], scales: Mapping[str, Scale]) -> TableMapping:
    """The kind, the meaning of words, and what has to be declared."""
    kind = "" if fields.has("kind") else _kind(fields, cells)
    criteria = categories = None
    if kind == Rubric.name and not fields.has("criteria"):
        criteria = criteria_for(TableMapping(fields.of), scales)
    said = [
        name
        for name, field in fields.of.items()
        if field in ("gold", LABEL, PREFERENCE) or field in OF_COLUMN or field.startswith(OF_COLUMN)
    ]
    if kind == Classification.name and not fields.has("categories"):
        found = {
            str(value).strip(): None
            for name in said
            for value in cells[name].values
            if not isinstance(value, list)
        }
        categories = {"list": sorted(found)}
    values: dict[str, dict[str, Any]] = {}
    if kind == Pairwise.name:
        for name in said:
            words = [word for word in dict.fromkeys(cells[name].words) if word in WINNERS]
            if words and cells[name].are_winners():
                values[name] = {word: WINNERS[word] for word in (*words, *(_others(words)))}
                if fields.of[name].startswith(OF_COLUMN[1]):
                    values[name][UNPARSED] = UNPARSED
    columns = {name: fields.of[name] for name in fields.header}
    return TableMapping(columns, kind, values, criteria, categories)


def _others(words: Sequence[str]) -> list[str]:
    """What goes with these words, though the first rows lack it: the other response, and a tie."""
    swapped = str.maketrans("ab12", "ba21")
    opposite = [f"{word[:-1]}{word[-1].translate(swapped)}" for word in words]
    found = [word for word in (*opposite, "tie") if word in WINNERS and word not in words]
    return list(dict.fromkeys(found))


def _kind(fields: _Fields, cells: Mapping[str, _Cells]) -> str:
    if any(field == RATING or field == "criteria" for field in fields.of.values()):
        return Rubric.name
    if fields.has("aspects"):
        return Checklist.name
    if fields.has("categories"):
        return Classification.name
    if fields.n_responses > 2:
        return AnswerRanking.name
    if fields.n_responses == 2 or fields.has(CHOSEN) or fields.has("responses"):
        return Pairwise.name
    for name in (
        name for name in fields.header if fields.of[name] in (KEEP, "category", LABEL, "gold", PREFERENCE)
    ):
        hinted = name.strip().lower() in (
            "label",
            "labels",
            "class",
            "gold",
            "target",
            "annotation",
            "sentiment",
        )
        if hinted and (cells[name].are_categories() or fields.of[name] in (LABEL, "gold")):
            if fields.of[name] in (KEEP, "category"):
                fields.of[name] = LABEL if fields.has(ANNOTATOR) else "gold"
            return Classification.name
    return "instructions" if fields.n_responses == 0 else Pairwise.name

"""Ratings of systems from elsewhere (an arena's, another leaderboard's), stored whole or not at all."""

import hashlib
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.tables import ColumnTypes, csv_records, table_rows
from annotation.models import User
from metaeval.models import OutsideRatings
from metaeval.reports.errors import RatingsError
from web.json_text import unstorable

SYSTEM_COLUMNS = ("system", "model", "generator", "name")
"""What the column of systems is usually called; else it is the first one."""
LONGEST_NAME = 200
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?\s*%?\Z")


@dataclass(frozen=True, slots=True)
class RatingsFile:
    """What was read.

    Attributes
    ----------
    scores : dict of str to float
        By system, in the order of the file.
    column : str
        The column of the scores.
    n_without : int
        Systems left out because their score is empty.
    sha256 : str
        Of the file's bytes.
    """

    scores: dict[str, float]
    column: str
    n_without: int
    sha256: str


@dataclass(frozen=True, slots=True)
class _Row:
    number: int
    cells: dict[str, Any]


def ratings_read(path: Path, *, system: str = "", score: str = "") -> RatingsFile:
    """Read a `.csv`, `.jsonl` or `.parquet` table with a column of systems and one of scores, more being better.

    Parameters
    ----------
    system, score : str
        The columns. By default the one called system, model, generator or name, or else the first; and the only other
        column of numbers.

    Raises
    ------
    ImportFileError
        No such column, or several that could be the scores; or all scores that are no numbers and systems named
        twice, up to `MAX_ERRORS`.
    """
    faults = Faults()
    rows: list[_Row] = []
    with faults:
        rows.extend(_rows(path, faults))
    if not rows:
        faults.check()
    if not rows:
        raise ImportFileError(path, None, None, "expected at least one system, found none.")
    header = list(dict.fromkeys(name for row in rows for name in row.cells))  # JSON's rows may differ
    if not header:
        raise ImportFileError(path, rows[0].number, None, "expected a column of systems and one of scores.")
    system = _column(path, header, system) if system else _system_column(header)
    score = _column(path, header, score) if score else _score_column(path, rows, header, system)
    if score == system:
        raise ImportFileError(path, None, score, "systems and scores are the same column.")
    scores: dict[str, float] = {}
    n_without = 0

    def add(row: _Row) -> None:
        nonlocal n_without
        name = _name(path, row, system)
        if name in scores:
            raise ImportFileError(path, row.number, system, f"{quoted(name)} is named a second time.")
        value = _number(row.cells.get(score))
        if value is None:
            given = row.cells.get(score)
            if given is None or str(given).strip() in ("", "-", "–", "N/A", "nan", "NaN"):
                n_without += 1
                return
            raise ImportFileError(path, row.number, score, f"expected a number, found {quoted(given)}.")
        scores[name] = value

    for row in rows:
        with faults:
            add(row)
    faults.check()
    if not scores:
        raise ImportFileError(path, None, score, "expected a score of at least one system, found none.")
    return RatingsFile(scores, score, n_without, hashlib.sha256(path.read_bytes()).hexdigest())


def ratings_import(
    *,
    file: RatingsFile,
    name: str,
    title: str = "",
    source: str = "",
    licence: str = "",
    user: User | None = None,
    replace: bool = False,
) -> tuple[OutsideRatings, bool]:
    """Store ratings under a name; returns them, and whether anything changed. The same again changes nothing.

    Raises
    ------
    RatingsError
        The name is none for an address, or is taken by other ratings and ``replace`` is False.
    """
    try:
        OutsideRatings._meta.get_field("name").clean(name, None)
    except ValidationError:
        raise RatingsError(
            f"{name!r} cannot be a name: expected up to 80 letters, digits, hyphens and underscores."
        ) from None
    values = {"scores": file.scores, "column": file.column, "inputs_hash": file.sha256}
    given = {"title": title, "source": source, "licence": licence}
    about = {key: value for key, value in given.items() if value}
    try:
        return _store(name, values, about, user, replace=replace)
    except IntegrityError:
        # Somebody stored ratings of this name a moment ago: now they are there to be compared with.
        return _store(name, values, about, user, replace=replace)


@transaction.atomic
def _store(
    name: str, values: dict[str, Any], about: dict[str, str], user: User | None, *, replace: bool
) -> tuple[OutsideRatings, bool]:
    found = OutsideRatings.objects.select_for_update().filter(name=name).first()
    if found is None:
        return OutsideRatings.objects.create(
            name=name, created_by=user, **values, **({"title": name} | about)
        ), True
    changed = {key: value for key, value in (values | about).items() if getattr(found, key) != value}
    if not changed:
        return found, False
    if not replace:
        raise RatingsError(
            f"There are other ratings named {name!r} ({len(found.scores)} systems, column {found.column}). "
            "Choose another name, or replace them."
        )
    for key, value in changed.items():
        setattr(found, key, value)
    found.save(update_fields=list(changed))
    return found, True


def _rows(path: Path, faults: Faults) -> Iterator[_Row]:
    """Rows with the names of their columns. A column without a name is the index that a data frame writes."""
    if path.suffix.lower() != ".csv":
        anything = ColumnTypes(known=lambda _: True, names=(), required=())
        for row in table_rows(path, anything, faults):
            yield _Row(row.origin.row or 0, dict(row.data))
        return
    records = csv_records(path, faults)
    first = next(records, None)
    if first is None:
        raise ImportFileError(path, None, None, "the file is empty; expected a header and rows.")
    number, header = first
    names = [name.strip() or f"column {place}" for place, name in enumerate(header, start=1)]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ImportFileError(path, number, name, "expected each column once, found it twice.")
    for number, cells in records:
        yield _Row(number, dict(zip(names, cells, strict=True)))


def _column(path: Path, header: list[str], name: str) -> str:
    if name not in header:
        raise ImportFileError(path, None, name, f"there is no such column; found {', '.join(header)[:300]}.")
    return name


def _system_column(header: list[str]) -> str:
    return next((name for name in SYSTEM_COLUMNS if name in header), header[0])


def _score_column(path: Path, rows: list[_Row], header: list[str], system: str) -> str:
    """The only column of numbers."""
    found = [
        name
        for name in header
        if name != system
        and any(_number(row.cells.get(name)) is not None for row in rows)
        and all(_number(row.cells.get(name)) is not None or not row.cells.get(name) for row in rows)
    ]
    if len(found) == 1:
        return found[0]
    said = f"which of {', '.join(found)[:300]}?" if found else "no column of numbers was found."
    raise ImportFileError(path, None, None, f"choose the column of scores: {said}")


def _name(path: Path, row: _Row, column: str) -> str:
    given = row.cells.get(column)
    name = given.strip() if isinstance(given, str) else ""
    if not name or len(name) > LONGEST_NAME:
        raise ImportFileError(
            path, row.number, column, f"expected the name of a system, found {quoted(given)}."
        )
    if problem := unstorable(name):
        raise ImportFileError(path, row.number, column, problem)
    return name


def _number(value: Any) -> float | None:
    """A finite number, from a cell or from JSON; a percentage keeps its unit. None: it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return float(value) if math.isfinite(value) else None
        except OverflowError:  # a whole number of JSON may have more than 308 digits
            return None
    if isinstance(value, str) and NUMBER.match(value.strip()):
        number = float(value.strip().rstrip("%").strip())
        return number if math.isfinite(number) else None
    return None

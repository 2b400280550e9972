"""HREF's tables of preferences that somebody published without texts, such as AlpacaEval 2's."""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.rows import Row
from annotation.importers.tables import ColumnTypes, table_rows
from metaeval.inputs import Floats
from metaeval.papers import PAPERS
from metaeval.papers.href_lengths import preference_parts
from metaeval.papers.href_systems import SystemPreferences
from metaeval.papers.paper import MadePaper, paper_of
from metaeval.reports.errors import ReportError
from metaeval.stats import RegularisingRows

PREFERENCE_COLUMNS = ("model", "index", "dataset", "preference", "len_baseline", "len_model")
DIFFICULTY_COLUMNS = ("index", "instruction_difficulty")
REGULARIZING_COLUMNS = ("preference", "std_delta_len", "instruction_difficulty")


def paper_of_preferences(
    path: Path,
    *,
    difficulty: Path | None = None,
    regularizing: Path | None = None,
    baseline: str = "the baseline",
    seed: int = 0,
) -> MadePaper:
    """Make what HREF's tables and figures can be of a file of preferences and lengths.

    Parameters
    ----------
    path
        One row a system and instruction, with the columns of AlpacaEval's annotations: `model`, `index` (of the
        instruction), `preference` (1: the baseline is better, 2: the model is, anything between; 0 is a tie; empty:
        unparsed), `len_baseline` and `len_model` (characters), and optionally `dataset` (the category: what most rows
        of an index say).
    difficulty
        `index` and `instruction_difficulty`; by default it is estimated from the preferences.
    regularizing
        Pseudo-observations with `preference` (in [0, 1]), `std_delta_len` and `instruction_difficulty`.

    Raises
    ------
    ReportError
        A file that is not of this form; with the name of the file, the row and the field.
    """
    try:
        preferences, instructions = _preferences(path)
        hard = None if difficulty is None else _difficulty(difficulty, instructions)
        rows = None if regularizing is None else _regularising(regularizing)
    except ImportFileError as error:
        raise ReportError(str(error)) from None
    parts = preference_parts(
        preferences, judge="the judge", baseline=baseline, seed=seed, difficulty=hard, regularising=rows
    )
    files = [one for one in (path, difficulty, regularizing) if one is not None]
    hashes = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files}
    return paper_of(PAPERS["href"], path.name, hashes, parts)


def _preferences(path: Path) -> tuple[SystemPreferences, Sequence[str]]:
    cells: dict[tuple[str, str], tuple[float, float, float]] = {}
    categories: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(row: Row) -> None:
        system, index = row.identifier("model"), row.identifier("index")
        if (index, system) in cells:
            row.fail("index", f"expected one row for each model and index, found {quoted(index)} twice.")
        said = _number(row, "preference", empty=True)
        if not (math.isnan(said) or said == 0 or 1 <= said <= 2):
            row.fail("preference", f"expected 0 (tie) or from 1 to 2, found {said:g}.")
        categories[index][row.text("dataset")] += 1
        share = 0.5 if said == 0 else said - 1
        lengths = [
            math.nan if math.isnan(said) else _number(row, name) for name in ("len_model", "len_baseline")
        ]
        cells[index, system] = (share, lengths[0], lengths[1])

    _each(path, PREFERENCE_COLUMNS, ("dataset",), add)
    instructions, systems = list(categories), sorted({system for _, system in cells})
    values = np.full((3, len(instructions), len(systems)), np.nan)
    # In AlpacaEval's own files a few rows of an index name another dataset than the rest.
    most = tuple(names.most_common(1)[0][0] for names in categories.values())
    row_of = {index: place for place, index in enumerate(instructions)}
    column_of = {system: place for place, system in enumerate(systems)}
    for (index, system), cell in cells.items():
        values[:, row_of[index], column_of[system]] = cell
    return SystemPreferences(tuple(systems), most, *values), instructions


def _difficulty(path: Path, instructions: Sequence[str]) -> Floats:
    known: dict[str, float] = {}

    def add(row: Row) -> None:
        known[row.identifier("index")] = _number(row, "instruction_difficulty")

    _each(path, DIFFICULTY_COLUMNS, (), add)
    if missing := [index for index in instructions if index not in known]:
        raise ImportFileError(
            path,
            None,
            "index",
            f"expected every index of the preferences, found none for {quoted(missing[0])}.",
        )
    return np.array([known[index] for index in instructions])


def _regularising(path: Path) -> RegularisingRows:
    rows: list[tuple[float, float, float]] = []

    def add(row: Row) -> None:
        preference = _number(row, "preference")
        if not 0 <= preference <= 1:
            row.fail("preference", f"expected from 0 to 1, found {preference:g}.")
        rows.append((preference + 1, _number(row, "std_delta_len"), _number(row, "instruction_difficulty")))

    _each(path, REGULARIZING_COLUMNS, (), add)
    return RegularisingRows(*np.array(rows).T)


def _each(path: Path, names: Sequence[str], optional: Sequence[str], add: Callable[[Row], None]) -> None:
    """Read all rows; columns of other names are left alone."""
    columns = ColumnTypes(
        known=lambda _: True,
        names=tuple(names),
        required=tuple(name for name in names if name not in optional),
    )
    faults, n = Faults(), 0

    def counted(row: Row) -> None:
        nonlocal n
        n += 1
        add(row)

    faults.each(table_rows(path, columns, faults), counted)
    faults.check()
    if not n:
        raise ImportFileError(path, None, None, "expected at least one row, found none.")


def _number(row: Row, field: str, *, empty: bool = False) -> float:
    value = row.get(field)
    if value is None and empty:
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(value, bool):
        row.fail(field, f"expected a number, found {quoted(value)}.")
    return number

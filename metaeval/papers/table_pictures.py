"""Pictures of the tables of a paper: the same numbers as bars in groups, or as a heat map."""

from collections.abc import Iterator, Sequence

from metaeval.papers.drawing import Point, bar_picture, bars
from metaeval.papers.tables import PaperCell, PaperTable
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.palette import N_SERIES
from metaeval.pictures.parts import panels_spec
from metaeval.pictures.picture import Picture, PictureColumn, Spec

_MOST_SAID = 8
_MATRICES, _PANELS = 2, 3
"""Panels side by side."""
_PANEL = (170, 130)


def with_bars(
    table: PaperTable, heads: tuple[str, str, str], *, columns_first: bool = False
) -> Iterator[PaperTable | Picture]:
    """The table and a picture of it, with a group of bars a row and a bar a column; no picture of no number.

    With more bars in a group than there are colors to name them by, the picture is a heat map.

    Parameters
    ----------
    heads : (str, str, str)
        What the groups, the bars and their heights are.
    columns_first : bool
        Groups are the columns, and bars the rows.
    """
    entries = [
        ((head, row[0].text) if columns_first else (row[0].text, head), cell)
        for row in table.rows
        for head, cell in zip(table.columns[1:], row[1:], strict=True)
    ]
    if columns_first:
        order = {head: place for place, head in enumerate(table.columns)}
        entries.sort(key=lambda entry: order[entry[0][0]])
    yield table
    if all(cell.value is None for _, cell in entries):
        return
    if len({series for (_, series), _ in entries}) > N_SERIES:
        yield _heat_map(table, _highest(entries, heads[0]))
        return
    points: list[Point] = [(group, series, cell.value) for (group, series), cell in entries]
    yield bar_picture(
        f"{table.name}-bars",
        table.title,
        f"{table.caption} {_highest(entries, heads[0])}",
        points,
        heads=heads,
        mark=0.0 if any(value is not None and value < 0 for _, _, value in points) else None,
    )


def _highest(entries: Sequence[tuple[tuple[str, str], PaperCell]], head: str) -> str:
    """The highest bar of each group, in words; bars with the same number share it."""
    found: dict[str, list[tuple[str, PaperCell]]] = {}
    for (group, series), cell in entries:
        if cell.value is not None:
            found.setdefault(group, []).append((series, cell))
    said = []
    for group, cells in found.items():
        text = max(cells, key=lambda entry: entry[1].value or 0.0)[1].text
        names = " and ".join(series for series, cell in cells if cell.text == text)
        said.append(f"{head} {group}: {names} ({text})")
    more = f", and of {len(said) - _MOST_SAID} more groups in the table" if len(said) > _MOST_SAID else ""
    return f"Highest: {'; '.join(said[:_MOST_SAID])}{more}."


def with_matrix(table: PaperTable) -> Iterator[PaperTable | Picture]:
    """A symmetric matrix of correlations and its heat map; no picture where none is defined."""
    yield table
    if ends := _ends_of(table):
        yield _heat_map(table, f"Of two different rows, {ends}. The bluer a cell, the higher.")


def _pairs(table: PaperTable) -> list[tuple[float, PaperCell, str]]:
    """What stands below the diagonal of a matrix, with the names of its row and column, the lowest first."""
    found = [
        (cell.value, cell, f"{row[0].text} and {table.columns[place]}")
        for n, row in enumerate(table.rows)
        for place, cell in enumerate(row[1 : n + 1], 1)
        if cell.value is not None
    ]
    return sorted(found, key=lambda entry: entry[0])


def _ends_of(table: PaperTable) -> str:
    pairs = _pairs(table)
    if not pairs:
        return ""
    return ", ".join(
        f"{word} {names} ({cell.text})"
        for word, (_, cell, names) in (("highest", pairs[-1]), ("lowest", pairs[0]))
    )


def matrix_panels(
    name: str, title: str, description: str, tables: Sequence[tuple[str, PaperTable]]
) -> Iterator[Picture]:
    """Matrices of correlations side by side, a panel each with its title, on one scale; none where none is defined."""
    known = [value for _, table in tables for value, *_ in _pairs(table)]
    if not known:
        return
    words = "; ".join(f"{head}: {ends}" for head, table in tables if (ends := _ends_of(table)))
    wide, narrow = (
        [(head, _cells_spec(table, (min(known), max(known)), narrow=small)) for head, table in tables]
        for small in (False, True)
    )
    yield Picture(
        name,
        title,
        f"{description} The bluer a cell, the higher. {words}.",
        panels_spec(wide, columns=_MATRICES),
        (PictureColumn("Panel"), PictureColumn("Row"), PictureColumn("Column"), PictureColumn("Correlation", "number")),
        tuple(
            (head, row[0].text, column, cell.value)
            for head, table in tables
            for row in table.rows
            for column, cell in zip(table.columns[1:], row[1:], strict=True)
        ),
        narrow=panels_spec(narrow, columns=1),
    )  # fmt: skip


def level_panels(table: PaperTable, heads: tuple[str, str, str]) -> Iterator[PaperTable | Picture]:
    """The table, in percent, and a panel a column: the rows from left to right, a bar each.

    ``heads`` names the panels, the rows and the bars.
    """
    yield table
    series, across, up = heads
    rows = [
        (head, row[0].text, None if cell.value is None else cell.value / 100)
        for place, head in enumerate(table.columns[1:], 1)
        for row in table.rows
        for cell in (row[place],)
    ]
    if all(value is None for *_, value in rows):
        return
    panels = [
        (
            head,
            bars(
                [(level, up, value) for name, level, value in rows if name == head],
                heads=(across, up, up),
                percent=True,
                size=_PANEL,
                ends=(0.0, 1.0),
            ),
        )
        for head in table.columns[1:]
    ]
    yield Picture(
        f"{table.name}-panels",
        table.title,
        f"{table.caption} One panel for each {series.lower()}.",
        panels_spec(panels, columns=_PANELS),
        (PictureColumn(series), PictureColumn(across), PictureColumn(up, "percent")),
        tuple(rows),
        narrow=panels_spec(panels, columns=1),
    )


def _heat_map(table: PaperTable, words: str) -> Picture:
    """Every cell with its number; the steps reach from the least of the numbers to the greatest."""
    pairs = [value for value, *_ in _pairs(table)] if _is_matrix(table) else []
    numbers = pairs or [cell.value for row in table.rows for cell in row[1:] if cell.value is not None]
    return Picture(
        f"{table.name}-map",
        table.title,
        f"{table.caption} {words}",
        _cells_spec(table, (min(numbers), max(numbers))),
        (
            PictureColumn(table.columns[0] or "Name"),
            *(PictureColumn(head, "number") for head in table.columns[1:]),
        ),
        tuple((row[0].text, *(cell.value for cell in row[1:])) for row in table.rows),
    )


def _is_matrix(table: PaperTable) -> bool:
    """Whether rows and columns are the same, so that the diagonal says nothing."""
    return tuple(row[0].text for row in table.rows) == table.columns[1:]


def _cells_spec(table: PaperTable, ends: tuple[float, float], *, narrow: bool = False) -> Spec:
    cells = [
        [
            HeatCell(cell.value, cell.text, f"{row[0].text}, {head}: {cell.text}")
            for head, cell in zip(table.columns[1:], row[1:], strict=True)
        ]
        for row in table.rows
    ]
    return heat_map_spec(
        [row[0].text for row in table.rows], table.columns[1:], cells, rising=ends, narrow=narrow
    )

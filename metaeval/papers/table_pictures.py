"""Pictures of the tables of a paper: the same numbers as bars in groups, or as a heat map."""

from collections.abc import Iterator, Sequence

from metaeval.papers.drawing import Point, bar_picture
from metaeval.papers.tables import PaperCell, PaperTable
from metaeval.pictures.heat_maps import HeatCell, heat_map_spec
from metaeval.pictures.palette import N_SERIES
from metaeval.pictures.picture import Picture, PictureColumn

_MOST_SAID = 8


def with_bars(
    table: PaperTable, heads: tuple[str, str, str], *, columns_first: bool = False, percent: bool = False
) -> Iterator[PaperTable | Picture]:
    """The table and a picture of it, with a group of bars a row and a bar a column; no picture of no number.

    With more bars in a group than there are colors to name them by, the picture is a heat map.

    Parameters
    ----------
    heads : (str, str, str)
        What the groups, the bars and their heights are.
    columns_first : bool
        Groups are the columns, and bars the rows.
    percent : bool
        The numbers of the table are in percent.
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
        numbers = [cell.value for _, cell in entries if cell.value is not None]
        yield _heat_map(table, numbers, _highest(entries, heads[0]))
        return
    points: list[Point] = [
        (group, series, None if cell.value is None else cell.value / (100 if percent else 1))
        for (group, series), cell in entries
    ]
    yield bar_picture(
        f"{table.name}-bars",
        table.title,
        f"{table.caption} {_highest(entries, heads[0])}",
        points,
        heads=heads,
        percent=percent,
        zero_line=any(value is not None and value < 0 for _, _, value in points),
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
    """A symmetric matrix of correlations and its heat map, steps around 0.5; no picture where none is defined."""
    yield table
    pairs = [
        (cell, f"{row[0].text} and {table.columns[place]}")
        for n, row in enumerate(table.rows)
        for place, cell in enumerate(row[1 : n + 1], 1)
        if cell.value is not None
    ]
    if not pairs:
        return
    pairs.sort(key=lambda pair: pair[0].value or 0.0)
    ends = ", ".join(
        f"{word} {pair} ({cell.text})"
        for word, (cell, pair) in (("highest", pairs[-1]), ("lowest", pairs[0]))
    )
    yield _heat_map(table, (0.1, 0.9), f"Of two different rows, {ends}.")


def _heat_map(table: PaperTable, numbers: Sequence[float], words: str) -> Picture:
    """Every cell with its number; the steps reach from the least of the numbers to the greatest."""
    low, high = min(numbers), max(numbers)
    cells = [
        [
            HeatCell(cell.value, cell.text, f"{row[0].text}, {head}: {cell.text}")
            for head, cell in zip(table.columns[1:], row[1:], strict=True)
        ]
        for row in table.rows
    ]
    return Picture(
        f"{table.name}-map",
        table.title,
        f"{table.caption} {words}",
        heat_map_spec(
            [row[0].text for row in table.rows],
            table.columns[1:],
            cells,
            middle=(low + high) / 2,
            reach=max((high - low) / 2, 1e-9),
        ),
        (
            PictureColumn(table.columns[0] or "Name"),
            *(PictureColumn(head, "number") for head in table.columns[1:]),
        ),
        tuple((row[0].text, *(cell.value for cell in row[1:])) for row in table.rows),
    )

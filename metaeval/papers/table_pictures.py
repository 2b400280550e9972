"""Pictures of the tables of a paper: the same numbers as bars in groups."""

from collections.abc import Iterator

from metaeval.papers.drawing import Point, bar_picture
from metaeval.papers.tables import PaperCell, PaperTable
from metaeval.pictures.picture import Picture

_MOST_SAID = 8


def with_bars(
    table: PaperTable, heads: tuple[str, str, str], *, columns_first: bool = False, percent: bool = False
) -> Iterator[PaperTable | Picture]:
    """The table and a picture of it, with a group of bars a row and a bar a column; no picture of no number.

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
    points: list[Point] = [
        (group, series, None if cell.value is None else cell.value / (100 if percent else 1))
        for (group, series), cell in entries
    ]
    yield bar_picture(
        f"{table.name}-bars",
        table.title,
        f"{table.caption} {_highest(entries)}",
        points,
        heads=heads,
        percent=percent,
        zero_line=any(value is not None and value < 0 for _, _, value in points),
    )


def _highest(entries: list[tuple[tuple[str, str], PaperCell]]) -> str:
    """The highest bar of each group, in words."""
    best: dict[str, tuple[float, str]] = {}
    for (group, series), cell in entries:
        if cell.value is not None and (group not in best or cell.value > best[group][0]):
            best[group] = (cell.value, f"{group}: {series} ({cell.text})")
    said = [text for _, text in best.values()]
    more = f", and of {len(said) - _MOST_SAID} more groups in the table" if len(said) > _MOST_SAID else ""
    return f"Highest: {'; '.join(said[:_MOST_SAID])}{more}."

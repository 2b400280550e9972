"""How much room a table takes on paper, and its parts where a page has less."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from metaeval.papers.tables import PaperTable, Span
from metaeval.reports.latex_text import head_lines

LONG = 36
"""Words of a cell that are longer stand in several lines."""
_BESIDE = 1.8


def width_of(table: PaperTable) -> float:
    """Its width in characters of its type, the room between columns included.

    Examples
    --------
    >>> from metaeval.papers.tables import number_cell, word_cell
    >>> row = (word_cell("GPT-4"), number_cell(0.935))
    >>> width_of(PaperTable("t", "T", "C", ("Judge", "Acc."), (row,)))
    12.6
    """
    return round(sum(_widths(table)), 1)


def _widths(table: PaperTable) -> list[float]:
    cells = zip(*table.rows, strict=True) if table.rows else (() for _ in table.columns)
    return [
        _BESIDE + min(LONG, max([*map(len, head_lines(head)), *(len(cell.text) for cell in column)]))
        for head, column in zip(table.columns, cells, strict=True)
    ]


def table_parts(table: PaperTable, *, room: float, most_rows: int | None = None) -> list[PaperTable]:
    """The table, or parts of it that are no wider and no longer than a page has room for.

    Each part has the first column; columns under one head stay together. Captions say which part it is, and names end
    in its number.

    Parameters
    ----------
    room : float
        In characters, as `width_of` counts them.
    most_rows : int, optional
    """
    across, down = _columns(table, room), _rows(len(table.rows), most_rows)
    parts = [_part(table, columns, rows) for rows in down for columns in across]
    if len(parts) == 1:
        return parts
    return [
        replace(part, name=f"{table.name}-{n}", caption=f"{table.caption} Part {n} of {len(parts)}.")
        for n, part in enumerate(parts, start=1)
    ]


def _rows(n: int, most: int | None) -> list[slice]:
    """Rows in parts of about the same size."""
    n_parts = 1 if most is None else max(1, -(-n // most))
    size = max(1, -(-n // n_parts))
    return [slice(part * size, (part + 1) * size) for part in range(n_parts)]


def _columns(table: PaperTable, room: float) -> list[range]:
    """Ranges of columns beside the first one, of about the same width."""
    first, *widths = _widths(table)
    groups = [list(own) for _, own in groupby(range(len(widths)), key=_groups(table).__getitem__)]
    whole = sum(widths)
    n_parts = max(1, -(-int(whole) // max(1, int(room - first))))
    found: list[range] = []
    begin, used, left = 0, 0.0, whole
    for group in groups:
        size = sum(widths[place] for place in group)
        most = min(room - first, left / max(1, n_parts - len(found)) + size / 2)
        if used and used + size > most:
            found.append(range(begin, group[0]))
            begin, left, used = group[0], left - used, 0.0
        used += size
    return [*found, range(begin, len(widths))]


def _groups(table: PaperTable) -> list[int]:
    """For each column but the first the number of the head above it; each is its own where there is none."""
    if not table.spans:
        return list(range(len(table.columns) - 1))
    line = table.span_rows[-1]
    return [number for number, (_, width) in enumerate(line) for _ in range(width)]


def _part(table: PaperTable, columns: range, rows: slice) -> PaperTable:
    kept = [0, *(place + 1 for place in columns)]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows[rows]),
        spans=_spans(table.spans, columns),
        upper_spans=_spans(table.upper_spans, columns),
    )


def _spans(line: Sequence[Span], columns: range) -> tuple[Span, ...]:
    """What of the heads above stands over these columns."""
    return tuple(_over(line, columns))


def _over(line: Sequence[Span], columns: range) -> Iterator[Span]:
    begin = 0
    for text, width in line:
        kept = min(begin + width, columns.stop) - max(begin, columns.start)
        if kept > 0:
            yield text, kept
        begin += width

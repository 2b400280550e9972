"""CSV files that Touchstone wrote: texts without the apostrophes that keep a spreadsheet from running them."""

from dataclasses import replace

from annotation.importers.rows import Row
from web.csv_text import csv_cell_text


def unescaped(row: Row) -> Row:
    """A row of a CSV file as it was before it was written."""
    texts = {name: csv_cell_text(cell) for name, cell in row.data.items() if isinstance(cell, str)}
    return replace(row, data={**row.data, **texts})

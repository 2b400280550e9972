"""Tables of the generic format and of any other with a mapping file, in one file or in several."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.columns import has_label_rows
from annotation.importers.errors import Faults
from annotation.importers.generic import COLUMNS, generic_rows, item_row_add
from annotation.importers.records import EMPTY, CriterionRecord, DatasetBundle
from annotation.importers.rows import Progress, Row, counted_rows
from annotation.importers.tables import table_open
from annotation.peers.mapping import FileMapping


def read_tables(
    files: Sequence[Path],
    source: Path,
    form: str,
    mapping: FileMapping | None = None,
    progress: Progress | None = None,
    *,
    criteria: Sequence[CriterionRecord] = (),
) -> DatasetBundle:
    """A bundle of all rows of some files, whose columns are those of the generic format or what the mapping says.

    Parameters
    ----------
    source
        The file or folder that the dataset is of.
    form
        The name of the format, for where the dataset says what it is from.
    criteria : optional
        Criteria of the dataset that no row has to declare.

    Raises
    ------
    ImportFileError
        With everything that is wrong up to `MAX_ERRORS` rows (a `RefusedFileError`), or the only thing.
    """
    builder, faults = BundleBuilder(f"{form}: {source.name}"), Faults()
    builder.criteria.update({record.key: record for record in criteria})
    for file in files:
        rows, long = _generic(file, faults) if mapping is None else (_mapped(file, mapping, faults), False)
        long = long or (mapping is not None and has_label_rows(mapping.fields))
        faults.each(counted_rows(rows, progress), partial(item_row_add, builder, long=long))
    faults.check()
    return builder.finish(source)


def _generic(file: Path, faults: Faults) -> tuple[Iterator[Row], bool]:
    rows, long = generic_rows(file, EMPTY, faults)
    return (row for raw in rows if (row := faults.tried(raw)) is not None), long


def _mapped(file: Path, mapping: FileMapping, faults: Faults) -> Iterator[Row]:
    columns = replace(COLUMNS, fields=mapping.columns)
    for raw in table_open(file, faults, COLUMNS.known).rows(columns, faults):
        row = faults.tried(partial(mapping.row, raw))
        if row is not None:
            yield row

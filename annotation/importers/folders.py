"""Folders of tables, as authors publish a dataset: which files of a path are data."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError
from annotation.importers.files import require_file
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import Row, one_of
from annotation.importers.tables import plain_rows

TABLES = (".parquet", ".jsonl", ".json", ".csv")
ABOUT = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "croissant.json")
"""What a folder of the Hugging Face Hub says of its data, which is no data."""


def table_files(path: Path, suffixes: Sequence[str] = TABLES) -> list[Path]:
    """The file at a path, or all tables in the folder there, in the order of their paths.

    Files and folders whose name begins with a dot are passed over.

    Raises
    ------
    ImportFileError
        A folder without a table, or nothing at the path.
    """
    if not path.is_dir():
        require_file(path)
        return [path]
    found = [
        file
        for file in path.rglob("*")
        if file.suffix.lower() in suffixes
        and file.name not in ABOUT
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
        and file.is_file()
    ]
    if not found:
        names = one_of([f"*{suffix}" for suffix in suffixes])
        raise ImportFileError(path, None, None, f"expected a folder with files {names}, found none.")
    return sorted(found, key=lambda file: file.relative_to(path).parts)


def bundle_of_tables(
    source: str, path: str | Path, add: Callable[[BundleBuilder, Row], None]
) -> DatasetBundle:
    """Read a table, or every table of a folder, and add each row to one bundle.

    Raises
    ------
    ImportFileError
        With every fault found, or as `table_files` does.
    """
    path = Path(path)
    builder = BundleBuilder(f"{source}: {path.name}")
    faults = Faults()
    for file in table_files(path):
        faults.each(plain_rows(file, faults), partial(add, builder))
    faults.check()
    return builder.finish(path)

"""Folders of tables, as authors publish a dataset: which files of a path are data."""

from collections.abc import Sequence
from pathlib import Path

from annotation.importers.errors import ImportFileError
from annotation.importers.files import require_file
from annotation.importers.rows import one_of

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

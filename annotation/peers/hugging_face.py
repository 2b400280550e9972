"""Folders of the Hugging Face Hub and of `datasets`: a card with data files, or what `save_to_disk` writes.

A clone of a dataset has Parquet, JSON Lines or CSV files and a card, README.md, whose YAML says which of them are which
configuration and split. `save_to_disk` writes Arrow files and says in ``state.json`` which.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from annotation.importers.archives import folder_or_zip
from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.files import read_document
from annotation.importers.folders import table_files
from annotation.importers.generic import read_tables
from annotation.importers.mapping import TableMapping, mapping_file_read
from annotation.importers.records import DatasetBundle, Origin
from annotation.importers.rows import Progress, Row, one_of
from web.yaml_text import YamlError, yaml_read

CARD, DICT, STATE = "README.md", "dataset_dict.json", "state.json"
MAPPINGS = ("touchstone.yaml", "touchstone.yml", "touchstone.json")
MAX_CARD = 2**20
FRONT = re.compile(r"\A---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)
SPLITS = {
    "train": "train", "test": "test", "eval": "test", "validation": "validation", "valid": "validation",
    "val": "validation", "dev": "validation",
}  # fmt: skip
"""What `datasets` takes a word in the path of a file for."""
DEFAULT_SPLIT = "train"


@dataclass(frozen=True, slots=True)
class DataFolder:
    """What a folder says of itself: its license, and its data files by configuration and split."""

    licence: str
    files: dict[str, dict[str, list[Path]]]
    default: str


def read_hugging_face(
    path: str | Path,
    *,
    mapping: TableMapping | None = None,
    config: str | None = None,
    splits: Sequence[str] = (),
    progress: Progress | None = None,
) -> DatasetBundle:
    """Read a folder, or a zip of one.

    Parameters
    ----------
    mapping : optional
        What the columns are. Default: the first of `MAPPINGS` in the folder; without it they are those of the generic
        format or of a published layout.
    config : optional
        Needed where the folder has several and none is its default.
    splits : optional
        Needed where there are several.

    Raises
    ------
    ImportFileError
        Also where there are several configurations or splits and none was chosen.
    """
    path = Path(path)
    with folder_or_zip(path) as root:
        folder = _inner(root, path)
        found = data_folder(folder)
        files = _chosen(folder, found, config, splits)
        inside = next((folder / name for name in MAPPINGS if (folder / name).is_file()), None)
        if mapping is None:
            mapping = TableMapping() if inside is None else mapping_file_read(inside)
        return read_tables(files, path, "huggingface", progress, mapping=mapping)


def folder_licence(path: str | Path) -> str:
    """The license that the card of a folder names; empty without one."""
    path = Path(path)
    with folder_or_zip(path) as root:
        return _licence(_card(_inner(root, path)))


def _inner(root: Path, path: Path) -> Path:
    """The folder; of a zip that holds one folder alone, that one."""
    inside = [one for one in root.iterdir() if not one.name.startswith(".")]
    return inside[0] if root != path and len(inside) == 1 and inside[0].is_dir() else root


def data_folder(folder: Path) -> DataFolder:
    """Find the data files of a folder.

    Raises
    ------
    ImportFileError
        No data, or a card or state that names what is not there.
    """
    card = _card(folder)
    if (folder / DICT).is_file() or (folder / STATE).is_file():
        return DataFolder(_licence(card), {"default": _saved(folder)}, "default")
    configs = [card.within(f"configs[{n}]", one) for n, one in enumerate(card.items("configs"))]
    files: dict[str, dict[str, list[Path]]] = {}
    default = ""
    for one in configs:
        name = one.identifier("config_name")
        files[name] = _listed(folder, one)
        if one.get("default") is True or name == "default":
            default = name
    if not files:
        files["default"] = _by_name(folder)
    return DataFolder(_licence(card), files, default or (next(iter(files)) if len(files) == 1 else ""))


def _chosen(folder: Path, found: DataFolder, config: str | None, splits: Sequence[str]) -> list[Path]:
    name = config or found.default
    if name not in found.files:
        said = f", found {quoted(config)}" if config else "; say which"
        raise ImportFileError(folder, None, "config", f"expected {one_of(sorted(found.files))}{said}.")
    by_split = found.files[name]
    if not splits and len(by_split) > 1:
        raise ImportFileError(
            folder, None, "split", f"the dataset has {one_of(sorted(by_split))}; say which to import."
        )
    for split in splits:
        if split not in by_split:
            raise ImportFileError(
                folder, None, "split", f"expected {one_of(sorted(by_split))}, found {quoted(split)}."
            )
    return [file for split in splits or by_split for file in by_split[split]]


def _card(folder: Path) -> Row:
    """The YAML at the head of the card; empty without one."""
    file = folder / CARD
    data: Any = {}
    if file.is_file():
        with file.open("rb") as opened:
            text = opened.read(MAX_CARD).decode("utf-8", errors="replace")
        if front := FRONT.match(text):
            try:
                data = yaml_read(front[1]) or {}
            except YamlError as error:
                raise ImportFileError(file, None, None, f"the card's YAML cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise ImportFileError(file, None, None, f"expected an object at the head, found {quoted(data)}.")
    return Row(Origin(str(file), 1), data)


def _licence(card: Row) -> str:
    said = card.get("license")
    names = said if isinstance(said, list) else [said]
    return ", ".join(str(name) for name in names if name)[:100]


def _listed(folder: Path, config: Row) -> dict[str, list[Path]]:
    """The files of a configuration: patterns, or patterns by split."""
    given = config.require("data_files")
    parts = given if isinstance(given, list) else [given]
    found: dict[str, list[Path]] = {}
    for place, part in enumerate(parts):
        one = (
            config.within(f"data_files[{place}]", part)
            if isinstance(part, dict)
            else Row(config.origin, {"split": DEFAULT_SPLIT, "path": part}, f"{config.prefix}data_files.")
        )
        patterns = one.require("path")
        files = found.setdefault(one.identifier("split"), [])
        for pattern in patterns if isinstance(patterns, list) else [patterns]:
            files += _matching(folder, one, pattern)
    return found


def _matching(folder: Path, row: Row, pattern: Any) -> list[Path]:
    pure = PurePosixPath(pattern) if isinstance(pattern, str) and pattern else None
    if pure is None or pure.is_absolute() or ".." in pure.parts:
        row.fail("path", f"expected a path in the folder, found {quoted(pattern)}.")
    found = sorted(file for file in folder.glob(str(pure)) if file.is_file() and _is_inside(folder, file))
    if not found:
        row.fail("path", f"expected a file at {quoted(pattern)}, found none.")
    return found


def _is_inside(folder: Path, file: Path) -> bool:
    return file.resolve().is_relative_to(folder.resolve())


def _saved(folder: Path) -> dict[str, list[Path]]:
    """What `save_to_disk` wrote: a folder for each split, or one split alone."""
    if not (folder / DICT).is_file():
        return {_state(folder).text("_split") or DEFAULT_SPLIT: _state_files(folder)}
    whole = Row(Origin(str(folder / DICT), 1), _object(folder / DICT))
    splits = {}
    for place, name in enumerate(whole.items("splits")):
        split = whole.within(f"splits[{place}]", {"name": name}).identifier("name")
        if not (folder / split / STATE).is_file() or not _is_inside(folder, folder / split):
            whole.fail("splits", f"expected {split}/{STATE}, found none.")
        splits[split] = _state_files(folder / split)
    return splits


def _state_files(folder: Path) -> list[Path]:
    state = _state(folder)
    files = []
    for place, one in enumerate(state.items("_data_files")):
        entry = state.within(f"_data_files[{place}]", one)
        name = entry.text("filename", required=True)
        file = folder / name
        if PurePosixPath(name).name != name or not file.is_file():
            entry.fail("filename", f"expected a file beside {STATE}, found {quoted(name)}.")
        files.append(file)
    if not files:
        state.fail("_data_files", "expected at least one file, found none.")
    return files


def _state(folder: Path) -> Row:
    return Row(Origin(str(folder / STATE), 1), _object(folder / STATE))


def _object(file: Path) -> dict[str, Any]:
    document = read_document(file)
    if not isinstance(document, dict):
        raise ImportFileError(file, None, None, f"expected an object, found {quoted(document)}.")
    return document


def _by_name(folder: Path) -> dict[str, list[Path]]:
    """All tables, by the split that a word in their path says; without a word they are one split."""
    found: dict[str, list[Path]] = {}
    for file in table_files(folder):
        if file.name in MAPPINGS:
            continue
        words = re.split(r"[^a-z]+", file.relative_to(folder).as_posix().lower())
        split = next((SPLITS[word] for word in reversed(words) if word in SPLITS), DEFAULT_SPLIT)
        found.setdefault(split, []).append(file)
    return found

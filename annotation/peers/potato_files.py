"""Potato's projects, read: the configuration says where items and annotators' answers are, and what was asked.

Projects of `annotation.peers.potato` come back whole. Of others, items need the fields of the generic format or those
that the configuration names; `pairwise` is read as a preference, `likert` and `multirate` of 2 to 11 points as ratings.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from annotation.importers.archives import folder_or_zip
from annotation.importers.build import BundleBuilder
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.files import read_document
from annotation.importers.generic import COLUMNS, item_row_add
from annotation.importers.records import DatasetBundle, Origin
from annotation.importers.rows import Row
from annotation.importers.tables import table_open
from annotation.peers.potato import STATE, STATES
from annotation.peers.potato_schemes import Said, Schemes
from annotation.peers.records import row_of_fields
from web.yaml_text import YamlError, yaml_read

MAX_CONFIG = 2**20
SUFFIXES = (".yaml", ".yml")
LABELS = "instance_id_to_label_to_value"
MACHINES = ("tool", "llm")


def read_potato(path: str | Path) -> DatasetBundle:
    """Read a project: a folder with its configuration in it, or a zip of one.

    Raises
    ------
    ImportFileError
        With the file in the project. Nothing outside of it is read, whatever its configuration says.
    """
    with folder_or_zip(Path(path)) as root:
        return _read(root, f"potato: {Path(path).name}")


def _read(root: Path, source: str) -> DatasetBundle:
    file, config = _configuration(root)
    schemes = Schemes(config)
    base = _inside(root, config, file.parent / config.text("task_dir"), "task_dir")
    properties = config.within("item_properties", config.mapping("item_properties"))
    text_key, id_key = (
        properties.text(name) or other for name, other in (("text_key", "text"), ("id_key", "id"))
    )
    faults, builder = Faults(), BundleBuilder(source)
    rows: dict[str, Row] = {}

    def keep_row(row: Row) -> None:
        item = row.identifier(id_key)
        if item in rows:
            row.fail(id_key, f"expected an id of its own, found {quoted(item)} twice.")
        rows[item] = row

    for data in _data_files(root, base, config):
        table = table_open(data, faults, COLUMNS.known)
        faults.each(table.rows(COLUMNS, faults), keep_row)
    faults.check()
    said: dict[str, list[tuple[str, bool, Said]]] = {}

    def keep_answers(state: Row) -> None:
        item = state.identifier("item")
        if item not in rows:
            state.fail(None, f"expected answers about items of the data files, found {quoted(item)}.")
        said.setdefault(item, []).append(
            (state.identifier("user_id"), state.flag("machine"), schemes.said(state))
        )

    output = base / (config.text("output_annotation_dir") or STATES)
    for states in sorted(_inside(root, config, output, "output_annotation_dir").glob(f"*/{STATE}")):
        faults.each(_states(states), keep_answers)
    faults.check()

    def add(item: str, row: Row) -> None:
        data = schemes.fields(row, text_key) | {"id": item}
        labels = []
        for who, machine, answers in said.get(item, ()):
            if value := schemes.value(data, answers):
                labels.append({"annotator": who, "value": value, "simulated": machine})
        item_row_add(builder, row_of_fields(row, data, labels), False)

    for item, row in rows.items():
        with faults:
            add(item, row)
    faults.check()
    return builder.finish(root)


def _configuration(root: Path) -> tuple[Path, Row]:
    """The one configuration of a project: the highest YAML file that has schemes."""
    files = sorted(file for file in root.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    found: dict[int, list[tuple[Path, Row]]] = {}
    for file in files:
        if file.stat().st_size > MAX_CONFIG:
            continue
        try:
            values = yaml_read(file.read_text(encoding="utf-8"))
        except (YamlError, UnicodeDecodeError) as error:
            raise ImportFileError(file, None, None, f"expected a configuration in YAML; {error}") from None
        if isinstance(values, dict) and "annotation_schemes" in values:
            found.setdefault(len(file.parts), []).append((file, Row(Origin(str(file), 1), values)))
    if not found:
        message = "expected a Potato project: a YAML file with annotation_schemes, found none."
        raise ImportFileError(root, None, None, message)
    highest = found[min(found)]
    if len(highest) > 1:
        names = " and ".join(file.name for file, _ in highest)
        raise ImportFileError(root, None, None, f"expected one configuration, found {names}.")
    return highest[0]


def _inside(root: Path, config: Row, place: Path, field: str) -> Path:
    """A place that the configuration names, which may not lead out of the project."""
    try:
        found = place.resolve()
        found.exists()  # a name may be longer than the system has any
    except (OSError, ValueError, RuntimeError):
        config.fail(field, f"expected a path, found {quoted(config.get(field))}.")
    if not found.is_relative_to(root.resolve()):
        config.fail(field, "expected a path inside the project; this one leads out of it.")
    return found


def _data_files(root: Path, base: Path, config: Row) -> Iterator[Path]:
    named = config.get("data_files")
    for number, one in enumerate([named] if isinstance(named, str) else config.items("data_files")):
        field = f"data_files[{number}]"
        name = one.get("path") if isinstance(one, dict) else one
        if not isinstance(name, str):
            config.fail(field, f"expected a path, found {quoted(one)}.")
        yield _inside(root, config, base / name, field)


def _states(file: Path) -> Iterator[Row]:
    """What one annotator said, a row an item; `machine` where Potato says that it was a program."""
    document = Row(Origin(str(file), 1), _mapping(file, read_document(file)))
    origin = document.get("origin")
    machine = isinstance(origin, dict) and origin.get("kind") in MACHINES
    who = document.identifier("user_id")
    for number, (item, answers) in enumerate(document.mapping(LABELS).items(), start=1):
        about = {"item": item, "user_id": who, "machine": machine, "answers": answers}
        yield Row(Origin(str(file), number), about)


def _mapping(file: Path, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ImportFileError(file, None, None, f"expected a JSON object, found {quoted(value)}.")
    return value

"""Folders of the Hugging Face Hub and of `datasets`: which files are data, which split, what the columns are."""

import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from annotation.importers import DatasetBundle, ImportFileError
from annotation.importers.mapping import TableMapping
from annotation.peers.hugging_face import folder_licence, read_hugging_face
from tests.annotation.importers.benchmarks import Row, write_json, write_lines
from tests.cases import over

# Parquet and Arrow are decoded in a process of their own.
pytestmark = pytest.mark.service

COLUMNS = {"question": "instruction", "better": "chosen", "worse": "rejected", "source": "subset"}
MAPPING = TableMapping(columns=COLUMNS)


def pair(word: str) -> Row:
    return {"question": f"{word}?", "better": f"{word}.", "worse": "No.", "source": "quiz"}


def parquet_write(file: Path, *rows: Row) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), file)


def arrow_write(file: Path, *rows: Row, batch: int = 1) -> None:
    """A stream, as `datasets` writes."""
    import pyarrow

    file.parent.mkdir(parents=True, exist_ok=True)
    table = pyarrow.Table.from_pylist(list(rows))
    with pyarrow.OSFile(str(file), "wb") as out, pyarrow.ipc.new_stream(out, table.schema) as stream:
        for part in table.to_batches(max_chunksize=batch):
            stream.write_batch(part)


def saved(folder: Path, *rows: Row, name: str = "data-00000-of-00001.arrow", split: str = "train") -> None:
    arrow_write(folder / name, *rows)
    write_json(
        folder / "state.json", {"_data_files": [{"filename": name}], "_split": split, "_format_type": None}
    )
    write_json(folder / "dataset_info.json", {"features": {}})


def card(folder: Path, head: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(f"---\n{head}---\n\n# A set\n\n---\n")


def asked(bundle: DatasetBundle) -> list[str]:
    texts = {one.key: one.text for one in bundle.instructions}
    return [texts[item.instruction] for item in bundle.items]


CONFIGS = """license: cc-by-4.0
configs:
- config_name: easy
  data_files:
  - split: test
    path: easy/*.parquet
  - split: train
    path: ["easy-train.jsonl"]
- config_name: hard
  data_files: hard.csv
"""


def hub(folder: Path) -> Path:
    card(folder, CONFIGS)
    parquet_write(folder / "easy" / "b.parquet", pair("Two"))
    parquet_write(folder / "easy" / "a.parquet", pair("One"))
    write_lines(folder / "easy-train.jsonl", pair("Three"))
    (folder / "hard.csv").write_text("question,better,worse,source\nFour?,Four.,No.,quiz\n")
    return folder


def test_a_clone_by_the_card(tmp_path):
    folder = hub(tmp_path)
    test = read_hugging_face(folder, mapping=MAPPING, config="easy", splits=["test"])
    assert asked(test) == ["One?", "Two?"]
    assert [item.gold for item in test.items] == [{"choice": 1}] * 2
    assert {one.subset for one in test.instructions} == {"quiz"}
    both = read_hugging_face(folder, mapping=MAPPING, config="easy", splits=["train", "test"])
    assert asked(both) == ["Three?", "One?", "Two?"]
    assert asked(read_hugging_face(folder, mapping=MAPPING, config="hard")) == ["Four?"]
    assert folder_licence(folder) == "cc-by-4.0"


def test_a_split_is_a_word_of_the_path_without_a_card(tmp_path):
    parquet_write(tmp_path / "data" / "train-00000-of-00001.parquet", pair("One"))
    parquet_write(tmp_path / "data" / "validation-00000-of-00001.parquet", pair("Two"))
    assert asked(read_hugging_face(tmp_path, mapping=MAPPING, splits=["validation"])) == ["Two?"]
    assert folder_licence(tmp_path) == ""


def test_save_to_disk(tmp_path):
    """With splits, and one split alone; batches of several rows and of one."""
    rows = [pair(f"{n}") for n in range(40)]
    write_json(tmp_path / "dataset_dict.json", {"splits": ["train", "test"]})
    saved(tmp_path / "train", pair("One"))
    saved(tmp_path / "test", *rows, split="test")
    assert asked(read_hugging_face(tmp_path, mapping=MAPPING, splits=["test"])) == [
        f"{n}?" for n in range(40)
    ]
    assert asked(read_hugging_face(tmp_path / "test", mapping=MAPPING)) == [f"{n}?" for n in range(40)]


def test_the_mapping_lies_in_the_folder(tmp_path):
    write_lines(tmp_path / "pairs.jsonl", pair("One"))
    write_json(tmp_path / "touchstone.json", {"columns": COLUMNS})
    assert asked(read_hugging_face(tmp_path)) == ["One?"]
    (tmp_path / "touchstone.json").unlink()
    (tmp_path / "touchstone.yaml").write_text(yaml.safe_dump({"columns": COLUMNS}))
    assert asked(read_hugging_face(tmp_path)) == ["One?"]


def test_what_a_mapping_declares_goes_for_all_files(tmp_path):
    for name, points in (("a", 4), ("b", 2)):
        write_lines(tmp_path / f"{name}.jsonl", {"q": f"{name}?", "text": "x", "clear": points})
    options = {str(point): f"{point}" for point in range(1, 6)}
    mapping = TableMapping(
        {"q": "instruction", "text": "response_1", "clear": "rating:"},
        "rubric",
        criteria=[{"key": "clear", "question": "Is it clear?", "options": options}],
    )
    bundle = read_hugging_face(tmp_path, mapping=mapping)
    assert [one.gold for one in bundle.items] == [{"ratings": {"clear": 4}}, {"ratings": {"clear": 2}}]
    assert [one.key for one in bundle.criteria] == ["clear"]


def test_columns_of_a_published_layout_need_no_mapping(tmp_path):
    row = {"prompt": "One?", "chosen": "One.", "rejected": "No."}
    write_lines(tmp_path / "train.jsonl", row)
    assert asked(read_hugging_face(tmp_path)) == ["One?"]


def test_a_zip_of_a_folder(tmp_path):
    folder = hub(tmp_path / "set")
    archive = tmp_path / "set.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for file in sorted(folder.rglob("*")):
            out.write(file, f"set/{file.relative_to(folder)}")
    assert asked(read_hugging_face(archive, mapping=MAPPING, config="hard")) == ["Four?"]
    assert folder_licence(archive) == "cc-by-4.0"


class Refused(NamedTuple):
    name: str
    make: Callable[[Path], object]
    words: str
    given: dict[str, Any] = {}


def _arrow_that_ends(folder: Path) -> None:
    saved(folder, *[pair(f"{n}") for n in range(50)])
    file = next(folder.glob("*.arrow"))
    file.write_bytes(file.read_bytes()[:-600])


def _second_row_wrong(folder: Path) -> None:
    parquet_write(folder / "train.parquet", pair("One"), pair("Two") | {"question": " "})


WRONG = [
    Refused("nothing", lambda folder: None, "expected a folder with files"),
    Refused("no such configuration", hub, "expected easy or hard, found 'medium'", {"config": "medium"}),
    Refused("a configuration to choose", hub, "field config: expected easy or hard; say which"),
    Refused(
        "a split to choose",
        hub,
        "field split: the dataset has test or train; say which to import",
        {"config": "easy"},
    ),
    Refused(
        "no such split", hub, "expected test or train, found 'dev'", {"config": "easy", "splits": ["dev"]}
    ),
    Refused("card that is no YAML", lambda folder: card(folder, "license: [\n"), "the card's YAML cannot be"),
    Refused("card that is a list", lambda folder: card(folder, "- a\n"), "expected an object at the head"),
    Refused(
        "data files outside",
        lambda folder: card(folder, "configs:\n- config_name: default\n  data_files: ../other/*.parquet\n"),
        "expected a path in the folder, found '../other/*.parquet'",
    ),
    Refused(
        "data files that are not there",
        lambda folder: card(folder, "configs:\n- config_name: default\n  data_files: a.parquet\n"),
        "configs[0].data_files.path: expected a file at 'a.parquet', found none",
    ),
    Refused(
        "configuration without files",
        lambda folder: card(folder, "configs:\n- config_name: default\n"),
        "configs[0].data_files: expected a value",
    ),
    Refused(
        "split without a folder",
        lambda folder: write_json(folder / "dataset_dict.json", {"splits": ["train"]}),
        "expected train/state.json, found none",
    ),
    Refused(
        "splits of another folder",
        lambda folder: write_json(folder / "dataset_dict.json", {"splits": ["../x"]}),
        "expected ../x/state.json, found none",
    ),
    Refused(
        "state that names a file elsewhere",
        lambda folder: write_json(folder / "state.json", {"_data_files": [{"filename": "../a.arrow"}]}),
        "_data_files[0].filename: expected a file beside state.json",
    ),
    Refused(
        "state without files",
        lambda folder: write_json(folder / "state.json", {"_data_files": []}),
        "_data_files: expected at least one file",
    ),
    Refused(
        "state that is a list", lambda folder: write_json(folder / "state.json", []), "expected an object"
    ),
    Refused(
        "Arrow that is none",
        lambda folder: (
            write_json(folder / "state.json", {"_data_files": [{"filename": "a.arrow"}]}),
            (folder / "a.arrow").write_bytes(b"PAR1"),
        ),
        "cannot be read as Arrow: it does not begin as a stream does",
    ),
    Refused("Arrow that ends too soon", _arrow_that_ends, "cannot be read as Arrow"),
    Refused(
        "wrong row", _second_row_wrong, "train.parquet, row 2, field question: expected text, found none"
    ),
    Refused(
        "columns that nobody mapped",
        lambda folder: write_lines(folder / "a.jsonl", pair("One")),
        "unknown field",
        {"mapping": None},
    ),
    Refused(
        "mapping in the folder that is wrong",
        lambda folder: (
            write_lines(folder / "a.jsonl", pair("One")),
            write_json(folder / "touchstone.json", {"columns": {"question": "x"}}),
        ),
        "touchstone.json, field columns.question: 'x' is no field",
        {"mapping": None},
    ),
]


@over(WRONG, name=lambda case: case.name)
def test_a_malformed_folder_is_refused(case: Refused) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "set"
        folder.mkdir()
        case.make(folder)
        with pytest.raises(ImportFileError) as caught:
            read_hugging_face(folder, **{"mapping": MAPPING, **case.given})
    assert case.words in str(caught.value), str(caught.value)


def test_a_link_leads_nowhere(tmp_path):
    """A file outside of the folder is no data of it, whatever links to it."""
    outside = write_lines(tmp_path / "outside.jsonl", pair("One"))
    folder = tmp_path / "set"
    card(folder, "configs:\n- config_name: default\n  data_files: '*.jsonl'\n")
    (folder / "linked.jsonl").symlink_to(outside)
    with pytest.raises(ImportFileError, match="expected a file at"):
        read_hugging_face(folder, mapping=MAPPING)
    assert json.loads(outside.read_text()) == pair("One")

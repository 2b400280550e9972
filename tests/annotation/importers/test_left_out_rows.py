"""Bad rows that are left out: each is told with its reason and itself, and leaves nothing behind."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.importers import DatasetBundle, ImportFileError, read_generic
from annotation.importers.errors import LeftOutRows

PAIR = {"instruction": "Why?", "response_1": "a", "response_2": "b"}


def read(path: Path) -> tuple[DatasetBundle, list[ImportFileError]]:
    left: list[ImportFileError] = []
    return read_generic(path, faults=LeftOutRows(left.append)), left


def test_the_good_rows_of_lines_are_read_and_the_others_told(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    lines = [
        json.dumps(PAIR | {"id": "q1"}),
        "{not json",
        json.dumps([1]),
        json.dumps(PAIR | {"id": "q2", "gold": 7}),
        json.dumps(PAIR | {"id": "q1"}),
        json.dumps(PAIR | {"id": "q3", "labels": [{"annotator": "ann", "value": 1}, {"annotator": "b"}]}),
        json.dumps(PAIR | {"id": "q4", "instruction": "Another?"}),
    ]
    path.write_text("\n".join(lines))
    bundle, left = read(path)
    assert [one.external_id for one in bundle.items] == ["q1", "q4"]
    assert bundle.labels == (), "of a row that is left out nothing stays"
    assert [(one.row, one.field) for one in left] == [
        (2, None), (3, None), (4, "gold"), (5, "id"), (6, "labels[1].value"),
    ]  # fmt: skip
    assert left[0].data == "{not json"
    assert left[1].data == "[1]"
    assert left[2].data == PAIR | {"id": "q2", "gold": 7}


def test_cells_of_csv(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        'instruction,response_1,response_2,gold,metadata\nWhy?,a,b,1,\nHow?,a\nWho?,a,b,9,\nWhen?,c,d,,"{"\nWhen?,c,d,,\n'
    )
    bundle, left = read(path)
    assert [(one.row, one.field) for one in left] == [(3, None), (4, "gold"), (5, "metadata")]
    assert left[0].data == ["How?", "a"]
    assert left[2].data["instruction"] == "When?"
    assert len(bundle.items) == 2


@pytest.mark.service
def test_rows_of_parquet_that_json_does_not_know(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    columns = {name: [value, value] for name, value in PAIR.items()}
    pq.write_table(pa.table(columns | {"metadata": pa.array([None, b"\x00\x01"], pa.binary())}), path)
    bundle, left = read(path)
    assert len(bundle.items) == 1
    assert (left[0].row, left[0].field) == (2, "metadata")
    assert left[0].data["instruction"] == "Why?"


@pytest.mark.service
def test_dates_and_times_of_parquet_are_text(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    moment = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
    cells: dict[str, Any] = {"at": moment, "on": moment.date(), "seen": [moment.time()]}
    pq.write_table(pa.Table.from_pylist([PAIR | {"metadata": cells}]), path)
    bundle, left = read(path)
    assert not left
    assert bundle.items[0].metadata == {
        "at": "2026-11-22T14:05:00+00:00",
        "on": "2026-11-22",
        "seen": ["14:05:00"],
    }


def test_a_name_that_a_row_took_is_free_again(tmp_path: Path) -> None:
    """Rows without ids have those that they would have without the bad row between them."""
    path = tmp_path / "x.jsonl"
    bad = PAIR | {"labels": [{"annotator": "ann", "value": 9}]}
    path.write_text("\n".join(map(json.dumps, (PAIR, bad, PAIR, PAIR))))
    bundle, left = read(path)
    path.write_text("\n".join(map(json.dumps, (PAIR, PAIR, PAIR))))
    assert len(left) == 1
    assert [one.external_id for one in bundle.items] == [one.external_id for one in read_generic(path).items]


def test_more_than_twenty(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, [PAIR | {"gold": n} for n in range(1, 100)])))
    bundle, left = read(path)
    assert (len(bundle.items), len(left)) == (2, 97)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.jsonl", json.dumps(PAIR).encode() + b"\n\xff\n", "expected UTF-8"),
        ("x.jsonl", b'{"instruction": 1}\n', "expected at least one item"),
        ("x.csv", b'instruction,response_1,response_2,gold\na,b,c,1\n"open,b,c,1\n', "expected CSV"),
        ("x.jsonl", b'{"criteria": [{"key": "k"}]}\n' + json.dumps(PAIR).encode(), "missing or empty"),
    ],
)
def test_what_makes_the_rest_unreadable_refuses_the_file(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ImportFileError, match=words):
        read(path)

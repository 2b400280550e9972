"""What is no file, too large a file, no Parquet: refused without filling the memory."""

import os
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, files, read_alpaca_human, read_generic, tables

PAIR = b'{"id": "x", "instruction": "Say hello.", "responses": ["hello", "bye"]}\n'


@pytest.mark.service
def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "data.xlsx").write_text("x")
    for name, words in {
        "nothing.jsonl": "there is none of this name",
        "nothing.xlsx": "there is none of this name",
        "folder.jsonl": "found a folder",
        "pipe.jsonl": "expected a regular file",
        "data.xlsx": ".tsv, .parquet, .pq or .arrow, found '.xlsx'",
        "nul\x00.jsonl": "nul\\x00",
        "n" * 300 + ".jsonl": "too long",
    }.items():
        with pytest.raises(ImportFileError, match=r"^[^\n]*$") as caught:
            read_generic(tmp_path / name)
        assert words in str(caught.value)


def test_a_very_long_line_is_refused_without_reading_it_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_LINE", 2 * files.BLOCK)
    file = tmp_path / "long.jsonl"
    with file.open("wb") as out:
        out.write(PAIR)
        out.truncate(200 * 2**20)  # a hole: it takes no space on the disk
    read = 0
    real = Path.open

    def counting(self: Path, *args: Any, **kwargs: Any) -> Any:
        handle = real(self, *args, **kwargs)

        class Counting:
            def __enter__(self) -> Any:
                return self

            def __exit__(self, *error: object) -> None:
                handle.close()

            def read(self, size: int) -> bytes:
                nonlocal read
                data: bytes = handle.read(size)
                read += len(data)
                return data

        return Counting()

    monkeypatch.setattr(Path, "open", counting)
    for name in ("long.jsonl", "long.csv"):
        read = 0
        if name.endswith("csv"):
            file = file.rename(tmp_path / name)
        with pytest.raises(ImportFileError) as caught:
            read_generic(file)
        assert read <= 4 * files.BLOCK
        assert caught.value.row in (1, 2)


def test_a_large_document_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_DOCUMENT", 1000)
    file = tmp_path / "human.json"
    file.write_text("[" + " " * 1000 + "]")
    with pytest.raises(ImportFileError, match="expected at most 0 MiB of JSON"):
        read_alpaca_human(file)


def test_csv_cell_limit_holds_for_an_open_quote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_LINE", 1000)
    file = tmp_path / "open.csv"
    file.write_text('id,instruction\nx,"' + "word\n" * 1000)
    with pytest.raises(ImportFileError, match="row 2: expected CSV; field larger"):
        read_generic(file)


# --- Parquet ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"id,kind", b"PAR", b"PAR1 this is none", b"this is none PAR1"])
def test_what_is_no_parquet_is_refused_without_a_decoder(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "data.parquet"
    file.write_bytes(content)
    with pytest.raises(
        ImportFileError, match="cannot be read as Parquet: it does not begin and end with PAR1"
    ):
        read_generic(file)  # a process would fail this test, which is no service's


@pytest.mark.service
def test_refused_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    file = tmp_path / "data.parquet"
    file.write_bytes(b"PAR1 this is none either PAR1")
    with pytest.raises(ImportFileError, match="cannot be read as Parquet"):
        read_generic(file)

    def refuse_table(columns: dict[str, Any], row: int | None, field: str | None, words: str) -> None:
        parquet.write_table(pyarrow.table(columns), file)
        with pytest.raises(ImportFileError) as caught:
            read_generic(file)
        assert (caught.value.row, caught.value.field) == (row, field), str(caught.value)
        assert words in str(caught.value)

    good = {"id": ["a", "b"], "instruction": ["x", "y"], "response_1": ["1", "2"], "response_2": ["3", "4"]}
    refuse_table({"id": ["a"]}, None, "instruction", "the column is missing")
    refuse_table(good | {"golden": [1, 2]}, None, "golden", "did you mean 'gold'?")
    refuse_table(good | {"gold": [1, 7]}, 2, "gold", "found 7")
    refuse_table(good | {"response_2": ["x", None]}, 2, "response_2", "missing")
    refuse_table(good | {"response_2": ["x", "a\x00"]}, 2, "response_2", "NUL")
    refuse_table(good | {"response_2": [b"x", b"y"]}, 1, "response_2", "found bytes")
    refuse_table(good | {"metadata": ["{}", "{"]}, 2, "metadata", "expected JSON")
    refuse_table(good | {"id": ["a", "a"]}, 2, "id", "also in row 1")
    refuse_table({name: values[:0] for name, values in good.items()}, None, None, "at least one item")
    monkeypatch.setattr(files, "MAX_TABLE", 100)
    refuse_table(good, 1, None, "when decoded")

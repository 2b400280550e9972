"""Small files that unfold into gigabytes: refused by what is decoded, as it is decoded.

Each is read in a process of its own, whose peak memory, with that of the decoder that it starts, is measured.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.service

ROOT = Path(__file__).resolve().parents[3]
MEBIBYTE = 2**20
# `ru_maxrss` of a process starts at the size of the one that forked it, which is that of all tests run so far. VmHWM
# starts anew with the program; a decoder that it starts is forked from it, so here `ru_maxrss` says no more than both.
READ = """
import json, re, resource, sys
from annotation.importers import ImportFileError, read_generic
try:
    read_generic(sys.argv[1])
    said = "read"
except ImportFileError as error:
    said = str(error)
own = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
peak = max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print(json.dumps([said, peak * 1024]))
"""


def read_apart(file: Path) -> tuple[str, int]:
    """What is said of the file, and peak memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(file)],
        check=True,
        capture_output=True,
        text=True,
    )
    said, peak = json.loads(done.stdout)
    return said, peak


def made_apart(make: Callable[[Path], None], file: Path) -> Path:
    """The file, made in a process of its own: what it takes to make would count."""
    words = f"import pathlib, sys; from {__name__} import {make.__name__} as make; make(pathlib.Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", words, str(file)], check=True, cwd=ROOT)
    return file


def table(file: Path, columns: dict[str, Any], **options: Any) -> None:
    import pyarrow
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.table(columns), file, compression="zstd", write_statistics=False, **options)


def dictionary(file: Path) -> None:
    """One long text, told three thousand times by its number in a dictionary."""
    import pyarrow

    texts = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 3000), ["x" * MEBIBYTE])
    names = pyarrow.array([str(n) for n in range(3000)])
    table(file, {"id": names, "instruction": texts, "response_1": texts, "response_2": texts})


def page(file: Path) -> None:
    """One text of hundreds of megabytes, which is a page of a few kilobytes."""
    long = "x" * (200 * MEBIBYTE)
    columns = {"id": ["a"], "instruction": [long], "response_1": ["b"], "response_2": ["c"]}
    table(file, columns, use_dictionary=False)


def prefixes(file: Path) -> None:
    """Texts in one row that each begin as the one before."""
    texts = [["x" * MEBIBYTE] * 300]
    columns = {"instruction": ["a"], "response_1": ["b"], "response_2": ["c"], "responses": texts}
    encodings = {"responses.list.element": "DELTA_BYTE_ARRAY"}
    table(file, columns, use_dictionary=False, column_encoding=encodings)


def runs(file: Path) -> None:
    """Millions of rows with nothing in them."""
    import pyarrow

    empty = pyarrow.nulls(30_000_000, pyarrow.string())
    table(file, dict.fromkeys(("instruction", "response_1", "response_2"), empty))


def nulls_in_a_row(file: Path) -> None:
    """One row that is a list of twenty million nothings."""
    import pyarrow

    values = pyarrow.nulls(20_000_000, pyarrow.int8())
    lists = pyarrow.ListArray.from_arrays(pyarrow.array([0, 20_000_000], pyarrow.int32()), values)
    texts = {name: pyarrow.array(["a"]) for name in ("instruction", "response_1", "response_2")}
    table(file, texts | {"metadata": lists})


@pytest.mark.parametrize("make", [dictionary, page, prefixes, runs, nulls_in_a_row])
def test_parquet(tmp_path: Path, make: Callable[[Path], None]) -> None:
    file = made_apart(make, tmp_path / "bomb.parquet")
    assert file.stat().st_size < MEBIBYTE
    said, peak = read_apart(file)
    assert "bomb.parquet, row " in said
    assert "expected" in said
    assert peak < 700 * MEBIBYTE, f"{peak / MEBIBYTE:.0f} MiB"


def test_a_parquet_file_of_usual_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "usual.parquet"
    texts = [f"{n} " + "word " * 400 for n in range(5_000)]
    table(file, {"instruction": texts, "response_1": texts, "response_2": texts})
    said, _ = read_apart(file)
    assert said == "read"


def header(file: Path) -> None:
    """Four hundred kilobytes of names, each to be compared with all before it."""
    file.write_text(",".join(f"c{n}" for n in range(60_000)) + "\n")


def no_end(file: Path) -> None:
    """A name that does not end."""
    file.write_text('id,"' + "x" * 400_000 + '"\n')


def commas(file: Path) -> None:
    """A row of nothing but separators."""
    file.write_text("instruction,response_1,response_2\n" + "," * (16 * MEBIBYTE - 1) + "\n")


def lists(file: Path) -> None:
    """Empty lists, which take thirty times the memory of their text."""
    body = ",".join(["[]"] * 4_000_000)
    file.write_text(f'{{"instruction": "a", "metadata": {{"a": [{body}]}}}}\n' * 4)


def document(file: Path) -> None:
    file.write_text("[" + ",".join(["{}"] * 20_000_000) + "]")


@pytest.mark.parametrize(
    ("make", "name", "mebibytes"),
    [
        (header, "bomb.csv", 400),
        (no_end, "bomb.csv", 400),
        (commas, "bomb.csv", 600),
        (lists, "bomb.jsonl", 1400),
        (document, "bomb.json", 500),
    ],
)
def test_text(tmp_path: Path, make: Callable[[Path], None], name: str, mebibytes: int) -> None:
    file = made_apart(make, tmp_path / name)
    said, peak = read_apart(file)
    assert "expected" in said
    assert peak < mebibytes * MEBIBYTE, f"{peak / MEBIBYTE:.0f} MiB"

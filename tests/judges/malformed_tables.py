"""Tables that are none of what they are sent as, with their images and mappings; each is written when it is needed."""

from __future__ import annotations

import json
import stat
import struct
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

MEBIBYTE = 2**20
Make = Callable[[], bytes]


class MalformedFile(NamedTuple):
    """A file that is refused.

    Attributes
    ----------
    place, words
        What the error says of the place, such as ``row 2, field gold``, and of what was expected or found.
    mapping
        Of a table, the text of a mapping file that is wrong in place of the table.
    """

    name: str
    format: str
    file: str
    content: bytes | str | Make
    place: str
    words: str
    mapping: str = ""

    @property
    def data(self) -> bytes:
        made = self.content() if callable(self.content) else self.content
        return made.encode() if isinstance(made, str) else made


def lines(*rows: object) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def pair(name: str = "a", **changes: Any) -> dict[str, Any]:
    return {"id": name, "instruction": "i", "responses": ["x", "y"]} | changes


def rubric(value: object, **changes: Any) -> dict[str, Any]:
    scale = {"key": "k", "question": "q?", "scale": {"low": 0, "high": 10}}
    labels = [{"annotator": "p", "value": {"ratings": {"k": value}}}]
    return {
        "id": "a",
        "kind": "rubric",
        "instruction": "i",
        "responses": ["x"],
        "criteria": [scale],
        "labels": labels,
    } | changes


def classified(value: object) -> dict[str, Any]:
    return {
        "id": "a",
        "kind": "classification",
        "instruction": "i",
        "categories": ["good", "bad"],
        "gold": value,
    }


def packed(members: Mapping[str, bytes | str], *more: ZipInfo) -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        for info in more:
            archive.writestr(info, "elsewhere")
    return out.getvalue()


def link(name: str) -> ZipInfo:
    info = ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


@lru_cache
def bomb() -> bytes:
    """600 MiB of zeros."""
    out = BytesIO()
    with (
        ZipFile(out, "w", ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("rows.jsonl", "w", force_zip64=True) as member,
    ):
        for _ in range(600):
            member.write(bytes(MEBIBYTE))
    return out.getvalue()


def claimed(content: bytes, size: int) -> bytes:
    """An archive whose directory says of its member that it is of another size."""
    data = bytearray(packed({"rows.jsonl": content}))
    entry = data.rfind(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = struct.pack("<I", size)
    return bytes(data)


def png(width: int, height: int) -> bytes:
    """A picture that says it is so large, and has the pixels of a small one."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(bytes(99)))
        + chunk(b"IEND", b"")
    )


def illustrated(image: bytes) -> Make:
    row = lines(pair(instruction="See ![it](it.png)"))
    return lambda: packed({"rows.jsonl": row, "it.png": image})


def parquet(**columns: list[Any]) -> Make:
    def made() -> bytes:
        import pyarrow
        import pyarrow.parquet

        out = BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), out)
        return out.getvalue()

    return made


PARQUET = parquet(id=["a", "b"], instruction=["i", "j"], response_1=["x", "x"], response_2=["y", "y"])
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
DEEP = "[" * 100_000
CSV = "id,instruction,response_1,response_2,gold\n"


def table(name: str, file: str, content: bytes | str | Make, place: str, words: str) -> MalformedFile:
    return MalformedFile(name, "generic", file, content, place, words)


TABLES = (
    table("empty", "a.csv", b"", "", "the file is empty"),
    table("header alone", "a.csv", CSV, "", "at least one item"),
    table("open quote", "a.csv", CSV + 'a,i,"x,y,1\nb,i,x,y,1\n', "row 2", "expected CSV"),
    table("cells without a column", "a.csv", CSV + "a,i,x,y,1,too,many\n", "row 2", "5"),
    table(
        "unknown verdict", "a.csv", CSV + "a,i,x,y,1\nb,i,x,y,maybe\n", "row 3, field gold", "found 'maybe'"
    ),
    table("endless number", "a.csv", CSV + f"a,i,x,y,{'9' * 5000}\n", "row 2, field gold", "expected"),
    table("NaN in a cell", "a.csv", CSV + "a,i,x,y,NaN\n", "row 2, field gold", "expected"),
    table("NUL", "a.csv", CSV + "a,i\0,x,y,1\n", "row 2, field instruction", "NUL"),
    table("bad UTF-8", "a.csv", CSV.encode() + b"a,caf\xe9,x,y,1\n", "row 2", "expected UTF-8"),
    table("UTF-16", "a.csv", ("\ufeff" + CSV + "a,i,x,y,1\n").encode("utf-16"), "", "found UTF-16"),
    table(
        "id twice behind a BOM",
        "a.csv",
        "\ufeff" + CSV + "a,i,x,y,1\na,j,x,y,1\n",
        "row 3, field id",
        "row 2",
    ),
    table("header twice", "a.csv", "id,id,instruction\na,b,i\n", "row 1", "twice"),
    table("missing column", "a.csv", "id,response_1,response_2\na,x,y\n", "field instruction", "missing"),
    table("20,000 columns", "a.csv", ",".join(f"c{n}" for n in range(20_000)) + "\n1\n", "row 1", "columns"),
    table("zip named csv", "a.csv", lambda: packed({"a": "b"}), "row 1", "expected UTF-8"),
    table("quoted", "a.tsv", CSV.replace(",", "\t") + 'a\t"i\tx\ty\t1\n', "row 2", "expected"),
    table(
        "line of 40 MiB", "a.jsonl", lambda: b'{"id": "' + b"x" * (40 * MEBIBYTE), "row 1", "at most 16 MiB"
    ),
    table("NaN", "a.jsonl", lines(pair(gold=float("nan"))), "row 1, field gold", "found NaN"),
    table(
        "infinite",
        "a.jsonl",
        lines(pair()) + '{"id": "b", "metadata": {"x": [1, 1e999]}}',
        "row 2, field metadata.x[1]",
        "too large",
    ),
    table("deep", "a.jsonl", DEEP, "row 1", "more than 32 levels of nesting"),
    table("key twice", "a.jsonl", '{"id": "a", "id": "b"}\n', "row 1", "twice in one object"),
    table(
        "half a surrogate pair",
        "a.jsonl",
        lines(pair(metadata={"a": {"b": "\ud800"}})),
        "row 1, field metadata.a.b",
        "surrogate",
    ),
    table("a list a line", "a.jsonl", "[1]\n", "row 1", "expected a JSON object"),
    table("object as id", "a.jsonl", lines(pair(id={})), "row 1, field id", "expected"),
    table("id twice", "a.jsonl", lines(pair(), pair(instruction="j")), "row 2, field id", "row 1"),
    table("unknown kind", "a.jsonl", lines(pair(kind="duel")), "row 1, field kind", "expected pairwise"),
    table("mixed kinds", "a.jsonl", lines(pair(), pair("b", kind="rubric")), "row 2", "expected"),
    table("unknown category", "a.jsonl", lines(classified("ugly")), "row 1, field gold", "ugly"),
    table("beside the scale", "a.jsonl", lines(rubric(11)), "row 1, field labels[0].value.ratings.k", "11"),
    table(
        "between the points", "a.jsonl", lines(rubric(2.5)), "row 1, field labels[0].value.ratings.k", "2.5"
    ),
    table(
        "true as a rating", "a.jsonl", lines(rubric(True)), "row 1, field labels[0].value.ratings.k", "True"
    ),
    table(
        "scale of no width",
        "a.jsonl",
        lines(rubric(1, criteria=[{"key": "k", "question": "q", "scale": {"low": 3, "high": 3}}])),
        "row 1, field criteria[0].scale",
        "expected",
    ),
    table(
        "scale of 102 points",
        "a.jsonl",
        lines(rubric(1, criteria=[{"key": "k", "question": "q", "scale": {"low": 0, "high": 101}}])),
        "row 1, field criteria[0].scale",
        "expected",
    ),
    table(
        "a label twice",
        "a.jsonl",
        lines(pair(labels=[{"annotator": "p", "value": 1}] * 2)),
        "row 1, field labels[1]",
        "p",
    ),
    table(
        "id of a megabyte",
        "a.jsonl",
        lines(pair("x" * MEBIBYTE)),
        "row 1, field id",
        "at most 200 characters",
    ),
    table("name of a megabyte", "a.jsonl", lines(pair(**{"k" * MEBIBYTE: 1})), "row 1, field kkk", ""),
    table("id of a terminal", "a.jsonl", lines(pair("\x1b[31m")), "row 1, field id", "on one line"),
    table("no JSON", "a.json", "{'id': 1}", "row 1", "at column 2"),
    table("list of numbers", "a.json", "[1, 2]", "row 1", "expected a JSON object"),
    table(
        "NaN within a document",
        "a.json",
        json.dumps([pair(), pair("b", gold=float("nan"))]),
        "row 2, field gold",
        "found NaN",
    ),
    table("text as table", "a.parquet", CSV, "", "does not begin and end with PAR1"),
    table("broken footer", "a.parquet", b"PAR1" + b"\xff" * 60 + b"PAR1", "", "cannot be read as Parquet"),
    table(
        "cut in the middle",
        "a.parquet",
        lambda: PARQUET()[:200] + PARQUET()[-200:],
        "",
        "cannot be read as Parquet",
    ),
    table(
        "bytes",
        "a.parquet",
        parquet(id=["a"], instruction=[b"\xff"], response_1=["x"], response_2=["y"]),
        "row 1, field instruction",
        "found bytes",
    ),
    table(
        "infinite verdict",
        "a.parquet",
        parquet(id=["a"], instruction=["i"], response_1=["x"], response_2=["y"], gold=[float("inf")]),
        "row 1, field gold",
        "finite",
    ),
)
IMAGES = (
    table("no zip", "a.zip", b"PK\x03\x04" + b"\xff" * 40, "", "expected a zip archive"),
    table("zip of nothing", "a.zip", lambda: packed({}), "", "expected one file of items"),
    table("two tables", "a.zip", lambda: packed({"a.csv": CSV, "b.csv": CSV}), "", "found a.csv, b.csv"),
    table("leads out", "a.zip", lambda: packed({"../../rows.jsonl": lines(pair())}), "", "leads out of it"),
    table("absolute", "a.zip", lambda: packed({"/etc/rows.jsonl": lines(pair())}), "", "leads out of it"),
    table("link", "a.zip", lambda: packed({"rows.jsonl": lines(pair())}, link("it.png")), "", "found a link"),
    table("bomb", "a.zip", bomb, "", "when unpacked"),
    table("bomb that says it is small", "a.zip", lambda: claimed(bytes(50 * MEBIBYTE), 100), "", ""),
    table(
        "image of 100,000 x 100,000 pixels",
        "a.zip",
        illustrated(png(100_000, 100_000)),
        "row 1, field instruction",
        "pixels",
    ),
    table(
        "SVG as PNG",
        "a.zip",
        illustrated(SVG),
        "row 1, field instruction",
        "expected a PNG, JPEG, WebP or GIF",
    ),
    table("image that ends", "a.zip", illustrated(png(40, 40)[:50]), "row 1, field instruction", "damaged"),
    table(
        "image that is missing",
        "a.zip",
        lambda: packed({"rows.jsonl": lines(pair(instruction="![it](no.png)"))}),
        "row 1, field instruction",
        "found none",
    ),
    table(
        "image in a text",
        "a.jsonl",
        lines(pair(instruction="![it](data:image/png;base64,!!)")),
        "row 1, field instruction",
        "expected base64",
    ),
    table(
        "SVG in a text",
        "a.jsonl",
        lines(pair(instruction="![it](data:image/png;base64,PHN2Zz48L3N2Zz4=)")),
        "row 1, field instruction",
        "expected a PNG",
    ),
)

MAPPINGS = tuple(
    MalformedFile(f"mapping {name}", "generic", "a.csv", CSV + "a,i,x,y,1\n", place, words, mapping)
    for name, mapping, place, words in (
        ("deep", "columns: " + "[" * 20_000, "", "levels of lists"),
        ("of no field", "columns: {id: colour}", "field columns.id", "'colour' is no field"),
        ("of itself", "columns: &a [*a]", "", "an alias of what it is part of"),
        ("of a field twice", "columns: {a: id, b: id}", "field columns.b", "expected one column for id"),
        ("of an endless number", f"constants: {{x: {'9' * 5000}}}", "", "a whole number of 5,000 digits"),
        ("that is a list", "[1]", "", "expected an object"),
    )
)

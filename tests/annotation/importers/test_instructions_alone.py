"""Datasets of instructions alone: nothing to judge yet, something to answer."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.models import Instruction, Item
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import dataset_import

ROOT = Path(__file__).resolve().parents[3]
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "kind": "instructions",
        "instruction": "Say hello.",
        "reference": "Hello.",
        "metadata": {"n": 1},
    },
    {"id": 2, "kind": "instructions", "instruction": "Say bye.", "category": "Chat", "subset": "Easy"},
]


def read(folder: Path, rows: list[dict[str, Any]]) -> Any:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_generic(file)


def load(folder: Path, rows: list[dict[str, Any]]) -> ImportResult:
    return dataset_import(bundle=read(folder, rows), name="demo")


def test_the_documented_example(tmp_path: Path) -> None:
    body = re.search(
        r"^```jsonl instructions.jsonl\n(.*?)^```$", (ROOT / "docs/data-format.md").read_text(), re.M | re.S
    )
    assert body is not None
    (tmp_path / "rows.jsonl").write_text(body[1])
    bundle = read_generic(tmp_path / "rows.jsonl")
    assert [record.key for record in bundle.instructions] == ["tea-3", "tea-4"]
    assert not bundle.items


def test_flat_columns(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("id,kind,instruction,reference,response_1\na,instructions,Say hello.,Hello.,\n")
    bundle = read_generic(file)
    assert (bundle.instructions[0].text, bundle.instructions[0].reference) == ("Say hello.", "Hello.")


@pytest.mark.django_db
def test_they_are_stored_once(tmp_path: Path) -> None:
    result = load(tmp_path, ROWS)
    assert result.summary() == "demo: 2 instructions without an item. Created."
    stored = list(
        Instruction.objects.order_by("pk").values_list("external_id", "reference", "category", "metadata")
    )
    assert stored == [("a", "Hello.", "", {"n": 1}), ("2", None, "Chat", {})]
    assert not Item.objects.exists()
    assert load(tmp_path, ROWS).summary() == "demo: unchanged: 2 instructions without an item."
    more = load(tmp_path, [*ROWS, ROWS[0] | {"id": "c"}])
    assert more.summary() == "demo: 3 instructions without an item. Added 1 instruction; now version 2."


@pytest.mark.django_db
def test_beside_items(tmp_path: Path) -> None:
    pair = {"id": "p", "instruction": "Name a tea.", "responses": ["Assam", "Darjeeling"]}
    result = load(tmp_path, [pair, *ROWS])
    assert (result.items, result.instructions, Instruction.objects.count()) == (1, 2, 3)
    assert not load(tmp_path, [pair, *ROWS]).changed


@pytest.mark.django_db
def test_another_text_under_the_same_name_is_refused(tmp_path: Path) -> None:
    load(tmp_path, ROWS)
    with pytest.raises(ImportFileError, match="instruction"):
        load(tmp_path, [ROWS[0] | {"instruction": "Say hi."}])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"responses": ["one"]}, "responses"),
        ({"gold": 1}, "gold"),
        ({"labels": [{"annotator": "ann", "value": 1}]}, "labels"),
        ({"response_1": "one"}, "kind"),
        ({"annotator:ann": "1"}, "kind"),
        ({"instruction": ""}, "instruction"),
    ],
)
def test_what_belongs_to_items_is_refused(tmp_path: Path, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ImportFileError) as caught:
        read(tmp_path, [ROWS[0] | changes])
    assert caught.value.field == field


def test_a_name_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match="row 1"):
        read(tmp_path, [ROWS[0], ROWS[0]])


def test_pairs_without_responses_are_told_what_they_may_be(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match="of kind instructions"):
        read(tmp_path, [{"id": "a", "instruction": "Say hello."}])

"""The categories of items to classify in files: declared once, or an item's own."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.importers.errors import ImportFileError
from annotation.importers.generic import read_generic
from annotation.importers.labels import read_label_rows
from annotation.kinds.classification import CategoryScheme
from annotation.models import Dataset, Item
from annotation.selectors.datasets import item_value_rules
from annotation.services.item_exports import items_table
from tests.annotation.factories import user_make
from web.tables import table_bytes

LISTED = {"list": ["no", {"key": "Yes", "definition": "It does."}, "3"]}


def written(folder: Path, *rows: dict[str, Any], name: str = "items.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(**fields: Any) -> dict[str, Any]:
    return {"kind": "classification", "instruction": "Does it?"} | fields


def chosen(*names: str, of: tuple[str, ...] = ("no", "Yes", "3")) -> dict[str, Any]:
    return {"categories": {name: name in names for name in of}}


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("Yes", ("Yes",)),
        ("yes ", ("Yes",)),
        (3, ("3",)),
        (3.0, ("3",)),
        (["no"], ("no",)),
        ({"category": "no"}, ("no",)),
        ({"categories": ["Yes"]}, ("Yes",)),
        ({"categories": {"Yes": True, "no": False}}, ("Yes",)),
    ],
)
def test_ways_to_say_one_category(tmp_path, gold, expected):
    found = read_generic(written(tmp_path, {"categories": LISTED}, row(gold=gold)))
    assert found.items[0].gold == chosen(*expected)
    assert found.categories.scheme == CategoryScheme(order=("no", "Yes", "3"))
    assert [(each.key, each.text) for each in found.aspects] == [
        ("no", "no"),
        ("Yes", "It does."),
        ("3", "3"),
    ]


def test_several_and_an_order(tmp_path):
    declared = {"categories": LISTED | {"several": True, "level": "ordinal"}}
    found = read_generic(written(tmp_path, declared, row(gold=["3", "no"])))
    assert found.items[0].gold == chosen("no", "3")
    assert found.categories.scheme == CategoryScheme("ordinal", True, ("no", "Yes", "3"))


def test_a_list_of_an_item_is_its_own(tmp_path):
    planets = [{"key": "A", "definition": "Mars"}, {"key": "B", "definition": "The Moon"}]
    found = read_generic(
        written(
            tmp_path,
            {"categories": LISTED},
            row(categories=planets, gold="A"),
            row(instruction="And?", gold="no"),
        )
    )
    assert [item.gold for item in found.items] == [chosen("A", of=("A", "B")), chosen("no")]


def test_a_csv_file_declares_in_its_first_row(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(
        "kind,instruction,categories,gold,annotator:ann,judge:j\n"
        'classification,One.,"{""list"": [""no"", ""yes""]}",yes,no,yes\n'
        "classification,Two.,,no,YES,unparsed\n"
    )
    found = read_generic(path)
    assert [item.gold["categories"]["yes"] for item in found.items] == [True, False]
    assert [label.value["categories"]["yes"] for label in found.labels] == [False, True]
    assert [verdict.status for verdict in found.verdicts] == ["parsed", "unparsed"]


REFUSED: list[tuple[tuple[dict[str, Any], ...], str]] = [
    ((row(),), "categories: expected at least one category for an item of kind classification, found none"),
    (({"categories": LISTED}, row(gold="maybe")), "gold: expected one of no, Yes, 3, found 'maybe'"),
    (
        ({"categories": LISTED}, row(gold=["no", "3"])),
        "expected one category, found 2; a list for several has",
    ),
    (({"categories": LISTED}, row(gold=[])), "expected at least one category, found none"),
    (({"categories": LISTED}, row(gold=[1, None])), "expected a list of category names"),
    (({"categories": LISTED}, row(gold={"categories": {"no": "x"}})), "expected true or false, found 'x'"),
    (
        ({"categories": LISTED}, row(responses=["a", "b"])),
        "expected 0 or 1 for an item of kind classification",
    ),
    (({"categories": {"list": ["a"]}},), "expected two categories or more, found one"),
    (({"categories": {"list": ["a", "a"]}},), "expected each category once, found 'a' twice"),
    (
        ({"categories": {"list": ["a", "b"], "level": "ratio"}},),
        "level: expected nominal, ordinal or interval",
    ),
    (({"categories": {"list": ["a", "b"], "level": "interval"}},), "names that are numbers"),
    (({"categories": {"level": "ordinal"}},), "in their order for level ordinal, found none"),
    (({"categories": {"list": ["a", "b"], "several": "yes"}},), "several"),
    (({"categories": {"list": ["a", "b"], "many": True}},), "many"),
    (({"categories": {"list": [{"key": "a", "text": "x"}, "b"]}},), "text"),
    (({"categories": LISTED}, {"categories": {"list": ["a", "b"]}}), "expected the same as in row 1"),
    (({"categories": {"list": [str(k) for k in range(201)]}},), "at most 200 categories, found 201"),
    ((row(categories=["a"]),), "expected two categories or more"),
    ((row(categories="a, b"),), "categories"),
]


@pytest.mark.parametrize(("rows", "message"), REFUSED)
def test_what_is_refused_names_row_and_field(tmp_path, rows, message):
    with pytest.raises(ImportFileError) as error:
        read_generic(written(tmp_path, *rows, row(instruction="Fine?", categories=["a", "b"])))
    assert message in str(error.value)
    assert "items.jsonl" in str(error.value)


def imported(path: Path) -> Dataset:
    call_command("import_dataset", "generic", str(path), "--name", "topics", "--owner", "alice")
    return Dataset.objects.get(name="topics")


@pytest.mark.django_db
class TestStored:
    def test_again_is_unchanged_and_another_use_is_refused(self, tmp_path, capsys):
        user_make(username="alice")
        declared = {"categories": LISTED | {"several": True}}
        path = written(tmp_path, declared, row(id="a", gold=["no"]))
        assert imported(path).category_scheme.several
        assert imported(path).version == 1
        with pytest.raises(Exception, match="as stored in dataset 'topics'"):
            imported(written(tmp_path, {"categories": LISTED}, row(id="a", gold=["no"])))

    def test_labels_on_stored_items_know_the_list(self, tmp_path):
        user_make(username="alice")
        dataset = imported(written(tmp_path, {"categories": LISTED | {"several": True}}, row(id="a")))
        rows = written(
            tmp_path, {"item": "a", "annotator": "ann", "value": ["no", "yes"]}, name="labels.jsonl"
        )
        (label,) = read_label_rows(rows, item_value_rules(dataset.pk))
        assert label.value == chosen("no", "Yes")

    def test_what_is_exported_is_imported_again(self, tmp_path):
        user_make(username="alice")
        declared = {"categories": LISTED | {"several": True, "level": "ordinal"}}
        dataset = imported(
            written(tmp_path, declared, row(id="a", gold=["no", "3"]), row(id="b", responses=["Well."]))
        )
        for kind in ("csv", "jsonl"):
            path = tmp_path / f"out.{kind}"
            path.write_bytes(b"".join(table_bytes(items_table(Item.objects.filter(dataset=dataset)), kind)))
            call_command(
                "import_dataset", "generic", str(path), "--name", f"again-{kind}", "--owner", "alice"
            )
            again = Dataset.objects.get(name=f"again-{kind}")
            assert again.category_scheme == dataset.category_scheme
            assert list(again.items.values_list("external_id", "gold")) == list(
                dataset.items.values_list("external_id", "gold")
            )

"""A file that is read in parts makes the rows that it makes as a whole, in memory that doesn't grow with it."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from annotation.importers import ImportFileError, read_generic
from annotation.importers.generic import read_generic_parts
from annotation.models import Annotator, Dataset, Instruction, Item, ItemResponse, Label, Response
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import ImportCheck, dataset_import, dataset_import_parts

WORDS = st.sampled_from(["a", "b", "c"])
ROWS = st.lists(
    st.fixed_dictionaries(
        {"instruction": WORDS, "responses": st.tuples(WORDS, WORDS).map(list)},
        optional={
            "id": st.integers(0, 6).map(str),
            "instruction_id": st.integers(0, 3).map(str),
            "reference": WORDS,
            "gold": st.integers(0, 2),
            "metadata": st.dictionaries(WORDS, st.integers() | st.floats(0, 1), max_size=1),
            "labels": st.lists(
                st.fixed_dictionaries({"annotator": WORDS, "value": st.integers(0, 2)}),
                max_size=3,
                unique_by=lambda label: label["annotator"],
            ),
        },
    ),
    min_size=1,
    max_size=9,
)


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    file = folder / "data.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def whole(file: Path, name: str, **options: Any) -> ImportResult:
    return dataset_import(bundle=read_generic(file), name=name, **options)


def in_parts(file: Path, name: str, rows: int, **options: Any) -> ImportResult:
    return dataset_import_parts(parts=read_generic_parts(file, rows=rows), name=name, **options)


def stored(name: str) -> dict[str, list[Any]]:
    """All that is stored of a dataset, by the names that its rows have outside of the database."""
    of = Dataset.objects.get(name=name)
    link = ItemResponse.objects.filter(item__dataset=of).order_by(
        "item__position", "item__since_version", "position"
    )
    labels = Label.objects.filter(item__dataset=of).order_by(
        "item__position", "item__since_version", "annotator__external_id"
    )
    return {
        "instructions": list(
            Instruction.objects.filter(dataset=of)
            .order_by("external_id", "since_version")
            .values_list("external_id", "text", "reference", "metadata", "conversation", "since_version")
        ),
        "responses": list(
            Response.objects.filter(instruction__dataset=of)
            .order_by("instruction__external_id", "instruction__since_version", "external_id")
            .values_list("instruction__external_id", "external_id", "text", "messages")
        ),
        "items": list(
            Item.objects.filter(dataset=of)
            .order_by("position", "since_version")
            .values_list(
                *("external_id", "instruction__external_id", "position", "kind", "gold", "metadata"),
                *("since_version", "until_version"),
            )
        ),
        "links": list(link.values_list("item__external_id", "response__external_id", "position")),
        "annotators": sorted(
            Annotator.objects.filter(source=f"import:{name}").values_list("external_id", flat=True)
        ),
        "labels": list(
            labels.values_list("item__external_id", "annotator__external_id", "value", "choice", "source")
        ),
    }


@pytest.mark.both_databases
class TestSameAsWhole(TestCase):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path_factory):
        self.folder = tmp_path_factory.mktemp("files")

    @settings(max_examples=60, deadline=None)
    @given(ROWS, st.integers(1, 4))
    def test_of_any_file(self, rows, size):
        file = write(self.folder, rows)
        try:
            first = whole(file, "whole")
        except ImportFileError:
            with pytest.raises(ImportFileError):
                in_parts(file, "parts", size)
            return
        other = in_parts(file, "parts", size)
        assert stored("parts") == stored("whole")
        assert (other.items_created, other.labels_created) == (first.items_created, first.labels_created)
        assert not in_parts(file, "whole", size).changed
        assert not whole(file, "parts").changed

    @settings(max_examples=30, deadline=None)
    @given(ROWS, ROWS, st.integers(1, 4))
    def test_added_to_what_is_there(self, before, rows, size):
        for name in ("whole", "parts"):
            try:
                whole(write(self.folder, before), name)
            except ImportFileError:
                return
        file = write(self.folder, rows)
        try:
            first = whole(file, "whole")
        except ImportFileError:
            with pytest.raises(ImportFileError):
                in_parts(file, "parts", size)
            return
        other = in_parts(file, "parts", size)
        assert stored("parts") == stored("whole")
        assert (other.items_created, other.dataset.version) == (first.items_created, first.dataset.version)

    @settings(max_examples=60, deadline=None)
    @given(ROWS, ROWS, st.integers(1, 4))
    def test_the_next_version(self, before, rows, size):
        for name in ("whole", "parts"):
            try:
                whole(write(self.folder, before), name)
            except ImportFileError:
                return
        file = write(self.folder, rows)
        user = get_user_model().objects.get_or_create(username="alice")[0]
        Dataset.objects.update(owner=user)
        check = ImportCheck(name="parts", owner=user, new_version=True)
        try:
            first = whole(file, "whole", new_version=True)
        except ImportFileError:
            with pytest.raises(ImportFileError):
                in_parts(file, "parts", size, new_version=True)
            return
        for part in read_generic_parts(file, rows=size):
            check.part(part)
        check.finish()
        other = in_parts(file, "parts", size, new_version=True)
        assert stored("parts") == stored("whole")
        names = ("items_created", "items_changed", "items_removed", "labels_created")
        assert [getattr(other, name) for name in names] == [getattr(first, name) for name in names]
        found = check.items_added, check.items_changed, check.items_removed
        assert found == (first.items_created, first.items_changed, first.items_removed)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
class TestRefused:
    """Nothing is half-written, whichever part the bad row is in."""

    def rows(self) -> list[dict[str, Any]]:
        return [{"id": str(n), "instruction": f"Say {n}", "responses": ["a", "b"]} for n in range(9)]

    @pytest.mark.parametrize(
        ("change", "field", "words"),
        [
            ({"gold": 7}, "gold", "expected 0, 1 or 2"),
            ({"id": "0"}, "id", "is also in row 1"),
            ({"instruction": ""}, "instruction", "expected text, found none"),
        ],
    )
    def test_a_row_of_a_later_part(self, tmp_path, change, field, words):
        rows = self.rows()
        rows[7] |= change
        with pytest.raises(ImportFileError, match=words) as error:
            in_parts(write(tmp_path, rows), "demo", 2)
        assert (error.value.row, error.value.field) == (8, field)
        assert not Dataset.objects.exists()
        assert not Instruction.objects.exists()
        assert not Label.objects.exists()


def test_memory_does_not_grow_with_the_file(tmp_path):
    def peak(n: int) -> int:
        rows = [
            {"id": f"q{k}", "instruction": f"Say {k} of it", "responses": ["a" * 200, "b"]} for k in range(n)
        ]
        file = write(tmp_path, rows)
        del rows
        tracemalloc.start()
        for _ in read_generic_parts(file, rows=200):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(600)  # what is imported and compiled at first
    assert peak(18_000) < 1.2 * peak(6_000)  # both longer than the block that is read at once


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("new_version", [False, True])
def test_memory_of_storing_does_not_grow_either(tmp_path, new_version):
    def peak(n: int) -> int:
        file = tmp_path / f"{n}.jsonl"
        with file.open("w") as out:
            for k in range(n):
                row = {"id": f"q{k}", "instruction": f"Say {k} of it", "responses": ["a" * 800, "b"]}
                out.write(f"{json.dumps(row)}\n")
        name = f"demo{new_version}{n}"
        if new_version:
            in_parts(file, name, 500)
            file.write_text(file.read_text().replace('["a', '["c').replace('"q1"', '"other"'))
        tracemalloc.start()
        result = in_parts(file, name, 500, new_version=new_version)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (result.items, result.items_removed) == (n, int(new_version))
        return most

    peak(1_000)
    assert peak(12_000) < 1.2 * peak(4_000)

"""Selectors of datasets and labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import read_generic
from annotation.models import Dataset, Label, Role
from annotation.selectors.datasets import (
    DatasetNotFound,
    dataset_counts,
    dataset_get,
    datasets_visible_to,
    gold_choices,
    item_value_rules,
    items_by_external_id,
    items_for_judging,
    response_lengths,
)
from annotation.services.datasets import dataset_import
from tests.annotation.factories import user_make

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

PATHS = ("Adversarial", "adversarial", "Adversarial/Neighbor", "Natural")


def rows(n: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"i{number}",
            "category": "Chat" if number % 2 else "Open QA",
            "subset": "Adversarial/Neighbor" if number % 3 else "Natural",
            "instruction": f"Say {number // 2}.",
            "context": "at night",
            "reference": "Good evening.",
            "responses": [{"system": "m1", "text": "é" * number}, {"system": "m2", "text": "bye"}],
            "gold": 2 if number else None,
            "labels": [{"annotator": name, "value": number % 3} for name in ("ann", "ben")[: number % 3]],
        }
        for number in range(n)
    ]


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    file = tmp_path / "data.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(7)))
    return dataset_import(bundle=read_generic(file), name="demo").dataset


def test_dataset_get_names_what_is_near(dataset: Dataset) -> None:
    assert dataset_get("demo") == dataset
    with pytest.raises(DatasetNotFound, match="There is no dataset 'dmeo'; there is demo"):
        dataset_get("dmeo")
    with pytest.raises(DatasetNotFound, match="there is demo"):
        dataset_get("zzz")


def test_dataset_get_without_any() -> None:
    with pytest.raises(DatasetNotFound, match="none has been imported yet"):
        dataset_get("demo")


def test_private_datasets_are_for_their_owner(dataset: Dataset) -> None:
    owner, other = user_make(), user_make()
    private = Dataset.objects.create(name="secret", title="secret", split="private", owner=owner)
    assert set(datasets_visible_to(owner)) == {dataset, private}
    assert set(datasets_visible_to(other)) == {dataset}
    assert set(datasets_visible_to(user_make(role=Role.ADMINISTRATOR))) == {dataset, private}
    assert set(datasets_visible_to(user_make(role=Role.ANNOTATOR))) == set()


def test_items_for_judging(dataset: Dataset, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3):
        items = list(items_for_judging(dataset.pk))
    assert [item.external_id for item in items] == [f"i{number}" for number in range(7)]
    item = items[3]
    assert (item.instruction, item.context, item.reference) == ("Say 1.", "at night", "Good evening.")
    assert (item.category, item.subset, item.responses) == ("Chat", "Natural", ("ééé", "bye"))
    assert (item.gold_choice, items[0].gold_choice) == (2, None)
    chosen = [items[5].item_id, items[2].item_id]
    assert [item.external_id for item in items_for_judging(dataset.pk, chosen)] == ["i2", "i5"]


def test_response_lengths(dataset: Dataset, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        lengths = response_lengths(dataset.pk)
    items = dataset.items.order_by("position").values_list("pk", flat=True)
    assert [lengths[pk] for pk in items] == [[number, 3] for number in range(7)]


def test_counts_and_maps(dataset: Dataset) -> None:
    counts = dataset_counts(dataset)
    assert (counts.items, counts.gold) == (7, 6)
    assert counts.instructions == 7
    assert counts.by_kind == {"pairwise": 7}
    assert counts.by_category == {"Chat": 3, "Open QA": 4}
    assert counts.by_subset == {"Adversarial/Neighbor": 4, "Natural": 3}
    ids = items_by_external_id(dataset.pk)
    assert sorted(ids) == [f"i{number}" for number in range(7)]
    assert gold_choices(dataset.pk)["i0"] is None
    assert gold_choices(dataset.pk)["i1"] == 2
    assert item_value_rules(dataset.pk)["i1"].n_responses == 2


def test_only_labels_that_count(dataset: Dataset) -> None:
    old = Label.objects.filter(item__external_id="i1").get()
    fields = {"item": old.item, "annotator": old.annotator, "kind": "pairwise"}
    Label.objects.create(**fields, supersedes=old, value={"choice": 0}, choice=0)
    Label.objects.create(
        item=old.item,
        annotator_id=Label.objects.exclude(annotator=old.annotator).values_list("annotator_id", flat=True)[0],
        kind="pairwise",
        value={"choice": 2},
        choice=2,
        is_surplus=True,
    )
    counting = Label.objects.current().filter(item=old.item)
    assert list(counting.values_list("choice", flat=True)) == [0]

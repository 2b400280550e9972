"""Criteria in files: their scales, words for some points, answers on them, what is refused, and files written again."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.domain.scales import NOT_APPLICABLE, STANDARD, Scale
from annotation.importers.errors import ImportFileError
from annotation.importers.generic import read_generic
from annotation.importers.labels import read_label_rows
from annotation.models import Dataset, Item
from annotation.selectors.datasets import item_value_rules, scales_of
from annotation.services.datasets import dataset_import
from annotation.services.item_exports import items_table
from web.tables import table_bytes

WORDED = {str(point): f"level {point}" for point in range(1, 6)}
CRITERIA: list[dict[str, Any]] = [
    {"key": "clear", "question": "Is it clear?", "options": WORDED},
    {"key": "depth", "question": "How deep is it?", "scale": {"low": 0, "high": 100}},
    {
        "key": "tone",
        "question": "Is the tone right?",
        "scale": {"low": -3, "high": 3, "not_applicable": True},
        "options": {"-3": "Far too cold", "0": "Right", "3": "Far too warm"},
    },
    {"key": "safe", "question": "Is it safe?", "scale": "pass_fail"},
]
RATINGS = {"clear": 4, "depth": 85, "tone": -2, "safe": 1}


def written(folder: Path, *rows: dict[str, Any], name: str = "items.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(ratings: Any = RATINGS, **fields: Any) -> dict[str, Any]:
    return {
        "kind": "rubric",
        "instruction": "Explain it.",
        "responses": ["So."],
        "gold": None if ratings is None else {"ratings": ratings},
    } | fields


def test_each_criterion_has_a_scale_of_its_own(tmp_path):
    bundle = read_generic(written(tmp_path, {"criteria": CRITERIA}, row()))
    clear, depth, tone, safe = bundle.criteria
    assert (clear.scale, clear.rated_on.numbers) == ({}, STANDARD)
    assert (depth.rated_on, depth.options) == (Scale(0, 100), {})
    assert tone.rated_on == Scale(
        -3, 3, not_applicable=True, words=((-3, "Far too cold"), (0, "Right"), (3, "Far too warm"))
    )
    assert (safe.rated_on.low, safe.rated_on.high, safe.options) == (0, 1, {"0": "Fail", "1": "Pass"})
    assert bundle.items[0].gold == {"ratings": RATINGS}


@pytest.mark.parametrize(
    ("key", "said", "stored"),
    [
        ("depth", 100, 100),
        ("depth", 85.0, 85),
        ("tone", "n/a", NOT_APPLICABLE),
        ("tone", "Not applicable", NOT_APPLICABLE),
        ("tone", NOT_APPLICABLE, NOT_APPLICABLE),
        ("tone", "right ", 0),
        ("safe", "Pass", 1),
        ("safe", False, 0),
    ],
)
def test_ways_to_say_a_rating(tmp_path, key, said, stored):
    bundle = read_generic(written(tmp_path, {"criteria": CRITERIA}, row({key: said})))
    assert bundle.items[0].gold == {"ratings": {key: stored}}


@pytest.mark.parametrize(
    ("key", "said", "expected"),
    [
        ("clear", 6, "expected 1 to 5, found 6."),
        ("clear", "n/a", "expected 1 to 5, found 'not_applicable'."),
        ("depth", 101, "expected 0 to 100, found 101."),
        ("depth", 50.5, "expected 0 to 100, found 50.5."),
        ("tone", 4, 'expected -3 to 3 or "not_applicable", found 4.'),
        ("safe", 2, "expected 0 to 1, found 2."),
        ("safe", "perhaps", "expected 0 to 1, found 'perhaps'."),
    ],
)
def test_ratings_off_the_scale(tmp_path, key, said, expected):
    with pytest.raises(ImportFileError) as caught:
        read_generic(written(tmp_path, {"criteria": CRITERIA}, row({key: said})))
    error = caught.value
    assert (error.row, error.field, error.message) == (2, f"gold.ratings.{key}", expected)


@pytest.mark.parametrize(
    ("fields", "field", "expected"),
    [
        (
            {"scale": "stars"},
            "scale",
            'expected pass_fail, or an object with "low" and "high", found \'stars\'.',
        ),
        ({"scale": [1, 5]}, "scale", "expected an object, found [1, 5]."),
        ({"scale": {"low": 1}}, "scale.high", "expected a whole number, found none."),
        ({"scale": {"low": 5, "high": 1}}, "scale.high", "expected a number above low (5), found 1."),
        ({"scale": {"low": 0, "high": 1.5}}, "scale.high", "expected a whole number, found 1.5."),
        ({"scale": {"low": 0, "high": 200}}, "scale.high", "expected a scale of 2 to 101 points, found 201."),
        (
            {"scale": {"low": 0, "high": 10, "step": 3}},
            "scale.step",
            "expected a divisor of the range (10), found 3.",
        ),
        ({"scale": {"low": 0, "high": 10, "bipolar": True}}, "scale.bipolar", "unknown field"),
        (
            {"scale": {"not_applicable": "yes"}},
            "scale.not_applicable",
            "expected true or false, found 'yes'.",
        ),
        (
            {"scale": {"low": 0, "high": 1}, "options": {"2": "Both"}},
            "options.2",
            "expected points from 0 to 1; found '2'.",
        ),
        ({"scale": {"low": 0, "high": 1}, "options": {"1": ""}}, "options.1", "expected text, found none."),
        ({}, "options", "expected a value; the field is missing or empty."),
        (
            {"options": WORDED | {"6": "Best"}},
            "options.6",
            "expected points from 1 to 5; other points need a \"scale\"; found '6'.",
        ),
    ],
)
def test_criteria_that_are_refused(tmp_path, fields, field, expected):
    criterion = {"key": "c", "question": "Well?"} | fields
    with pytest.raises(ImportFileError) as caught:
        read_generic(written(tmp_path, row(None, criteria=[criterion])))
    assert (caught.value.row, caught.value.field) == (1, f"criteria[0].{field}")
    assert caught.value.message.startswith(expected)


def test_the_same_criterion_on_another_scale_is_refused(tmp_path):
    other = [CRITERIA[1] | {"scale": {"low": 0, "high": 10}}]
    with pytest.raises(ImportFileError, match="expected criterion 'depth' to be the same as in row 1"):
        read_generic(written(tmp_path, {"criteria": CRITERIA}, row(criteria=other)))


def imported(path: Path, name: str = "scales") -> Dataset:
    return dataset_import(bundle=read_generic(path), name=name).dataset


@pytest.mark.django_db
def test_stored_read_and_written_as_a_file_they_are_the_same(tmp_path):
    path = written(tmp_path, {"criteria": CRITERIA}, row())
    dataset = imported(path)
    assert scales_of(dataset.pk) == {each.key: each.rated_on for each in read_generic(path).criteria}
    assert list(dataset.criteria.values_list("scale", flat=True))[:2] == [{}, {"low": 0, "high": 100}]

    (tmp_path / "again.jsonl").write_bytes(
        b"".join(table_bytes(items_table(Item.objects.filter(dataset=dataset)), "jsonl"))
    )
    again = read_generic(tmp_path / "again.jsonl")
    assert {each.key: each.rated_on for each in again.criteria} == scales_of(dataset.pk)
    assert again.items[0].gold == {"ratings": RATINGS}


@pytest.mark.django_db
def test_a_stored_scale_is_not_changed_by_another_file(tmp_path):
    imported(written(tmp_path, {"criteria": CRITERIA}, row()))
    other = [*CRITERIA[:1], CRITERIA[1] | {"scale": {"low": 0, "high": 10}}]
    with pytest.raises(
        Exception, match="expected '0 to 100', as stored in dataset 'scales', found '0 to 10'"
    ):
        imported(written(tmp_path, row(None, criteria=other, id="b"), name="other.jsonl"))
    assert Dataset.objects.get(name="scales").items.count() == 1


@pytest.mark.django_db
def test_labels_from_a_file_are_read_on_the_stored_scales(tmp_path):
    dataset = imported(written(tmp_path, {"criteria": CRITERIA}, row(id="a")))
    rules = item_value_rules(dataset.pk)
    said = {"item": "a", "annotator": "x", "value": {"ratings": {"depth": 100, "tone": "N/A"}}}
    (label,) = read_label_rows(written(tmp_path, said, name="labels.jsonl"), rules)
    assert label.value == {"ratings": {"depth": 100, "tone": NOT_APPLICABLE}}
    said["value"] = {"ratings": {"depth": -1}}
    with pytest.raises(ImportFileError, match="expected 0 to 100, found -1"):
        read_label_rows(written(tmp_path, said, name="labels.jsonl"), rules)


@pytest.mark.service
def test_parquet_has_a_null_for_what_other_criteria_have(tmp_path):
    criteria = [each for each in CRITERIA if each["key"] != "safe"]
    table = pa.Table.from_pylist(
        [
            row({key: said for key, said in RATINGS.items() if key != "safe"}, criteria=criteria),
            row({"depth": 3}, criteria=None),
        ]
    )
    pq.write_table(table, tmp_path / "items.parquet")
    bundle = read_generic(tmp_path / "items.parquet")
    assert [each.rated_on.numbers for each in bundle.criteria] == [
        STANDARD,
        Scale(0, 100),
        Scale(-3, 3, not_applicable=True),
    ]
    assert bundle.items[1].gold == {"ratings": {"depth": 3}}

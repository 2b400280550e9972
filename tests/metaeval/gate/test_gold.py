"""A gold file gives the arrays that the same file gives a site, of every kind; and what is wrong in it is named."""

import json
from dataclasses import fields

import numpy as np
import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.models import Dataset
from annotation.services.datasets import dataset_import
from metaeval.gate.gold import gold_read
from metaeval.selectors.inputs import inputs_read
from tests.judges.standalone.files import rows_write

OPTIONS = {"1": "No", "2": "Hardly", "3": "Partly", "4": "Mostly", "5": "Yes"}
POEM = [{"key": "poem", "text": "It is a poem."}, {"key": "short", "text": "It is short.", "parent": "poem"}]


def labels(*values):
    return [{"annotator": f"a{k}", "value": value, "simulated": k == 2} for k, value in enumerate(values)]


ROWS = [
    {
        "criteria": [
            {"key": "clear", "question": "How clear?", "options": OPTIONS},
            {"key": "whole", "question": "How whole?", "options": OPTIONS},
        ]
    },
    {
        "id": "p1",
        "instruction": "One.",
        "category": "Open QA",
        "subset": "Natural",
        "responses": ["a", "bcd"],
        "gold": 1,
        "labels": labels(1, 0, 2),
    },
    {"id": "p2", "instruction": "Two.", "responses": ["abc", "b"], "labels": labels(2, 2)},
    {
        "id": "p3",
        "instruction": "One.",
        "category": "Open QA",
        "subset": "Natural",
        "responses": ["ab", "b"],
        "gold": 0,
    },
    {
        "id": "r1",
        "kind": "rubric",
        "instruction": "Rain.",
        "responses": ["It falls."],
        "gold": {"ratings": {"clear": 4}},
        "labels": labels({"ratings": {"clear": 5, "whole": 1}}),
    },
    {
        "id": "r2",
        "kind": "rubric",
        "instruction": "Snow.",
        "responses": ["It falls too."],
        "labels": labels({"ratings": {"whole": 2}}, {"ratings": {"clear": 3}}),
    },
    {
        "id": "i1",
        "kind": "importance",
        "instruction": "Poem.",
        "aspects": POEM,
        "labels": labels({"ranks": {"poem": 1, "short": 2}}, {"ranks": {"poem": 1, "short": 1}}),
    },
    {
        "id": "c1",
        "kind": "checklist",
        "instruction": "Poem.",
        "aspects": POEM,
        "responses": ["Drip."],
        "gold": {"answers": {"poem": True}},
        "labels": labels({"answers": {"poem": True, "short": None}}),
    },
    {
        "id": "a1",
        "kind": "answer_ranking",
        "instruction": "Sky?",
        "responses": ["Light.", "Paint.", "Sea."],
        "gold": {"ranks": {"0": 1, "1": 3, "2": 2}},
    },
    {
        "id": "a2",
        "kind": "answer_ranking",
        "instruction": "Sea?",
        "responses": ["Salt.", "Fish."],
        "labels": labels({"ranks": {"0": 1, "1": 2}}, {"ranks": {"0": 2, "1": 1}}),
        "metadata": {"votes": [5, 2]},
    },
]


@pytest.fixture
def path(tmp_path):
    return rows_write(tmp_path / "gold.jsonl", ROWS)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", ["pairwise", "rubric", "importance", "checklist", "answer_ranking"])
def test_a_file_and_a_site_give_the_same_arrays(path, kind):
    dataset_import(bundle=read_generic(path), name="demo")
    stored = inputs_read(dataset=Dataset.objects.get(name="demo"), kind=kind)
    found = gold_read(path, kind)
    assert found.criteria == stored.criteria
    for mine, theirs, names in (
        (found.items, stored.items, [each.name for each in fields(stored.items)]),
        (found.labels, stored.labels, ["item", "annotator", "values", "simulated", "grades"]),
    ):
        for name in names:
            one, two = getattr(mine, name), getattr(theirs, name)
            if isinstance(two, np.ndarray):
                np.testing.assert_array_equal(one, two, err_msg=name)
            else:
                assert one == two, name
    assert len(found.views) == len(found.items)


@pytest.mark.django_db
def test_graded_labels_and_gold_are_those_of_a_site(tmp_path):
    pair = {"responses": ["a", "b"]}
    values = [{"choice": 1, "strength": "much"}, {"preference": 1.27}, 0, 2]
    rows = [
        {"id": "p1", "instruction": "1", **pair, "labels": labels(*values), "gold": {"preference": 1.9}},
        {"id": "p2", "instruction": "2", **pair, "labels": labels(2), "gold": 0},
    ]
    path = rows_write(tmp_path / "graded.jsonl", rows)
    dataset_import(bundle=read_generic(path), name="graded")
    stored = inputs_read(dataset=Dataset.objects.get(name="graded"), kind="pairwise")
    found = gold_read(path, "pairwise")
    np.testing.assert_array_equal(found.labels.grades, stored.labels.grades)
    assert found.labels.grades.tolist()[:3] == [3.0, 1.38, 0.0]
    assert found.graded_gold.grades.tolist() == [-2.4, 0.0]


def test_items_without_anything_known_are_refused(tmp_path):
    rows = [{"id": "p", "instruction": "One.", "responses": ["a", "b"], "labels": labels(1)}]
    path = rows_write(tmp_path / "gold.jsonl", rows)
    with pytest.raises(ImportFileError, match=r"gold\.jsonl.*two annotators"):
        gold_read(path, "pairwise")
    with pytest.raises(ImportFileError, match=r"gold\.jsonl.*'rubric'"):
        gold_read(path, "rubric")


def test_a_wrong_row_is_named(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps(ROWS[1]) + "\n" + json.dumps(ROWS[2] | {"gold": 7}) + "\n")
    with pytest.raises(ImportFileError, match=r"gold\.jsonl.*2.*gold"):
        gold_read(path, "pairwise")

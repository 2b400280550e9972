"""Conversations, answers of several turns, explanations, and values of pairs that say more than a choice."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.models import Dataset, Instruction, Item, Label, Response, Study
from annotation.selectors.datasets import items_for_judging
from annotation.selectors.shown import item_shown
from annotation.services.criteria import criteria_add, criteria_set, criteria_sets
from annotation.services.datasets import DatasetImportError, dataset_import
from tests.annotation.factories import dataset_make

TURNS = [{"role": "user", "text": "Hello."}, {"role": "assistant", "text": "Yes?"}]
MESSAGES = [
    {"role": "assistant", "text": "Two."},
    {"role": "user", "text": "And?"},
    {"role": "assistant", "text": "Three."},
]
ROW: dict[str, Any] = {
    "id": "x",
    "instruction": "Name primes.",
    "context": "Of arithmetic.",
    "conversation": TURNS,
    "responses": [{"system": "m1", "messages": MESSAGES}, {"system": "m2", "text": "Four."}],
    "gold": {"choice": 1, "strength": "much"},
    "explanation": "Four is **no** prime.",
    "labels": [{"annotator": "ann", "value": {"choice": 0, "both_bad": True}}],
}
KEYS = ["2befbb4979ffe346", "d2e886c4f2c60d73", "c56abda37b425246"]
FLAT = "Assistant: Two.\n\nUser: And?\n\nAssistant: Three."


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.django_db
class TestImport:
    def test_everything_is_stored_and_the_same_file_changes_nothing(self, tmp_path: Path):
        path = written(tmp_path, ROW)
        dataset_import(bundle=read_generic(path), name="d")
        assert not dataset_import(bundle=read_generic(path), name="d").changed
        assert Instruction.objects.get().conversation == TURNS
        first, second = Response.objects.order_by("pk")
        assert (first.messages, first.text) == (MESSAGES, FLAT)
        assert (second.messages, second.text) == ([], "Four.")
        item = Item.objects.get()
        assert (item.gold, item.explanation) == (ROW["gold"], ROW["explanation"])
        assert Label.objects.get().value == {"choice": 0, "both_bad": True}

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"conversation": TURNS[:1]}, "conversation"),
            ({"explanation": "Another."}, "explanation"),
            ({"gold": {"choice": 1, "strength": "slightly"}}, "gold"),
            (
                {"responses": [{"system": "m1", "messages": MESSAGES[:1]}, ROW["responses"][1]]},
                "response_1",
            ),
            ({"responses": [{"system": "m1", "text": FLAT}, ROW["responses"][1]]}, "response_1"),
        ],
    )
    @pytest.mark.parametrize("named", [False, True])
    def test_a_file_that_says_something_else_is_refused(self, tmp_path: Path, changes, field, named):
        name = {"instruction_id": "i"} if named else {}
        dataset_import(bundle=read_generic(written(tmp_path, ROW | name)), name="d")
        with pytest.raises(ImportFileError) as caught:
            dataset_import(bundle=read_generic(written(tmp_path, ROW | name | changes)), name="d")
        assert (caught.value.row, caught.value.field) == (1, field)

    def test_a_judge_reads_the_conversation_before_the_context(self, tmp_path: Path):
        plain = {"id": "y", "instruction": "Say hello.", "context": "At night.", "responses": ["a", "b"]}
        dataset_import(bundle=read_generic(written(tmp_path, ROW, plain)), name="d")
        first, second = items_for_judging(Dataset.objects.get().pk)
        assert first.context == "User: Hello.\n\nAssistant: Yes?\n\nOf arithmetic."
        assert first.responses == (FLAT, "Four.")
        assert first.gold == ROW["gold"]
        assert second.context == "At night."


def test_a_csv_file_holds_the_same_as_json(tmp_path: Path):
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerow({k: v if isinstance(v, str) else json.dumps(v) for k, v in ROW.items()})
    flat, nested = read_generic(path), read_generic(written(tmp_path, ROW))
    assert [i.conversation for i in flat.instructions] == [i.conversation for i in nested.instructions]
    assert [r.messages for r in flat.responses] == [r.messages for r in nested.responses]
    assert [(i.gold, i.explanation) for i in flat.items] == [(i.gold, i.explanation) for i in nested.items]
    assert [label.value for label in flat.labels] == [label.value for label in nested.labels]


def test_keys_of_what_has_no_turns_are_what_they_were(tmp_path: Path):
    """They name rows in databases: a second import of an old file must find them."""
    bundle = read_generic(
        written(tmp_path, {"id": "x", "instruction": "Say hello.", "responses": ["a", "b"]})
    )
    assert [bundle.instructions[0].key, *(r.key for r in bundle.responses)] == KEYS


class TestCriteria:
    def test_the_five_of_helm_instruct(self):
        assert "helm-instruct" in criteria_sets()
        found = criteria_set("helm-instruct")
        assert [record.key for record in found] == [
            "helpfulness",
            "understandability",
            "completeness",
            "conciseness",
            "harmlessness",
        ]
        for record in found:
            assert list(record.options) == ["1", "2", "3", "4", "5"]
            assert len(set(record.options.values())) == 5

    @pytest.mark.django_db
    def test_they_are_put_on_a_dataset_once(self):
        dataset = dataset_make(pairs=1)
        assert criteria_add(dataset=dataset, name="helm-instruct") == 5
        assert dataset.version == 2
        assert criteria_add(dataset=dataset, name="helm-instruct") == 0
        dataset.refresh_from_db()
        assert dataset.version == 2
        assert list(dataset.criteria.values_list("position", flat=True)) == [0, 1, 2, 3, 4]

    @pytest.mark.django_db
    def test_other_words_under_the_same_key_are_refused(self):
        dataset = dataset_make(pairs=1)
        criteria_add(dataset=dataset, name="helm-instruct")
        dataset.criteria.filter(key="conciseness").update(question="Short?")
        dataset.criteria.filter(key="harmlessness").delete()
        with pytest.raises(DatasetImportError, match="conciseness"):
            criteria_add(dataset=dataset, name="helm-instruct")
        assert dataset.criteria.count() == 4

    @pytest.mark.django_db
    def test_there_is_no_such_set(self):
        with pytest.raises(DatasetImportError, match="helm-instruct"):
            criteria_add(dataset=dataset_make(pairs=1), name="../demo/study")

    @pytest.mark.django_db
    def test_a_file_of_rubrics_may_leave_them_out(self, tmp_path: Path):
        gold = {"ratings": {record.key: 4 for record in criteria_set("helm-instruct")}}
        row = {
            "id": "r",
            "kind": "rubric",
            "instruction": "Explain rain.",
            "responses": ["Drip."],
            "gold": gold,
        }
        path = written(tmp_path, row)
        with pytest.raises(ImportFileError, match="criteria"):
            read_generic(path)
        bundle = read_generic(path, criteria=criteria_set("helm-instruct"))
        dataset = dataset_import(bundle=bundle, name="d").dataset
        assert dataset.criteria.count() == 5
        assert criteria_add(dataset=dataset, name="helm-instruct") == 0
        assert Item.objects.get().gold == gold


@pytest.mark.django_db
def test_an_item_read_before_its_criteria_came_is_shown_with_them(tmp_path: Path):
    row = {"id": "r", "kind": "rubric", "instruction": "Explain rain.", "responses": ["Drip."]}
    criterion = {"key": "clear", "question": "Clear?", "options": {str(n): str(n) for n in range(1, 6)}}
    dataset = dataset_import(
        bundle=read_generic(written(tmp_path, {"criteria": [criterion]}, row)), name="d"
    ).dataset
    study = Study(dataset=dataset, kind="rubric")
    item = Item.objects.get()
    assert len(item_shown(study, item, [0]).criteria) == 1
    criteria_add(dataset=dataset, name="helm-instruct")
    assert len(item_shown(study, Item.objects.get(), [0]).criteria) == 6

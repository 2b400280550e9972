"""Importing a dataset: idempotent, additive, whole or not at all, one at a time."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, models
from django.db.models import Count

from annotation.importers import ImportFileError, read_alpaca_human, read_generic, read_llmbar
from annotation.models import (
    Annotator,
    Aspect,
    Criterion,
    Dataset,
    Instruction,
    Item,
    ItemResponse,
    Label,
    Response,
    Role,
)
from annotation.services.dataset_parts import ImportResult
from annotation.services.datasets import DatasetImportError, dataset_import
from tests.annotation.factories import user_make

TABLES: tuple[type[models.Model], ...] = (
    Dataset,
    Instruction,
    Aspect,
    Criterion,
    Response,
    Item,
    ItemResponse,
    Annotator,
    Label,
)
ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "category": "Open QA",
        "subset": "Natural",
        "instruction": "Say hello.",
        "context": "at night",
        "reference": "Good evening.",
        "responses": [{"system": "m1", "text": "hello"}, {"system": "m2", "text": "bye"}],
        "gold": 1,
        "labels": [{"annotator": "ann", "value": 1}, {"annotator": "ben", "value": 0}],
        "metadata": {"x": [1.5, 1e300, None]},
    },
    {"id": "b", "instruction": "Say bye.", "responses": ["hello", "bye"]},
]


def counts() -> dict[str, int]:
    return {model.__name__: model._default_manager.count() for model in TABLES}


def write(folder: Path, rows: list[dict[str, Any]], name: str = "data.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def load(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> ImportResult:
    return dataset_import(bundle=read_generic(write(folder, rows)), name="demo", **settings)


@pytest.mark.both_databases
@pytest.mark.django_db
def test_everything_is_stored(tmp_path: Path) -> None:
    owner = user_make()
    result = load(tmp_path, ROWS, title="Demo", split="private", licence="MIT", owner=owner)
    assert result.summary() == "demo: 2 items in 1 subset, 1 gold; 2 labels. Created."
    dataset = Dataset.objects.get()
    assert (dataset.title, dataset.split, dataset.licence, dataset.owner, dataset.version) == (
        "Demo",
        "private",
        "MIT",
        owner,
        1,
    )
    assert dataset.source == "generic: data.jsonl"
    item = Item.objects.select_related("instruction").get(external_id="a")
    assert (item.position, item.kind, item.gold) == (0, "pairwise", {"choice": 1})
    assert item.instruction.reference == "Good evening."
    assert list(item.item_responses.values_list("response__system", "response__text")) == [
        ("m1", "hello"),
        ("m2", "bye"),
    ]
    assert list(
        Label.objects.order_by("pk").values_list(
            "annotator__source", "annotator__external_id", "choice", "source"
        )
    ) == [("import:demo", "ann", 1, "data.jsonl:1"), ("import:demo", "ben", 0, "data.jsonl:1")]
    assert Item.objects.get(external_id="b").gold is None


@pytest.mark.both_databases
@pytest.mark.django_db
def test_the_same_file_again_changes_nothing(tmp_path: Path) -> None:
    load(tmp_path, ROWS)
    before = counts()
    result = load(tmp_path, ROWS)
    assert not result.changed
    assert result.summary() == "demo: unchanged: 2 items, 2 labels."
    assert counts() == before
    assert Dataset.objects.get().version == 1


@pytest.mark.both_databases
@pytest.mark.django_db
def test_what_is_new_is_added(tmp_path: Path) -> None:
    load(tmp_path, ROWS)
    grown = [
        ROWS[0] | {"labels": [*ROWS[0]["labels"], {"annotator": "eve", "value": 2, "simulated": True}]},
        {"id": "c", "instruction": "Say bye.", "responses": ["bye", "ciao"]},
    ]
    result = load(tmp_path, grown)
    assert result.summary().endswith("Added 1 item and 1 label; now version 2.")
    assert Item.objects.get(external_id="c").position == 2
    # Its instruction was there, and one of its responses.
    assert counts()["Instruction"] == 2
    assert counts()["Response"] == 5
    assert Annotator.objects.get(external_id="eve").is_simulated
    assert not Annotator.objects.get(external_id="ann").is_simulated


@pytest.mark.both_databases
@pytest.mark.django_db
def test_every_kind_is_stored_and_found_again(tmp_path: Path) -> None:
    options = {str(point): f"level {point}" for point in range(1, 6)}
    tree = [
        {"key": "a", "text": "A"},
        {"key": "b", "text": "B", "parent": "a"},
        {"key": "c", "text": "C", "parent": "b"},
    ]
    rows = [
        {"criteria": [{"key": "clear", "question": "Clear?", "options": options}]},
        {
            "id": 1,
            "kind": "rubric",
            "instruction": "r",
            "responses": ["x"],
            "gold": {"ratings": {"clear": 3}},
        },
        {"id": 2, "kind": "importance", "instruction": "t", "aspects": tree},
        {
            "id": 3,
            "kind": "checklist",
            "instruction": "t",
            "aspects": tree,
            "responses": ["x"],
            "labels": [{"annotator": "ann", "value": {"answers": {"a": True, "b": None}}}],
        },
        {"id": 4, "kind": "answer_ranking", "instruction": "q", "responses": ["x", "x", "y"]},
    ]
    load(tmp_path, rows)
    assert list(Aspect.objects.order_by("position").values_list("key", "parent__key")) == [
        ("a", None),
        ("b", "a"),
        ("c", "b"),
    ]
    assert Criterion.objects.get().options == options
    assert Label.objects.get().value == {"answers": {"a": True, "b": None, "c": None}}
    sizes = Item.objects.order_by("position").annotate(n=Count("item_responses")).values_list("n", flat=True)
    assert list(sizes) == [1, 0, 1, 3]
    assert not load(tmp_path, rows).changed
    rows[0]["criteria"][0]["options"] = options | {"5": "best"}
    with pytest.raises(ImportFileError, match=r"row 1, field criteria\.clear: expected .* as stored"):
        load(tmp_path, rows)


CONTRADICTIONS: dict[str, tuple[dict[str, Any], str, str]] = {
    "instruction": ({"instruction": "Say it."}, "instruction", "expected 'Say hello.', as stored"),
    "context": ({"context": "by day"}, "context", "found 'by day'"),
    "reference": ({"reference": None}, "reference", "found None"),
    "category": ({"category": "Chat"}, "category", "expected 'Open QA'"),
    "subset": ({"subset": "Natural/Hard"}, "subset", "found 'Natural/Hard'"),
    "instruction id": ({"instruction_id": "mine"}, "instruction_id", "found 'mine'"),
    "a response": (
        {"responses": [{"system": "m1", "text": "hello"}, {"system": "m2", "text": "b" * 500}]},
        "response_2",
        "expected 'bye'",
    ),
    "a system": (
        {"responses": [{"system": "m1", "text": "hello"}, {"system": "m3", "text": "bye"}]},
        "system_2",
        "found 'm3'",
    ),
    "swapped": ({"responses": ROWS[0]["responses"][::-1]}, "response_1", "found 'bye'"),
    "gold": ({"gold": 2}, "gold", "found {'choice': 2}"),
    "no gold": ({"gold": None}, "gold", "found None"),
    "metadata": ({"metadata": {"x": True}}, "metadata", "found {'x': True}"),
    "kind": ({"kind": "answer_ranking", "gold": None, "labels": []}, "kind", "expected 'pairwise'"),
    "a label": ({"labels": [{"annotator": "ben", "value": 2}]}, "label of ben", "found {'choice': 2}"),
    "simulated": (
        {"labels": [{"annotator": "ben", "value": 0, "simulated": True}]},
        "simulated",
        "expected False",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_contradicts_is_refused_whole(tmp_path: Path, name: str) -> None:
    changes, field, words = CONTRADICTIONS[name]
    load(tmp_path, ROWS)
    before = counts()
    new = {"id": "new", "instruction": "New.", "responses": ["1", "2"]}
    with pytest.raises(ImportFileError) as caught:
        load(tmp_path, [new, ROWS[0] | changes])
    assert (caught.value.row, caught.value.field) == (2, field)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 500
    assert counts() == before


@pytest.mark.django_db
def test_settings_that_are_refused(tmp_path: Path) -> None:
    bundle = read_generic(write(tmp_path, ROWS))
    for name in ("", "with space", "a/b", "n" * 65, "é", "x\n"):
        with pytest.raises(DatasetImportError, match="isn't a valid dataset name"):
            dataset_import(bundle=bundle, name=name)
    for changes in ({"split": "secret"}, {"title": "t" * 201}, {"licence": "l" * 101}):
        with pytest.raises(DatasetImportError, match="expected"):
            dataset_import(bundle=bundle, name="demo", **changes)
    assert counts()["Dataset"] == 0
    dataset_import(bundle=bundle, name="demo", split="private")
    for changes in ({"split": "public"}, {"title": "Other"}, {"licence": "MIT"}):
        with pytest.raises(DatasetImportError, match="exists with"):
            dataset_import(bundle=bundle, name="demo", **changes)
    with pytest.raises(DatasetImportError, match="is taken"):
        dataset_import(bundle=bundle, name="demo", owner=user_make(role=Role.ADMINISTRATOR))
    assert not dataset_import(bundle=bundle, name="demo", split="private").changed


@pytest.mark.django_db
def test_items_that_came_in_another_way_are_compared_by_content(tmp_path: Path) -> None:
    dataset = Dataset.objects.create(name="demo", title="demo")
    instruction = Instruction.objects.create(dataset=dataset, external_id="by hand", text="Say bye.")
    item = Item.objects.create(
        dataset=dataset, instruction=instruction, external_id="b", kind="pairwise", position=0
    )
    for position, text in enumerate(("hello", "bye")):
        response = Response.objects.create(instruction=instruction, external_id=str(position), text=text)
        ItemResponse.objects.create(item=item, response=response, position=position)
    with pytest.raises(ImportFileError, match="field instruction_id"):
        load(tmp_path, ROWS[1:])
    assert not load(tmp_path, [ROWS[1] | {"instruction_id": "by hand"}]).changed


@pytest.mark.django_db
def test_a_dataset_may_have_what_another_has(tmp_path: Path) -> None:
    bundle = read_generic(write(tmp_path, ROWS))
    for name in ("one", "two"):
        assert dataset_import(bundle=bundle, name=name).created
    assert Annotator.objects.filter(external_id="ann").count() == 2


@pytest.mark.both_databases
@pytest.mark.django_db
def test_a_large_import_takes_few_queries(tmp_path: Path) -> None:
    rows = [
        {
            "id": number,
            "instruction": f"Say {number}.",
            "responses": ["a", "b"],
            "labels": [{"annotator": "ann", "value": 1}],
        }
        for number in range(3000)
    ]
    load(tmp_path, rows)
    bundle = read_generic(write(tmp_path, rows))
    connection.force_debug_cursor = True
    connection.queries_log.clear()
    try:
        assert not dataset_import(bundle=bundle, name="demo").changed
        n_queries = len(connection.queries_log)
    finally:
        connection.force_debug_cursor = False
    assert n_queries < 20


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_imports_of_one_name_at_once_take_turns(tmp_path: Path) -> None:
    bundle = read_generic(write(tmp_path, ROWS))
    other = read_generic(write(tmp_path, [ROWS[0] | {"gold": 2}], "other.jsonl"))
    start = threading.Barrier(6)
    results: list[str] = []

    def run(number: int) -> None:
        start.wait()
        try:
            result = dataset_import(bundle=other if number == 5 else bundle, name="demo")
            results.append("created" if result.created else "changed" if result.changed else "unchanged")
        except ImportFileError:
            results.append("refused")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert results.count("created") == 1
    assert "changed" not in results
    # Whoever came first, what is stored is one of the two files, and whole.
    first_was_other = results.count("refused") == 5
    assert counts()["Item"] == (1 if first_was_other else 2)
    assert results.count("refused") in (1, 5)
    assert counts()["Label"] == 2


@pytest.mark.django_db
def test_real_data(shared_data: Path) -> None:
    result = dataset_import(bundle=read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar"), name="llmbar")
    assert result.summary() == "llmbar: 419 items in 5 subsets, 419 gold; 0 labels. Created."
    file = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    first = dataset_import(bundle=read_alpaca_human(file, labels_per_item=4), name="alpaca")
    assert first.summary() == "alpaca: 648 items in 6 subsets, 0 gold; 2,592 labels. Created."
    more = dataset_import(bundle=read_alpaca_human(file), name="alpaca")
    assert (more.items_created, more.labels_created, more.dataset.version) == (0, 4, 2)
    assert not dataset_import(bundle=read_alpaca_human(file), name="alpaca").changed
    # A few labels fewer than are stored contradict nothing.
    assert not dataset_import(bundle=read_alpaca_human(file, labels_per_item=2), name="alpaca").changed

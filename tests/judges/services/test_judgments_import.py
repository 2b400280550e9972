"""Importing verdicts: judges and judgments, idempotent, whole or not at all."""

import csv
import dataclasses
import json
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.importers import (
    DatasetBundle,
    ImportFileError,
    VerdictRecord,
    read_generic,
    read_llmbar,
)
from annotation.models import Dataset, Item
from annotation.selectors.datasets import items_by_external_id
from annotation.services.datasets import dataset_import
from judges.models import BackendKind, Judge, Judgment
from judges.selectors.reading import judges_of_dataset
from judges.services.judgments import bundle_import, judgments_import

pytestmark = [pytest.mark.django_db]


def make_bundle(folder: Path, verdicts: list[list[dict[str, Any]]]) -> DatasetBundle:
    file = folder / "data.jsonl"
    rows = [
        {"id": f"i{n}", "instruction": f"Say {n}.", "responses": ["a", "b"], "verdicts": given}
        for n, given in enumerate(verdicts)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return read_generic(file)


@pytest.fixture
def bundle(tmp_path: Path) -> DatasetBundle:
    return make_bundle(
        tmp_path,
        [
            [{"judge": "j", "value": 1, "raw": "A"}, {"judge": "j", "order": 1, "value": None, "raw": "?"}],
            [{"judge": "j", "value": 0, "scores": [7, 7]}, {"judge": "k", "value": 2}],
            [],
        ],
    )


@pytest.mark.both_databases
def test_everything_is_stored(bundle: DatasetBundle) -> None:
    imported, judged = bundle_import(bundle=bundle, name="demo", source="generic")
    assert imported.created
    assert judged is not None
    assert judged.summary() == "demo: 2 judges, 4 judgments, 1 unparsed. Created."
    judge = Judge.objects.get(name="j")
    assert judge.backend == BackendKind.IMPORTED
    assert judge.spec == {
        "backend": "imported",
        "name": "j",
        "model": "",
        "strategy": "imported",
        "source": "generic",
    }
    assert len(judge.fingerprint) == 64
    stored = Judgment.objects.filter(judge=judge).order_by("item__position", "order")
    assert [(x.order, x.status, x.choice, x.value, x.raw_text, x.source) for x in stored] == [
        (0, "parsed", 1, {"choice": 1}, "A", "data.jsonl:1"),
        (1, "unparsed", None, None, "?", "data.jsonl:1"),
        (0, "parsed", 0, {"choice": 0, "scores": [7.0, 7.0]}, "", "data.jsonl:2"),
    ]


@pytest.mark.both_databases
def test_the_same_again_changes_nothing_and_new_ones_are_added(bundle: DatasetBundle, tmp_path: Path) -> None:
    bundle_import(bundle=bundle, name="demo", source="generic")
    _, again = bundle_import(bundle=bundle, name="demo", source="generic")
    assert again is not None
    assert not again.changed
    assert again.summary() == "demo: unchanged: 2 judges, 4 judgments."
    more = make_bundle(tmp_path, [[], [], [{"judge": "k", "value": 1}]])
    _, grown = bundle_import(bundle=more, name="demo", source="generic")
    assert grown is not None
    assert (grown.created, grown.judges_created) == (1, 0)
    assert Judgment.objects.count() == 5


@pytest.mark.both_databases
def test_a_judge_may_have_verdicts_in_two_datasets(bundle: DatasetBundle) -> None:
    bundle_import(bundle=bundle, name="one", source="generic")
    bundle_import(bundle=bundle, name="two", source="generic")
    assert Judge.objects.count() == 2
    assert Judgment.objects.count() == 8


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"value": {"choice": 2}}, "verdict of j", "expected {'choice': 1} in order 0, as stored"),
        ({"value": None, "status": "unparsed"}, "verdict of j", "found None"),
        ({"raw": "B"}, "verdict of j", "expected 'A'"),
        ({"item": "i9"}, "item", "found 'i9'"),
        ({"model": "other"}, "judge", "with another configuration (Imported verdicts"),
    ],
)
def test_what_contradicts_is_refused_whole(
    bundle: DatasetBundle, changes: dict[str, Any], field: str, words: str
) -> None:
    imported, _ = bundle_import(bundle=bundle, name="demo", source="generic")
    new = VerdictRecord("i0", "new", 0, {"choice": 1}, "parsed", bundle.verdicts[0].origin)
    changed = dataclasses.replace(bundle.verdicts[0], **changes)
    with pytest.raises(ImportFileError) as caught:
        judgments_import(dataset=imported.dataset, verdicts=[new, changed], source="generic")
    assert (caught.value.row, caught.value.field) == (1, field)
    assert words in str(caught.value)
    assert Judgment.objects.count() == 4
    assert Judge.objects.count() == 2


def test_a_judge_of_two_minds_is_refused(bundle: DatasetBundle) -> None:
    imported = dataset_import(bundle=bundle, name="demo")
    first = bundle.verdicts[0]
    second = dataclasses.replace(first, order=1, strategy="other")
    with pytest.raises(ImportFileError, match="model and strategy of 'j' as in row 1"):
        judgments_import(dataset=imported.dataset, verdicts=[first, second], source="generic")


@pytest.mark.both_databases
def test_a_name_that_another_judge_has_is_refused_with_the_dataset(bundle: DatasetBundle) -> None:
    Judge.objects.create(name="k", backend="heuristic", strategy="longest", spec={}, fingerprint="f" * 64)
    with pytest.raises(ImportFileError, match="there is a judge 'k' already, with another configuration"):
        bundle_import(bundle=bundle, name="demo", source="generic")
    assert not Dataset.objects.exists()
    assert not Item.objects.exists()
    assert Judge.objects.count() == 1


@pytest.mark.both_databases
def test_what_is_stored(bundle: DatasetBundle) -> None:
    imported, _ = bundle_import(bundle=bundle, name="demo", source="generic")
    dataset_id = imported.dataset.pk
    first, second = judges_of_dataset(imported.dataset).order_by("name")
    ids = items_by_external_id(dataset_id)
    rows = Judgment.objects.values_list("judge_id", "item_id", "order", "choice", "status")
    said = {(judge, item, order): (choice, status) for judge, item, order, choice, status in rows}
    assert len(said) == 4
    assert said[first.pk, ids["i0"], 0] == (1, "parsed")
    assert said[first.pk, ids["i1"], 0] == (0, "parsed")
    assert said[second.pk, ids["i1"], 0] == (2, "parsed")
    assert [status for choice, status in said.values() if choice is None] == ["unparsed"]


def test_a_stored_verdict_without_its_grade_is_not_contradicted_by_one_that_has_it(tmp_path: Path) -> None:
    """Versions before grades stored the choice that a preference between 1 and 2 is."""
    row = {"instruction": "Why?", "output_1": "a", "output_2": "b", "annotator": "gpt4", "preference": 1.27}
    (tmp_path / "x.json").write_text(json.dumps([row]))
    bundle = read_generic(tmp_path / "x.json")
    bundle_import(bundle=bundle, name="demo", source="generic")
    (judgment,) = Judgment.objects.all()
    assert (judgment.value, judgment.probability) == ({"choice": 1, "grade": 1.38}, 0.73)
    Judgment.objects.update(value={"choice": 1}, probability=None)
    _, again = bundle_import(bundle=bundle, name="demo", source="generic")
    assert again is not None
    assert again.created == 0
    Judgment.objects.update(value={"choice": 1, "grade": 1.0})
    with pytest.raises(ImportFileError, match="as stored"):
        bundle_import(bundle=bundle, name="demo", source="generic")


def test_llmbars_scores_alone_are_its_verdicts(shared_data: Path, tmp_path: Path) -> None:
    """ChatGPT's ratings without rules of the natural subset: 42% are hedges, as the paper has it."""
    dataset_import(bundle=read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar"), name="llmbar")
    with (shared_data / "llmbar" / "judgments.csv").open() as file:
        rated = [
            row
            for row in csv.DictReader(file)
            if (row["subset"], row["judge"], row["strategy"]) == ("Natural", "ChatGPT", "Rating_NoRules")
        ]
    lines = [f"Natural/{row['idx']},j,{row['score_1']},{row['score_2']}" for row in rated]
    (tmp_path / "scores.csv").write_text("\n".join(["item,judge,score_1,score_2", *lines]))
    call_command(
        "import_judgments", "generic", str(tmp_path / "scores.csv"), dataset="llmbar", stdout=StringIO()
    )
    said = Judgment.objects.filter(judge__name="j")
    assert said.count() == 100
    assert said.filter(value__hedge=True, choice=0).count() == 42
    for row in rated:
        if row["winner_noswap"] and row["score_1"] != row["score_2"]:
            judgment = said.get(item__external_id=f"Natural/{row['idx']}")
            assert judgment.choice == int(row["winner_noswap"])


def test_the_authors_own_results(shared_data: Path) -> None:
    """Figures of their statistics.json; the same verdicts as in the table, which has them without their texts."""
    root = shared_data / "published" / "llmbar" / "Dataset"
    if not root.is_dir():
        pytest.skip(f"the authors' results are not at {root}")
    dataset_import(bundle=read_llmbar(shared_data / "llmbar" / "Dataset" / "LLMBar"), name="llmbar")
    run = partial(call_command, "import_judgments", "llmbar", dataset="llmbar", stdout=(out := StringIO()))
    file = root / "LLMBar" / "Adversarial" / "Neighbor" / "evaluators" / "GPT-4" / "Swap" / "result.json"
    run(str(file))
    assert "1 judge, 268 judgments, 0 unparsed. Created." in out.getvalue()
    rows = Judgment.objects.filter(judge__name="GPT-4 / Swap", order=0).select_related("item")
    correct = sum(row.choice == row.item.gold["choice"] for row in rows)
    assert json.loads((file.parent / "statistics.json").read_text())["correct_False"].startswith(
        f"{correct} / 134"
    )
    run(str(root))
    assert "4 judges, 1,440 judgments" in out.getvalue()
    texts = Judgment.objects.exclude(raw_text="").count()
    run(str(root.parent.parent.parent / "llmbar" / "judgments.csv"))
    assert "27 judges, 22,626 judgments" in out.getvalue()
    assert Judgment.objects.exclude(raw_text="").count() == texts
    assert Judgment.objects.count() == 22_626

"""The commands: one clear line either way, and nothing half done."""

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset, Item
from judges.models import Judge, Judgment
from tests.annotation.factories import user_make

pytestmark = pytest.mark.django_db


def run(*args: object) -> str:
    out = io.StringIO()
    call_command(*(str(arg) for arg in args), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def refused(*args: object) -> str:
    with pytest.raises(CommandError) as caught:
        run(*args)
    assert caught.value.returncode != 0
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    row = {"instruction": "i", "responses": ["a", "b"], "verdicts": [{"judge": "j", "value": 1}]}
    path.write_text("".join(json.dumps({"id": n} | row) + "\n" for n in range(2)))
    return path


def test_generic(file: Path) -> None:
    user_make(username="ada")
    options = ("--title", "Demo set", "--split", "private", "--licence", "MIT", "--owner", "ada")
    assert run("import_dataset", "generic", file, "--name", "demo", *options) == (
        "demo: 2 items, 0 gold; 0 labels. Created.\ndemo: 1 judge, 2 judgments, 0 unparsed. Created.\n"
    )
    dataset = Dataset.objects.get()
    assert (dataset.title, dataset.split, dataset.licence, str(dataset.owner)) == (
        "Demo set",
        "private",
        "MIT",
        "ada",
    )
    assert run("import_dataset", "generic", file, "--name", "demo") == (
        "demo: unchanged: 2 items, 0 labels.\ndemo: unchanged: 1 judge, 2 judgments.\n"
    )


def test_refusals_write_nothing(file: Path, tmp_path: Path) -> None:
    assert "there is none of this name" in refused(
        "import_dataset", "generic", tmp_path / "none.csv", "--name", "demo"
    )
    assert "isn't a valid dataset name" in refused("import_dataset", "generic", file, "--name", "de mo")
    assert "there is no user 'eve'" in refused(
        "import_dataset", "generic", file, "--name", "demo", "--owner", "eve"
    )
    assert "an option of alpaca-human" in refused(
        "import_dataset", "generic", file, "--name", "demo", "--labels-per-item", "4"
    )
    with file.open("a") as out:
        out.write('{"id": "x", "instruction": "i", "responses": ["a", "b"], "gold": 7}\n')
    message = refused("import_dataset", "generic", file, "--name", "demo")
    assert message == f"Nothing was imported. {file}, row 3, field gold: expected 0, 1 or 2, found 7."
    for bad in (("--labels-per-item", "0"), ("--labels-per-item", "four"), ("--split", "secret")):
        refused("import_dataset", "alpaca-human", file, "--name", "demo", *bad)
    assert not Dataset.objects.exists()
    assert not Item.objects.exists()
    assert not Judge.objects.exists()


def test_stackexchange(tmp_path: Path) -> None:
    rows = []
    for number in (10, 20, 30):
        rows.append(f'<row Id="{number}" PostTypeId="1" Title="T{number}" Tags="|a|" Body="B" />')
        rows += [
            f'<row Id="{number + n}" PostTypeId="2" ParentId="{number}" Score="{20 * n}" Body="A{number + n}" />'
            for n in range(1, 5)
        ]
    folder = tmp_path / "physics"
    folder.mkdir()
    (folder / "Posts.xml").write_text(f"<posts>{''.join(rows)}</posts>")
    options = ("--per-topic", "2", "--seed", "3", "--licence", "CC-BY-SA-4.0")
    assert run("import_dataset", "stackexchange", folder, "--name", "dump", *options) == (
        "dump: 2 items, 2 gold; 0 labels. Created.\n"
    )
    item = Item.objects.first()
    assert item is not None
    assert (item.kind, item.external_id[:8], item.instruction.category) == (
        "answer_ranking",
        "physics/",
        "physics",
    )
    assert sorted(item.metadata["votes"]) == [20, 40, 60, 80]
    assert "unchanged" in run("import_dataset", "stackexchange", folder, "--name", "dump", *options)
    # More of the same dump adds to the dataset.
    assert "Added 1 item" in run("import_dataset", "stackexchange", folder, "--name", "dump")
    assert "of 3 questions 0 have the answers" in refused(
        "import_dataset", "stackexchange", folder, "--name", "other", "--min-votes", "50"
    )
    assert "an option of stackexchange, not of llmbar" in refused(
        "import_dataset", "llmbar", folder, "--name", "other", "--topics", "a"
    )
    refused("import_dataset", "stackexchange", folder, "--name", "other", "--keep", "1")
    refused("import_dataset", "stackexchange", folder, "--name", "other", "--seed", "-1")


def test_import_judgments(file: Path, tmp_path: Path) -> None:
    verdicts = tmp_path / "verdicts.csv"
    verdicts.write_text("item,judge,order,verdict,raw\n0,other,0,1,A\n0,other,1,,what?\n")
    assert "none has been imported yet" in refused(
        "import_judgments", "generic", verdicts, "--dataset", "demo"
    )
    run("import_dataset", "generic", file, "--name", "demo")
    assert run("import_judgments", "generic", verdicts, "--dataset", "demo") == (
        "demo: 1 judge, 2 judgments, 1 unparsed. Created.\n"
    )
    assert run("import_judgments", "generic", verdicts, "--dataset", "demo") == (
        "demo: unchanged: 1 judge, 2 judgments.\n"
    )
    verdicts.write_text("item,judge,order,verdict\n0,third,0,1\n9,third,0,1\n")
    message = refused("import_judgments", "generic", verdicts, "--dataset", "demo")
    assert f"{verdicts}, row 3, field item: expected the id of an item of the dataset, found '9'" in message
    assert "row 1, field group: the column is missing" in refused(
        "import_judgments", "llmbar", _llmbar_without(tmp_path), "--dataset", "demo"
    )
    assert Judgment.objects.filter(judge__name="third").count() == 0


def _llmbar_without(folder: Path) -> Path:
    file = folder / "judgments.csv"
    file.write_text("subset,idx,label,judge,strategy,winner_noswap,winner_swap,score_1,score_2\n")
    return file


def test_the_published_data(shared_data: Path) -> None:
    llmbar = shared_data / "llmbar"
    human = shared_data / "alpaca_eval" / "alpaca_farm_human_crossannotations.json"
    assert run("import_dataset", "llmbar", llmbar / "Dataset" / "LLMBar", "--name", "llmbar") == (
        "llmbar: 419 items in 5 subsets, 419 gold; 0 labels. Created.\n"
    )
    assert run("import_judgments", "llmbar", llmbar / "judgments.csv", "--dataset", "llmbar") == (
        "llmbar: 27 judges, 22,626 judgments, 33 unparsed. Created.\n"
    )
    again = run("import_judgments", "llmbar", llmbar / "judgments.csv", "--dataset", "llmbar")
    assert again == "llmbar: unchanged: 27 judges, 22,626 judgments.\n"
    judge = Judge.objects.get(name="GPT-4 / Metrics_Reference")
    assert (judge.model, judge.strategy) == ("GPT-4", "Metrics_Reference")
    assert Judgment.objects.filter(item__dataset__name="llmbar").count() == 22_626
    assert run("import_dataset", "alpaca-human", human, "--name", "alpaca", "--labels-per-item", 4) == (
        "alpaca: 648 items in 6 subsets, 0 gold; 2,592 labels. Created.\n"
    )
    assert run("import_dataset", "pandalm", shared_data / "pandalm", "--name", "pandalm") == (
        "pandalm: 999 items, 0 gold; 2,997 labels. Created.\n"
        "pandalm: 2 judges, 1,998 judgments, 25 unparsed. Created.\n"
    )


def test_columns_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("Question;First;Second\nWhy?;a;b\n")
    with pytest.raises(CommandError, match=r"--map Question=FIELD First=FIELD Second=FIELD"):
        run("import_dataset", "generic", path, "--name", "d")
    names = ("--map", "Question=instruction", "First=response_1", "Second=response_2")
    assert "1 item, 0 gold" in run("import_dataset", "generic", path, "--name", "d", *names)
    assert "unchanged" in run("import_dataset", "generic", path, "--name", "d", *names)
    assert "COLUMN=FIELD" in refused("import_dataset", "generic", path, "--name", "d", "--map", "Question")


def test_every_error_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    row = {"instruction": "i", "responses": ["a", "b"], "gold": 7}
    path.write_text("".join(json.dumps(row) + "\n" for _ in range(3)))
    with pytest.raises(CommandError) as caught:
        run("import_dataset", "generic", path, "--name", "d")
    assert [line.split(",")[1].strip() for line in str(caught.value).splitlines()[1:]] == [
        "row 1",
        "row 2",
        "row 3",
    ]


def test_ready_made_criteria(tmp_path: Path) -> None:
    path = tmp_path / "rubrics.jsonl"
    path.write_text(json.dumps({"id": "r", "kind": "rubric", "instruction": "i", "responses": ["a"]}))
    assert "criteria" in refused("import_dataset", "generic", path, "--name", "r")
    for _ in range(2):
        run("import_dataset", "generic", path, "--name", "r", "--criteria", "helm-instruct")
    assert Dataset.objects.get().criteria.count() == 5
    assert "option of generic" in refused(
        "import_dataset", "llmbar", tmp_path, "--name", "x", "--criteria", "helm-instruct"
    )

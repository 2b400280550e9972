"""Each benchmark from a file to rows by the command: items, labels, verdicts; the same file again changes nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset, Item, Label
from annotation.peers.formats import FORMATS
from judges.models import Judgment
from tests.annotation.importers.benchmarks import (
    battle,
    best_of_four,
    instance,
    judged,
    judgment,
    met,
    metric,
    objective_pair,
    preference,
    preferred,
    rubric_prompt,
    schema,
    styled,
    summary,
    vote,
    write_json,
    write_lines,
)

pytestmark = pytest.mark.django_db


def _outputs(folder: Path) -> Path:
    return write_lines(folder / "o.jsonl", judged(objective_pair(), judgment("A>B"), judgment(None)))


def _two_files(folder: Path) -> Path:
    write_json(folder / "human_annotations.json", {"w1": {"a": "x", "b": "y"}, "w2": {"a": "x"}})
    write_json(folder / "llm_annotations.json", {"llm": {"a": "y"}})
    return folder


def _schema(folder: Path) -> Path:
    scores = {"individual_human_scores": [4, 5], "org/m": "5"}
    content = schema(
        instance(1, "One.", Fluency=scores, Tone=["kind"]),
        metrics=[metric("Fluency"), metric("Tone", labels=["kind", "rude"])],
    )
    return write_json(folder / "ours.json", content)


# By format: how the file is written; items, labels and judgments that come of it.
IMPORTS: dict[str, tuple[Callable[[Path], Path], tuple[int, int, int]]] = {
    "mtbench": (
        lambda folder: write_json(
            folder / "v.json", [vote(), vote("tie", "author_1"), vote("tie", "gpt4_pair"), vote(turn=2)]
        ),
        (2, 3, 1),
    ),
    "chatbot-arena": (
        lambda folder: write_lines(folder / "a.jsonl", battle(), battle(question_id="2")),
        (2, 2, 0),
    ),
    "judgebench": (_outputs, (1, 0, 2)),
    "rewardbench": (lambda folder: write_lines(folder / "r.jsonl", preference()), (1, 0, 0)),
    "rewardbench2": (lambda folder: write_lines(folder / "r.jsonl", best_of_four()), (1, 0, 0)),
    "rmbench": (lambda folder: write_json(folder / "r.json", [styled()]), (9, 0, 0)),
    "href": (lambda folder: write_lines(folder / "h.jsonl", preferred(1, 2, 0)), (1, 3, 0)),
    "summeval": (lambda folder: write_lines(folder / "s.jsonl", summary(), summary("M2")), (2, 6, 0)),
    "judge-bench-nlp": (_schema, (2, 3, 1)),
    "alternative-annotators": (_two_files, (2, 3, 1)),
    "healthbench": (
        lambda folder: write_lines(folder / "h.jsonl", rubric_prompt(), met(True, False, prompt_id="h9")),
        (2, 2, 0),
    ),
}


def run(kind: str, path: Path) -> str:
    out = StringIO()
    call_command("import_dataset", kind, str(path), name=kind, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("kind", IMPORTS)
def test_from_a_file_to_rows(tmp_path: Path, kind: str) -> None:
    assert kind in FORMATS
    write, expected = IMPORTS[kind]
    path = write(tmp_path)
    run(kind, path)
    assert (Item.objects.count(), Label.objects.count(), Judgment.objects.count()) == expected
    assert "unchanged" in run(kind, path)
    assert (Item.objects.count(), Label.objects.count(), Judgment.objects.count()) == expected


def _hub(folder: Path) -> Path:
    (folder / "README.md").write_text("---\nlicense: cc-by-4.0\n---\n")
    write_lines(folder / "test.jsonl", {"question": "One?", "good": "1", "bad": "2", "who": "ann"})
    write_lines(folder / "train.jsonl", {"question": "Two?", "good": "2", "bad": "1", "who": "ann"})
    return folder


MAPPING = {"columns": {"question": "instruction", "good": "chosen", "bad": "rejected"}, "others": "metadata"}


def test_a_hugging_face_folder_with_a_mapping_file(tmp_path: Path) -> None:
    """The license is the card's; of two splits one has to be chosen."""
    (tmp_path / "set").mkdir()
    folder = _hub(tmp_path / "set")
    mapping = str(write_json(tmp_path / "mapping.json", MAPPING))
    with pytest.raises(CommandError, match=r"Nothing was imported.*test or train; say which"):
        call_command("import_dataset", "huggingface", str(folder), name="hub", mapping=mapping)
    assert not Dataset.objects.exists()
    for _ in range(2):
        call_command(
            "import_dataset", "huggingface", str(folder), name="hub", mapping=mapping, data_split=["test"]
        )
    item = Item.objects.get()
    assert (item.gold, item.metadata) == ({"choice": 1}, {"who": "ann"})
    dataset = Dataset.objects.get()
    assert (dataset.licence, dataset.mapping) == ("cc-by-4.0", {"format": "touchstone.mapping/1", **MAPPING})
    # A later table of the same columns is read by it.
    table = write_lines(
        tmp_path / "more.jsonl", {"question": "Three?", "good": "3", "bad": "1", "who": "ben"}
    )
    call_command("import_dataset", "generic", str(table), name="hub")
    assert Item.objects.get(instruction__text="Three?").metadata == {"who": "ben"}


def test_single_columns_of_a_hugging_face_folder(tmp_path: Path) -> None:
    fields = ["question=instruction", "good=chosen", "bad=rejected", "who=metadata"]
    call_command(
        "import_dataset", "huggingface", str(_hub(tmp_path)), name="hub", map=fields, data_split=["test"]
    )
    assert Item.objects.get().metadata == {"who": "ann"}


def test_a_license_that_is_said_comes_first(tmp_path: Path) -> None:
    write_json(_hub(tmp_path) / "touchstone.json", MAPPING)
    call_command(
        "import_dataset", "huggingface", str(tmp_path), name="hub", data_split=["train"], licence="MIT"
    )
    assert Dataset.objects.get().licence == "MIT"


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        (
            "summeval",
            {"mapping": "m.json"},
            "--mapping is an option of generic, huggingface, argilla or label",
        ),
        ("argilla", {"map": ["a=id"]}, "--map is an option of generic or huggingface, not of argilla"),
        ("generic", {"config": "x"}, "--config is an option of huggingface, not of generic"),
        ("argilla", {"data_split": ["x"]}, "--data-split is an option of huggingface, not of argilla"),
    ],
)
def test_options_of_other_formats_are_refused(kind, options, words) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("import_dataset", kind, "nowhere", name="x", **options)


def test_a_table_an_export_of_argilla_and_one_of_label_studio_with_mapping_files(tmp_path: Path) -> None:
    pair = {"q": "One?", "a": "1", "b": "2"}
    columns = {"q": "instruction", "a": "response_1", "b": "response_2"}
    words = {"A": 1, "B": 2}
    of_tools = {"columns": columns, "questions": {"best": {"field": "choice", "values": words}}}
    chosen = {"from_name": "best", "type": "choices", "value": {"choices": ["B"]}}
    files = {
        "generic": (
            write_lines(tmp_path / "votes.jsonl", pair | {"won": "A", "who": "ann"}),
            {"columns": columns | {"won": {"field": "label", "values": words}, "who": "annotator"}},
        ),
        "argilla": (
            write_json(
                tmp_path / "records.json",
                [{"id": "1", "fields": pair, "responses": {"best": [{"value": "A", "user_id": "ann"}]}}],
            ),
            of_tools,
        ),
        "label-studio": (
            write_json(
                tmp_path / "tasks.json",
                [{"data": pair, "annotations": [{"completed_by": 1, "result": [chosen]}]}],
            ),
            of_tools,
        ),
    }
    for kind, (file, mapping) in files.items():
        written = write_json(tmp_path / f"{kind}-mapping.json", mapping)
        call_command("import_dataset", kind, str(file), name=kind, mapping=str(written))
    assert [label.value for label in Label.objects.order_by("pk")] == [
        {"choice": 1},
        {"choice": 1},
        {"choice": 2},
    ]


def test_the_published_score_of_rewardbench_2(tmp_path: Path) -> None:
    """From the files to the leaderboard's score: items, a reward model's scores, a report by its convention."""
    subsets = ("Factuality", "Precise IF", "Math", "Safety", "Focus")
    rows = [best_of_four(str(n), subset=name) for n, name in enumerate(subsets)]
    ties = {"chosen": ["Red.", "Blue."], "num_correct": 2, "total_completions": 5}
    rows += [best_of_four("ref:0", subset="Ties"), best_of_four("tied:0", subset="Ties", models=[], **ties)]
    write_lines(tmp_path / "r.jsonl", *rows)
    call_command("import_dataset", "rewardbench2", str(tmp_path / "r.jsonl"), name="rb2", verbosity=0)
    # Right, shared by two, wrong, right, right; of ties right by 3 and, with a spread of 1, by 2.
    scores = [[9, 1, 1, 1], [5, 5, 1, 1], [1, 2, 1, 1], [3, 1, 2, 0], [0.5, 0.1, 0, 0], [8, 5, 1, 1]]
    scores.append([8, 7, 5, 1, 1])
    said = [{"item": row["id"], "judge": "rm", "scores": one} for row, one in zip(rows, scores, strict=True)]
    write_lines(tmp_path / "v.jsonl", *said)
    call_command("import_judgments", "generic", str(tmp_path / "v.jsonl"), dataset="rb2", verbosity=0)
    out = tmp_path / "report.json"
    call_command("report", "rb2", "--preset", "rewardbench2", "--output", str(out), verbosity=0)
    (judge, *_) = json.loads(out.read_text())["judges"]
    found = {
        name: judge["measures"][f"rewardbench2_{name}"]["overall"]["value"] for name in ("score", "ties")
    }
    tied = 1 + 0.01 * math.tanh(1)
    assert found == pytest.approx({"ties": tied, "score": (1 + 0.5 + 0 + 1 + 1 + tied) / 6})

"""Each benchmark from a file to rows by the command: items, labels, verdicts; the same file again changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from annotation.models import Item, Label
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

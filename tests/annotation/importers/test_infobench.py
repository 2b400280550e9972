"""InFoBench: the published file as it is, and what is refused."""

import json
from collections import Counter
from pathlib import Path

import pytest

from annotation.importers import ImportFileError, read_infobench

ROW = {
    "id": "task_1",
    "instruction": "Write a haiku about rain.",
    "input": "",
    "category": "Poetry",
    "subset": "Easy_set",
    "decomposed_questions": ["Is it a haiku?", "Is it about rain?"],
    "question_label": [["Format"], ["Content"]],
    "output": "Rain on the window",
    "eval": [False, True],
}


def written(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "model-x_eval.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_one_row(tmp_path: Path) -> None:
    bundle = read_infobench(written(tmp_path, ROW))
    assert [(item.external_id, item.kind) for item in bundle.items] == [
        ("task_1", "checklist"),
        ("importance/task_1", "importance"),
    ]
    assert [(aspect.key, aspect.text) for aspect in bundle.aspects] == [
        ("q1", "Is it a haiku?"),
        ("q2", "Is it about rain?"),
    ]
    assert bundle.responses[0].system == "model-x"
    assert bundle.verdicts[0].value == {"answers": {"q1": False, "q2": True}}


def test_without_an_output_only_the_importance_is_asked(tmp_path: Path) -> None:
    row = {name: value for name, value in ROW.items() if name not in ("output", "eval")}
    assert [item.kind for item in read_infobench(written(tmp_path, row)).items] == ["importance"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"decomposed_questions": []}, "decomposed_questions"),
        ({"decomposed_questions": ["Is it?", ""]}, "decomposed_questions[1].text"),
        ({"question_label": [["Format"]]}, "question_label"),
        ({"eval": [True]}, "eval"),
        ({"eval": [True, "perhaps"]}, "eval[1]"),
        ({"score": 3}, "score"),
        ({"id": None}, "id"),
    ],
)
def test_what_is_refused_names_file_row_and_field(
    tmp_path: Path, change: dict[str, object], field: str
) -> None:
    path = written(tmp_path, ROW, ROW | {"id": "task_2"} | change)
    with pytest.raises(ImportFileError) as refused:
        read_infobench(path)
    assert (refused.value.row, refused.value.field) == (2, field)


def test_a_line_that_is_no_object(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match="expected a JSON object"):
        read_infobench(written(tmp_path, [1]))


def test_the_published_file(shared_data: Path) -> None:
    bundle = read_infobench(shared_data / "infobench" / "gpt4_eval.jsonl")
    assert Counter(item.kind for item in bundle.items) == {"checklist": 500, "importance": 495}
    assert len(bundle.aspects) == 2_250
    answers = [a for v in bundle.verdicts for a in (v.value or {})["answers"].values()]
    assert sum(answers) / len(answers) == pytest.approx(0.8760, abs=5e-5), "DRFR over questions"

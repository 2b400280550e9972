"""Words and marks that a source defines are read; what it does not define is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import (
    ImportFileError,
    read_alpaca_human,
    read_generic,
    read_infobench,
    read_pandalm,
)

ITEM = {
    "id": "c1",
    "kind": "checklist",
    "instruction": "Write a poem.",
    "responses": ["Drip."],
    "aspects": [{"key": "poem", "text": "It is one."}, {"key": "short", "text": "It is short."}],
}


def labels_of(tmp_path: Path, *values: Any) -> list[Any]:
    labels = [{"annotator": f"p{place}", "value": value} for place, value in enumerate(values)]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(ITEM | {"labels": labels}))
    return [label.value for label in read_generic(file).labels]


def test_a_label_that_can_tell_nothing_is_a_label(tmp_path: Path) -> None:
    nothing = {"answers": {"poem": None, "short": None}}
    assert labels_of(tmp_path, nothing, {"answers": {"short": None}}) == [nothing, nothing]


def test_answers_in_words(tmp_path: Path) -> None:
    said = [
        {"answers": {"poem": "Yes", "short": word}}
        for word in ("No", "Unsure", "cannot tell", "can’t  tell", True)
    ]
    expected = [False, None, None, None, True]
    assert labels_of(tmp_path, *said) == [{"answers": {"poem": True, "short": each}} for each in expected]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"answers": {}}, "expected at least one"),
        ({"answers": {"poem": "perhaps"}}, "expected true, false or null, found 'perhaps'"),
        ({"answers": {"rhyme": True}}, "unknown name"),
        ({"answers": None}, "expected an object"),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, value: Any, words: str) -> None:
    with pytest.raises(ImportFileError, match=words):
        labels_of(tmp_path, value)


@pytest.mark.service
def test_a_gap_in_a_parquet_column_is_no_answer_to_another_items_aspect(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    rows = [
        ITEM | {"labels": [{"annotator": "p", "value": {"answers": {"poem": None, "short": None}}}]},
        ITEM
        | {
            "id": "c2",
            "instruction": "Write a song.",
            "aspects": [{"key": "song", "text": "It is one."}],
            "labels": [{"annotator": "p", "value": {"answers": {"song": True}}}],
        },
    ]
    file = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    first, second = (label.value for label in read_generic(file).labels)
    assert first == {"answers": {"poem": None, "short": None}}
    assert second == {"answers": {"song": True}}


def test_a_draw_of_alpaca_eval_is_a_tie(tmp_path: Path) -> None:
    row = {"instruction": "i", "output_1": "a", "output_2": "b", "dataset": "koala"}
    rows = [
        row | {"preference": said, "annotator_index": place} for place, said in enumerate((1, 2, 0, 1.5, 2.0))
    ]
    file = tmp_path / "human.json"
    file.write_text(json.dumps(rows))
    assert [label.value["choice"] for label in read_alpaca_human(file).labels] == [1, 2, 0, 0, 2]


def test_the_words_of_a_judge_of_pandalm(tmp_path: Path) -> None:
    item = {
        "motivation_app": "",
        "cmp_key": "a_b",
        "instruction": "i",
        "input": "",
        "response1": "x",
        "response2": "y",
    }
    items = [item | {"idx": place, "annotator1": 1} for place in range(5)]
    (tmp_path / "testset-v1.json").write_text(json.dumps(items))
    said = [
        {"idx": place, "gpt_result": word} for place, word in enumerate(("Tie", "tie ", "1", 2, "garbage"))
    ]
    (tmp_path / "judge-testset-v1.json").write_text(json.dumps(said))
    verdicts = read_pandalm(tmp_path).verdicts
    assert [v.value and v.value["choice"] for v in verdicts] == [0, 0, 1, 2, None]
    assert [v.raw for v in verdicts][:2] == ["Tie", "tie "]


def test_verdicts_of_infobench_in_words(tmp_path: Path) -> None:
    row = {"id": "1", "instruction": "i", "decomposed_questions": ["a?", "b?", "c?"], "output": "o"}
    file = tmp_path / "x_eval.jsonl"
    file.write_text(json.dumps(row | {"eval": ["Yes", "no", None]}))
    (verdict,) = read_infobench(file).verdicts
    assert verdict.value == {"answers": {"q1": True, "q2": False, "q3": None}}

"""Published files that are not what they should be: the file, the row, the field and what was expected."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.domain.values import ValueRules
from annotation.importers import (
    ImportFileError,
    read_alpaca_human,
    read_llmbar,
    read_llmbar_judgments,
    read_pandalm,
    read_verdicts,
)

LLMBAR_ROW = {"input": "i", "output_1": "a", "output_2": "b", "label": 1}
HUMAN_ROW = {
    "instruction": "i",
    "output_1": "a",
    "output_2": "b",
    "preference": 1,
    "annotator_index": 3,
    "dataset": "koala",
    "datasplit": "eval",
}
PANDALM_ROW = {
    "idx": 0,
    "cmp_key": "a_b",
    "instruction": "i",
    "input": "",
    "response1": "a",
    "response2": "b",
    "annotator1": 1,
}


@pytest.mark.parametrize(
    ("content", "row", "field", "words"),
    [
        ({"a": 1}, None, None, "expected a JSON list"),
        ([], None, None, "the list is empty"),
        ([LLMBAR_ROW, 1], 2, None, "expected an object"),
        ([LLMBAR_ROW, LLMBAR_ROW | {"label": 0}], 2, "label", "expected 1 or 2, found 0"),
        ([LLMBAR_ROW | {"label": "1"}], 1, "label", "found '1'"),
        ([LLMBAR_ROW | {"extra": 1}], 1, "extra", "unknown field"),
        ([LLMBAR_ROW | {"output_2": None}], 1, "output_2", "missing"),
    ],
)
def test_refused_llmbar(tmp_path: Path, content: Any, row: int | None, field: str | None, words: str) -> None:
    (tmp_path / "Natural").mkdir()
    file = tmp_path / "Natural" / "dataset.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ImportFileError) as caught:
        read_llmbar(tmp_path)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(file), row, field)
    assert words in str(caught.value)


def test_refused_llmbar_folder(tmp_path: Path) -> None:
    file = tmp_path / "dataset.json"
    with pytest.raises(ImportFileError, match=r"expected a folder with files named dataset.json"):
        read_llmbar(tmp_path)
    file.write_text("[{]")
    with pytest.raises(ImportFileError, match="expected a folder, found a file"):
        read_llmbar(file)
    with pytest.raises(ImportFileError, match="line 1, column 3"):
        read_llmbar(tmp_path)
    file.write_bytes(b'[\n"\xff"]')
    with pytest.raises(ImportFileError, match="line 2: expected UTF-8 text, found the byte 0xff"):
        read_llmbar(tmp_path)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"preference": 0}, "preference", "expected 1 or 2, found 0"),
        ({"preference": None}, "preference", "missing"),
        ({"annotator_index": None}, "annotator_index", "missing"),
        ({}, "annotator_index", "expected one label of annotator '3'"),
        ({"dataset": 4}, "dataset", "expected text"),
    ],
)
def test_refused_alpaca_human(tmp_path: Path, changes: dict[str, Any], field: str, words: str) -> None:
    file = tmp_path / "human.json"
    file.write_text(json.dumps([HUMAN_ROW, HUMAN_ROW | changes]))
    with pytest.raises(ImportFileError) as caught:
        read_alpaca_human(file)
    assert (caught.value.row, caught.value.field) == (2, field)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"idx": 1, "annotator1": 3}, "annotator1", "expected 0, 1 or 2, found 3"),
        ({}, "idx", "also in row 1"),
        ({"idx": 1, "cmp_key": "one"}, "cmp_key", "two systems"),
        ({"idx": 1, "annotator": 1}, "annotator", "unknown field"),
        ({"idx": 1, "instruction": " "}, "instruction", "or in the field input"),
    ],
)
def test_refused_pandalm(tmp_path: Path, changes: dict[str, Any], field: str, words: str) -> None:
    (tmp_path / "testset-v1.json").write_text(json.dumps([PANDALM_ROW, PANDALM_ROW | {"idx": 0} | changes]))
    with pytest.raises(ImportFileError) as caught:
        read_pandalm(tmp_path)
    assert (caught.value.row, caught.value.field) == (2, field)
    assert words in str(caught.value)


def test_refused_pandalm_judge(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match=r"a folder with a file testset-v1.json"):
        read_pandalm(tmp_path)
    (tmp_path / "testset-v1.json").write_text(json.dumps([PANDALM_ROW]))
    file = tmp_path / "j-testset-v1.json"
    for row, field, words in (
        ({"idx": 7, "gpt_result": 1}, "idx", "the idx of an item"),
        ({"idx": 0}, None, "expected one field such as gpt_result"),
        ({"idx": 0, "gpt_result": 1, "why": ""}, "why", "unknown field"),
    ):
        file.write_text(json.dumps([row]))
        with pytest.raises(ImportFileError, match=words) as caught:
            read_pandalm(tmp_path)
        assert (caught.value.file, caught.value.row, caught.value.field) == (str(file), 1, field)


# --- tables of verdicts -----------------------------------------------------------------------------------

TABLE = "group,subset,idx,label,judge,strategy,winner_noswap,winner_swap,score_1,score_2\n"


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("LLMBar,Natural,9,1,G,CoT,1,1,,", "idx", "an item of the dataset"),
        ("LLMBar,Naturel,0,1,G,CoT,1,1,,", "idx", "it has neither 'Naturel/0'"),
        ("LLMBar,Natural,0,2,G,CoT,1,1,,", "label", "expected 1, the gold of 'Natural/0', found '2'"),
        ("LLMBar,Natural,0,1,G,CoT,3,1,,", "winner_noswap", "found '3'"),
        ("LLMBar,Natural,0,1,G,CoT,1,x,,", "winner_swap", "found 'x'"),
        ("LLMBar,Natural,0,1,,CoT,1,1,,", "judge", "found none"),
        ("LLMBar,Natural,0,1,G,Rating,1,1,a,2", "score_1", "expected a number"),
        ("LLMBar,Natural,0,1,G,Rating,1,1,inf,2", "score_1", "expected a number"),
        ("LLMBar,Natural,0,1,G,Rating,1,1,1,2", "winner_noswap", "the higher score"),
        ("LLMBar,Natural,0,1,G,CoT,1,1,", None, "found 9"),
    ],
)
def test_refused_llmbar_judgments(tmp_path: Path, line: str, field: str | None, words: str) -> None:
    file = tmp_path / "judgments.csv"
    file.write_text(f"{TABLE}LLMBar,Natural,0,1,G,Vanilla,1,2,,\n{line}\n")
    with pytest.raises(ImportFileError) as caught:
        read_llmbar_judgments(file, {"Natural/0": 1})
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(file), 3, field)
    assert words in str(caught.value)


def test_refused_llmbar_judgments_twice_or_none(tmp_path: Path) -> None:
    file = tmp_path / "judgments.csv"
    file.write_text(TABLE + "LLMBar,Natural,0,1,G,Vanilla,1,2,,\n" * 2)
    with pytest.raises(ImportFileError, match="row 3, field winner_noswap: expected one verdict"):
        read_llmbar_judgments(file, {"Natural/0": 1})
    file.write_text(TABLE)
    with pytest.raises(ImportFileError, match="at least one verdict"):
        read_llmbar_judgments(file, {"Natural/0": 1})
    file.write_text(TABLE.replace("idx,", ""))
    with pytest.raises(ImportFileError, match="row 1, field idx: the column is missing"):
        read_llmbar_judgments(file, {"Natural/0": 1})


@pytest.mark.parametrize(
    ("line", "field", "words"),
    [
        ("b,j,0,1", "item", "expected the id of an item of the dataset, found 'b'"),
        ("a,j,2,1", "order", "expected 0 or 1, found 2"),
        ("a,j,0,3", "verdict", "found 3"),
        ("a,j,0,A", "verdict", "found 'A'"),
        ("a,,0,1", "judge", "missing"),
    ],
)
def test_refused_generic_verdicts(tmp_path: Path, line: str, field: str, words: str) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(f"item,judge,order,verdict\n{line}\n")
    with pytest.raises(ImportFileError) as caught:
        read_verdicts(file, {"a": ValueRules("pairwise")})
    assert (caught.value.row, caught.value.field) == (2, field)
    assert words in str(caught.value)

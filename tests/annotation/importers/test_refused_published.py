"""Published files that are not what they should be: the file, the row, the field and what was expected."""

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import (
    ImportFileError,
    read_alpaca_human,
    read_llmbar,
    read_llmbar_judgments,
    read_pandalm,
    read_verdicts,
)
from annotation.kinds import ValueRules

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
        ([LLMBAR_ROW, 1], 2, None, "expected a JSON object"),
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
        ({"preference": 3}, "preference", "expected 1 to 2, or 0 for a draw, found 3"),
        ({"preference": 2.2}, "preference", "found 2.2"),
        ({"preference": True}, "preference", "found True"),
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


# --- LLMBar's results as its authors keep them ------------------------------------------------------------


def results_write(root: Path, subset: str, judge: str, *rows: dict) -> Path:
    file = root / "LLMBar" / subset / "evaluators" / judge / "result.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows))
    return file


def result(first: str | None, second: str | None, label: int = 1, **steps: list) -> dict:
    """A row; winners of both orders, in the stored order."""
    said = {
        f"swap = {swap}": {"completion": [f"Output {winner}", "stop"], "winner": winner}
        for swap, winner in ((False, first), (True, second))
    }
    return {
        "input": "i",
        "output_1": "a",
        "output_2": "b",
        "label": label,
        "results": [*steps.get("before", []), said],
    }


def rated(first: str, second: str, winners: tuple[str, str]) -> dict:
    said = {f"score_{n}": [text, "stop"] for n, text in ((1, first), (2, second))}
    said |= {
        f"swap = {swap}": {"winner": winner} for swap, winner in zip((False, True), winners, strict=True)
    }
    return {"input": "i", "output_1": "a", "output_2": "b", "label": 1, "results": [said]}


GOLD = {"Natural/0": 1, "Natural/1": 2, "Adversarial/Manual/0": 1}


def test_results_are_read_from_a_file_or_a_folder(tmp_path: Path) -> None:
    settled = result("1", "2", before=[{"swap = False": {"completion": ["x", "stop"], "winner": "2"}}])
    file = results_write(tmp_path, "Natural", "G/Swap", settled, result("2", None, 2))
    results_write(tmp_path, "Adversarial/Manual", "G/Rating", rated("7", "7", ("2", "1")))
    (tmp_path / "LLMBar" / "Natural" / "dataset.json").write_text("[]")
    alone = read_llmbar_judgments(file, GOLD)
    assert [(each.item, each.judge, each.order, each.value, each.raw) for each in alone] == [
        ("Natural/0", "G / Swap", 0, {"choice": 1}, "Output 1"),
        ("Natural/0", "G / Swap", 1, {"choice": 2}, "Output 2"),
        ("Natural/1", "G / Swap", 0, {"choice": 2}, "Output 2"),
        ("Natural/1", "G / Swap", 1, None, "Output None"),
    ]
    for folder in (tmp_path, tmp_path / "LLMBar"):
        every = read_llmbar_judgments(folder, GOLD)
        assert len(every) == 6
    hedge = next(each for each in every if each.item == "Adversarial/Manual/0")
    assert (hedge.judge, hedge.status) == ("G / Rating", "parsed")
    assert hedge.value == {"choice": 0, "scores": [7.0, 7.0], "published": 2}
    assert (hedge.model, hedge.strategy) == ("G", "Rating")
    # The dataset may have been imported from any folder above.
    above = {f"LLMBar/{name}": choice for name, choice in GOLD.items()}
    assert {each.item for each in read_llmbar_judgments(tmp_path, above)} == set(above)
    below = {"Manual/0": 1}
    assert {each.item for each in read_llmbar_judgments(tmp_path, below)} == set(below)


def test_what_the_dataset_has_no_item_of_is_left_out_and_said_to_be(tmp_path: Path) -> None:
    results_write(tmp_path, "Natural", "G/CoT", result("1", "1"))
    results_write(tmp_path, "Adversarial/Manual", "G/CoT", result("1", "1"))
    notes: list[str] = []
    found = read_llmbar_judgments(tmp_path, {"Natural/0": 1}, note=notes.append)
    assert {each.item for each in found} == {"Natural/0"}
    assert notes == ["Left out Adversarial/Manual: the dataset has no item of it."]

    file = tmp_path / "judgments.csv"
    file.write_text(
        f"{TABLE}LLMBar,Natural,0,1,G,CoT,1,2,,\nCaseStudy,Base_9,0,1,G,CoT,1,2,,\nCaseStudy,Base_9,1,2,G,CoT,1,2,,\n"
    )
    notes.clear()
    assert len(read_llmbar_judgments(file, {"Natural/0": 1}, note=notes.append)) == 2
    assert notes == ["Left out CaseStudy/Base_9: the dataset has no item of it."]
    both = {"LLMBar/Natural/0": 1, "CaseStudy/Base_9/0": 1, "CaseStudy/Base_9/1": 2}
    assert {each.item for each in read_llmbar_judgments(file, both)} == set(both)


@pytest.mark.parametrize(
    ("row", "field", "words"),
    [
        (result("1", "1", 2), "label", "expected 1, the gold of 'Natural/0', found 2"),
        (result("3", "1"), "results[0].swap = False.winner", "expected 1, 2 or nothing, found '3'"),
        (result("1", 2), "results[0].swap = True.winner", "expected 1, 2 or nothing, found 2"),
        (result("1", "1") | {"results": []}, "results", "expected at least one step"),
        (result("1", "1") | {"results": [["x", "stop"]]}, "results[0]", "expected an object"),
        (result("1", "1") | {"other": 1}, "other", "unknown field"),
        (rated("7", "3", ("2", "2")), "results[0].swap = False.winner", "the higher score"),
    ],
)
def test_refused_results(tmp_path: Path, row: dict, field: str, words: str) -> None:
    file = results_write(tmp_path, "Natural", "G/CoT", row)
    with pytest.raises(ImportFileError) as caught:
        read_llmbar_judgments(tmp_path, GOLD)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(file), 1, field)
    assert words in str(caught.value)


def test_refused_results_of_no_judge_or_no_item(tmp_path: Path) -> None:
    with pytest.raises(ImportFileError, match=r"expected evaluators/MODEL/STRATEGY/result\.json"):
        read_llmbar_judgments(tmp_path, GOLD)
    loose = tmp_path / "result.json"
    loose.write_text("[]")
    with pytest.raises(ImportFileError, match=r"expected evaluators/MODEL/STRATEGY/result\.json"):
        read_llmbar_judgments(loose, GOLD)
    file = results_write(tmp_path, "Natural", "G/CoT", *[result("1", "1")] * 3)
    with pytest.raises(ImportFileError, match="row 2, field label"):
        read_llmbar_judgments(file, GOLD)
    with pytest.raises(ImportFileError, match=r"it has no Natural/1\."):
        read_llmbar_judgments(file, {"Natural/0": 1})
    with pytest.raises(ImportFileError, match="The dataset has no item of LLMBar/Natural"):
        read_llmbar_judgments(file, {"koala/0": 1})
    results_write(tmp_path, "Natural", "CoT", result("1", "1"))
    with pytest.raises(ImportFileError, match="evaluators/MODEL/STRATEGY"):
        read_llmbar_judgments(tmp_path / "LLMBar" / "Natural" / "evaluators" / "CoT", GOLD)

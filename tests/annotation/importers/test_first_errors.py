"""Each reader lists the first 20 errors of a file, with row and field, not the first alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import (
    read_alpaca_human,
    read_dices,
    read_infobench,
    read_llmbar,
    read_llmbar_judgments,
    read_pandalm,
    read_stackexchange,
    read_verdicts,
)
from annotation.importers.errors import MAX_ERRORS, RefusedFileError
from annotation.importers.llmbar import LLMBAR_FIELDS
from annotation.kinds import ValueRules
from annotation.services.item_choice import chosen_items_read
from metaeval.services.outside import ratings_read

N = 30
Rows = list[dict[str, Any]]


def _json(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return path


def _lines(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _csv(path: Path, rows: Rows) -> Path:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _alpaca(folder: Path) -> object:
    row = {"instruction": "i", "output_1": "a", "output_2": "b", "dataset": "koala", "datasplit": "eval"}
    rows = [row | {"preference": 7, "annotator_index": place} for place in range(N)]
    return read_alpaca_human(_json(folder / "human.json", rows))


def _llmbar(folder: Path) -> object:
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 3}
    _json(folder / "Natural" / "dataset.json", [row] * N)
    return read_llmbar(folder)


def _pandalm(folder: Path) -> object:
    texts = {"cmp_key": "a_b", "instruction": "i", "input": "", "response1": "a", "response2": "b"}
    _json(folder / "testset-v1.json", [texts | {"idx": place, "annotator1": 9} for place in range(N)])
    _json(folder / "j-testset-v1.json", [{"idx": place, "gpt_result": 1} for place in range(N)])
    return read_pandalm(folder)


def _infobench(folder: Path) -> object:
    row = {"instruction": "i", "decomposed_questions": ["Is it?"], "output": "o", "eval": ["perhaps"]}
    return read_infobench(_lines(folder / "m_eval.jsonl", [row | {"id": f"t{place}"} for place in range(N)]))


def _dices(folder: Path) -> object:
    row = {"item_id": 1, "context": "c", "response": "r", "Q2_harmful_content_other": "Perhaps"}
    return read_dices(_csv(folder / "dices.csv", [row | {"rater_id": place} for place in range(N)]))


def _stackexchange(folder: Path) -> object:
    rows = "".join(f'<row Id="{place}" PostTypeId="x"/>\n' for place in range(N))
    (folder / "Posts.xml").write_text(f"<posts>\n{rows}</posts>")
    return read_stackexchange(folder / "Posts.xml")


def _llmbar_table(folder: Path) -> object:
    row = dict.fromkeys(LLMBAR_FIELDS, "") | {"group": "LLMBar", "subset": "Natural", "label": "1"}
    row |= {"judge": "m", "strategy": "Vanilla", "winner_noswap": "3"}
    rows = [row | {"idx": str(place)} for place in range(N)]
    return read_llmbar_judgments(
        _csv(folder / "verdicts.csv", rows), {f"Natural/{place}": 1 for place in range(N)}
    )


def _llmbar_results(folder: Path) -> object:
    said = {"winner": "3", "completion": ["", "stop"]}
    step = {"swap = False": said, "swap = True": said}
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 1, "results": [step]}
    file = _json(folder / "Natural" / "evaluators" / "m" / "Vanilla" / "result.json", [row] * N)
    return read_llmbar_judgments(file, {f"Natural/{place}": 1 for place in range(N)})


def _verdicts(folder: Path) -> object:
    rows = [{"item": "a", "judge": f"j{place}", "verdict": "perhaps"} for place in range(N)]
    return read_verdicts(_csv(folder / "verdicts.csv", rows), {"a": ValueRules("pairwise")})


def _ratings(folder: Path) -> object:
    rows = [{"model": f"m{place}", "rating": "high"} for place in range(N)]
    return ratings_read(_csv(folder / "ratings.csv", rows), score="rating")


def _chosen(folder: Path) -> object:
    rows = [{"item": f"i{place}", "overlap": 0} for place in range(N)]
    return chosen_items_read(_csv(folder / "items.csv", rows))


@pytest.mark.parametrize(
    ("read", "file", "first", "field"),
    [
        (_alpaca, "human.json", 1, "preference"),
        (_llmbar, "dataset.json", 1, "label"),
        (_pandalm, "testset-v1.json", 1, "annotator1"),
        (_infobench, "m_eval.jsonl", 1, "eval[0]"),
        (_dices, "dices.csv", 2, "Q2_harmful_content_other"),
        (_stackexchange, "Posts.xml", 2, "PostTypeId"),
        (_llmbar_table, "verdicts.csv", 2, "winner_noswap"),
        (_llmbar_results, "result.json", 1, "winner"),
        (_verdicts, "verdicts.csv", 2, "verdict"),
        (_ratings, "ratings.csv", 2, "rating"),
        (_chosen, "items.csv", 2, "overlap"),
    ],
)
def test_the_first_20_errors_are_listed(
    tmp_path: Path, read: Callable[[Path], object], file: str, first: int, field: str
) -> None:
    with pytest.raises(RefusedFileError) as caught:
        read(tmp_path)
    assert [one.row for one in caught.value.errors] == list(range(first, first + MAX_ERRORS))
    for one in caught.value.errors:
        assert Path(one.file).name == file
        assert (one.field or "").endswith(field)
    assert str(caught.value).startswith("The first 20 errors:")


def test_errors_of_several_files_keep_the_order_of_the_files(tmp_path: Path) -> None:
    row = {"input": "i", "output_1": "a", "output_2": "b", "label": 1}
    for name, rows in (("A", [row, row | {"label": 3}]), ("B", [row | {"label": 4}, 5, row])):
        _json(tmp_path / name / "dataset.json", rows)  # type: ignore[arg-type]
    with pytest.raises(RefusedFileError) as caught:
        read_llmbar(tmp_path)
    assert [(Path(one.file).parent.name, one.row) for one in caught.value.errors] == [
        ("A", 2),
        ("B", 1),
        ("B", 2),
    ]

"""DeepEval itself measures with an exported judge, and says what the judge says."""

import json

import pytest

from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.exports.errors import ExportRefusedError
from judges.exports.targets import export_target
from judges.exports.writing import ASPECTS, target_export
from tests.judges.exports.cases import (
    CHECKED,
    CRITERIA,
    RATED,
    answers,
    choices,
    document_of,
    exported_to,
    pairs,
)
from tests.peers import run

pytestmark = [pytest.mark.service, pytest.mark.slow]

QUIET = {
    "OPENAI_API_KEY": "none",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_OUT": "1",
}
COMPARE = """
import importlib, json, sys
from deepeval.test_case import ArenaTestCase, Contestant, LLMTestCase
said = {}
for name in sys.argv[1:]:
    metric = importlib.import_module(f"{name}.judge").metric
    found = said.setdefault(name, [])
    for row in json.load(open("rows.json")):
        case = ArenaTestCase(contestants=[
            Contestant(name=each, test_case=LLMTestCase(
                input=row["instruction"], actual_output=row[each], expected_output=row["reference"]))
            for each in ("output_a", "output_b")
        ])
        try:
            found.append(["output_a", "output_b"].index(metric.measure(case, _show_indicator=False)) + 1)
        except ValueError as error:
            assert "no winner" in str(error) or "no verdict" in str(error), error
            found.append(0 if "no winner" in str(error) else None)
print(json.dumps(said))
"""
SCORE = """
import importlib, json, sys
from deepeval.metrics.utils import copy_metrics
from deepeval.test_case import LLMTestCase
said = {}
for name in sys.argv[1:]:
    metrics = copy_metrics(importlib.import_module(f"{name}.judge").metrics)  # as evaluate() does
    found = said.setdefault(name, [])
    for row in json.load(open("rows.json")):
        case = LLMTestCase(
            input=row["instruction"], actual_output=row["response"], expected_output=row["expected"])
        found.append([metric.measure(case, _show_indicator=False) for metric in metrics])
print(json.dumps(said))
"""
ASKED = [
    ("vanilla", "mock-longer-0.7", {"decoding": {"max_tokens": 8, "seed": 3, "top_p": 0.9}}),
    ("rules", "mock-tie-0.5", {"allow_tie": True}),
    ("cot", "mock-shorter", {"decoding": {"temperature": None, "max_tokens": 400}}),
    ("fewshot", "mock-first-0.6", {}),
    ("reference", "mock-overlap", {}),
    ("mt_bench_pair", "mock-longer-0.7", {}),
    ("arena_hard", "mock-unparsable", {}),
]


def test_an_arena_names_the_winner_that_the_judge_names(tmp_path):
    rows = pairs()
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    with running_mock_server() as server:
        documents = {
            f"our_{strategy}": document_of(strategy, model, server.url, **fields)
            for strategy, model, fields in ASKED
        }
        for document in documents.values():
            exported_to(tmp_path, "deepeval", document)
        found = run("deepeval", COMPARE, *documents, folder=tmp_path, **QUIET)
        expected = {
            name: choices(document, rows, [False] * len(rows)) for name, document in documents.items()
        }
    assert found == expected
    assert {choice for each in found.values() for choice in each} == {0, 1, 2, None}


def test_a_metric_gives_the_score_that_the_judge_gives(tmp_path):
    rows = pairs()
    requirement = CHECKED["aspects"][0]["text"]
    cases = [
        {"instruction": row["instruction"], "response": row["output_a"], "expected": requirement}
        for row in rows
    ]
    (tmp_path / "rows.json").write_text(json.dumps(cases))
    with running_mock_server() as server:
        documents = {
            f"our_{strategy}": document_of(strategy, "mock-longer", server.url)
            for strategy in ("rubric_each", "checklist_each", "rating")
        }
        for document in documents.values():
            exported_to(tmp_path, "deepeval", document)
        found = run("deepeval", SCORE, *documents, folder=tmp_path, **QUIET)
        ratings = answers(documents["our_rubric_each"], rows, RATED)
        checked = answers(documents["our_checklist_each"], rows, CHECKED)
        scored = scores(documents["our_rating"], rows)
    assert found["our_rubric_each"] == [
        [(each["ratings"][criterion.key] - 1) / 4 for criterion in CRITERIA] for each in ratings
    ]
    assert found["our_checklist_each"] == [[float(each["answers"]["1"])] for each in checked]
    assert found["our_rating"] == scored
    assert all(len({tuple(each) for each in said}) > 1 for said in found.values())


def scores(document, rows):
    """What our own judge scores the first response of each pair with, from 0 to 1."""
    low, _, high = document.spec.params["scale"].partition("-")
    with Judge(document) as judge:
        found = [
            judge.compare(row["instruction"], row["output_a"], row["output_b"], orders="original").value[
                "scores"
            ][0]
            for row in rows
        ]
    return [[pytest.approx((score - int(low)) / (int(high) - int(low)))] for score in found]


def test_a_third_answer_is_refused():
    document = document_of("checklist_each", "m", "http://127.0.0.1:9/v1", params={"cannot_tell": True})
    with pytest.raises(ExportRefusedError, match="between yes and no"):
        target_export(export_target("deepeval"), document, accept=ASPECTS)

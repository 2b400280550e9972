"""MLflow itself asks with an exported judge, and says what the judge says."""

import json

import pytest

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

ASK = """
import sys; sys.path.insert(0, ".")
import importlib, json
said = {}
for name, rows in json.load(open("rows.json")).items():
    judge = importlib.import_module(f"{name}.judge")
    assert [each.name for each in judge.judges]
    found = said.setdefault(name, [])
    for row in rows:
        feedback = judge.judge_scorer(
            inputs={"instruction": row["instruction"], "output_b": row["output_b"]},
            outputs=row["output_a"],
            expectations={"reference": row["reference"], "requirement": row["requirement"]},
        )
        assert all(each.error is None and each.rationale for each in feedback), feedback
        found.append([each.value for each in feedback])
print(json.dumps(said))
"""
# The models that always say the same of the same texts, in whichever words they are asked.
ASKED = [
    ("vanilla", "mock-longer", {"decoding": {"max_tokens": 300, "seed": 3, "top_p": 0.9}}),
    ("rules", "mock-tie-1", {"allow_tie": True}),
    ("cot", "mock-shorter", {"allow_tie": True}),
    ("reference", "mock-overlap", {}),
]
LABELS = {1: "A", 2: "B", 0: "tie"}


def test_make_judge_says_what_the_judge_says(tmp_path):
    requirement = CHECKED["aspects"][0]["text"]
    rows = [
        {**row, "requirement": requirement} for row in pairs() if len(row["output_a"]) != len(row["output_b"])
    ]
    with running_mock_server() as server:
        compared = {
            f"our_{strategy}": document_of(strategy, model, server.url, **fields)
            for strategy, model, fields in ASKED
        }
        rated = document_of("rubric_each", "mock-longer", server.url)
        checked = document_of("checklist_each", "mock-longer", server.url)
        names = [*compared, "our_rubric_each", "our_checklist_each"]
        (tmp_path / "rows.json").write_text(json.dumps(dict.fromkeys(names, rows)))
        for document in (*compared.values(), rated, checked):
            exported_to(tmp_path, "mlflow", document)
        variables = {"OPENAI_API_KEY": "none", "MLFLOW_DISABLE_TELEMETRY": "true"}
        found = run("mlflow", ASK, folder=tmp_path, **variables)
        for name, document in compared.items():
            said = choices(document, rows, [False] * len(rows))
            assert found[name] == [[LABELS[each]] for each in said], name
        ratings = answers(rated, rows, RATED)
    assert found["our_rubric_each"] == [
        [each["ratings"][criterion.key] for criterion in CRITERIA] for each in ratings
    ]
    # Yes and no are drawn by the mock server from all words of the request, so they can't be compared.
    assert {said for (said,) in found["our_checklist_each"]} == {"yes", "no"}
    assert {"A", "B"} <= {said for name in compared for (said,) in found[name]}


def test_braces_in_the_system_message_are_refused():
    own = document_of("own", "m", "http://127.0.0.1:9/v1").spec.strategy_config().prompt.source
    prompt = own.replace("# system\n", "# system\n{{guidelines}}\n", 1)
    document = document_of(
        "own", "m", "http://127.0.0.1:9/v1", prompt_source=prompt, guidelines="Mind {{this}}."
    )
    with pytest.raises(ExportRefusedError, match="double braces"):
        target_export(export_target("mlflow"), document, accept=ASPECTS)

"""promptfoo itself runs an exported judge, and passes what the judge prefers."""

import json
from pathlib import Path

import pytest
import yaml

from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.strategies.documents import JudgeDocument
from tests.judges.exports.cases import RATED, answers, document_of, exported_to, pairs
from tests.peers import output_of, program_of

pytestmark = [pytest.mark.service, pytest.mark.slow]


def plain_pairs() -> list[dict[str, str]]:
    """Pairs without what promptfoo takes for a template of its own, half of them with an input."""
    rows = [
        {name: text.replace("{{", "{").replace("{%", "%") for name, text in row.items()} for row in pairs(12)
    ]
    for row in rows[::2]:
        row["context"] = f"Of the {row['reference']}."
    return rows


def evaluated(folder: Path, document: JudgeDocument, rows: list[dict[str, str]]) -> list[dict]:
    """The assertions' results of each test, by promptfoo's own command."""
    program = program_of("promptfoo")
    exported_to(folder, "promptfoo", document)
    name = f"our_{document.spec.strategy}"
    config = {
        "prompts": ["{{output_a}}"],
        "providers": ["echo"],
        "defaultTest": f"file://{name}/default_test.yaml",
        "tests": [{"vars": row} for row in rows],
    }
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    variables = {
        "PROMPTFOO_CONFIG_DIR": str(folder / "home"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "PROMPTFOO_FAILED_TEST_EXIT_CODE": "0",
        "PROMPTFOO_PASS_RATE_THRESHOLD": "0",
        "OPENAI_API_KEY": "none",
    }
    output_of(
        [program, "eval", "--no-cache", "--no-write", "--no-table", "-j", "2", "-o", "out.json"],
        folder,
        variables,
    )
    found = json.loads((folder / "out.json").read_text())["results"]["results"]
    return [each["gradingResult"] for each in sorted(found, key=lambda each: each["testIdx"])]


def compared(document: JudgeDocument, rows: list[dict[str, str]]) -> list:
    with Judge(document) as judge:
        return [
            judge.compare(
                row["instruction"],
                row["output_a"],
                row["output_b"],
                reference=row["reference"],
                context=row.get("context", ""),
            )
            for row in rows
        ]


@pytest.mark.parametrize(
    ("strategy", "model", "fields"),
    [
        ("vanilla", "mock-longer-0.7", {"decoding": {"max_tokens": 8, "seed": 3, "top_p": 0.9}}),
        ("cot", "mock-first-0.7", {"decoding": {"temperature": None, "max_tokens": 400, "stop": ["END"]}}),
        ("guidelines", "mock-longer", {"backend_options": {"extra_body": {"user": "me"}}}),
        ("own", "mock-tie-0.5", {"allow_tie": True}),
    ],
)
def test_what_the_judge_prefers_in_both_orders_passes(tmp_path, strategy, model, fields):
    rows = plain_pairs()
    with running_mock_server() as server:
        document = document_of(strategy, model, server.url, **fields)
        found = evaluated(tmp_path, document, rows)
        expected = compared(document, rows)
    assert [each["pass"] for each in found] == [each.choice == 1 for each in expected]
    assert [each["score"] for each in found] == [each.probability for each in expected]


def test_an_answer_without_a_verdict_does_not_pass(tmp_path):
    with running_mock_server() as server:
        found = evaluated(tmp_path, document_of("vanilla", "mock-unparsable", server.url), plain_pairs()[:2])
    assert [each["pass"] for each in found] == [False, False]
    assert all("no verdict" in json.dumps(each) for each in found)


def test_what_the_judge_abstains_from_does_not_pass(tmp_path):
    rows = plain_pairs()
    with running_mock_server() as server:
        document = document_of("own", "mock-tie-0.5", server.url, allow_tie=True)
        document = JudgeDocument(document.name, document.spec, {"abstention": {"threshold": 0.9}})
        found = evaluated(tmp_path, document, rows)
        expected = compared(document, rows)
    assert [each["pass"] for each in found] == [each.choice == 1 and not each.abstains for each in expected]


def test_a_requirement_passes_where_it_is_met(tmp_path):
    text = "It names tea & more."
    rows = [{**row, "context": "", "requirement": text} for row in plain_pairs()]
    with running_mock_server() as server:
        document = document_of("checklist_each", "mock-longer-0.7", server.url)
        found = evaluated(tmp_path, document, rows)
        expected = answers(document, rows, {"aspects": [{"key": "1", "text": text}]})
    assert [each["pass"] for each in found] == [each["answers"]["1"] for each in expected]
    assert len({each["pass"] for each in found}) == 2


def test_each_criterion_is_a_metric(tmp_path):
    rows = [{**row, "context": ""} for row in plain_pairs()]
    with running_mock_server() as server:
        document = document_of("rubric_each", "mock-overlap", server.url)
        found = evaluated(tmp_path, document, rows)
        expected = answers(document, rows, RATED)
    for key in ("clear", "brief"):
        scores = [each["namedScores"][key] for each in found]
        assert scores == pytest.approx([(each["ratings"][key] - 1) / 4 for each in expected])

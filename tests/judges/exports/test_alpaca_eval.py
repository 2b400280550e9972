"""AlpacaEval itself annotates with an exported judge, and says what the judge says."""

import json

import pytest

from judges.backends.mock_server import running_mock_server
from judges.strategies.published import drawn_swap
from tests.judges.exports.cases import choices, document_of, exported_to, pairs
from tests.peers import run

pytestmark = [pytest.mark.service, pytest.mark.slow]

ANNOTATE = """
import json, sys
from alpaca_eval.annotators import PairwiseAnnotator
columns = ("instruction", "reference") if sys.argv[3] == "reference" else ("instruction",)
annotator = PairwiseAnnotator(annotators_config=sys.argv[1], base_dir=".", caching_path=None, input_keys=columns)
rows = json.load(open(sys.argv[2]))
found = annotator(rows)
by_text = {(each["instruction"], each["output_1"], each["output_2"]): each["preference"] for each in found}
values = [by_text[row["instruction"], row["output_1"], row["output_2"]] for row in rows]
print(json.dumps([None if value is None or value != value else value for value in values]))
"""
PREFERENCES = {1: 1, 2: 2, 0: 1.5, None: None}


@pytest.mark.parametrize(
    ("strategy", "model", "fields"),
    [
        ("vanilla", "mock-longer-0.7", {"decoding": {"max_tokens": 8, "seed": 3, "top_p": 0.9}}),
        ("rules", "mock-tie-0.5", {"allow_tie": True}),
        ("cot", "mock-shorter", {"decoding": {"temperature": None, "max_tokens": 400}}),
        ("fewshot", "mock-first-0.6", {}),
        ("reference", "mock-overlap", {"allow_tie": True}),
        ("own", "mock-longer-0.7", {"allow_tie": True}),
        ("mt_bench_pair", "mock-tie-0.5", {"allow_tie": True}),
        ("arena_hard", "mock-longer", {"allow_tie": True}),
        ("prometheus_pair", "mock-random", {}),
        ("vanilla", "mock-unparsable", {}),
    ],
)
def test_alpaca_eval_says_what_the_judge_says(tmp_path, strategy, model, fields):
    rows = pairs()
    with running_mock_server() as server:
        document = document_of(strategy, model, server.url, **fields)
        exported_to(tmp_path, "alpaca-eval", document)
        columns = [
            {"instruction": row["instruction"], "reference": row["reference"]}
            | {"output_1": row["output_a"], "output_2": row["output_b"]}
            for row in rows
        ]
        (tmp_path / "rows.json").write_text(json.dumps(columns))
        shows = "reference" if strategy == "reference" else ""
        folder = f"our_{strategy}"
        found = run(
            "alpaca-eval", ANNOTATE, folder, "rows.json", shows, folder=tmp_path, OPENAI_API_KEY="none"
        )
        expected = choices(document, rows, [drawn_swap(row["instruction"], 0) for row in rows])
    assert found == [PREFERENCES[choice] for choice in expected]

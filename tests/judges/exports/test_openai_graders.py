"""OpenAI's package takes an exported grader for one of its own; a model that it asks says what the judge says.

There is no server to run: its types are the package's, and the template is filled in here.
"""

import json

import pytest

from judges.backends.mock_server import running_mock_server
from tests.judges.exports.cases import CHECKED, RATED, answers, choices, document_of, exported_to, pairs
from tests.peers import run

pytestmark = [pytest.mark.service, pytest.mark.slow]

GRADE = """
import json, re, sys
from pathlib import Path
from openai import OpenAI
from openai.types.graders import LabelModelGrader, ScoreModelGrader
from openai.types.graders.label_model_grader_param import LabelModelGraderParam
from openai.types.graders.score_model_grader_param import SamplingParams, ScoreModelGraderParam
from pydantic import TypeAdapter
models = {"label_model": LabelModelGrader, "score_model": ScoreModelGrader}
params = {"label_model": LabelModelGraderParam, "score_model": ScoreModelGraderParam}
client = OpenAI(base_url=sys.argv[1], api_key="none")
rows = json.load(open("rows.json"))

def checked(grader):
    kind = grader["type"]
    assert grader.keys() <= params[kind].__annotations__.keys(), grader
    assert grader.get("sampling_params", {}).keys() <= SamplingParams.__annotations__.keys(), grader
    TypeAdapter(params[kind]).validate_python(grader)
    assert models[kind].model_validate(grader).to_dict() == grader
    return grader

def filled(text, item, sample):
    places = {"item": item, "sample": sample}
    return re.sub(r"\\{\\{ *(item|sample)\\.(\\w+) *\\}\\}", lambda found: places[found[1]][found[2]], text)

def asked(grader, item, sample):
    messages = [{"role": each["role"], "content": filled(each["content"], item, sample)} for each in grader["input"]]
    sampling = dict(grader.get("sampling_params", {}))
    most = sampling.pop("max_completions_tokens", None)
    answer = client.chat.completions.create(
        model=grader["model"], messages=messages, max_tokens=most, extra_body={}, **sampling)
    return answer.choices[0].message.content

found = {}
for path in sorted(Path(".").glob("our_*.json")):
    grader = checked(json.loads(path.read_text()))
    found[path.stem] = [asked(grader, row, {"output_text": row["output_a"]}) for row in rows]
    found[path.stem + " passes"] = grader.get("passing_labels")
print(json.dumps(found))
"""


def graded(folder, target, document, rows, url):
    exported_to(folder, target, document)
    (folder / "rows.json").write_text(json.dumps(rows))
    return run("openai", GRADE, url, folder=folder)


@pytest.mark.parametrize(
    ("strategy", "fields"), [("vanilla", {}), ("rules", {"allow_tie": True}), ("reference", {})]
)
def test_a_label_is_what_the_judge_says_in_each_order(tmp_path, strategy, fields):
    rows = pairs()
    decoding = {"temperature": None, "max_tokens": None}
    with running_mock_server() as server:
        document = document_of(strategy, "mock-longer-0.7", server.url, decoding=decoding, **fields)
        found = graded(tmp_path, "openai-label-model", document, rows, server.url)
        first, second = (choices(document, rows, [swap] * len(rows)) for swap in (False, True))
    assert [found[f"our_{strategy}_{name} passes"] for name in ("first", "second")] == [["A"], ["B"]]
    shown = {1: "A", 2: "B", 0: "tie"}
    swapped = {1: "B", 2: "A", 0: "tie"}
    assert found[f"our_{strategy}_first"] == [shown[one] for one in first]
    assert found[f"our_{strategy}_second"] == [swapped[other] for other in second]


def test_a_requirement_is_checked(tmp_path):
    rows = [{**row, "requirement": CHECKED["aspects"][0]["text"]} for row in pairs()]
    with running_mock_server() as server:
        document = document_of("checklist_each", "mock-longer-0.7", server.url)
        found = graded(tmp_path, "openai-label-model", document, rows, server.url)
        expected = answers(document, rows, CHECKED)
    assert found["our_checklist_each_met"] == ["yes" if each["answers"]["1"] else "no" for each in expected]


def test_a_score_is_the_rating_of_each_criterion(tmp_path):
    rows = pairs()
    with running_mock_server() as server:
        document = document_of(
            "rubric_each",
            "mock-overlap",
            server.url,
            decoding={"temperature": 0.2, "seed": 4, "max_tokens": 9},
        )
        found = graded(tmp_path, "openai-score-model", document, rows, server.url)
        expected = answers(document, rows, RATED)
    for key in ("clear", "brief"):
        assert found[f"our_rubric_each_{key}"] == [str(each["ratings"][key]) for each in expected]

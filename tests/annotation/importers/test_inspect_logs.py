"""Logs that Inspect itself has written, read through its own reader; and what happens without it."""

import sys
from pathlib import Path

import pytest

from annotation.importers import ImportFileError
from annotation.importers.inspect_logs import read_inspect
from tests.peers import run

ROOT = Path(__file__).resolve().parents[3]
EVALUATE = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import ToolError, tool

sys.path.insert(0, sys.argv[1])

@tool
def weather():
    async def execute(city: str):
        '''The weather of a city.

        Args:
            city: Its name.
        '''
        if city == "Atlantis":
            raise ToolError("no such city")
        return "rain, 4 °C"
    return execute

def model():
    calls = [ModelOutput.for_tool_call("mockllm/model", "weather", {"city": city}) for city in ("Oslo", "Atlantis")]
    said = ModelOutput.from_content("mockllm/model", "Yes, it is.")
    outputs = [calls[0], said, calls[1], said.model_copy(deep=True)]
    for one in outputs:  # else the mock counts tokens with a file that it would download
        one.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=outputs)

task = Task(
    dataset=[
        Sample(input="Is it raining in Oslo?", target="Yes", id="oslo"),
        Sample(input="And in Atlantis?", target="No", id="sunk"),
    ],
    solver=[system_message("You know the weather."), use_tools(weather()), generate()],
    scorer=includes(),
    name="weather",
)
found = []
for form in ("eval", "json"):
    eval(task, model=model(), display="none", log_dir=form, log_format=form, max_samples=1)

from annotation.importers.inspect_logs import read_inspect
from annotation.importers.errors import ImportFileError
for form in ("eval", "json"):
    bundle = read_inspect(form)
    found.append([
        [(item.external_id, item.kind, item.metadata) for item in bundle.items],
        [(one.text, [turn["text"] for turn in one.conversation], one.category) for one in bundle.instructions],
        [(one.text, one.system, [turn.get("at", "") for turn in one.messages]) for one in bundle.responses],
    ])
refused = []
for name, content in json.load(open("wrong.json")).items():
    open(name, "wb").write(content.encode())
    try:
        read_inspect(name)
    except ImportFileError as error:
        refused.append([name, error.field, error.message])
print(json.dumps([found, refused]))
"""

TEXT = (
    '[Step 1] Assistant: tool call for tool weather\nCalls weather: {"city": "Oslo"}\n\n'
    "Tool: Result of weather: rain, 4 °C\n\n[Step 2] Assistant: Yes, it is."
)


@pytest.mark.service
@pytest.mark.slow
def test_logs_that_inspect_has_written(tmp_path):
    (tmp_path / "wrong.json").write_text(
        '{"no.eval": "not a zip", "no.json": "{", "other.json": "{\\"version\\": 2}", "list.json": "[]"}'
    )
    (as_eval, as_json), refused = run(
        "inspect-ai", EVALUATE, str(ROOT), folder=tmp_path, INSPECT_DISPLAY="none", PYTHONPATH=str(ROOT)
    )
    items, instructions, responses = as_eval
    assert [name for name, *_ in items] == ["mockllm/model/oslo/1", "mockllm/model/sunk/1"]
    assert items[0][1] == "classification"
    assert items[0][2]["scores"] == {"includes": "C"}
    assert items[0][2]["target"] == "Yes"
    assert instructions[0] == ["Is it raining in Oslo?", ["You know the weather."], "weather"]
    assert responses[0][0] == TEXT
    assert responses[0][1] == "mockllm/model"
    assert "Error of weather: no such city" in responses[1][0]
    assert all(at for at in responses[0][2])
    assert [one[0] for one in as_json[2]] == [one[0] for one in responses]
    assert [(name, field) for name, field, _ in refused] == [
        ("no.eval", None),
        ("no.json", None),
        ("other.json", None),
        ("list.json", None),
    ]
    assert all("expected a log" in message for _, _, message in refused)


def test_without_inspect(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    path = tmp_path / "log.json"
    path.write_text("{}")
    with pytest.raises(ImportFileError, match=r"pip install 'touchstone-judge\[inspect\]'"):
        read_inspect(path)


def test_what_is_no_log(tmp_path):
    with pytest.raises(ImportFileError, match="there is none of this name"):
        read_inspect(tmp_path / "log.eval")
    with pytest.raises(ImportFileError, match=r"expected logs named \.eval or \.json, found none"):
        read_inspect(tmp_path)
    (tmp_path / "log.eval").write_bytes(b"PK no zip")
    with pytest.raises(ImportFileError, match="which is a zip archive"):
        read_inspect(tmp_path / "log.eval")

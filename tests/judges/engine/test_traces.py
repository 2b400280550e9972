"""Judges over traces of agents, end to end: what is asked, what is read, and that people and judges see the same."""

import json

import pytest

from annotation.importers import read_generic
from annotation.models import Dataset
from annotation.selectors.shown import item_shown
from annotation.services.datasets import dataset_import
from judges.backends.mock_server import running_mock_server
from judges.models import Judgment
from judges.selectors.items import item_views
from judges.selectors.sweeps import sweep_progress
from judges.strategies.conversations import asked, question
from tests.annotation.factories import study_make
from tests.annotation.traces import BAKERY, SYSTEM, messages_of, step_row, trace_dataset
from tests.judges.props import endpoint_make, judge_make, run, run_instant, sweep_make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bakery() -> Dataset:
    return dataset_import(bundle=read_generic(BAKERY), name="bakery").dataset


def test_the_first_wrong_step_is_one_of_the_steps(bakery):
    with running_mock_server() as server:
        judge = judge_make(
            endpoint_make(server.url, structured="json_schema"), strategy="classification_direct"
        )
        sweep = sweep_make([judge], bakery)
        run()
    progress = sweep_progress(sweep.pk)
    assert (progress.state, progress.n_done, progress.n_failed) == ("finished", 8, 0)
    for judgment in Judgment.objects.select_related("item"):
        assert judgment.status == "parsed"
        assert set(judgment.value["categories"]) == set(judgment.item.gold["categories"])
        assert sum(judgment.value["categories"].values()) == 1


def test_what_is_asked(bakery):
    said = []

    def respond(wire):
        said.append(wire)
        return "Step 3" if "Calls refund" in wire.messages[-1][1] else "no wrong step"

    sweep_make([judge_make(endpoint_make(), strategy="classification_direct")], bakery)
    run_instant(respond)
    (refund,) = [wire for wire in said if "Calls refund" in wire.messages[-1][1]]
    shown = refund.messages[-1][1]
    assert refund.choices == ("1", "2", "3", "4", "no wrong step")
    assert "Which step of the response is the first wrong one?" in shown
    assert "[Step 2] Assistant: The rolls cost 0.90 each, so 1.80 together." in shown
    assert "- 1: Step 1\n- 2: Step 2" in shown
    assert "System: You help customers of the Lindgrove bakery." in shown
    judgment = Judgment.objects.get(item__external_id="refund-rolls")
    assert [key for key, is_chosen in judgment.value["categories"].items() if is_chosen] == ["3"]


@pytest.mark.parametrize("strategy", ["vanilla", "rubric_all", "checklist_each"])
def test_traces_as_a_whole_and_by_step(tmp_path, strategy):
    criteria = [{"key": "care", "question": "How careful?", "options": {str(n): f"{n}" for n in range(1, 6)}}]
    rows = {
        "vanilla": {"id": "p", "instruction": "Count.", "response_1": "3", "response_2": "4"},
        "rubric_all": {"id": "r", "kind": "rubric", "criteria": criteria, "trace": messages_of(3)},
        "checklist_each": {"id": "c", "kind": "checklist", "aspects": "steps", "trace": messages_of(3)},
    }
    row = rows[strategy]
    if strategy == "vanilla":
        turns = [{"role": "assistant", "text": "Three.", "step": 1}]
        row["responses"] = [{"system": name, "messages": turns} for name in ("a", "b")]
        del row["response_1"], row["response_2"]
    dataset = trace_dataset(tmp_path, row)
    with running_mock_server() as server:
        judge = judge_make(endpoint_make(server.url, structured="json_schema"), strategy=strategy)
        sweep = sweep_make([judge], dataset)
        run()
    assert sweep_progress(sweep.pk).n_failed == 0
    assert set(Judgment.objects.values_list("status", flat=True)) == {"parsed"}


def test_judges_see_what_people_see(tmp_path):
    messages = messages_of(3)
    for message in messages:
        message["hidden"] = message["role"] in ("system", "tool")
    dataset = trace_dataset(tmp_path, step_row(3, trace=messages))
    (view,) = item_views(dataset_id=dataset.pk, kind="classification")
    shown = item_shown(study_make(dataset=dataset, kind="classification"), dataset.items.get(), ())
    assert SYSTEM not in view.context
    assert SYSTEM not in json.dumps([turn.as_json() for turn in shown.conversation])
    for step in shown.responses[0].steps:
        assert step.text in view.responses[0]
        for tool in step.tools:
            assert f"Calls {tool.name}" in view.responses[0]
            assert tool.result == "(not shown)"
    assert "It has" not in view.responses[0]
    assert view.responses[0].count("(not shown)") == 2


def test_a_contestant_goes_on_from_the_conversation_with_its_tools(tmp_path):
    turns = [
        {"role": "system", "text": "Be short.", "hidden": True},
        {"role": "user", "text": "Add."},
        {"role": "assistant", "text": "", "calls": [{"name": "add", "arguments": {"a": 1}}]},
        {"role": "tool", "text": "3", "name": "add"},
    ]
    row = {"id": "i", "kind": "instructions", "instruction": "And now?", "conversation": turns}
    dataset = trace_dataset(tmp_path, row)
    (view,) = item_views(dataset_id=dataset.pk, kind="generation")
    assert asked(view) == (
        ("system", "Be short."),
        ("user", "Add."),
        ("assistant", 'Calls add: {"a": 1}'),
        ("user", "Result of add: 3"),
        ("user", "And now?"),
    )


def test_the_question_of_what_is_judged_is_without_the_turns_before(tmp_path):
    turns = [{"role": "user", "text": "Add."}, {"role": "tool", "text": "3", "name": "add"}]
    row = {"id": "p", "instruction": "And now?", "context": "Short.", "conversation": turns}
    dataset = trace_dataset(tmp_path, row | {"responses": ["3", "4"]})
    (view,) = item_views(dataset_id=dataset.pk)
    assert view.context == "User: Add.\n\nTool: Result of add: 3\n\nShort."
    assert question(view) == "And now?\n\nShort."

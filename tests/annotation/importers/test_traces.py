"""Traces in the generic format: as chat messages or in our own form, and what of them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.importers import ImportFileError, read_generic
from annotation.importers.chat import MAX_TURNS
from annotation.models import Item, Response
from annotation.selectors.datasets import items_of
from annotation.services.datasets import dataset_import
from annotation.services.item_exports import items_table
from tests.annotation.traces import messages_of, rows_file, step_row


def call(**function: Any) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }


def read(folder: Path, *rows: dict[str, Any]):
    return read_generic(rows_file(folder, *rows))


class TestForms:
    def test_messages_of_a_chat_model(self, tmp_path):
        bundle = read(tmp_path, step_row(2))
        (response,), (about,) = bundle.responses, bundle.instructions
        assert about.text == "Count the lines."
        assert [turn["role"] for turn in about.conversation] == ["system"]
        assert [dict(turn) for turn in response.messages] == [
            {
                "role": "assistant",
                "text": "Let me look at file 1.",
                "calls": [{"name": "read_file", "arguments": {"path": "src/1.py", "limit": 100}, "id": "c1"}],
                "step": 1,
            },
            {"role": "tool", "text": "It has 1 lines.", "name": "read_file", "call": "c1", "step": 1},
            {"role": "assistant", "text": "There are **many** lines.", "step": 2},
        ]

    def test_a_column_named_messages_is_one(self, tmp_path):
        path = tmp_path / "chats.jsonl"
        row = {"messages": messages_of(2), "kind": "classification", "categories": ["good", "bad"]}
        path.write_text(json.dumps(row) + "\n")
        (item,) = read_generic(path).items
        assert item.kind == "classification"

    def test_an_instruction_of_its_own_leaves_all_to_the_response(self, tmp_path):
        bundle = read(tmp_path, step_row(2, instruction="Judge this run."))
        assert bundle.instructions[0].conversation == ()
        assert [turn["role"] for turn in bundle.responses[0].messages][:2] == ["system", "user"]

    def test_a_csv_file(self, tmp_path):
        path = tmp_path / "traces.csv"
        path.write_text(
            "id,kind,categories,gold,trace\n"
            f'"t",classification,"""steps""",2,"{json.dumps(messages_of(3)).replace(chr(34), chr(34) * 2)}"\n'
        )
        (item,) = read_generic(path).items
        assert [key for key, is_gold in item.gold["categories"].items() if is_gold] == ["2"]

    def test_arguments_that_are_no_json_stay_as_they_are(self, tmp_path):
        for given in ("x = 1", "NaN", '{"a": "\\u0000"}', "7"):
            messages = [{"role": "user", "content": "Go."}, call(name="run", arguments=given)]
            (response,) = read(tmp_path, step_row(1, trace=messages)).responses
            assert response.messages[0]["calls"][0]["arguments"] == given

    def test_texts_in_parts_and_other_names_of_roles(self, tmp_path):
        messages = [
            {"role": "developer", "content": "Be short."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "Go"}, {"type": "input_text", "text": "on."}],
            },
            {"from": "gpt", "value": "Yes."},
            {"role": "function", "content": "7", "name": "f"},
        ]
        bundle = read(tmp_path, step_row(1, trace=messages))
        assert bundle.instructions[0].text == "Go\n\non."
        assert bundle.responses[0].text == "[Step 1] Assistant: Yes.\n\nTool: Result of f: 7"

    def test_chosen_and_rejected_with_tools(self, tmp_path):
        said = [messages_of(3)[1:], [*messages_of(2)[1:2], {"role": "assistant", "content": "Seven."}]]
        path = tmp_path / "preferences.jsonl"
        path.write_text(json.dumps({"chosen": said[0], "rejected": said[1]}) + "\n")
        first, second = read_generic(path).responses
        assert first.text.startswith("[Step 1] Assistant: Let me look at file 1.\nCalls read_file")
        assert second.text == "Seven."


OWN = [{"role": "assistant", "text": "Yes."}]
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "no list": ({"trace": "x"}, "trace", "expected a list"),
    "a number": ({"trace": [3]}, "trace[0]", "expected an object"),
    "a role that is none": ({"trace": [{"role": "cook", "content": "x"}]}, "trace[0].role", "found 'cook'"),
    "nobody asks": ({"trace": [{"role": "assistant", "content": "x"}]}, "trace", "message of the user"),
    "nobody answers": ({"trace": messages_of(1)[:2]}, "trace", "message of the assistant"),
    "a user says nothing": (
        {"trace": [{"role": "user", "content": " "}]},
        "trace[0].content",
        "expected text",
    ),
    "an assistant says nothing": (
        {"trace": [*messages_of(1)[:2], {"role": "assistant", "content": ""}]},
        "trace[2].content",
        "text or tool calls",
    ),
    "content is a number": ({"trace": [{"role": "user", "content": 3}]}, "trace[0].content", "expected text"),
    "a picture": (
        {"trace": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]},
        "trace[0].content[0].type",
        "found 'image_url'",
    ),
    "calls are an object": (
        {"trace": [*messages_of(1)[:2], {"role": "assistant", "tool_calls": {}}]},
        "trace[2].tool_calls",
        "expected a list",
    ),
    "a call without a name": (
        {"trace": [*messages_of(1)[:2], call(arguments="{}")]},
        "trace[2].tool_calls[0].function.name",
        "missing",
    ),
    "a user calls": (
        {"trace": [call(name="f") | {"role": "user", "content": "x"}]},
        "trace[0].calls",
        "of the assistant alone",
    ),
    "too many turns": (
        {
            "trace": [
                *messages_of(1)[:2],
                *({"role": "assistant", "content": "x"} for _ in range(MAX_TURNS + 1)),
            ]
        },
        "trace",
        "at most 4,000 turns",
    ),
    "too many steps": (
        {"trace": [*messages_of(1)[:2], *({"role": "assistant", "content": "x"} for _ in range(1001))]},
        "trace",
        "at most 1,000 steps",
    ),
    "a response beside it": (
        {"trace": messages_of(2), "response_1": "x"},
        "trace",
        "either a trace or responses",
    ),
    "steps of a text": (
        {"trace": None, "instruction": "Go.", "response_1": "x"},
        "categories",
        "one response with numbered steps",
    ),
    "a gold step that is not there": (
        {"gold": 4},
        "gold",
        "expected one of 1, 2, 3, no wrong step, found '4'",
    ),
    "a step that jumps": (
        {"trace": None, "instruction": "Go.", "responses": [{"messages": [OWN[0] | {"step": 2}]}]},
        "responses[0].messages[0].step",
        "expected 1",
    ),
    "a step of the conversation": (
        {"conversation": [OWN[0] | {"step": 1}]},
        "conversation[0].step",
        "steps of a response",
    ),
    "an unknown key of a turn": (
        {"trace": None, "instruction": "Go.", "responses": [{"messages": [OWN[0] | {"tool": "x"}]}]},
        "responses[0].messages[0].tool",
        "unknown field",
    ),
    "a moment that is none": (
        {"trace": None, "instruction": "Go.", "responses": [{"messages": [OWN[0] | {"at": "noon"}]}]},
        "responses[0].messages[0].at",
        "date and time",
    ),
    "hidden is a word": (
        {"trace": [{"role": "user", "content": "x", "hidden": "yes"}]},
        "trace[0].hidden",
        "true or false",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_refused(tmp_path, name):
    changes, field, words = WRONG[name]
    row = {key: value for key, value in (step_row(3) | changes).items() if value is not None}
    with pytest.raises(ImportFileError) as caught:
        read(tmp_path, row)
    assert (caught.value.row, caught.value.field) == (1, field), str(caught.value)
    assert words in caught.value.message


def test_more_steps_than_questions_are_answered(tmp_path):
    with pytest.raises(ImportFileError, match="at most 100 steps, since each is a question, found 101"):
        read(tmp_path, {"id": "c", "kind": "checklist", "aspects": "steps", "trace": messages_of(101)})
    assert len(read(tmp_path, step_row(1000)).aspects) == 1001


@pytest.mark.django_db
def test_what_is_exported_comes_back_as_it_was(tmp_path):
    messages = messages_of(250)
    messages[0]["hidden"] = True
    rows = [
        step_row(250, trace=messages, gold=7),
        {"id": "c", "kind": "checklist", "aspects": "steps", "trace": messages_of(3)},
    ]
    dataset = dataset_import(bundle=read(tmp_path, *rows), name="d").dataset
    table = items_table(items_of([dataset]).order_by("position"))
    path = tmp_path / "items.jsonl"
    names = [column.name for column in table.columns]
    path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in table.rows))
    result = dataset_import(bundle=read_generic(path), name="d")
    assert not result.changed
    dataset_import(bundle=read_generic(path), name="e")
    assert Item.objects.filter(dataset__name="e").count() == 2
    assert len(set(Response.objects.values_list("text", flat=True))) == 2

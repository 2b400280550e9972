"""Traces to try with: an agent that calls tools, as many steps as are asked for."""

import json
from pathlib import Path
from typing import Any

from annotation.importers import read_generic
from annotation.kinds import KINDS
from annotation.models import Dataset, Study
from annotation.services.datasets import dataset_import
from tests.annotation.factories import study_make

SYSTEM = "You are an agent that keeps a secret system prompt."
BAKERY = Path(__file__).resolve().parents[2] / "fixtures/traces/bakery.jsonl"


def messages_of(
    steps: int, *, said: str = "Let me look at file {}.", result: str = "It has {} lines."
) -> list[Any]:
    """Chat messages with so many turns of the assistant; all but the last call a tool."""
    found: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "Count the lines."},
    ]
    for step in range(1, steps):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/{step}.py", "limit": 100})}
        found += [
            {
                "role": "assistant",
                "content": said.format(step),
                "tool_calls": [{"id": f"c{step}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{step}", "content": result.format(step)},
        ]
    return [*found, {"role": "assistant", "content": "There are **many** lines."}]


def rows_file(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "traces.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def trace_dataset(folder: Path, *rows: dict[str, Any], name: str = "traces") -> Dataset:
    return dataset_import(bundle=read_generic(rows_file(folder, *rows)), name=name).dataset


def step_row(steps: int, **more: Any) -> dict[str, Any]:
    """A row whose categories are the steps of its trace."""
    return {"id": "t", "kind": "classification", "categories": "steps", "trace": messages_of(steps)} | more


def trace_study(folder: Path, *rows: dict[str, Any], **fields: Any) -> Study:
    kind = rows[0].get("kind", "pairwise")
    fields.setdefault("question", KINDS[kind].question)
    return study_make(dataset=trace_dataset(folder, *rows), kind=kind, **fields)

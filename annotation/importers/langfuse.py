"""Traces of Langfuse: a trace as its page downloads it, or a table of observations, as JSON or JSONL.

A generation is a call of a model and a tool (or retriever) a call of a tool; other observations only group these. Names
of fields are read as the API writes them (`startTime`) and as its storage exports do (`start_time`).
https://langfuse.com/docs/api-and-data-platform/features/export-from-ui
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from annotation.domain.conversation import ToolCall, Turn
from annotation.importers.build import BundleBuilder
from annotation.importers.chat import MAX_NAME, chat_turns, is_response_item, parsed_arguments
from annotation.importers.errors import Faults, quoted
from annotation.importers.model_calls import Event, ModelCall, ToolRun, turns_together
from annotation.importers.records import DatasetBundle
from annotation.importers.rows import MAX_ID, Row
from annotation.importers.tables import object_rows
from annotation.importers.traces import DEFAULT, TraceOptions, TraceRecord, traces_add, traces_finish

MODEL_CALLS = ("GENERATION",)
TOOL_RUNS = ("TOOL", "RETRIEVER")


def read_langfuse(path: str | Path, options: TraceOptions = DEFAULT) -> DatasetBundle:
    """Read traces with their observations; those with a call of a model become items.

    Raises
    ------
    ImportFileError
        With row, field and what was expected.
    """
    file, faults = Path(path), Faults()
    builder = BundleBuilder("")
    records = list(_records(file, faults))
    faults.check()
    n_left = traces_add(builder, records, options, faults)
    faults.check()
    return traces_finish(builder, file, "langfuse", options, n_left)


def _records(file: Path, faults: Faults) -> Iterator[TraceRecord]:
    by_trace: dict[str, tuple[Row, list[Event], list[str]]] = {}
    for row in object_rows(file, faults):
        with faults:
            if "observations" in row.data:
                yield _whole(row)
                continue
            trace = _named(row, "traceId", "trace_id")
            if trace is None:
                row.fail(
                    "observations",
                    "expected the observations of a trace, or a row for each with its traceId.",
                )
            kept = by_trace.setdefault(_trace_name(row, trace), (row, [], []))
            _observed(row, kept[1], kept[2])
    for name, (row, events, models) in by_trace.items():
        yield TraceRecord(row, "input", name, turns_together(events), models[0] if models else "")


def _whole(row: Row) -> TraceRecord:
    """A trace with its observations beside its fields, or beside an object with its fields."""
    about = row.within("trace", row.data["trace"]) if isinstance(row.get("trace"), dict) else row
    events: list[Event] = []
    models: list[str] = []
    for place, data in enumerate(row.items("observations")):
        if isinstance(data, str):
            row.fail(
                f"observations[{place}]",
                "expected an object; a list of traces has only the observations' ids.",
            )
        _observed(row.within(f"observations[{place}]", data), events, models)
    tags = [str(tag) for tag in about.items("tags")]
    return TraceRecord(
        row,
        "observations",
        about.identifier("id"),
        turns_together(events),
        models[0] if models else "",
        category=about.text("name"),
        metadata={
            "name": about.text("name"),
            **({"session": about.text("sessionId")} if about.get("sessionId") else {}),
            **({"tags": tags} if tags else {}),
        },
    )


def _observed(row: Row, events: list[Event], models: list[str]) -> None:
    kind = row.text("type", required=True).upper()
    if kind not in (*MODEL_CALLS, *TOOL_RUNS):
        return
    at, ended = _moment(row, "startTime", "start_time", required=True), _moment(row, "endTime", "end_time")
    error = ""
    if row.get("level") == "ERROR":
        error = str(_named(row, "statusMessage", "status_message") or "failed")
    given, said = parsed_arguments(row.get("input")), parsed_arguments(row.get("output"))
    if kind in TOOL_RUNS:
        call = ToolCall(row.text("name", limit=MAX_NAME) or kind.lower(), "" if given is None else given)
        events.append(ToolRun(at, ended, call, text_of_value(said), error))
        return
    model = _named(row, "model", "providedModelName", "provided_model_name")
    models += [model] if isinstance(model, str) and model else []
    answered = _messages(row, "output", said, "assistant")
    if error:
        answered = answered or [Turn("assistant", error=error)]
    events.append(ModelCall(at, ended, _messages(row, "input", given, "user"), answered))


def _messages(row: Row, field: str, value: Any, role: str) -> list[Turn]:
    """Turns from what a generation was given or gave: messages, an object with them, one message, or any value."""
    if isinstance(value, dict):
        value = value.get("messages", value) if isinstance(value.get("messages"), list) else [value]
    if value in (None, "", [], [{}]):
        return []
    if isinstance(value, list) and all(
        is_response_item(one) or (isinstance(one, dict) and "role" in one) for one in value
    ):
        return chat_turns(row, field, value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0].get("content", value[0]) if set(value[0]) <= {"content"} else value[0]
    return [Turn(role, text_of_value(value))]


def text_of_value(value: Any) -> str:
    """Any value as text: text as it is, other values as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _named(row: Row, *names: str) -> Any:
    return next((row.get(name) for name in names if row.get(name) is not None), None)


def _trace_name(row: Row, value: object) -> str:
    """A name of at most so many characters as an id has."""
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_ID:
        row.fail("traceId", f"expected the id of a trace, found {quoted(value)}.")
    return value


def _moment(row: Row, *names: str, required: bool = False) -> str:
    """A date and time in ISO 8601, which sorts as text where all are written alike."""
    value = _named(row, *names)
    if value is None and not required:
        return ""
    try:
        return datetime.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        row.fail(
            names[0], f"expected a date and time such as 2026-11-24T09:30:00.000Z, found {quoted(value)}."
        )

"""Traces of OpenTelemetry: spans of generative AI as OTLP in JSON, a request a line or a whole file.

The semantic conventions' attributes are read: `gen_ai.input.messages`, `gen_ai.output.messages` and
`gen_ai.system_instructions` of a call of a model, and `gen_ai.tool.call.*` of a tool that ran.
https://opentelemetry.io/docs/specs/semconv/gen-ai/
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from annotation.domain.conversation import ROLES, ToolCall, Turn
from annotation.importers.build import BundleBuilder
from annotation.importers.chat import MAX_NAME, SPEAKERS, THOUGHTS, parsed_arguments
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.langfuse import text_of_value
from annotation.importers.model_calls import Event, ModelCall, ToolRun, turns_together
from annotation.importers.records import DatasetBundle, Origin
from annotation.importers.rows import MAX_ID, Row, one_of, whole, whole_text
from annotation.importers.tables import object_rows
from annotation.importers.traces import DEFAULT, TraceOptions, TraceRecord, traces_add, traces_finish

MODEL_CALLS = ("chat", "text_completion", "generate_content")
TOOL_RUN = "execute_tool"
DETAILS = "gen_ai.client.inference.operation.details"
"""The event that may hold the messages in place of the span."""


@dataclass(slots=True)
class _Trace:
    row: Row
    events: list[Event] = field(default_factory=list)
    system: str = ""
    agent: str = ""
    n_calls: int = 0


def read_otlp(path: str | Path, options: TraceOptions = DEFAULT) -> DatasetBundle:
    """Read spans; those of one trace together are one trace of an agent. Rows of errors are spans, from 1.

    Raises
    ------
    ImportFileError
        With the span, its field and what was expected; and where no call of a model has its messages.
    """
    file, faults = Path(path), Faults()
    builder = BundleBuilder("")
    traces: dict[str, _Trace] = {}
    for span in _spans(file, faults):
        with faults:
            _observed(span, traces)
    faults.check()
    if not any(trace.events for trace in traces.values()):
        message = (
            "expected spans with gen_ai.operation.name and gen_ai.input.messages, found none: "
            "capturing of message content has to be on where the spans are made."
        )
        raise ImportFileError(file, None, "attributes", message)
    records = [
        TraceRecord(
            trace.row,
            "attributes.gen_ai.input.messages",
            name,
            turns_together(trace.events),
            trace.agent or trace.system,
            metadata={"trace_id": name},
        )
        for name, trace in traces.items()
    ]
    n_left = traces_add(builder, records, options, faults)
    faults.check()
    return traces_finish(builder, file, "opentelemetry", options, n_left)


def _spans(file: Path, faults: Faults) -> Iterator[Row]:
    number = 0
    for document in object_rows(file, faults):
        with faults:
            if "resourceSpans" not in document.data:
                document.fail("resourceSpans", "expected a request of OTLP in JSON, with resourceSpans.")
            for place, resource in enumerate(document.items("resourceSpans")):
                of = document.within(f"resourceSpans[{place}]", resource)
                for at, scope in enumerate(of.items("scopeSpans")):
                    for span in of.within(f"scopeSpans[{at}]", scope).items("spans"):
                        number += 1
                        if not isinstance(span, dict):
                            raise ImportFileError(
                                file, number, "spans", f"expected a span, found {quoted(span)}."
                            )
                        yield Row(Origin(str(file), number), span)


def _observed(span: Row, traces: dict[str, _Trace]) -> None:
    attributes = _attributes(span, "attributes")
    operation = attributes.get("gen_ai.operation.name")
    if operation is None:
        return
    name = span.text("traceId", required=True)
    if len(name) > MAX_ID:
        span.fail("traceId", f"expected the id of a trace, found {quoted(name)}.")
    trace = traces.setdefault(name, _Trace(span))
    at, ended = _moment(span, "startTimeUnixNano"), _moment(span, "endTimeUnixNano")
    agent = attributes.get("gen_ai.agent.name")
    if isinstance(agent, str) and (operation == "invoke_agent" or not trace.agent):
        trace.agent = agent
    if operation == TOOL_RUN:
        trace.events.append(_tool_run(span, attributes, at, ended))
    elif operation in MODEL_CALLS:
        for place, event in enumerate(span.items("events")):
            details = span.within(f"events[{place}]", event)
            if details.get("name") == DETAILS:
                attributes = attributes | _attributes(details, "attributes")
        given = [
            *_instructions(span, attributes.get("gen_ai.system_instructions")),
            *_messages(span, "gen_ai.input.messages", attributes),
        ]
        said = _messages(span, "gen_ai.output.messages", attributes)
        model = attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model")
        trace.system = trace.system or (model if isinstance(model, str) else "")
        if given or said:
            trace.events.append(ModelCall(at, ended, given, said))


def _tool_run(span: Row, attributes: Mapping[str, Any], at: str, ended: str) -> ToolRun:
    name = attributes.get("gen_ai.tool.name")
    if not isinstance(name, str) or not name.strip():
        span.fail("attributes.gen_ai.tool.name", f"expected the name of the tool, found {quoted(name)}.")
    status = span.within("status", span.get("status") or {})
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    error = attributes.get("error.type") or ("failed" if failed else "")
    return ToolRun(
        at,
        ended,
        ToolCall(
            name[:MAX_NAME],
            parsed_arguments(attributes.get("gen_ai.tool.call.arguments")),
            text_of_value(attributes.get("gen_ai.tool.call.id"))[:MAX_ID],
        ),
        text_of_value(attributes.get("gen_ai.tool.call.result")),
        (status.text("message") or str(error)) if failed or error else "",
    )


def _instructions(span: Row, value: Any) -> list[Turn]:
    value = parsed_arguments(value)
    if value in (None, "", []):
        return []
    if isinstance(value, str):
        return [Turn("system", value)]
    field = "attributes.gen_ai.system_instructions"
    holder = Row(span.origin, {field: value}, span.prefix)
    text, _, _ = _parts(holder, field, holder.items(field))
    return [Turn("system", text)] if text else []


def _messages(span: Row, name: str, attributes: Mapping[str, Any]) -> list[Turn]:
    value = parsed_arguments(attributes.get(name))
    if value in (None, ""):
        return []
    field = f"attributes.{name}"
    holder = Row(span.origin, {field: value}, span.prefix)
    turns: list[Turn] = []
    for place, data in enumerate(holder.items(field)):
        message = holder.within(f"{field}[{place}]", data)
        role = message.get("role")
        role = SPEAKERS.get(role, role) if isinstance(role, str) else role
        if role not in ROLES:
            message.fail("role", f"expected {one_of(ROLES)}, found {quoted(role)}.")
        text, calls, results = _parts(message, "parts", message.items("parts"))
        if text or calls:
            turns.append(Turn(role, text, message.text("name", limit=MAX_NAME), tuple(calls)))
        turns += results
    names = {call.id: call.name for turn in turns for call in turn.calls}
    return [
        Turn("tool", turn.text, names.get(turn.call, ""), call=turn.call) if turn.role == "tool" else turn
        for turn in turns
    ]


def _parts(message: Row, field: str, parts: list[Any]) -> tuple[str, list[ToolCall], list[Turn]]:
    """The text, the tool calls, and the results of tools in the parts of a message."""
    texts: list[str] = []
    calls: list[ToolCall] = []
    results: list[Turn] = []
    for place, data in enumerate(parts):
        part = message.within(f"{field}[{place}]", data)
        kind = part.text("type", required=True)
        if kind == "text":
            texts.append(part.text("content"))
        elif kind in ("tool_call", "server_tool_call"):
            given = part.get("arguments") if "arguments" in part.data else part.get("server_tool_call")
            calls.append(
                ToolCall(
                    part.identifier("name", limit=MAX_NAME),
                    parsed_arguments(given),
                    part.text("id", limit=MAX_ID),
                )
            )
        elif kind in ("tool_call_response", "server_tool_call_response"):
            given = next(
                (part.get(name) for name in ("response", "result", kind) if part.get(name) is not None), None
            )
            results.append(Turn("tool", text_of_value(given), call=part.text("id", limit=MAX_ID)))
        elif kind not in THOUGHTS:
            known = "expected text, tool_call or tool_call_response; parts of another type aren't read"
            part.fail("type", f"{known}, found {quoted(kind)}.")
    return "\n\n".join(texts), calls, results


def _attributes(row: Row, field: str) -> dict[str, Any]:
    """Attributes as OTLP writes them: a list of a key and a value that names its type."""
    found: dict[str, Any] = {}
    for place, data in enumerate(row.items(field)):
        pair = row.within(f"{field}[{place}]", data)
        key = pair.text("key", required=True)
        found[key] = _value(pair, pair.within("value", pair.get("value") or {}))
    return found


def _value(pair: Row, value: Row) -> Any:
    for name, held in value.data.items():
        if name in ("stringValue", "boolValue", "doubleValue"):
            return held
        if name == "intValue":  # 64 bits are written as text
            number = whole_text(held)
            return held if number is None else number
        if name == "arrayValue":
            listed = value.within(name, held or {})
            return [_value(listed, listed.within("values", one)) for one in listed.items("values")]
        if name == "kvlistValue":
            return _attributes(value.within(name, held or {}), "values")
        if name == "bytesValue":
            return ""
        pair.fail("value", f"expected a value such as stringValue, found {quoted(name)}.")
    return None


def _moment(span: Row, field: str) -> str:
    """Nanoseconds since 1970 as a date and time in ISO 8601; empty where there are none."""
    value = span.get(field)
    if value in (None, "", 0, "0"):
        return ""
    number = whole_text(value) or whole(value)
    if number is None or not 0 < number < 4_000_000_000_000_000_000:
        span.fail(field, f"expected nanoseconds since 1970, found {quoted(value)}.")
    return datetime.fromtimestamp(number / 1e9, UTC).isoformat(timespec="milliseconds")

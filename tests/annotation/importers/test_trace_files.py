"""Traces from files of other tools: Langfuse and OpenTelemetry, what becomes of them, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from annotation.importers import DatasetBundle, ImportFileError
from annotation.importers.langfuse import read_langfuse
from annotation.importers.otlp import read_otlp
from annotation.importers.traces import TraceOptions
from annotation.models import Dataset, Item, Response
from annotation.services.criteria import criteria_set

SYSTEM = {"role": "system", "content": "You know the weather."}
ASKED = {"role": "user", "content": "Is it raining in Oslo?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "rain, 4 °C"}
SAID = {"role": "assistant", "content": "Yes, it is."}
TEXT = (
    '[Step 1] Assistant: Calls weather: {"city": "Oslo"}\n\n'
    "Tool: Result of weather: rain, 4 °C\n\n[Step 2] Assistant: Yes, it is."
)


def observation(kind: str, second: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"o{second}",
        "type": kind,
        "startTime": f"2026-11-24T09:30:{second:02}.000Z",
        "endTime": f"2026-11-24T09:30:{second + 1:02}.000Z",
        "level": "DEFAULT",
    } | more


OBSERVATIONS = [
    observation("AGENT", 0, name="agent", input={"city": "Oslo"}, output="Yes, it is."),
    observation("GENERATION", 1, model="model-a", input={"messages": [SYSTEM, ASKED]}, output=CALLS),
    observation("TOOL", 3, name="weather", input={"city": "Oslo"}, output="rain, 4 °C"),
    observation("GENERATION", 5, model="model-a", input=[SYSTEM, ASKED, CALLS, RESULT], output=SAID),
]
TRACE = {
    "id": "tr-1",
    "name": "weather",
    "timestamp": "2026-11-24T09:30:00.000Z",
    "tags": ["a"],
    "sessionId": "s",
}


def written(folder: Path, content: object, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    return path


def only(bundle: DatasetBundle) -> tuple[Any, Any, Any]:
    (item,), (instruction,), (response,) = bundle.items, bundle.instructions, bundle.responses
    return item, instruction, response


class TestLangfuse:
    @pytest.mark.parametrize(
        "content",
        [
            TRACE | {"observations": OBSERVATIONS},
            {"trace": TRACE, "observations": OBSERVATIONS},
            [TRACE | {"observations": OBSERVATIONS}],
        ],
    )
    def test_a_trace_as_its_page_downloads_it(self, tmp_path, content):
        item, instruction, response = only(read_langfuse(written(tmp_path, content)))
        assert (item.external_id, item.kind) == ("tr-1", "classification")
        assert instruction.text == "Is it raining in Oslo?"
        assert [dict(turn) for turn in instruction.conversation] == [
            {"role": "system", "text": "You know the weather.", "at": "2026-11-24T09:30:01+00:00"}
        ]
        assert (response.system, response.text) == ("model-a", TEXT)
        assert [turn.get("at", "")[17:19] for turn in response.messages] == ["02", "04", "06"]
        assert instruction.category == "weather"
        assert item.metadata == {"name": "weather", "session": "s", "tags": ["a"]}

    def test_a_table_of_observations_as_its_storage_exports_it(self, tmp_path):
        names = {"startTime": "start_time", "endTime": "end_time", "traceId": "trace_id"}
        rows = [
            {names.get(name, name): value for name, value in (one | {"traceId": trace}).items()}
            for trace in ("t1", "t2")
            for one in OBSERVATIONS
        ]
        for row in rows:  # values are text there
            row |= {
                name: json.dumps(row[name])
                for name in ("input", "output")
                if not isinstance(row.get(name), str)
            }
        path = written(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "observations.jsonl")
        bundle = read_langfuse(path)
        assert [item.external_id for item in bundle.items] == ["t1", "t2"]
        assert {response.text for response in bundle.responses} == {TEXT}

    def test_what_failed_and_what_no_model_asked_for(self, tmp_path):
        observations = [
            observation(
                "GENERATION", 1, input="Which city?", output={"role": "assistant", "content": "Let me see."}
            ),
            observation("RETRIEVER", 2, name="search", input="Oslo", output=["a", "b"]),
            observation("TOOL", 3, name="map", input={}, level="ERROR", statusMessage="no such map"),
            observation("GENERATION", 4, input="Which city?", level="ERROR", statusMessage="429"),
        ]
        _, instruction, response = only(
            read_langfuse(written(tmp_path, {"id": "t", "observations": observations}))
        )
        assert instruction.text == "Which city?"
        assert response.text == (
            "[Step 1] Assistant: Let me see.\n\n[Step 2] Assistant: Calls search: Oslo\n\n"
            'Tool: Result of search: ["a", "b"]\n\n[Step 3] Assistant: Calls map: {}\n\n'
            "Tool: Error of map: no such map\n\n[Step 4] Assistant: Error: 429"
        )

    def test_messages_of_anthropic(self, tmp_path):
        thought = {"type": "thinking", "thinking": "I should look.", "signature": "x"}
        use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}}
        made = {"role": "assistant", "content": [thought, {"type": "text", "text": "I'll look."}, use]}
        texts = [{"type": "text", "text": "rain, "}, {"type": "text", "text": "4 °C"}]
        failed = {"type": "tool_result", "tool_use_id": "c2", "content": "no such city", "is_error": True}
        came = {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": texts}, failed],
        }
        made["content"].append(use | {"id": "c2", "input": {"city": "Atlantis"}})
        observations = [
            observation("GENERATION", 1, model="claude", input=[ASKED], output=made),
            observation("GENERATION", 5, model="claude", input=[ASKED, made, came], output=SAID),
        ]
        _, instruction, response = only(
            read_langfuse(written(tmp_path, {"id": "t", "observations": observations}))
        )
        assert instruction.text == "Is it raining in Oslo?"
        assert response.text == (
            '[Step 1] Assistant: I\'ll look.\nCalls weather: {"city": "Oslo"}\nCalls weather: {"city": "Atlantis"}\n\n'
            "Tool: Result of weather: rain, \n\n4 °C\n\nTool: Error of weather: no such city\n\n"
            "[Step 2] Assistant: Yes, it is."
        )

    def test_items_of_the_responses_api(self, tmp_path):
        call = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}
        thought = {"type": "reasoning", "summary": []}
        came = {"type": "function_call_output", "call_id": "c1", "output": "rain, 4 °C"}
        said = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Yes, it is.", "annotations": []}],
        }
        observations = [
            observation("GENERATION", 1, model="gpt", input=[ASKED], output=[thought, call]),
            observation("GENERATION", 5, model="gpt", input=[ASKED, thought, call, came], output=[said]),
        ]
        _, instruction, response = only(
            read_langfuse(written(tmp_path, {"id": "t", "observations": observations}))
        )
        assert (instruction.text, response.text) == ("Is it raining in Oslo?", TEXT)

    def test_a_trace_in_which_nobody_answers_is_left_out_and_said_so(self, tmp_path):
        silent = {"id": "t2", "observations": [observation("SPAN", 1, name="x")]}
        bundle = read_langfuse(written(tmp_path, [TRACE | {"observations": OBSERVATIONS}, silent]))
        assert len(bundle.items) == 1
        assert bundle.source == "langfuse: trace.json (without 1 trace in which no assistant answers)"
        with pytest.raises(
            ImportFileError, match="expected a trace in which an assistant answers; none of 1 has one"
        ):
            read_langfuse(written(tmp_path, [silent]))
        with pytest.raises(ImportFileError, match="two traces of the same task"):
            read_langfuse(written(tmp_path, TRACE | {"observations": OBSERVATIONS}), TraceOptions("pairs"))


WRONG_LANGFUSE: dict[str, tuple[object, int | None, str | None, str]] = {
    "no JSON": ("{", None, None, "expected JSON"),
    "empty": ("", None, None, "empty"),
    "a list of numbers": ([1], 1, None, "expected a JSON object"),
    "a list of traces alone": ([TRACE], 1, "observations", "expected the observations of a trace"),
    "ids of observations": ([TRACE | {"observations": ["o1"]}], 1, "observations[0]", "expected an object"),
    "observations are no list": ([TRACE | {"observations": {}}], 1, "observations", "expected a list"),
    "no type": ([TRACE | {"observations": [{"id": "o"}]}], 1, "observations[0].type", "missing"),
    "no id": ([{"observations": OBSERVATIONS}], 1, "id", "missing"),
    "no time": (
        [TRACE | {"observations": [{"type": "TOOL"}]}],
        1,
        "observations[0].startTime",
        "expected a date and time",
    ),
    "a time that is none": (
        [TRACE | {"observations": [{"type": "TOOL", "startTime": "yesterday"}]}],
        1,
        "observations[0].startTime",
        "found 'yesterday'",
    ),
    "a role that is none": (
        [TRACE | {"observations": [observation("GENERATION", 1, input=[{"role": "cook", "content": "x"}])]}],
        1,
        "observations[0].input[0].role",
        "expected system, user, assistant or tool, found 'cook'",
    ),
    "a picture": (
        [
            TRACE
            | {
                "observations": [
                    observation(
                        "GENERATION", 1, input=[ASKED | {"content": [{"type": "image_url", "image_url": {}}]}]
                    )
                ]
            }
        ],
        1,
        "observations[0].input[0].content[0].type",
        "expected text",
    ),
    "a result of a tool that the assistant gives": (
        [
            TRACE
            | {
                "observations": [
                    observation(
                        "GENERATION", 1, output=SAID | {"content": [{"type": "tool_result", "content": "x"}]}
                    )
                ]
            }
        ],
        1,
        "observations[0].output[0].content[0].type",
        "expected results of tools in messages of the user, found one of assistant",
    ),
    "a call without a name": (
        [
            TRACE
            | {"observations": [observation("GENERATION", 1, output=CALLS | {"tool_calls": [{"id": "c"}]})]}
        ],
        1,
        "observations[0].output[0].tool_calls[0].name",
        "missing",
    ),
    "a trace id that is none": ([{"traceId": 7, "type": "SPAN"}], 1, "traceId", "expected the id of a trace"),
}


@pytest.mark.parametrize("name", WRONG_LANGFUSE)
def test_refused_langfuse(tmp_path, name):
    content, row, field, words = WRONG_LANGFUSE[name]
    path = written(tmp_path, content)
    with pytest.raises(ImportFileError) as caught:
        read_langfuse(path)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(path), row, field), str(
        caught.value
    )
    assert words in str(caught.value)


def part(**fields: Any) -> dict[str, Any]:
    return fields


GIVEN = [{"role": "user", "parts": [part(type="text", content="Is it raining in Oslo?")]}]
MADE = {
    "role": "assistant",
    "parts": [
        part(type="reasoning", content="I should look."),
        part(type="tool_call", id="c1", name="weather", arguments={"city": "Oslo"}),
    ],
}
CAME = {"role": "tool", "parts": [part(type="tool_call_response", id="c1", response="rain, 4 °C")]}
LAST = {"role": "assistant", "parts": [part(type="text", content="Yes, it is.")], "finish_reason": "stop"}


def recorded(*, tool_span: bool = True) -> dict[str, Any]:
    """A request of OTLP with the spans that OpenTelemetry itself has recorded."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("agent")

    def chat(given: list[Any], said: list[Any]) -> None:
        with tracer.start_as_current_span("chat model-a") as span:
            span.set_attribute("gen_ai.operation.name", "chat")
            span.set_attribute("gen_ai.request.model", "model-a")
            span.set_attribute("gen_ai.usage.input_tokens", 12)
            span.set_attribute(
                "gen_ai.system_instructions", json.dumps([part(type="text", content="You know.")])
            )
            span.set_attribute("gen_ai.input.messages", json.dumps(given))
            span.set_attribute("gen_ai.output.messages", json.dumps(said))

    with tracer.start_as_current_span("invoke_agent forecaster") as root:
        root.set_attribute("gen_ai.operation.name", "invoke_agent")
        root.set_attribute("gen_ai.agent.name", "forecaster")
        chat(GIVEN, [MADE])
        if tool_span:
            with tracer.start_as_current_span("execute_tool weather") as span:
                span.set_attribute("gen_ai.operation.name", "execute_tool")
                span.set_attribute("gen_ai.tool.name", "weather")
                span.set_attribute("gen_ai.tool.call.id", "c1")
                span.set_attribute("gen_ai.tool.call.arguments", '{"city": "Oslo"}')
                span.set_attribute("gen_ai.tool.call.result", "rain, 4 °C")
        chat([*GIVEN, MADE, CAME], [LAST])
        with tracer.start_as_current_span("execute_tool alarm") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "alarm")
            span.set_status(StatusCode.ERROR, "no bell")
        with tracer.start_as_current_span("GET /"):
            pass
    found: dict[str, Any] = MessageToDict(encode_spans(kept.get_finished_spans()))
    return found


class TestOpenTelemetry:
    def test_a_result_that_only_the_next_call_of_a_model_has(self, tmp_path):
        """What a tool returned is recorded on its span only where that is asked for."""
        request = recorded()
        for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            span["attributes"] = [
                one for one in span.get("attributes", []) if one["key"] != "gen_ai.tool.call.result"
            ]
        _, _, response = only(read_otlp(written(tmp_path, request)))
        assert "Tool: Result of weather: rain, 4 °C" in response.text
        assert response.text.count("Result of weather") == 1

    @pytest.mark.parametrize("kind", ["reasoning", "thinking"])
    def test_thoughts_are_passed_over_by_either_name(self, tmp_path, kind):
        """`reasoning` is the conventions' name, `thinking` that of pydantic-ai, with `result` for `response`."""
        text = json.dumps(recorded()).replace('\\"type\\": \\"reasoning\\"', f'\\"type\\": \\"{kind}\\"')
        assert kind in text
        _, _, response = only(read_otlp(written(tmp_path, text)))
        assert response.text.startswith('[Step 1] Assistant: Calls weather: {"city": "Oslo"}')

    @pytest.mark.parametrize("tool_span", [True, False])
    def test_what_opentelemetry_recorded(self, tmp_path, tool_span):
        item, instruction, response = only(read_otlp(written(tmp_path, recorded(tool_span=tool_span))))
        assert item.metadata["trace_id"] == item.external_id
        assert (instruction.text, instruction.conversation[0]["text"]) == (
            "Is it raining in Oslo?",
            "You know.",
        )
        assert response.system == "forecaster"
        assert (
            response.text == f"{TEXT}\n\n[Step 3] Assistant: Calls alarm: \n\nTool: Error of alarm: no bell"
        )

    def test_a_request_a_line(self, tmp_path):
        lines = "".join(json.dumps(recorded()) + "\n" for _ in range(2))
        assert len(read_otlp(written(tmp_path, lines, "spans.jsonl")).items) == 2

    def test_messages_in_structured_form_and_in_the_event(self, tmp_path):
        def any_value(value: Any) -> dict[str, Any]:
            if isinstance(value, dict):
                return {
                    "kvlistValue": {"values": [{"key": k, "value": any_value(v)} for k, v in value.items()]}
                }
            if isinstance(value, list):
                return {"arrayValue": {"values": [any_value(one) for one in value]}}
            return {"stringValue": value}

        details = [
            {"key": "gen_ai.input.messages", "value": any_value(GIVEN)},
            {"key": "gen_ai.output.messages", "value": any_value([LAST])},
        ]
        span = {
            "traceId": "t1",
            "spanId": "s1",
            "startTimeUnixNano": "1764000000000000000",
            "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
            "events": [{"name": "gen_ai.client.inference.operation.details", "attributes": details}],
        }
        path = written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
        _, _, response = only(read_otlp(path))
        assert response.text == "[Step 1] Assistant: Yes, it is."


def spans(*found: object) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(found)}]}]}


def span(messages: object = None, **more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages} | more.pop("with_", {})
    return {
        "traceId": "t",
        "startTimeUnixNano": "1764000000000000000",
        "attributes": [
            {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
            for key, value in attributes.items()
            if value is not None
        ],
    } | more


WRONG_OTLP: dict[str, tuple[object, int | None, str | None, str]] = {
    "no JSON": ("[", None, None, "expected JSON"),
    "no spans": ({"spans": []}, 1, "resourceSpans", "expected a request of OTLP"),
    "spans are no list": ({"resourceSpans": {}}, 1, "resourceSpans", "expected a list"),
    "a scope that is none": (
        {"resourceSpans": [{"scopeSpans": [3]}]},
        1,
        "resourceSpans[0].scopeSpans[0]",
        "object",
    ),
    "a span that is none": (spans("x"), 1, "spans", "expected a span"),
    "nothing of models": (
        spans({"traceId": "t", "name": "GET /"}),
        None,
        "attributes",
        "message content has to be on",
    ),
    "content is not captured": (spans(span()), None, "attributes", "message content has to be on"),
    "no trace": (spans(span(GIVEN, traceId="")), 1, "traceId", "found none"),
    "no time": (spans(span(GIVEN, startTimeUnixNano="soon")), 1, "startTimeUnixNano", "nanoseconds"),
    "messages are text": (spans(span("hello")), 1, "attributes.gen_ai.input.messages", "expected a list"),
    "a role that is none": (
        spans(span(GIVEN), span([{"role": "cook", "parts": []}])),
        2,
        "attributes.gen_ai.input.messages[0].role",
        "found 'cook'",
    ),
    "a picture": (
        spans(span([{"role": "user", "parts": [{"type": "uri", "uri": "https://example.org/a.png"}]}])),
        1,
        "attributes.gen_ai.input.messages[0].parts[0].type",
        "found 'uri'",
    ),
    "a call without a name": (
        spans(span([{"role": "assistant", "parts": [{"type": "tool_call"}]}])),
        1,
        "attributes.gen_ai.input.messages[0].parts[0].name",
        "missing",
    ),
    "a tool without a name": (
        spans(span(with_={"gen_ai.operation.name": "execute_tool"})),
        1,
        "attributes.gen_ai.tool.name",
        "expected the name of the tool",
    ),
    "attributes are an object": (
        spans({"traceId": "t", "attributes": {"gen_ai.operation.name": "chat"}}),
        1,
        "attributes",
        "expected a list",
    ),
    "a value of no type": (
        spans({"traceId": "t", "attributes": [{"key": "a", "value": {"text": "x"}}]}),
        1,
        "attributes[0].value",
        "stringValue",
    ),
}


@pytest.mark.parametrize("name", WRONG_OTLP)
def test_refused_otlp(tmp_path, name):
    content, row, field, words = WRONG_OTLP[name]
    path = written(tmp_path, content)
    with pytest.raises(ImportFileError) as caught:
        read_otlp(path)
    assert (caught.value.file, caught.value.row, caught.value.field) == (str(path), row, field), str(
        caught.value
    )
    assert words in str(caught.value)


class TestOptions:
    def bundle(self, folder: Path, options: TraceOptions, copies: int = 1) -> DatasetBundle:
        traces = [
            TRACE
            | {"id": f"tr-{number}", "observations": [one | {"model": f"m{number}"} for one in OBSERVATIONS]}
            for number in range(copies)
        ]
        return read_langfuse(written(folder, traces), options)

    def test_the_first_wrong_step(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions())
        assert [(one.key, one.text) for one in bundle.aspects] == [
            ("1", "Step 1"),
            ("2", "Step 2"),
            ("no wrong step", "No step is wrong."),
        ]

    def test_each_step(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions("steps"))
        assert [item.kind for item in bundle.items] == ["checklist"]
        assert [(one.key, one.text) for one in bundle.aspects] == [
            ("1", "Is step 1 right?"),
            ("2", "Is step 2 right?"),
        ]

    def test_the_outcome(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions("outcome"))
        assert [one.key for one in bundle.aspects] == ["success", "failure"]

    def test_ratings(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions("ratings", criteria=criteria_set("helm-instruct")))
        assert [item.kind for item in bundle.items] == ["rubric"]
        with pytest.raises(ImportFileError, match="criteria"):
            self.bundle(tmp_path, TraceOptions("ratings"))

    def test_pairs_of_the_same_task(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions("pairs"), copies=3)
        assert [item.external_id for item in bundle.items] == ["tr-0 | tr-1", "tr-0 | tr-2", "tr-1 | tr-2"]
        assert {one.system for one in bundle.responses} == {"m0", "m1", "m2"}
        assert len(bundle.instructions) == 1

    def test_what_is_hidden_is_hidden_from_judges_too(self, tmp_path):
        bundle = self.bundle(tmp_path, TraceOptions(hide=("system", "tool-results")))
        _, instruction, response = only(bundle)
        assert bundle.source.endswith(
            "; hidden from annotators and judges: messages of the system and results of tools"
        )
        assert "rain" not in response.text
        assert "Tool: (not shown)" in response.text
        assert instruction.conversation[0]["hidden"]
        assert [turn["text"] for turn in response.messages if turn.get("hidden")] == ["rain, 4 °C"]


@pytest.mark.django_db
class TestCommand:
    def test_import_and_again(self, tmp_path, capsys):
        path = str(written(tmp_path, TRACE | {"observations": OBSERVATIONS}))
        for _ in range(2):
            call_command("import_dataset", "langfuse", path, name="w", judge_by="outcome", hide=["system"])
        assert "unchanged" in capsys.readouterr().out
        assert Item.objects.get().external_id == "tr-1"
        assert Response.objects.get().text == TEXT

    def test_a_refused_file_leaves_nothing(self, tmp_path):
        path = str(written(tmp_path, [TRACE | {"observations": OBSERVATIONS}, {"id": "t"}]))
        with pytest.raises(CommandError, match="row 2, field observations"):
            call_command("import_dataset", "langfuse", path, name="w")
        assert not Dataset.objects.exists()

    def test_options_of_other_formats(self, tmp_path):
        with pytest.raises(CommandError, match="--hide is an option of inspect, langfuse or opentelemetry"):
            call_command("import_dataset", "generic", "x.jsonl", name="w", hide=["system"])

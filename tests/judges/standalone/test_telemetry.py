"""Verdicts as OpenTelemetry events: by the real SDK, and by the real exporter to a collector over HTTP."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from judges import Judge
from judges.backends.mock_server import running_mock_server
from judges.standalone import telemetry
from judges.standalone.main import main
from judges.standalone.telemetry import EvaluationScore, order_words, scores_of
from judges.strategies.documents import document_read
from tests.judges.standalone.files import at, command, pairs_write, rows_of

pytestmark = pytest.mark.service


@pytest.mark.parametrize(
    ("row", "scores"),
    [
        ({"choice": 1, "probability": None}, [EvaluationScore("", 1.0, "first")]),
        ({"choice": 2, "probability": 0.25}, [EvaluationScore("", 0.25, "second")]),
        ({"choice": 0, "probability": None}, [EvaluationScore("", 0.5, "tie")]),
        ({"value": {"ratings": {"a": 4, "b": 1}}}, [EvaluationScore("a", 4.0), EvaluationScore("b", 1.0)]),
        ({"value": {"answers": {"a": True, "b": False, "c": None, "d": True}}}, [EvaluationScore("", 0.5)]),
        ({"value": {"ranks": {"1": 3, "2": 1, "3": 1}}}, [EvaluationScore("", None, "2 = 3 > 1")]),
    ],
)
def test_each_kind_has_its_score(row, scores):
    assert list(scores_of(row)) == scores


def test_an_order_in_words():
    assert order_words({"a": 1}) == "a"
    assert order_words({"a": 1.5, "b": 1.5, "c": 3}) == "a = b > c"


@pytest.mark.parametrize("status", ["unparsed", "failed"])
def test_what_is_no_verdict_is_an_error_with_its_reason(status):
    row = {"status": status, "item": "p1", "order": 0, "sample": 0, "value": None, "reason": "no label"}
    (event,) = telemetry.event_attributes(row, document_read({"strategy": "longest"}))
    assert event["error.type"] == status
    assert event["gen_ai.evaluation.explanation"] == "no label"
    assert not [name for name in event if "score" in name]


def test_the_names_are_those_of_the_conventions():
    names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

    ours = [telemetry.NAME, telemetry.VALUE, telemetry.LABEL, telemetry.EXPLANATION, telemetry.ERROR]
    assert ours == [
        names.GEN_AI_EVALUATION_NAME,
        names.GEN_AI_EVALUATION_SCORE_VALUE,
        names.GEN_AI_EVALUATION_SCORE_LABEL,
        names.GEN_AI_EVALUATION_EXPLANATION,
        ERROR_TYPE,
    ]


def test_a_judge_in_a_service_sends_events_below_the_current_span():
    logs = pytest.importorskip("opentelemetry.sdk._logs")
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
    from opentelemetry.sdk.trace import TracerProvider

    kept, provider = InMemoryLogRecordExporter(), logs.LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
    tracer = TracerProvider().get_tracer("application")
    with (
        running_mock_server() as server,
        Judge.define("cot", model="mock-longer", base_url=server.url, telemetry=provider) as judge,
    ):
        with tracer.start_as_current_span("chat") as span:
            found = judge.compare("Say hello.", "Hello.", "Hello to all of you.", id="hi")
        judge.compare("Say hello.", "Hello to all of you.", "Hello.")
    first, second = (each.log_record for each in kept.get_finished_logs())
    assert first.event_name == "gen_ai.evaluation.result"
    assert first.span_id == span.get_span_context().span_id
    assert second.span_id != first.span_id
    assert dict(first.attributes) == {
        "gen_ai.evaluation.name": "cot",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.score.label": "second",
        "gen_ai.evaluation.explanation": found.raw,
        "touchstone.judge.fingerprint": judge.fingerprint,
        "touchstone.judge.kind": "pairwise",
        "touchstone.judge.strategy": "cot",
        "touchstone.judge.model": "mock-longer",
        "touchstone.item": "hi",
    }
    assert second.attributes["gen_ai.evaluation.score.label"] == "first"


@contextmanager
def collector(status=200):
    """A collector that speaks OTLP over HTTP; yields the log records that it was sent."""
    service = pytest.importorskip("opentelemetry.proto.collector.logs.v1.logs_service_pb2")
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http._log_exporter")
    got = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = service.ExportLogsServiceRequest.FromString(
                self.rfile.read(int(self.headers["Content-Length"]))
            )
            if status == 200:
                got.extend(
                    (resource.resource, record)
                    for resource in sent.resource_logs
                    for scope in resource.scope_logs
                    for record in scope.log_records
                )
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def judged(items, out):
    return main(["judge", str(items), "--strategy", "longest", "--out", str(out), "--otel", "--quiet"])


def plain(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def test_the_command_sends_each_verdict_once_to_a_collector(tmp_path, monkeypatch):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 700), tmp_path / "verdicts.jsonl"
    with collector() as (address, got):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        assert judged(items, out) == 0
        assert judged(items, out) == 0  # nothing is left to judge, so nothing is sent again
    said = [(record.event_name, plain(record.attributes)) for _, record in got]
    assert {name for name, _ in said} == {"gen_ai.evaluation.result"}
    assert sorted(
        (each["touchstone.item"], each["touchstone.order"], each["gen_ai.evaluation.score.label"])
        for _, each in said
    ) == sorted((row["item"], row["order"], "second") for row in rows_of(out))
    assert len(said) == 1400
    assert plain(got[0][0].attributes)["service.name"] == "touchstone"


def test_a_collector_that_refuses_costs_no_verdict_and_is_reported(tmp_path, monkeypatch, capsys):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 3), tmp_path / "verdicts.jsonl"
    with collector(status=400) as (address, _):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        assert judged(items, out) == 0
    assert "6 of 6 events did not reach the collector" in capsys.readouterr().err
    assert len(rows_of(out)) == 6


def test_where_opentelemetry_is_not_installed_the_extra_is_named(tmp_path):
    items, out = pairs_write(tmp_path / "pairs.jsonl", 1), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        code, _, complaints = command(
            "judge", items, "--strategy", "vanilla", *at(server), "--out", out, "--otel"
        )
        assert server.stats()["requests"] == 0
    assert code == 3
    assert 'pip install "touchstone-judge[judge,otel]"' in complaints
    assert not out.exists() or out.read_bytes() == b""

"""Batches of both vendors' forms: against the mock server, by our side and by the vendors' own clients."""

import io
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from judges.backends.anthropic_batches import AnthropicBatches
from judges.backends.batch_servers import batch_server
from judges.backends.batches import lines_of
from judges.backends.errors import (
    EndpointError,
    MisbehavingServerError,
    PermanentBackendError,
    TransientBackendError,
)
from judges.backends.instant import InstantBackend
from judges.backends.mock_server import running_mock_server
from judges.backends.openai_batches import OpenAIBatches
from judges.backends.registry import create_backend
from judges.backends.wire import WireRequest
from judges.strategies.types import Answer, Decoding
from tests.judges.backends.servers import running_server

pytestmark = pytest.mark.service
VENDORS = ["openai", "anthropic"]
PRICES = {"price_prompt": 1.0, "price_completion": 2.0}


@pytest.fixture
def mock():
    with running_mock_server() as server:
        yield server


def vendor(url, kind, **options):
    return batch_server(create_backend(kind, endpoint=url, options={"is_local": True} | PRICES | options))


def asked(n, model="mock-longer", **fields):
    said = [("system", "Compare."), ("user", "Is A or B better? ")]
    return {
        f"{k:064x}": WireRequest(
            "chat", model, (*said[:1], ("user", f"{said[1][1]}{k}")), Decoding(max_tokens=20), **fields
        )
        for k in range(n)
    }


def submitted(server, requests, key="batch-1"):
    file = io.BytesIO()
    assert server.write(requests.items(), file).n == len(requests)
    return server.create(key, file)


def finished(server, remote):
    for _ in range(5):
        if (report := server.look(remote)).is_over:
            return report
    raise AssertionError(report)


def results(server, remote, requests):
    file = io.BytesIO()
    server.fetch(remote, file)
    file.seek(0)
    return {key: server.read(line, requests[key]) for key, line in lines_of(file)}


@pytest.mark.parametrize("kind", VENDORS)
@pytest.mark.parametrize("structured", ["none", "json_schema"])
def test_a_batch_gives_the_answers_that_requests_by_themselves_get(mock, kind, structured):
    server = vendor(mock.url, kind, structured=structured)
    requests = asked(6, choices=("A", "B"))
    try:
        remote = submitted(server, requests)
        report = finished(server, remote)
        assert (report.n_done, report.n_failed, report.refused) == (6, 0, "")
        found = results(server, remote, requests)
        for place, (key, request) in enumerate(requests.items()):
            server.backend.submit(place, request)
            ((_, alone),) = server.backend.drain(20)
            assert isinstance(alone, Answer)
            assert found[key].text == alone.text
            assert found[key].cost == alone.cost > 0
            assert found[key].constrained is alone.constrained is (structured == "json_schema")
            assert found[key].model == "mock-longer"
    finally:
        server.close()


@pytest.mark.parametrize("kind", VENDORS)
def test_each_request_has_its_own_end(mock, kind):
    server = vendor(mock.url, kind)
    good, bad, ill = asked(1), asked(2, "mock-400-long-5"), asked(3, "mock-500")
    requests = dict([*good.items(), list(bad.items())[1], list(ill.items())[2]])
    try:
        if kind == "openai":  # which takes one model a batch
            remote = submitted(server, requests)
            assert "the mock refused it" in server.look(remote).refused
            return
        remote = submitted(server, requests)
        finished(server, remote)
        first, second, third = (results(server, remote, requests)[key] for key in requests)
    finally:
        server.close()
    assert isinstance(first, Answer)
    assert isinstance(second, PermanentBackendError)
    assert isinstance(third, TransientBackendError)


@pytest.mark.parametrize("kind", VENDORS)
@pytest.mark.parametrize(("mode", "cancel"), [("expire", False), ("hold", True)])
def test_expired_and_cancelled_requests_may_be_asked_again(mock, kind, mode, cancel):
    mock.batches.mode = mode
    server = vendor(mock.url, kind)
    requests = asked(4)
    try:
        remote = submitted(server, requests)
        server.look(remote)
        if cancel:
            server.cancel(remote)
        finished(server, remote)
        server.cancel(remote)  # of one that is over
        found = results(server, remote, requests)
    finally:
        server.close()
    lost = [each for each in found.values() if isinstance(each, TransientBackendError)]
    assert len(lost) == (4 if cancel else 2)
    assert mock.batches.cancelled == int(cancel)


@pytest.mark.parametrize("kind", VENDORS)
def test_a_batch_is_found_again(mock, kind):
    server = vendor(mock.url, kind)
    now = datetime.now(UTC) - timedelta(seconds=5)
    try:
        ours = submitted(server, asked(3), "batch-ours")
        another = submitted(server, asked(2), "batch-another")
        assert server.find("batch-ours", n=3, since=now, known=()) == [ours]
        assert server.find("batch-another", n=2, since=now, known=()) == [another]
        assert server.find("batch-none", n=7, since=now, known=()) == []
        if kind == "anthropic":
            assert server.find("batch-ours", n=3, since=now, known={ours}) == []
    finally:
        server.close()


def test_what_a_vendor_does_not_have_is_refused_by_request(mock):
    server = vendor(mock.url, "anthropic")
    seeded = WireRequest("chat", "m", (("user", "x"),), Decoding(seed=1))
    endless = WireRequest("chat", "m", (("user", "x"),), Decoding(max_tokens=None))
    embedding = WireRequest("embed", "m", (), text="x")
    try:
        written = server.write({"a": seeded, "b": endless, "c": embedding}.items(), io.BytesIO())
    finally:
        server.close()
    assert written.n == 0
    assert "no seed" in written.refused["a"]
    assert "max_tokens" in written.refused["b"]
    assert "'embed'" in written.refused["c"]


def test_only_these_vendors_have_batches():
    backend = InstantBackend(lambda wire: "A", capacity=1, name="test")
    with pytest.raises(EndpointError, match="OpenAI's or Anthropic's"):
        batch_server(backend)
    backend.close()


def test_anthropic_messages_take_every_part(mock):
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "string"}}})
    extra = {"output_config": {"effort": "low"}, "thinking": {"type": "adaptive"}}
    server = vendor(mock.url, "anthropic", structured="json_schema", extra_body=extra)
    request = WireRequest(
        "chat", "m", (("system", "S"), ("user", "U")), Decoding(max_tokens=9, stop=("x",)), json_schema=schema
    )
    function = json.dumps({"name": "f", "description": "d", "parameters": {"type": "object"}})
    calling = WireRequest("chat", "m", (("user", "U"),), Decoding(max_tokens=9), function=function)
    try:
        body, called = server.backend.body_of(request), server.backend.body_of(calling)
    finally:
        server.close()
    assert body == {
        "model": "m",
        "system": "S",
        "messages": [{"role": "user", "content": "U"}],
        "max_tokens": 9,
        "temperature": 0.0,
        "stop_sequences": ["x"],
        "output_config": {"format": {"type": "json_schema", "schema": json.loads(schema)}, "effort": "low"},
        "thinking": {"type": "adaptive"},
    }
    assert called["tools"] == [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]
    assert called["tool_choice"] == {"type": "tool", "name": "f"}


HOSTILE = [
    b"[]",
    b'{"id": "../../v1/models"}',
    b'{"id": 7}',
    b'{"id": "x y"}',
    b"not json",
]


@pytest.mark.parametrize("kind", VENDORS)
@pytest.mark.parametrize("body", HOSTILE)
def test_an_id_that_leads_elsewhere_is_not_used(kind, body):
    with running_server(body) as url:
        server = vendor(url, kind)
        try:
            with pytest.raises(MisbehavingServerError):
                submitted(server, asked(1))
        finally:
            server.close()


@pytest.mark.parametrize("kind", VENDORS)
def test_a_reply_beyond_its_limit_is_not_read(kind):
    with running_server(b'{"id": "x", "more": "' + b"x" * (2 << 20) + b'"}') as url:
        server = vendor(url, kind)
        try:
            with pytest.raises(MisbehavingServerError, match="more than 1 MiB"):
                server.look("x")
        finally:
            server.close()


def test_lines_that_are_no_results_are_passed_over():
    file = io.BytesIO(
        b'{"custom_id": "a", "response": 1}\nnot json\n[]\n{"custom_id": 4}\n\n{"custom_id": "b"}'
    )
    assert [key for key, _ in lines_of(file)] == ["a", "b"]


@pytest.mark.parametrize("server", [OpenAIBatches, AnthropicBatches])
@pytest.mark.parametrize(
    "line",
    [
        {},
        {"response": None, "error": "x"},
        {"response": {"status_code": "200", "body": []}},
        {"response": {"status_code": 200, "body": {"choices": 3}}},
        {"result": 3},
        {"result": {"type": "succeeded", "message": None}},
        {"result": {"type": "succeeded", "message": {"content": [3]}}},
        {"result": {"type": "errored", "error": {"error": "x"}}},
    ],
)
def test_a_line_that_is_no_result_is_a_passing_failure(server, line):
    kind = "openai" if server is OpenAIBatches else "anthropic"
    batches = vendor("http://127.0.0.1:9/v1", kind)
    try:
        outcome = batches.read(line, next(iter(asked(1).values())))
    finally:
        batches.close()
    assert isinstance(outcome, TransientBackendError)


CLIENTS = {
    "openai": """
import io, json, sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="k", max_retries=0)
body = {"model": "mock-longer", "max_tokens": 9, "messages": [{"role": "user", "content": "A or B?"}]}
rows = [{"custom_id": f"r-{k}", "method": "POST", "url": "/v1/chat/completions", "body": body} for k in range(3)]
file = client.files.create(file=("b.jsonl", io.BytesIO("\\n".join(map(json.dumps, rows)).encode())), purpose="batch")
batch = client.batches.create(
    input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"who": "me"}
)
seen = [batch.status]
while batch.status not in ("completed", "failed"):
    batch = client.batches.retrieve(batch.id)
    seen.append(batch.status)
lines = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
other = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
print(json.dumps({
    "seen": seen, "ids": sorted(line["custom_id"] for line in lines),
    "text": lines[0]["response"]["body"]["choices"][0]["message"]["content"],
    "counts": batch.request_counts.model_dump(), "listed": [each.metadata for each in client.batches.list(limit=5)],
    "cancelled": client.batches.cancel(other.id).status,
}))
""",
    "anthropic": """
import json, sys, anthropic
client = anthropic.Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="k", max_retries=0)
body = {"model": "mock-longer", "max_tokens": 9, "messages": [{"role": "user", "content": "A or B?"}]}
single = client.messages.create(**body)
batch = client.messages.batches.create(requests=[{"custom_id": f"r-{k}", "params": body} for k in range(3)])
seen = [batch.processing_status]
while batch.processing_status != "ended":
    batch = client.messages.batches.retrieve(batch.id)
    seen.append(batch.processing_status)
lines = list(client.messages.batches.results(batch.id))
other = client.messages.batches.create(requests=[{"custom_id": "x", "params": body}])
print(json.dumps({
    "seen": seen, "ids": sorted(line.custom_id for line in lines),
    "text": lines[0].result.message.content[0].text, "single": single.content[0].text,
    "counts": batch.request_counts.model_dump(), "listed": [each.id for each in client.messages.batches.list(limit=5)],
    "cancelled": client.messages.batches.cancel(other.id).processing_status,
}))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("package", VENDORS)
def test_the_vendors_own_client_speaks_with_the_mock(mock, package):
    """TOUCHSTONE_PEERS names a folder of virtual environments, each named after what is installed in it."""
    python = Path(os.environ.get("TOUCHSTONE_PEERS", "")) / package / "bin/python"
    if "TOUCHSTONE_PEERS" not in os.environ or not python.is_file():
        pytest.skip(
            f"{package} is not installed: TOUCHSTONE_PEERS names a folder of environments such as {package}/"
        )
    done = subprocess.run(
        [str(python), "-W", "ignore", "-c", CLIENTS[package], mock.url],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["ids"] == ["r-0", "r-1", "r-2"]
    assert said["text"] == said.get("single", said["text"])
    if package == "openai":
        assert said["seen"] == ["validating", "in_progress", "completed"]
        assert said["counts"] == {"completed": 3, "failed": 0, "total": 3}
        assert {"who": "me"} in said["listed"]
        assert said["cancelled"] == "cancelling"
    else:
        assert said["seen"] == ["in_progress", "in_progress", "ended"]
        assert said["counts"]["succeeded"] == 3
        assert len(said["listed"]) == 2
        assert said["cancelled"] == "canceling"

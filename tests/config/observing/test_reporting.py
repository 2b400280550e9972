"""Traces and errors: sent where the environment says so, with nothing personal; a missing package is named."""

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import brotli
import pytest
from django.core.exceptions import ImproperlyConfigured

from config.observing import crashes, traces
from config.observing.tasks import HEADER, task_began, task_ended, task_sent
from judges.tasks import wake
from web.measuring import action_measured, observe, observe_no_more

pytestmark = pytest.mark.service


ROOT = Path(__file__).resolve().parents[3]
BROKEN_PAGE = """
import sys, types
from config.wsgi import application
from django.conf import settings
from django.test import RequestFactory
from django.urls import path

def page(request, token):
    answer = "wrote at noon"
    raise ValueError("no such person: ada@example.org")

urls = types.ModuleType("broken_urls")
urls.urlpatterns = [path("resume/<str:token>/", page, name="broken")]
sys.modules["broken_urls"] = urls
settings.ROOT_URLCONF = "broken_urls"
headers = {"X-Request-ID": "proxy-0123", "Cookie": "sessionid=abc"}
request = RequestFactory(SERVER_NAME="localhost").get("/resume/secret-link/?who=ada", headers=headers)
application(request.environ, lambda status, headers: print(status.partition(" ")[0]))
import sentry_sdk
sentry_sdk.flush(timeout=10)
"""


class Collector(ThreadingHTTPServer):
    """Takes what is sent to it, as a collector would."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[tuple[str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.headers.get("Content-Encoding") == "br":
            body = brotli.decompress(body)
        self.server.bodies.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def spans_of(collector: Collector) -> dict[str, dict]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = {}
    for path, body in collector.bodies:
        assert path == "/v1/traces"
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            for span in resource.scope_spans[0].spans:
                said = {one.key: one.value.string_value for one in span.attributes}
                found[span.name] = {"said": said, "span": span, "service": names["service.name"]}
    return found


class TestTraces:
    @pytest.fixture
    def on(self, collector, settings, monkeypatch):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url
        assert traces.traces_start(service="web")
        assert traces.traces_start(service="web")
        observe(traces.action_traced)
        yield collector
        observe_no_more(traces.action_traced)
        traces.traces_stop()

    def test_a_request_an_action_and_a_task_are_one_trace(self, on, client):
        action_measured("claim", lambda _: "given")(
            lambda: None
        )()  # outside of a request: a trace of its own
        client.get("/healthz?token=secret", headers={"X-Request-ID": "proxy-0123"})
        headers: dict = {}
        with traces.span_of("outer"):
            action_measured("submit", lambda _: "accepted")(lambda: None)()
            task_sent(headers=headers)
        wake.push_request(id="t1", hostname="celery@one", **headers)
        task_began(task_id="t1", task=wake)
        task_ended(task_id="t1")
        wake.pop_request()
        traces.traces_stop()
        found = spans_of(on)
        assert set(found) == {"claim", "GET healthz", "outer", "submit", "task judges.wake"}
        assert found["GET healthz"]["said"] == {
            "http.request.method": "GET",
            "http.route": "healthz",
            "touchstone.request_id": "proxy-0123",
        }
        outer = found["outer"]["span"]
        for name in ("submit", "task judges.wake"):
            assert found[name]["span"].trace_id == outer.trace_id
            assert found[name]["span"].parent_span_id == outer.span_id
        assert found["submit"]["said"] == {"outcome": "accepted"}
        assert found["outer"]["service"] == "touchstone-web"
        assert b"secret" not in b"".join(body for _, body in on.bodies)
        assert HEADER in headers

    def test_without_the_variable_nothing_is_recorded(self, settings):
        assert not settings.OTEL_EXPORTER_OTLP_ENDPOINT
        assert not traces.traces_start(service="web")
        with traces.span_of("nothing") as span:
            assert span is None
        assert traces.trace_carrier() == {}

    def test_a_missing_package_is_named(self, settings, monkeypatch):
        settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:9"
        monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
        with pytest.raises(ImproperlyConfigured, match=r"pip install \"touchstone-judge\[otel\]\""):
            traces.traces_start(service="web")


class TestCrashes:
    def test_an_error_of_a_page_is_sent_with_ids_and_nothing_personal(self, collector, tmp_path):
        # In a process of its own: Sentry changes Django, Celery and threads for good.
        found = subprocess.run(
            [sys.executable, "-c", BROKEN_PAGE],
            cwd=ROOT,
            env=os.environ
            | {
                "DJANGO_SETTINGS_MODULE": "config.settings",
                "TOUCHSTONE_VAR": str(tmp_path),
                "DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3",
                "CELERY_BROKER_URL": "memory://",  # no worker in this process
                "SENTRY_DSN": collector.url.replace("http://", "http://key@") + "/1",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert found.returncode == 0, found.stderr
        assert found.stdout.split() == ["500"]
        sent = b"".join(body for _, body in collector.bodies)
        lines = [json.loads(line) for line in sent.splitlines()]
        (event,) = [line for line in lines if line.get("exception")]
        assert event["exception"]["values"][-1]["value"] == "no such person: (address)"
        assert event["tags"]["request_id"] == "proxy-0123"
        assert event["request"] == {"method": "GET"}
        assert "user" not in event
        for secret in (b"ada@", b"noon", b"sessionid", b"secret-link", b"who=", b"server_name"):
            assert secret not in sent

    def test_a_request_is_cut_to_its_method(self):
        event = {
            "request": {"method": "POST", "url": "http://x/join/secret", "data": "text", "headers": {}},
            "user": {"ip_address": "10.0.0.1"},
            "logentry": {"message": "Not Found: /enter?PROLIFIC_PID=5", "params": ["ada"]},
        }
        assert crashes.event_scrubbed(event) == {
            "request": {"method": "POST"},
            "logentry": {"message": "Not Found: /enter?…"},
            "tags": {},
        }

    def test_off_by_default_and_a_missing_package_is_named(self, settings, monkeypatch):
        assert not crashes.crashes_start()
        settings.SENTRY_DSN = "http://key@127.0.0.1:9/1"
        monkeypatch.setitem(sys.modules, "sentry_sdk", None)
        with pytest.raises(ImproperlyConfigured, match=r"pip install \"touchstone-judge\[sentry\]\""):
            crashes.crashes_start()

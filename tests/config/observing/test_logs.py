"""Log lines: an id that goes from the request to the task, and nothing personal."""

import json
import logging
from datetime import datetime, timedelta

import pytest
from django.test import RequestFactory

from config.observing.context import log_fields, log_fields_bound
from config.observing.logs import JsonFormatter, PlainFormatter, scrubbed
from config.observing.requests import request_id_of
from config.observing.tasks import HEADER, task_began, task_ended, task_sent
from judges.tasks import wake
from tests.annotation.cast import client_of

REQUESTS = "touchstone.request"


class Lines(logging.Handler):
    """Keeps what is logged as JSON, as the console would get it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[dict] = []
        self.setFormatter(JsonFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(json.loads(self.format(record)))


@pytest.fixture
def lines():
    handler, root = Lines(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(before)


def record(message: str, *args: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("a.logger", logging.WARNING, __file__, 1, message, args, None)
    made.__dict__.update(extra)
    return made


class TestScrubbing:
    @pytest.mark.parametrize(
        ("text", "left"),
        [
            ("Not Found: /enter/prolific/?PROLIFIC_PID=5f&x=1", "Not Found: /enter/prolific/?…"),
            ('"GET /join?code=abc HTTP/1.1" 200', '"GET /join?… HTTP/1.1" 200'),
            ("Mail to ada.lovelace+x@example.org failed", "Mail to (address) failed"),
            ("Is it ready? Yes: a = b", "Is it ready? Yes: a = b"),
        ],
    )
    def test_query_strings_and_addresses_are_left_out(self, text, left):
        assert scrubbed(text) == left
        assert json.loads(JsonFormatter().format(record("%s", text)))["message"] == left
        assert PlainFormatter("%(message)s").format(record("%s", text)) == left

    def test_what_an_error_says_too(self):
        try:
            raise ValueError("Key (email)=(ada@example.org) already exists")
        except ValueError as error:
            made = record("It broke")
            made.exc_info = (type(error), error, error.__traceback__)
        line = json.loads(JsonFormatter().format(made))
        assert line["error"]["type"] == "builtins.ValueError"
        assert "Key (email)=((address)) already exists" in line["error"]["trace"]
        assert "test_logs.py" in line["error"]["trace"]


class TestFields:
    def test_a_line_has_what_is_bound_and_what_is_given(self):
        with log_fields_bound(request_id="r-1", user=lambda: 7), log_fields_bound(task=None):
            line = json.loads(JsonFormatter().format(record("A judge stopped", sweep=3, secret="no")))
        assert {name: line[name] for name in ("request_id", "user", "sweep")} == {
            "request_id": "r-1",
            "user": 7,
            "sweep": 3,
        }
        assert {"secret", "task"}.isdisjoint(line)
        assert datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0)
        assert log_fields() == {}

    @pytest.mark.parametrize(
        "sent", ["short", "x" * 65, "-leading-dash", "two words here", "line\nbreak-here", "ümlaut-1234"]
    )
    def test_an_id_that_is_none_is_replaced(self, sent):
        request = RequestFactory().get("/", headers={"X-Request-ID": sent})
        made = request_id_of(request)
        assert made != sent
        assert len(made) == 32


@pytest.mark.django_db
class TestRequests:
    def test_an_id_comes_back_with_the_answer_and_in_the_line(self, cast, lines, settings):
        settings.LOG_REQUESTS = True
        response = client_of(cast.ann).get("/sweeps/?q=secret", headers={"X-Request-ID": "proxy-0123.abc"})
        assert response["X-Request-ID"] == "proxy-0123.abc"
        (line,) = [line for line in lines if line["logger"] == REQUESTS]
        assert line["request_id"] == "proxy-0123.abc"
        assert (line["route"], line["method"], line["status"]) == ("judges:sweep-list", "GET", 200)
        assert line["user"] == cast.ann.pk
        assert line["ms"] > 0
        assert "secret" not in json.dumps(lines)
        assert cast.ann.username not in json.dumps([line])

    def test_a_refusal_has_one_too(self, client, lines, settings):
        settings.LOG_REQUESTS = True
        response = client.get("/join/a-secret-invitation/?from=mail")
        assert len(response["X-Request-ID"]) == 32
        assert lines[-1]["request_id"] == response["X-Request-ID"]
        assert "a-secret-invitation" not in json.dumps(lines)

    def test_probes_are_not_logged_and_nothing_is_by_default(self, client, lines, settings):
        client.get("/login/")
        settings.LOG_REQUESTS = True
        client.get("/healthz")
        assert [line for line in lines if line["logger"] == REQUESTS] == []


class TestTasks:
    def test_a_task_has_the_id_of_the_request_that_sent_it(self):
        headers: dict = {}
        with log_fields_bound(request_id="r-12345678"):
            task_sent(headers=headers)
        assert headers == {HEADER: {"request_id": "r-12345678"}}
        wake.push_request(id="t1", hostname="celery@one", **headers)
        try:
            task_began(task_id="t1", task=wake)
            assert log_fields() == {
                "task": "judges.wake",
                "task_id": "t1",
                "worker": "celery@one",
                "request_id": "r-12345678",
            }
            task_ended(task_id="t1")
            task_ended(task_id="t1")
            assert log_fields() == {}
        finally:
            wake.pop_request()

"""An address that is no model server: secrets stay here, nothing of it is read out, and it can't fill the memory."""

import contextlib
import gzip
import http.server
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from judges.backends.errors import EndpointError, MisbehavingServerError, TransientBackendError
from judges.backends.openai import OpenAIBackend
from judges.backends.wire import WireRequest
from judges.services.endpoints import endpoint_create, endpoint_try
from tests.judges.props import endpoint_make

pytestmark = pytest.mark.service

CHAT = WireRequest(kind="chat", model="m", messages=(("user", "?"),))
ROOT = Path(__file__).resolve().parents[3]


def outcome_of(backend: OpenAIBackend) -> object:
    try:
        backend.submit(0, CHAT)
        while True:
            for _, outcome in backend.drain(30.0):
                return outcome
    finally:
        backend.close()


@contextlib.contextmanager
def listening(answer: bytes, *headers: tuple[str, str], status: int = 200):
    """A server that notes what it is sent and answers everything with the same bytes."""
    heard: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(str(self.headers))
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in (("Content-Length", str(len(answer))), *headers):
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(OSError):  # the other side has heard enough
                self.wfile.write(answer)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", heard
        server.shutdown()


@pytest.mark.parametrize("variable", ["DATABASE_URL", "DJANGO_SECRET_KEY", "PATH", "PROLIFIC_API_TOKEN"])
@pytest.mark.django_db
def test_a_secret_that_is_no_model_key_cannot_be_sent_anywhere(variable, monkeypatch):
    monkeypatch.setenv(variable, "postgres://user:hunter2@db/site")
    with listening(b"{}") as (url, heard):
        with pytest.raises(ValidationError, match="not listed as a key of a model server"):
            endpoint_create(name="mine", base_url=url, api_key_env=variable)
        stored = endpoint_make(url, api_key_env=variable)  # as an older version let it
        trial = endpoint_try(endpoint=stored, model="m")
        assert "not listed as a key of a model server" in trial.error
        assert "hunter2" not in trial.error
        with pytest.raises(EndpointError, match="MODEL_KEY_VARIABLES"):
            OpenAIBackend(base_url=url, api_key_env=variable)
    assert heard == []


def test_a_variable_that_the_operator_lists_is_sent(monkeypatch):
    monkeypatch.setenv("MODEL_KEY_VARIABLES", "OTHER_KEY, MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-1")
    with listening(b"{}") as (url, heard):
        outcome_of(OpenAIBackend(base_url=url, api_key_env="MY_KEY"))
    assert "Authorization: Bearer sk-1" in heard[0]


REFUSED = [
    *(
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[fe80::1]",
        "0xA9FEA9FE",
        "2852039166",
    ),
    *("0.0.0.0", "[::]", "224.0.0.1", "100.100.100.200", "169.254.1.1", "[2002:a9fe:a9fe::]"),
]


@pytest.mark.parametrize("host", REFUSED)
def test_link_local_and_metadata_addresses_are_refused(host):
    with pytest.raises(EndpointError, match="is no address of a model server"):
        OpenAIBackend(base_url=f"http://{host}/v1")


@pytest.fixture
def names(monkeypatch):
    """A DNS in which the test says what a name leads to, look-up by look-up."""
    real, book = socket.getaddrinfo, {}

    def looked_up(host, port, *args, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        if name not in book:
            return real(host, port, *args, **kwargs)
        found = book[name].pop(0) if len(book[name]) > 1 else book[name][0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port or 0))]

    monkeypatch.setattr(socket, "getaddrinfo", looked_up)
    return book


def test_a_name_that_leads_elsewhere_once_it_was_checked_is_refused_at_the_connection(names):
    names["models.example"] = ["93.184.216.34", "169.254.169.254"]
    outcome = outcome_of(OpenAIBackend(base_url="http://models.example/v1"))
    assert isinstance(outcome, EndpointError)
    assert "169.254.169.254 is no address of a model server" in str(outcome)


@pytest.mark.parametrize("name", ["intranet", "models.internal", "box.local", "a.lan"])
def test_what_is_local_is_decided_by_where_a_name_leads(names, name):
    names[name] = ["93.184.216.34"]
    with pytest.raises(EndpointError, match="neither this machine nor in a private network"):
        OpenAIBackend(base_url=f"http://{name}/v1", is_local=True)
    names[name] = ["10.1.2.3", "93.184.216.34"]
    outcome = outcome_of(OpenAIBackend(base_url=f"http://{name}/v1", is_local=True))
    assert isinstance(outcome, EndpointError)
    assert "neither this machine nor in a private network" in str(outcome)


def test_a_local_name_with_two_addresses_is_reached_by_the_one_that_answers():
    """`localhost` often leads to ::1 first, where nothing listens."""
    with listening(b"{}") as (url, heard):
        outcome_of(OpenAIBackend(base_url=url.replace("127.0.0.1", "localhost"), is_local=True))
    assert len(heard) == 1


@pytest.mark.parametrize("status", [200, 400, 403, 404, 500])
@pytest.mark.parametrize(
    "body", [b"<h1>Payroll: alice 5000</h1>", b'{"salaries": {"alice": 5000}}', b'["alice"]']
)
def test_nothing_of_a_page_that_is_no_model_server_is_read_out(status, body):
    with listening(body, status=status) as (url, _):
        outcome = outcome_of(OpenAIBackend(base_url=url))
    assert isinstance(outcome, Exception)
    assert "alice" not in str(outcome)
    assert str(status) in str(outcome)


def test_what_a_model_server_says_of_an_error_is_kept():
    with listening(b'{"error": {"message": "The prompt is too long."}}', status=400) as (url, _):
        assert "The prompt is too long." in str(outcome_of(OpenAIBackend(base_url=url)))


def test_a_compressed_reply_is_refused_before_it_is_unpacked():
    bomb = gzip.compress(b"[" + b"0," * 5_000_000 + b"0]")
    with listening(bomb, ("Content-Encoding", "gzip")) as (url, heard):
        outcome = outcome_of(OpenAIBackend(base_url=url))
    assert isinstance(outcome, MisbehavingServerError)
    assert "compressed" in str(outcome)
    assert "gzip" not in heard[0]


def test_a_name_that_leads_nowhere_is_tried_again_later():
    outcome = outcome_of(OpenAIBackend(base_url="http://no-such-host.invalid/v1"))
    assert isinstance(outcome, TransientBackendError)
    assert "cannot be looked up" in str(outcome)


MEMORY = """
import http.server, resource, sys, threading
sys.path.insert(0, ".")
from judges.backends.openai import OpenAIBackend
from judges.backends.wire import WireRequest
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(200 << 20))
        self.end_headers()
        try:
            for _ in range(200):
                self.wfile.write(BLOCK)
        except OSError:
            pass
    def log_message(self, *args):
        pass
BLOCK = b"[]," * (1 << 20)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
backend = OpenAIBackend(base_url=f"http://127.0.0.1:{server.server_address[1]}/v1", capacity=16)
chat = WireRequest(kind="chat", model="m", messages=(("user", "?"),))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for token in range(32):
    backend.submit(token, chat)
got = []
while len(got) < 32:
    got += backend.drain(30.0)
backend.close()
assert all(isinstance(outcome, Exception) for _, outcome in got), got
assert any("MiB" in str(outcome) for _, outcome in got), got
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_servers_that_send_200_MB_each_take_a_bounded_part_of_the_memory():
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 400_000  # kB; 16 at once held 1.9 GB when each had its own limit

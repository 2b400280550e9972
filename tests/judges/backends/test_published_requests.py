"""What published judges send beside their prompts: favored and avoided tokens, and functions to call."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from judges.backends.errors import PermanentBackendError
from judges.backends.token_biases import own_biases
from judges.backends.wire import build_wire
from judges.strategies.types import Chat
from tests.judges.backends.test_openai import ask

pytestmark = pytest.mark.service

BIASES = (("Both", -100.0), ("Neither one", -100.0), ("Output (a)", 7.0))
IDS = {"Both": [1], "Neither one": [2, 3], "Output (a)": [4, 5]}
EXPECTED = {1: -100.0, 4: 7.0, 5: 7.0}
CHAT = Chat((("user", "Which?"),), top_p=0.25, biases=BIASES)


@pytest.fixture
def server():
    """A server that knows its tokens, unless `tokens` says otherwise, and keeps what it was sent."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.server.seen.append((self.path, body))
            reply, status = {"choices": [{"message": self.server.message, "finish_reason": "stop"}]}, 200
            if self.path == "/tokenize":
                assert body["add_special_tokens"] is False
                reply, status = (
                    ({"tokens": IDS[body["prompt"]]}, 200)
                    if self.server.tokens
                    else ({"detail": "Not Found"}, 404)
                )
            data = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args):
            pass

    found = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.seen, found.tokens, found.message = [], True, {"content": "A"}
    found.url = f"http://127.0.0.1:{found.server_address[1]}/v1"
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


def test_the_arguments_of_a_function_are_the_answer(server):
    call = {"function": {"name": "rank", "arguments": '{"best": 1}'}}
    server.message = {"content": None, "tool_calls": [call]}
    assert (
        ask(server.url, "m", Chat((("user", "Which?"),), function='{"name": "rank"}')).text == '{"best": 1}'
    )
    assert server.seen[-1][1]["tools"] == [{"type": "function", "function": {"name": "rank"}}]
    for odd in (None, [], [3], [{"function": None}], [{"function": {"arguments": {}}}]):
        server.message = {"content": "A", "tool_calls": odd}
        assert ask(server.url, "m", Chat((("user", "Which?"),), function='{"name": "rank"}')).text == "A"


def test_the_servers_own_tokens_are_biased(server):
    assert ask(server.url, "m", CHAT).text == "A"
    *tokenized, (path, body) = server.seen
    assert path == "/v1/chat/completions"
    assert [each["prompt"] for _, each in tokenized] == list(IDS)
    assert (body["logit_bias"], body["top_p"]) == (
        {str(token): bias for token, bias in EXPECTED.items()},
        0.25,
    )


def test_a_vendors_tokens_are_tiktokens_or_the_request_is_refused(server, monkeypatch):
    server.tokens = False
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    failure = ask(server.url, "gpt-4", CHAT)
    assert type(failure) is PermanentBackendError
    assert "nobody here knows the tokens of gpt-4" in str(failure)
    # Its form alone: it would fetch its vocabulary over the network.
    encoding = SimpleNamespace(encode=IDS.__getitem__)
    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model=lambda _: encoding))
    assert ask(server.url, "gpt-4", CHAT).text == "A"
    assert server.seen[-1][1]["logit_bias"] == {str(token): bias for token, bias in EXPECTED.items()}


def test_a_model_in_the_worker_has_its_own_tokens():
    tokenizer = SimpleNamespace(
        encode=lambda text, add_special_tokens: [] if add_special_tokens else IDS[text]
    )
    assert own_biases(build_wire(CHAT, model="m"), tokenizer) == EXPECTED
    assert own_biases(build_wire(Chat(()), model="m"), None) == {}

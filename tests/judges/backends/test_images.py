"""The bodies of requests that show images."""

import base64
import sys

import pytest

from annotation.domain.images import stored_image
from judges.backends.anthropic_protocol import build_message
from judges.backends.errors import PermanentBackendError
from judges.backends.images import refuse_images
from judges.backends.openai_protocol import build_body
from judges.backends.registry import create_backend
from judges.backends.server_process import COMMAND_VARIABLE
from judges.backends.warm import shutdown_all
from judges.backends.wire import WireRequest
from judges.strategies.types import Decoding
from tests.annotation.pictures import picture
from tests.judges.backends.test_local_parts import Echo, backend_make, drained

DIGEST = "0" * 64
TEXT = f"Before.\n\n{stored_image('a cat', DIGEST)}\n\nAfter."
PNG = picture()
ENCODED = base64.b64encode(PNG).decode()


def request(text=TEXT, role="user", **fields):
    return WireRequest("chat", "m", ((role, text),), Decoding(max_tokens=5), **fields)


def openai(wire, images):
    return build_body(wire, structured="none", max_tokens_field="max_tokens", extra={}, images=images)[
        "messages"
    ]


def anthropic(wire, images):
    return build_message(wire, structured="none", extra={}, images=images)["messages"]


def test_openai_has_a_part_for_each_text_and_image():
    (message,) = openai(request(), {DIGEST: PNG}.get)
    assert message["content"] == [
        {"type": "text", "text": "Before.\n\n"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}},
        {"type": "text", "text": "\n\nAfter."},
    ]


def test_anthropic_has_its_own():
    (message,) = anthropic(request(), {DIGEST: PNG}.get)
    source = {"type": "base64", "media_type": "image/png", "data": ENCODED}
    assert message["content"][1] == {"type": "image", "source": source}


@pytest.mark.parametrize("build", [openai, anthropic])
def test_a_text_without_images_is_sent_as_it_always_was(build):
    text = "![x](image:1) and ![y](https://example.org/y.png)"
    assert build(request(text), None)[0]["content"] == text


@pytest.mark.parametrize("build", [openai, anthropic])
@pytest.mark.parametrize(
    ("images", "words"), [(None, "nothing says that the endpoint's models take them"), ({}.get, "is missing")]
)
def test_what_cannot_be_sent_is_refused(build, images, words):
    with pytest.raises(PermanentBackendError, match=words):
        build(request(), images)


def test_anthropic_takes_none_in_a_system_message():
    with pytest.raises(PermanentBackendError, match="system message"):
        anthropic(request(role="system"), {DIGEST: PNG}.get)


@pytest.mark.parametrize("fields", [{"text": TEXT}, {"prefix": TEXT}])
def test_only_chat_requests_show_images(fields):
    with pytest.raises(PermanentBackendError, match="only chat requests"):
        refuse_images(WireRequest("score", "m", (), **fields))
    refuse_images(WireRequest("score", "m", (), text="plain"))


@pytest.mark.parametrize("kind", ["chat", "score", "embed"])
def test_an_engine_in_this_process_is_not_shown_the_name_of_an_image(kind):
    Echo.loads = 0
    backend = backend_make()
    texts = {"messages": (("user", TEXT),)} if kind == "chat" else {"messages": (), "text": TEXT}
    backend.submit(1, WireRequest(kind, "echo", **texts))
    error = drained(backend, 1)[1]
    backend.close()
    assert isinstance(error, PermanentBackendError)
    assert "the engine of 'echo' in this process is sent texts alone" in str(error)


SERVER = """
import os, sys
sys.path.insert(0, os.getcwd())
from judges.backends.mock_server import MockServer
given = dict(zip(sys.argv, sys.argv[1:]))
server = MockServer(port=int(given["--port"]))
server.behind[given["--served-model-name"]] = "mock-echo", ""
class Handler(server.RequestHandlerClass):
    def do_GET(self):  # vLLM's own, which says that it is up
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
server.RequestHandlerClass = Handler
server.serve_forever()
"""


@pytest.mark.service
def test_a_server_that_the_worker_starts_is_shown_images(tmp_path, monkeypatch):
    script, model = tmp_path / "serve.py", tmp_path / "model"
    script.write_text(SERVER)
    model.mkdir()
    (model / "config.json").write_text("{}")
    monkeypatch.setenv(COMMAND_VARIABLE, f"{sys.executable} {script}")
    options = {"model": str(model), "structured": "none", "images": {DIGEST: PNG}.get}
    backend = create_backend("vllm_server", options=options)
    try:
        backend.submit(1, WireRequest("chat", str(model), (("user", TEXT),), Decoding(max_tokens=100)))
        answer = drained(backend, 1)[1]
    finally:
        backend.close()
        shutdown_all()
    assert answer.text.startswith("Before.\n\n[image/png ")

"""The bodies of requests that show images."""

import base64

import pytest

from annotation.domain.images import stored_image
from judges.backends.anthropic_protocol import build_message
from judges.backends.errors import PermanentBackendError
from judges.backends.images import refuse_images
from judges.backends.openai_protocol import build_body
from judges.backends.wire import WireRequest
from judges.strategies.types import Decoding
from tests.annotation.pictures import picture

pytestmark = pytest.mark.quick
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

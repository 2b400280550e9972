"""What the mock server sees of images: that they are there, and which. It reads their parts as the two protocols do."""

from base64 import b64decode
from hashlib import sha256
from typing import Any

_PICTURES = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff"}


def seen(content: object) -> object:
    """Return the content of a message with each image as words: its media type and the beginning of its SHA-256.

    Raises
    ------
    KeyError, TypeError, ValueError
        A part is none that the protocols have, or an image is not what it says.
    """
    if not isinstance(content, list):
        return content
    return "".join(part["text"] if part["type"] == "text" else _seen(part) for part in content)


def _seen(part: dict[str, Any]) -> str:
    if part["type"] == "image_url":
        kind, _, encoded = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
    elif part["type"] == "image":
        kind, encoded = part["source"]["media_type"], part["source"]["data"]
    else:
        raise ValueError(part["type"])
    data = b64decode(encoded, validate=True)
    if not data.startswith(_PICTURES[kind]):
        raise ValueError(kind)
    return f"[{kind} {sha256(data).hexdigest()[:12]}]"

"""Images in texts: Markdown images whose address is the name of an image that is stored with the dataset.

``![A bar chart](image:DIGEST)``: the digest is the SHA-256 (64 hex digits) of the file that was imported, so the text
says which image is shown, and so do the requests to judges and their hashes.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

SCHEME = "image:"
DIGEST = re.compile(r"[0-9a-f]{64}")
# Markdown's own form; a description has no line break, an address in <> may have spaces.
MARKDOWN_IMAGE = re.compile(
    r'!\[(?P<alt>[^\[\]\n]{0,2000})\]\((?:<(?P<spaced>[^<>\n]+)>|(?P<address>[^()<>\s]+))(?:\s+"[^"\n]*")?\)'
)
_STORED = re.compile(rf"!\[(?P<alt>[^\[\]\n]{{0,2000}})\]\({SCHEME}(?P<digest>[0-9a-f]{{64}})\)")

ImageReader: TypeAlias = Callable[[str], bytes | None]
"""From the digest of a stored image to its bytes; None where there is none."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image at its place in a text."""

    alt: str
    digest: str


def has_images(text: str) -> bool:
    """Whether a text shows stored images."""
    return SCHEME in text and _STORED.search(text) is not None


def image_digests(text: str) -> list[str]:
    """Return the digests of the stored images that a text shows, in their order.

    >>> image_digests("Look: ![a cat](image:" + "0" * 64 + ") and ![b](b.png)") == ["0" * 64]
    True
    """
    return [found["digest"] for found in _STORED.finditer(text)] if SCHEME in text else []


def text_and_images(text: str) -> Iterator[str | ImagePart]:
    """Yield the texts between stored images, and the images, in their order; no empty text.

    >>> [type(part).__name__ for part in text_and_images("Look: ![a cat](image:" + "0" * 64 + ")")]
    ['str', 'ImagePart']
    """
    place = 0
    for found in _STORED.finditer(text):
        if said := text[place : found.start()]:
            yield said
        yield ImagePart(found["alt"], found["digest"])
        place = found.end()
    if said := text[place:]:
        yield said


def stored_image(alt: str, digest: str) -> str:
    """Return the Markdown of a stored image."""
    return f"![{alt}]({SCHEME}{digest})"


def media_type(data: bytes) -> str:
    """Return the media type of a stored image, which is a PNG or a JPEG file.

    >>> media_type(b"\\x89PNG\\r\\n\\x1a\\n")
    'image/png'
    """
    return "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"

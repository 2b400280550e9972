"""Images in what is sent: a message that shows stored images becomes the parts that a protocol has for them.

The text of a request names images by their content (`annotation.domain.images`), so its hash covers them; their bytes
are read when it is sent, and kept nowhere else.
"""

from base64 import b64encode
from collections.abc import Callable
from typing import Any, TypeAlias

from annotation.domain.images import ImageReader, has_images, media_type, text_and_images
from judges.backends.errors import PermanentBackendError
from judges.backends.wire import WireRequest

ImageForm: TypeAlias = Callable[[str, str], dict[str, Any]]
"""From a media type and base64 to a protocol's part of a message."""


def openai_image(kind: str, encoded: str) -> dict[str, Any]:
    """Return an image as OpenAI's chat protocol has it."""
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{encoded}"}}


def anthropic_image(kind: str, encoded: str) -> dict[str, Any]:
    """Return an image as Anthropic's Messages protocol has it."""
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": encoded}}


def content_of(text: str, images: ImageReader | None, form: ImageForm) -> str | list[dict[str, Any]]:
    """Return the content of a message: the text itself, or its parts where it shows stored images.

    Raises
    ------
    PermanentBackendError
        It shows images and they can't be sent: `images` is None, or a file is missing.
    """
    if not has_images(text):
        return text
    if images is None:
        raise PermanentBackendError(NOT_TAKEN)
    found: list[dict[str, Any]] = []
    for part in text_and_images(text):
        if isinstance(part, str):
            if part.strip():
                found.append({"type": "text", "text": part})
            continue
        data = images(part.digest)
        if data is None:
            raise PermanentBackendError(f"The file of the image {part.digest[:12]} is missing.")
        found.append(form(media_type(data), b64encode(data).decode("ascii")))
    return found


def shows_images(request: WireRequest) -> bool:
    """Whether a text of a request shows stored images."""
    return any(map(has_images, (request.text, request.prefix, *(text for _, text in request.messages))))


def refuse_images(request: WireRequest) -> None:
    """Raise PermanentBackendError for a request that shows images where only chat requests may."""
    if shows_images(request):
        raise PermanentBackendError(
            f"The request shows images, which only chat requests can ('{request.kind}')."
        )


NOT_TAKEN = (
    "The request shows images, and nothing says that the endpoint's models take them: choose Images there."
)

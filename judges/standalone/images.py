"""Images that items show to a judge without a site: whether it can see them, and those of calls."""

from __future__ import annotations

import os
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, TypeAlias

from annotation.importers.errors import ImportFileError, quoted
from annotation.importers.images import image_bytes, image_encode
from annotation.importers.records import ImageRecord
from judges.backends.registry import backend_info
from judges.strategies.asked import imageless_requests
from judges.strategies.spec import JudgeSpec

GivenImage: TypeAlias = bytes | str | os.PathLike[str]
"""The bytes of an image file, or its path."""
KEPT_BYTES = 64 * 2**20
"""Of images that no request shows at the moment, which the next call may show again."""


def why_unseen(spec: JudgeSpec, *, takes_images: bool, otherwise: str) -> str:
    """Return why a judge's models can't see the image that an item shows, as the end of a sentence about it.

    Empty where they can. Baselines without a model read the text alone.

    Parameters
    ----------
    takes_images : bool
        What is said of the models.
    otherwise : str
        How to say that they do.
    """
    models = spec.models().values()
    for name in sorted({model.backend for model in models}):
        if not backend_info(name).takes_images:
            return (
                f"shows an image, which the backend '{name}' can't send: "
                "ask the model through a server with OpenAI's protocol."
            )
    for request in imageless_requests(spec) if models else ():
        return f"shows an image, and the judge asks for {request}, which can't be of images."
    if models and not takes_images:
        return f"shows an image, and the judge's models take none as far as you say: {otherwise} if they do."
    return ""


class CallImages:
    """The images of calls, in memory for as long as a call shows them, and the last ones a while longer.

    Safe between threads.
    """

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._lock = Lock()
        self._images: OrderedDict[str, tuple[bytes, ImageRecord]] = OrderedDict()
        self._shown: Counter[str] = Counter()

    def read(self, digest: str) -> bytes | None:
        """Return the bytes of an image; None where there is none."""
        with self._lock:
            found = self._images.get(digest)
        return None if found is None else found[0]

    def __len__(self) -> int:
        return len(self._images)

    def release(self, digests: Collection[str]) -> None:
        """Say that a call which showed these images has its answer."""
        with self._lock:
            self._shown.subtract(digests)
            self._forget()

    def add(self, data: bytes) -> ImageRecord:
        """Encode an image file and keep it until `release`, once for each time; raises ImageError."""
        digest = sha256(data).hexdigest()
        with self._lock:
            known = self._images.get(digest)
        if known is None:
            made = image_encode(data)  # which may take a second: other callers go on meanwhile
            record = ImageRecord(digest, made.width, made.height, len(made.data))
            known = (made.data, record)
        with self._lock:
            self._images[digest] = known
            self._images.move_to_end(digest)
            self._shown[digest] += 1
        return known[1]

    def _forget(self) -> None:
        """Drop the images that were shown longest ago, until those that no call shows are few."""
        idle = [digest for digest in self._images if self._shown[digest] <= 0]
        size = sum(len(self._images[digest][0]) for digest in idle)
        for digest in idle:
            if size <= self._kept_bytes:
                break
            size -= len(self._images.pop(digest)[0])
            del self._shown[digest]


class OneCall:
    """Where the images of one call are stored: it knows which ones they are, to release them."""

    def __init__(self, images: CallImages) -> None:
        self._images = images
        self.digests: list[str] = []

    def add(self, data: bytes) -> ImageRecord:
        """Encode an image file and keep it until the call releases it; raises ImageError."""
        record = self._images.add(data)
        self.digests.append(record.digest)
        return record

    def read(self, digest: str) -> bytes | None:
        """Return the bytes of an image; None where there is none."""
        return self._images.read(digest)

    def release(self) -> None:
        """Say that the call has its answers, or never will have."""
        digests, self.digests = self.digests, []
        self._images.release(digests)

    def release_after(self, asked: Sequence[Future[Any]]) -> None:
        """Release the images once all of these are done."""
        left, lock = len(asked), Lock()

        def done(_: Future[Any]) -> None:
            nonlocal left
            with lock:
                left -= 1
                is_last = not left
            if is_last:
                self.release()

        for each in asked:
            each.add_done_callback(done)


def images_given(images: object) -> dict[str, bytes]:
    """Return the images of a call by the name that its texts have for them.

    Parameters
    ----------
    images : mapping of str to GivenImage

    Raises
    ------
    ImportFileError
        Names the image that is none: no bytes and no path of a file.
    """
    if not isinstance(images, Mapping):
        _fail("images", f"expected images by name, found {quoted(images)}.")
    found = {}
    for name, image in images.items():
        if not isinstance(name, str) or not name.strip():
            _fail("images", f"expected names as texts, found {quoted(name)}.")
        field = f"images.{name[:60]}"
        if isinstance(image, bytes | bytearray | memoryview):
            found[name] = bytes(image)
        elif isinstance(image, str | os.PathLike):
            path = Path(image)
            if not path.is_file():
                _fail(field, f"expected an image file, found none at {quoted(str(path))}.")
            found[name] = image_bytes(path)
        else:
            _fail(field, f"expected bytes or a path, found {quoted(image)}.")
    return found


def _fail(field: str, message: str) -> NoReturn:
    raise ImportFileError("item", None, field, message)

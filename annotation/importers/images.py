"""Images that come with a dataset: found in its texts, checked, encoded anew, and stored by content.

A file of another's making isn't served as it came: it is decoded, turned upright, made no larger than needed and
encoded again, so that neither metadata (places, names of people) nor anything that isn't a picture remains. Its name is
the SHA-256 of the file that came, so that the same file imported again is the same image whatever encoded it.
"""

import base64
import binascii
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import unquote

from annotation.domain.images import DIGEST, MARKDOWN_IMAGE, SCHEME, stored_image
from annotation.importers.archives import folder_or_zip
from annotation.importers.errors import Faults, ImportFileError, quoted
from annotation.importers.files import mebibytes
from annotation.importers.generic import read_generic, read_generic_parts
from annotation.importers.records import DatasetBundle, ImageRecord, Origin, Turns

MAX_BYTES = 20 * 2**20
"""Of one file, as it comes."""
MAX_PIXELS = 50_000_000
MAX_PIXELS_OF = {"WEBP": 20_000_000}
"""Of formats whose decoder takes several times the memory of the picture."""
MAX_SIDE = 4096
"""Pixels of the longer side that are kept: what a screen can show, enlarged."""
SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".gif")
TABLE_SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet")
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_DATA = "data:image/"
RESPONSES = "responses"


class ImageError(ValueError):
    """A file that can't be used as an image; the message says why, and what was expected."""


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """A picture as it is served: PNG or JPEG, without metadata."""

    data: bytes
    width: int
    height: int


def image_encode(data: bytes) -> EncodedImage:
    """Decode an image file and encode it anew, upright, without metadata, at most `MAX_SIDE` pixels a side.

    A JPEG file stays one, everything else becomes PNG; of an animation the first picture is kept.

    Raises
    ------
    ImageError
        Not a PNG, JPEG, WebP or GIF file, a damaged one, or one with too many bytes or pixels.
    """
    from PIL import Image, ImageOps

    if len(data) > MAX_BYTES:
        raise ImageError(f"expected at most {mebibytes(MAX_BYTES)}, found {mebibytes(len(data))}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # a bound of our own follows
            opened = Image.open(BytesIO(data), formats=_FORMATS)
        width, height = opened.size
        most = MAX_PIXELS_OF.get(opened.format or "", MAX_PIXELS)
        if width * height > most:
            raise ImageError(f"expected at most {most:,} pixels, found {width:,} x {height:,}.")
        is_jpeg = opened.format == "JPEG"
        opened.seek(0)
        is_clear = "transparency" in opened.info or opened.mode in ("RGBA", "LA", "PA")
        mode = "RGBA" if is_clear and not is_jpeg else "RGB"
        # No copy of what may be 200 MB: made smaller in place, where JPEG is decoded no larger than that takes.
        picture: Image.Image = opened if opened.mode == mode else opened.convert(mode)
        picture.thumbnail((MAX_SIDE, MAX_SIDE))
        picture = ImageOps.exif_transpose(picture)
        # A new picture of the same pixels: what Pillow read beside them would be written again.
        plain = Image.new(picture.mode, picture.size)
        plain.paste(picture)
        out = BytesIO()
        plain.save(out, **({"format": "JPEG", "quality": 90} if is_jpeg else {"format": "PNG"}))
    except ImageError:
        raise
    except Image.DecompressionBombError:
        raise ImageError(f"expected at most {MAX_PIXELS:,} pixels, found many more.") from None
    except Exception:  # Pillow raises whatever a damaged file makes its decoders do
        raise ImageError("expected a PNG, JPEG, WebP or GIF file, found none or a damaged one.") from None
    return EncodedImage(out.getvalue(), *plain.size)


@dataclass(frozen=True, slots=True)
class ImageFolder:
    """A folder of images by digest; a file in it is whole and never changes.

    Datasets that show the same image share its file. Which datasets show it is not known here, so files that no dataset
    shows are removed elsewhere, when they are old enough that no import can be about to use them.
    """

    path: Path

    def place(self, digest: str) -> Path:
        """Return where an image of this digest is, or would be; raises ValueError for what is no digest."""
        if not DIGEST.fullmatch(digest):
            raise ValueError(f"expected 64 hexadecimal digits, found {digest!r}")
        return self.path / digest[:2] / digest

    def read(self, digest: str) -> bytes | None:
        """Return the bytes of an image; None where there is none."""
        try:
            return self.place(digest).read_bytes()
        except FileNotFoundError:
            return None

    def add(self, data: bytes) -> ImageRecord:
        """Encode a file that came, and keep it; one that is there already is not encoded again.

        Raises
        ------
        ImageError
            As `image_encode`.
        """
        digest = sha256(data).hexdigest()
        place = self.place(digest)
        try:
            os.utime(place)  # wanted again: young, so not removed before its dataset is stored
            there = place.read_bytes()
        except FileNotFoundError:
            made = image_encode(data)
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".new-", delete=False) as file:
                file.write(made.data)
            Path(file.name).replace(place)
            return ImageRecord(digest, made.width, made.height, len(made.data))
        width, height = _size(there)
        return ImageRecord(digest, width, height, len(there))

    def files(self) -> Iterator[Path]:
        """Yield the files there are, unfinished ones too."""
        yield from (path for path in self.path.glob("??/*") if path.is_file())


def _size(data: bytes) -> tuple[int, int]:
    from PIL import Image

    with Image.open(BytesIO(data), formats=_FORMATS) as opened:
        return opened.size


@contextmanager
def table_and_images(path: str | Path) -> Iterator[tuple[Path, Path | None]]:
    """Give the file of items at a path, and the folder that its images are named from.

    A folder or a zip archive has one file of items at its top, and its images beside it or in folders. A file by itself
    has no images but those within it.

    Raises
    ------
    ImportFileError
        No file of items at the top of the folder or archive, or several.
    """
    given = Path(path)
    if not given.is_dir() and given.suffix.lower() != ".zip":
        yield given, None
        return
    with folder_or_zip(given) as folder:
        tables = sorted(
            one
            for one in folder.iterdir()
            if one.is_file() and one.suffix.lower() in TABLE_SUFFIXES and not one.name.startswith(".")
        )
        if len(tables) != 1:
            found = ", ".join(one.name for one in tables[:5]) or "none"
            raise ImportFileError(
                given, None, None, f"expected one file of items ({', '.join(TABLE_SUFFIXES)}), found {found}."
            )
        yield tables[0], folder


def read_generic_with_images(path: str | Path, images: ImageFolder, **options: Any) -> DatasetBundle:
    """Read a file of items in the generic format, or a folder or zip archive of it and its images.

    Parameters
    ----------
    images
        Where the images are kept.
    options
        Those of `read_generic`.

    Raises
    ------
    ImportFileError
        As `read_generic`, `table_and_images` and `images_attach`.
    """
    with table_and_images(path) as (table, folder):
        return images_attach(read_generic(table, **options), images, folder)


def read_generic_parts_with_images(
    path: str | Path, images: ImageFolder, **options: Any
) -> Iterator[DatasetBundle]:
    """As `read_generic_with_images`, in the parts of `read_generic_parts`."""
    with table_and_images(path) as (table, folder):
        attaching = ImageAttaching(images, folder)
        for part in read_generic_parts(table, **options):
            yield attaching.attach(part)


def images_attach(bundle: DatasetBundle, images: ImageFolder, folder: Path | None) -> DatasetBundle:
    """Return the bundle with its images stored, and named by their digests in its texts.

    Names are looked up in `folder`, where there is one; images within a text (``data:`` addresses) are stored too.
    Addresses on other servers stay what they are: text.

    Raises
    ------
    ImportFileError
        An image is missing or can't be used: file, row, field, and what was expected.
    """
    return ImageAttaching(images, folder).attach(bundle)


class ImageStore(Protocol):
    """Where the images of bundles are kept."""

    def add(self, data: bytes) -> ImageRecord:
        """Encode a file that came, and keep it; raises ImageError."""
        ...

    def read(self, digest: str) -> bytes | None:
        """Return the bytes of an image; None where there is none."""
        ...


class ImageAttaching:
    """Stores the images of bundles of one file, each image once, however many bundles show it.

    Parameters
    ----------
    images : ImageStore
    folder : Path or None
        Where names are looked up.
    given : mapping of str to bytes, optional
        Images by the name that texts have for them; before those of the folder.

    Attributes
    ----------
    has_any : bool
        A text of a bundle so far shows an image that is stored.
    used : set of str
        The names in ``given`` that a text so far shows.
    """

    def __init__(
        self, images: ImageStore, folder: Path | None, given: Mapping[str, bytes] = MappingProxyType({})
    ) -> None:
        self.images, self.folder, self.given = images, folder, given
        self.has_any = False
        self.used: set[str] = set()
        self._read: dict[Path, ImageRecord] = {}
        self._found: dict[str, ImageRecord] = {}
        self._faults = Faults()

    def attach(self, bundle: DatasetBundle) -> DatasetBundle:
        """Return a bundle as `images_attach` does; raises as it does."""
        self._found, self._faults = {}, Faults()
        origins = {one.key: one.origin for one in bundle.instructions}
        instructions = tuple(self._instruction(one) for one in bundle.instructions)
        responses = tuple(
            self._record(one, origins[one.instruction], RESPONSES, texts=("text",), turns=("messages",))
            for one in bundle.responses
        )
        items = tuple(
            self._record(one, one.origin, "explanation", texts=("explanation",)) for one in bundle.items
        )
        aspects = tuple(
            self._record(one, origins[one.instruction], "aspects", texts=("text",)) for one in bundle.aspects
        )
        self._faults.check()
        if not self._found:
            return bundle
        self.has_any = True
        return replace(
            bundle,
            instructions=instructions,
            responses=responses,
            items=items,
            aspects=aspects,
            images=tuple(self._found.values()),
        )

    def _instruction(self, record: Any) -> Any:
        texts = ("text", "context", "reference")
        return self._record(record, record.origin, "instruction", texts=texts, turns=("conversation",))

    def _record(
        self,
        record: Any,
        origin: Origin,
        named: str,
        *,
        texts: tuple[str, ...],
        turns: tuple[str, ...] = (),
    ) -> Any:
        changes: dict[str, Any] = {}
        for name in texts:
            field = named if name == "text" else name
            if (
                (text := getattr(record, name))
                and "](" in text
                and (new := self._text(text, origin, field)) != text
            ):
                changes[name] = new
        for name in turns:
            spoken: Turns = getattr(record, name)
            new_turns = tuple(
                {**turn, "text": self._text(turn["text"], origin, name)} if "text" in turn else turn
                for turn in spoken
            )
            if new_turns != spoken:
                changes[name] = new_turns
        return replace(record, **changes) if changes else record

    def _text(self, text: str, origin: Origin, field: str) -> str:
        def one(found: Any) -> str:
            address = found["spaced"] or found["address"]
            with self._faults:
                digest = self._digest(address, origin, field)
                return found[0] if digest is None else stored_image(found["alt"], digest)
            return str(found[0])

        return MARKDOWN_IMAGE.sub(one, text)

    def _digest(self, address: str, origin: Origin, field: str) -> str | None:
        """Store an image of a text and return its digest; None for an address that names none of ours."""
        if address.startswith(SCHEME):
            raise ImportFileError(
                origin.file,
                origin.row,
                field,
                f"expected the name of an image file, found {quoted(address)}.",
            )
        try:
            return self._stored(address)
        except ImageError as error:
            if field == RESPONSES:  # models write of images that there are not
                return None
            message = f"image {quoted(address[:60])}: {error}"
            raise ImportFileError(origin.file, origin.row, field, message) from None

    def _stored(self, address: str) -> str | None:
        name = address if address in self.given else unquote(address)
        if name in self.given:
            self.used.add(name)
            return self._shown(self.images.add(self.given[name]))
        if address.startswith(_DATA):
            return self._shown(self.images.add(_decoded(address)))
        if self.folder is None or "://" in address or address.startswith(("data:", "mailto:", "#", "//")):
            return None
        path = self._path(unquote(address))
        if path is None:
            if Path(address).suffix.lower() not in SUFFIXES:
                return None
            raise ImageError("expected a file of this name with the file of items, found none.")
        if path not in self._read:
            self._read[path] = self.images.add(image_bytes(path))
        return self._shown(self._read[path])

    def _path(self, name: str) -> Path | None:
        assert self.folder is not None
        path = Path(os.path.normpath(self.folder / name))
        inside = path.is_relative_to(self.folder) and path.resolve().is_relative_to(self.folder.resolve())
        return path if inside and path.is_file() else None

    def _shown(self, record: ImageRecord) -> str:
        self._found[record.digest] = record
        return record.digest


def _decoded(address: str) -> bytes:
    _, _, encoded = address.partition(";base64,")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise ImageError("expected base64 after ;base64, found something else.") from None


def image_bytes(path: Path) -> bytes:
    """Read an image file, and no more of a larger one than shows that it is too large."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)

"""Pictures as files, each drawn once: kept by the hash of what is drawn."""

import re
import zlib
from collections.abc import Callable
from typing import NamedTuple

from django.core.cache import cache

from metaeval.pictures.picture import Picture
from metaeval.pictures.rendering import to_csv, to_pdf, to_png, to_svg
from web.caching import BoundedCache
from web.csv_text import CONTENT_TYPE as CSV_TYPE

MOST_DRAWN_BYTES = 32_000_000
KEPT_SECONDS = 900
SHARED_SECONDS = 86_400
PAGE = "html"
"""The format that a page shows: the only one that processes share, since every look at the page asks for it."""

_VERSION = re.compile("[0-9a-f]{16}")


class PictureFormat(NamedTuple):
    """A file of a picture: its content type, how it is made."""

    content_type: str
    draw: Callable[[Picture], str | bytes]


def page_drawing(picture: Picture) -> str:
    """The drawing for a page: in CSS variables, and a narrow one for phones beside it where there is one."""
    wide = to_svg(picture, "page")
    return wide if picture.narrow is None else wide + to_svg(picture, "page", narrow=True)


PICTURE_FORMATS = {
    "svg": PictureFormat("image/svg+xml", to_svg),
    "pdf": PictureFormat("application/pdf", to_pdf),
    "png": PictureFormat("image/png", to_png),
    "csv": PictureFormat(CSV_TYPE, to_csv),
    PAGE: PictureFormat("text/html; charset=utf-8", page_drawing),
}
DRAWN: BoundedCache[tuple[str, str], bytes] = BoundedCache(limit=MOST_DRAWN_BYTES, weight=len)


def picture_file(picture: Picture, suffix: str) -> bytes:
    """A picture in one of the `PICTURE_FORMATS`.

    Raises
    ------
    MissingPicturesError
        The extra that draws is not installed; a CSV needs none.
    """

    def draw() -> bytes:
        key = f"drawing:{picture.digest}"
        if suffix == PAGE and (shared := cache.get(key)) is not None:
            return zlib.decompress(shared)
        drawn = PICTURE_FORMATS[suffix].draw(picture)
        made = drawn if isinstance(drawn, bytes) else drawn.encode()
        if suffix == PAGE:
            cache.set(key, zlib.compress(made), SHARED_SECONDS)
        return made

    return DRAWN.get((picture.digest, suffix), draw)


def picture_keep(picture: Picture, reader_id: int) -> None:
    """Have the picture of a page at hand for its reader, whose browser asks for the drawing next."""
    cache.set(_kept_key(picture.name, picture.version, reader_id), picture, KEPT_SECONDS)


def picture_kept(name: str, version: str, reader_id: int) -> Picture | None:
    """A picture that this reader's page had a short while ago. The version comes from an address: any text."""
    if not _VERSION.fullmatch(version):
        return None
    found: Picture | None = cache.get(_kept_key(name, version, reader_id))
    return found


def _kept_key(name: str, version: str, reader_id: int) -> str:
    return f"picture:{reader_id}:{name}:{version}"

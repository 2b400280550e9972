"""Exports that carry the images of a dataset: their files in a zip archive, and their names in the texts."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from annotation.domain.images import DIGEST, SCHEME, media_type
from annotation.models import Dataset
from annotation.services.images import image_folder
from web.tables import ExportTable

FOLDER = "images"
_ADDRESS = re.compile(rf"(?<=\]\(){SCHEME}({DIGEST.pattern})(?=\))")
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg"}


def images_write(archive: ZipFile, dataset: Dataset) -> dict[str, str]:
    """Write the images of a dataset into an archive; returns their names in it, by digest.

    An image whose file is missing has no name: texts keep its digest.
    """
    names: dict[str, str] = {}
    for digest in dataset.images.order_by("digest").values_list("digest", flat=True).iterator():
        data = image_folder().read(digest)
        if data is None:
            continue
        names[digest] = f"{FOLDER}/{digest}.{_SUFFIXES[media_type(data)]}"
        member = ZipInfo(names[digest])
        member.compress_type = ZIP_STORED
        archive.writestr(member, data)
    return names


def images_named(table: ExportTable, names: Mapping[str, str]) -> ExportTable:
    """Return a table whose texts name images by their files in an archive."""
    if not names:
        return table

    def named(value: Any) -> Any:
        if isinstance(value, str):
            return _ADDRESS.sub(lambda found: names.get(found[1], found[0]), value)
        if isinstance(value, Mapping):
            return {key: named(each) for key, each in value.items()}
        return [named(each) for each in value] if isinstance(value, list | tuple) else value

    def rows() -> Iterator[tuple[Any, ...]]:
        for row in table.rows:
            yield tuple(named(value) for value in row)

    return replace(table, rows=rows())

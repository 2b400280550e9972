"""A dataset as a folder that the Hugging Face Hub and `datasets` read, as a zip: Parquet, a card, a Croissant file."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from annotation.peers.croissant import DataFile, DatasetFacts, croissant_document
from annotation.peers.dataset_card import dataset_card
from judges.services.image_exports import images_named
from web.tables import ExportTable, table_bytes

CROISSANT = "croissant.json"
CARD = "README.md"


def huggingface_write(
    file: IO[bytes],
    tables: Iterable[tuple[str, ExportTable]],
    facts: DatasetFacts,
    write_images: Callable[[ZipFile], Mapping[str, str]] = lambda _: {},
) -> None:
    """Write the folder into a file; tables without a row are left out.

    Parameters
    ----------
    write_images : callable, optional
        Writes images into the archive, and returns their names in it.
    """
    written: list[DataFile] = []
    with ZipFile(file, "w") as archive:
        images = write_images(archive)
        for name, table in tables:
            counted = _Counted(images_named(table, images).rows)
            first = counted.first()
            if first is None:
                continue
            path = f"data/{name}.parquet"
            digest, size = sha256(), 0
            member = ZipInfo(path)
            member.compress_type = ZIP_STORED
            with archive.open(member, "w", force_zip64=True) as out:
                for piece in table_bytes(ExportTable(table.columns, counted), "parquet"):
                    out.write(piece)
                    digest.update(piece)
                    size += len(piece)
            columns = [(one.name, one.type, one.about) for one in table.columns]
            written.append(DataFile(name, path, digest.hexdigest(), size, counted.n, columns))
        text = json.dumps(croissant_document(facts, written), ensure_ascii=False, indent=2)
        for name, content in ((CROISSANT, text), (CARD, dataset_card(facts, written))):
            member = ZipInfo(name)
            member.compress_type = ZIP_DEFLATED
            archive.writestr(member, content)


@dataclass(slots=True)
class _Counted:
    """Rows, counted as they are read; the first may be looked at before."""

    rows: Iterable[Sequence[Any]]
    n: int = 0
    _rest: Iterator[Sequence[Any]] | None = None
    _first: Sequence[Any] | None = None

    def first(self) -> Sequence[Any] | None:
        self._rest = iter(self.rows)
        self._first = next(self._rest, None)
        return self._first

    def __iter__(self) -> Iterator[Sequence[Any]]:
        if self._first is not None and self._rest is not None:
            self.n = 1
            yield self._first
            for row in self._rest:
                self.n += 1
                yield row

"""The files of a site that belong to its rows: images of datasets, and uploads that are still to be imported.

They are read twice, before the snapshot of the database and after it, so that every file that a row of the snapshot
names is in the backup although the site goes on:

- An image is there before its row, and stays for a day without one. One that is removed meanwhile was read before.
- An upload is written before its row, and removed when it's imported. One that was still being written at first has
  another size or time afterwards, and is read again.

Finished exports aren't among them: they expire, and can be made again.
"""

import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings

from annotation.domain.images import DIGEST
from annotation.services.images import image_folder
from config.backup.archive import IMAGES, IMPORTS, ArchiveWriter, Member

_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of the site: its name in a backup, where it is, its bytes and the time of its last change (ns)."""

    name: str
    path: Path
    size: int
    changed: int


def stored_files() -> Iterator[StoredFile]:
    """Yield the files there are. One that is removed meanwhile is left out."""
    for path in image_folder().files():
        if DIGEST.fullmatch(path.name):
            yield from _found(f"{IMAGES}{path.name[:2]}/{path.name}", path)
    folder = Path(settings.IMPORTS_DIR)
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield from _found(f"{IMPORTS}{path.name}", path)


def _found(name: str, path: Path) -> Iterator[StoredFile]:
    try:
        info = path.stat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(info.st_mode):
        yield StoredFile(name, path, info.st_size, info.st_mtime_ns)


@dataclass(slots=True)
class FilesBackup:
    """Puts the files of a site into an archive; `add` is called before the snapshot and after it."""

    archive: ArchiveWriter
    images: set[str]
    """The digests of those that are in the archive."""
    _sizes: dict[str, tuple[int, int]]

    @classmethod
    def into(cls, archive: ArchiveWriter) -> "FilesBackup":
        """Begin with none."""
        return cls(archive, set(), {})

    def add(self) -> int:
        """Add the files that aren't there yet or have changed; returns how many were added."""
        added = 0
        for one in stored_files():
            is_image = one.name.startswith(IMAGES)
            # An image never changes; to touch one only says that it's wanted.
            if (
                one.path.name in self.images
                if is_image
                else self._sizes.get(one.name) == (one.size, one.changed)
            ):
                continue
            try:
                file = one.path.open("rb")
            except FileNotFoundError:
                continue
            with file:
                # Of a file that is being written, as much as there is now.
                self.archive.add(one.name, file, os.fstat(file.fileno()).st_size)
            if is_image:
                self.images.add(one.path.name)
            else:
                self._sizes[one.name] = (one.size, one.changed)
            added += 1
        return added


def stored_place(name: str) -> Path:
    """Return where a member of a backup belongs on this site."""
    if name.startswith(IMAGES):
        return image_folder().place(Path(name).name)
    return Path(settings.IMPORTS_DIR) / Path(name).name


def stored_file_restore(member: Member, content: IO[bytes]) -> None:
    """Write a file where it belongs, whole or not at all."""
    place = stored_place(member.name)
    is_image = member.name.startswith(IMAGES)
    place.parent.mkdir(mode=0o777 if is_image else 0o700, parents=True, exist_ok=True)
    file_write(place, content)


def file_write(place: Path, content: IO[bytes]) -> None:
    """Write a file under another name, readable by its owner only, then rename it."""
    # The name is one that the site takes for an unfinished file, and removes after a day.
    with tempfile.NamedTemporaryFile(dir=place.parent, prefix=".new-", delete=False) as file:
        try:
            while block := content.read(_BLOCK):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).replace(place)

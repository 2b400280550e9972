"""Zip archives that somebody sends: unpacked into a folder that is gone afterwards, or refused whole.

Every name is checked before anything is written. What counts of a size is what is unpacked: what an archive says of
its own members need not be so.
"""

import os
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from annotation.importers.errors import ImportFileError, errors_of, quoted
from annotation.importers.files import BLOCK, mebibytes, require_file, require_folder

MAX_MEMBERS = 10_000
MAX_UNPACKED = 512 * 2**20
"""Bytes of all members together, as they are unpacked."""
MAX_PATH = 300
ENTRY = b"PK\x01\x02"
"""Before each entry of an archive's directory, which is read as a whole."""
ENCRYPTED, NAMED_IN_UTF8 = 0x1, 0x800
CLUTTER = "__MACOSX"
SUFFIX = ".zip"


@contextmanager
def folder_or_zip(path: Path) -> Iterator[Path]:
    """The folder at a path, or the members of a zip archive there."""
    if path.suffix.lower() == SUFFIX and not path.is_dir():
        with unpacked(path) as folder:
            yield folder
    else:
        require_folder(path)
        yield path


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The members of a zip archive as a folder of the archive's name. Errors name the member.

    Raises
    ------
    ImportFileError
        Not a zip archive, too many members or bytes, or a member that cannot lie in a folder.
    """
    require_file(path)
    with tempfile.TemporaryDirectory(prefix="touchstone-") as scratch:
        folder = Path(scratch) / path.stem
        folder.mkdir()
        try:
            _unpack(path, folder)
            yield folder
        except ImportFileError as error:
            for one in {error, *errors_of(error)}:
                one.file = one.file.replace(str(folder), str(path), 1)
            raise


def _unpack(path: Path, folder: Path) -> None:
    try:
        if _entries(path) > MAX_MEMBERS:
            raise ImportFileError(path, None, None, f"expected at most {MAX_MEMBERS:,} members, found more.")
        with ZipFile(path) as archive:
            places = _places(path, archive.infolist())
            left = MAX_UNPACKED
            said = 0  # by the archive itself, before anything is unpacked
            for member, _ in places:
                said += member.file_size
                if said > left:
                    raise _too_large(path, member)
            for member, place in places:
                left = _write(path, archive, member, folder / place, left)
    except (BadZipFile, OSError, EOFError, ValueError) as error:
        raise ImportFileError(path, None, None, f"expected a zip archive; {error}.") from None


def _entries(path: Path) -> int:
    """At least as many members as the archive has, before its directory is read into memory."""
    found, before = 0, b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found += (before + block).count(ENTRY)
            before = block[1 - len(ENTRY) :]
    return found


def _places(path: Path, members: list[ZipInfo]) -> list[tuple[ZipInfo, PurePosixPath]]:
    """The files in an archive, and where each belongs in the folder."""
    found: dict[PurePosixPath, ZipInfo] = {}
    folders: set[PurePosixPath] = set()
    for member in members:
        name = _name(path, member)
        if problem := _problem(member, name):
            raise _refused(path, name, problem)
        place = PurePosixPath(name)
        if place.parts[0] == CLUTTER:
            continue
        if place in found or (place in folders and not member.is_dir()):
            raise _refused(path, name, "expected a name of its own, found it twice.")
        if taken := next((above for above in place.parents if above in found), None):
            raise _refused(
                path, name, f"expected a folder {quoted(str(taken))}, found a file of this name too."
            )
        folders |= {place, *place.parents} if member.is_dir() else set(place.parents)
        if not member.is_dir():
            found[place] = member
    return [(member, place) for place, member in found.items()]


def _name(path: Path, member: ZipInfo) -> str:
    """The name as it was meant: programs that do not say so write UTF-8 too."""
    name = member.orig_filename
    if name.isascii() or member.flag_bits & NAMED_IN_UTF8:
        return name
    try:
        return name.encode("cp437").decode()
    except UnicodeError:
        raise _refused(path, name, "expected a name in UTF-8.") from None


def _problem(member: ZipInfo, name: str) -> str | None:
    """Why a member cannot be unpacked, or None."""
    parts = name.removesuffix("/").split("/")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if not name or not name.isprintable() or "\\" in name:
        return "expected a name of printable characters, with / between folders."
    if len(name) > MAX_PATH or any(len(part.encode()) > 255 for part in parts):
        return f"expected a name of at most {MAX_PATH} characters."
    if any(part in ("", ".", "..") for part in parts) or (len(parts[0]) > 1 and parts[0][1] == ":"):
        return "expected a path inside the archive; this one leads out of it."
    if kind not in (0, stat.S_IFDIR if member.is_dir() else stat.S_IFREG):
        return "expected a file or a folder, found a link or a device."
    if member.flag_bits & ENCRYPTED:
        return "the member is encrypted; expected an archive without a password."
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        return "expected a member that is stored or deflated, found another compression."
    return None


def _write(path: Path, archive: ZipFile, member: ZipInfo, place: Path, left: int) -> int:
    """Write one member, in blocks; how many bytes may still be unpacked after it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            archive.open(member) as packed,
            open(place, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as out,
        ):
            while block := packed.read(BLOCK):
                left -= len(block)
                if left < 0:
                    raise _too_large(path, member)
                out.write(block)
    except (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refused(path, member.filename, f"cannot be unpacked: {error}.") from None
    return left


def _too_large(path: Path, member: ZipInfo) -> ImportFileError:
    message = f"expected at most {mebibytes(MAX_UNPACKED)} when unpacked, found more."
    return _refused(path, member.filename, message)


def _refused(path: Path, name: str, message: str) -> ImportFileError:
    return ImportFileError(f"{path}/{name}", None, None, message)

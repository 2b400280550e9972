"""The form of a backup: a tar file of members, and last of all a manifest with the hash of each.

    images/ab/DIGEST   an image of a dataset
    imports/NAME       an uploaded file that is still to be imported
    database/NNNNNN    a part of the database's dump: all parts, one after another, are the dump
    secret_key         the site's secret key
    manifest.json      `Manifest`

A member may come twice: the later one is right. Since the manifest is written last, a file without one isn't whole.
"""

import json
import re
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, cast

from config.backup.encryption import ByteSink, DecryptingReader, is_encrypted
from config.backup.errors import BackupError, DamagedBackupError

FORMAT = 1
PART = 8 * 2**20
"""Bytes of a part of the dump: what a backup or a restore has in memory of it."""
MANIFEST, SECRET, DATABASE, IMAGES, IMPORTS = (
    "manifest.json",
    "secret_key",
    "database/",
    "images/",
    "imports/",
)
_NAME = re.compile(
    r"database/\d{6}|images/([0-9a-f]{2})/\1[0-9a-f]{62}|imports/\w[\w.-]{0,200}|secret_key|manifest\.json",
    re.ASCII,
)
_MOST_MANIFEST = 2**30
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive as the manifest has it; `size` in bytes."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TableContent:
    """How many rows a table has, and the SHA-256 hash of all that they hold."""

    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds, and of what it is."""

    version: str
    """Of the application."""
    created_at: str
    """When the snapshot of the database was taken, ISO 8601 in UTC."""
    vendor: str
    """`sqlite` or `postgresql`."""
    server: str
    """The version of the database, in its own words."""
    database_bytes: int
    """Of the database before it was compressed."""
    migrations: list[str]
    """Those that were applied, as `app.name`."""
    tables: dict[str, TableContent]
    members: list[Member] = field(default_factory=list)
    """In their order in the file, without the manifest."""
    missing_images: int = 0
    """Images that the database shows and whose files weren't there."""
    format: int = FORMAT

    def as_json(self) -> bytes:
        """Return it as it's stored."""
        return json.dumps(asdict(self), indent=1).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read it; raises DamagedBackupError for what is none, BackupError for one of a later form."""
        try:
            fields: dict[str, Any] = json.loads(data)
            number = fields["format"]
            if number == FORMAT:
                fields["tables"] = {name: TableContent(**one) for name, one in fields["tables"].items()}
                fields["members"] = [Member(**one) for one in fields["members"]]
                datetime.fromisoformat(fields["created_at"])
                return cls(**fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DamagedBackupError(f"The backup's manifest can't be read: {error!r}.") from None
        raise BackupError(f"The backup has format {number}, expected {FORMAT}: it's of a newer version.")


class _Hashed:
    """A file that is hashed while it's read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest, self.size = file, sha256(), 0

    def read(self, n: int = -1) -> bytes:
        try:
            data = self._file.read(n)
        except (tarfile.TarError, EOFError) as error:
            raise DamagedBackupError(f"The backup was truncated or damaged ({error}).") from None
        self.digest.update(data)
        self.size += len(data)
        return data


def _header(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode, info.mtime = size, 0o600, int(time.time())
    return info


class ArchiveWriter:
    """Writes members, one after another; `finish` writes the manifest."""

    def __init__(self, sink: ByteSink) -> None:
        self._tar: Any = tarfile.open(  # noqa: SIM115  (closed by `finish`)
            mode="w|", fileobj=cast("IO[bytes]", sink), format=tarfile.PAX_FORMAT
        )
        self.members: list[Member] = []

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        """Add so many bytes of an open file; raises OSError where it has fewer."""
        info = _header(name, size)
        hashed = _Hashed(file)
        self._tar.addfile(info, cast("IO[bytes]", hashed))
        self._tar.members = []  # it would remember each
        self.members.append(Member(name, size, hashed.digest.hexdigest()))

    def add_bytes(self, name: str, data: bytes) -> None:
        """Add a member that is in memory."""
        self.add(name, BytesIO(data), len(data))

    def add_dump(self, pieces: Iterable[bytes]) -> None:
        """Add the database's dump, in parts of `PART` bytes, as it's made."""
        waiting, number = bytearray(), 0
        for piece in pieces:
            waiting += piece
            while len(waiting) >= PART:
                self.add_bytes(f"{DATABASE}{number:06}", bytes(waiting[:PART]))
                del waiting[:PART]
                number += 1
        self.add_bytes(f"{DATABASE}{number:06}", bytes(waiting))

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, which has `members` already, and the end of the tar file."""
        data = manifest.as_json()
        self._tar.addfile(_header(MANIFEST, len(data)), BytesIO(data))
        self._tar.close()


class BackupFile:
    """A backup that is open for reading. It's checked as a whole before `manifest` says what it holds."""

    def __init__(self, path: Path, keys: Sequence[bytes]) -> None:
        """Raises BackupError where there's no such file."""
        self.path, self._keys = path, keys
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise BackupError(f"{path}: {error.strerror}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def checked(self) -> Manifest:
        """Read all of it, and return the manifest.

        Raises
        ------
        BackupError
            It's encrypted, and the key isn't given; it's of a newer version.
        DamagedBackupError
            A member isn't as the manifest says, or there's no manifest.
        """
        found: list[Member] = []
        manifest: Manifest | None = None
        for name, size, file in self._each():
            if manifest is not None:
                raise DamagedBackupError(f"The backup is damaged: {name} comes after the manifest.")
            if name == MANIFEST:
                if size > _MOST_MANIFEST:
                    raise DamagedBackupError("The backup is damaged: its manifest is too large.")
                manifest = Manifest.from_json(_Hashed(file).read(size))
                continue
            hashed = _Hashed(file)
            while hashed.read(_BLOCK):
                pass
            found.append(Member(name, hashed.size, hashed.digest.hexdigest()))
        if manifest is None:
            raise DamagedBackupError("The backup isn't whole: it has no manifest, so it was truncated.")
        for expected, member in zip(manifest.members, found, strict=False):
            if expected != member:
                raise DamagedBackupError(
                    f"The backup is damaged: {member.name} has hash {member.sha256} and {member.size:,} bytes; the "
                    f"manifest says {expected.name} with {expected.sha256} and {expected.size:,} bytes."
                )
        if len(manifest.members) != len(found):
            raise DamagedBackupError(
                f"The backup is damaged: it has {len(found):,} members; its manifest has {len(manifest.members):,}."
            )
        return manifest

    def members(
        self, manifest: Manifest, wanted: Callable[[str], bool]
    ) -> Iterator[tuple[Member, IO[bytes]]]:
        """Read it again: each member that is wanted, and its content, to be read before the next is asked for.

        Raises
        ------
        DamagedBackupError
            What was read isn't as the manifest says: the file was changed since it was checked.
        """
        expected = iter(manifest.members)
        for name, _, file in self._each():
            if name == MANIFEST:
                return
            member = next(expected, None)
            if member is None or member.name != name:
                raise DamagedBackupError("The backup was changed while it was read.")
            if not wanted(name):
                continue
            hashed = _Hashed(file)
            yield member, cast("IO[bytes]", hashed)
            if (hashed.size, hashed.digest.hexdigest()) != (member.size, member.sha256):
                raise DamagedBackupError(f"{name} was changed while the backup was read.")

    def dump(self, manifest: Manifest) -> Iterator[bytes]:
        """The parts of the database's dump; none is given before its hash is known to be right."""
        for member, file in self.members(manifest, lambda name: name.startswith(DATABASE)):
            part = file.read(member.size)
            if sha256(part).hexdigest() != member.sha256:
                raise DamagedBackupError(f"{member.name} was changed while the backup was read.")
            yield part

    def _each(self) -> Iterator[tuple[str, int, IO[bytes]]]:
        """Name, size and content of each member, from the beginning of the file."""
        encrypted = is_encrypted(self._file)
        source: Any = DecryptingReader(self._file, self._keys) if encrypted else self._file
        try:
            with tarfile.open(mode="r|", fileobj=source) as tar:
                members: Any = tar
                while (info := tar.next()) is not None:
                    content = tar.extractfile(info) if info.isreg() else None
                    if content is None or not _NAME.fullmatch(info.name):
                        raise DamagedBackupError(f"{info.name!r} isn't a member of a backup.")
                    yield info.name, info.size, content
                    members.members = []  # it would remember each
            if encrypted:
                source.read()  # to the end, which says whether the file was cut off there
        except (tarfile.TarError, EOFError) as error:
            raise DamagedBackupError(
                f"{self.path} isn't a backup, or it was truncated or damaged ({error})."
            ) from None

"""Encrypted files: authenticated, written and read in chunks, so that memory doesn't grow with the file.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015) over AES-256-GCM, as in the `age` format: each
file has a key of its own, derived by HKDF-SHA256 from the operator's key and a random salt; the nonce of a chunk is its
number and whether it is the last. So a chunk that is changed, moved, repeated or left out fails to decrypt, and so
does a file that ends early.

    magic (20 bytes) | salt (32) | key check (16) | chunks of up to 1 MiB, each followed by its tag (16)

The header is authenticated with every chunk. The key check says which of several keys is the right one.
"""

import base64
import binascii
import hmac
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from config.backup.errors import BackupError, DamagedBackupError

MAGIC = b"touchstone-backup-1\n"
CHUNK = 2**20
"""Bytes of a chunk before it is encrypted; the last may have fewer."""
KEY_BYTES = 32
_SALT, _CHECK, _TAG = 32, 16, 16
_HEADER = len(MAGIC) + _SALT + _CHECK
_HOW = "Make one with: openssl rand -base64 32"


class ByteSink(Protocol):
    """What bytes are written to."""

    def write(self, data: bytes, /) -> int:
        """Take some bytes; returns how many."""
        ...


def key_lines_read(text: str, origin: str) -> list[bytes]:
    """Return the keys in a text: 32 bytes each in base64, one a line; empty lines and `#` comments are skipped.

    Parameters
    ----------
    origin
        Where the text comes from, for the message.

    Raises
    ------
    BackupError
        No key, or a line that is none.
    """
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        try:
            # Both alphabets of base64, with or without padding.
            key = base64.b64decode(words.rstrip("=").replace("-", "+").replace("_", "/") + "=", validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise BackupError(f"{origin}, line {number}: expected 32 random bytes in base64. {_HOW}")
        keys.append(key)
    if not keys:
        raise BackupError(f"{origin}: expected a key of 32 random bytes in base64, found none. {_HOW}")
    return keys


def keys_of_file(path: Path) -> list[bytes]:
    """Return the keys in a file; raises BackupError where it can't be read, or as `key_lines_read`."""
    try:
        return key_lines_read(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise BackupError(f"{path}: the key file can't be read ({error}).") from None


def is_encrypted(file: IO[bytes]) -> bool:
    """Whether an open file begins like an encrypted backup; it's read from its beginning afterwards."""
    file.seek(0)
    start = file.read(len(MAGIC))
    file.seek(0)
    return start == MAGIC


def _derived(key: bytes, salt: bytes) -> tuple[bytes, bytes]:
    """The file's key, and what its header says to recognize it."""
    made = HKDF(SHA256(), KEY_BYTES + _CHECK, salt, MAGIC).derive(key)
    return made[:KEY_BYTES], made[KEY_BYTES:]


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class EncryptingWriter:
    """Encrypts what is written, to a file, which can be read only after `finish`."""

    def __init__(self, file: ByteSink, key: bytes) -> None:
        salt = os.urandom(_SALT)
        derived, check = _derived(key, salt)
        self._file, self._cipher = file, AESGCM(derived)
        self._header = MAGIC + salt + check
        self._waiting, self._number = bytearray(), 0
        file.write(self._header)

    def write(self, data: bytes) -> int:
        """Take some bytes; returns how many, which is all of them."""
        self._waiting += data
        while len(self._waiting) > CHUNK:  # a full one may be the last
            self._seal(bytes(self._waiting[:CHUNK]), is_last=False)
            del self._waiting[:CHUNK]
        return len(data)

    def finish(self) -> None:
        """Write the last chunk."""
        self._seal(bytes(self._waiting), is_last=True)
        self._waiting.clear()

    def _seal(self, chunk: bytes, *, is_last: bool) -> None:
        nonce = _nonce(self._number, is_last=is_last)
        self._file.write(self._cipher.encrypt(nonce, chunk, self._header))
        self._number += 1


class DecryptingReader:
    """The content of an encrypted file, from its beginning. Only what is authentic is returned."""

    def __init__(self, file: IO[bytes], keys: Sequence[bytes]) -> None:
        """Raises BackupError where none of the keys is the file's, DamagedBackupError where it is cut off."""
        self._header = file.read(_HEADER)
        if len(self._header) < _HEADER:
            raise DamagedBackupError("The backup is truncated: it ends within its header.")
        salt, check = self._header[len(MAGIC) : -_CHECK], self._header[-_CHECK:]
        derived = (_derived(key, salt) for key in keys)
        found = next((made for made, its_check in derived if hmac.compare_digest(its_check, check)), None)
        if found is None:
            raise BackupError(
                "The backup is encrypted with another key. Expected the key that was used to make it "
                "(BACKUP_KEY, BACKUP_KEY_FILE or --key-file)."
                if keys
                else "The backup is encrypted. Give its key: BACKUP_KEY, BACKUP_KEY_FILE or --key-file."
            )
        self._file, self._cipher = file, AESGCM(found)
        self._number, self._ahead, self._plain = 0, file.read(CHUNK + _TAG), bytearray()
        self._is_over = False

    def read(self, n: int = -1) -> bytes:
        """Return up to `n` bytes, fewer only at the end; raises DamagedBackupError where they aren't authentic."""
        while not self._is_over and (n < 0 or len(self._plain) < n):
            self._open_chunk()
        taken = bytes(self._plain if n < 0 else self._plain[:n])
        del self._plain[: len(taken)]
        return taken

    def _open_chunk(self) -> None:
        sealed, self._ahead = self._ahead, self._file.read(CHUNK + _TAG)
        is_last = not self._ahead
        try:
            if len(sealed) < _TAG:
                raise InvalidTag
            nonce = _nonce(self._number, is_last=is_last)
            self._plain += self._cipher.decrypt(nonce, sealed, self._header)
        except InvalidTag:
            raise DamagedBackupError(
                f"The backup is damaged: chunk {self._number + 1:,} isn't authentic. It was truncated, reordered or "
                "changed. Use another backup."
            ) from None
        self._number += 1
        self._is_over = is_last

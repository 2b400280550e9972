"""Encrypted files: what comes back, and what is refused."""

import base64
import os
from io import BytesIO

import pytest

from config.backup.encryption import (
    CHUNK,
    KEY_BYTES,
    MAGIC,
    DecryptingReader,
    EncryptingWriter,
    is_encrypted,
    key_lines_read,
    keys_of_file,
)
from config.backup.errors import BackupError, DamagedBackupError

KEY, OTHER = b"k" * KEY_BYTES, b"o" * KEY_BYTES
HEADER = len(MAGIC) + 32 + 16
SEALED = CHUNK + 16


def encrypted(content: bytes, key: bytes = KEY) -> bytes:
    out = BytesIO()
    writer = EncryptingWriter(out, key)
    for start in range(0, len(content), 300_001):
        writer.write(content[start : start + 300_001])
    writer.finish()
    return out.getvalue()


def decrypted(data: bytes, *keys: bytes) -> bytes:
    reader, found = DecryptingReader(BytesIO(data), keys or (KEY,)), b""
    while piece := reader.read(200_003):
        found += piece
    return found


@pytest.fixture(scope="module")
def content() -> bytes:
    return os.urandom(3 * CHUNK + 17)


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])
def test_what_was_written_comes_back(content: bytes, size: int) -> None:
    sealed = encrypted(content[:size])
    assert decrypted(sealed) == content[:size]
    assert len(sealed) == HEADER + size + 16 * max(-(-size // CHUNK), 1)
    assert is_encrypted(BytesIO(sealed))
    assert not is_encrypted(BytesIO(content))


def test_two_files_with_one_key_have_nothing_in_common() -> None:
    one, other = encrypted(b"the same"), encrypted(b"the same")
    assert one[len(MAGIC) :] != other[len(MAGIC) :]
    assert one[HEADER:] != other[HEADER:]


@pytest.mark.parametrize(
    "cut", [HEADER, HEADER + 5, HEADER + SEALED, HEADER + 2 * SEALED, HEADER + 3 * SEALED, -1]
)
def test_a_truncated_file_is_refused(content: bytes, cut: int) -> None:
    with pytest.raises(DamagedBackupError, match="isn't authentic"):
        decrypted(encrypted(content)[:cut])


def test_a_file_that_ends_in_its_header_is_refused() -> None:
    with pytest.raises(DamagedBackupError, match="within its header"):
        decrypted(encrypted(b"")[: HEADER - 1])


def test_chunks_that_were_moved_repeated_or_left_out_are_refused(content: bytes) -> None:
    sealed = encrypted(content)
    header, rest = sealed[:HEADER], sealed[HEADER:]
    chunks = [rest[k : k + SEALED] for k in range(0, len(rest), SEALED)]
    assert len(chunks) == 4
    for order in ([1, 0, 2, 3], [0, 2, 1, 3], [0, 0, 1, 2, 3], [0, 1, 3], [0, 1, 2, 3, 3], [0, 1, 2, 2], [3]):
        with pytest.raises(DamagedBackupError, match="isn't authentic"):
            decrypted(header + b"".join(chunks[k] for k in order))
    assert decrypted(header + b"".join(chunks)) == content


def test_a_chunk_of_another_file_is_refused(content: bytes) -> None:
    one, other = encrypted(content), encrypted(content)
    with pytest.raises(DamagedBackupError, match="chunk 2 "):
        decrypted(one[: HEADER + SEALED] + other[HEADER + SEALED :])


@pytest.mark.parametrize("place", [HEADER, HEADER + CHUNK, HEADER + SEALED + 9, -1])
def test_a_changed_bit_is_refused(content: bytes, place: int) -> None:
    sealed = bytearray(encrypted(content))
    sealed[place] ^= 1
    with pytest.raises(DamagedBackupError, match="isn't authentic"):
        decrypted(bytes(sealed))


def test_a_changed_header_is_no_file_of_this_key() -> None:
    sealed = bytearray(encrypted(b"text"))
    sealed[len(MAGIC)] ^= 1
    with pytest.raises(BackupError, match="another key"):
        decrypted(bytes(sealed))


def test_the_right_key_is_found_among_several() -> None:
    assert decrypted(encrypted(b"text"), OTHER, KEY) == b"text"
    with pytest.raises(BackupError, match="another key"):
        decrypted(encrypted(b"text"), OTHER)
    with pytest.raises(BackupError, match="BACKUP_KEY_FILE"):
        DecryptingReader(BytesIO(encrypted(b"text")), ())


def test_keys_are_read_in_both_alphabets_one_a_line() -> None:
    key = bytes(range(224, 256))
    plain, safe = base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()
    assert plain != safe
    assert key_lines_read(f"# July\n{plain}\n\n  {safe}  \n{plain.rstrip('=')}\n", "a file") == [key] * 3


@pytest.mark.parametrize("text", ["correct horse battery staple", "c2hvcnQ=", "ä" * 44, "A" * 44, "="])
def test_a_key_that_is_none_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(BackupError, match=r"keys, line 2: expected 32 random bytes.*openssl rand"):
        key_lines_read(f"#\n{text}", "keys")


def test_a_file_without_a_key_is_refused(tmp_path) -> None:
    with pytest.raises(BackupError, match="found none"):
        key_lines_read("# nothing\n", "keys")
    with pytest.raises(BackupError, match="can't be read"):
        keys_of_file(tmp_path / "missing")

"""The form of a backup: what is read again, and what is refused before anything is restored."""

import tarfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from config.backup.archive import (
    DATABASE,
    FORMAT,
    MANIFEST,
    PART,
    ArchiveWriter,
    BackupFile,
    Manifest,
    TableContent,
)
from config.backup.errors import BackupError, DamagedBackupError
from tests.config.backup.archives import content_of, manifest_of, rewritten

DIGEST = "ab" * 32
IMAGE = f"images/ab/{DIGEST}"
PLAIN = Manifest(
    version="1.0",
    created_at="2026-07-22T03:15:00+00:00",
    vendor="sqlite",
    server="SQLite 3.45",
    database_bytes=4096,
    migrations=["annotation.0001_initial"],
    tables={"annotation_label": TableContent(3, "00" * 32)},
)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    path = tmp_path / "made.tar"
    with path.open("wb") as file:
        archive = ArchiveWriter(file)
        archive.add_bytes(IMAGE, b"picture")
        archive.add_dump(iter([b"x" * (PART - 1), b"yy", b"z" * 10]))
        archive.add_bytes("imports/0123.csv", b"a,b\n")
        archive.add_bytes("secret_key", b"secret")
        archive.finish(replace(PLAIN, members=archive.members))
    return path


def tar_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, BytesIO(data))
    return path


def test_what_was_written_is_read_again(backup: Path) -> None:
    manifest = manifest_of(backup)
    assert replace(manifest, members=[]) == PLAIN
    assert [member.name for member in manifest.members] == [
        *(IMAGE, f"{DATABASE}000000", f"{DATABASE}000001", "imports/0123.csv", "secret_key")
    ]
    with BackupFile(backup, ()) as file:
        assert b"".join(file.dump(file.checked())) == b"x" * (PART - 1) + b"yy" + b"z" * 10
    assert content_of(backup)[IMAGE] == b"picture"
    assert manifest_of(rewritten(backup)) == manifest


def test_any_program_for_tar_files_can_unpack_it(backup: Path, tmp_path: Path) -> None:
    with tarfile.open(backup) as tar:
        tar.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out" / MANIFEST).read_bytes() == manifest_of(backup).as_json()


@pytest.mark.parametrize("kept", [0, 5, 512, 1000, 2048, PART, PART + 3000])
def test_a_truncated_backup_is_refused(backup: Path, kept: int) -> None:
    backup.write_bytes(backup.read_bytes()[:kept])
    with pytest.raises(DamagedBackupError, match="truncated"):
        manifest_of(backup)


def test_a_changed_byte_of_any_member_is_refused(backup: Path) -> None:
    whole = backup.read_bytes()
    for text in (b"picture", b"xxxxx", b"zzzz", b"a,b\n", b"secret\0"):
        place = whole.index(text)
        backup.write_bytes(whole[:place] + b"!" + whole[place + 1 :])
        with pytest.raises(DamagedBackupError, match=r"manifest says|can't be read"):
            manifest_of(backup)


def test_what_changes_after_the_check_is_refused(backup: Path) -> None:
    whole = backup.read_bytes()
    with BackupFile(backup, ()) as file:
        manifest = file.checked()
        place = whole.index(b"zzzz")
        with backup.open("r+b") as other:
            other.seek(place)
            other.write(b"!")
        dump = file.dump(manifest)
        assert len(next(dump)) == PART
        with pytest.raises(DamagedBackupError, match="changed while"):
            next(dump)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "images/ab/../../x",
        "imports/a/b",
        "imports/.x",
        "images/00/" + DIGEST,
    ],
)
def test_a_member_with_another_name_is_refused(tmp_path: Path, name: str) -> None:
    path = tar_of(tmp_path / "other.tar", (tarfile.TarInfo(name), b"x"))
    with pytest.raises(DamagedBackupError, match="isn't a member"):
        manifest_of(path)


def test_a_link_is_refused(tmp_path: Path) -> None:
    link = tarfile.TarInfo("secret_key")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(DamagedBackupError, match="isn't a member"):
        manifest_of(tar_of(tmp_path / "link.tar", (link, b"")))


def test_a_member_after_the_manifest_is_refused(tmp_path: Path) -> None:
    members = [(tarfile.TarInfo(MANIFEST), PLAIN.as_json()), (tarfile.TarInfo("secret_key"), b"x")]
    with pytest.raises(DamagedBackupError, match="after the manifest"):
        manifest_of(tar_of(tmp_path / "after.tar", *members))


def test_a_member_that_the_manifest_lacks_is_refused(tmp_path: Path) -> None:
    members = [(tarfile.TarInfo("secret_key"), b"x"), (tarfile.TarInfo(MANIFEST), PLAIN.as_json())]
    with pytest.raises(DamagedBackupError, match="1 members; its manifest has 0"):
        manifest_of(tar_of(tmp_path / "more.tar", *members))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"format": 1}', b'{"format": 1, "tables": 3, "members": []}']
)
def test_a_manifest_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedBackupError, match="manifest can't be read"):
        Manifest.from_json(data)


def test_a_later_form_is_of_a_newer_version(tmp_path: Path) -> None:
    later = replace(PLAIN, format=FORMAT + 1).as_json()
    with pytest.raises(BackupError, match=r"format 2, expected 1.*newer"):
        manifest_of(tar_of(tmp_path / "later.tar", (tarfile.TarInfo(MANIFEST), later)))


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("Not a backup. " * 100)
    with pytest.raises(DamagedBackupError, match="isn't a backup"):
        manifest_of(tmp_path / "text")
    with pytest.raises(BackupError, match="No such file"):
        BackupFile(tmp_path / "missing", ())

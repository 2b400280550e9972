"""Zip archives of strangers: unpacked inside their folder, or refused whole with the name of the member."""

import stat
import struct
import tempfile
import warnings
import zipfile
from pathlib import Path

import pytest

from annotation.importers import ImportFileError, archives, read_llmbar
from annotation.importers.archives import unpacked

PAIR = b'[{"input": "Say hi.", "output_1": "Hi", "output_2": "No", "label": 1}]'


def zipped(path: Path, *members: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of two members of one name
        for name, content in members:
            archive.writestr(name, content)
    return path


def info(name: str, mode: int = 0) -> zipfile.ZipInfo:
    """A member by its name to the letter, as a hostile program writes it."""
    member = zipfile.ZipInfo("x")
    member.filename = member.orig_filename = name
    member.external_attr = mode << 16
    return member


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Where archives are unpacked; nothing may stay there, and nothing may appear beside it."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../x", "leads out"), ("a/../../x", "leads out"), ("/etc/x", "leads out"), ("C:/x", "leads out"),
        ("./x", "leads out"), ("a//x", "leads out"), ("..", "leads out"), ("a\\..\\x", "printable"),
        ("C:\\x", "printable"), ("a\x1b[2Jx", "printable"), ("a\nb", "printable"), ("\u202ex", "printable"),
        ("x" * 301, "at most 300"), ("é" * 130, "at most 300"),
    ],
)  # fmt: skip
def test_a_name_that_leads_out_is_refused(name, words, tmp_path):
    path = zipped(tmp_path / "a.zip", ("good/dataset.json", PAIR), (info(name), b"x"))
    before = set(tmp_path.rglob("*"))
    with pytest.raises(ImportFileError) as caught:
        read_llmbar(path)
    assert words in str(caught.value)
    assert "a.zip/" in str(caught.value)
    assert str(caught.value).isprintable()
    assert set(tmp_path.rglob("*")) == before


def test_a_name_behind_a_nul_is_not_read_as_the_name_before_it(tmp_path):
    path = zipped(tmp_path / "a.zip", ("dataset.jsonZ../x", PAIR))
    path.write_bytes(path.read_bytes().replace(b"dataset.jsonZ", b"dataset.json\0"))
    with pytest.raises(ImportFileError, match="printable"):
        read_llmbar(path)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(kind, tmp_path):
    path = zipped(tmp_path / "a.zip", (info("dataset.json", kind | 0o777), b"/etc/passwd"))
    with pytest.raises(ImportFileError, match=r"a\.zip/dataset\.json: .*link or a device"):
        read_llmbar(path)


def test_two_members_of_one_name_are_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", ("a/dataset.json", PAIR), ("a/dataset.json", PAIR))
    with pytest.raises(ImportFileError, match=r"a/dataset\.json: .*twice"):
        read_llmbar(path)
    for order in (["a", "a/dataset.json"], ["a/dataset.json", "a"]):
        path = zipped(tmp_path / "b.zip", *((name, PAIR) for name in order))
        with pytest.raises(ImportFileError, match=r"b\.zip/a"):
            read_llmbar(path)


def test_a_bomb_is_refused_by_what_it_unfolds_to(tmp_path, monkeypatch):
    """What the archive says of its sizes is a lie: each member claims a byte."""
    monkeypatch.setattr(archives, "MAX_UNPACKED", 3 * 2**20)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(4):
            archive.writestr(f"{number}/dataset.json", b"[" + b" " * 2**20)
    with pytest.raises(
        ImportFileError, match=r"a\.zip/2/dataset\.json: expected at most 3 MiB when unpacked"
    ):
        read_llmbar(tmp_path / "a.zip")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    place = content.find(archives.ENTRY)
    while place >= 0:
        content[place + 24 : place + 28] = struct.pack("<I", 1)
        place = content.find(archives.ENTRY, place + 1)
    (tmp_path / "lie.zip").write_bytes(content)
    with pytest.raises(ImportFileError, match=r"lie\.zip/0/dataset\.json: cannot be unpacked"):
        read_llmbar(tmp_path / "lie.zip")


def test_too_many_members_are_refused_before_their_directory_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    monkeypatch.setattr(archives, "BLOCK", 7)
    path = zipped(tmp_path / "a.zip", *((f"{n}/dataset.json", b"") for n in range(4)))
    monkeypatch.setattr(archives, "ZipFile", None)
    with pytest.raises(ImportFileError, match="at most 3 members"):
        read_llmbar(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_unfolds_without_bound_is_refused(method, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("dataset.json", PAIR)
    with pytest.raises(ImportFileError, match=r"dataset\.json: .*another compression"):
        read_llmbar(tmp_path / "a.zip")


def test_what_is_damaged_or_encrypted_is_refused(tmp_path):
    whole = zipped(tmp_path / "a.zip", ("dataset.json", PAIR)).read_bytes()
    at = whole.find(archives.ENTRY)
    secret = bytearray(whole)
    secret[at + 8] |= 1
    secret[6] |= 1
    for content, words in (
        (whole[:-10], "expected a zip archive"),
        (b"PK\x03\x04", "expected a zip archive"),
        (b"\x1f\x8b\x08\0\0", "expected a zip archive"),
        (whole.replace(b"Say hi", b"Say ho", 1), "CRC"),
        (bytes(secret), "encrypted"),
    ):
        path = tmp_path / "broken.zip"
        path.write_bytes(content)
        with pytest.raises(ImportFileError, match=words):
            read_llmbar(path)


def test_names_in_utf_8_are_read_whether_or_not_the_archive_says_so(tmp_path):
    path = zipped(tmp_path / "a.zip", ("Übung/dataset.json", PAIR))
    (item,) = read_llmbar(path).items
    assert item.external_id == "Übung/0"
    content = bytearray(path.read_bytes())
    for place in (6, content.find(archives.ENTRY) + 8):
        content[place + 1] &= ~0x08
    path.write_bytes(content)
    assert read_llmbar(path).items[0].external_id == "Übung/0"
    path.write_bytes(bytes(content).replace("Ü".encode(), b"\xdc\xfe"))
    with pytest.raises(ImportFileError, match="a name in UTF-8"):
        read_llmbar(path)


def test_a_fault_in_a_member_is_named_by_its_place_in_the_archive(tmp_path):
    path = zipped(tmp_path / "a.zip", ("x/dataset.json", PAIR.replace(b"1}", b"3}")), ("__MACOSX/._x", b"\0"))
    with pytest.raises(ImportFileError, match=r"a\.zip/x/dataset\.json, row 1, field label: expected 1 or 2"):
        read_llmbar(path)
    path = zipped(tmp_path / "b.zip", ("x/dataset.json", PAIR[:-1] + b', {"\xff"'))
    with pytest.raises(ImportFileError, match=r"b\.zip/x/dataset\.json: line 1: expected UTF-8"):
        read_llmbar(path)


def test_files_are_for_their_reader_alone(tmp_path):
    with unpacked(zipped(tmp_path / "a.zip", (info("x", 0o104777), b"x"))) as folder:
        assert stat.S_IMODE((folder / "x").stat().st_mode) == 0o600

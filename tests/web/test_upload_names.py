"""The name that a sender gave a file, as a folder can have it."""

import pytest

from web.upload import name_on_disk


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Pairs of May.JSONL", "Pairs of May.jsonl"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\a.csv", "a.csv"),
        ("a\0b\n.csv", "ab.csv"),
        (".hidden.csv", "hidden.csv"),
        ("..", "upload"),
        ("", "upload"),
        ("ä" * 300 + ".csv", "ä" * 75 + ".csv"),
        ("\ud800.csv", "upload.csv"),
    ],
)
def test_name(given, name, tmp_path):
    assert name_on_disk(given) == name
    (tmp_path / name).write_text("a folder can have it")

"""`touchstone judge` and `touchstone gate` on a folder or zip archive of items with images."""

import json
from zipfile import ZipFile

import pytest

from judges.backends.mock_server import running_mock_server
from judges.standalone.main import BROKEN, main
from tests.annotation.pictures import CATS, cats, zip_of
from tests.judges.standalone.files import at, command, rows_of

pytestmark = pytest.mark.service


@pytest.fixture
def archive(tmp_path):
    return cats(tmp_path)


def folder_of(archive):
    folder = archive.with_suffix("")
    with ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def judged(*arguments):
    return main(["judge", *map(str, arguments), "--quiet"])


ECHO = ("--strategy", "vanilla", "--set", "decoding.max_tokens=4000")


@pytest.mark.parametrize("packed", [True, False])
def test_a_model_that_takes_images_is_shown_them(tmp_path, archive, packed):
    items, out = archive if packed else folder_of(archive), tmp_path / "verdicts.jsonl"
    with running_mock_server() as server:
        given = [items, *ECHO, *at(server, "mock-echo"), "--takes-images", "--out", out]
        code, _, complaints = command("judge", *given)
        assert code == 0, complaints
        # The images are the same on another day, so a finished file sends nothing.
        assert judged(*given) == 0
        assert server.stats()["requests"] == 4
    said = {(row["item"], row["order"]): row["raw_text"] for row in rows_of(out)}
    assert "How many cats? [image/png " in said["cats", 0]
    assert "image:" not in said["cats", 1]
    assert "Describe it.\n\n[image/jpeg " in said["dog", 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (ECHO, "item 'cats' shows an image, and the judge's models take none as far as you say"),
        (
            ("--strategy", "loglikelihood", "--takes-images"),
            "item 'cats' shows an image, and the judge asks for likelihoods, which can't be of images.",
        ),
        (
            (*ECHO, "--backend", "transformers", "--takes-images"),
            "item 'cats' shows an image, which the backend 'transformers' can't send",
        ),
    ],
)
def test_a_judge_that_cannot_see_an_image_is_refused_before_anything_is_sent(
    tmp_path, archive, capsys, given, said
):
    with running_mock_server() as server:
        where = at(server)[2:] if "transformers" in given else at(server)
        assert judged(archive, *given, *where, "--out", tmp_path / "out.jsonl") == BROKEN
        assert server.stats()["requests"] == 0
    assert f"{archive}: {said}" in capsys.readouterr().err


def test_items_without_images_and_baselines_need_nothing(tmp_path, archive):
    out = tmp_path / "out.jsonl"
    assert judged(archive, "--strategy", "longest", "--out", out) == 0
    assert len(rows_of(out)) == 4
    plain = zip_of(tmp_path / "plain.zip", [{**CATS[1], "instruction": "Describe it."}], {})
    with running_mock_server() as server:
        assert judged(plain, "--strategy", "vanilla", *at(server), "--out", tmp_path / "plain.jsonl") == 0


def test_an_image_that_is_missing_refuses_the_file_by_row_and_field(tmp_path, capsys):
    items = zip_of(tmp_path / "cats.zip", CATS, {})
    assert judged(items, "--strategy", "longest", "--out", tmp_path / "out.jsonl") == BROKEN
    said = capsys.readouterr().err
    assert f"{items}/items.jsonl, row 1, field instruction: image 'pictures/cats.png'" in said


def test_a_gate_shows_them_too(tmp_path, archive, capsys):
    judge, verdicts = tmp_path / "judge.yaml", tmp_path / "verdicts.jsonl"
    fields = {"name": "Sees", "strategy": "vanilla", "model": "mock-echo", "decoding": {"max_tokens": 4000}}
    gold = zip_of(archive, [{**row, "gold": 1} for row in CATS], dict(read(archive)))
    with running_mock_server() as server:
        judge.write_text(json.dumps({**fields, "endpoint": server.url}))
        given = ["gate", judge, gold, "--min-agreement", "0.5", "--verdicts", verdicts, "--quiet"]
        assert main([*map(str, given)]) == BROKEN
        assert "item 'cats' shows an image" in capsys.readouterr().err
        main([*map(str, given), "--takes-images"])
    assert "[image/png " in rows_of(verdicts)[0]["raw_text"] + rows_of(verdicts)[1]["raw_text"]


def read(archive):
    with ZipFile(archive) as opened:
        return [(name, opened.read(name)) for name in opened.namelist() if not name.endswith(".jsonl")]

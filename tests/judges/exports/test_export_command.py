"""`touchstone export`: a folder for another tool, without a database."""

import json

import pytest

from judges import Judge
from judges.standalone.main import main
from tests.judges.exports.cases import document_of

RUBRIC = {
    "id": "1",
    "kind": "rubric",
    "instruction": "Say hello.",
    "responses": ["Hello."],
    "criteria": [
        {"key": "brief", "question": "Is it brief?", "options": {str(k): f"level {k}" for k in range(1, 6)}}
    ],
}


@pytest.fixture
def saved(tmp_path):
    def save(strategy, **fields):
        document = document_of(strategy, "some-model", "http://127.0.0.1:9/v1", **fields)
        path = tmp_path / "judge.json"
        with Judge(document) as judge:
            judge.save(path)
        return str(path)

    return save


def test_a_judge_is_written_once_what_is_lost_is_accepted(saved, tmp_path, capsys):
    judge, out = saved("vanilla"), tmp_path / "out"
    words = ["export", judge, "--to", "alpaca-eval", "--out", str(out)]
    assert main(words) == 3
    assert "accept context,orders,fences" in capsys.readouterr().err
    assert not out.exists()
    assert main([*words, "--accept", "context, orders,fences"]) == 0
    assert "Lost: Both presentation orders." in capsys.readouterr().err
    assert (out / "our_vanilla/configs.yaml").is_file()
    assert json.loads((out / "judge.json").read_text())["name"] == "Our vanilla"
    with Judge.load(out / "judge.json") as again:
        assert again.fingerprint in (out / "README.md").read_text()
    # Nothing is written over.
    assert main([*words, "--accept", "context,orders,fences"]) == 3
    assert "expected an empty folder" in capsys.readouterr().err


def test_what_is_wrong_is_named(saved, tmp_path, capsys):
    judge = saved("rubric_each")
    words = ["export", judge, "--to", "alpaca-eval", "--out", str(tmp_path / "out")]
    assert main(words) == 3
    assert "its dataset's" in capsys.readouterr().err
    (tmp_path / "items.jsonl").write_text(json.dumps(RUBRIC) + "\n")
    assert main([*words, "--items", str(tmp_path / "items.jsonl")]) == 3
    assert "no place for “Rubric”" in capsys.readouterr().err
    (tmp_path / "empty.jsonl").write_text('{"id": "1", "instruction": "Go.", "responses": ["a", "b"]}\n')
    assert main([*words, "--items", str(tmp_path / "empty.jsonl")]) == 3
    assert "has no item with criteria" in capsys.readouterr().err
    assert main(["export", judge, "--to", "excel", "--out", "out"]) == 2

"""Every command that reads a file, given files that are none of what it expects: a sentence, never a traceback."""

import argparse

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class

from annotation.models import Role
from annotation.models.entry import PlatformLink
from judges.standalone.main import main
from tests.annotation.factories import dataset_make, study_make, user_make
from tests.judges.props import endpoint_make

pytestmark = pytest.mark.django_db(transaction=True)

DEEP = b"[" * 100_000
FILES = {
    "empty": b"",
    "NUL": b"\0" * 100,
    "bytes": bytes(range(256)) * 4,
    "UTF-16": "﻿id,text\n1,a\n".encode("utf-16"),
    "null": b"null",
    "number": b"5",
    "infinite": b'{"id": 1e999, "kind": "pairwise", "system": "a", "score": 1e999}',
    "NaN": b'{"id": "a", "kind": "pairwise", "system": "a", "score": NaN}',
    "object": b"{}",
    "objects": b"{}\n{}\n",
    "list": b"[]",
    "list of an object": b"[{}]",
    "list of lists": b"[[1], [2]]",
    "list of nulls": b"[null]",
    "wrong types": b'{"id": {}, "kind": [], "instruction": 5, "responses": 7, "idx": [], "system": {}, "score": []}',
    "wrong types in a list": b'[{"idx": {}, "instruction": [], "input": 5, "output_1": {}, "label": "x"}]',
    "lone surrogate": b'{"id": "\\ud800", "kind": "pairwise", "system": "\\ud800", "score": 1}',
    "long integer": b'{"id": ' + b"9" * 5000 + b"}",
    "deep": DEEP,
    "deep object": b'{"a":' * 50_000,
    "header": b"id,kind,instruction,system,score\n",
    "header twice": b"id,id\n1,2\n",
    "CSV with NUL": b"id,kind\n\0,pairwise\n",
    "open quote": b'id,kind\n"a,pairwise\n',
    "XML of unknown encoding": b'<?xml version="1.0" encoding="klingon"?><posts><row Id="1"/></posts>',
    "XML of a multi-byte encoding": b'<?xml version="1.0" encoding="utf-7"?><posts><row Id="1"/></posts>',
    "XML cut": b"<posts><row Id='1' PostTypeId='1'",
    "YAML that doubles": "\n".join(
        ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    ).encode()
    + b"\nname: *a9\ncategories: *a9\n",
    "YAML of itself": b"a: &a [*a]\nname: *a\n",
    "YAML with .nan": b"name: x\ndatasets: [data]\njudges: [x]\nstop_unparsed: .nan\n",
    "YAML with a date key": b"2020-01-01: x\nname: 2020-01-01\n",
    "YAML tag": b"!!python/object/apply:os.system ['true']\n",
    "Parquet magic": b"PAR1" + b"\xff" * 60 + b"PAR1",
    "gzip magic": b"\x1f\x8b\x08" + b"\0" * 40,
    "YAML integer of many digits": b"name: 0x" + b"f" * 10_000 + b"\nstrategy: " + b"9" * 5_000 + b"\n",
    "deep field": b'{"id": "a", "kind": "pairwise", "instruction": "i", "responses": ["a", "b"], "metadata": '
    + DEEP,
    "key of megabytes": b'{"' + b"k" * 1_000_000 + b'": 1}',
    "value of megabytes": b'{"id": "' + b"x" * 1_000_000 + b'", "kind": "' + b"y" * 1_000_000 + b'"}',
    "many columns": b",".join(b"c%d" % n for n in range(20_000)) + b"\n1\n",
    "same key twice": b'{"id": "a", "id": "b", "kind": "pairwise", "instruction": "i", "responses": ["a", "b"]}',
    "zip of nothing": b"PK\x05\x06" + b"\0" * 18,
    "zip magic": b"PK\x03\x04" + b"\xff" * 40 + b"PK\x05\x06" + b"\xff" * 18,
}
MOST_SAID = 60_000
"""Characters of a message: of twenty rows, each with a name and a value that are cut off."""
PLATFORMS = ("connect", "mturk", "prolific")
SUFFIXES = (".json", ".jsonl", ".csv", ".parquet", ".xml", ".xml.gz", ".yaml", ".zip")


def _choices(command: str) -> tuple[str, ...]:
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    for action in parser._actions:
        if action.dest in ("kind", "format", "importer") and action.choices and not action.option_strings:
            return tuple(str(choice) for choice in action.choices)
        if isinstance(action, argparse._SubParsersAction):
            return tuple(action.choices)
    return ()


def _calls() -> dict[str, list[list[str]]]:
    """The words before and after the file, of each command that reads one."""
    judgments = [[kind, "FILE", "--dataset", "data"] for kind in _choices("import_judgments")]
    datasets = [[kind, "FILE", "--name", "new"] for kind in _choices("import_dataset")]
    judges = [
        [kind, "FILE", "--endpoint", "local", "--evaluator", "GPT-4/Vanilla"]
        for kind in _choices("import_judge")
    ]
    return {
        "import_dataset": datasets,
        "import_judgments": judgments,
        "import_judge": judges,
        "import_ratings": [["FILE", "--name", "new"]],
        "plan_sweep": [["FILE", "--user", "somebody"]],
        "apply": [["FILE", "--user", "somebody"]],
        "report": [["--verify", "FILE"], ["--diff", "FILE", "FILE"]],
        "reconcile_platform": [["study", "--platform", kind, "--file", "FILE"] for kind in PLATFORMS],
    }


@pytest.fixture(autouse=True)
def rows():
    dataset_make(pairs=1, name="data")
    endpoint_make(name="local")
    user_make(username="somebody", role=Role.ADMINISTRATOR)
    study = study_make(slug="study")
    for kind in PLATFORMS:
        PlatformLink.objects.create(study=study, platform=kind, token=kind)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("command", sorted(_calls()))
def test_a_file_that_is_none_is_refused_in_a_sentence(command, suffix, tmp_path):
    calls = _calls()[command]
    assert calls
    trouble = []
    for name, content in FILES.items():
        path = tmp_path / f"file{suffix}"
        path.write_bytes(content)
        for words in calls:
            given = [str(path) if word == "FILE" else word for word in words]
            try:
                call_command(command, *given, verbosity=0)
            except CommandError as error:
                if not 0 < len(str(error).strip()) < MOST_SAID:
                    trouble.append(
                        f"{' '.join(words)} with {name}: refused in {len(str(error)):,} characters"
                    )
            except Exception as error:
                trouble.append(f"{' '.join(words)} with {name}: {error!r}")
    assert trouble == []


@pytest.mark.parametrize("command", sorted(_calls()))
@pytest.mark.parametrize("kind", ["folder", "missing", "unreadable folder"])
def test_a_path_that_is_no_file_is_refused_in_a_sentence(command, kind, tmp_path):
    path = tmp_path / "file.json"
    if kind != "missing":
        path.mkdir(mode=0o000 if kind == "unreadable folder" else 0o755)
    for words in _calls()[command]:
        with pytest.raises(CommandError):
            call_command(command, *[str(path) if word == "FILE" else word for word in words], verbosity=0)


STANDALONE = {
    "judge FILE": ["judge", "FILE", "--strategy", "longest", "--out", "OUT", "--quiet"],
    "judge --judge FILE": ["judge", "GOOD", "--judge", "FILE", "--out", "OUT", "--quiet"],
    "judge --out FILE": ["judge", "GOOD", "--strategy", "longest", "--out", "FILE", "--quiet"],
    "gate FILE": ["gate", "FILE", "GOOD", "--min-agreement", "0.5", "--quiet"],
    "gate JUDGE FILE": ["gate", "JUDGE", "FILE", "--min-agreement", "0.5", "--quiet"],
    "gate --baseline FILE": ["gate", "JUDGE", "GOOD", "--max-drop", "2", "--baseline", "FILE", "--quiet"],
    "export FILE": ["export", "FILE", "--to", "promptfoo", "--out", "FOLDER"],
    "export --items FILE": ["export", "JUDGE", "--to", "promptfoo", "--items", "FILE", "--out", "FOLDER"],
}


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".yaml", ".zip"])
def test_without_a_site_it_is_refused_in_a_sentence_too(suffix, tmp_path, capsys):
    places = {
        "FILE": tmp_path / f"file{suffix}",
        "OUT": tmp_path / "out.jsonl",
        "FOLDER": tmp_path / "folder",
    }
    places |= {"GOOD": tmp_path / "good.jsonl", "JUDGE": tmp_path / "judge.yaml"}
    places["GOOD"].write_text('{"id": "a", "instruction": "i", "responses": ["a", "b"], "gold": 1}\n')
    places["JUDGE"].write_text("name: J\nstrategy: longest\n")
    trouble = []
    for name, content in FILES.items():
        for called, words in STANDALONE.items():
            places["FILE"].write_bytes(content)
            places["OUT"].unlink(missing_ok=True)
            main([str(places.get(word, word)) for word in words])
            said = capsys.readouterr().err
            if "this should not happen" in said or len(said) > MOST_SAID:
                trouble.append(f"{called} with {name}: {len(said):,} characters, {said[-300:]}")
    assert trouble == []

"""The seam of all papers: tables in four formats, folders written whole, what is missing said."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from metaeval.papers import PAPERS
from metaeval.papers.tables import (
    PaperTable,
    number_cell,
    table_csv,
    table_json,
    table_latex,
    table_markdown,
    with_best_marked,
    word_cell,
)
from metaeval.services import papers
from tests.annotation.factories import dataset_make
from tests.metaeval.rows import labels_make, swept

HOSTILE = "=cmd|' /C calc'!A0 & <b>100%</b> _{x}"


def table_of(*values):
    rows = [(word_cell(f"judge {n}"), number_cell(value)) for n, value in enumerate(values)]
    return PaperTable("t1", "Table 1", "Shares.", ("Judge", "Share"), with_best_marked(rows))


def test_the_best_of_a_column_is_marked_where_it_is_printed_the_same():
    table = table_of(0.5001, 0.4999, 0.4, None)
    assert [row[1].best for row in table.rows] == [True, True, False, False]
    assert [row[1].text for row in table.rows] == ["50.0", "50.0", "40.0", "–"]
    assert "**50.0**" in table_markdown(table)
    assert r"\textbf{50.0}" in table_latex(table)


def test_numbers_are_whole_in_files_and_what_is_undefined_is_empty():
    table = table_of(1 / 3, None)
    assert table_csv(table).splitlines() == ["Judge,Share", "judge 0,33.33333333333333", "judge 1,"]
    content = json.loads(table_json(table))
    assert content["schema"] == "touchstone.paper-table/1"
    assert content["rows"][1][1] == {"text": "–", "value": None, "best": False}


def test_text_of_others_means_nothing_in_any_format():
    table = PaperTable(
        "t", HOSTILE, HOSTILE, (HOSTILE, HOSTILE), ((word_cell(HOSTILE), word_cell(HOSTILE)),), (HOSTILE,),
    )  # fmt: skip
    assert table_csv(table).splitlines()[1].startswith("'=cmd")
    assert "<b>" not in table_markdown(table).replace("\\<b", "")


@pytest.mark.slow
def test_tables_compile(tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    wide = PaperTable(
        "wide", "Table 2", HOSTILE, ("Strategy", *["Acc.", "Agr."] * 7),
        ((word_cell(HOSTILE), *[number_cell(0.5, best=True)] * 14),), (HOSTILE,),
        spans=(("Natural", 2), ("", 2), ("Adversarial: A_1", 2)),
    )  # fmt: skip
    body = table_latex(wide) + table_latex(table_of(0.1, None))
    (tmp_path / "a.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\usepackage{graphicx}\begin{document}"
        + body
        + r"\end{document}"
    )
    run = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout


@pytest.fixture
def pairs():
    dataset = dataset_make(pairs=6, name="pairs", per_instruction=2)
    labels_make(dataset=dataset, choices=[(1, 1, 2), (2, 2), (1, None), (0, 1, 1), (1, 2)])
    swept(dataset=dataset)
    return dataset


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.django_db
@pytest.mark.parametrize("paper", [key for key, one in PAPERS.items() if "pairwise" in one.kinds])
def test_a_paper_of_any_pairs(pairs, tmp_path, paper):
    folder = tmp_path / "new" / "tables"
    call_command("report", "pairs", paper=paper, output=folder, verbosity=0)
    first = written(folder)
    manifest = json.loads(first["paper.json"])
    assert sorted(first) == manifest["files"]
    assert manifest["paper"] == paper
    assert {name.rpartition(".")[2] for name in first} >= {"md", "tex", "csv", "json"}
    assert b"# " in first["README.md"]
    # The same again replaces it, byte for byte, and leaves nothing beside it.
    call_command("report", "pairs", paper=paper, output=folder, verbosity=0)
    assert written(folder) == first
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


@pytest.mark.django_db
def test_a_folder_with_other_files_is_refused(pairs, tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(CommandError, match="other files"):
        call_command("report", "pairs", paper="llmbar", output=tmp_path, verbosity=0)
    assert written(tmp_path) == {"thesis.tex": b"mine"}
    folder = tmp_path / "tables"
    call_command("report", "pairs", paper="llmbar", output=folder, verbosity=0)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(CommandError, match="other files"):
        call_command("report", "pairs", paper="llmbar", output=folder, verbosity=0)
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.django_db
def test_what_fails_leaves_what_was_there(pairs, tmp_path, monkeypatch):
    folder = tmp_path / "tables"
    call_command("report", "pairs", paper="llmbar", output=folder, verbosity=0)
    before = written(folder)
    monkeypatch.setattr(papers, "paper_files", lambda made: {"a.md": b"a", "no/such/folder.md": b"b"})
    with pytest.raises(CommandError, match="Cannot write"):
        call_command("report", "pairs", paper="llmbar", output=folder, verbosity=0)
    assert written(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


@pytest.mark.django_db
def test_names_that_there_are_not(pairs, tmp_path):
    with pytest.raises(CommandError, match="No judge 'Nobody'"):
        call_command("report", "pairs", paper="llmbar", output=tmp_path / "a", judges=["Nobody"], verbosity=0)
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("report", "pairs", "--paper", "other", "--output", str(tmp_path / "a"))
    with pytest.raises(CommandError, match="--save is for reports"):
        call_command("report", "pairs", paper="llmbar", output=tmp_path / "a", save=True, verbosity=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"baseline": ["base"]}, "--baseline is for --paper href"),
        ({"agreement": "pairs"}, "--agreement is for --paper href"),
        ({"paper": "llmbar", "baseline": ["base"]}, "for HREF alone: omit them for LLMBar"),
        ({"paper": "href", "baseline": ["base"]}, "has a response of system 'base'"),
        ({"paper": "href", "agreement": "pears"}, "did you mean pairs"),
    ],
)
def test_baselines_and_agreement_sets_that_there_are_not(pairs, tmp_path, given, words):
    with pytest.raises(CommandError, match=words):
        call_command("report", "pairs", output=tmp_path / "out.md", verbosity=0, **given)
    assert not list(tmp_path.iterdir())


@pytest.mark.django_db
def test_an_agreement_set_of_another_kind_is_refused(pairs, tmp_path):
    rubrics = tmp_path / "rubrics.jsonl"
    row = {"id": "a", "kind": "rubric", "instruction": "Say hello.", "responses": [{"text": "Hello."}]}
    rubrics.write_text(json.dumps(row) + "\n", encoding="utf-8")
    call_command(
        "import_dataset", "generic", str(rubrics), name="rubrics", criteria="helm-instruct", verbosity=0
    )
    with pytest.raises(CommandError, match="'rubrics' has no items of the kind pairwise"):
        call_command(
            "report", "pairs", paper="href", agreement="rubrics", output=tmp_path / "out", verbosity=0
        )
    assert not (tmp_path / "out").exists()

"""The seam of all papers: tables in four formats, folders written whole, what is missing said."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils.html import conditional_escape

from metaeval.papers import PAPERS
from metaeval.papers.latex import table_latex
from metaeval.papers.tables import (
    PaperTable,
    number_cell,
    table_csv,
    table_json,
    table_markdown,
    with_best_marked,
    word_cell,
)
from metaeval.services import papers
from tests.annotation.factories import dataset_make
from tests.annotation.kinds import kind_dataset_make
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
        spans=(("Natural", 2), ("", 2), ("Adversarial: A_1", 2)), upper_spans=(("", 2), ("Adversarial", 6)),
    )  # fmt: skip
    # 70 categories in another script, and more rows than a page has lines.
    many = PaperTable(
        "many", "Table 5", "評価", ("System", *(f"評価 {n}" for n in range(70))),
        tuple((word_cell(f"система {k}"), *[number_cell(0.5)] * 70) for k in range(60)),
    )  # fmt: skip
    assert table_latex(many).count(r"\begin{table}") > 8
    body = table_latex(wide) + table_latex(table_of(0.1, None)) + r"\clearpage" + table_latex(many)
    (tmp_path / "a.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs}\usepackage{graphicx}\begin{document}"
        + body
        + r"\end{document}"
    )
    run = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "a.tex"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    assert "too large" not in done.stdout


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
    assert {name.rpartition(".")[2] for name in first} >= {
        "md",
        "tex",
        "csv",
        "json",
        "svg",
        "png",
        "pdf",
        "html",
    }
    assert first["tables.pdf"].startswith(b"%PDF")
    assert b"# " in first["README.md"]
    # The same again replaces it, byte for byte, and leaves nothing beside it.
    call_command("report", "pairs", paper=paper, output=folder, verbosity=0)
    assert written(folder) == first
    assert [path.name for path in folder.parent.iterdir()] == ["tables"]


@pytest.mark.django_db
@pytest.mark.slow
def test_the_document_compiles_and_has_every_table_and_figure(pairs, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    folder = tmp_path / "href"
    call_command("report", "pairs", paper="href", output=folder, verbosity=0)
    run = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-output-directory", "..", "paper.tex"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
    document = (folder / "paper.tex").read_text("utf-8")
    made = papers.paper_make(paper="href", dataset=pairs)
    assert all(rf"\input{{{table.name}}}" in document for table in made.tables)
    assert made.pictures
    assert all(f"{picture.name}.pdf" in document for picture in made.pictures)


@pytest.mark.django_db
def test_one_file_has_all_tables_figures_and_what_is_missing(pairs, tmp_path, capsys):
    made = papers.paper_make(paper="llmbar", dataset=pairs)
    page = tmp_path / "llmbar.html"
    call_command("report", "pairs", paper="llmbar", output=page)
    assert f"Wrote {page}." in capsys.readouterr().out
    html = page.read_text("utf-8")
    for table in made.tables:
        assert f'<h2 id="{table.name}">' in html
    for picture in made.pictures:
        assert f"<strong>{picture.title}.</strong>" in html
    for part in made.missing:
        assert conditional_escape(part.words) in html
    # It needs nothing from elsewhere and runs nothing.
    assert not re.search(r"<script|<link|src=|url\((?!#)|@import", html)
    for suffix, begins in ((".pdf", b"%PDF"), (".zip", b"PK")):
        call_command("report", "pairs", paper="llmbar", output=tmp_path / f"a{suffix}", verbosity=0)
        assert (tmp_path / f"a{suffix}").read_bytes().startswith(begins)


@pytest.mark.django_db
def test_a_format_of_single_tables_is_refused(pairs, tmp_path):
    with pytest.raises(CommandError, match=r"paper\.tex: a paper has many tables.*\.html, \.pdf, \.zip"):
        call_command("report", "pairs", paper="llmbar", output=tmp_path / "paper.tex", verbosity=0)
    assert not list(tmp_path.iterdir())


def test_what_is_missing_says_what_to_bring(db, pairs):
    """Of every paper, on data with as little as there can be of each kind."""
    made = [
        papers.paper_make(paper=key, dataset=pairs) for key, one in PAPERS.items() if "pairwise" in one.kinds
    ]
    for kind in ("rubric", "answer_ranking", "importance", "checklist"):
        dataset = kind_dataset_make(kind, name=f"only-{kind}")
        made += [
            papers.paper_make(paper=key, dataset=dataset) for key, one in PAPERS.items() if kind in one.kinds
        ]
    assert {one.paper.key for one in made} == set(PAPERS)
    parts = [part for one in made for part in one.missing]
    assert len(parts) > 20
    silent = [(part.title, part.reason) for part in parts if not part.bring]
    assert not silent
    assert all(text.endswith(".") for part in parts for text in (part.reason, part.bring))


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
    output = tmp_path / ("out" if "paper" in given else "out.md")
    with pytest.raises(CommandError, match=words):
        call_command("report", "pairs", output=output, verbosity=0, **given)
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

"""A report as files to be carried away: PDF, LaTeX that compiles, BibTeX, one archive of everything."""

import io
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.pictures import rendering
from metaeval.reports.content import build
from metaeval.reports.methods import methods, methods_section
from metaeval.reports.render import FORMATS, NAMES, formats_here, render
from metaeval.reports.typesetting import MissingPdfError
from tests.metaeval.reports.arrays import inputs_make, judge_make

ARABIC, HANZI = "محكّم", "法官"
HOSTILE = r"100% of_{A} & \input{x} #1 ~^ “né” İŁđ → 🙂"
LONG = ("meta-llama/Llama-3.1-405B-Instruct / Metrics_Reference_Swap_Synthesize", "x" * 120)
N, CATEGORIES = 210, 70


@pytest.fixture(scope="module")
def report():
    """Two judges that cannot be told from each other, one far behind; names of every script; 70 categories."""
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 3, N)

    good = rng.random((N, 2)) < 0.9

    def judge(name, right):
        return judge_make(name, np.where(right, gold[:, None], 3 - gold[:, None]))

    inputs = inputs_make(
        lengths=rng.integers(5, 500, (N, 2)),
        gold=gold,
        category=[f"Category_{k % CATEGORIES} {HANZI}" for k in range(N)],
        labels=[(k, p, gold[k] if rng.random() < 0.85 else 3 - gold[k]) for k in range(N) for p in range(3)],
        judges=(
            judge(HOSTILE, good),
            judge(ARABIC, good[:, ::-1]),
            judge("far", rng.random((N, 2)) < 0.6),
            *(judge(name, rng.random((N, 2)) < 0.5) for name in LONG),
        ),
        name="50% pairs_1",
    )
    return build(inputs, Options(n_resamples=50))


def pdf_text(content: bytes) -> str:
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext, of Poppler")
    done = subprocess.run(["pdftotext", "-layout", "-", "-"], input=content, capture_output=True, check=True)
    return done.stdout.decode()


def compiled(folder, name, *, bibliography=False):
    """The log of pdfLaTeX, which stops at the first error."""
    if shutil.which("pdflatex") is None:
        pytest.skip("needs a TeX with pdflatex and booktabs")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name]
    steps = [latex, ["bibtex", name], latex, latex] if bibliography else [latex]
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, timeout=120)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2_000:]
    return (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")


def words_off_the_page(content: bytes) -> list[str]:
    """Words of a PDF that stand in its margins, or beyond the paper."""
    if shutil.which("pdftotext") is None:
        pytest.skip("needs pdftotext, of Poppler")
    done = subprocess.run(["pdftotext", "-bbox", "-", "-"], input=content, capture_output=True, check=True)
    found, width = [], 0.0
    for line in done.stdout.decode().splitlines():
        if page := re.search(r'<page width="([\d.]+)"', line):
            width = float(page[1])
        elif word := re.search(r'<word xMin="([-\d.]+)" .* xMax="([-\d.]+)" .*>(.*)</word>', line):
            # The margins are 57 points.
            found += [word[3]] if float(word[1]) < 50 or float(word[2]) > width - 50 else []
    return found


def needs_typst():
    pytest.importorskip("typst", reason="needs the extra `pdf`")


@pytest.mark.slow
def test_a_pdf_says_what_the_report_says(report):
    needs_typst()
    content = render(report, ".pdf")
    assert content == render(report, ".pdf")  # the same inputs, the same bytes
    assert content.startswith(b"%PDF-")
    text = " ".join(pdf_text(content).split())
    assert report.inputs_hash in text
    assert "Methods" in text
    assert "References" in text
    assert "far" in text
    assert r"\input{x}" in text  # text, and nothing else
    assert "Bold: the best judge" in text
    # 70 categories, in parts across the page, none lost.
    assert "Part 8 of 8" in text
    assert {f"Category_{k}" for k in range(CATEGORIES)} <= set(re.findall(r"Category_\d+", text))
    assert words_off_the_page(content) == []


def test_without_typst_a_pdf_says_what_is_missing(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "typst", None)
    monkeypatch.setattr(rendering, "available", lambda: False)
    with pytest.raises(MissingPdfError, match=r"touchstone-judge\[pdf\]"):
        render(report, ".pdf")
    names = zipfile.ZipFile(io.BytesIO(render(report, ".zip"))).namelist()
    assert "report/report.pdf" not in names
    assert "report/report.html" in names


@pytest.mark.slow
def test_latex_compiles_whatever_the_names_are(report, tmp_path):
    (tmp_path / "report.tex").write_text(render(report, ".tex"), encoding="utf-8")
    (tmp_path / "paper.tex").write_text(
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n\\input{report}\n\\end{document}\n"
    )
    compiled(tmp_path, "paper")


@pytest.mark.slow
def test_the_archive_has_everything_and_its_paper_compiles(report, tmp_path):
    with zipfile.ZipFile(io.BytesIO(render(report, ".zip"))) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path)
    wanted = {f"report/report.{suffix}" for suffix in formats_here() if suffix != "zip"}
    assert names >= {*wanted, "report/paper.tex"}
    drawn = {f"report/figures/forest-plot.{suffix}" for suffix in ("svg", "pdf", "png", "csv")}
    assert drawn <= names or not rendering.available()
    log = compiled(tmp_path / "report", "paper", bibliography=True)
    assert not re.search("Citation .* undefined|Reference .* undefined", log)
    assert words_off_the_page((tmp_path / "report/paper.pdf").read_bytes()) == []
    # Nothing is wider than the line by more than a letter, pictures included.
    assert [wide for wide in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(wide) > 5] == []


def test_bold_is_the_best_and_what_is_not_significantly_different(report):
    text = render(report, ".tex")
    table = text[text.index(r"\label{tab:50-pairs-1-judges") :]
    rows = {row.split(" & ")[0]: row for row in table[: table.index(r"\end{table}")].splitlines()}
    bold = {name for name, row in rows.items() if r"\textbf{" in row}
    assert len(bold) == 2
    assert "far" not in bold
    assert any("otherscript" in name for name in bold)


def test_every_citation_has_an_entry_and_every_entry_is_cited(report):
    tex, bib = render(report, ".tex"), render(report, ".bib")
    cited = {key for found in re.findall(r"\\cite\{([^}]*)\}", tex) for key in found.split(",")}
    assert cited == set(re.findall(r"^@\w+\{([^,]+),", bib, re.MULTILINE))
    assert {"hansen2011", "krippendorff2011alpha", "lyu2024href", "touchstone", "wilson1927"} <= cited
    assert "zhang2024helminstruct" not in cited  # of ratings
    # Braces are balanced, and the hostile title is text.
    assert bib.count("{") - bib.count(r"\{") == bib.count("}") - bib.count(r"\}")


def test_methods_are_prose_with_what_a_paper_has_to_say(report):
    prose = " ".join(methods_section(report).prose)
    for words in (
        "The items are 210 of the dataset",
        "3 annotators gave 630 labels of 210 items, 3 an item",
        "ties between modes count by the exact expectation",
        "50 bootstrap resamples of instructions (seed 0)",
        report.software["version"],
        report.inputs_hash,
    ):
        assert words in prose
    assert re.search(r"\[\d+(, \d+)*\]\.", prose)
    simulated = replace(report, people=replace(report.people, simulated_share=0.5))
    assert "50% of the labels come from simulated annotators." in " ".join(methods_section(simulated).prose)


def test_methods_name_the_preset_whose_conventions_were_used(report):
    """The rules of the papers, as `metaeval.stats.presets` has them; the defaults are no paper's."""

    def words(**options):
        return " ".join(methods(replace(report, options=report.options | options)))

    assert "Accuracy has the conventions of the preset llmbar." in words()
    assert "Leave-one-out agreement has the conventions of" not in words()
    assert "Leave-one-out agreement has the conventions of the preset href." in words(tie_break="random")
    chosen = words(tie_break="alpaca_eval", unparsed="omit")
    assert "Leave-one-out agreement has the conventions of the preset alpaca_eval." in chosen
    assert "the preset llmbar" not in chosen
    assert "no preset of a paper" in words(unparsed="omit")


def test_html_needs_nothing_else(report):
    text = render(report, ".html")
    assert "<svg" in text
    assert "<script" not in text
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\((?!#)""", text)
    assert ARABIC in text


def test_every_format_has_a_name():
    assert {f".{suffix}" for suffix in NAMES} == set(FORMATS)

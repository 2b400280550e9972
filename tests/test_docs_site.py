"""The documentation as a site: it builds without a warning, needs nothing from elsewhere, and its tutorial holds."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from judges.backends.mock_server import running_mock_server
from judges.standalone.main import main
from tests.metaeval.papers.how_to import HowTo

ROOT = Path(__file__).resolve().parents[1]
LOADED = re.compile(r'(?:<script[^>]* src|<link[^>]* href|<img[^>]* src)="(?:https?:)?//')


@pytest.mark.slow
@pytest.mark.service
def test_it_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="needs the extra docs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = {path.relative_to(tmp_path).as_posix(): path.read_text() for path in tmp_path.rglob("*.html")}
    assert [name for name, text in pages.items() if LOADED.search(text)] == []
    assert (tmp_path / "search" / "search_index.json").exists()
    for words, page in [
        ("import_judgments", "reference/commands.html"),
        ("DATABASE_URL", "reference/settings.html"),
        ("krippendorff_alpha", "reference/library.html"),
    ]:
        assert words in pages[page], page


@pytest.mark.slow
@pytest.mark.django_db
def test_the_tutorial_of_a_researcher_leads_from_a_csv_to_a_pdf(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = HowTo("../tutorials/researcher").run()
    assert "6 items" in printed
    with zipfile.ZipFile("report.zip") as archive:
        archive.extractall()
    assert "First judge" in Path("report/report.tex").read_text()
    assert "forest" in Path("report/paper.tex").read_text()
    with zipfile.ZipFile("pairs-dataset.zip") as archive:
        assert "croissant.json" in archive.namelist()
    if shutil.which("pdflatex") is None:
        pytest.skip("needs a TeX with pdflatex and booktabs")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper"]
    for step in (latex, ["bibtex", "paper"], latex):
        subprocess.run(step, cwd="report", check=True, capture_output=True)
    assert Path("report/paper.pdf").stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.django_db
def test_the_tutorial_of_traces_leads_to_the_agreement(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("fixtures").symlink_to(ROOT / "fixtures")
    page = HowTo("../tutorials/traces")
    (command,) = [line for line in page.text.splitlines() if line.startswith("touchstone judge")]
    with running_mock_server() as server:
        words = command.replace("http://127.0.0.1:8100/v1", server.url).split()[1:]
        assert main(words) == 0
    printed = page.run()
    assert "8 items, 8 gold; 22 labels. Created." in printed
    assert "1 judge, 8 judgments, 0 unparsed" in printed
    assert r"classification\_direct: Agreement" in Path("bakery.md").read_text()

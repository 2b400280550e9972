"""What the README and the page for users of the library alone show is what comes out."""

import doctest
import re
from pathlib import Path

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.service  # matplotlib asks the system for its fonts, once
def test_the_examples_of_the_notebook_page_run(monkeypatch):
    mpl.use("agg")
    monkeypatch.chdir(ROOT / "fixtures" / "notebook")
    with mpl.rc_context({"figure.max_open_warning": 0}):
        found = doctest.testfile(str(ROOT / "docs" / "notebook.md"), module_relative=False)
    assert found.attempted > 15
    assert found.failed == 0


def test_the_examples_of_the_readme_run(monkeypatch):
    monkeypatch.chdir(ROOT / "fixtures" / "notebook")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 2
    shown: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), shown)
    assert (shown["choice"].verdict, shown["choice"].leader) == ("clear", "careful")

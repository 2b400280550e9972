"""The page for users of the library alone: what it shows is what comes out."""

import doctest
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

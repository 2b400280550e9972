"""The examples of the docstrings run; every public name is documented; the library stays pure."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metaeval.stats
from tests.cases import over

DOCS = Path(__file__).parents[3] / "docs"
INDEX = (DOCS / "statistics.md").read_text(encoding="utf-8")
PAGES = INDEX + "".join(
    page.read_text(encoding="utf-8") for page in sorted((DOCS / "statistics").glob("*.md"))
)
# Where matplotlib looks for fonts the first time, it asks the system for them.
MODULES = [
    pytest.param(f"metaeval.stats.{module.name}", marks=pytest.mark.service if module.name == "plots" else ())
    for module in pkgutil.iter_modules(metaeval.stats.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


@over(metaeval.stats.__all__)
def test_every_public_name_is_documented(name):
    public = getattr(metaeval.stats, name)
    assert inspect.getdoc(public) or not callable(public)
    if inspect.isfunction(public):
        assert ">>>" in inspect.getdoc(public), "an example that runs"
    assert f"`{name}`" in PAGES


@pytest.mark.service
def test_importing_it_needs_no_django():
    code = "import sys, metaeval.stats; print({n.split('.')[0] for n in sys.modules} & {'django', 'celery'})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_the_ten_lines_that_the_page_opens_with_run():
    block = re.search(r"```python\n(.*?)```", INDEX, re.S)
    assert block is not None
    lines = [line for line in block[1].splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) == 10
    shown: dict[str, object] = {}
    exec(compile(block[1], "docs/statistics.md", "exec"), shown)
    assert shown["agreement"].low < shown["agreement"].value < shown["agreement"].high


def test_every_page_is_reached_from_the_index():
    for page in (DOCS / "statistics").glob("*.md"):
        assert f"(statistics/{page.name})" in INDEX

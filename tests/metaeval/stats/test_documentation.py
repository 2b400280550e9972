"""The examples of the docstrings run; every public name is documented; the library stays pure."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import metaeval.stats

MODULES = [f"metaeval.stats.{module.name}" for module in pkgutil.iter_modules(metaeval.stats.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={"np": np}).failed == 0


@pytest.mark.parametrize("name", metaeval.stats.__all__)
def test_every_public_name_is_documented(name):
    public = getattr(metaeval.stats, name)
    assert inspect.getdoc(public)
    if inspect.isfunction(public):
        assert ">>>" in inspect.getdoc(public), "an example that runs"
    page = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")
    assert f"`{name}`" in page


def test_importing_it_needs_no_django():
    code = "import sys, metaeval.stats; print({n.split('.')[0] for n in sys.modules} & {'django', 'celery'})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"

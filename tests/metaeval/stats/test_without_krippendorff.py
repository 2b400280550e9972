"""`metaeval.stats` without the krippendorff package, which is GPL-3.0-or-later: every public function works."""

import subprocess
import sys

import krippendorff
import numpy as np
import pytest

from metaeval.stats import alpha, krippendorff_alpha

# In a process of its own, in which the import is blocked before anything is imported.
_BLOCKED = """
import sys
sys.modules["krippendorff"] = None
from metaeval import selection, stats
from tests.metaeval.stats.every_call import CASES
failed = {}
for each in CASES:
    try:
        each.call()
    except Exception as error:
        failed[each.name] = repr(error)
print(len(CASES), failed)
"""


@pytest.mark.slow
@pytest.mark.service
def test_every_public_function_works_without_it():
    found = subprocess.run([sys.executable, "-c", _BLOCKED], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    count, failed = found.stdout.split(maxsplit=1)
    assert int(count) >= 100
    assert failed.strip() == "{}"


@pytest.mark.parametrize("shift", [0.0, 0.25])
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("n_values", [2, 5, 30])
def test_alpha_is_the_package_s(n_values, level, shift, monkeypatch):
    rng = np.random.default_rng(n_values)
    labels = rng.integers(1, n_values + 1, (60, 1)) + rng.integers(0, 2, (60, 4)) + shift
    labels[rng.random((60, 4)) < 0.2] = np.nan
    expected = krippendorff.alpha(labels.T, level_of_measurement=level)
    monkeypatch.setattr(alpha, "krippendorff", None)
    found = krippendorff_alpha(labels, level=level, n_resamples=0).value
    assert found == pytest.approx(expected, abs=1e-12)

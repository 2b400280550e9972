"""Sums end in other last bits with another number of threads: a stored report must not depend on them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from metaeval.inputs import Options
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make

_CODE = (
    "from tests.metaeval.reports.test_same_on_each_machine import report_text; print(report_text(), end='')"
)


def pairs():
    """So many pairs that BLAS divides products of their tables among threads."""
    rng = np.random.default_rng(5)
    n = 1_500
    truth = rng.integers(1, 3, n)
    labels = [
        (item, (item + place) % 9, truth[item] if rng.random() < 0.8 else 3 - truth[item])
        for item in range(n)
        for place in range(3)
    ]
    judges = tuple(
        judge_make(
            f"judge {k}",
            np.where(rng.random((n, 2)) < 0.6 + 0.08 * k, truth[:, np.newaxis], 3 - truth[:, np.newaxis]),
        )
        for k in range(4)
    )
    return inputs_make(
        lengths=rng.integers(20, 400, (n, 2)),
        gold=truth,
        category=[("Coding", "Extract")[item % 2] for item in range(n)],
        labels=labels,
        judges=judges,
    )


def report_text() -> str:
    """The report as it is stored, in JSON."""
    return json.dumps(content_build(pairs(), Options(n_resamples=1_000)), sort_keys=True)


@pytest.mark.service
def test_a_report_is_the_same_with_one_thread_and_with_several():
    one, several = (
        subprocess.run(
            [sys.executable, "-c", _CODE],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
        ).stdout
        for threads in ("1", "4")
    )
    assert '"abstention"' in one
    assert one == several


def test_thresholds_are_stored_to_twelve_digits_like_all_figures():
    content = content_build(pairs(), Options(n_resamples=50))
    found = [judge["abstention"] for judge in content["judges"] if judge["abstention"] is not None]
    assert len(found) == 4
    for threshold in found:
        numbers = [threshold[name] for name in ("threshold", "bound", "target")]
        numbers += [threshold[name][end] for name in ("coverage", "risk") for end in ("value", "low", "high")]
        assert all(number is None or number == float(f"{number:.12g}") for number in numbers)

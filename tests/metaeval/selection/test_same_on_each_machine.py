"""Sums end in other last bits on another machine: what a comparison says must not depend on them."""

import numpy as np

from metaeval.selection.paired import compare
from metaeval.stats import Resamples


def test_judges_that_come_out_equal_in_a_draw_are_in_the_same_order_everywhere():
    rng = np.random.default_rng(3)
    # Right or wrong on each of few items: in many draws two judges lead by exactly as much.
    scores = {f"judge {k}": (rng.random(100) < 0.6 + 0.02 * k).astype(float) for k in range(8)}
    moved = {name: column * (1 - 1e-15 * rng.random(100)) for name, column in scores.items()}
    one, two = (compare(each, resamples=Resamples(100, 1, 0)) for each in (scores, moved))
    assert one.ranking == two.ranking
    for name, difference in one.differences.items():
        assert abs(difference.low - two.differences[name].low) < 1e-12, name

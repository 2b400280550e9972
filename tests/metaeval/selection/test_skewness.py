"""By how much sign flips fall short of exchanges among equally good judges."""

import numpy as np

from metaeval.selection.skewness import skewness_factor


def test_only_skewed_clusters_of_three_judges_and_more_raise_it():
    rng = np.random.default_rng(0)
    sizes = np.full(40, 1 / 40)
    even, skewed = rng.normal(size=(40, 6)), -(rng.exponential(size=(40, 6)) ** 3)
    assert skewness_factor(skewed[:, :2] / 40, sizes, 0.95) == 1
    assert 1 <= skewness_factor(even / 40, sizes, 0.95) < 1.05 < skewness_factor(skewed / 40, sizes, 0.95)
    assert skewness_factor(np.zeros((40, 6)), sizes, 0.95) == 1

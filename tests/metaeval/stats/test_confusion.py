"""True positive and true negative rates, precision, F1 and the cost of errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    confusion,
    error_cost,
    error_cost_contributions,
    ratio_estimate,
)

nan = float("nan")


def test_by_hand():
    # Six items: 1 1 0 | 1 0 0 said of 1 1 1 | 0 0 0. TP 2, FN 1, FP 1, TN 2: all rates are 2/3.
    found = confusion([1, 1, 0, 1, 0, 0], [1, 1, 1, 0, 0, 0])
    assert (found.true_positives, found.false_negatives, found.false_positives, found.true_negatives) == (
        2,
        1,
        1,
        2,
    )
    for rate in (found.true_positive_rate, found.true_negative_rate, found.precision, found.f1):
        assert rate.value == pytest.approx(2 / 3)


answers = st.sampled_from([0.0, 1.0, 2.0, nan])


@given(st.lists(st.tuples(answers, answers, st.integers(1, 3)), min_size=1, max_size=12))
def test_against_counting_one_by_one(rows):
    tp = fn = fp = tn = 0.0
    for said, right, weight in rows:
        if right == 1:
            tp, fn = (tp + weight, fn) if said == 1 else (tp, fn + weight)
        elif right == 0:
            tn, fp = (tn + weight, fp) if said == 0 else (tn, fp + weight)
    said, right, weight = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    positive = float(sum(w for s, r, w in rows if s == 1 and r in (0, 1)))
    expected = {
        "true_positive_rate": (tp, tp + fn),
        "true_negative_rate": (tn, tn + fp),
        "precision": (tp, positive),
        "f1": (2 * tp, tp + fn + positive),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StatisticsWarning)
        found = confusion(said, right, weights=weight, n_resamples=0)
    for name, (top, bottom) in expected.items():
        value = getattr(found, name).value
        assert value == pytest.approx(top / bottom) if bottom else np.isnan(value)


def test_a_tie_is_wrong_on_both_sides_and_unparsed_can_be_left_out():
    found = confusion([0, 0, nan, 1], [1, 2, 1, 1], positive=1, negative=2)
    assert found.true_positive_rate.value == pytest.approx(1 / 3)
    assert found.true_negative_rate.value == 0
    left_out = confusion([0, 0, nan, 1], [1, 2, 1, 1], positive=1, negative=2, unparsed="omit")
    assert left_out.true_positive_rate.value == 0.5


def test_intervals_are_those_of_ratios_with_clusters_and_weights():
    rng = np.random.default_rng(0)
    truth, said = rng.integers(0, 2, 60).astype(float), rng.integers(0, 2, (60, 2)).astype(float)
    clusters, weights = np.arange(60) // 3, rng.uniform(1, 4, 60)
    found = confusion(said, truth, clusters=clusters, weights=weights, n_resamples=50)
    same = ratio_estimate(
        (said == 1).mean(axis=1) * (truth == 1),
        truth == 1,
        clusters=clusters,
        weights=weights,
        n_resamples=50,
    )
    assert found.true_positive_rate == same


def test_one_class_only_is_undefined_there():
    with pytest.warns(StatisticsWarning, match="negative"):
        found = confusion([1, 0], [1, 1])
    assert np.isnan(found.true_negative_rate.value)
    assert found.true_positive_rate.value == 0.5


def test_costs():
    # Two false positives at 5, one false negative at 1, of four items.
    assert error_cost([1, 1, 0, 1], [0, 0, 1, 1], false_positive=5).value == pytest.approx(11 / 4)
    assert error_cost_contributions([[1, 0]], [0], false_positive=4).tolist() == [2.0]
    truth, said = np.resize([1.0, 0.0, 0.0], 30), np.resize([1.0, 0.0, 1.0, 0.0, 0.0], 30)
    assert error_cost(said, truth).value == pytest.approx((said != truth).mean())
    with pytest.raises(InvalidInputError, match="negative"):
        confusion([1], [1], positive=1, negative=1)

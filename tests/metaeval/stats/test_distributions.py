"""Distances of a judge's distribution from people's labels: by hand, beside scipy, without the bias of few labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    distribution_contributions,
    distribution_distance,
    expected_win_rate,
    paired_difference,
    pairwise_agreement,
)
from metaeval.stats.distributions import DISTANCES

NAN = np.nan
VALUES = [0, 1, 2]


def slow(labels, answers, measure, unparsed="wrong", corrected=True, smoothing=0.01):
    """One item, from the definitions: a value of its own, NaN, holds what could not be read."""
    labels = [value for value in labels if not np.isnan(value)]
    if unparsed == "omit":
        answers = [value for value in answers if not np.isnan(value)]
    if not labels or not len(answers):
        return NAN
    p = np.array([labels.count(value) / len(labels) for value in VALUES] + [0.0])
    q = np.array([sum(value == one for one in answers) / len(answers) for value in VALUES])
    q = np.append(q, 1 - q.sum())
    if measure == "total_variation":
        return max(
            abs(sum((p - q)[list(part)])) for part in ([0], [1], [2], [3], [0, 1], [0, 2], [1, 2], [0, 1, 2])
        )
    if measure == "cross_entropy":
        mixed = (1 - smoothing) * q[:3] + smoothing / 3
        return -np.mean([np.log(mixed[VALUES.index(value)]) for value in labels])
    if measure == "squared":
        if not corrected:
            return float(((p - q) ** 2).sum())
        if len(labels) < 2:
            return NAN
        # The mean over ordered pairs of people of what their two deviations from the judge share.
        one = np.array([[value == other for other in VALUES] + [False] for value in labels], dtype=float) - q
        products = one @ one.T
        n = len(labels)
        return float((products.sum() - np.trace(products)) / (n * (n - 1)))
    distance = jensenshannon(p, q, base=2)
    return distance if measure == "jensen_shannon_distance" else distance**2


label = st.sampled_from([0.0, 1.0, 2.0, NAN])


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.tuples(st.lists(label, min_size=4, max_size=4), st.lists(label, min_size=2, max_size=2)),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from(DISTANCES),
    st.sampled_from(["wrong", "omit"]),
    st.booleans(),
)
def test_each_item_is_what_the_definition_gives(rows, measure, unparsed, corrected):
    labels, verdicts = (np.array(side) for side in zip(*rows, strict=True))
    options = {"measure": measure, "unparsed": unparsed, "corrected": corrected}
    found = distribution_contributions(labels, verdicts, values=VALUES, **options)
    expected = [slow(one, other, **options) for one, other in rows]
    assert found == pytest.approx(np.array(expected, dtype=float), abs=1e-6, nan_ok=True)


def test_by_hand():
    # People (1, 1, 2, 2, 2) are 2/5 and 3/5; the judge says 1 once and 2 once.
    labels, verdicts = [[1, 1, 2, 2, 2]], [[1, 2]]
    value = {measure: distribution_distance(labels, verdicts, measure=measure).value for measure in DISTANCES}
    assert value["total_variation"] == pytest.approx(0.1)
    # 0.1² + 0.1² = 0.02, less (0.24 + 0.24) / 4 that five labels add.
    assert value["squared"] == pytest.approx(0.02 - 0.12)
    assert distribution_distance(labels, verdicts, measure="squared", corrected=False).value == pytest.approx(
        0.02
    )
    middle = np.array([0.45, 0.55])
    divergence = (entropy([0.4, 0.6], middle, base=2) + entropy([0.5, 0.5], middle, base=2)) / 2
    assert value["jensen_shannon"] == pytest.approx(divergence)
    # Half and half, whatever is spread: the entropy of a coin.
    assert value["cross_entropy"] == pytest.approx(np.log(2))


def test_the_formulas_of_guerdan_et_al():
    """Their code: JSD is the mean of scipy's distances in nats, CE is people's under the judge, MSE sums squares."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (30, 7)).astype(float)
    judge = rng.dirichlet([1, 2, 3], 30)
    people = np.stack([(labels == value).mean(axis=1) for value in VALUES], axis=1)
    given = {"probabilities": judge, "values": VALUES, "n_resamples": 0}
    found = distribution_distance(labels, measure="jensen_shannon_distance", **given).value
    assert found * np.sqrt(np.log(2)) == pytest.approx(jensenshannon(people, judge, axis=1).mean())
    found = distribution_distance(labels, measure="cross_entropy", smoothing=0, **given).value
    assert found == pytest.approx(-(people * np.log(judge)).sum(axis=1).mean())
    found = distribution_distance(labels, measure="squared", corrected=False, **given).value
    assert found == pytest.approx(((people - judge) ** 2).sum(axis=1).mean())


def test_few_labels_add_to_all_but_the_corrected_one():
    """The judge gives exactly what people would: 0 is the truth, and two labels an item hide it elsewhere."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([2, 2], 4_000)
    labels = np.where(rng.random((4_000, 2)) < truth[:, :1], 1.0, 2.0)
    given = {"probabilities": truth, "values": [1, 2], "n_resamples": 100}
    found = distribution_distance(labels, measure="squared", **given)
    assert found.low < 0 < found.high
    assert abs(found.value) < 0.02
    assert distribution_distance(labels, measure="squared", corrected=False, **given).value > 0.15
    assert distribution_distance(labels, measure="total_variation", **given).low > 0.2
    assert distribution_distance(labels, measure="jensen_shannon", **given).low > 0.1


def test_one_person_is_as_far_as_pairs_disagree():
    """What a judge has to beat to be nearer to people's shares than one of them."""
    labels = np.random.default_rng(2).integers(1, 3, (50, 6)).astype(float)
    each = [
        distribution_distance(np.delete(labels, person, axis=1), labels[:, person], measure="squared").value
        for person in range(6)
    ]
    assert np.mean(each) == pytest.approx(1 - pairwise_agreement(labels).value)


def test_a_judge_that_hedges_as_people_do_is_chosen_by_it_and_not_by_wins():
    rng = np.random.default_rng(3)
    share = rng.choice([0.5, 0.9], 300)
    labels = np.where(rng.random((300, 5)) < share[:, None], 1.0, 2.0)
    sure, torn = np.ones((300, 2)), np.stack([np.ones(300), np.where(share > 0.7, 1.0, 2.0)], axis=1)
    gap = paired_difference(
        *(distribution_contributions(labels, one, measure="squared") for one in (sure, torn)),
        bounds=(-0.5, 2),
    )
    assert gap.low > 0
    assert expected_win_rate(sure).value == 1


def test_of_alpaca_eval_a_person_is_nearer_to_people_than_the_longer_response(alpaca):
    longer = np.where(alpaca.length_1 > alpaca.length_2, 1.0, 2.0)
    options = {"measure": "squared", "values": VALUES, "clusters": alpaca.instructions, "n_resamples": 1}
    found = distribution_distance(alpaca.labels, longer, **options)
    assert (found.value, found.low, found.high) == pytest.approx((0.470, 0.421, 0.520), abs=5e-4)
    assert 1 - pairwise_agreement(alpaca.labels).value == pytest.approx(0.382, abs=5e-4)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"verdicts": [1], "probabilities": [[1, 0]], "values": [1, 2]}, "verdicts"),
        ({}, "verdicts"),
        ({"probabilities": [[1, 0]]}, "values"),
        ({"probabilities": [[1, 0, 0]], "values": [1, 2]}, "probabilities"),
        ({"probabilities": [[0.9, 0.2]], "values": [1, 2]}, "probabilities"),
        ({"probabilities": [[1.1, -0.1]], "values": [1, 2]}, "probabilities"),
        ({"probabilities": [[NAN, 0.2]], "values": [1, 2]}, "probabilities"),
        ({"verdicts": [0], "values": [1, 2]}, "verdicts: 0"),
        ({"verdicts": [1], "values": [1, 2], "measure": "cross_entropy", "smoothing": 0}, "smoothing"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, name):
    with pytest.raises(InvalidInputError, match=name):
        distribution_contributions([[1, 2]], **given)


def test_undefined_says_why():
    with pytest.warns(StatisticsWarning, match="two labels"):
        assert not distribution_distance([[1, NAN]], [1], measure="squared").defined
    with pytest.warns(StatisticsWarning, match="no judged item"):
        assert not distribution_distance([[1, 2]], [NAN], unparsed="omit").defined
    # A row without probabilities is an unparsed answer: all of it would have to move.
    found = distribution_contributions([[1, 2]], probabilities=[[NAN, NAN]], values=[1, 2])
    assert found.tolist() == [1.0]

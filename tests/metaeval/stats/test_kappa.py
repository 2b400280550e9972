"""Cohen's and Fleiss' kappa: by hand, references, a slow oracle, invariants, degenerate input, coverage."""

import json
import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.kappa import cohen_kappa, fleiss_kappa
from tests.metaeval.stats.test_pairs import FLEISS

NAN = math.nan
I = np.arange(40)  # noqa: E741
ONE = 1 + I * 7 % 5
TWO = np.clip(ONE + np.where(I % 3 == 0, I % 5 - 2, 0), 1, 5)
THREE = np.clip(ONE + np.where(I % 4 == 1, 1, 0) - np.where(I % 7 == 2, 2, 0), 1, 5)


def people(*columns):
    """Three people's ratings; of the second form some are missing."""
    labels = np.stack([ONE, TWO, THREE], axis=1).astype(float)
    if columns:
        labels[I % 6 == 0, 0] = NAN
        labels[I % 9 == 1, 1:] = NAN
    return labels


def cohen_oracle(first, second, distance):
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if not math.isnan(a) and not math.isnan(b)]
    n = len(pairs)
    observed = Fraction(sum(distance(a, b) for a, b in pairs), n)
    expected = Fraction(sum(distance(a, b) for a, _ in pairs for _, b in pairs), n * n)
    return None if expected == 0 else float(1 - observed / expected)


def fleiss_oracle(items):
    items = [[value for value in row if not math.isnan(value)] for row in items]
    paired = [list(combinations(row, 2)) for row in items if len(row) > 1]
    if not paired:
        return None
    observed = sum(Fraction(sum(a == b for a, b in pairs), len(pairs)) for pairs in paired) / len(paired)
    labelled = [row for row in items if row]
    values = {value for row in labelled for value in row}
    shares = [
        sum(Fraction(row.count(value), len(row)) for row in labelled) / len(labelled) for value in values
    ]
    chance = sum(share * share for share in shares)
    return None if chance == 1 else float((observed - chance) / (1 - chance))


class TestByHand:
    def test_cohen(self):
        # Agree on 3 of 4. The one says 1 half of the time, the other 3/4: chance 1/2 * 3/4 + 1/2 * 1/4 = 1/2.
        found = cohen_kappa([1, 1, 2, 2], [1, 1, 2, 1])
        assert found.value == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))
        assert found.n == 4

    def test_a_verdict_is_the_label_that_it_names(self):
        # The same verdicts as the labels are 1, exchanged ones are as bad as can be: never mixed up.
        labels = [1, 2, 1, 2, 1, 2, 2, 1]
        assert cohen_kappa(labels, labels).value == 1
        assert cohen_kappa(labels, [3 - x for x in labels]).value == -1

    def test_quadratic_weights(self):
        # 1 2 3 5 against 1 3 3 4: observed (0 + 1 + 0 + 1) / 4. By chance 1: 0 + 4 + 4 + 9, 2: 1 + 1 + 1 + 4,
        # 3: 4 + 0 + 0 + 1, 5: 16 + 4 + 4 + 1, in all 54 / 16. 1 - (1/2) / (54/16) = 1 - 8/54.
        assert cohen_kappa([1, 2, 3, 5], [1, 3, 3, 4], weights="quadratic").value == pytest.approx(1 - 8 / 54)

    def test_fleiss(self):
        # 111 112 222 221: pairs agree 1, 1/3, 1, 1/3, mean 2/3; both values half of the time, chance 1/2.
        assert fleiss_kappa([[1, 1, 1], [1, 1, 2], [2, 2, 2], [2, 2, 1]]).value == pytest.approx(1 / 3)


class TestReferences:
    def test_cohen_as_in_scikit_learn_and_statsmodels(self):
        # sklearn 1.9.1: cohen_kappa_score(ONE, TWO, weights=w, labels=[1, 2, 3, 4, 5]) for w in None, "linear",
        # "quadratic"; statsmodels 0.15.0: cohens_kappa(crosstab, wt=w) gives the same.
        for weights, expected in (
            (None, 0.71875),
            ("linear", 0.8632218844984803),
            ("quadratic", 0.9467455621301775),
        ):
            assert cohen_kappa(ONE, TWO, weights=weights).value == pytest.approx(expected, abs=1e-14)

    def test_fleiss_as_in_statsmodels_and_irrcac(self):
        # statsmodels 0.15.0: fleiss_kappa(aggregate_raters(people())[0]).
        assert fleiss_kappa(people()).value == pytest.approx(0.6038227628149436, abs=1e-14)
        # irrCAC 0.4.4: CAC(pd.DataFrame(people("some missing")), digits=12).fleiss().
        assert fleiss_kappa(people("some missing")).value == pytest.approx(0.546240437838, abs=1e-11)

    def test_the_published_example_of_fleiss(self):
        # 10 subjects, 14 raters, 5 categories: kappa 0.210.
        labels = np.array([np.repeat([1, 2, 3, 4, 5], counts) for counts in FLEISS])
        assert fleiss_kappa(labels).value == pytest.approx(0.210, abs=5e-4)

    def test_people_of_pandalm(self, shared_data):
        rows = json.loads((shared_data / "pandalm" / "testset-v1.json").read_text(encoding="utf-8"))
        labels = np.array([[row[f"annotator{k}"] for k in (1, 2, 3)] for row in rows], dtype=float)
        # The paper says that Cohen's kappa of each two is about 0.85 or more.
        pairs = [cohen_kappa(labels[:, a], labels[:, b]) for a, b in combinations(range(3), 2)]
        assert [round(pair.value, 3) for pair in pairs] == [0.852, 0.879, 0.862]
        found = fleiss_kappa(labels, clusters=[row["instruction"] + row["input"] for row in rows])
        assert found.value == pytest.approx(fleiss_oracle(labels.tolist()))
        assert (round(found.value, 3), found.n, found.n_clusters) == (0.864, 999, 170)


column = st.lists(st.sampled_from([1.0, 2.0, 3.0, 5.0, NAN]), min_size=6, max_size=6)


@given(column, column)
@settings(deadline=None)
def test_cohen_against_the_oracle(first, second):
    if all(math.isnan(a) or math.isnan(b) for a, b in zip(first, second, strict=True)):
        with pytest.warns(StatisticsWarning, match="no item has both labels"):
            assert not cohen_kappa(first, second).defined
        return
    for weights, distance in (
        (None, lambda a, b: int(a != b)),
        ("linear", lambda a, b: int(abs(a - b))),
        ("quadratic", lambda a, b: int((a - b) ** 2)),
    ):
        expected = cohen_oracle(first, second, distance)
        if expected is None:
            with pytest.warns(StatisticsWarning, match="one value"):
                assert not cohen_kappa(first, second, weights=weights).defined
        else:
            found = cohen_kappa(first, second, weights=weights, n_resamples=0).value
            assert found == pytest.approx(expected, abs=1e-12)


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=4, max_size=4), min_size=2, max_size=7)
)
@settings(deadline=None)
def test_fleiss_against_the_oracle(items):
    expected = fleiss_oracle(items)
    if expected is None:
        with pytest.warns(StatisticsWarning):
            assert not fleiss_kappa(items).defined
    else:
        assert fleiss_kappa(items, n_resamples=0).value == pytest.approx(expected, abs=1e-12)


class TestInvariants:
    def test_exchanging_people_and_renaming_values(self):
        value = cohen_kappa(ONE, TWO).value
        assert cohen_kappa(TWO, ONE).value == pytest.approx(value)
        assert cohen_kappa(10 - ONE, 10 - TWO).value == pytest.approx(value)
        assert cohen_kappa(3.0 * ONE, 3.0 * TWO, weights="linear").value == pytest.approx(
            cohen_kappa(ONE, TWO, weights="linear").value
        )
        assert fleiss_kappa(people()[::-1, ::-1] * -2).value == pytest.approx(fleiss_kappa(people()).value)

    def test_a_value_that_nobody_gave_still_lies_between(self):
        # Without a 3, places would make 2 and 4 neighbours.
        one, two = [1, 2, 4, 5, 1, 4], [1, 4, 4, 5, 2, 5]
        assert cohen_kappa(one, two, weights="linear", n_resamples=0).value == pytest.approx(
            cohen_oracle(one, two, lambda a, b: abs(a - b))
        )

    def test_interval_is_that_of_plain_resampling(self):
        rng = np.random.default_rng(3)
        found = fleiss_kappa(people("some missing"), n_resamples=4_000)
        drawn = [
            fleiss_kappa(people("some missing")[rng.integers(0, 40, 40)], n_resamples=0).value
            for _ in range(250)
        ]
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.04)

    def test_where_and_weights(self):
        where = I < 25
        assert fleiss_kappa(people(), where=where).value == pytest.approx(fleiss_kappa(people()[:25]).value)
        assert cohen_kappa(ONE, TWO, where=where).value == pytest.approx(
            cohen_kappa(ONE[:25], TWO[:25]).value
        )
        # An item that was picked with half the chance stands for two.
        twice = np.where(I < 10, 2, 1)
        assert fleiss_kappa(people(), weights=twice).value == pytest.approx(
            fleiss_kappa(np.repeat(people(), twice, axis=0)).value
        )

    def test_clusters_widen(self):
        doubled, clusters = np.repeat(people(), 4, axis=0), np.repeat(I, 4)
        apart, together = fleiss_kappa(doubled), fleiss_kappa(doubled, clusters=clusters)
        assert apart.value == pytest.approx(together.value)
        assert together.high - together.low > 1.6 * (apart.high - apart.low)


class TestEdges:
    def test_a_kappa_of_one_has_an_interval(self):
        for found in (cohen_kappa([1, 2] * 10, [1, 2] * 10), fleiss_kappa([[1, 1, 1], [2, 2, 2]] * 10)):
            assert (found.value, found.high, found.method) == (1, 1, "wilson")
            assert 0.5 < found.low < 0.75

    def test_undefined(self):
        with pytest.warns(StatisticsWarning, match="no item has two labels"):
            assert fleiss_kappa([[1, NAN], [NAN, 2]]).as_dict()["value"] is None
        with pytest.warns(StatisticsWarning, match="one value"):
            assert math.isnan(fleiss_kappa([[1, 1], [1, 1]]).value)
        with pytest.warns(StatisticsWarning, match="one value"):
            assert math.isnan(cohen_kappa([1, 1], [1, 1]).value)
        with pytest.warns(StatisticsWarning, match="no item has both labels"):
            assert math.isnan(cohen_kappa([], []).value)

    def test_one_value_each_but_not_the_same_is_chance(self):
        assert cohen_kappa([1, 1, 1], [2, 2, 2]).value == 0

    def test_bad_input(self):
        with pytest.raises(InvalidInputError, match="second"):
            cohen_kappa([1, 2], [1])
        with pytest.raises(InvalidInputError, match="weights"):
            cohen_kappa([1, 2], [1, 2], weights="squared")
        with pytest.raises(TypeError, match="unexpected argument"):
            fleiss_kappa([[1, 2]], cluster=[1])


@pytest.mark.filterwarnings("ignore:all labels are one value")
@pytest.mark.parametrize(("n", "error"), [(20, 0.1), (40, 0.3), (40, 0.02), (100, 0.02)])
def test_coverage(n, error):
    # Three values, even; each of two people says any of them instead of the true one with chance `error`.
    rng = np.random.default_rng(1)
    right = 1 - 2 * error / 3
    observed = right**2 + 2 * (error / 3) ** 2
    truth = (observed - 1 / 3) / (2 / 3)
    covered, defined = 0, 0
    for _ in range(150):
        true = rng.integers(0, 3, (n, 1))
        said = np.where(rng.random((n, 2)) < error, rng.integers(0, 3, (n, 2)), true)
        found = cohen_kappa(said[:, 0], said[:, 1], n_resamples=300)
        covered += found.low <= truth <= found.high
        defined += found.defined
    assert covered / defined > 0.9

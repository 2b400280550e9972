"""Gwet's AC1 and AC2: by hand, irrCAC's figures, a slow oracle, invariants, degenerate input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.gwet import agreement_weights, gwet_ac
from metaeval.stats.kappa import fleiss_kappa
from tests.metaeval.stats.test_kappa import people

NAN = math.nan
# The ratings that Gwet's handbook and irrCAC (datasets.raw_4raters) use: 12 units, 4 raters, 5 categories.
GWET = [
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
]  # fmt: skip


def oracle(items, weight, values):
    """AC from the definition, label by label."""
    items = [[x for x in row if not math.isnan(x)] for row in items]
    labelled = [row for row in items if row]
    paired = [row for row in items if len(row) > 1]
    agreed = [
        sum(weight(a, b) for i, a in enumerate(row) for j, b in enumerate(row) if i != j)
        / (len(row) * (len(row) - 1))
        for row in paired
    ]
    share = {v: sum(row.count(v) / len(row) for row in labelled) / len(labelled) for v in values}
    q = len(values)
    chance = sum(weight(a, b) for a in values for b in values) / (q * (q - 1))
    chance *= sum(p * (1 - p) for p in share.values())
    return (sum(agreed) / len(agreed) - chance) / (1 - chance)


def test_by_hand():
    # Nine items 1 1 and one 1 2: observed 0.9; shares 0.95 and 0.05, chance 2 / (2 * 1) * (2 * 0.95 * 0.05).
    labels = [[1, 1]] * 9 + [[1, 2]]
    assert gwet_ac(labels).value == pytest.approx((0.9 - 0.095) / (1 - 0.095))
    # Fleiss' kappa says "worse than chance" of the same labels.
    assert fleiss_kappa(labels).value < 0


@pytest.mark.parametrize(
    ("weights", "handbook", "made_up"),
    [
        # irrCAC 0.4.4: CAC(raw_4raters(), weights=w).gwet(); CAC(pd.DataFrame(people("some missing")),
        # weights=w, digits=12).gwet().
        ("identity", 0.77544, 0.547962392156),
        ("ordinal", 0.89894, 0.831250329589),
        ("linear", 0.85874, 0.739283399685),
        ("quadratic", 0.914, 0.867870967742),
        ("radical", 0.81981, 0.649249864003),
        ("ratio", 0.85737, 0.83376399076),
        ("circular", 0.8302, 0.686812103852),
        ("bipolar", 0.90037, 0.829038559427),
    ],
)
def test_as_in_irrcac(weights, handbook, made_up):
    found = gwet_ac(GWET, weights=weights)
    assert found.value == pytest.approx(handbook, abs=5e-6)
    assert found.n == 11
    assert gwet_ac(people("some missing"), weights=weights).value == pytest.approx(made_up, abs=1e-11)


def test_values_that_nobody_gave_count():
    # irrCAC 0.4.4: CAC(pd.DataFrame(people("some missing")), categories=[1, ..., 7], weights=w, digits=12).gwet().
    for weights, expected in (("identity", 0.582612675318), ("quadratic", 0.946377452464)):
        found = gwet_ac(people("some missing"), weights=weights, values=range(1, 8))
        assert found.value == pytest.approx(expected, abs=1e-11)


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0, NAN]), min_size=3, max_size=3), min_size=1, max_size=6
    )
)
@settings(deadline=None)
def test_against_the_oracle(items):
    if not any(sum(not math.isnan(x) for x in row) > 1 for row in items):
        with pytest.warns(StatisticsWarning, match="no item has two labels|one value only"):
            assert not gwet_ac(items).defined
        return
    values = [0.0, 1.0, 2.0, 4.0]
    for weights, weight in (
        ("identity", lambda a, b: float(a == b)),
        ("linear", lambda a, b: 1 - abs(a - b) / 4),
        ("quadratic", lambda a, b: 1 - ((a - b) / 4) ** 2),
    ):
        found = gwet_ac(items, weights=weights, values=values, n_resamples=0)
        assert found.value == pytest.approx(oracle(items, weight, values))


def test_invariants():
    labels = people("some missing")
    value = gwet_ac(labels).value
    assert gwet_ac(labels[::-1, ::-1]).value == pytest.approx(value)
    assert gwet_ac(9 - labels).value == pytest.approx(value)
    item, annotator = np.nonzero(~np.isnan(labels))
    assert gwet_ac((item, annotator, labels[item, annotator])).value == pytest.approx(value)
    where = np.arange(40) < 20
    assert gwet_ac(labels, where=where).value == pytest.approx(gwet_ac(labels[:20]).value)
    # Only integers take the table of patterns.
    assert gwet_ac(labels + 0.5, weights="quadratic").value == pytest.approx(
        gwet_ac(labels, weights="quadratic").value
    )


def test_all_agreed_has_an_interval_and_values_define_it():
    found = gwet_ac([[1, 1]] * 30, values=[0, 1, 2])
    assert (found.value, found.high, found.method) == (1, 1, "wilson")
    assert 0.8 < found.low < 0.95


def test_undefined():
    with pytest.warns(StatisticsWarning, match="one value only"):
        assert math.isnan(gwet_ac([[1, 1], [1, 1]]).value)
    with pytest.warns(StatisticsWarning, match="no item has two labels"):
        assert math.isnan(gwet_ac([[1, NAN], [NAN, 2]]).value)
    with pytest.warns(StatisticsWarning, match="no item has two labels"):
        assert math.isnan(gwet_ac(np.zeros((0, 2))).value)


def test_bad_input():
    with pytest.raises(InvalidInputError, match="weights"):
        gwet_ac([[1, 2]], weights="cubic")
    with pytest.raises(InvalidInputError, match="5 is none of the values"):
        gwet_ac([[1, 5]], values=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="values"):
        gwet_ac([[1, 2]], values=[1, 2, NAN])
    with pytest.raises(InvalidInputError, match="ascending"):
        agreement_weights([2, 1])
    with pytest.raises(InvalidInputError, match="ratio"):
        agreement_weights([-1, 0, 1], "ratio")


@pytest.mark.parametrize(
    "weights", ["identity", "ordinal", "linear", "quadratic", "radical", "circular", "bipolar"]
)
def test_weights_are_symmetric_shares(weights):
    table = agreement_weights([1, 2, 3.5, 5], weights)
    assert np.array_equal(table, table.T)
    assert (np.diag(table) == 1).all()
    assert table.min() == 0
    assert table.max() == 1


def test_sampling_weights_in_place_of_those_of_agreement_are_refused_in_words():
    with pytest.raises(InvalidInputError, match="weights: expected one of 'identity'"):
        gwet_ac([[1, 1], [1, 2]], weights=np.ones(2))

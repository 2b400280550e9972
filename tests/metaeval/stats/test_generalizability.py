"""Variance components: by hand, mean squares of the complete design, all pairs of labels, and a simulated crowd."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats import (
    GeneralizabilityStudy,
    InvalidInputError,
    StatisticsWarning,
    generalizability_study,
)

NAN = np.nan


def long(table):
    """Scores, items and people of a table of items by people."""
    item, person = (side.ravel() for side in np.indices(np.shape(table)))
    return np.ravel(table), item, person


def test_mean_squares_of_the_complete_design():
    table = np.random.default_rng(0).normal(size=(12, 5)) + np.random.default_rng(1).normal(size=(12, 1)) * 2
    table = table + np.arange(5.0)
    found = generalizability_study(*long(table))
    n, k = table.shape
    rows, columns = table.mean(axis=1), table.mean(axis=0)
    ms_item = k * rows.var(ddof=1)
    ms_person = n * columns.var(ddof=1)
    rest = table - rows[:, None] - columns + table.mean()
    ms_rest = (rest**2).sum() / ((n - 1) * (k - 1))
    assert found.residual == pytest.approx(ms_rest)
    assert found.item == pytest.approx((ms_item - ms_rest) / k)
    assert found.person == pytest.approx((ms_person - ms_rest) / n)
    assert (found.n_items, found.n_people, found.n_labels) == (12, 5, 60)
    assert found.people_worth == pytest.approx(5)


@settings(deadline=None, max_examples=25)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(0, 3), min_size=2, max_size=14
    )
)
def test_all_pairs_of_labels(labels):
    halves = {"item": [], "person": [], "neither": []}
    for one, other in itertools.combinations(labels, 2):
        kind = "item" if one[0] == other[0] else "person" if one[1] == other[1] else "neither"
        halves[kind].append((labels[one] - labels[other]) ** 2 / 2)
    item, person = zip(*labels, strict=True)
    scores = np.array(list(labels.values()), dtype=float)
    if not all(halves.values()):
        with pytest.warns(StatisticsWarning, match="variance components"):
            assert math.isnan(generalizability_study(scores, item, person).item)
        return
    same_item, same_person, neither = (np.mean(half) for half in halves.values())
    found = generalizability_study(scores + 100, item, person)
    expected = neither - same_item, neither - same_person, same_item + same_person - neither
    assert (found.item, found.person, found.residual) == pytest.approx(np.maximum(expected, 0), abs=1e-8)


def test_a_crowd_that_labels_some_of_the_items():
    rng = np.random.default_rng(2)
    hits = []
    for _ in range(60):
        item = np.repeat(np.arange(300), 4)
        person = np.argsort(rng.random((300, 30)), axis=1)[:, :4].ravel()
        scores = (
            rng.normal(0, 1, 300)[item] + rng.normal(0, 0.5, 30)[person] + rng.normal(0, 0.8, len(item)) + 3
        )
        found = generalizability_study(scores, item, person)
        hits.append((found.item, found.person, found.residual))
    assert np.mean(hits, axis=0) == pytest.approx([1, 0.25, 0.64], abs=0.06)


def test_its_standard_error_is_that_of_new_studies():
    rng = np.random.default_rng(3)
    means = [
        np.mean(
            rng.normal(0, 0.6, (40, 1)) + rng.normal(0, 0.3, (1, 6)) + rng.normal(0, 1, (40, 6)),
        )
        for _ in range(3_000)
    ]
    known = GeneralizabilityStudy(0.36, 0.09, 1.0, 40, 6, 240, 6.0)
    assert known.standard_error(40, 6, 6) == pytest.approx(np.std(means), rel=0.05)


def test_what_to_pay_for():
    # 100 items x 4 labels at $0.50; $200 buys four more labels an item, or 100 more items at no other cost.
    items = GeneralizabilityStudy(0.2, 0.0, 0.05, 100, 4, 400, 4.0)
    step = items.next_step(money=200, label_cost=0.5)
    assert (step.answer, step.labels_more, step.items_more) == ("items", 4, 100)
    assert step.now == pytest.approx(math.sqrt(0.2 / 100 + 0.05 / 400))
    assert step.with_items == pytest.approx(math.sqrt(0.2 / 200 + 0.05 / 800))
    assert step.with_people == pytest.approx(math.sqrt(0.2 / 100 + 0.05 / 800))
    # Judges that cost $38 an item leave five items for the same money.
    dear = items.next_step(money=200, label_cost=0.5, item_cost=38)
    assert dear.items_more == 5
    people = GeneralizabilityStudy(0.02, 0.04, 0.1, 100, 4, 400, 4.0)
    assert people.next_step(money=200, label_cost=0.5).answer == "people"


def test_missing_and_refused():
    scores, item, person = long([[1.0, 2.0], [3.0, 4.0], [NAN, 6.0]])
    assert generalizability_study(scores, item, person).n_labels == 5
    with pytest.raises(InvalidInputError, match="annotator"):
        generalizability_study([1, 2], [0, 0], [1, 1])
    study = generalizability_study(*long([[1.0, 2.0], [3.0, 4.0]]))
    for wrong in ({"money": 0, "label_cost": 1}, {"money": 1, "label_cost": -1}):
        with pytest.raises(InvalidInputError):
            study.next_step(**wrong)

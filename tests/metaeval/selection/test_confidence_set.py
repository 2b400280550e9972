"""The model confidence set and the variance it rests on."""

import numpy as np
import pytest
from scipy import stats

from metaeval.selection import choose
from metaeval.selection.confidence_set import confidence_set
from metaeval.selection.objective import Draws, Objective
from metaeval.selection.table import table_build
from metaeval.stats import InvalidInputError, Resamples
from tests.metaeval.selection.build import dataset, judges, said


def two_datasets(rng, accuracies):
    """Of 300 and 90 items; a third of the instructions are in both."""
    keys = [f"j{place}" for place in range(len(accuracies))]
    return [
        dataset(
            {key: said(rng, n, accuracy) for key, accuracy in zip(keys, accuracies, strict=True)},
            name=name,
            clusters=clusters,
            weight=weight,
        )
        for name, n, clusters, weight in (
            ("Large", 300, rng.integers(0, 150, 300), 1.0),
            ("Small", 90, rng.integers(100, 160, 90), 2.0),
        )
    ], judges(*keys)


def test_of_two_judges_the_quantile_is_students():
    rng = np.random.default_rng(1)
    table, _ = table_build([dataset({"a": said(rng, 15, 0.8), "b": said(rng, 15, 0.7)})], judges("a", "b"))
    for confidence in (0.8, 0.95):
        found = confidence_set(Objective(table, Draws(15, 0), confidence), [0, 1])
        assert found.widest == pytest.approx(stats.t.ppf((1 + confidence) / 2, 14), rel=0.03)


def test_of_independent_judges_it_is_the_studentised_range():
    # Where all are as variable and go their own ways, the largest lead is the range over sqrt(2) standard errors.
    rng = np.random.default_rng(2)
    keys = [f"j{place}" for place in range(6)]
    table, _ = table_build([dataset({key: said(rng, 4000, 0.7) for key in keys})], judges(*keys))
    found = confidence_set(Objective(table, Draws(4000, 0), 0.95), list(range(6)))
    assert found.widest == pytest.approx(stats.studentized_range.ppf(0.95, 6, np.inf) / np.sqrt(2), rel=0.03)


def test_variance_over_two_datasets_is_that_of_the_bootstrap():
    rng = np.random.default_rng(3)
    data, candidates = two_datasets(rng, [0.8, 0.7])
    table, _ = table_build(data, candidates)
    objective = Objective(table, Draws(table.n_clusters, 4000), 0.95)
    resampled = objective.resampled(table.scores)
    spread = objective.gap_variance(table.scores[:, 0] - table.scores[:, 1])
    assert np.sqrt(spread.variance) == pytest.approx((resampled[:, 0] - resampled[:, 1]).std(), rel=0.08)
    single = objective.variance(table.scores[:, 0])
    assert np.sqrt(single) == pytest.approx(resampled[:, 0].std(), rel=0.06)
    # Most of the doubt comes from the small dataset, so the degrees of freedom are nearer to its own.
    sizes = spread.sizes
    assert sizes.min() - 1 <= spread.freedom < sizes.sum() - 1


def test_dropped_ones_are_worse_and_the_order_given_does_not_matter():
    rng = np.random.default_rng(4)
    data, candidates = two_datasets(rng, [0.9, 0.88, 0.7, 0.5])
    one, other = choose(data, candidates, n_resamples=50), choose(data, candidates[::-1], n_resamples=50)
    assert one.confidence_set == other.confidence_set
    assert set(one.confidence_set) <= {"j0", "j1"}
    wider = choose(data, candidates, confidence=0.999, n_resamples=50)
    assert set(one.confidence_set) <= set(wider.confidence_set)


def test_a_copy_of_the_leader_changes_nothing_for_the_others():
    rng = np.random.default_rng(5)
    data, candidates = two_datasets(rng, [0.9, 0.8, 0.6])
    copied = [
        dataset(
            {**one.verdicts, "copy": one.verdicts["j0"]},
            name=one.name,
            clusters=one.clusters,
            weight=one.weight,
        )
        for one in data
    ]
    one = choose(data, candidates, n_resamples=50)
    other = choose(copied, [*candidates, *judges("copy")], n_resamples=50)
    assert set(other.confidence_set) == {*one.confidence_set, "copy"}
    assert other.verdict == "open"
    behind = one.standing("j2").behind, other.standing("j2").behind
    assert behind[0].low == pytest.approx(behind[1].low, abs=0.01)


class TestDraws:
    def test_as_the_resamples_of_the_statistics(self):
        rows = np.random.default_rng(6).random((40, 3))
        mine = Draws(40, 4000, rng=1).totals(rows)
        theirs = Resamples(40, 4000, rng=1).totals(rows)
        assert mine.mean(axis=0) == pytest.approx(theirs.mean(axis=0), rel=0.01)
        assert mine.std(axis=0) == pytest.approx(theirs.std(axis=0), rel=0.05)

    def test_kept_or_drawn_again(self, monkeypatch):
        rows = np.random.default_rng(7).random((30, 2))
        kept = Draws(30, 500, rng=2)
        first, second = kept.totals(rows), kept.totals(rows[:, :1])
        assert first[:, :1] == pytest.approx(second)
        monkeypatch.setattr("metaeval.selection.objective.MOST_KEPT", 0)
        again = Draws(30, 500, rng=2)
        assert again.totals(rows) == pytest.approx(first)
        assert again.totals(rows) == pytest.approx(first)

    def test_none(self):
        assert Draws(5, 0).totals(np.ones((5, 2))).shape == (0, 2)
        with pytest.raises(InvalidInputError, match="n_resamples"):
            Draws(5, -1)

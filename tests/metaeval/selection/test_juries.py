"""Juries with fitted weights: by hand, against a naive oracle, and honest where they were not fitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from judges.strategies.combining import combine
from judges.strategies.types import ItemView, Verdict
from metaeval.selection.juries import METHODS, PENALTY, JuryWeights, cross_fit, majority_verdicts
from metaeval.stats import InvalidInputError, StatisticsWarning

NAN = np.nan


def shares_of(truth):
    """Gold answers as shares."""
    return np.eye(3)[np.asarray(truth, dtype=int)]


def simulated(rng, accuracies, n_clusters, size=2, n_orders=2):
    """Verdicts of independent members who are right so often, (n_members, n_items, n_orders)."""
    truth = rng.integers(1, 3, n_clusters * size)
    right = (
        rng.random((len(accuracies), len(truth), n_orders)) < np.array(accuracies)[:, np.newaxis, np.newaxis]
    )
    said = np.where(right, truth[:, np.newaxis], 3 - truth[:, np.newaxis]).astype(float)
    return said, truth, np.repeat(np.arange(n_clusters), size)


def test_log_odds_by_hand():
    # Right in 3 of 4, 1 of 4, and in both of the two that it decides: (n + 1) / (N + 2).
    said = [[[1], [1], [2], [1]], [[2], [1], [1], [1]], [[1], [NAN], [2], [0]]]
    jury = cross_fit(said, shares_of([1, 1, 2, 2]), range(4), method="log_odds", n_folds=2)
    assert jury.fit.weights.tolist() == pytest.approx(np.log([4 / 2, 2 / 4, 3 / 1]).tolist(), abs=1e-6)
    assert jury.fit.scores(np.array([[1.0, 2.0, NAN]])).tolist() == pytest.approx([np.log(4)], abs=1e-5)
    assert jury.fit.tie_margin == 0.0


def test_logistic_weights_are_those_of_an_optimiser():
    rng = np.random.default_rng(2)
    said, truth, clusters = simulated(rng, [0.9, 0.7, 0.55], 60, size=1)
    jury = cross_fit(said, shares_of(truth), clusters)
    signs = np.where(said == 1, 1.0, -1.0).reshape(3, -1).T
    target = np.repeat(truth == 1, 2).astype(float)

    def loss(parts):
        score = signs @ (parts[:3] - parts[3:])
        return 0.5 * np.sum(np.logaddexp(0, score) - target * score) + PENALTY * parts.sum()

    found = minimize(loss, np.full(6, 0.1), bounds=[(0, None)] * 6, tol=1e-12).x
    assert jury.fit.weights == pytest.approx(found[:3] - found[3:], abs=1e-3)


def test_ties_of_labels_make_a_margin():
    # Members who disagree are a tie to people.
    said = np.array([[1, 1, 2, 2] * 10, [1, 2, 2, 1] * 10], dtype=float)[:, :, np.newaxis]
    shares = shares_of([1, 0, 2, 0] * 10)
    for method in METHODS:
        jury = cross_fit(said, shares, range(40), method=method)
        if method == "best_member":
            # Nobody else has a say: its ties are its own.
            assert jury.fit.tie_margin == 0
            continue
        assert jury.in_sample[:, 0].tolist() == [1, 0, 2, 0] * 10, method


def naive(said, shares, clusters, folds):
    """The votes weighted by log-odds, fold by fold, in plain loops."""
    found = {}
    for fold in set(folds.values()):
        weights = []
        for member in said:
            right = n = 0.0
            for item, orders in enumerate(member):
                if folds[clusters[item]] == fold:
                    continue
                for verdict in orders:
                    if verdict in (1, 2):
                        right += shares[item][int(verdict)] / len(orders)
                        n += 1 / len(orders)
            share = (right + 1) / (n + 2)
            weights.append(round(float(np.log(share / (1 - share))), 6))
        for item in range(len(shares)):
            if folds[clusters[item]] == fold:
                for order in range(len(said[0][item])):
                    votes = [member[item][order] for member in said]
                    score = round(
                        sum(w * {1: 1, 2: -1, 0: 0}[v] for w, v in zip(weights, votes, strict=True)), 9
                    )
                    found[item, order] = 0 if score == 0 else 1 if score > 0 else 2
    return found


@given(st.integers(0, 10_000), st.integers(2, 4))
@settings(deadline=None)
def test_a_naive_oracle_says_the_same(seed, n_folds):
    rng = np.random.default_rng(seed)
    said = rng.choice([0.0, 1.0, 2.0], (3, 12, 2))
    truth, clusters = rng.integers(1, 3, 12), np.repeat(range(6), 2)
    jury = cross_fit(said, shares_of(truth), clusters, method="log_odds", n_folds=n_folds, rng=seed)
    # The folds as they are drawn: clusters in a seeded order, dealt out.
    folds = dict(enumerate((np.random.default_rng(seed).permutation(6) % n_folds).tolist()))
    expected = naive(said.tolist(), shares_of(truth).tolist(), clusters.tolist(), folds)
    for (item, order), verdict in expected.items():
        assert jury.verdicts[item, order] == verdict


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_an_instruction_play_no_part_in_its_own_verdicts(method):
    rng = np.random.default_rng(4)
    said, truth, clusters = simulated(rng, [0.8, 0.7, 0.6], 30, size=3)
    before = cross_fit(said, shares_of(truth), clusters, method=method)
    for cluster in (0, 11):
        changed = np.where(clusters == cluster, 3 - truth, truth)
        after = cross_fit(said, shares_of(changed), clusters, method=method)
        own = clusters == cluster
        assert np.array_equal(before.verdicts[own], after.verdicts[own])


def test_renamed_responses_and_reordered_members_change_nothing():
    rng = np.random.default_rng(6)
    said, truth, clusters = simulated(rng, [0.9, 0.6, 0.7], 40)
    said[:, ::7] = 0
    shares = rng.dirichlet([1, 3, 3], len(truth))
    one = cross_fit(said, shares, clusters)
    swapped = np.where(said == 0, 0, 3 - said)
    other = cross_fit(swapped[::-1], shares[:, [0, 2, 1]], clusters)
    assert other.fit.weights[::-1] == pytest.approx(one.fit.weights, abs=1e-5)
    assert np.array_equal(other.verdicts, np.where(one.verdicts == 0, 0, 3 - one.verdicts))


def test_a_member_that_is_always_wrong_counts_against_what_it_says():
    rng = np.random.default_rng(8)
    said, truth, clusters = simulated(rng, [0.1, 0.55], 60)
    for method in ("log_odds", "logistic"):
        jury = cross_fit(said, shares_of(truth), clusters, method=method)
        assert jury.fit.weights[0] < 0
        assert np.mean(jury.verdicts == truth[:, np.newaxis]) > 0.8


def test_what_nobody_said_is_unparsed_and_items_without_labels_are_judged():
    said = np.array([[[1], [2], [NAN], [1]], [[1], [2], [NAN], [1]]], dtype=float)
    shares = np.vstack([shares_of([1, 2, 1]), [[NAN] * 3]])
    jury = cross_fit(said, shares, range(4), method="log_odds")
    assert np.isnan(jury.verdicts[2, 0])
    assert jury.verdicts[[0, 1, 3], 0].tolist() == [1, 2, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shares": np.ones((3, 3))}, "shape"),
        ({"method": "magic"}, "method"),
        ({"n_folds": 1}, "n_folds"),
        ({"verdicts": np.full((2, 2, 1), 3.0)}, "0, 1, 2 or NaN"),
    ],
)
def test_bad_input_is_refused(change, words):
    given = {"verdicts": np.ones((2, 2, 1)), "shares": shares_of([1, 2]), "clusters": [0, 1]} | change
    with pytest.raises(InvalidInputError, match=words):
        cross_fit(given.pop("verdicts"), given.pop("shares"), given.pop("clusters"), **given)


def test_a_jury_of_weights_says_what_it_says():
    fit = JuryWeights(np.array([2.0, -1.0]), tie_margin=1.0)
    said = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0], [0.0, 0.0], [NAN, NAN]])
    assert fit.verdicts(said)[:4].tolist() == [0, 2, 1, 0]
    assert np.isnan(fit.verdicts(said)[4])


def test_a_published_group():
    """Shapley and Grofman, Public Choice 43 (1984): weights of log-odds are the best of independent members.

    Of those who are right in 0.9, 0.9, 0.6, 0.6, 0.6 of the cases the majority is right in 0.877, and these in 0.927.
    """
    competence = np.array([0.9, 0.9, 0.6, 0.6, 0.6])
    right = (np.arange(32)[:, np.newaxis] >> np.arange(5)) & 1
    chance = np.where(right, competence, 1 - competence).prod(axis=1)
    said = np.where(right, 1.0, 2.0).T[:, :, np.newaxis]
    jury = cross_fit(
        said, shares_of(np.ones(32)), range(32), method="log_odds", weights=1e7 * chance, n_folds=2
    )
    assert jury.fit.weights == pytest.approx(np.log(competence / (1 - competence)), abs=1e-5)
    assert chance[jury.in_sample[:, 0] == 1].sum() == pytest.approx(0.927, abs=5e-4)
    assert chance[majority_verdicts(said)[:, 0] == 1].sum() == pytest.approx(0.877, abs=5e-4)


VOTES = st.lists(st.sampled_from([0.0, 1.0, 2.0, NAN]), min_size=3, max_size=3)
WEIGHTS = st.lists(
    st.sampled_from([0.1, 0.2, 0.3, -0.3, 1.098612, 0.693147, 0.405465]), min_size=3, max_size=3
)


@given(VOTES, WEIGHTS, st.sampled_from([0.0, 0.1, 0.405465]))
@settings(deadline=None)
def test_it_says_what_the_judge_says(votes, weights, margin):
    item = ItemView(1, "pairwise", "?", ("a", "b"))
    verdicts = {
        str(k): Verdict(None, "unparsed") if vote != vote else Verdict(int(vote), "parsed")
        for k, vote in enumerate(votes)
    }

    def judged(params, own):
        found = combine(item, verdicts, params, own)
        return NAN if found.choice is None else found.choice

    said = np.array(votes)
    own = dict(zip(verdicts, weights, strict=True))
    by_weights = JuryWeights(np.array(weights), margin).verdicts(said[np.newaxis])[0]
    assert by_weights == pytest.approx(judged({"combine": "weights", "tie_margin": margin}, own), nan_ok=True)
    majority = majority_verdicts(said[:, np.newaxis, np.newaxis])[0, 0]
    assert majority == pytest.approx(judged({}, {}), nan_ok=True)


@pytest.mark.parametrize(
    "change",
    [{"clusters": [0, 0]}, {"shares": np.full((2, 3), NAN)}, {"verdicts": np.full((2, 2, 1), NAN)}],
)
def test_too_little_to_fit_is_nan_and_a_warning(change):
    given = {"verdicts": np.ones((2, 2, 1)), "shares": shares_of([1, 2]), "clusters": [0, 1]} | change
    with pytest.warns(StatisticsWarning, match="fewer than two instructions"):
        jury = cross_fit(given["verdicts"], given["shares"], given["clusters"])
    assert np.isnan(jury.fit.weights).all()
    assert np.isnan(jury.fit.tie_margin)
    assert np.isnan(jury.verdicts).all()
    assert jury.verdicts.shape == (2, 1)

"""Likelihood against votes: by hand, numpy as the published code uses it, topics, families; what has no value."""

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from metaeval.stats import InvalidInputError, StatisticsWarning, macro_mean
from metaeval.stats.likelihood import family_monotonicity, likelihood_correlation

NAN = math.nan
SCIPY = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


def made(rng, n=40):
    sizes = rng.integers(3, 7, n)
    votes = [rng.integers(0, 30, k).astype(float) for k in sizes]
    lengths = [rng.integers(50, 900, k) for k in sizes]
    scores = [(0.05 * v - 2 + rng.normal(size=len(v))) * long for v, long in zip(votes, lengths, strict=True)]
    return scores, votes, lengths


def test_by_hand():
    # Per character -3, -2, -2.5 with votes 1, 7, 4: on a line, r = 1. Then -1, -1.5, -2 with 2, 1, 9: deviations
    # (.5, 0, -.5) and (-2, -3, 5): -3.5 / sqrt(.5 * 38).
    found = likelihood_correlation(
        [[-90, -40, -60], [-10, -30, -20]],
        [[1, 7, 4], [2, 1, 9]],
        lengths=[[30, 20, 24], [10, 20, 10]],
        n_resamples=0,
    )
    second = -3.5 / math.sqrt(0.5 * 38)
    assert found.values == pytest.approx(np.array([1, second]))
    assert (found.value, found.n, found.share_two) == (pytest.approx((1 + second) / 2), 2, 0)


@pytest.mark.parametrize("method", list(SCIPY))
def test_per_question_as_scipy_and_the_mean_as_published(method):
    scores, votes, lengths = made(np.random.default_rng(1))
    found = likelihood_correlation(scores, votes, lengths=lengths, method=method, n_resamples=200)
    slow = [SCIPY[method](s / k, v).statistic for s, v, k in zip(scores, votes, lengths, strict=True)]
    assert found.values == pytest.approx(np.array(slow))
    if method == "pearson":  # as the published code: corrcoef of votes and score over length, then the mean
        published = [np.corrcoef(v, s / k)[0][1] for s, v, k in zip(scores, votes, lengths, strict=True)]
        assert found.value == pytest.approx(np.mean(published))
    assert found.low < found.value < found.high


def test_flat_input_is_the_same():
    scores, votes, lengths = made(np.random.default_rng(2))
    ragged = likelihood_correlation(scores, votes, lengths=lengths, n_resamples=200)
    questions = np.repeat(np.arange(40), [len(each) for each in votes])
    order = np.random.default_rng(3).permutation(len(questions))
    flat = [np.concatenate(each)[order] for each in (scores, votes, lengths)]
    found = likelihood_correlation(
        flat[0], flat[1], lengths=flat[2], questions=questions[order], n_resamples=200
    )
    assert found.values == pytest.approx(ragged.values)
    assert (found.low, found.high) == pytest.approx((ragged.low, ragged.high))


def test_topics():
    scores, votes, lengths = made(np.random.default_rng(4))
    topics = np.array(["python"] * 25 + ["maths"] * 15)
    micro = likelihood_correlation(scores, votes, lengths=lengths, topics=topics, n_resamples=100)
    macro = likelihood_correlation(
        scores, votes, lengths=lengths, topics=topics, average="macro", n_resamples=100
    )
    assert micro.topics["maths"].value == pytest.approx(micro.values[25:].mean())
    assert (micro.topics["maths"].n, micro.n) == (15, 40)
    assert micro.value == pytest.approx(micro.values.mean())
    plain = macro_mean(micro.values, topics, bounds=(-1, 1), n_resamples=0)
    assert macro.value == pytest.approx(plain.value)
    assert macro.value != micro.value
    assert set(macro.as_dict()["topics"]) == {"maths", "python"}


def test_questions_without_a_correlation_are_counted():
    scores = [[-1, -2, -3], [-1, -1, -1], [-1, -2, -3], [-1, -2], [-1], [-1, NAN, -3]]
    votes = [[3, 2, 1], [1, 2, 3], [5, 5, 5], [1, 2], [4], [2, 2, 1]]
    found = likelihood_correlation(scores, votes, n_resamples=0)
    assert found.values.tolist() == pytest.approx([1, NAN, NAN, -1, NAN, 1], nan_ok=True)
    assert (found.n, found.n_undefined, found.share_two) == (3, 3, pytest.approx(2 / 3))
    stricter = likelihood_correlation(scores, votes, fewest=3, n_resamples=0)
    assert (stricter.n, stricter.n_undefined, stricter.value) == (1, 5, 1)
    with pytest.warns(StatisticsWarning, match="no question"):
        assert math.isnan(likelihood_correlation([[1, 1]], [[1, 2]]).value)


def test_refused():
    with pytest.raises(InvalidInputError, match="as many answers"):
        likelihood_correlation([[1, 2]], [[1, 2, 3]])
    with pytest.raises(InvalidInputError, match="as many answers"):
        likelihood_correlation([[1, 2]], [[1, 2], [3]])
    with pytest.raises(InvalidInputError, match="above 0"):
        likelihood_correlation([[1, 2]], [[1, 2]], lengths=[[1, 0]])
    with pytest.raises(InvalidInputError, match="topics"):
        likelihood_correlation([[1, 2]], [[1, 2]], average="macro")
    with pytest.raises(InvalidInputError, match="fewest"):
        likelihood_correlation([[1, 2]], [[1, 2]], fewest=1)


def test_a_family_by_hand():
    # Sizes 1 3 7 13 with scores 1 2 2 0: pairs (1,2)+ (1,2)+ (1,0)- (2,2)tie (2,0)- (2,0)-: balance -1, tau-b
    # -1 / sqrt(6 * 5). Neighbours: up, level, down: (1 + 1/2 + 0) / 3.
    found = family_monotonicity([1, 3, 7, 13], [1, 2, 2, 0])["all"]
    assert found.correlation.value == pytest.approx(-1 / math.sqrt(30))
    assert (found.in_order.value, found.n_models) == (0.5, 4)
    assert math.isnan(found.share_monotone)


def test_families_and_draws():
    rng = np.random.default_rng(5)
    sizes, scores = np.array([7, 13, 70, 1, 3, 7, 9]), np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1, 0.5])
    families = ["up", "up", "up", "down", "down", "down", "one"]
    draws = scores + 0.01 * rng.normal(size=(300, 7))
    found = family_monotonicity(sizes, scores, families, draws=draws)
    assert (found["up"].in_order.value, found["up"].share_monotone) == (1, 1)
    assert (found["down"].correlation.value, found["down"].in_order.value) == (-1, 0)
    assert (found["up"].in_order.low, found["up"].in_order.high) == (1, 1)
    assert math.isnan(found["one"].correlation.value)
    assert found["one"].correlation.reason == "the family has one size of model"
    noisy = family_monotonicity(sizes, scores, families, draws=scores + 0.2 * rng.normal(size=(300, 7)))
    assert noisy["up"].in_order.low < 1
    assert 0.05 < noisy["up"].share_monotone < 0.95
    for method in SCIPY:
        each = family_monotonicity(sizes[:3], scores[:3], method=method)["all"]
        assert each.correlation.value == pytest.approx(SCIPY[method](sizes[:3], scores[:3]).statistic)


def test_models_of_one_size_are_one_step():
    found = family_monotonicity([7, 7, 70, NAN], [0.1, 0.4, 0.3, 9])["all"]
    assert (found.in_order.value, found.n_models) == (1, 3)  # 0.25, then 0.3
    with pytest.raises(InvalidInputError, match="draws"):
        family_monotonicity([1, 2], [1, 2], draws=np.zeros((3, 3)))
    level = family_monotonicity([1, 2], [1, 1])["all"]
    assert (level.in_order.value, level.correlation.reason) == (0.5, "the scores are all the same")

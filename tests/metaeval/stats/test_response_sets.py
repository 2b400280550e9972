"""Response sets: by hand, by the formulas of Guerdan et al., and how forced choices rank the worse judge first."""

import numpy as np
import pytest

from metaeval.stats import (
    InvalidInputError,
    StatisticsWarning,
    leave_one_out_agreement,
    response_set_coverage,
    response_set_decisions,
    response_set_distance,
    response_set_distance_contributions,
    response_set_shares,
    sets_given_choices,
    soft_labels,
)

NAN = np.nan


def test_by_hand():
    # Three people; all find 1 reasonable, two also 2. The second person of the second item gave no set.
    sets = {1: [[1, 1, 1], [0, NAN, 1]], 2: [[1, 1, 0], [1, NAN, 1]]}
    assert response_set_shares(sets).tolist() == [[1, pytest.approx(2 / 3)], [0.5, 1]]
    assert response_set_coverage(sets, [2, 1]).value == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert response_set_coverage(sets, [2, 1], threshold=0.6).value == 0.5
    assert response_set_coverage(sets, [[1, 2], [NAN, 2]]).value == pytest.approx((5 / 6 + 1 / 2) / 2)
    assert response_set_coverage(sets, [[1, 2], [NAN, 2]], unparsed="omit").value == pytest.approx(
        (5 / 6 + 1) / 2
    )
    judge = {2: [0.5, 1.0], 1: [1.0, 0.0]}
    plain = [(2 / 3 - 1 / 2) ** 2, 0.5**2]
    assert response_set_distance(sets, judge, corrected=False).value == pytest.approx(np.mean(plain))
    # Less p(1 - p)/(n - 1): 2/9 over 2, and 1/4 over 1.
    corrected = [plain[0] - 1 / 9, plain[1] - 1 / 4]
    assert response_set_distance_contributions(sets, judge) == pytest.approx(corrected)


def test_the_formulas_of_guerdan_et_al():
    """Coverage (h/hrs and its soft form), MSE (srs/srs), consistency and bias, as their code computes them."""
    rng = np.random.default_rng(0)
    included = rng.integers(0, 2, (3, 40, 5)).astype(float)
    said = rng.integers(0, 2, (3, 40, 4)).astype(float)
    sets, judge = dict(zip([0, 1, 2], included, strict=True)), dict(zip([0, 1, 2], said, strict=True))
    human, model = included.mean(axis=2).T, said.mean(axis=2).T
    choice = model.argmax(axis=1)
    rows = np.arange(40)
    assert response_set_coverage(sets, choice).value == pytest.approx(human[rows, choice].mean())
    assert response_set_coverage(sets, choice, threshold=0.5).value == pytest.approx(
        (human >= 0.5).astype(int)[rows, choice].mean()
    )
    assert response_set_distance(sets, judge, corrected=False).value == pytest.approx(
        ((model - human) ** 2).sum(axis=1).mean()
    )
    found = response_set_decisions(sets, judge, positive=2, threshold=0.5)
    ours, theirs = model[:, 2] > 0.5, human[:, 2] > 0.5
    assert found.consistency.value == pytest.approx((ours == theirs).mean())
    assert found.bias.value == pytest.approx(ours.mean() - theirs.mean())


def test_few_people_add_nothing_once_corrected():
    rng = np.random.default_rng(1)
    truth = rng.random((3_000, 2))
    sets = {k: (rng.random((3_000, 3)) < truth[:, [k]]).astype(float) for k in (0, 1)}
    judge = {k: truth[:, k] for k in (0, 1)}
    found = response_set_distance(sets, judge, n_resamples=100)
    assert found.low < 0 < found.high
    assert response_set_distance(sets, judge, corrected=False, n_resamples=0).value > 0.08


def test_forced_choices_rank_the_worse_judge_first():
    """Half of the items are toxic or fine depending on how one reads them, and people settle on "fine".

    Judge A settles as people do but never sees the second reading; judge B sees both and settles on "toxic". Agreement
    prefers A; the calls that are made in the end, and the distance of the sets, prefer B.
    """
    rng = np.random.default_rng(2)
    n, toxic, fine = 400, 1, 2
    torn = rng.random(n) < 0.5
    sets = {
        toxic: np.where(torn[:, None], rng.random((n, 5)) < 0.8, rng.random((n, 5)) < 0.05).astype(float),
        fine: np.ones((n, 5)),
    }
    choices = np.where(rng.random((n, 5)) < 0.1, toxic, fine).astype(float)
    a = {toxic: np.zeros(n), fine: np.ones(n)}, np.full(n, fine)
    b = {toxic: torn.astype(float), fine: np.ones(n)}, np.where(torn, toxic, fine)
    by_choice = [leave_one_out_agreement(choices, verdicts).value for _, verdicts in (a, b)]
    assert by_choice[0] > by_choice[1] + 0.3
    distances = [response_set_distance(sets, own) for own, _ in (a, b)]
    assert distances[0].low > distances[1].high
    calls = [response_set_decisions(sets, own, positive=toxic) for own, _ in (a, b)]
    assert calls[1].consistency.low > calls[0].consistency.high
    assert calls[0].bias.high < 0


def test_sets_from_forced_choices():
    """A person who picks 2 includes 1 with 0.6: from 100 pairs, the shares of items with forced choices alone."""
    rng = np.random.default_rng(3)
    picked = rng.integers(1, 3, (25, 4)).astype(float)
    sets = {
        1: np.where(picked == 1, 1.0, rng.random((25, 4)) < 0.6),
        2: np.where(picked == 2, 1.0, 0.0),
    }
    found = sets_given_choices(picked, sets)
    assert found[0].tolist() == [1, 0]
    assert found[1, 1] == 1
    assert found[1, 0] == pytest.approx(sets[1][picked == 2].mean())
    # Their F' by response sets, times what each set includes, is the same matrix.
    kinds = {(1, 0): 0, (1, 1): 1, (0, 1): 2}
    counts = np.zeros((2, 3))
    for pick, one, two in zip(picked.ravel(), sets[1].ravel(), sets[2].ravel(), strict=True):
        counts[int(pick) - 1, kinds[int(one), int(two)]] += 1
    translation = counts / counts.sum(axis=1, keepdims=True)
    assert found == pytest.approx(translation @ np.array([[1, 0], [1, 1], [0, 1]]))
    assert soft_labels([[1, 2, 2, 2]], [1, 2]) @ found == pytest.approx(
        np.array([[0.25 + 0.75 * found[1, 0], 0.75]])
    )
    with pytest.warns(StatisticsWarning, match="picked 2"):
        assert np.isnan(sets_given_choices([[1.0]], {1: [[1]], 2: [[0]]})[1]).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: response_set_shares({}), "sets"),
        (lambda: response_set_shares({1: [[1, 0]], 2: [[1]]}), "sets"),
        (lambda: response_set_shares({1: [[1, NAN]], 2: [[1, 0]]}), "sets"),
        (lambda: response_set_shares({1: [[0.5, 1]]}), "sets"),
        (lambda: response_set_coverage({1: [[1, 0]]}, [2]), "verdicts"),
        (lambda: response_set_coverage({"yes": [[1, 0]]}, [1]), "sets"),
        (lambda: response_set_coverage({1: [[1, 0]]}, [1, 1]), "verdicts"),
        (lambda: response_set_distance({1: [[1, 0]]}, {2: [1]}), "judge"),
        (lambda: response_set_decisions({1: [[1, 0]]}, {1: [1]}, positive=2), "positive"),
        (lambda: sets_given_choices([[1]], {1: [[1, 0]]}), "choices"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, name):
    with pytest.raises(InvalidInputError, match=name):
        call()

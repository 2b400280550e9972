"""Prediction-powered means: by hand, ppi-python's figures, slow oracles, coverage, invariants, degenerate input."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.errors import InvalidInputError, StatisticsWarning
from metaeval.stats.prediction_powered import ppi_mean, ppi_win_rate

NAN = math.nan


def data(n=400):
    """Ratings of people and a judge, deterministic."""
    i = np.arange(n)
    people = np.round(3 + 1.2 * np.sin(i * 1.7) + 0.8 * np.cos(i * 0.9), 3)
    return people, np.round(0.8 * people + 0.9 * np.sin(i * 2.3) + 0.4, 3)


def pool(n_labelled=60, n=400):
    people, judge = data(n)
    return np.where(np.arange(n) < n_labelled, people, NAN), judge


def wins(n=300, n_labelled=80, share=0.7, right=0.9, seed=0):
    rng = np.random.default_rng(seed)
    people = np.where(rng.random(n) < share, 1.0, 2.0)
    judge = np.where(rng.random(n) < right, people, 3 - people)
    return np.where(np.arange(n) < n_labelled, people, NAN), judge


def test_by_hand():
    # People say 1, 0, 1, 1 (mean 0.75), the judge of these 1, 0, 0, 1 (0.5), of four others 1, 1, 0, 1 (0.75).
    labels, judged, more = [1, 0, 1, 1], [1, 0, 0, 1], [1, 1, 0, 1]
    assert ppi_mean(labels, judged, more, tuning=1.0).value == pytest.approx(0.75 + (0.75 - 0.5))
    assert ppi_mean(labels, judged, more, tuning=0.5).value == pytest.approx(0.75 + 0.5 * (0.75 - 0.5))
    found = ppi_mean(labels, judged, more, tuning=0.0)
    assert (found.value, found.n, found.n_unlabelled) == (0.75, 4, 4)
    # PPI++: the covariance of labels and judgments is 2/4 - 0.75 * 0.5 = 0.125, the variance of the eight judgments
    # 8/7 * 5/8 * 3/8 = 15/56 (five of them are 1); lambda = 0.125 / ((1 + 4/4) * 15/56).
    assert ppi_mean(labels, judged, more, tuning="optimal").tuning == pytest.approx(0.125 / (2 * 15 / 56))
    # With the ends of the scale the interval stays inside.
    bounded = ppi_mean(labels, judged, more, tuning=1.0, bounds=(0, 1))
    assert (bounded.value, bounded.high, bounded.method) == (1.0, 1.0, "wilson")
    assert bounded.low < 0.75


# ppi-python 0.2.3, in an environment of its own:
#   y, f, fu = people[:60], judge[:60], judge[60:]
#   ppi_mean_pointestimate(y, f, fu), ppi_mean_ci(y, f, fu, alpha=0.05)              and with lam=1;
#   the same of (y > 2.5) * 1.0 and so on with alpha=0.1.
@pytest.mark.parametrize(
    ("tuning", "cut", "confidence", "value", "low", "high"),
    [
        ("optimal", None, 0.95, 3.0016451129177293, 2.8224783573606858, 3.180811868474773),
        (1.0, None, 0.95, 3.0012764705882353, 2.799226654242007, 3.203326286934464),
        ("optimal", 2.5, 0.9, 0.6581752920624522, 0.5699373371882672, 0.7464132469366371),
    ],
)
def test_as_ppi_python(tuning, cut, confidence, value, low, high):
    people, judge = data()
    if cut is not None:
        people, judge = (people > cut) * 1.0, (judge > cut) * 1.0
    found = ppi_mean(
        people[:60], judge[:60], judge[60:], tuning=tuning, interval="normal", confidence=confidence
    )
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=1e-12)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=4, max_size=12),
    st.lists(st.integers(1, 5), min_size=3, max_size=12),
)
def test_cross_fitting_against_the_definition(pairs, more):
    labels, judged = np.array(pairs, dtype=float).T
    n, m = len(pairs), len(more)
    variance = np.var(np.r_[judged, more], ddof=1)
    total = 0.0
    for left_out in range(n):
        y, f = np.delete(labels, left_out), np.delete(judged, left_out)
        weight = 0.0
        if variance > 0:
            covariance = np.mean((y - y.mean()) * (f - f.mean()))
            weight = min(1.0, max(0.0, covariance / ((1 + n / m) * variance)))
        total += labels[left_out] - weight * (judged[left_out] - np.mean(more))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", StatisticsWarning
        )  # where all labels are the same there is no interval
        assert ppi_mean(labels, judged, more).value == pytest.approx(total / n)


def test_equal_ratings_without_ends_of_the_scale_have_no_interval():
    with pytest.warns(StatisticsWarning, match="all labels are the same"):
        found = ppi_mean([3.0] * 20 + [NAN] * 20, [3.0] * 40)
    assert (found.value, found.method) == (pytest.approx(3), "none")
    assert math.isnan(found.low)
    assert "the same" in found.reason
    assert "the same" in found.classical.reason
    bounded = ppi_mean([3.0] * 20 + [NAN] * 20, [3.0] * 40, bounds=(1, 5))
    assert bounded.low < 3 < bounded.high


def test_weights_are_those_of_active_inference():
    # Zrnic and Candes: mean of all judgments + mean of (label - judgment) / chance over the labelled, here divided by
    # the weights' sum. Its variance is that of the items' contributions.
    rng = np.random.default_rng(1)
    people, judge = data()
    chance = rng.uniform(0.1, 0.6, 400)
    drawn = rng.random(400) < chance
    found = ppi_mean(np.where(drawn, people, NAN), judge, weights=1 / chance, tuning=1.0, interval="normal")
    weight = drawn / chance / np.sum(drawn / chance)
    value = judge.mean() + np.sum(weight * (people - judge))
    assert found.value == pytest.approx(value)
    gap = people - judge
    contributions = (judge - judge.mean()) / 400 + weight * (gap - np.sum(weight * gap))
    reach = 1.959963984540054 * math.sqrt(np.sum(contributions**2))
    assert (found.low, found.high) == pytest.approx((value - reach, value + reach))


def test_the_variance_between_clusters():
    labels, judge = pool(60)
    codes = np.arange(400) // 3
    found = ppi_mean(labels, judge, tuning=0.7, interval="normal", clusters=codes)
    residual = np.where(np.isnan(labels), 0, labels) - 0.7 * judge
    part = np.where(
        np.isnan(labels), 0.7 * (judge - judge[60:].mean()) / 340, (residual - residual[:60].mean()) / 60
    )
    sums = np.array([part[codes == code].sum() for code in np.unique(codes)])
    assert found.high - found.value == pytest.approx(1.959963984540054 * math.sqrt(np.sum(sums**2)))
    assert found.n_clusters == 20


def test_both_forms_are_one():
    labels, judge = pool()
    assert ppi_mean(labels, judge) == ppi_mean(labels[:60], judge[:60], judge[60:])
    labels, judge = wins()
    assert ppi_win_rate(labels, judge) == ppi_win_rate(labels[:80], judge[:80], judge[80:])


def close(first, second, scale=1.0, shift=0.0):
    ours = [first.value * scale + shift, first.low * scale + shift, first.high * scale + shift]
    assert [second.value, second.low, second.high] == pytest.approx(ours)


def test_invariants():
    labels, judge = pool()
    found = ppi_mean(labels, judge)
    order = np.random.default_rng(2).permutation(400)
    close(found, ppi_mean(labels[order], judge[order]))
    close(found, ppi_mean(10 * labels - 3, 10 * judge + 7), 10, -3)  # a judge that is too kind is no worse
    close(found, ppi_mean(labels, judge, clusters=np.arange(400)))
    close(found, ppi_mean(labels, judge, weights=np.full(400, 5.0)))
    half = np.arange(400) % 2 == 0
    close(ppi_mean(labels, judge, where=half), ppi_mean(labels[half], judge[half]))
    codes = np.arange(400) // 4
    close(
        ppi_mean(labels, judge, clusters=codes, where=half),
        ppi_mean(labels[half], judge[half], clusters=codes[half]),
    )
    weights = np.linspace(2, 9, 400)
    close(ppi_mean(labels, judge, weights=weights), ppi_mean(labels, judge, weights=3 * weights))


def test_a_win_of_one_is_a_loss_of_the_other():
    labels, judge = wins()
    one, two = ppi_win_rate(labels, judge), ppi_win_rate(labels, judge, response=2)
    assert (two.value, two.low, two.high) == pytest.approx((1 - one.value, 1 - one.high, 1 - one.low))


def test_ties():
    labels, judge = [1, 0, 2, 0] * 10 + [NAN] * 20, [1, 0, 2, 1] * 15
    rates = [ppi_win_rate(labels, judge, ties=ties, tuning=0.0).value for ties in ("loss", "half", "win")]
    assert rates == pytest.approx([0.25, 0.5, 0.75])


def test_several_people_and_both_orders_are_averaged():
    labels, judge = pool()
    close(
        ppi_mean(labels, judge),
        ppi_mean(np.stack([labels - 1, labels + 1], 1), np.stack([judge + 1, judge - 1], 1)),
    )
    people = [[1, 2, NAN], [1, 1, 2]] * 10 + [[NAN] * 3] * 10
    assert ppi_win_rate(people, [1] * 30).value == pytest.approx((0.5 + 2 / 3) / 2)


def test_an_item_without_a_judgment_stays():
    labels, judge = pool()
    judge[[5, 100]] = NAN
    found = ppi_mean(labels, judge)
    judge[[5, 100]] = np.nanmean(judge)
    close(found, ppi_mean(labels, judge))
    assert found.n == 60


def test_a_useless_judge_gains_and_costs_nothing():
    labels, _ = pool()
    for judge in (np.zeros(400), np.random.default_rng(3).normal(size=400), np.full(400, NAN)):
        found = ppi_mean(labels, judge)
        assert found.tuning < 0.25
        assert found.gain == pytest.approx(1, abs=0.05)


def test_everything_labelled():
    labels, judge = pool(400)
    found = ppi_mean(labels, judge)
    assert (found.value, found.tuning, found.gain) == (pytest.approx(labels.mean()), 0, 1)
    these = ppi_mean(labels, judge, target="items")
    assert (these.low, these.high, these.method) == (these.value, these.value, "exact")


def test_these_very_items():
    labels, judge = pool(100)
    sample, these = ppi_mean(labels, judge), ppi_mean(labels, judge, target="items")
    assert these.value == sample.value
    assert these.high - these.low < sample.high - sample.low
    # Labels alone: the sample of a finite population.
    known = labels[:100]
    error = math.sqrt(known.var(ddof=1) / 100 * (1 - 100 / 400))
    plain = ppi_mean(labels, judge, target="items", tuning=0.0)
    assert plain.high - plain.low == pytest.approx(2 * 1.984217 * error, rel=1e-4)


def test_labels_that_were_not_drawn_at_random_show():
    people, judge = data()
    best = np.argsort(-judge)[:60]
    labels = np.full(400, NAN)
    labels[best] = people[best]
    assert ppi_mean(labels, judge).imbalance > 8
    assert abs(ppi_mean(*pool()).imbalance) < 2


def test_no_disagreement_is_no_certainty():
    labels, judge = wins(1000, 40, 0.5, 1.0)
    found = ppi_win_rate(labels, judge)
    # The judge's word for it would be 0.031 to either side; 40 labels cannot rule out that it errs in 1 of 20.
    assert found.high - found.low > 1.5 * 0.062
    assert found.gain > 1.5
    everything_won = ppi_win_rate([1] * 40 + [NAN] * 100, [1] * 140)
    assert everything_won.high == 1
    assert everything_won.low == pytest.approx(0.912, abs=0.001)  # Wilson's of 40 of 40


def test_an_interval_holds_its_value_and_stays_inside():
    for share in (0.02, 0.5, 0.97):
        for seed in range(30):
            found = ppi_win_rate(*wins(200, 30, share, 0.9, seed))
            assert 0 <= found.low <= found.value <= found.high <= 1
            assert found.low < found.high


@pytest.mark.slow
@pytest.mark.parametrize(
    ("share", "right", "n", "clustered"),
    [(0.5, 0.9, 40, False), (0.8, 0.9, 40, False), (0.7, 0.85, 40, True)],
)
def test_coverage(share, right, n, clustered):
    # 600 datasets: a coverage of 95% comes out between 92.9 and 97.1% with a chance of 98%.
    inside = gains = 0.0
    size = 4 if clustered else 1
    for seed in range(600):
        rng = np.random.default_rng([7, seed])
        codes = np.repeat(np.arange(n * 10), size)
        easy, wrong = rng.random(n * 10) < share, rng.random(n * 10) > right
        people = np.where(rng.random(len(codes)) < 0.5, easy[codes], rng.random(len(codes)) < share)
        judge = np.where(wrong[codes], ~people, people)
        labels = np.where(codes < n, np.where(people, 1.0, 2.0), NAN)
        found = ppi_win_rate(labels, np.where(judge, 1.0, 2.0), clusters=codes)
        inside += found.low <= share <= found.high
        gains += found.gain
    assert 0.925 <= inside / 600 <= 0.975
    assert gains / 600 > 1.15


@pytest.mark.slow
def test_cross_fitting_takes_the_bias_away():
    # 40 labels, a judge right in 98%: with one weight from all labels the mean is a third of an error too high.
    bias = {}
    for tuning in ("optimal", "cross_fitted"):
        values = [
            ppi_win_rate(*wins(1000, 40, 0.8, 0.98, seed), tuning=tuning).value - 0.8 for seed in range(700)
        ]
        bias[tuning] = np.mean(values) / np.std(values)
    assert bias["optimal"] > 0.2
    assert abs(bias["cross_fitted"]) < 0.1


def test_pandalm_a_tenth_of_the_labels(shared_data):
    folder = shared_data / "pandalm"
    rows = json.loads((folder / "testset-v1.json").read_text(encoding="utf-8"))
    stored = json.loads((folder / "pandalm-7b-testset-v1.json").read_text(encoding="utf-8"))
    said = {row["idx"]: float(row["pandalm_result"]) for row in stored}
    people = np.array([[row[f"annotator{person}"] for person in (1, 2, 3)] for row in rows], dtype=float)
    judge = np.array([said[row["idx"]] for row in rows])
    truth = ppi_win_rate(people, judge).value
    inside = gains = 0.0
    for seed in range(200):
        drawn = np.random.default_rng(seed).permutation(len(rows)) < 100
        found = ppi_win_rate(np.where(drawn[:, None], people, NAN), judge, target="items")
        inside += found.low <= truth <= found.high
        gains += found.gain
    assert inside / 200 > 0.92
    assert gains / 200 > 1.1


def test_no_label():
    with pytest.warns(StatisticsWarning, match="no item has a label"):
        found = ppi_mean([NAN, NAN], [1, 2])
    assert (found.defined, found.classical, found.as_dict()["value"]) == (False, None, None)


def test_one_cluster():
    with pytest.warns(StatisticsWarning, match="one cluster"):
        found = ppi_mean([1, 2, 3, NAN], [1, 2, 3, 4], clusters=["a", "a", "a", "b"])
    assert (found.defined, math.isnan(found.low)) == (True, True)
    one = ppi_win_rate([1, NAN, NAN], [1, 1, 2])
    assert one.high - one.low > 0.7


def test_plain_json():
    found = ppi_win_rate(*wins()).as_dict()
    assert json.loads(json.dumps(found)) == found
    assert set(found) >= {"value", "low", "high", "n", "n_unlabelled", "tuning", "gain", "classical"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tuning", {"tuning": 1.5}), ("tuning", {"tuning": "best"}), ("target", {"target": "all"}),
        ("interval", {"interval": "bootstrap"}), ("confidence", {"confidence": 1}), ("bounds", {"bounds": (1, 0)}),
        ("bounds", {"bounds": (0, 1)}), ("weights", {"weights": np.zeros(400)}), ("weights", {"weights": [1.0]}),
        ("weights", {"weights": np.linspace(0.1, 2, 400), "target": "items"}), ("clusters", {"clusters": [1]}),
        ("where", {"where": [True]}),
    ],
)  # fmt: skip
def test_what_cannot_be_meant(name, options):
    with pytest.raises(InvalidInputError, match=name):
        ppi_mean(*pool(), **options)


def test_input_that_does_not_fit():
    with pytest.raises(InvalidInputError, match="judgments"):
        ppi_mean([1, 2], [1, 2, 3])
    with pytest.raises(InvalidInputError, match="labels"):
        ppi_win_rate([3, 1], [1, 1])
    with pytest.raises(InvalidInputError, match="response"):
        ppi_win_rate([1, 2], [1, 1], response=0)


def test_extreme_sampling_weights_are_covered():
    # Chances that vary by a log-normal factor: 64% held the truth when few labels of large weight were trusted.
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(80):
        truth = (rng.random(1000) < 0.9).astype(float)
        said = np.where(rng.random(1000) < 0.85, truth, 1 - truth)
        odds = np.exp(rng.normal(0, 2, 1000))
        chance = np.clip(60 * odds / odds.mean() / 1000, 1e-4, 1)
        labels = np.where(rng.random(1000) < chance, truth, NAN)
        found = ppi_mean(labels, said, weights=1 / chance, bounds=(0, 1))
        covered.append(found.low <= 0.9 <= found.high)
    assert np.mean(covered) > 0.87

"""A comparison of one dataset and a decision over it say the same, with clusters as uneven as they come."""

import numpy as np
import pytest

from metaeval.inputs import Options
from metaeval.selection import Candidate, JudgedDataset, choose
from metaeval.stats import mean_estimate
from tests.metaeval.reports.arrays import content_build, inputs_make, judge_make
from tests.metaeval.reports.shown import verdict_of

SIZES = [1] * 36 + [20, 24, 27, 30]
CLUSTERS = np.repeat([f"i{place}" for place in range(len(SIZES))], SIZES)


def verdicts_of(rng, accuracies):
    """Verdicts in both orders where 1 is right; those on one instruction go together."""
    codes = np.unique(CLUSTERS, return_inverse=True)[1]
    found = {}
    for place, accuracy in enumerate(accuracies):
        hard = rng.beta(2 * accuracy, 2 * (1 - accuracy), size=len(SIZES))[codes]
        right = rng.random((len(CLUSTERS), 2)) < hard[:, np.newaxis]
        found[f"j{place}"] = np.where(right, 1.0, 2.0)
    return found


def both_pages(verdicts, floor):
    """What a comparison and a decision say of the same verdicts: their contents."""
    n = len(CLUSTERS)
    compared = content_build(
        inputs_make(
            lengths=np.tile([9, 5], (n, 1)),
            gold=np.ones(n),
            cluster=CLUSTERS,
            judges=(
                *(judge_make(key, said) for key, said in verdicts.items()),
                judge_make("rule", floor, baseline=True),
            ),
        ),
        Options(n_resamples=60),
    )
    said = {**verdicts, "rule": floor}
    decided = choose(
        [
            JudgedDataset(
                "Gold",
                "gold",
                said,
                judged={key: np.ones((n, 2), dtype=bool) for key in said},
                clusters=CLUSTERS,
                categories=np.full(n, ""),
                gold=np.ones(n),
            )
        ],
        [*(Candidate(key, key) for key in verdicts), Candidate("rule", "rule", is_baseline=True)],
        n_resamples=80,
        n_repeats=1,
        rng=5,
    )
    return compared, decided


@pytest.mark.parametrize("seed", range(6))
def test_the_same_winner_the_same_differences_the_same_intervals(seed):
    rng = np.random.default_rng(seed)
    accuracies = [0.97, *rng.uniform(0.5, 0.95, size=1 + seed % 4)]
    verdicts = verdicts_of(rng, accuracies)
    floor = verdicts_of(rng, [0.6])["j0"]
    compared, decided = both_pages(verdicts, floor)
    keys, selection = [*verdicts, "rule"], compared["selections"]["accuracy"]
    assert keys[selection["leader"]] == decided.leader
    assert {keys[place] for place in selection["tied"]} == set(decided.confidence_set[1:])
    assert selection["clear"] == (len(decided.confidence_set) == 1 < len(verdicts))
    assert verdict_of(compared, "accuracy").kind == decided.verdict
    rows = {keys[row["judge"]]: row for row in selection["differences"]}
    rows["rule"] = selection["best_baseline"]
    for key, row in rows.items():
        behind = decided.standing(key).behind
        for name in ("value", "low", "high"):
            assert row[name] == pytest.approx(getattr(behind, name), rel=1e-9), (key, name)
    for place, key in enumerate(verdicts):
        shown = compared["judges"][place]["measures"]["accuracy"]["overall"]
        for figure in (decided.standing(key).objective, decided.standing(key).scores["Gold"]):
            assert (shown["low"], shown["high"]) == pytest.approx((figure.low, figure.high), rel=1e-9)


def test_of_one_judge_the_lead_over_a_rule_has_an_interval():
    rng = np.random.default_rng(1)
    verdicts = verdicts_of(rng, [0.7])
    _, decided = both_pages(verdicts, verdicts_of(rng, [0.6])["j0"])
    behind = decided.standing("rule").behind
    assert decided.verdict == "floor"
    assert behind.low < behind.value < behind.high


def test_the_interval_of_a_mean_is_a_function_of_the_data_alone():
    codes = np.unique(CLUSTERS, return_inverse=True)[1]
    rng = np.random.default_rng(2)
    right = (rng.random(len(CLUSTERS)) < rng.beta(1.8, 0.2, size=len(SIZES))[codes]).astype(float)
    first = mean_estimate(right, clusters=CLUSTERS, n_resamples=2_000, rng=1)
    order = rng.permutation(len(CLUSTERS))
    other = mean_estimate(right[order], clusters=CLUSTERS[order], n_resamples=10_000, rng=2)
    assert (first.low, first.high) == pytest.approx((other.low, other.high), rel=1e-12)


@pytest.mark.parametrize(("share", "together"), [(0.7, 0.05), (0.9, 0.3)])
def test_intervals_cover_where_a_few_clusters_are_large(share, together):
    # Linearization alone covers 90 and 86%.
    rng = np.random.default_rng(3)
    codes = np.unique(CLUSTERS, return_inverse=True)[1]
    strength = (1 - together) / together
    covered = 0
    for _ in range(400):
        truth = rng.beta(share * strength, (1 - share) * strength, size=len(SIZES))
        right = (rng.random(len(CLUSTERS)) < truth[codes]).astype(float)
        found = mean_estimate(right, clusters=codes, n_resamples=1)
        covered += found.low <= share <= found.high
    assert covered >= 0.92 * 400

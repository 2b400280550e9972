"""LLMBar's stored verdicts: a composite that looks best and is not."""

import numpy as np
import pytest

from metaeval.selection import Candidate, Constraints, JudgedDataset, choose


@pytest.fixture
def stored(llmbar):
    """All 27 judges and prompts on the 419 items; the subsets are the categories."""
    first = next(iter(llmbar.values()))
    verdicts = {" ".join(key): rows.verdicts for key, rows in llmbar.items()}
    data = JudgedDataset(
        "LLMBar",
        "gold",
        verdicts,
        {key: np.ones((419, 2), dtype=bool) for key in verdicts},
        clusters=np.arange(419),
        categories=first.subsets,
        gold=first.gold,
    )
    return data, [Candidate(key, key) for key in verdicts]


def test_the_best_per_subset_composite_does_not_hold(stored):
    # Accuracy is the mean of both orders over all 419 items, an unparsed verdict is wrong; 40 times 5 folds.
    data, candidates = stored
    found = choose([data], candidates, n_repeats=40)
    assert found.leader == "GPT-4 Metrics_Reference"
    assert 100 * found.composite.naive == pytest.approx(88.3, abs=0.05)
    assert 100 * found.composite.held_out.value == pytest.approx(85.5, abs=0.2)
    single = found.composite.held_out.value - found.composite.gain.value
    assert 100 * single == pytest.approx(87.0, abs=0.1)
    assert found.composite.gain.value == pytest.approx(-0.0154, abs=1e-3)
    assert found.composite.gain.share_better < 0.2
    assert not found.composite.worth_it
    # The procedure never falls for it, and what it chose is as good as it looks but for 0.3 points.
    assert found.chosen == found.leader
    assert 100 * found.naive == pytest.approx(87.23, abs=0.01)
    assert found.held_out.value == pytest.approx(single, abs=1e-3)


def test_no_clear_winner(stored):
    data, candidates = stored
    found = choose([data], candidates)
    assert (found.verdict, found.winner) == ("open", None)
    assert found.confidence_set[0] == "GPT-4 Metrics_Reference"
    assert all(key.startswith("GPT-4") for key in found.confidence_set)
    assert 0.6 < found.standing(found.leader).chosen_share < 0.8
    assert sum(standing.chosen_share for standing in found.standings) == pytest.approx(1)
    assert {one.rival for one in found.settling} == set(found.confidence_set[1:])
    assert all(one.n_needed > 419 for one in found.settling)


def test_a_constraint_that_the_leader_does_not_satisfy(stored):
    # Metrics+Reference* agrees with itself on 90% of the items.
    data, candidates = stored
    free, bound = (
        choose([data], candidates, n_resamples=50),
        choose([data], candidates, Constraints(min_positional_agreement=0.95), n_resamples=50),
    )
    assert bound.leader != free.leader
    assert free.leader not in bound.confidence_set
    assert bound.held_out.value < free.held_out.value
    (violation,) = bound.standing(free.leader).violations
    assert violation.value == pytest.approx(free.standing(free.leader).positional_agreement.value)


def test_a_judge_like_people_on_real_labels(alpaca):
    # "longer" is a rule, so a baseline; "typical" says what most people said, and may stand in for one.
    longer = np.where(alpaca.length_1 > alpaca.length_2, 1.0, 2.0)
    typical = np.where((alpaca.labels == 1).sum(axis=1) >= 2, 1.0, 2.0)
    data = JudgedDataset(
        "AlpacaEval",
        "people",
        {"longer": np.stack([longer] * 2, axis=1), "typical": np.stack([typical] * 2, axis=1)},
        {},
        clusters=alpaca.instructions,
        categories=np.full(648, ""),
        labels=alpaca.labels,
    )
    found = choose([data], [Candidate("longer", "Longer", is_baseline=True), Candidate("typical", "Typical")])
    assert 100 * found.standing("longer").objective.value == pytest.approx(59.567901234567906)
    assert found.standing("longer").behind.low > 0
    assert found.replaces["AlpacaEval"].passed

"""Presets: every argument exists, and each gives the figures that its paper prints."""

import inspect

import numpy as np
import pytest

import metaeval.stats as stats
from metaeval.stats import InvalidInputError
from metaeval.stats.presets import PRESETS, preset

EVERY = [(name, function) for name, one in PRESETS.items() for function in one.options]


def test_all_of_them():
    papers = {"href", "alpaca_eval", "llmbar", "helm_instruct", "humanrankeval", "tower"}
    benchmarks = {"mt_bench_s1", "mt_bench_s2", "judgebench", "rewardbench", "rewardbench2", "rm_bench"}
    tests = {"healthbench", "alt_test_experts", "alt_test_skilled", "alt_test_crowd"}
    assert set(PRESETS) == papers | benchmarks | tests
    assert all(f'"{name}"' in inspect.getdoc(preset) for name in PRESETS)


@pytest.mark.parametrize(("name", "function"), EVERY)
def test_every_argument_is_one_of_the_function(name, function):
    parameters = inspect.signature(getattr(stats, function)).parameters
    assert set(preset(name).of(function)) <= set(parameters)


def test_alpaca_eval(alpaca):
    # Published: people 65.66358%, the longest output 62.19136%; first labels for the longer output 0.635955.
    one = preset("alpaca_eval")
    longest = np.where(alpaca.length_1 > alpaca.length_2, 1.0, 2.0)
    options = one.of("leave_one_out_agreement") | {"n_resamples": 0}
    people = stats.leave_one_out_agreement(alpaca.labels, **options)
    judge = stats.leave_one_out_agreement(alpaca.labels, longest, **options)
    assert (round(100 * people.value, 5), round(100 * judge.value, 5)) == (65.66358, 62.19136)
    longer = stats.longer_preference_share(
        alpaca.labels[:, :1], alpaca.length_1, alpaca.length_2, **one.of(stats.longer_preference_share)
    )
    assert round(longer.value, 6) == 0.635955
    # By default an always-the-longer judge is not flattered.
    assert round(100 * stats.leave_one_out_agreement(alpaca.labels, longest).value, 6) == 59.567901


def test_llmbar(llmbar):
    # GPT-4, Metrics+Reference*, Manual: accuracy 83.7, positional agreement 84.8.
    found = llmbar["GPT-4", "Metrics_Reference"]
    manual = found.subsets == "Manual"
    one = preset("llmbar")
    accuracy = stats.accuracy(found.verdicts, found.gold, where=manual, **one.of("accuracy"))
    agreement = stats.positional_agreement(found.verdicts, where=manual, **one.of("positional_agreement"))
    assert (round(100 * accuracy.value, 1), round(100 * agreement.value, 1)) == (83.7, 84.8)


def test_href_draws_what_the_default_expects():
    labels = np.random.default_rng(0).integers(1, 3, (4000, 3)).astype(float)
    drawn = stats.leave_one_out_agreement(
        labels, **preset("href").of("leave_one_out_agreement"), n_resamples=0
    )
    exact = stats.leave_one_out_agreement(labels, n_resamples=0)
    assert drawn.value != exact.value
    assert drawn.value == pytest.approx(exact.value, abs=0.02)


def test_tower_gives_constant_weights_a_value():
    # Equal weights rank as stated: 1, 2, 3 against 1, 3, 2 has 1 - 6 * 2 / 24 = 0.5; the default has no rho there.
    ranks, weights = [[1, 3, 2]], [[1, 1, 1]]
    options = preset("tower").of("importance_agreement")
    assert stats.importance_agreement(ranks, weights, **options, n_resamples=0).value == pytest.approx(0.5)
    with pytest.warns(stats.StatisticsWarning):
        assert np.isnan(stats.importance_agreement(ranks, weights, n_resamples=0).value)


def test_what_a_preset_does_not_speak_of():
    with pytest.raises(InvalidInputError, match="'tower' says nothing of accuracy"):
        preset("tower").of("accuracy")
    with pytest.raises(InvalidInputError, match="expected one of href"):
        preset("mt_bench")
